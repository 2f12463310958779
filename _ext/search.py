"""Search in the page: an index made of the written pages, asked by a script of ours."""

import json
import subprocess
from pathlib import Path
from shutil import rmtree

from slim import NODE, up_to_date, written_pages

HERE = Path(__file__).parent
INDEXES = {"genindex", "search"}  # pages that repeat words and explain none


def replace_sphinx(app):
    """Our script and no search page of Sphinx's, which misses Chinese and parts of words."""
    app.builder.search = False
    app.config.html_static_path.append(str(HERE / "search.js"))
    app.add_js_file("search.js", loading_method="defer")


def write_index(app, exception):
    """After the pages are written."""
    if exception or app.builder.format != "html":
        return
    target = Path(app.outdir, "pagefind")
    pages = written_pages(app)
    if up_to_date(target / "pagefind-entry.json", pages):
        return
    rmtree(target, ignore_errors=True)  # names carry a hash, so the old ones would stay
    asked = [
        {"url": page.relative_to(app.outdir).as_posix(), "path": str(page)}
        for page in pages
        if page.stem not in INDEXES
    ]
    subprocess.run(
        [NODE, HERE / "search.mjs"],
        input=json.dumps({"pages": asked, "target": str(target)}),
        encoding="utf-8",
        check=True,
        timeout=120,
    )


def setup(app):
    """Register the hooks with Sphinx."""
    app.connect("builder-inited", replace_sphinx)
    app.connect("build-finished", write_index)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
