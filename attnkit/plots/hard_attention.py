"""The figures of the chapter on hard attention."""

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from attnkit.plots import INK, KEY, LINE, MUTED, QUERY, VALUE, WIDTH, pixels

WORDS = {
    "score": "score of bakery 2",
    "loss": "minutes in the queue",
    "argmax": "largest weight",
    "draw": "one draw",
    "expected": "expected",
    "temperature": "temperature",
    "bias": "bias",
    "variance": "variance",
    "gumbel": "Gumbel-softmax",
    "reinforce": "REINFORCE",
    "baseline": "with baseline",
    "steps": "steps",
    "accuracy": "accuracy",
    "soft": "soft",
    "every choice": "every choice",
    "straight-through": "straight-through",
    "uniform": "plain mean",
    "asked": "asked",
    "canvas": "weights on a canvas",
    "right": "answered right",
}

# Two lines never share colour and dashes.
LINES = {
    "soft": (INK, "-"),
    "every choice": (KEY, "--"),
    "gumbel": (VALUE, "-."),
    "straight-through": (VALUE, ":"),
    "baseline": (QUERY, "-"),
    "reinforce": (QUERY, "--"),
}


def choice_and_expectation(scores, losses):
    """The loss of a choice against one score: two staircases and a smooth curve.

    :param scores: where the losses are known, (points,)
    :param losses: {"argmax": ..., "draw": ..., "expected": ...}, each (points,)
    """
    figure = Figure((WIDTH, 2.8), layout="constrained")
    axes = figure.add_subplot(xlabel=WORDS["score"], ylabel=WORDS["loss"])
    styles = {"argmax": (MUTED, ":", 2.4), "draw": (MUTED, "--", 1.4), "expected": (INK, "-", 2)}
    for name, (colour, dashes, width) in styles.items():
        axes.plot(
            scores,
            losses[name],
            color=colour,
            linestyle=dashes,
            linewidth=width,
            label=WORDS[name],
        )
    axes.set_ylim(0, None)
    axes.legend(loc="lower left")
    return figure


def bias_and_variance(temperatures, bias, variance, reinforce, baseline):
    """Bias and variance of Gumbel-softmax over the temperature, beside REINFORCE's variances."""
    figure = Figure((WIDTH, 2.7), layout="constrained")
    panels = figure.subplots(1, 2)
    for axes, name, heights in zip(panels, ("bias", "variance"), (bias, variance), strict=True):
        axes.plot(temperatures, heights, "-o", color=VALUE, markersize=5, label=WORDS["gumbel"])
        axes.set_xscale("log")
        axes.set_xticks(temperatures, [f"{t:g}" for t in temperatures], minor=False)
        axes.set_xticks([], minor=True)
        axes.set(xlabel=WORDS["temperature"], title=WORDS[name])
    panels[0].axhline(0, color=QUERY, linestyle="--", label=WORDS["reinforce"])
    panels[0].legend(loc="upper left")
    panels[0].set_ylim(None, 1.6 * max(bias))
    panels[1].set_yscale("log")
    panels[1].set_yticks([1e-4, 1e-2, 1], ["0.0001", "0.01", "1"])
    panels[1].set_yticks([], minor=True)
    for height, word, dashes in ((reinforce, "reinforce", "--"), (baseline, "baseline", "-")):
        panels[1].axhline(height, color=QUERY, linestyle=dashes, linewidth=1.4)
        place = (temperatures[-1], 1.25 * height)
        panels[1].annotate(WORDS[word], place, color=QUERY, ha="right", va="bottom")
    panels[1].set_ylim(None, 8 * reinforce)
    return figure


def learning(steps, curves):
    """Accuracy against training steps; ``curves`` {method: accuracies}."""
    figure = Figure((WIDTH, 3.5), layout="constrained")
    axes = figure.add_subplot(xlabel=WORDS["steps"], ylabel=WORDS["accuracy"])
    for name, accuracies in curves.items():
        colour, dashes = LINES[name]
        axes.plot(steps, accuracies, color=colour, linestyle=dashes, label=WORDS[name])
    axes.set_ylim(0, 1.04)
    figure.legend(loc="outside lower center", ncols=2)
    return figure


def canvas(cells, weights, query, accuracies):
    """One canvas with the weight of each cell, and how often each way of reading was right.

    :param cells: nine pictures whose first row are the bits, (9, 9, 8)
    :param weights: (9,)
    :param query: the bits asked for, (8,)
    :param accuracies: {method: share of right answers}
    """
    figure = Figure((WIDTH, 3.4), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=[1.15, 1])
    left.set(xlim=(-1, 31), ylim=(43, -6), aspect="equal", title=WORDS["canvas"])
    left.axis("off")
    pixels(left, query[None], 19, -5)
    left.text(18, -4.3, WORDS["asked"], ha="right", va="center", color=QUERY)
    left.add_patch(Rectangle((18.6, -5.4), 8.8, 1.8, fill=False, edgecolor=QUERY))
    for n, (picture, weight) in enumerate(zip(cells, weights, strict=True)):
        x, y = 11 * (n % 3), 14.5 * (n // 3)
        pixels(left, picture[:1], x, y)
        pixels(left, picture[1:], x, y + 1.8)
        style = {"edgecolor": VALUE, "linewidth": 2.6} if n == np.argmax(weights) else {}
        style = {"edgecolor": LINE, "linewidth": 1} | style
        left.add_patch(Rectangle((x - 0.8, y - 0.6), 9.6, 11, fill=False, **style))
        left.text(x + 4, y + 12.1, f"{weight:.2f}", ha="center", va="center")

    names = list(accuracies)
    right.set(title=WORDS["right"], xlim=(0, 1.28), xticks=[])
    right.barh(names, accuracies.values(), height=0.55, facecolor="none", edgecolor=MUTED)
    for n, name in enumerate(names):
        right.text(accuracies[name] + 0.03, n, f"{accuracies[name]:.2f}", va="center")
        right.text(0, n - 0.44, WORDS[name], va="center")
    right.set_yticks([])
    right.spines["bottom"].set_visible(False)
    right.set_ylim(len(names) - 0.5, -0.7)
    return figure
