"""Writes the teacher's and the learner's notebook of a chapter from its exercises.

``python -m attnkit.notebooks FOLDER`` writes the teacher's notebooks of all chapters as
``FOLDER/<chapter>/<chapter>.ipynb``.
"""

import ast
import inspect
import re
import sys
import textwrap
from pathlib import Path

from nbformat import v4, write

from attnkit.checking import RULES, Exercise
from attnkit.exercises import CHAPTERS, of_chapter

TITLES = {
    "notation": "Notation",
    "cognition": "Attention in the mind",
    "seq2seq": "Encoder, decoder and attention",
    "soft_attention": "Soft attention",
    "hard_attention": "Hard attention",
    "key_value_attention": "Key-value attention",
    "multi_head_attention": "Multi-head attention",
    "structured_attention": "Structured attention",
    "pointer_network": "Pointer networks",
    "self_attention": "Self-attention",
    "transformer": "The Transformer",
    "applications": "Applications and limits",
}

KERNEL = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def teacher(chapter):
    """The notebook with solutions, hidden checks and marking schemes between nbgrader's marks."""
    return of_items(f"{TITLES[chapter]}: exercises", of_chapter(chapter))


def of_items(title, items):
    """A teacher's notebook of these exercises and questions."""
    cells = [
        _locked(v4.new_markdown_cell(_opening(title, items)), "opening"),
        _locked(v4.new_code_cell(_imports(items)), "imports"),
    ]
    for item in items:
        cells += _exercise(item) if isinstance(item, Exercise) else _question(item)
    return v4.new_notebook(cells=cells, metadata=KERNEL)


def learner(chapter):
    """The notebook as it is handed out: nbgrader's own steps applied to the teacher's."""
    from nbgrader.preprocessors import ClearHiddenTests, ClearSolutions, LockCells

    notebook = teacher(chapter)
    for step in (LockCells, ClearSolutions, ClearHiddenTests):
        notebook, _ = step().preprocess(notebook, {})
    return notebook


def solution(exercise):
    """The body of the reference as a learner could write it: numpy, and nothing imported.

    Other functions of attnkit that the reference calls are written out inside the body, unless
    the exercise gives them.
    """
    given = {getattr(node, "name", "") for node in ast.parse(exercise.given).body}
    helpers = {}

    def write_out(function):
        body, called = _body(function)
        for name, helper in called.items():
            if name not in given | helpers.keys():
                helpers[name] = _definition(helper, write_out(helper))
        return body

    body = write_out(inspect.unwrap(exercise.reference))
    return "\n\n".join([*helpers.values(), body])


def _imports(items):
    torch = any(isinstance(item, Exercise) and item.backend == "torch" for item in items)
    return (
        "import numpy as np\n"
        + ("import torch\n" if torch else "")
        + "\nfrom attnkit.exercises import check, example, hint"
    )


def checked(cell):
    """The names of the exercises that a cell checks, each once."""
    return list(dict.fromkeys(_CHECK.findall(cell.source)))


_CHECK = re.compile(r"^check\([\"']([\w.]+)[\"']", re.MULTILINE)


def _opening(title, items):
    points = sum(item.points for item in items)
    minutes = sum(item.minutes for item in items if isinstance(item, Exercise))
    return f"""\
# {title}

{points} points, about {minutes} minutes at the keyboard. Write your answers where it says so and
run the cell below each of them: it tells you whether the function is right and, if not, which
mistake it makes.

{RULES}

Stuck? `hint("name")` asks a question, `hint("name", 2)` gives the idea,
`hint("name", 3)` the line. `example("name", "case")` gives you the arguments of a case that the
check has named, so that you can run your function on them. You may add cells; please do not change
or delete the locked ones."""


def _exercise(exercise):
    name = exercise.function
    prompt = f"""\
## {exercise.number} {exercise.title}

{exercise.summary} *{exercise.points} points, about {exercise.minutes} minutes,
difficulty {exercise.difficulty} of 3.*

{exercise.text}

{exercise.terms}

Hints: `hint("{exercise.name}")`""".replace("\n\n\n", "\n")
    if exercise.given:
        yield _locked(v4.new_code_cell(exercise.given.strip()), f"{name}_given")
    yield _locked(v4.new_markdown_cell(prompt), f"{name}_prompt")
    answer = f'''\
def {name}{exercise.signature}:
    """{exercise.summary}

{textwrap.indent(textwrap.fill(exercise.contract, 88), "    ")}
    """
    ### BEGIN SOLUTION
{textwrap.indent(solution(exercise), "    ")}
    ### END SOLUTION'''
    yield _tagged(v4.new_code_cell(answer), name, solution=True)
    test = f"""\
check("{exercise.name}", {name})
### BEGIN HIDDEN TESTS
check("{exercise.name}", {name}, hidden=True)
### END HIDDEN TESTS"""
    cell = _tagged(
        v4.new_code_cell(test), f"{name}_check", grade=True, locked=True, points=exercise.points
    )
    # An answer that is not right yet must not stop "Run all" before the next exercise.
    cell.metadata["tags"] = ["raises-exception"]
    yield cell


def _question(question):
    prompt = f"""\
## {question.title}

*{question.points} points, marked by your teacher.*

{question.prompt}"""
    yield _locked(v4.new_markdown_cell(prompt), f"{question.name}_prompt")
    # The whole cell is a solution, so nbgrader hands out an empty one in its place.
    answer = f"{question.answer}\n\n**Marking scheme**\n\n{question.scheme}"
    yield _tagged(
        v4.new_markdown_cell(answer),
        question.name,
        solution=True,
        grade=True,
        points=question.points,
    )


def _locked(cell, grade_id):
    return _tagged(cell, grade_id, locked=True)


def _tagged(cell, grade_id, *, solution=False, grade=False, locked=False, points=None):
    cell["id"] = grade_id.replace("_", "-")
    cell.metadata["nbgrader"] = {
        "schema_version": 3,
        "grade_id": grade_id,
        "grade": grade,
        "solution": solution,
        "locked": locked,
        "task": False,
    }
    if grade:
        cell.metadata["nbgrader"]["points"] = points
    return cell


def _body(function):
    """A function's body as text with ``xp`` read as ``np``, and the attnkit functions it calls."""
    source = textwrap.dedent(inspect.getsource(function))
    tree = ast.parse(source)
    statements = tree.body[0].body[1:]  # the docstring stays behind
    kept = [node for node in statements if "array_namespace" not in ast.unparse(node)]
    lines = source.splitlines()
    text = "\n".join("\n".join(lines[node.lineno - 1 : node.end_lineno]) for node in kept)
    names = {
        node.id for statement in kept for node in ast.walk(statement) if isinstance(node, ast.Name)
    }
    called = {
        name: inspect.unwrap(value)
        for name, value in function.__globals__.items()
        if name in names
        and inspect.isfunction(value)
        and value.__module__.startswith("attnkit.")
        and value.__module__ != "attnkit.arguments"
    }
    return textwrap.dedent(text).replace("xp.", "np."), called


def _definition(function, body):
    return f"def {function.__name__}{inspect.signature(function)}:\n{textwrap.indent(body, '    ')}"


def main(folder):
    for chapter in CHAPTERS:
        path = Path(folder, chapter, f"{chapter}.ipynb")
        path.parent.mkdir(parents=True, exist_ok=True)
        write(teacher(chapter), path)
        print(path)


if __name__ == "__main__":
    main(*sys.argv[1:])
