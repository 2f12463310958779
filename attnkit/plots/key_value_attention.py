"""The figures of the chapter on key-value attention."""

import numpy as np
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from attnkit.plots import INK, KEY, LINE, MUTED, QUERY, SQUARE, VALUE, WIDTH

WORDS = {
    "query": "query",
    "keys": "keys",
    "weights": "weights",
    "values": "values",
    "read": "read",
    "place": "where you ask",
    "answer": "what you get",
    "strength": "strength {:g}",
    "stored": "stored: key and value",
    "numbers": "numbers kept for an entry",
    "accuracy": "share of right answers",
    "apart": "key and value apart",
    "one vector": "one vector for both",
    "keys as values": "the keys are read",
    "chance": "chance",
    "key strength": "key strength",
    "weight": "weight",
    "cosine": "cosine {:.2f}",
    "add only": "add",
    "add, then erase": "add, then erase",
    "erase, then add": "erase, then add",
    "step": "write",
    "times": "times the key was written",
    "only adds": "only adds",
    "erases": "erases, then adds",
    "ceiling": "best that adding can do",
    "length": "length of the sequence",
    "wrong": "share of wrong bits",
    "exact": "exact steps",
    "blurred": "blurred steps",
    "sharpened": "blurred and sharpened",
}
# The most ink that leaves a number on it readable.
SHADE = 0.35


def soft_dictionary(query, K, weights, V, read):
    """One look-up as a row of tables: query against keys, weights, values, read."""
    figure = Figure((WIDTH, 2.8), layout="constrained")
    axes = figure.add_subplot(aspect="equal")
    axes.set_axis_off()
    Dk, Dv, N = K.shape[1], V.shape[1], len(K)
    left_weights, left_values = Dk + 0.6, Dk + 2.2
    _table(axes, "query", query[None], (0, N + 1.7), QUERY)
    _table(axes, "keys", K, (0, 0), KEY)
    _table(axes, "weights", weights[:, None], (left_weights, 0), INK, shades=weights[:, None])
    _table(axes, "values", V, (left_values, 0), VALUE)
    _table(axes, "read", read[None], (left_values, N + 1.7), VALUE, thick=True)
    axes.set(xlim=(-0.1, left_values + Dv + 0.1), ylim=(-0.1, N + 3.3))
    return figure


def lookup_limit(places, values, x, curves):
    """What a look-up returns between keys on a line; ``curves`` {strength: answers along x}."""
    figure = Figure((WIDTH, 3), layout="constrained")
    axes = figure.add_subplot(xlabel=WORDS["place"], ylabel=WORDS["answer"])
    styles = [":", "--", "-"]
    for (strength, curve), style in zip(curves.items(), styles, strict=True):
        label = WORDS["strength"].format(strength)
        axes.plot(x, curve, style, color=VALUE, label=label)
    axes.plot(places, values, SQUARE, color=KEY, markersize=8, label=WORDS["stored"], zorder=3)
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, 1.3), ncols=2)
    return figure


def tables_read(accuracy, chance):
    """Accuracy against the numbers kept for an entry; ``accuracy`` {design: {numbers: share}}."""
    figure = Figure((WIDTH, 3), layout="constrained")
    axes = figure.add_subplot(xlabel=WORDS["numbers"], ylabel=WORDS["accuracy"], ylim=(0, 1.05))
    for (design, shares), style in zip(accuracy.items(), ("-D", "--s", ":o"), strict=True):
        axes.plot(*zip(*shares.items(), strict=True), style, color=INK, label=WORDS[design])
    axes.axhline(chance, color=LINE, linewidth=1, zorder=0)
    axes.text(max(shares), chance + 0.03, WORDS["chance"], ha="right", color=MUTED)
    axes.set_xscale("log", base=2)
    axes.set_xticks(list(shares), list(shares), minor=False)
    axes.minorticks_off()
    axes.legend(loc="center right", bbox_to_anchor=(1, 0.42))
    return figure


def strength(strengths, weights, cosines):
    """The weight of each place of a memory against the key strength."""
    figure = Figure((WIDTH, 2.7), layout="constrained")
    axes = figure.add_subplot(
        xscale="log", xlabel=WORDS["key strength"], ylabel=WORDS["weight"], ylim=(-0.03, 1.05)
    )
    for place, style in enumerate(("-", "--", "-.", ":")):
        label = WORDS["cosine"].format(cosines[place]).replace("-", "−")
        axes.plot(strengths, weights[:, place], style, color=INK, label=label)
    axes.set_xticks([0.1, 1, 10, 100], ["0.1", "1", "10", "100"])
    axes.legend(loc="upper left")
    return figure


def three_ways_to_write(names, labels, histories):
    """A memory after each write, in three ways; ``histories`` {way: (contents, weights)}.

    Contents and weights are (writes, places).
    """
    figure = Figure((WIDTH, 2.5), layout="constrained")
    panels = figure.subplots(1, 3)
    for axes, (way, (contents, weights)) in zip(panels, histories.items(), strict=True):
        axes.set(title=WORDS[way], xlabel=WORDS["step"], aspect="equal")
        _cells(axes, contents.T, (0, 0), LINE, SHADE * weights.T)
        axes.set(xlim=(-0.05, len(labels) + 0.05), ylim=(len(names) + 0.05, -0.05))
        axes.set_xticks(np.arange(len(labels)) + 0.5, labels)
        axes.set_yticks(np.arange(len(names)) + 0.5, names if axes is panels[0] else [])
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
    return figure


def rewritten(times, accuracy, ceiling):
    """Accuracy against how often a key was written, with the most that adding can reach."""
    figure = Figure((WIDTH, 2.8), layout="constrained")
    axes = figure.add_subplot(xlabel=WORDS["times"], ylabel=WORDS["accuracy"], ylim=(0, 1.12))
    places = np.arange(len(times))
    looks = ({"facecolor": "none", "hatch": "///"}, {"facecolor": to_rgba(INK, SHADE)})
    for side, (way, look) in zip((-0.2, 0.2), zip(accuracy, looks, strict=True), strict=True):
        axes.bar(places + side, accuracy[way], 0.36, edgecolor=INK, label=WORDS[way], **look)
    axes.plot(
        places - 0.2, ceiling, "_", color=INK, markersize=26, markeredgewidth=2.5,
        label=WORDS["ceiling"],
    )  # fmt: skip
    axes.set_xticks(places, times)
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, 1.3), ncols=2)
    return figure


def copy_errors(lengths, wrong):
    """The share of wrong bits in a copy against its length; ``wrong`` {how it steps: shares}."""
    figure = Figure((WIDTH, 2.7), layout="constrained")
    axes = figure.add_subplot(xlabel=WORDS["length"], ylabel=WORDS["wrong"])
    for (way, shares), style in zip(wrong.items(), ("-D", "--s", ":o"), strict=True):
        axes.plot(lengths, shares, style, color=INK, fillstyle="none", label=WORDS[way])
    axes.legend(loc="center right", bbox_to_anchor=(1, 0.3))
    return figure


def _table(axes, word, numbers, corner, colour, shades=None, thick=False):
    """A named table of numbers with its lower left corner at ``corner``, rows from the top."""
    left, bottom = corner
    shades = np.zeros_like(numbers) if shades is None else SHADE * shades
    _cells(axes, numbers[::-1], corner, LINE, shades[::-1])
    rows, columns = numbers.shape
    frame = Rectangle(corner, columns, rows, fill=False, edgecolor=colour)
    frame.set_linewidth(2.6 if thick else 1.4)
    axes.add_patch(frame)
    axes.text(left + columns / 2, bottom + rows + 0.2, WORDS[word], ha="center", color=colour)


def _cells(axes, numbers, corner, edge, shades):
    for (row, column), number in np.ndenumerate(numbers):
        place = corner[0] + column, corner[1] + row
        shade = to_rgba(INK, shades[row, column])
        axes.add_patch(Rectangle(place, 1, 1, facecolor=shade, edgecolor=edge, linewidth=0.8))
        middle = {"ha": "center", "va": "center", "fontsize": 9}
        shown = f"{number:.2f}".rstrip("0").rstrip(".").replace("-", "−")
        axes.text(place[0] + 0.5, place[1] + 0.5, shown, **middle)
