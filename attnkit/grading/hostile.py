"""What learners hand in that is broken, unlucky or hostile, each with the marks it deserves.

An act is done to one exercise of a notebook whose other answers are right. Acts in `ANSWERS` write
an answer; acts in `FILES` spoil the file around the answers.
"""

import copy
import functools
import inspect
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from string import Template

import nbformat

from attnkit import notebooks
from attnkit.checking import Exercise, Question
from attnkit.exercises import CHAPTERS, of_chapter

# The exercises whose points an act leaves: every one, all but its own, those before it, none.
ALL, OTHERS, EARLIER, NONE = "all", "others", "earlier", "none"


@dataclass(frozen=True)
class Scene:
    """Where an act takes place: an exercise of an assignment in a course's folder."""

    exercise: Exercise
    course: Path = Path("/nowhere")

    @property
    def right(self):
        """A right answer."""
        return f"{self.head}\n{_indented(notebooks.solution(self.exercise))}\n"

    @property
    def head(self):
        return f"def {self.exercise.function}{self.exercise.signature}:"

    @property
    def junk(self):
        """A wrong answer that no mistake explains: the first argument comes back."""
        return f"{self.head}\n    return {next(iter(self.exercise.signature.parameters))}\n"


@dataclass(frozen=True)
class Answer:
    """Text of an answer's cell, the exercises that keep their points, what the feedback says."""

    text: str
    keeps: str
    says: str

    def write(self, scene):
        """The text for an exercise: names that begin with a dollar sign are filled in."""
        return Template(self.text).substitute(
            RIGHT=scene.right,
            JUNK=scene.junk,
            HEAD=scene.head,
            FUNCTION=scene.exercise.function,
            ARGUMENTS=", ".join(scene.exercise.signature.parameters),
            MODULE=scene.exercise.reference.__module__,
            REFERENCE=inspect.getsourcefile(inspect.unwrap(scene.exercise.reference)),
            COURSE=scene.course,
        )


@dataclass(frozen=True)
class File:
    """What ``make(scene)`` puts into the folder of a submission: bytes, or a path to link to.

    The notebook has the assignment's name; it may also return a dictionary of file names.
    """

    make: Callable
    keeps: str
    says: str


def _indented(text):
    return "\n".join(f"    {line}" if line else "" for line in text.splitlines())


# --------------------------------------------------------------------------- right all the same

UNHARMED = {
    "plain": "$RIGHT",
    "warns on stderr": "import warnings, sys\nwarnings.warn('!')\nprint('!', file=sys.stderr)\n"
    "$RIGHT",
    "prints 50 megabytes": "print('x' * 50_000_000)\n$RIGHT",
    "prints while it is judged": "$RIGHT\nright = $FUNCTION\n"
    "def $FUNCTION(*arguments, **named):\n    print(arguments, '\\ud800')\n"
    "    return right(*arguments, **named)",
    "shows a picture": "from IPython.display import display, HTML\ndisplay(HTML('<b>x'))\n$RIGHT",
    "prints markup and colours": "print('\\x1b[31m<script>alert(1)</script>')\n$RIGHT",
    "uses a thread": "import threading\nthreading.Thread(target=id, args=(1,)).start()\n$RIGHT",
    "leaves a thread running": "$RIGHT\nimport threading, time\n"
    "def forever():\n    while True: time.sleep(0.01)\n"
    "threading.Thread(target=forever, daemon=True).start()",
    "starts a process": "$RIGHT\nimport subprocess\nsubprocess.Popen(['sleep', '1000'])",
    "forks without end": "$RIGHT\nimport os\nwhile True: os.fork()",
    "uses a magic": "%precision 3\n$RIGHT",
    "returns an array of its own class": "$RIGHT\nright = $FUNCTION\n"
    "class Own(np.ndarray): pass\n"
    "def $FUNCTION(*arguments, **named):\n    value = right(*arguments, **named)\n"
    "    return value.view(Own) if isinstance(value, np.ndarray) else value",
    "fails after the definition": "$RIGHT\n1 / 0",
    "ends itself after the definition": "$RIGHT\nimport sys; sys.exit()",
    "never ends after the definition": "$RIGHT\nwhile True: pass",
    "prints what no text can hold": "print('\\ud800')\n$RIGHT",
    "asks after the definition": "$RIGHT\ninput('your name? ')",
    "calls check": "$RIGHT\ncheck('soft_attention.softmax', None)\nhint('x')",
    "listens on a port": "$RIGHT\nimport socket\nsocket.socket().bind(('', 0))",
}

# --------------------------------------------------------------------------- wrong

MISSING = "there is no function"
ENDLESS = "did not end within"
ENDED = "ended the process"
JUNK = "not yet"
WRONG = {
    "junk": ("$JUNK", JUNK),
    "empty": ("", MISSING),
    "no code": ("this is no Python", MISSING),
    "null bytes": ("\0$RIGHT", MISSING),
    "deep brackets": ("(" * 5000 + "$RIGHT", MISSING),
    "raises": ("raise ValueError('at once')", MISSING),
    "no function": ("$FUNCTION = 3", MISSING),
    "endless cell": ("while True: pass", MISSING),
    "endless call": ("$HEAD\n    while True: pass", ENDLESS),
    "sleeps": ("$HEAD\n    import time\n    time.sleep(10**6)", ENDLESS),
    "endless and deaf": (
        "import signal\nsignal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())\n"
        "while True:\n    try:\n        while True: [0]\n    except BaseException: pass",
        MISSING,
    ),
    "ends the process": ("import os\nos._exit(0)", MISSING),
    "kills itself": ("import os\nos.kill(os.getpid(), 9)\n", MISSING),
    "ends the process when called": ("$HEAD\n    import os\n    os._exit(0)", ENDED),
    "aborts": ("$HEAD\n    import os\n    os.abort()", ENDED),
    "exits": ("$HEAD\n    raise SystemExit(0)", "SystemExit"),
    "recurses": (
        "$HEAD\n    return $FUNCTION($ARGUMENTS)",
        "RecursionError",
    ),
    "allocates 200 gigabytes": ("$HEAD\n    return np.ones(2 * 10**11)", "MemoryError"),
    "returns a gigabyte": ("$HEAD\n    return np.ones(2**27)", JUNK),
    "returns 80 megabytes": ("$HEAD\n    return np.ones(10**7)", JUNK),
    "returns tuples of tuples": (
        "$HEAD\n    t = ()\n    for _ in range(10_000): t = (t,)\n    return t",
        JUNK,
    ),
    "returns text": ("$HEAD\n    return np.array(['a'])", JUNK),
    "raises what has no text": (
        "class E(Exception):\n    def __str__(s): raise E\n$HEAD\n    raise E",
        JUNK,
    ),
    "raises an exception without a name": (
        "E = type('a b\\0' * 100, (Exception,), {})\n$HEAD\n    raise E('\\ud800')",
        JUNK,
    ),
    "raises a group": ("$HEAD\n    raise ExceptionGroup('all', [ValueError()])", JUNK),
    "asks": ("$HEAD\n    return input()", "EOFError"),
    "asks before the definition": ("name = input()\n$RIGHT", MISSING),
    "patches check": ("check = lambda *a, **k: None\n$JUNK", JUNK),
    "patches numpy": (
        "np.allclose = np.array_equal = lambda *a, **k: True\nnp.abs = np.zeros_like\n$JUNK",
        JUNK,
    ),
    "replaces torch and pytest": (
        "import sys, types\nfake = types.ModuleType('fake')\nfake.Tensor = dict\n"
        "sys.modules['torch'] = sys.modules['pytest'] = fake\n$JUNK",
        JUNK,
    ),
    "patches builtins": (
        "import builtins\nbuiltins.abs = builtins.max = lambda *a: 0\n$JUNK",
        JUNK,
    ),
    "patches the imports": (
        "import sys\nclass Finder:\n    def find_spec(self, *a): raise ImportError('mine')\n"
        "sys.meta_path.insert(0, Finder())\nsys.path.insert(0, '.')\n$JUNK",
        JUNK,
    ),
    "patches the traceback": ("get_ipython().showtraceback = lambda *a, **k: None\n$JUNK", JUNK),
    "transforms the syntax tree": (
        "import ast\nclass T(ast.NodeTransformer):\n"
        "    def visit_Assert(self, n): return None\n"
        "get_ipython().ast_transformers.append(T())\n$JUNK",
        JUNK,
    ),
    "equal to everything": (
        "class A(np.ndarray):\n    def __eq__(s, o): return np.True_\n"
        "$HEAD\n    return np.zeros((2, 2)).view(A)",
        JUNK,
    ),
    "an object that lies": (
        "class Liar:\n    shape = property(lambda s: s)\n"
        "    def __eq__(s, o): return True\n    __array_priority__ = 1e9\n$HEAD\n    return Liar()",
        "is a Liar",
    ),
    "becomes an array when asked": (
        "class Liar:\n    def __array__(s, *a, **k): return np.zeros(())\n$HEAD\n    return Liar()",
        "is a Liar",
    ),
    "imports the reference": ("from $MODULE import $FUNCTION", MISSING),
    "reads the solution": ("exec(open('$REFERENCE').read())", MISSING),
    "reads the teacher's notebook": (
        "import glob, json\nfor path in glob.glob('$COURSE/solutions/**/*.ipynb', recursive=True):"
        "\n    for cell in json.load(open(path))['cells']:\n        exec(''.join(cell['source']))",
        MISSING,
    ),
    "reads what others handed in": (
        "import glob, json\nfor path in glob.glob('$COURSE/submitted/**/*.ipynb', recursive=True):"
        "\n    for cell in json.load(open(path))['cells']:\n        exec(''.join(cell['source']))",
        MISSING,
    ),
    "reads the hidden seed": ("seed = open('$COURSE/.course_seed').read()\n$RIGHT", MISSING),
    "reads the environment": ("import os\nseed = os.environ['ATTNKIT_SEED']\n$RIGHT", MISSING),
    "writes to the gradebook": (
        "import sqlite3\nbook = sqlite3.connect('$COURSE/gradebook.db')\n"
        "book.execute('update grade set auto_score = 100')\nbook.commit()\n$JUNK",
        MISSING,
    ),
    "writes into the solutions": (
        "import os\nfor folder, _, names in os.walk('$COURSE'):\n"
        "    for name in names: open(os.path.join(folder, name), 'w')\n$JUNK",
        JUNK,
    ),
    "writes a module beside the notebook": (
        "open('numpy.py', 'w').write('raise SystemExit')\n$JUNK",
        MISSING,
    ),
    "looks for the reference": (
        "import sys\ndef $FUNCTION(*arguments, **named):\n"
        "    return getattr(sys.modules['$MODULE'], '$FUNCTION')(*arguments, **named)",
        "KeyError",
    ),
    "looks in the frames": (
        "import sys\n$HEAD\n    f = sys._getframe()\n"
        "    while f:\n        for k in ('wanted', 'reference', 'exercise'):\n"
        "            if k in f.f_locals: return f.f_locals[k]\n        f = f.f_back",
        JUNK,
    ),
    "writes a verdict": (
        "import os\n$JUNK\njunk = $FUNCTION\ndef $FUNCTION(*arguments, **named):\n"
        "    for n in range(3, 40):\n"
        "        try: os.write(n, b'\\x05\\0\\0\\0\\x91\\xa4pass')\n        except OSError: pass\n"
        "    return junk(*arguments, **named)",
        ENDED,
    ),
    "counts its calls": (
        "$RIGHT\nright, calls = $FUNCTION, []\ndef $FUNCTION(*arguments, **named):\n"
        "    calls.append(1)\n    value = right(*arguments, **named)\n"
        "    return value if len(calls) < 20 else None",
        JUNK,
    ),
}

ANSWERS = {
    **{name: Answer(text, ALL, "right") for name, text in UNHARMED.items()},
    **{name: Answer(text, OTHERS, says) for name, (text, says) in WRONG.items()},
    # Who changes what becomes of every later cell changes their own later answers too.
    "transforms input": Answer(
        "get_ipython().input_transformers_cleanup.append(lambda l: ['pass'])\n$JUNK",
        EARLIER,
        JUNK,
    ),
}


# --------------------------------------------------------------------------- the file


def filled(chapter, answers):
    """The learner's notebook with these answers, by grade id."""
    notebook = copy.deepcopy(_handed_out(chapter))
    for each in notebook.cells:
        each.source = answers.get(each.metadata.nbgrader.grade_id, each.source)
    return notebook


def right(chapter):
    """A right answer to every exercise and question of a chapter, by grade id."""
    items = of_chapter(chapter)
    written = {item.name: item.answer for item in items if isinstance(item, Question)}
    exercises = [item for item in items if isinstance(item, Exercise)]
    return written | {exercise.function: Scene(exercise).right for exercise in exercises}


_handed_out = functools.cache(notebooks.learner)


def _right(scene):
    return filled(scene.exercise.chapter, right(scene.exercise.chapter))


def _blank(scene):
    return filled(scene.exercise.chapter, {})


def cell(notebook, grade_id):
    """The cell that bears a grade id."""
    return next(c for c in notebook.cells if c.metadata.nbgrader.grade_id == grade_id)


def _answer(notebook, scene):
    return cell(notebook, scene.exercise.function)


def _check(notebook, scene):
    return cell(notebook, f"{scene.exercise.function}_check")


def _duplicated(scene):
    notebook = _right(scene)
    doubles = [part(notebook, scene) for part in (_answer, _check, _check)]
    notebook.cells += [nbformat.from_dict(c | {"id": f"again-{i}"}) for i, c in enumerate(doubles)]
    return notebook


def _all_ids_equal(scene):
    notebook = _right(scene)
    for each in notebook.cells:
        each.id = "same"
    return notebook


def _check_deleted(scene):
    notebook = _right(scene)
    notebook.cells.remove(_check(notebook, scene))
    return notebook


def _checks_emptied(scene):
    notebook = _blank(scene)
    for each in notebook.cells:
        if each.metadata.nbgrader.grade and each.cell_type == "code":
            each.source = "pass"
    return notebook


def _retyped(part, kind):
    def make(scene):
        notebook = _right(scene)
        retyped = part(notebook, scene)
        retyped.cell_type = kind
        del retyped["outputs"], retyped["execution_count"]
        return notebook

    return make


def _answer_deleted(scene):
    notebook = _right(scene)
    notebook.cells.remove(_answer(notebook, scene))
    return notebook


def _reordered(scene):
    notebook = _right(scene)
    notebook.cells.reverse()
    return notebook


def _points_forged(scene):
    notebook = _blank(scene)
    for each in notebook.cells:
        if each.metadata.nbgrader.grade:
            each.metadata.nbgrader |= {"points": 150, "grade": False, "locked": False}
    return notebook


def _solved_by_tag(scene):
    notebook = _blank(scene)
    for each in notebook.cells:
        each.metadata.nbgrader |= {"solution": True, "grade": False, "score": 100, "task": True}
    return notebook


def _patched_in_another_cell(scene):
    notebook = _blank(scene)
    notebook.cells.insert(2, nbformat.v4.new_code_cell("check = lambda *a, **k: None"))
    return notebook


def _tags_that_are_no_tags(scene):
    notebook = _right(scene)
    notebook.cells[0].metadata.nbgrader = ["grade_id"]
    notebook.cells.append(nbformat.v4.new_code_cell("1", metadata={"nbgrader": {"grade_id": [1]}}))
    return notebook


def _no_tags(scene):
    notebook = _right(scene)
    for each in notebook.cells:
        del each.metadata["nbgrader"]
    return notebook


def _outputs_forged(scene):
    notebook = _blank(scene)
    for each in notebook.cells:
        if each.cell_type == "code":
            each.outputs = [nbformat.v4.new_output("execute_result", {"text/plain": "100.0"})]
    return notebook


def _note_forged(scene):
    notebook = _right(scene)
    notebook.metadata.note = "<script>forged</script>"
    return notebook


def _other_kernel(scene):
    notebook = _right(scene)
    notebook.metadata.kernelspec = {"name": "bash", "display_name": "Bash", "language": "bash"}
    return notebook


def _half_a_character(scene):
    notebook = _right(scene)
    _answer(notebook, scene).source += "\n# \ud800"
    return json.dumps(notebook).encode()


def _another_chapter(scene):
    other = next(chapter for chapter in CHAPTERS if chapter != scene.exercise.chapter)
    return filled(other, right(other))


def _wrong_name(scene):
    return {"my homework (1).ipynb": _right(scene)}


def _shadowed(scene):
    modules = ("numpy.py", "json.py", "sitecustomize.py", "attnkit.py")
    shadows = dict.fromkeys(modules, b"raise SystemExit('shadowed')")
    return {f"{scene.exercise.chapter}.ipynb": _right(scene), **shadows}


def _link(scene):
    chapter = scene.exercise.chapter
    return scene.course / "solutions" / chapter / f"{chapter}.ipynb"


UNREADABLE = "could not be read"
EMPTY = "not filled in yet"
FILES = {
    "nothing done": File(_blank, NONE, EMPTY),
    "cells duplicated": File(_duplicated, ALL, "right"),
    "all cells with one id": File(_all_ids_equal, ALL, "right"),
    "check deleted": File(_check_deleted, ALL, "right"),
    "checks emptied": File(_checks_emptied, NONE, EMPTY),
    "check retyped": File(_retyped(_check, "markdown"), ALL, "right"),
    "answer retyped": File(_retyped(_answer, "raw"), ALL, "right"),
    "answer deleted": File(_answer_deleted, OTHERS, EMPTY),
    "cells reordered": File(_reordered, ALL, "right"),
    "points forged": File(_points_forged, NONE, EMPTY),
    "every cell a solution": File(_solved_by_tag, NONE, EMPTY),
    "check patched in a cell of its own": File(_patched_in_another_cell, NONE, EMPTY),
    "tags that are no tags": File(_tags_that_are_no_tags, ALL, "right"),
    "tags removed": File(_no_tags, NONE, EMPTY),
    "outputs forged": File(_outputs_forged, NONE, EMPTY),
    "note forged": File(_note_forged, ALL, "right"),
    "another kernel": File(_other_kernel, ALL, "right"),
    "half a character": File(_half_a_character, ALL, "right"),
    "broken JSON": File(lambda _: b'{"cells": [', NONE, UNREADABLE),
    "JSON without end": File(lambda _: b"[" * 200_000, NONE, UNREADABLE),
    "no text": File(lambda _: b"\x89PNG\xff\xfe", NONE, UNREADABLE),
    "a page": File(lambda _: b"<i>no notebook</i>", NONE, UNREADABLE),
    "an empty file": File(lambda _: b"", NONE, UNREADABLE),
    "a list": File(lambda _: b"[]", NONE, UNREADABLE),
    "a large file": File(lambda _: b" " * 11_000_000, NONE, UNREADABLE),
    "no cells": File(lambda _: nbformat.v4.new_notebook(), NONE, EMPTY),
    "a notebook of another assignment": File(_another_chapter, NONE, EMPTY),
    "another file name": File(_wrong_name, ALL, "right"),
    "modules that shadow others": File(_shadowed, ALL, "right"),
    "a link to the solution": File(_link, NONE, UNREADABLE),
}
