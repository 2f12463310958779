"""Puts an exercise on a page: ``{graded-exercise} chapter.function`` shows what is asked.

The text comes from ``attnkit.exercises``. An exercise in numpy can be done on the page; beside the
pages stand the learner's notebooks and what the worker needs that runs a reader's code.
"""

import inspect
import json
import subprocess
from functools import cache
from hashlib import sha256
from html import escape
from pathlib import Path
from shutil import copyfile

import nbformat
from docutils import nodes
from docutils.statemachine import StringList
from page_python import install
from sphinx.util.docutils import SphinxDirective

from attnkit import notebooks
from attnkit.checking import RULES
from attnkit.exercises import CHAPTERS, find

HERE = Path(__file__).with_suffix("")
ESBUILD = HERE.parents[1] / "node_modules" / ".bin" / "esbuild"

# The words of the box that are not the exercise's own; what is said while it runs is in words.js.
HINTS = ("Hint 1: a question", "Hint 2: the idea", "Hint 3: the line")
PROMPT = """\
*{points} points, about {minutes} minutes, difficulty {difficulty} of 3.*
{summary}

{text}

{terms}

**What the check asks.** `{contract}`. {rules}
"""
GIVEN = """
**What you are given.** This runs before your code:

```python
{given}
```
"""
ELSEWHERE = """
```python
def {function}{signature}:
    ...
```

This exercise needs {backend}, which does not run in a page.
<a href="{notebook}" download>Download the notebook</a> and write your answer there; the cell below
it tells you what is right and what is not yet.
"""
DESK = """\
<div class="exercise-desk" data-exercise="{name}">
<label for="{id}-answer">Your answer to exercise {number}</label>
<textarea id="{id}-answer" class="exercise-answer" aria-describedby="{id}-note" rows="{rows}"
 spellcheck="false" autocapitalize="off" autocomplete="off" wrap="off">
{starter}</textarea>
<p class="exercise-note" id="{id}-note">Tab leaves the field. What you write stays in this
browser.</p>
<div class="exercise-buttons">
<button type="button" class="exercise-run pst-js-only">Run and check</button>
<button type="button" class="exercise-hint pst-js-only">Hint</button>
<button type="button" class="exercise-reset pst-js-only">Reset</button>
<a class="exercise-notebook" href="{notebook}" download>Download as notebook</a>
</div>
<div class="exercise-verdict" role="status"></div>
</div>"""


class GradedExercise(SphinxDirective):
    """Title, points, prompt and contract, the place to answer or the way to it, three hints."""

    required_arguments = 1

    def run(self):
        try:
            exercise = find(self.arguments[0])
        except ValueError as error:
            raise self.error(str(error)) from None
        self.env.note_dependency(inspect.getsourcefile(exercise.prompt))
        box = nodes.container(classes=["exercise"], ids=[identifier(exercise)])
        box += nodes.rubric("", f"Exercise {exercise.number}: {exercise.title}")
        prompt, html = parts(exercise, "../" * self.env.docname.count("/"))
        self._markdown(box, prompt)
        box += self._html(html + '<div class="exercise-tips" aria-live="polite">')
        for label, hint in zip(HINTS, exercise.hints, strict=True):
            box += self._html(f"<details><summary>{label}</summary>")
            self._markdown(box, hint)
            box += self._html("</details>")
        box += self._html("</div>")
        return [box]

    def _markdown(self, box, text):
        self.state.nested_parse(StringList(text.splitlines(), self.arguments[0]), 0, box)

    def _html(self, text):
        return nodes.raw("", text, format="html")


def identifier(exercise):
    return f"exercise-{exercise.name.replace('.', '-')}"


def parts(exercise, root):
    """The prompt in Markdown, and the HTML of the desk where the page can run the answer."""
    notebook = f"{root}notebooks/{exercise.chapter}.ipynb"
    words = {name: getattr(exercise, name) for name in dir(exercise) if name[0] != "_"}
    prompt = PROMPT.format(rules=RULES, **words)
    if exercise.backend != "numpy":
        return prompt + ELSEWHERE.format(notebook=notebook, **words), ""
    text = starter(exercise)
    desk = DESK.format(
        id=identifier(exercise),
        name=exercise.name,
        number=exercise.number,
        notebook=notebook,
        rows=text.count("\n") + 4,
        starter=escape(text),
    )
    given = f"import numpy as np\n\n{exercise.given}".strip()
    return prompt + GIVEN.format(given=given), desk


def starter(exercise):
    """What stands in the answer's cell of the learner's notebook."""
    cells = learner(exercise.chapter).cells
    return next(c.source for c in cells if c.metadata.nbgrader.grade_id == exercise.function)


@cache
def learner(chapter):
    """The chapter's notebook as it is handed out."""
    return notebooks.learner(chapter)


def write_notebooks(app):
    folder = Path(app.outdir, "notebooks")
    folder.mkdir(parents=True, exist_ok=True)
    for chapter in CHAPTERS:
        nbformat.write(learner(chapter), folder / f"{chapter}.ipynb")


def write_scripts(app):
    """The page's script, the editor, the worker, and Python for the worker."""
    if app.builder.format != "html":
        return
    static = Path(app.outdir, "_static")
    size = install(static / "pyodide")
    own = sorted(HERE.iterdir())
    lock = static / "pyodide" / "pyodide-lock.json"
    content = [path.read_bytes() for path in (*own, lock) if path.is_file()]
    python = {"size": size, "version": sha256(b"".join(content)).hexdigest()[:8]}
    folder = static / "exercise"
    # The page's own script is no module: a page opened from a file has to say what cannot run.
    define = f"--define:PYTHON={json.dumps(python)}"
    bundle(HERE / "exercise.js", folder, "--format=iife", define)
    bundle(HERE / "editor.js", folder, "--format=esm")
    for name in ("worker.js", "runner.py", "exercise.css"):
        copyfile(HERE / name, folder / name)


def bundle(script, folder, *options):
    """One script out of a script and all that it imports."""
    command = [ESBUILD, script, f"--outfile={folder / script.name}", "--bundle", "--minify"]
    subprocess.run([*command, "--log-level=warning", *options], timeout=60, check=True)


def add_scripts(app, pagename, templatename, context, doctree):
    if 'class="exercise-desk"' in context.get("body", ""):
        app.add_js_file("exercise/exercise.js", defer="defer")


def setup(app):
    app.add_directive("graded-exercise", GradedExercise)
    app.add_css_file("exercise/exercise.css", priority=901)
    app.connect("builder-inited", write_notebooks)
    app.connect("builder-inited", write_scripts)
    app.connect("html-page-context", add_scripts)
    app.setup_extension("progress")
    return {"parallel_read_safe": True, "parallel_write_safe": True}
