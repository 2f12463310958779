"""The figure of the page on limits."""

from matplotlib.colors import to_rgba
from matplotlib.figure import Figure

from attnkit.plots import INK, MUTED, WIDTH

WORDS = {
    "scores": "one row of scores",
    "temperature": "temperature",
    "bond": "bond of the chain",
    "window": "width of the window",
    "hard": "hard choice",
    "softmax": "softmax",
    "mean": "mean",
    "sigmoids": "sigmoids",
    "chain": "chain",
    "together": "all or none",
    "one": "one visible",
    "local": "local",
}
# What is turned in each family, and the names of its two ends and of what lies between.
FAMILIES = {
    "temperature": ("hard", "softmax", "mean"),
    "bond": ("sigmoids", "chain", "together"),
    "window": ("one", "local", "softmax"),
}


def families(scores, weights):
    """The scores, and below them the weights of each family from one limit to the other.

    ``weights`` is ``{family: (3, items)}``.
    """
    figure = Figure((WIDTH, 5.4), layout="constrained")
    grid = figure.add_gridspec(1 + len(FAMILIES), 3)
    axes = figure.add_subplot(grid[0, :])
    axes.bar(range(len(scores)), scores, 0.8, facecolor="none", edgecolor=MUTED, hatch="///")
    axes.axhline(0, color=MUTED, linewidth=0.8)
    axes.set_title(WORDS["scores"])
    _bare(axes)
    for row, (family, names) in enumerate(FAMILIES.items(), start=1):
        for column, (name, shares) in enumerate(zip(names, weights[family], strict=True)):
            axes = figure.add_subplot(grid[row, column])
            style = {"color": to_rgba(INK, 0.25), "edgecolor": INK}
            axes.bar(range(len(shares)), shares, 0.8, **style)
            axes.axhline(0, color=MUTED, linewidth=0.8)
            axes.set(title=WORDS[name], ylim=(0, 1.05))
            _bare(axes)
            if column == 1:
                axes.set_xlabel(WORDS[family] + "  →", color=MUTED, fontsize=10)
    return figure


def _bare(axes):
    axes.set(xticks=[], yticks=[])
    axes.spines[:].set_visible(False)
