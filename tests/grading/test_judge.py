"""What an answer does, says and pretends does not matter: what it returns is judged elsewhere."""

import functools
import re
import time
from pathlib import Path

import nbformat
import pytest
from nbgrader.utils import determine_grade

from attnkit import notebooks
from attnkit.exercises import find
from attnkit.grading import confine, judge, nursery
from attnkit.grading.hostile import ALL, ANSWERS, OTHERS, Scene
from tests.grading.conftest import LIMITS

if confine.missing():
    pytest.skip(f"needs {', '.join(confine.missing())}", allow_module_level=True)

SOFTMAX = "    e = np.exp(scores - scores.max(axis=axis, keepdims=True))\n"
SOFTMAX += "    return e / e.sum(axis=axis, keepdims=True)\n"
SCENE = Scene(find("soft_attention.softmax"))
GOOD = [name for name, act in ANSWERS.items() if act.keeps == ALL]
BAD = [name for name in ANSWERS if name not in GOOD]
RIGHT = SCENE.right


def act(name):
    return ANSWERS[name].write(SCENE)


@pytest.fixture
def graded(judged):
    return lambda answer, **options: judged(answer, **options).notebook


def passed(notebook, name):
    (cell,) = (c for c in notebook.cells if c.metadata.nbgrader.grade_id == f"{name}_check")
    return not any(output.output_type == "error" for output in cell.outputs)


@pytest.mark.parametrize("name", GOOD)
def test_a_right_answer_is_right_whatever_it_does_besides(graded, name):
    notebook = graded(act(name))
    assert passed(notebook, "softmax")
    assert passed(notebook, "softmax_jacobian")


@pytest.mark.parametrize("name", BAD)
def test_a_wrong_answer_is_wrong_and_hurts_no_other(graded, name):
    notebook = graded(act(name))
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
    notebook = graded(act("shows a picture"))
    imports, cell = notebook.cells[:2]
    assert imports.outputs == []
    assert "<b>" not in str(cell.outputs)
    assert "HTML object" in str(cell.outputs)


def test_no_process_is_left(graded):
    graded(act("endless cell"))
    mine = nursery.mine(confined=True, with_torch=False).process.pid
    children = Path(f"/proc/{mine}/task/{mine}/children")
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
    result = judged(act("endless call"))
    assert "did not end within 2 seconds" in result.verdicts[0].message
    assert "did not end within 2 seconds" in result.lost["softmax"]


def test_what_does_not_stop_when_told_is_ended_soon(judged):
    """Not only when the whole submission has used up what it may take."""
    result = judged(act("endless and deaf"), limits={"memory": 4 * 2**30, "seconds": 20})
    assert "did not end within 1 seconds" in result.lost["softmax"]
    assert result.verdicts[1].passed


def test_what_the_processes_of_a_submission_take_adds_up(judged):
    """The first call ends the process, so the cells run again in another, for the next exercise."""
    answer = """import os, time
end = time.process_time() + 0.8
while time.process_time() < end: pass
def softmax(scores, axis=-1): os._exit(0)
"""
    result = judged(answer, limits={"memory": 4 * 2**30, "seconds": 1})
    assert "used up the 1 seconds" in str(result.lost)
    assert [verdict.passed for verdict in result.verdicts] == [False, False]


def test_a_process_that_ended_itself_is_told_as_lost(judged):
    assert "ended the process" in judged(act("ends the process when called")).lost["softmax"]
    assert judged(act("junk")).lost == {}


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


# ------------------------------------------------------------------ partial credit


def scores_answered(scale):
    notebook = notebooks.teacher("soft_attention")
    cells = {cell.metadata.nbgrader.grade_id: cell for cell in notebook.cells}
    name = "multiplicative_scores"
    cells[name].source = (
        "def multiplicative_scores(Q, K, W=None, scaled=False):\n"
        "    S = (Q if W is None else Q @ W.T) @ np.swapaxes(K, -1, -2)\n"
        f"    return S / {scale} if scaled else S"
    )
    notebook.cells = [cells["imports"], cells[name], cells[f"{name}_check"]]
    return notebook


@pytest.mark.parametrize(
    ("scale", "points"), [("K.shape[-1] ** 0.5", 4), ("K.shape[-1]", 3), ("undefined", 3)]
)
def test_nbgrader_reads_the_points_that_are_earned(scale, points):
    judged = judge.judge(scores_answered(scale), seed=3, limits=LIMITS)
    assert judged.verdicts[0].earned == points
    assert determine_grade(judged.notebook.cells[-1]) == (points, 4)


def test_the_hidden_cases_decide():
    """Who knows the visible cases by heart has learnt nothing."""
    exercise = find("soft_attention.multiplicative_scores")
    known = [
        float(exercise.arguments(index, seed=0)["K"].sum()) for index in range(len(exercise.cases))
    ]
    scale = f"(K.shape[-1] ** 0.5 if np.any(np.isclose(K.sum(), {known})) else 7)"
    (verdict,) = judge.judge(scores_answered(scale), seed=3, limits=LIMITS).verdicts
    assert verdict.earned == 3
    assert not verdict.passed


def test_what_holds_of_the_visible_cases_alone_earns_nothing():
    """Right in one part on the visible cases, wrong in another on all: told of those, paid here."""
    exercise = find("soft_attention.multiplicative_scores")
    known = float(exercise.arguments(0, seed=0)["K"].sum())
    notebook = scores_answered(1)
    notebook.cells[1].source = f"""
visible = []
def multiplicative_scores(Q, K, W=None, scaled=False):
    visible.append(np.isclose(K.sum(), {known}))
    S = (Q if W is None else Q @ W.T) @ np.swapaxes(K, -1, -2)
    if scaled:
        return S / (K.shape[-1] ** 0.5 if visible[0] else 7)
    return S if W is None else 2 * S
"""
    (verdict,) = judge.judge(notebook, seed=3, limits=LIMITS).verdicts
    assert verdict.case == "bilinear, queries and keys of different length"  # seen with its numbers
    assert verdict.given is not None
    assert verdict.earned == 2
    assert [passed for *_, passed in verdict.groups] == [True, False, False]
