"""The page around the text: what it loads, what it says of itself, when it is written anew."""

import re
from hashlib import sha256
from pathlib import Path

from docutils import nodes
from sphinx.builders.html._assets import _JavaScript

ROOT = Path(__file__).parents[1]
# What the extensions write and a screen reader would stumble over.
AMENDED = {
    ' aria-label="Toggle hidden content"': "",  # hides the words of the summary
    ' role="doc-biblioentry"': "",  # withdrawn from the standard
    '<div role="list" class="citation-list">': '<div class="citation-list">',  # has no list items
    '<aside class="footnote-list': '<aside role="none" class="footnote-list',  # no landmark
}

# Pygments marks names, brackets and blanks too, which the book's styles show as plain text: a third
# of all marks, and of the work of laying out code.
PLAIN = re.compile(r'<span class="[npw]">([^<]*)</span>')
# Sphinx's, for keys that turn pages and for its own search.
UNUSED = {"_static/doctools.js", "_static/sphinx_highlight.js"}


def configure(app, config):
    """All pages are read anew when the site or the package changes; cells run by `execution`."""
    content = sha256()
    for folder in ("_ext", "_templates", "attnkit"):
        for path in sorted((ROOT / folder).rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                content.update(path.read_bytes())
    config.site_digest = content.hexdigest()


def add_static(app):
    """Our files beside the theme's; jupyter-book would load those of its own folder everywhere."""
    app.config.html_static_path.append(str(Path(__file__).parent / "static"))
    app.add_css_file("book.css", priority=900)


def deferred(script):
    """The same script, run in its turn when the page is there."""
    if {"async", "defer", "type"} & set(script.attributes):
        return script
    # An inline script cannot be deferred, but a module always is.
    later = {"defer": "defer"} if script.filename else {"type": "module"}
    return _JavaScript(script.filename, priority=script.priority, **later, **script.attributes)


def finish_page(app, pagename, templatename, context, doctree):
    """Let no script hold up the page, mend its accessibility, describe it in a sentence."""
    context["script_files"] = [
        deferred(script) for script in context["script_files"] if script.filename not in UNUSED
    ]
    if "body" in context:
        for old, new in AMENDED.items():
            context["body"] = context["body"].replace(old, new)
        context["body"] = PLAIN.sub(r"\1", context["body"])
    paragraph = doctree and doctree.next_node(nodes.paragraph)
    text = " ".join(paragraph.astext().split()) if paragraph else app.config.html_title
    context["description"] = text if len(text) <= 160 else text[:159].rsplit(" ", 1)[0] + "…"


def gather_papers(app, env):
    """The bibliography is written with every build: it lists what the pages cite by now."""
    return env.found_docs & {"chapters/bibliography"}


def setup(app):
    """Register the hooks with Sphinx."""
    # Jupyter-book always sets it, for an extension that this book does not load.
    app.add_config_value("comments_config", {}, "")
    app.add_config_value("site_digest", "", "env")
    app.connect("config-inited", configure)
    app.connect("builder-inited", add_static)
    app.connect("env-updated", gather_papers)
    # After the theme and the other extensions have added theirs.
    app.connect("html-page-context", finish_page, priority=950)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
