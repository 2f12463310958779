"""The figures of the book: one style for all, and a module of drawings for each chapter.

A drawing is a function named by what it shows; it takes data and returns a matplotlib Figure. The
colours are literal, so that the site can map them to those of the reader's theme; each distinction
has a second channel beside colour. Every word stands in the ``WORDS`` of its module, so that a
figure can be translated.
"""

import matplotlib
import numpy as np
from matplotlib.collections import PatchCollection
from matplotlib.colors import to_rgba
from matplotlib.patches import PathPatch, Rectangle
from matplotlib.path import Path

QUERY, KEY, VALUE = "#b8470c", "#0a5f9e", "#00734f"
INK, MUTED, LINE, PAPER = "#1a1a1a", "#5c5c5c", "#c9c9c9", "#ffffff"
PALETTE = {QUERY, KEY, VALUE, INK, MUTED, LINE, PAPER}
# Marker of the query, of keys, and of values and reads.
ROUND, SQUARE, DIAMOND = "o", "s", "D"

# Of a marker that says where something should be.
OUTLINE = {"facecolor": "none", "edgecolor": VALUE, "linewidth": 1.4}

WIDTH = 4.7  # inches; the text is still readable when a phone shrinks it to 360 pixels

STYLE = {
    "svg.fonttype": "none",  # text stays text
    "svg.hashsalt": "attnkit",  # the same figure gives the same file
    "font.size": 10,
    "axes.titlesize": 10,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "axes.titlecolor": INK,
    "text.color": INK,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelcolor": MUTED,
    "ytick.labelcolor": MUTED,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "savefig.facecolor": "none",
    "lines.linewidth": 1.8,
    "legend.frameon": False,
    "hatch.linewidth": 0.6,
}


def use_book_style():
    """Set the style of the book and, in a notebook, show figures as SVG."""
    matplotlib.rcParams.update(STYLE)
    try:
        from matplotlib_inline.backend_inline import set_matplotlib_formats
    except ImportError:
        return
    set_matplotlib_formats("svg", metadata={"Date": None})


def weight_map(axes, weights, source, target):
    """Cells as dark as their weight; rows are steps from the top, columns source positions."""
    seen = [
        (m, n) for m, row in enumerate(weights) for n, weight in enumerate(row) if weight > 0.01
    ]
    cells = [Rectangle((n - 0.5, m - 0.5), 1, 1) for m, n in seen]
    shades = [to_rgba(INK, float(weights[m][n])) for m, n in seen]
    axes.add_collection(PatchCollection(cells, facecolors=shades, edgecolors="none"))
    axes.set(xlim=(-0.5, len(source) - 0.5), ylim=(len(target) - 0.5, -0.5), aspect="equal")
    axes.set_xticks(range(len(source)), source)
    axes.set_yticks(range(len(target)), target)
    axes.tick_params(length=0)
    axes.spines[:].set(visible=True, color=LINE)


def boxed(axes, x, y, symbol, colour):
    """A symbol in a box of its colour, centred at the point."""
    box = {"boxstyle": "square,pad=0.35", "facecolor": "none", "edgecolor": colour}
    axes.text(x, y, symbol, ha="center", va="center", color=colour, bbox=box)


def pixels(axes, picture, left, top):
    """A small picture as squares of ink, four shades dark: it turns with the page's colours."""
    shades = np.ceil(np.clip(picture, 0, 1) * 4 - 0.5).astype(int)
    for shade in range(1, 5):
        corners = np.argwhere(shades == shade)[:, None, ::-1] + [[0, 0], [1, 0], [1, 1], [0, 1]]
        if len(corners):
            path = Path.make_compound_path_from_polys(corners + np.array([left, top]))
            axes.add_patch(PathPatch(path, facecolor=to_rgba(INK, shade / 4), linewidth=0))
