"""The figures of the chapter on the Transformer."""

import numpy as np
from matplotlib.figure import Figure

from attnkit.plots import (
    DIAMOND,
    INK,
    LINE,
    MUTED,
    OUTLINE,
    ROUND,
    SQUARE,
    WIDTH,
    boxed,
    weight_map,
)

WORDS = {
    "post": "post-norm",
    "pre": "pre-norm",
    "attend": "attend",
    "feed": "feed-forward",
    "norm": "norm",
    "block": "block, from the input",
    "gradient": "gradient of a block's weights",
    "depth": "layers",
    "apart": "how different the places are",
    "step": "step of the training",
    "loss": "loss",
    "smallest": "the smallest loss there is",
    "layer": "layer {}",
    "asks": "who asks",
    "asked": "who is asked",
    "before": "the place before",
    "behind": "behind the same token",
}
STYLES = [("-", ROUND), ("--", SQUARE), (":", DIAMOND)]


def orders():
    """The block with its norms behind the sums and with its norms in front of the steps."""
    figure = Figure((WIDTH, 4.2), layout="constrained")
    for axes, order in zip(figure.subplots(1, 2), ("post", "pre"), strict=True):
        axes.set(title=WORDS[order], xlim=(-0.9, 2.1), ylim=(-0.4, 6.9))
        axes.axis("off")
        axes.annotate(
            "", (0, 6.7), (0, -0.3), arrowprops={"arrowstyle": "->", "color": INK, "linewidth": 2}
        )
        for bottom, step in ((0, "attend"), (3.3, "feed")):
            way = [(0, bottom), (1.1, bottom), (1.1, bottom + 2), (0.14, bottom + 2)]
            axes.plot(*zip(*way, strict=True), color=MUTED, linewidth=1.2, zorder=0)
            _box(axes, 1.1, bottom + 1.3, WORDS[step])
            if order == "pre":
                _box(axes, 1.1, bottom + 0.55, WORDS["norm"])
            else:
                _box(axes, 0, bottom + 2.7, WORDS["norm"])
            axes.text(
                0,
                bottom + 2,
                "+",
                ha="center",
                va="center",
                bbox={"boxstyle": "circle,pad=0.15", "facecolor": "white", "edgecolor": INK},
            )
    return figure


def _box(axes, x, y, word):
    box = {"boxstyle": "square,pad=0.3", "facecolor": "white", "edgecolor": INK}
    axes.text(x, y, word, ha="center", va="center", bbox=box)


def gradients(norms):
    """Size of the gradient against the block; ``norms`` {order: one number a block}."""
    figure = Figure((WIDTH, 2.7), layout="constrained")
    axes = figure.add_subplot(xlabel=WORDS["block"], ylabel=WORDS["gradient"], yscale="log")
    for (order, sizes), (line, marker) in zip(norms.items(), STYLES, strict=False):
        blocks = range(1, len(sizes) + 1)
        axes.plot(blocks, sizes, line, marker=marker, markersize=4, color=INK, label=WORDS[order])
    _plain_powers(axes, norms.values())
    figure.legend(loc="outside upper left", ncols=2)
    return figure


def collapse(distances):
    """How far a sequence is from one vector in all places, after each layer; {stack: numbers}."""
    figure = Figure((WIDTH, 3.0), layout="constrained")
    axes = figure.add_subplot(xlabel=WORDS["depth"], ylabel=WORDS["apart"], yscale="log")
    for (name, sizes), (line, marker) in zip(distances.items(), STYLES, strict=True):
        axes.plot(sizes, line, marker=marker, markersize=5, color=INK, label=name)
    _plain_powers(axes, distances.values())
    figure.legend(loc="outside upper left")
    return figure


def _plain_powers(axes, curves):
    """Powers of ten in plain text, which a screen reader and a small screen can show."""
    lowest = int(np.floor(np.log10(min(np.min(curve) for curve in curves))))
    highest = int(np.ceil(np.log10(max(np.max(curve) for curve in curves))))
    step = max(1, (highest - lowest) // 4)
    powers = range(highest, lowest - 1, -step)
    axes.set_yticks([10.0**power for power in powers], [f"1e{power}" for power in powers])
    axes.minorticks_off()


def training(losses, window=20):
    """The loss of each model, averaged over a window of steps; ``losses`` {name: one a step}."""
    figure = Figure((WIDTH, 2.8), layout="constrained")
    axes = figure.add_subplot(xlabel=WORDS["step"], ylabel=WORDS["loss"])
    for (name, each), (line, _) in zip(losses.items(), STYLES, strict=False):
        smooth = np.convolve(each, np.ones(window) / window, "valid")
        axes.plot(np.arange(len(smooth)) + window / 2, smooth, line, color=INK, label=name)
    axes.set_ylim(bottom=0)
    axes.legend(loc="upper right")
    return figure


def patterns(layers, letters, period):
    """Where the head of each layer looks in a text that repeats; ``layers (L, N, N)``.

    Marked are the places that the two kinds of heads would look at.
    """
    figure = Figure((WIDTH, 3.2), layout="constrained")
    panels = figure.subplots(1, len(layers))
    N = len(letters)
    marks = {
        "before": (ROUND, np.arange(1, N), np.arange(N - 1)),
        "behind": (DIAMOND, np.arange(period, N), np.arange(1, N - period + 1)),
    }
    for layer, (axes, weights) in enumerate(zip(panels, layers, strict=True), start=1):
        weight_map(axes, weights, letters, letters)
        for name, (marker, rows, columns) in marks.items():
            axes.scatter(columns, rows, s=26, marker=marker, label=WORDS[name], **OUTLINE)
        axes.set(title=WORDS["layer"].format(layer), xlabel=WORDS["asked"])
    panels[0].set_ylabel(WORDS["asks"])
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower left", ncols=2)
    return figure


def glances(weights, words, asks):
    """Where a head looks from some places of a text; ``weights (len(asks), len(words))``."""
    figure = Figure((WIDTH, 2.2), layout="constrained")
    axes = figure.add_subplot()
    weight_map(axes, weights, words, asks)
    axes.tick_params(axis="x", labelrotation=90)
    axes.set_aspect("auto")
    axes.set(ylabel=WORDS["asks"], xlabel=WORDS["asked"])
    axes.hlines(np.arange(len(asks) - 1) + 0.5, -0.5, len(words) - 0.5, color=LINE, linewidth=0.8)
    return figure
