"""Progress: which exercises a reader has solved, on the landing page and beside the contents.

``{progress}`` lists the exercises that can be done on a page; the record is in the reader's
browser. Only exercises in numpy count, since no page can tell whether another one is solved.
"""

import json
from html import escape
from pathlib import Path

from docutils import nodes
from exercise import bundle, identifier
from sphinx.util.docutils import SphinxDirective

from attnkit.exercises import all_exercises
from attnkit.notebooks import TITLES

# The words; those that change as exercises are solved are in exercise/words.js.
SUM = "0 of {count} exercises solved"
BUTTONS = """\
<p class="progress-buttons pst-js-only">
<button type="button" class="progress-export">Save progress to a file</button>
<button type="button" class="progress-import">Add progress from a file</button>
<input type="file" accept=".json" hidden>
</p>
<p class="progress-said" role="status"></p>"""


def by_chapter():
    """The exercises that can be done on a page, in lists by the name of their chapter."""
    chapters = {}
    for exercise in all_exercises():
        if exercise.backend == "numpy":
            chapters.setdefault(exercise.chapter, []).append(exercise)
    return chapters


class Progress(SphinxDirective):
    """How many exercises are solved, and which."""

    def run(self):
        chapters = by_chapter()
        count = sum(map(len, chapters.values()))
        root = "../" * self.env.docname.count("/")
        lists = "".join(
            f'<li><a href="{root}chapters/{chapter}.html">{escape(TITLES[chapter])}</a><ul>'
            + "".join(_entry(exercise, root) for exercise in exercises)
            + "</ul></li>"
            for chapter, exercises in chapters.items()
        )
        html = f'<p class="progress-sum">{SUM.format(count=count)}</p><ul>{lists}</ul>{BUTTONS}'
        return [nodes.raw("", f'<div class="progress-record">{html}</div>', format="html")]


def _entry(exercise, root):
    address = f"{root}chapters/{exercise.chapter}.html#{identifier(exercise)}"
    title = escape(f"{exercise.number} {exercise.title}")
    return (
        f'<li data-exercise="{exercise.name}"><a href="{address}">{title}</a> '
        '<span class="progress-mark"></span></li>'
    )


def write_script(app):
    if app.builder.format == "html":
        bundle(Path(__file__).with_suffix(".js"), Path(app.outdir, "_static"), "--format=iife")
        names = {chapter: [e.name for e in found] for chapter, found in by_chapter().items()}
        app.add_js_file("progress.js", defer="defer", **{"data-exercises": json.dumps(names)})


def setup(app):
    app.add_directive("progress", Progress)
    app.connect("builder-inited", write_script)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
