"""The figures of the chapter on self-attention."""

import numpy as np
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure

from attnkit.plots import DIAMOND, INK, KEY, LINE, QUERY, ROUND, SQUARE, VALUE, WIDTH

WORDS = {
    "asks": "who asks",
    "asked": "who is asked",
    "fixed": "fully connected",
    "any": "any input",
    "computed": "self-attention",
    "input": "input {}",
    "everything": "everything",
    "causal": "causal",
    "strict": "strictly causal",
    "padding": "padding",
    "both": "causal and padding",
    "window": "window",
    "empty": "empty",
    "distance": "steps back from the last input",
    "gradient": "gradient, relative to the last input",
    "place": "place",
    "column": "column {}",
    "waves": "four columns",
    "product": "product with place {}",
    "products": "products of rows",
    "apart": "places apart",
}
# So dark may a cell be that a number in it is still read.
DARKEST = 0.35


def weights(table, words):
    """Who attends to whom in one sentence: shades and numbers, a row for each that asks."""
    figure = Figure((WIDTH * 0.75, 2.7), layout="constrained")
    axes = figure.add_subplot(aspect="equal", xlabel=WORDS["asked"], ylabel=WORDS["asks"])
    for (m, n), weight in np.ndenumerate(table):
        _cell(axes, m, n, facecolor=to_rgba(INK, DARKEST * weight))
        axes.text(n, m, f"{weight:.2f}", ha="center", va="center")
    _frame(axes, len(table))
    axes.set_xticks(range(len(words)), words, color=KEY)
    axes.set_yticks(range(len(words)), words, color=QUERY)
    axes.xaxis.set_label_position("top")
    axes.xaxis.tick_top()
    return figure


def connections(fixed, computed):
    """One layer's weights as lines: the same for any input, and computed from each of two."""
    figure = Figure((WIDTH, 2.5), layout="constrained")
    titles = [WORDS["any"], *(WORDS["input"].format(i + 1) for i in range(len(computed)))]
    kinds = ["fixed", *["computed"] * len(computed)]
    panels = figure.subplots(1, 1 + len(computed))
    for axes, table, kind, title in zip(panels, [fixed, *computed], kinds, titles, strict=True):
        style = "-" if kind == "fixed" else (0, (3, 1.2))
        strengths = np.abs(table) / np.abs(table).max()
        for (m, n), strength in np.ndenumerate(strengths):
            axes.plot([n, m], [0, 1], linestyle=style, color=INK, linewidth=4 * strength, zorder=0)
        places = np.arange(len(table))
        axes.plot(places, 0 * places, SQUARE, color=KEY, markersize=9)
        axes.plot(places, 0 * places + 1, DIAMOND, color=VALUE, markersize=8)
        axes.set_title(f"{WORDS[kind]},\n{title}")
        axes.set(xticks=[], yticks=[], xlim=(-0.4, len(table) - 0.6), ylim=(-0.15, 1.15))
        axes.spines[:].set_visible(False)
    return figure


def masks(gallery):
    """Which query (row) may attend to which key (column); ``gallery`` {name: boolean table}."""
    figure = Figure((WIDTH, 4.3), layout="constrained")
    for place, (name, mask) in enumerate(gallery.items(), start=1):
        axes = figure.add_subplot(2, 3, place, title=WORDS[name], aspect="equal")
        for (m, n), may in np.ndenumerate(mask):
            _cell(axes, m, n, facecolor=to_rgba(INK, DARKEST) if may else "none")
            if may:
                axes.plot(n, m, ROUND, color=INK, markersize=3)
        for m in np.flatnonzero(~mask.any(axis=1)):
            axes.text((mask.shape[1] - 1) / 2, m, WORDS["empty"], ha="center", va="center")
        _frame(axes, len(mask))
        axes.set(xticks=[], yticks=[])
    return figure


def long_range(curves):
    """How much of the gradient reaches an input so many steps back; ``curves`` {name: norms}."""
    figure = Figure((WIDTH, 3), layout="constrained")
    axes = figure.add_subplot(yscale="log", xlabel=WORDS["distance"], ylabel=WORDS["gradient"])
    styles = [":", "-.", "--", (0, (5, 1, 1, 1, 1, 1)), "-"]
    for (name, norms), style in zip(curves.items(), styles, strict=True):
        axes.plot(norms, linestyle=style, color=INK, label=name)
    powers = range(0, -20, -5)
    axes.set_yticks([10.0**power for power in powers], [f"1e{power}" for power in powers])
    axes.minorticks_off()
    axes.legend(loc="lower left")
    return figure


def positions(table):
    """Some columns of a table of positions, and how alike rows are that stand so far apart."""
    figure = Figure((WIDTH, 4.4), layout="constrained")
    waves, products = figure.subplots(2, 1)
    quarter = table.shape[1] // 8 * 2
    for column, style in zip(
        range(0, table.shape[1], quarter), ["-", "--", "-.", ":"], strict=True
    ):
        waves.plot(table[:, column], style, color=INK, label=WORDS["column"].format(column))
    waves.set(title=WORDS["waves"], xlabel=WORDS["place"])
    waves.legend(loc="upper left", bbox_to_anchor=(1, 1))
    N = len(table)
    for place, marker in zip((N // 4, N // 2, 3 * N // 4), (ROUND, SQUARE, "^"), strict=True):
        reach = np.arange(-min(place, N // 3), min(N - place, N // 3))
        label = WORDS["product"].format(place)
        heights = table[place + reach] @ table[place]
        products.plot(
            reach, heights, marker, color=INK, fillstyle="none", markersize=5, label=label
        )
    products.set(title=WORDS["products"], xlabel=WORDS["apart"])
    products.legend(loc="upper left", bbox_to_anchor=(1, 1))
    return figure


def _cell(axes, row, column, **style):
    axes.fill(
        column + np.array([-0.5, 0.5, 0.5, -0.5]),
        row + np.array([-0.5, -0.5, 0.5, 0.5]),
        edgecolor=LINE,
        linewidth=0.8,
        **style,
    )


def _frame(axes, size):
    axes.set(xlim=(-0.6, size - 0.4), ylim=(size - 0.4, -0.6))
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
