"""What a page weighs: one stylesheet of the rules in use, fonts of the glyphs in use."""

import json
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

from fontTools import subset

HERE = Path(__file__).parent
NODE = Path(sys.executable).parent / "node"
# The theme's own, which its layout would put before all others.
THEME = ["styles/theme.css", "styles/pydata-sphinx-theme.css"]
# The priority from which on a stylesheet is the book's own.
OURS = 900
# Scripts that give elements a class; the others in the theme's folder are not loaded.
SCRIPTS = [
    "**/*.demos.js",
    "_static/*.js",
    "_static/scripts/pydata-sphinx-theme.js",
    "_static/scripts/sphinx-book-theme.js",
]


def written_pages(app):
    """The pages of the built site, those of earlier builds among them."""
    folder = Path(app.outdir)
    return sorted(path for path in folder.rglob("*.html") if "_static" not in path.parts)


def up_to_date(product, pages):
    """Whether a product was made after each of the pages."""
    made = product.stat().st_mtime if product.exists() else 0
    return all(page.stat().st_mtime <= made for page in pages)


def unlink_sheets(app, pagename, templatename, context, doctree):
    """The layout links the one sheet that takes the place of all these."""
    context["css_files"] = []


def write_sheet(app, pages, used):
    """The stylesheet of the site; beside the site, for tests, the same with every rule."""
    sheets = sorted(app.builder._css_files, key=lambda sheet: sheet.priority)
    names = [(sheet.filename.removeprefix("_static/"), sheet.priority) for sheet in sheets]
    job = {
        "theirs": THEME + [name for name, priority in names if priority < OURS],
        "ours": [name for name, priority in names if priority >= OURS],
        "content": [str(path) for path in [*pages, *(Path(app.outdir, name) for name in SCRIPTS)]],
        "whole": str(Path(app.outdir).parent / "whole.css"),
        "used": str(used),
    }
    subprocess.run(
        [NODE, HERE / "slim.mjs"], input=json.dumps(job), encoding="utf-8", check=True, timeout=120
    )


class Formulas(HTMLParser):
    """The characters of the formulas of the pages it is fed."""

    def __init__(self):
        super().__init__()
        self.characters = set()
        self.depth = 0  # of elements within a formula

    def handle_starttag(self, tag, attrs):
        if self.depth or ("class", "katex-html") in attrs:
            self.depth += 1

    def handle_endtag(self, tag):
        self.depth -= self.depth > 0

    def handle_data(self, data):
        if self.depth:
            self.characters.update(data)


def subset_fonts(pages, used):
    """Keep the glyphs of formulas and of icons."""
    formulas = Formulas()
    for page in pages:
        formulas.feed(page.read_text(encoding="utf-8"))
    icons = re.findall(r'"\\(f[0-9a-f]{3})"', used.read_text(encoding="utf-8"))
    text = "".join(formulas.characters) + "".join(chr(int(icon, 16)) for icon in icons)
    options = subset.Options(flavor="woff2")
    for path in (used.parent / "fonts").glob("*.woff2"):
        with subset.load_font(path, options) as font:
            subsetter = subset.Subsetter(options)
            subsetter.populate(text=text)
            subsetter.subset(font)
            subset.save_font(font, path, options)


def slim(app, exception):
    """After the pages are written, since they say what is used."""
    if exception or app.builder.format != "html":
        return
    pages = written_pages(app)
    used = Path(app.outdir, "_static", "site.css")
    if not up_to_date(used, pages):
        write_sheet(app, pages, used)
        subset_fonts(pages, used)


def setup(app):
    """Register the hooks with Sphinx."""
    app.connect("html-page-context", unlink_sheets, priority=960)
    # After the theme has written the colours of code.
    app.connect("build-finished", slim, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
