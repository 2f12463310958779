"""How a page's cells run: without the network, and anew when something they import has changed."""

import ast
import os
from functools import partial
from hashlib import sha256
from pathlib import Path

from jupyter_cache.executors import utils
from myst_nb.core.read import read_myst_markdown_notebook

ROOT = Path(__file__).parents[1]
PACKAGE = "attnkit"


def imported(source):
    """The dotted names of the package, and in it, that some code imports."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            names = []
        yield from (name for name in names if name.split(".")[0] == PACKAGE)


def files(name):
    """What is read when ``name`` is imported: its module, and the packages that this stands in.

    With a package counts what lies in it and is not Python: a demo is made of JavaScript too.
    """
    parts = name.split(".")
    for end in range(1, len(parts) + 1):
        path = ROOT.joinpath(*parts[:end])
        if path.is_dir():
            yield path / "__init__.py"
            yield from (file for file in path.glob("*.*") if file.suffix != ".py")
        elif path.with_suffix(".py").is_file():
            yield path.with_suffix(".py")


def digest(source):
    """A short name for the present content of all that some code imports, directly or not."""
    found, waiting = set(), list(imported(source))
    while waiting:
        new = set(files(waiting.pop())) - found
        found |= new
        for path in new:
            if path.suffix == ".py":
                waiting += imported(path.read_text("utf-8"))
    content = sha256()
    for path in sorted(found):
        content.update(path.read_bytes())
    return content.hexdigest()[:16]


def configure(app, config):
    """Switch off the network, compute in one thread, and keep the lines of what is printed."""
    # What a cell fetches is gone some years later.
    os.environ.update(dict.fromkeys(("http_proxy", "https_proxy"), "http://127.0.0.1:9"))
    # On a busy machine threads that wait for each other take far longer than one.
    os.environ["OMP_NUM_THREADS"] = "1"
    # A kernel sends what a cell prints in pieces; myst-nb would lose line ends when it joins them.
    utils.executenb = partial(utils.executenb, coalesce_streams=True)


def choose_cache(app, docname, source):
    """Look for a page's outputs among those made with the package as it is now."""
    notebook = read_myst_markdown_notebook(source[0], app.env.myst_config)
    code = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "code")
    cache = Path(app.outdir).parent / ".jupyter_cache" / digest(code)
    app.env.mystnb_config.execution_cache_path = str(cache)


def setup(app):
    """Register the hooks with Sphinx."""
    app.connect("config-inited", configure)
    app.connect("source-read", choose_cache)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
