"""The figures of the chapter on multi-head attention."""

import numpy as np
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure

from attnkit.plots import INK, KEY, LINE, MUTED, QUERY, VALUE, WIDTH

WORDS = {
    "head": "head {}",
    "weights": "weights",
    "reads": "reads, side by side",
    "blocks": "blocks (right)",
    "turns": "by turns",
    "reshape": "reshape alone",
    "features": "features",
    "items": "items",
    "one_head": "1 head",
    "many_heads": "{} heads",
    "first": "first place",
    "second": "second place",
    "elsewhere": "elsewhere",
    "share": "share of the weight",
    "all": "all heads",
    "without": "without {}",
    "both": "share of questions with both answers right",
    "guess": "one right, one guessed",
}


def two_heads(names, weights, reads):
    """Two heads over a few items: a row of weights each, and what they read, side by side.

    ``weights`` is (2, items) and ``reads`` (2, features of a head).
    """
    figure = Figure((WIDTH, 2.3), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=[1.5, 1])
    labels = [WORDS["head"].format(i + 1) for i in range(2)]
    for i, row in enumerate(weights):
        for n, weight in enumerate(row):
            shade = to_rgba(INK, 0.45 * weight)
            left.bar(n, 0.9, 0.94, bottom=i, color=shade, edgecolor=LINE)
            left.text(n, i + 0.45, f"{weight:.2f}", ha="center", va="center")
    left.set_title(WORDS["weights"])
    left.set_xticks(range(len(names)), names)
    left.tick_params(axis="x", labelcolor=KEY)
    left.set_yticks([0.45, 1.45], labels)
    left.tick_params(axis="y", labelcolor=QUERY)
    left.invert_yaxis()

    right.set_title(WORDS["reads"])
    for i, (read, hatch) in enumerate(zip(reads, ("", "///"), strict=True)):
        places = np.arange(len(read)) + i * len(read)
        style = {"facecolor": "none", "edgecolor": VALUE, "linewidth": 1.8, "hatch": hatch}
        right.bar(places, read, 0.8, label=labels[i], **style)
        for place, value in zip(places, read, strict=True):
            right.text(place, value + 0.04, f"{value:.2f}", ha="center")
    right.set(xticks=[], yticks=[], ylim=(0, 1.6))
    right.legend(loc="upper left", ncols=2, handlelength=1, columnspacing=0.8)
    for axes in (left, right):
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
    return figure


def cuts(owners):
    """Which head gets which entry; ``owners`` {way: (items, features) of the heads' numbers}."""
    figure = Figure((WIDTH, 1.9), layout="constrained")
    panels = figure.subplots(1, len(owners))
    for axes, (way, heads) in zip(panels, owners.items(), strict=True):
        for (n, f), head in np.ndenumerate(heads):
            hatch = "///" if head else ""
            axes.bar(
                f, 0.92, 0.92, bottom=n, facecolor="none", edgecolor=VALUE, hatch=hatch, linewidth=1
            )
            box = {"facecolor": "none", "edgecolor": "none", "pad": 0}
            axes.text(f, n + 0.46, str(head + 1), ha="center", va="center", bbox=box)
        axes.invert_yaxis()
        axes.set(title=WORDS[way], xlabel=WORDS["features"], xticks=[], yticks=[], aspect="equal")
        axes.spines[:].set_visible(False)
    panels[0].set_ylabel(WORDS["items"])
    return figure


def shares(of_layers):
    """Where each head of each layer looks; ``of_layers`` {heads: (heads, 3) shares}.

    The shares are those of the place asked for first, of the second, and of all others.
    """
    rows = sum(len(heads) for heads in of_layers.values())
    figure = Figure((WIDTH, 0.9 + 0.36 * rows), layout="constrained")
    ratios = [len(heads) for heads in of_layers.values()]
    panels = figure.subplots(len(of_layers), 1, sharex=True, height_ratios=ratios)
    styles = {
        "first": {"color": INK},
        "second": {"facecolor": "none", "edgecolor": INK, "hatch": "////"},
        "elsewhere": {"facecolor": "none", "edgecolor": LINE},
    }
    for axes, (count, heads) in zip(panels, of_layers.items(), strict=True):
        left = np.zeros(len(heads))
        for (word, style), share in zip(styles.items(), np.transpose(heads), strict=True):
            axes.barh(range(len(heads)), share, 0.7, left=left, label=WORDS[word], **style)
            left = left + share
        names = [WORDS["head"].format(i + 1) for i in range(len(heads))]
        axes.set_yticks(range(len(heads)), names)
        axes.invert_yaxis()
        title = WORDS["one_head"] if count == 1 else WORDS["many_heads"].format(count)
        axes.set(xlim=(0, 1), title=title)
        axes.tick_params(length=0)
        axes.spines["left"].set_visible(False)
    panels[-1].set_xlabel(WORDS["share"])
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=3)
    return figure


def ablation(accuracies, guess):
    """The accuracy with all heads and without some; ``accuracies`` {heads away: accuracy}."""
    figure = Figure((WIDTH, 0.9 + 0.3 * len(accuracies)), layout="constrained")
    axes = figure.add_subplot(xlabel=WORDS["both"], xlim=(0, 1.12))
    for place, (away, accuracy) in enumerate(accuracies.items()):
        hatch = "" if not away else "///" if len(away) == 1 else "xxx"
        axes.barh(place, accuracy, 0.66, facecolor="none", edgecolor=INK, hatch=hatch)
        axes.text(accuracy + 0.02, place, f"{accuracy:.2f}", va="center")
    names = [
        WORDS["without"].format(" + ".join(str(i + 1) for i in away)) if away else WORDS["all"]
        for away in accuracies
    ]
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    axes.axvline(guess, color=MUTED, linestyle="--", linewidth=1.2, label=WORDS["guess"])
    figure.legend(loc="outside upper right")
    axes.tick_params(axis="y", length=0)
    return figure
