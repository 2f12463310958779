"""An error of ours or of the machine reaches the caller; it never becomes a verdict."""

import errno
import socket
import struct
import threading

import pytest

from attnkit.checking.laws import Law
from attnkit.exercises import find
from attnkit.grading import confine
from attnkit.grading.nursery import Fault, Nursery, mine

if confine.missing():
    pytest.skip(f"needs {', '.join(confine.missing())}", allow_module_level=True)

RIGHT = """
def softmax(scores, axis=-1):
    e = np.exp(scores - scores.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)
"""


@pytest.fixture
def nursery():
    return mine(confined=True, with_torch=False)


def test_a_nursery_that_is_gone_is_replaced_for_the_next_submission(judged, nursery):
    assert judged(RIGHT).verdicts[0].passed
    nursery.process.kill()
    nursery.process.wait()
    with pytest.raises(Fault, match="no process could be started"):
        judged(RIGHT)
    assert judged(RIGHT).verdicts[0].passed


def test_a_nursery_that_dies_meanwhile_costs_the_submission_nothing(judged, nursery):
    threading.Timer(1.0, nursery.process.kill).start()
    with pytest.raises(Fault, match="forked from has ended"):
        judged("import time\ntime.sleep(2.5)\n" + RIGHT)


def test_a_fork_that_fails_is_no_learners_fault():
    control, theirs = socket.socketpair()
    theirs.send(struct.pack("<i", -errno.ENOMEM))
    with pytest.raises(Fault, match="Cannot allocate memory"):
        Nursery(control).fork()


def test_a_process_that_cannot_be_confined_runs_nothing(judged):
    with pytest.raises(Fault, match="before it ran anything"):
        judged(RIGHT, limits={"seconds": 60, "unheard_of": 1})


def test_an_error_in_a_law_is_ours(judged, monkeypatch):
    def broken(answer, arguments, seed, close):
        answer(**arguments)
        return 1 / 0

    monkeypatch.setattr(find("soft_attention.softmax"), "laws", [Law("fails", broken)])
    with pytest.raises(Fault, match="ZeroDivisionError in the judge"):
        judged(RIGHT, seed=2718)


@pytest.mark.parametrize("other", ["None", "1 / 0", "scores[0]", "'text'", "(scores, scores)"])
def test_what_an_answer_does_to_a_law_is_theirs(judged, other):
    """Right on every case, and something else as soon as the laws ask."""
    calls = len(find("soft_attention.softmax").cases)
    answer = RIGHT.replace(
        "    e =", f"    n.append(1)\n    if len(n) > {calls}: return {other}\n    e ="
    )
    first, second = judged("n = []\n" + answer).verdicts
    assert (first.kind, first.earned) == ("law", 0)
    assert second.passed
