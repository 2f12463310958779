"""What an answer does, says and pretends does not matter: what it returns is judged elsewhere."""

import functools
import os
import re
import time
from pathlib import Path

import nbformat
import pytest

from attnkit import notebooks
from attnkit.exercises import find
from attnkit.grading import confine, judge

if confine.missing():
    pytest.skip(f"needs {', '.join(confine.missing())}", allow_module_level=True)

SOFTMAX = "    e = np.exp(scores - scores.max(axis=axis, keepdims=True))\n"
SOFTMAX += "    return e / e.sum(axis=axis, keepdims=True)\n"
RIGHT = f"def softmax(scores, axis=-1):\n{SOFTMAX}"
JUNK = "def softmax(scores, axis=-1):\n    return scores\n"
SOLUTION = Path(notebooks.__file__).parent / "soft_attention.py"


@pytest.fixture
def graded(judged):
    return lambda answer, **options: judged(answer, **options).notebook


def passed(notebook, name):
    (cell,) = (c for c in notebook.cells if c.metadata.nbgrader.grade_id == f"{name}_check")
    return not any(output.output_type == "error" for output in cell.outputs)


GOOD = {
    "plain": RIGHT,
    "warns on stderr": "import warnings, sys\nwarnings.warn('!')\nprint('!', file=sys.stderr)\n"
    + RIGHT,
    "prints much": "print('x' * 50_000_000)\n" + RIGHT,
    "prints while it is judged": RIGHT.replace("    e =", "    print(scores)\n    e ="),
    "shows a picture": "from IPython.display import display, HTML\ndisplay(HTML('<b>x'))\n" + RIGHT,
    "uses a thread": "import threading\nthreading.Thread(target=id, args=(1,)).start()\n" + RIGHT,
    "uses a magic": "%precision 3\n" + RIGHT,
    "fails after the definition": RIGHT + "\n1 / 0",
    "ends itself after the definition": RIGHT + "\nimport sys; sys.exit()",
    "never ends after the definition": RIGHT + "\nwhile True: pass",
    "slow by the clock alone": "import time\nslept = []\n"
    + RIGHT.replace("    e =", "    slept or time.sleep(1.5)\n    slept.append(1)\n    e ="),
    "prints what no text can hold": "print('\\ud800')\n" + RIGHT,
    "calls check": RIGHT + "\ncheck('soft_attention.softmax', softmax)\nhint('x')",
}
BAD = {
    "junk": JUNK,
    "empty": "",
    "no code": "this is no Python",
    "raises": "raise ValueError('at once')",
    "endless cell": "while True: pass",
    "endless call": "def softmax(scores, axis=-1):\n    while True: pass",
    "endless and deaf": "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nwhile True:\n"
    "    try:\n        while True: pass\n    except BaseException: pass",
    "sleeps in a cell": "import time; time.sleep(1000)",
    "sleeps in a call": "def softmax(scores, axis=-1):\n    import time; time.sleep(1000)",
    "returns too much": "def softmax(scores, axis=-1):\n    return np.ones(10**7)",
    "returns tuples of tuples": "def softmax(scores, axis=-1):\n    t = ()\n"
    "    for _ in range(10_000): t = (t,)\n    return t",
    "returns text": "def softmax(scores, axis=-1):\n    return np.array(['a'])",
    "raises what has no text": "class E(Exception):\n    def __str__(s): raise E\n"
    "def softmax(scores, axis=-1):\n    raise E",
    "raises an exception without a name": "E = type('a b\\0' * 100, (Exception,), {})\n"
    "def softmax(scores, axis=-1):\n    raise E('\\ud800')",
    "raises a group": "def softmax(scores, axis=-1):\n"
    "    raise ExceptionGroup('all', [ValueError()])",
    "ends the process": "import os\nos._exit(0)",
    "ends the process when called": "def softmax(scores, axis=-1):\n    import os\n    os._exit(0)",
    "aborts": "def softmax(scores, axis=-1):\n    import os\n    os.abort()",
    "exits": "def softmax(scores, axis=-1):\n    raise SystemExit(0)",
    "recurses": "def softmax(scores, axis=-1):\n    return softmax(scores)",
    "allocates": "def softmax(scores, axis=-1):\n    return np.ones(2 * 10**11)",
    "asks": "def softmax(scores, axis=-1):\n    return input()",
    "patches check": "check = lambda *a, **k: None\n" + JUNK,
    "patches numpy": "np.allclose = np.array_equal = lambda *a, **k: True\nnp.abs = np.zeros_like\n"
    + JUNK,
    "patches builtins": "import builtins\nbuiltins.abs = builtins.max = lambda *a: 0\n" + JUNK,
    "patches the traceback": "get_ipython().showtraceback = lambda *a, **k: None\n" + JUNK,
    "transforms input": "get_ipython().input_transformers_cleanup.append(lambda l: ['pass'])\n"
    + JUNK,
    "transforms the syntax tree": "import ast\nclass T(ast.NodeTransformer):\n"
    "    def visit_Assert(self, n): return None\n"
    "get_ipython().ast_transformers.append(T())\n" + JUNK,
    "equal to everything": "class A(np.ndarray):\n    def __eq__(s, o): return np.True_\n"
    "def softmax(scores, axis=-1):\n    return np.zeros_like(scores).view(A)",
    "an object that lies": "class A:\n    shape = property(lambda s: s)\n"
    "    def __eq__(s, o): return True\n    __array_priority__ = 1e9\n"
    "def softmax(scores, axis=-1):\n    return A()",
    "imports the reference": "from attnkit.soft_attention import softmax",
    "reads the solution": f"exec(open({str(SOLUTION)!r}).read())",
    "looks for the reference": "import gc, sys\ndef softmax(scores, axis=-1):\n"
    "    return sys.modules['attnkit.soft_attention'].softmax(scores, axis)",
    "looks in the frames": "import sys\ndef softmax(scores, axis=-1):\n    f = sys._getframe()\n"
    "    while f:\n        for k in ('wanted', 'reference', 'exercise'):\n"
    "            if k in f.f_locals: return f.f_locals[k]\n        f = f.f_back",
    "writes a verdict": "import os\ndef softmax(scores, axis=-1):\n    for n in range(3, 40):\n"
    "        try: os.write(n, b'\\x05\\0\\0\\0\\x91\\xa4pass')\n        except OSError: pass\n"
    "    return scores",
    "counts its calls": "calls = []\ndef softmax(scores, axis=-1):\n    calls.append(1)\n"
    + SOFTMAX.replace("return e /", "return e * (1 if len(calls) < 20 else 2) /"),
}


@pytest.mark.parametrize("name", GOOD)
def test_a_right_answer_is_right_whatever_it_does_besides(graded, name):
    notebook = graded(GOOD[name])
    assert passed(notebook, "softmax")
    assert passed(notebook, "softmax_jacobian")


@pytest.mark.parametrize("name", BAD)
def test_a_wrong_answer_is_wrong_and_hurts_no_other(graded, name):
    notebook = graded(BAD[name])
    assert not passed(notebook, "softmax")
    # Who changes what becomes of every later cell changes their own later answers too.
    assert passed(notebook, "softmax_jacobian") or name == "transforms input"


def test_what_a_hidden_case_showed_does_not_come_back(graded):
    """The function keeps all it was given and returns it later, as an output or as a message."""
    leaky = (
        "kept = []\ndef softmax(scores, axis=-1):\n    kept.append(scores.copy())\n"
        + SOFTMAX
        + "def softmax_jacobian(scores):\n    raise ValueError(str(kept))\n"
    )
    notebook = graded(leaky, seed=99)
    exercise = find("soft_attention.softmax")
    numbers = re.findall(r"-?\d\.\d{4,}", str(exercise.arguments(0, seed=99)["scores"].tolist()))
    assert numbers
    shown = str([cell.get("outputs") for cell in notebook.cells])
    assert not any(number[:6] in shown for number in numbers)


def test_html_of_a_learner_does_not_reach_the_teacher(graded):
    notebook = graded(GOOD["shows a picture"])
    imports, cell = notebook.cells[:2]
    assert imports.outputs == []
    assert "<b>" not in str(cell.outputs)
    assert "HTML object" in str(cell.outputs)


def test_no_process_is_left(graded):
    graded(BAD["endless cell"])
    nursery = judge._nursery(os.getpid(), True, False).process.pid
    children = Path(f"/proc/{nursery}/task/{nursery}/children")
    deadline = time.monotonic() + 5
    while children.read_text() and time.monotonic() < deadline:
        time.sleep(0.01)  # what was killed takes a moment to go
    assert children.read_text() == ""


# ------------------------------------------------------------------ limits


def test_what_takes_too_long_is_told_with_its_line(judged):
    result = judged(RIGHT + "\nx = 1\nwhile True:\n    x += 1")
    (error,) = result.notebook.cells[1].outputs
    assert error.ename == "TookTooLong"
    assert re.search(r"did not end within 1 seconds \(it was in line \d+", error.evalue)
    assert list(result.lost) == ["softmax"]


def test_the_words_say_the_limit_that_is_set(judged, monkeypatch):
    monkeypatch.setattr(judge, "STEP", 2.0)
    result = judged(BAD["endless call"])
    assert "did not end within 2 seconds" in result.verdicts[0].message
    assert "did not end within 2 seconds" in result.lost["softmax"]


def test_a_process_that_ended_itself_is_told_as_lost(judged):
    assert "ended the process" in judged(BAD["ends the process when called"]).lost["softmax"]
    assert judged(BAD["junk"]).lost == {}


@pytest.mark.parametrize("work", ["while clock() - begin < 0.8: pass", "sleep(0.8)"])
def test_a_notebook_of_many_slow_cells_ends(judged, work):
    slow = f"from time import sleep, process_time as clock\nbegin = clock()\n{work}"
    notebook = judged(RIGHT).notebook
    (first,) = (c for c in notebook.cells if c.metadata.nbgrader.grade_id == "softmax")
    for number in range(200):
        cell = nbformat.from_dict(first)
        cell.metadata.nbgrader.grade_id = f"slow_{number}"
        cell.source = slow
        notebook.cells.insert(1, cell)
    begin = time.monotonic()
    result = judge.judge(notebook, seed=7, limits={"memory": 4 * 2**30, "seconds": 2})
    assert time.monotonic() - begin < 40  # it would take 160
    assert not any(verdict.passed for verdict in result.verdicts)
    assert "used up the 2 seconds" in result.verdicts[-1].message


# ------------------------------------------------------------------ once, not once a submission


def test_what_is_wanted_is_computed_once_for_a_seed(judged, monkeypatch):
    exercise = find("soft_attention.softmax")
    calls, reference = [], exercise.reference

    @functools.wraps(reference)
    def counted(*args, **kwargs):
        calls.append(1)
        return reference(*args, **kwargs)

    monkeypatch.setattr(exercise, "reference", counted)
    judged(RIGHT, seed=314)
    once = len(calls)
    judged(RIGHT, seed=314)
    assert len(calls) == once > 0


# ------------------------------------------------------------------ the library's own function


TORCHS = (
    "import torch\n%precision 3\ndef softmax(scores, axis=-1):\n"
    "    return torch.softmax(torch.tensor(scores), axis).numpy()"
)


def test_a_call_of_the_library_earns_nothing_unless_the_teacher_says_so(judged, monkeypatch):
    monkeypatch.setattr(judge, "STEP", 10.0)  # importing torch takes a while
    first, second = judged(TORCHS).verdicts
    assert (first.kind, first.earned) == ("not allowed", 0)
    assert first.message.startswith("your answer uses `torch.softmax`, which already is what")
    assert second.passed
    assert judged(TORCHS, library_calls=True).verdicts[0].passed
