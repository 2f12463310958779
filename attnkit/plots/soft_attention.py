"""The figures of the chapter on soft attention."""

import numpy as np
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure

from attnkit.plots import DIAMOND, INK, KEY, LINE, MUTED, QUERY, ROUND, SQUARE, VALUE, WIDTH

WORDS = {
    "scores": "scores",
    "weights": "weights",
    "walk": "walk {}",
    "minutes": "minutes",
    "read": "read",
    "temperature": "temperature",
    "weight": "weight",
    "dot": "dot",
    "bilinear": "bilinear",
    "additive": "additive",
    "gaussian": "Gaussian",
    "query": "q",
    "near": "k near",
    "long": "k long",
    "items": "items",
    "reads": "reads",
    "hull": "hull",
    "rain": "rain",
    "bandwidth": "h = {:g}",
    "points": "remembered walks",
    "dimension": "dimension d",
    "jacobian": "norm of the Jacobian",
    "entropy": "entropy of the weights",
    "raw": "unscaled",
    "scaled": "scaled",
    "equal": "all weights equal",
}


def score_normalise_read(scores, weights, values, read):
    """Three items through the three moves: bars of scores and weights, then a line of values."""
    figure = Figure((WIDTH, 3.1), layout="constrained")
    grid = figure.add_gridspec(2, 2, height_ratios=[1.3, 1])
    places = np.arange(len(scores))
    names = [WORDS["walk"].format(n + 1) for n in places]

    axes = figure.add_subplot(grid[0, 0], title=WORDS["scores"])
    axes.barh(places, scores, height=0.6, facecolor="none", edgecolor=MUTED, hatch="///")
    for place, score in zip(places, scores, strict=True):
        axes.text(score + 0.06, place, f"{score:.0f}", va="center")
    _bars(axes, names, max(scores) * 1.2)

    axes = figure.add_subplot(grid[0, 1], title=WORDS["weights"])
    shades = [to_rgba(INK, weight) for weight in weights]
    axes.barh(places, weights, height=0.6, color=shades, edgecolor=INK, linewidth=0.8)
    for place, weight in zip(places, weights, strict=True):
        axes.text(weight + 0.03, place, f"{weight:.2f}", va="center")
    _bars(axes, names, 1)

    axes = figure.add_subplot(grid[1, :], xlabel=WORDS["minutes"], ylim=(-0.9, 1.1), yticks=[])
    axes.spines["left"].set_visible(False)
    axes.axhline(0, color=LINE, linewidth=1, zorder=0)
    # Areas, not lengths, are proportional to the weights.
    axes.scatter(values, 0 * values, s=400 * np.asarray(weights), color=VALUE, marker=DIAMOND)
    for name, value in zip(names, values, strict=True):
        axes.text(value, 0.45, name, ha="center", color=VALUE)
    _read(axes, [read], [0])
    axes.text(read, -0.75, f"{WORDS['read']} {read:.1f}", ha="center", color=VALUE)
    axes.margins(x=0.12)
    return figure


def temperature(temperatures, weights):
    """The weight of each item against the temperature; ``weights`` is (temperatures, items)."""
    figure = Figure((WIDTH, 2.6), layout="constrained")
    axes = figure.add_subplot(xscale="log", xlabel=WORDS["temperature"], ylabel=WORDS["weight"])
    for n, style in enumerate(["-", "--", ":"]):
        axes.plot(temperatures, weights[:, n], style, color=INK, label=WORDS["walk"].format(n + 1))
    axes.legend(loc="upper right")
    axes.set_xticks([0.1, 1, 10], ["0.1", "1", "10"])
    axes.set_ylim(-0.03, 1.05)
    return figure


def score_maps(score_of, query, marked_keys):
    """Lines of equal score over the plane of keys, one panel a score; darker means higher."""
    figure = Figure((WIDTH, 4.8), layout="constrained")
    side = np.linspace(-1.5, 4, 34)
    plane = np.stack(np.meshgrid(side, side), axis=-1)  # (34, 34, 2)
    for place, (name, score) in enumerate(score_of.items(), start=1):
        axes = figure.add_subplot(2, 2, place, title=WORDS[name], aspect="equal")
        heights = score(query[None], plane.reshape(-1, 2)).reshape(plane.shape[:2])
        levels = np.linspace(heights.min(), heights.max(), 11)[1:-1]
        if name == "gaussian":  # a paraboloid: equal steps would crowd its rim
            levels = -((np.linspace(3.2, 0.4, 9)) ** 2) / 2
        shades = [to_rgba(INK, strength) for strength in np.linspace(0.2, 1, len(levels))]
        axes.contour(side, side, heights, levels, colors=shades, linestyles="-", linewidths=1.2)
        axes.plot(*query, ROUND, color=QUERY, markersize=8)
        axes.text(query[0] - 0.2, query[1] + 0.25, WORDS["query"], color=QUERY, ha="right")
        for word, key, offset in zip(("near", "long"), marked_keys, (-0.6, 0.3), strict=True):
            axes.plot(*key, SQUARE, color=KEY, markersize=9, fillstyle="none", markeredgewidth=1.8)
            axes.text(key[0], key[1] + offset, WORDS[word], color=KEY, ha="center")
        axes.set(xticks=[], yticks=[])
    return figure


def hull(items, reads):
    """Many reads inside the convex hull of the items they average."""
    figure = Figure((WIDTH, 3.3), layout="constrained")
    axes = figure.add_subplot(aspect="equal", xticks=[], yticks=[])
    axes.spines[:].set_visible(False)
    outline = _convex_hull(items)
    axes.fill(*outline.T, facecolor="none", edgecolor=MUTED, linestyle="--", label=WORDS["hull"])
    axes.plot(*reads.T, DIAMOND, color=VALUE, markersize=4, fillstyle="none", label=WORDS["reads"])
    axes.plot(*items.T, SQUARE, color=KEY, markersize=9, label=WORDS["items"])
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5))
    return figure


def kernel_regression(x, y, grid, curves):
    """Points and the curves that Nadaraya-Watson draws through them; ``curves`` {h: curve}."""
    figure = Figure((WIDTH, 3), layout="constrained")
    axes = figure.add_subplot(xlabel=WORDS["rain"], ylabel=WORDS["minutes"])
    axes.plot(x, y, SQUARE, color=KEY, markersize=5, fillstyle="none", label=WORDS["points"])
    for (h, curve), style in zip(curves.items(), [":", "-", "--"], strict=True):
        axes.plot(grid, curve, style, color=VALUE, label=WORDS["bandwidth"].format(h))
    axes.legend(loc="upper left")
    return figure


def saturation(dimensions, raw, scaled, n_keys):
    """Norm of the Jacobian and entropy of the weights against the dimension."""
    figure = Figure((WIDTH, 2.7), layout="constrained")
    panels = figure.subplots(1, 2)
    for axes, name in zip(panels, ("jacobian", "entropy"), strict=True):
        for rows, word, style in ((raw, "raw", "--o"), (scaled, "scaled", "-s")):
            heights = [row[name] for row in rows]
            axes.plot(dimensions, heights, style, color=INK, markersize=5, label=WORDS[word])
        axes.set_xscale("log", base=2)
        axes.set_xticks(dimensions, dimensions, minor=False)
        axes.set(xlabel=WORDS["dimension"], title=WORDS[name], ylim=(0, None))
    panels[0].legend(loc="lower left")
    limit = np.log(n_keys)
    panels[1].axhline(limit, color=LINE, linewidth=1)
    panels[1].text(dimensions[-1], limit + 0.05, WORDS["equal"], ha="right", color=MUTED)
    panels[1].set_ylim(0, limit * 1.15)
    return figure


def _bars(axes, names, right):
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    axes.set(xlim=(0, right), xticks=[])
    axes.spines["bottom"].set_visible(False)
    axes.tick_params(length=0)


def _read(axes, x, y):
    style = {"facecolor": "none", "edgecolor": VALUE, "linewidth": 2.6}
    axes.scatter(x, y, s=110, marker=DIAMOND, zorder=3, **style)


def _convex_hull(points):
    """The corners in order: of all lines through two points, those with every point on one side."""
    start = points[points[:, 0].argmin()]
    corners = [start]
    while True:
        ahead = points - corners[-1]
        corner = next(
            point
            for point, step in zip(points, ahead, strict=True)
            if step.any() and np.all(step[0] * ahead[:, 1] - step[1] * ahead[:, 0] >= -1e-12)
        )
        if np.array_equal(corner, start):
            return np.array(corners)
        corners.append(corner)
