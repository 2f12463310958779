"""Math rendered while the book is built: KaTeX in one lasting Node process."""

import json
import re
import subprocess
import sys
from html import escape
from pathlib import Path

from docutils import nodes
from sphinx.util import logging
from sphinx.util.fileutil import copy_asset
from sphinx.util.math import get_node_equation_number

HERE = Path(__file__).parent
KATEX = HERE.parent / "node_modules" / "katex" / "dist"
logger = logging.getLogger(__name__)


class Katex:
    """Node, started at the first formula and asked one formula at a time."""

    def __init__(self):
        self.node = None

    def render(self, tex, display, location):
        """The HTML of a formula; a formula KaTeX refuses is a warning and shown as text."""
        if self.node is None:
            self.node = subprocess.Popen(
                [Path(sys.executable).parent / "node", HERE / "katex_math.mjs"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                encoding="utf-8",
            )
        print(json.dumps({"tex": tex, "displayMode": display}), file=self.node.stdin, flush=True)
        answer = json.loads(self.node.stdout.readline())
        if "error" in answer:
            logger.warning("%s", answer["error"], location=location)
            return f'<code class="katex-error">{escape(tex)}</code>'
        return answer["html"]

    def close(self, *_):
        """End Node with the build."""
        if self.node:
            self.node.communicate()
            self.node = None


katex = Katex()


def visit_math(translator, node):
    """A formula in a line of text."""
    html = katex.render(node.astext(), False, node)
    translator.body.append(f'<span class="math">{html}</span>')
    raise nodes.SkipNode


def visit_math_block(translator, node):
    """A formula of its own: it scrolls in its box, so that its number stays beside it."""
    # Sphinx numbers the equation; KaTeX would number the environment a second time.
    tex = re.sub(r"\\(begin|end)\{(equation|align|alignat|gather)\}", r"\\\1{\2*}", node.astext())
    html = katex.render(tex, True, node)
    translator.body.append(translator.starttag(node, "div", CLASS="math"))
    # The theme's script makes a box of this class reachable by keyboard where it overflows.
    translator.body.append(f'<div class="pst-scrollable-table-container">{html}</div>')
    if node["number"]:
        translator.body.append(f'<span class="eqno">({get_node_equation_number(translator, node)})')
        translator.add_permalink_ref(node, "Link to this equation")
        translator.body.append("</span>")
    translator.body.append("</div>\n")
    raise nodes.SkipNode


def copy_katex(app):
    """KaTeX's stylesheet and fonts; every browser that can show the book reads woff2."""
    if app.builder.format != "html":
        return
    target = Path(app.outdir, "_static", "katex")
    copy_asset(KATEX / "fonts", target / "fonts", excluded=lambda path: not path.endswith("woff2"))
    css = (KATEX / "katex.min.css").read_text(encoding="utf-8")
    css = re.sub(r',url\([^)]*\.(woff|ttf)\) format\("\w+"\)', "", css)
    (target / "katex.css").write_text(css, encoding="utf-8")


def setup(app):
    """Register the renderer with Sphinx."""
    app.add_html_math_renderer("katex", (visit_math, None), (visit_math_block, None))
    app.add_css_file("katex/katex.css")
    app.connect("builder-inited", copy_katex)
    app.connect("build-finished", katex.close)
    # One Node process serves one writer.
    return {"parallel_read_safe": True, "parallel_write_safe": False}
