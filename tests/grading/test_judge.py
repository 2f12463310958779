"""What an answer does, says and pretends does not matter: what it returns is judged elsewhere."""

import os
import re
from pathlib import Path

import pytest

from attnkit import notebooks
from attnkit.exercises import find
from attnkit.grading import confine, judge
from attnkit.grading.hostile import ALL, ANSWERS, OTHERS, Scene

if confine.missing():
    pytest.skip(f"needs {', '.join(confine.missing())}", allow_module_level=True)

LIMITS = {"memory": 4 * 2**30, "seconds": 60}
SOFTMAX = "    e = np.exp(scores - scores.max(axis=axis, keepdims=True))\n"
SOFTMAX += "    return e / e.sum(axis=axis, keepdims=True)\n"
SCENE = Scene(find("soft_attention.softmax"))
GOOD = [name for name, act in ANSWERS.items() if act.keeps == ALL]
BAD = [name for name in ANSWERS if name not in GOOD]


@pytest.fixture
def graded(monkeypatch):
    """Grade a notebook with two exercises: the answer to the first, a right one to the second."""
    monkeypatch.setattr(judge, "STEP", 3.0)

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


@pytest.mark.parametrize("name", GOOD)
def test_a_right_answer_is_right_whatever_it_does_besides(graded, name):
    notebook = graded(ANSWERS[name].write(SCENE))
    assert passed(notebook, "softmax")
    assert passed(notebook, "softmax_jacobian")


@pytest.mark.parametrize("name", BAD)
def test_a_wrong_answer_is_wrong_and_hurts_no_other(graded, name):
    notebook = graded(ANSWERS[name].write(SCENE))
    assert not passed(notebook, "softmax")
    assert passed(notebook, "softmax_jacobian") is (ANSWERS[name].keeps == OTHERS)


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
    notebook = graded(ANSWERS["shows a picture"].write(SCENE))
    imports, cell = notebook.cells[:2]
    assert imports.outputs == []
    assert "<b>" not in str(cell.outputs)
    assert "HTML object" in str(cell.outputs)


def test_no_process_is_left(graded):
    before = set(os.listdir("/proc"))
    graded(ANSWERS["endless cell"].write(SCENE))
    left = [pid for pid in set(os.listdir("/proc")) - before if pid.isdigit()]
    commands = [Path(f"/proc/{pid}/cmdline") for pid in left]
    assert not any(b"attnkit.grading.learner" in c.read_bytes() for c in commands if c.exists())
