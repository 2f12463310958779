"""The figures of the chapter on attention in the mind."""

import numpy as np
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from attnkit.data.cognition import HALF_LENGTH, HALF_WIDTH, SIDE
from attnkit.plots import INK, KEY, LINE, MUTED, PAPER, QUERY, SQUARE, VALUE, WIDTH

WORDS = {
    "bar": "bar {}",
    "map": "{}",
    "sum": "plain sum",
    "score": "score",
    "feature": "feature",
    "conjunction": "conjunction",
    "guided": "conjunction, with a query",
    "by_chance": "each place once, by chance",
    "items": "number of bars",
    "needed": "visits until the target",
    "visits": "visits in order",
    "scores": "scores of all places",
    "beta": "β",
    "pooled": "pooled value",
    "channel": "channel {}",
    "mean": "mean",
    "max": "max",
    "parts": "{:g}",
}


def promoted(maps, scores):
    """Bars for three places: one row of panels before the operator N(.), one panel after it.

    ``maps`` {name: contrasts}; ``scores`` is what is left of the sum after each map was promoted.
    """
    figure = Figure((WIDTH, 2.2), layout="constrained")
    panels = {WORDS["map"].format(name): heights for name, heights in maps.items()}
    panels[WORDS["sum"]] = np.sum(list(maps.values()), axis=0)
    panels[WORDS["score"]] = scores
    places = np.arange(len(scores))
    names = [WORDS["bar"].format(n + 1) for n in places]
    for axes, (title, heights) in zip(figure.subplots(1, len(panels)), panels.items(), strict=True):
        axes.set_title(title)
        shades = [to_rgba(INK, 0.15 + 0.85 * height / max(heights)) for height in heights]
        axes.barh(places, heights, height=0.6, color=shades, edgecolor=INK, linewidth=0.8)
        for place, height in zip(places, heights, strict=True):
            axes.text(height + 0.04, place, f"{height:.2f}", va="center")
        axes.set_yticks(places, names if title == next(iter(panels)) else [""] * len(names))
        axes.invert_yaxis()
        axes.set(xlim=(0, 1.45), xticks=[])
        axes.spines["bottom"].set_visible(False)
        axes.tick_params(length=0)
    return figure


def displays(bars_of):
    """Displays of bars side by side, the target not marked; ``bars_of`` {kind: bars}."""
    figure = Figure((WIDTH, 2.5), layout="constrained")
    for axes, (kind, bars) in zip(figure.subplots(1, len(bars_of)), bars_of.items(), strict=True):
        axes.set(title=WORDS[kind], xlim=(0, SIDE), ylim=(SIDE, 0), xticks=[], yticks=[])
        axes.set_aspect("equal")
        axes.spines[:].set(visible=True, color=LINE)
        for row, column, blue, lying in bars:
            high, wide = (HALF_WIDTH, HALF_LENGTH) if lying else (HALF_LENGTH, HALF_WIDTH)
            corner, size = (column - wide, row - high), (2 * wide + 1, 2 * high + 1)
            axes.add_patch(Rectangle(corner, *size, color=KEY if blue else QUERY, linewidth=0))
    return figure


def looked_at(seen):
    """Photographs with the path of the visits, and beside each the scores of all its places.

    ``seen`` is a list of (image, scores, places).
    """
    tall = sum(image.shape[0] / image.shape[1] for image, _, _ in seen)
    figure = Figure((WIDTH, 0.5 + WIDTH / 2 * tall), layout="constrained")
    ratios = [image.shape[0] / image.shape[1] for image, _, _ in seen]
    rows = figure.subplots(len(seen), 2, squeeze=False, height_ratios=ratios)
    for (photo, heat), (image, scores, places) in zip(rows, seen, strict=True):
        photo.imshow(_in_steps(image), vmin=0, vmax=1, interpolation="none")
        heat.imshow(_in_steps(scores / scores.max()), cmap="gray", interpolation="none")
        path = {"color": PAPER, "linewidth": 1}
        photo.plot(places[:, 1], places[:, 0], "-", **path)
        photo.scatter(places[:, 1], places[:, 0], s=110, c=INK, edgecolors=PAPER, zorder=3)
        for visit, (row, column) in enumerate(places, start=1):
            style = {"ha": "center", "va": "center", "color": PAPER, "fontsize": 9}
            photo.text(column, row, str(visit), zorder=4, **style)
        for axes in (photo, heat):
            axes.set(xticks=[], yticks=[])
            axes.spines[:].set_visible(False)
    rows[0, 0].set_title(WORDS["visits"])
    rows[0, 1].set_title(WORDS["scores"])
    return figure


def _in_steps(brightness, count=24):
    """Numbers from 0 to 1 rounded to so many steps: looks alike and weighs half on a page."""
    return np.round(brightness * (count - 1)) / (count - 1)


def search(sizes, needed):
    """Visits until the target against the number of bars; ``needed`` {kind: means}."""
    figure = Figure((WIDTH, 3), layout="constrained")
    axes = figure.add_subplot(xlabel=WORDS["items"], ylabel=WORDS["needed"])
    axes.plot(sizes, (np.array(sizes) + 1) / 2, ":", color=MUTED, label=WORDS["by_chance"])
    looks = {"conjunction": ("-", SQUARE), "guided": ("--", "^"), "feature": ("-", "o")}
    for kind, (line, marker) in looks.items():
        fill = "none" if kind == "guided" else "full"
        size = 10 if kind == "guided" else 6
        label = WORDS[kind]
        axes.plot(
            sizes, needed[kind], line, color=INK, marker=marker, fillstyle=fill, markersize=size,
            label=label,
        )  # fmt: skip
    axes.set_xticks(sizes, sizes)
    axes.set_ylim(0, None)
    axes.legend(loc="upper left")
    return figure


def mean_to_max(betas, pooled, x):
    """The pooled value of each channel against beta, with its mean and its maximum."""
    figure = Figure((WIDTH, 2.9), layout="constrained")
    axes = figure.add_subplot(xscale="log", xlabel=WORDS["beta"], ylabel=WORDS["pooled"])
    for c, line in enumerate(["-", "--", "-.", ":"]):
        axes.plot(betas, pooled[:, c], line, color=VALUE, label=WORDS["channel"].format(c + 1))
        axes.plot(betas[0], x[:, c].mean(), "_", color=INK, markersize=12)
        axes.plot(betas[-1], x[:, c].max(), "_", color=INK, markersize=12)
    axes.set_xticks([0.01, 1, 100], [WORDS["parts"].format(b) for b in (0.01, 1, 100)])
    low, high = axes.get_ylim()
    axes.set_ylim(low, high + 0.16 * (high - low))
    axes.text(betas[0], axes.get_ylim()[1], WORDS["mean"], ha="center", va="top", color=MUTED)
    axes.text(betas[-1], axes.get_ylim()[1], WORDS["max"], ha="center", va="top", color=MUTED)
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5))
    return figure
