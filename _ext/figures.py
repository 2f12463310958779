"""Figures as inline SVG: one drawing for both themes, named for those who cannot see it."""

import re
from hashlib import sha256
from html import escape
from pathlib import Path

from docutils import nodes
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util import logging

# The colours figures are drawn in, and the page's variable that takes the place of each.
PALETTE = {
    "#b8470c": "var(--q)",
    "#0a5f9e": "var(--k)",
    "#00734f": "var(--v)",
    "#1a1a1a": "currentColor",
    "#5c5c5c": "var(--muted)",
    "#c9c9c9": "var(--line)",
    "#ffffff": "var(--paper)",
}
logger = logging.getLogger(__name__)


def inline(svg, label):
    """Matplotlib's SVG as part of a page."""
    svg = svg[svg.index("<svg") :]
    # Its style rule and metadata would reach, or be read by, the whole page.
    svg = re.sub(r"<(metadata|style).*?</\1>|<!--.*?-->", "", svg, flags=re.DOTALL)
    # Matplotlib writes millionths of a point; its text is left as it is.
    svg = re.sub(r"(?<=\.\d\d)\d+(?=[^<>]*>)", "", svg)
    width, height = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', svg).groups()
    opening = (
        f'<svg class="figure" role="img" aria-label="{escape(label)}" '
        f'viewBox="0 0 {width} {height}" style="width: {float(width):.0f}pt">'
    )
    svg = re.sub(r"<svg[^>]*>", opening, svg, count=1)
    # Two figures of one page must not share an id.
    prefix = "f" + sha256(svg.encode()).hexdigest()[:8] + "-"
    svg = re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{prefix}", svg)
    # Text takes the page's own font; its size and weight are the figure's.
    svg = re.sub(r"(font: [^;\"']*?px) [^;\"]*", r"\1 var(--figure-font)", svg)
    svg = re.sub(r"font-family: [^;\"]*;?", "", svg)
    return re.sub("#[0-9a-f]{6}", lambda hue: PALETTE.get(hue[0], hue[0]), svg)


class InlineFigures(SphinxPostTransform):
    """Puts the SVG a cell drew into the page, and asks every image for its text."""

    default_priority = 50  # after the output of a cell is chosen, before images are copied
    formats = ("html",)

    def run(self):
        """Visit each image of the page."""
        for image in list(self.document.findall(nodes.image)):
            label = image.get("alt", "").strip()
            if not label or "_images/" in label:
                place = image  # in a figure with a caption it has no line of its own
                while not place.line and place.parent:
                    place = place.parent
                logger.warning(
                    "a figure without alternative text: say what it shows in mystnb.image.alt",
                    location=place,
                )
            path = Path(self.env.srcdir, image["uri"])
            if "jupyter_execute" in path.parts and path.suffix == ".svg":
                drawing = inline(path.read_text(encoding="utf-8"), label)
                image.replace_self(nodes.raw("", drawing, format="html"))


def setup(app):
    """Register the transform with Sphinx."""
    app.add_post_transform(InlineFigures)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
