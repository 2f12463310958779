"""The figures of the chapter on encoder and decoder."""

from matplotlib.colors import to_rgba
from matplotlib.figure import Figure

from attnkit.plots import (
    DIAMOND,
    INK,
    KEY,
    LINE,
    MUTED,
    OUTLINE,
    ROUND,
    SQUARE,
    VALUE,
    WIDTH,
    boxed,
    weight_map,
)

WORDS = {
    "fixed": "one summary for all steps",
    "own": "a context for each step",
    "summary": "C",
    "source": "source",
    "target": "target",
    "length": "length of the source",
    "accuracy": "share of right digits",
    "trained": "lengths seen in training",
    "true": "the digit to write",
}
STYLES = [(":", ROUND), ("--", SQUARE), ("-", DIAMOND), ("-.", "^")]


def two_ways(source, target, weights):
    """A target that reads one summary, above, and one that reads by weights ``(M, N)``, below."""
    figure = Figure((WIDTH, 4.6), layout="constrained")
    above, below = figure.subplots(2, 1)
    middle = (len(source) - 1) / 2
    for axes, name in ((above, "fixed"), (below, "own")):
        axes.set(title=WORDS[name], xlim=(-1.6, len(source) - 0.4), ylim=(-0.35, 2.35))
        axes.axis("off")
        for y, word, symbols, colour in ((0, "source", source, KEY), (2, "target", target, VALUE)):
            axes.text(-1.5, y, WORDS[word], va="center", color=MUTED)
            for x, symbol in enumerate(symbols):
                boxed(axes, x, y, symbol, colour)
    for x in range(len(source)):
        above.plot([x, middle], [0.2, 0.85], color=LINE, linewidth=1.2)
    for x in range(len(target)):
        above.plot([middle, x], [1.15, 1.8], color=LINE, linewidth=1.2)
    boxed(above, middle, 1, WORDS["summary"], INK)
    for x, row in enumerate(weights):
        for n, weight in enumerate(row):
            shade = to_rgba(INK, max(weight, 0.08))
            below.plot([n, x], [0.2, 1.8], color=shade, linewidth=0.6 + 4 * weight)
    return figure


def by_length(lengths, accuracy, trained_to):
    """The share of right symbols against the length; ``accuracy`` is ``{model: shares}``."""
    figure = Figure((WIDTH, 3.3), layout="constrained")
    axes = figure.add_subplot(xlabel=WORDS["length"], ylabel=WORDS["accuracy"], ylim=(0, 1.04))
    axes.axvline(trained_to, color=LINE, linewidth=1)
    axes.text(trained_to - 0.4, 0.03, WORDS["trained"], ha="right", color=MUTED)
    for (name, shares), (line, marker) in zip(accuracy.items(), STYLES, strict=False):
        axes.plot(lengths, shares, line, marker=marker, markersize=5, color=INK, label=name)
    figure.legend(loc="outside lower left", ncols=2)
    return figure


def alignments(maps, source, target, true):
    """Weight maps ``{title: (M, N)}`` side by side, with the position each step should read."""
    figure = Figure((WIDTH, 2.9), layout="constrained")
    panels = figure.subplots(1, len(maps), squeeze=False)[0]
    for axes, (title, weights) in zip(panels, maps.items(), strict=True):
        weight_map(axes, weights, source, target)
        axes.scatter(true, range(len(target)), s=36, marker=DIAMOND, **OUTLINE)
        axes.set(title=title, xlabel=WORDS["source"])
    panels[0].set_ylabel(WORDS["target"])
    handle = panels[0].scatter([], [], s=36, marker=DIAMOND, label=WORDS["true"], **OUTLINE)
    figure.legend(handles=[handle], loc="outside lower left")
    return figure


def letters(examples):
    """Weight maps of texts below each other; ``examples`` are ``(source, target, weights)``."""
    figure = Figure((WIDTH, 2.6 * len(examples)), layout="constrained")
    for axes, (source, target, weights) in zip(
        figure.subplots(len(examples), 1, squeeze=False)[:, 0], examples, strict=True
    ):
        weight_map(axes, weights, source, target)
        axes.set(xlabel=WORDS["source"], ylabel=WORDS["target"])
    return figure
