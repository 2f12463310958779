"""Puts an exercise on a page: ``{graded-exercise} chapter.function`` shows what is asked.

The text comes from ``attnkit.exercises``; beside the pages stand the learner's notebooks.
"""

import inspect
from pathlib import Path

import nbformat
from docutils import nodes
from docutils.statemachine import StringList
from sphinx.util.docutils import SphinxDirective

from attnkit import notebooks
from attnkit.checking import RULES
from attnkit.exercises import CHAPTERS, find

HINTS = ("Hint 1: a question", "Hint 2: the idea", "Hint 3: the line")


class GradedExercise(SphinxDirective):
    """Title, points, prompt, contract, three folded hints, and the way to the notebook."""

    required_arguments = 1

    def run(self):
        try:
            exercise = find(self.arguments[0])
        except ValueError as error:
            raise self.error(str(error)) from None
        self.env.note_dependency(inspect.getsourcefile(exercise.prompt))
        box = nodes.container(
            classes=["exercise"], ids=[f"exercise-{exercise.name.replace('.', '-')}"]
        )
        box += nodes.rubric("", f"Exercise {exercise.number}: {exercise.title}")
        self._markdown(box, self._text(exercise))
        for label, hint in zip(HINTS, exercise.hints, strict=True):
            box += self._html(f"<details><summary>{label}</summary>")
            self._markdown(box, hint)
            box += self._html("</details>")
        return [box]

    def _text(self, exercise):
        folder = "../" * self.env.docname.count("/")
        return f"""\
*{exercise.points} points, about {exercise.minutes} minutes, difficulty {exercise.difficulty} of 3.*
{exercise.summary}

```python
{"def " + exercise.function}{exercise.signature}:
    ...
```

{exercise.text}

**What the check asks.** `{exercise.contract}`. {RULES}

<a href="{folder}notebooks/{exercise.chapter}.ipynb" download>Download the notebook</a> and write
your answer there; the cell below it tells you what is right and what is not yet."""

    def _markdown(self, box, text):
        self.state.nested_parse(StringList(text.splitlines(), self.arguments[0]), 0, box)

    def _html(self, text):
        return nodes.raw("", text, format="html")


def write_notebooks(app):
    folder = Path(app.outdir, "notebooks")
    folder.mkdir(parents=True, exist_ok=True)
    for chapter in CHAPTERS:
        nbformat.write(notebooks.learner(chapter), folder / f"{chapter}.ipynb")


def setup(app):
    app.add_directive("graded-exercise", GradedExercise)
    app.connect("builder-inited", write_notebooks)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
