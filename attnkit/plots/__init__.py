"""The figures of the book: one style for all, and a module of drawings for each chapter.

A drawing is a function named by what it shows; it takes data and returns a matplotlib Figure. The
colours are literal, so that the site can map them to those of the reader's theme; each distinction
has a second channel beside colour. Every word stands in the ``WORDS`` of its module, so that a
figure can be translated.
"""

import matplotlib

QUERY, KEY, VALUE = "#b8470c", "#0a5f9e", "#00734f"
INK, MUTED, LINE, PAPER = "#1a1a1a", "#5c5c5c", "#c9c9c9", "#ffffff"
PALETTE = {QUERY, KEY, VALUE, INK, MUTED, LINE, PAPER}
# Marker of the query, of keys, and of values and reads.
ROUND, SQUARE, DIAMOND = "o", "s", "D"

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
