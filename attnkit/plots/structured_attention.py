"""The figures of the chapter on structured attention."""

import numpy as np
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure

from attnkit.plots import INK, LINE, MUTED, SQUARE, VALUE, WIDTH

WORDS = {
    "yes": "yes",
    "no": "no",
    "item": "item {}",
    "evidence": "evidence",
    "inside": "what counts",
    "softmax": "softmax, scaled",
    "sigmoid": "sigmoid",
    "chain": "chain",
    "position": "position",
    "ceiling": "best possible",
    "r_squared": "share of the variance explained",
    "average": "average",
    "flat": "one softmax for all words",
    "max": "maximum",
    "hierarchy": "hierarchy",
    "accuracy": "share of new reviews that are right",
    "guess": "guess",
    "words": "words",
    "sentence": "sentence weight",
    "cue": "overall",
    "opinion": "opinion word",
}


def trellis(marginals, steps):
    """Two states at each position: discs are marginals, lines are the steps between them.

    ``marginals`` is (N, 2) and ``steps`` (N - 1, 2, 2), from and to; both are probabilities.
    """
    figure = Figure((WIDTH, 2.4), layout="constrained")
    axes = figure.add_subplot(ylim=(-0.45, 1.5), xlim=(-0.5, len(marginals) - 0.5))
    axes.spines[:].set_visible(False)
    for n, table in enumerate(steps):
        for (start, end), probability in np.ndenumerate(table):
            axes.plot([n, n + 1], [start, end], color=INK, linewidth=14 * probability, zorder=1)
    for n, row in enumerate(marginals):
        for state, probability in enumerate(row):
            size = 600 + 1200 * probability
            axes.scatter(n, state, s=size, facecolor=LINE, edgecolor=INK, linewidth=1.2, zorder=2)
            axes.text(n, state, f"{probability:.2f}", ha="center", va="center", zorder=3)
    items = range(len(marginals))
    axes.set_xticks(items, [WORDS["item"].format(n + 1) for n in items])
    axes.set_yticks([0, 1], [WORDS["no"], WORDS["yes"]])
    axes.tick_params(length=0)
    return figure


def three_weights(evidence, inside, weights):
    """Evidence of one sequence and the weights that each kind of normalisation makes of it.

    ``inside`` says where the positions that count are; ``weights`` maps a kind to its row.
    """
    figure = Figure((WIDTH, 4.6), layout="constrained")
    panels = figure.subplots(1 + len(weights), 1, sharex=True, height_ratios=[1.5, 1, 1, 1])
    places = np.arange(1, len(evidence) + 1)
    counted = places[inside]
    for axes in panels:
        axes.axvspan(counted[0] - 0.5, counted[-1] + 0.5, facecolor=to_rgba(VALUE, 0.15))
        axes.axhline(0, color=MUTED, linewidth=0.8)
    panels[0].bar(places, evidence, 0.7, facecolor="none", edgecolor=MUTED, hatch="///")
    panels[0].set_title(WORDS["evidence"])
    top = panels[0].get_ylim()[1]
    panels[0].text(counted.mean(), top, WORDS["inside"], ha="center", va="bottom", color=VALUE)
    for axes, (kind, row) in zip(panels[1:], weights.items(), strict=True):
        axes.bar(places, row, 0.7, color=INK)
        axes.set(title=WORDS[kind], ylim=(0, max(1, *row) * 1.05))
    panels[-1].set_xlabel(WORDS["position"])
    panels[-1].set_xticks(places[::3])
    return figure


def r_squared(found, ceiling):
    """How much each kind of weights explains, beside the most that anything could."""
    figure = Figure((WIDTH, 1.9), layout="constrained")
    axes = figure.add_subplot(xlabel=WORDS["r_squared"], xlim=(0, 1))
    _levels(axes, found)
    axes.axvline(ceiling, color=MUTED, linestyle="--")
    axes.text(ceiling + 0.015, 1, f"{WORDS['ceiling']}\n{ceiling:.2f}", color=MUTED, va="center")
    return figure


def accuracies(found, guess):
    """How often each kind of pooling is right, beside guessing."""
    figure = Figure((WIDTH, 2.2), layout="constrained")
    axes = figure.add_subplot(xlabel=WORDS["accuracy"], xlim=(0, 1.02))
    _levels(axes, found)
    axes.axvline(guess, color=MUTED, linestyle="--")
    axes.text(guess + 0.01, -0.62, WORDS["guess"], color=MUTED)
    return figure


def reading(word_weights, sentence_weights, word_mask, cue, opinion):
    """One document as a grid: squares are word weights, bars are sentence weights.

    ``cue`` and ``opinion`` are Booleans like ``word_mask``, where these words stand. Sentences
    without a word are left out.
    """
    there = word_mask.any(axis=-1)
    figure = Figure((WIDTH, 0.8 + 0.27 * there.sum()), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True, width_ratios=[2.2, 1])
    style = {"linestyle": "none", "fillstyle": "none"}
    rows, columns = np.nonzero(word_mask[there])
    left.plot(columns, rows, SQUARE, markersize=12, color=LINE, markeredgewidth=0.6, **style)
    areas = 144 * word_weights[there][rows, columns]
    left.scatter(columns, rows, s=areas, marker=SQUARE, color=INK, linewidth=0)
    for word, where, marker in (("cue", cue, "v"), ("opinion", opinion, "o")):
        y, x = np.nonzero((where & word_mask)[there])
        label = WORDS[word]
        left.plot(x, y, marker, markersize=7, color=VALUE, markeredgewidth=2, label=label, **style)
    left.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
    left.set(xticks=[], xlabel=WORDS["words"], yticks=[])
    left.spines[:].set_visible(False)
    shown = sentence_weights[there]
    right.barh(range(len(shown)), shown, 0.6, color=INK)
    for place, weight in enumerate(shown):
        right.text(weight + 0.04, place, f"{weight:.2f}", va="center")
    right.set(xlim=(0, 1.5), xticks=[], title=WORDS["sentence"])
    right.spines["bottom"].set_visible(False)
    right.invert_yaxis()
    return figure


def _levels(axes, found):
    places = np.arange(len(found))
    axes.barh(places, found.values(), 0.6, facecolor=LINE, edgecolor=INK)
    for place, level in enumerate(found.values()):
        axes.text(level - 0.015, place, f"{level:.2f}", va="center", ha="right")
    axes.set_yticks(places, [WORDS[name] for name in found])
    axes.invert_yaxis()
    axes.tick_params(length=0)
