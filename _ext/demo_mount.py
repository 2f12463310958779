"""Demos on a page without a kernel: their place, their style and the script that mounts them."""

import json
import re
from pathlib import Path

STATE = "application/vnd.jupyter.widget-state+json"
VIEW = re.compile(r'<script type="application/vnd\.jupyter\.widget-view\+json">\s*(\{.*?\})', re.S)
# Has the size of the demo before any script runs, so that nothing on the page jumps.
PLACE = (
    '<div class="attn-demo" style="--desk: {}rem; --phone: {}rem"><noscript><p>Here a demo asks a '
    "question and lets you find the answer by moving things. It needs JavaScript.</p></noscript>"
    "</div>\n"
)


def configure(app, config):
    """Pages with widgets get our script instead of the widget manager from another host.

    It is no module: a browser would not load one from a folder of files, without a server.
    """
    config.nb_ipywidgets_js = {"demo_mount.js": {"defer": "defer"}}


def add_static(app):
    """The script's folder; jupyter-book would load a script of its own static folder everywhere."""
    app.config.html_static_path.append(str(Path(__file__).with_suffix(".js")))


def place(app, pagename, templatename, context, doctree):
    """Put the saved state at the end of the text, and each style once before it."""
    scripts = context["script_files"]
    saved = [script for script in scripts if script.attributes.get("type") == STATE]
    if not saved:
        return
    state = json.loads(saved[0].attributes["body"])
    styles = {model["state"].pop("_css", "") for model in state["state"].values()}

    def with_place(view):
        widget = state["state"][json.loads(view[1])["model_id"]]["state"]
        return PLACE.format(*widget["_heights"]) + view[0]

    body = VIEW.sub(with_place, context["body"])
    text = json.dumps(state, ensure_ascii=False, separators=(",", ":")).replace("</", r"<\/")
    context["body"] = (
        f"<style>{''.join(sorted(styles))}</style>\n"
        + body
        + f'<script type="{STATE}">{text}</script>\n'
    )
    context["script_files"] = [script for script in scripts if script not in saved]


def setup(app):
    """Register the hooks with Sphinx."""
    app.connect("config-inited", configure, priority=100)
    app.connect("builder-inited", add_static)
    app.connect("html-page-context", place, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
