"""Demos on a page without a kernel: their place, their style and the script that mounts them."""

import json
import re
import subprocess
from hashlib import sha256
from pathlib import Path

from exercise import ESBUILD

SUFFIX = ".demos.js"
STATE = "application/vnd.jupyter.widget-state+json"
VIEW = re.compile(r'<script type="application/vnd\.jupyter\.widget-view\+json">\s*(\{.*?\})', re.S)
# Has the size of the demo before any script runs, so that nothing on the page jumps.
PLACE = (
    '<div class="attn-demo" style="--desk: {}rem; --phone: {}rem"><noscript><p>Here a demo asks a '
    "question and lets you find the answer by moving things. It needs JavaScript.</p></noscript>"
    "</div>\n"
)
# The address changes with the text, so that no browser brings an older one from its cache.
ARRIVING = (
    f'<script type="{STATE}" data-src="{{}}?v={{:.8}}" data-lost="This demo did not arrive: reload '
    'the page to try again."></script>\n'
)


def configure(app, config):
    """Pages with widgets get our script instead of the widget manager from another host.

    It is no module: a browser would not load one from a folder of files, without a server.
    """
    config.nb_ipywidgets_js = {"demo_mount.js": {"defer": "defer"}}


def add_static(app):
    """The script's folder; jupyter-book would load a script of its own static folder everywhere."""
    app.config.html_static_path.append(str(Path(__file__).with_suffix(".js")))


def minified(script):
    """A demo's module in fewer bytes; the live notebook runs it as it is written."""
    command = [ESBUILD, "--minify", "--format=esm", "--log-level=warning"]
    return subprocess.run(
        command, input=script, capture_output=True, encoding="utf-8", check=True, timeout=60
    ).stdout


def place(app, pagename, templatename, context, doctree):
    """Put each demo's place and style into the text, and what the demos carry into a script.

    That can be more than the text: the page is read while it is still on its way. It is a script,
    not data, since a page that was opened as a file may load nothing else.
    """
    scripts = context["script_files"]
    saved = [script for script in scripts if script.attributes.get("type") == STATE]
    if not saved:
        return
    models = json.loads(saved[0].attributes["body"])["state"]
    styles = {model["state"].pop("_css", "") for model in models.values()}
    for model in models.values():
        if "_esm" in model["state"]:
            model["state"]["_esm"] = minified(model["state"]["_esm"])

    def with_place(view):
        widget = models[json.loads(view[1])["model_id"]]["state"]
        return PLACE.format(*widget["_heights"]) + view[0]

    body = VIEW.sub(with_place, context["body"])
    text = json.dumps(models, ensure_ascii=False, separators=(",", ":"))
    written = Path(app.outdir, pagename + SUFFIX)
    written.parent.mkdir(parents=True, exist_ok=True)
    written.write_text(f"demoModels = {text};\n", encoding="utf-8")
    context["body"] = (
        f"<style>{''.join(sorted(styles))}</style>\n"
        + body
        + ARRIVING.format(written.name, sha256(text.encode()).hexdigest())
    )
    context["script_files"] = [script for script in scripts if script not in saved]


def setup(app):
    """Register the hooks with Sphinx."""
    app.connect("config-inited", configure, priority=100)
    app.connect("builder-inited", add_static)
    app.connect("html-page-context", place, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
