"""What an answer does, says and pretends does not matter: what it returns is judged elsewhere."""

import os
import re
from pathlib import Path

import pytest

from attnkit import notebooks
from attnkit.exercises import find
from attnkit.grading import confine, judge

if confine.missing():
    pytest.skip(f"needs {', '.join(confine.missing())}", allow_module_level=True)

LIMITS = {"memory": 4 * 2**30, "seconds": 60}
SOFTMAX = "    e = np.exp(scores - scores.max(axis=axis, keepdims=True))\n"
SOFTMAX += "    return e / e.sum(axis=axis, keepdims=True)\n"
RIGHT = f"def softmax(scores, axis=-1):\n{SOFTMAX}"
JUNK = "def softmax(scores, axis=-1):\n    return scores\n"
SOLUTION = Path(notebooks.__file__).parent / "soft_attention.py"


@pytest.fixture
def graded(monkeypatch):
    """Grade a notebook with two exercises: the answer to the first, a right one to the second."""
    monkeypatch.setattr(judge, "STEP", 1.0)

    def grade(answer, seed=7):
        notebook = notebooks.teacher("soft_attention")
        wanted = (
            "imports",
            "softmax",
            "softmax_check",
            "softmax_jacobian",
            "softmax_jacobian_check",
        )
        by_id = {cell.metadata.nbgrader.grade_id: cell for cell in notebook.cells}
        by_id["softmax"].source = answer
        notebook.cells = [by_id[name] for name in wanted]
        return judge.run(notebook, seed=seed, limits=LIMITS)

    return grade


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
    before = set(os.listdir("/proc"))
    graded(BAD["endless cell"])
    left = [pid for pid in set(os.listdir("/proc")) - before if pid.isdigit()]
    commands = [Path(f"/proc/{pid}/cmdline") for pid in left]
    assert not any(b"attnkit.grading.learner" in c.read_bytes() for c in commands if c.exists())
