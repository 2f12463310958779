"""Learners' processes come from one nursery for all that judge, and none outlives its judge."""

import multiprocessing
import os
import signal
import time
from pathlib import Path

import pytest

from attnkit.grading import confine, nursery, wire

if confine.missing():
    pytest.skip(f"needs {', '.join(confine.missing())}", allow_module_level=True)

LIMITS = {"memory": 4 * 2**30, "seconds": 60}


@pytest.fixture
def mother():
    """A nursery of this process."""
    mine = nursery.start(confined=True, with_torch=False)
    yield mine
    mine.control.close()
    mine.process.wait(10)


def born(of):
    """A learner's process that was confined and is ready."""
    child, target, source = of.fork()
    wire.send(target, LIMITS)
    assert wire.Source(source).receive(wait=wire.by(time.monotonic() + 10)) == "ready"
    return child, target, source


def parent(number):
    """The id of a process's parent; 0 once it has ended."""
    try:
        state, above, *_ = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()
    except FileNotFoundError:
        return 0
    return 0 if state == "Z" else int(above)


def ends(number):
    """Whether a process ends, now that what kept it is gone."""
    deadline = time.monotonic() + 10
    while parent(number) and time.monotonic() < deadline:
        time.sleep(0.01)
    return not parent(number)


def test_a_twin_ends_alone_and_its_children_with_it(mother):
    twin = mother.twin()
    child, target, _ = born(twin)
    elsewhere, *_ = born(mother)
    assert parent(child.number) not in (mother.process.pid, parent(elsewhere.number))
    wire.send(target, [0, "cell", "while True: pass"])
    twin.control.close()
    assert ends(child.number)
    assert not mother.is_gone()
    born(mother)


def test_a_twin_says_when_it_is_gone(mother):
    twin = mother.twin()
    child, *_ = born(twin)
    assert not twin.is_gone()
    os.kill(parent(child.number), signal.SIGKILL)
    assert twin.is_gone()
    assert ends(child.number)
    with pytest.raises(nursery.Fault, match="no process could be started"):
        twin.fork()


def test_nothing_outlives_the_first(mother):
    twin = mother.twin()
    child, target, _ = born(twin)
    wire.send(target, [0, "cell", "while True: pass"])
    mother.process.kill()
    assert ends(child.number)
    assert twin.is_gone()


def judges(pipe):
    """What a worker does: it asks for a child, and goes on until it is killed."""
    mine = nursery.mine(confined=True, with_torch=False)
    child, target, _ = born(mine)
    wire.send(target, [0, "cell", "while True: pass"])
    pipe.send((mine.process is None, child.number))
    time.sleep(60)


def test_a_worker_that_is_killed_takes_its_answers_along():
    """It was given a twin of the nursery of the process it was forked from, and that one stays."""
    mine = nursery.mine(confined=True, with_torch=False)
    ours, theirs = multiprocessing.Pipe()
    worker = multiprocessing.get_context("fork").Process(target=judges, args=(theirs,), daemon=True)
    worker.start()
    is_twin, number = ours.recv()
    assert is_twin
    assert parent(number)
    worker.kill()
    assert ends(number)
    assert nursery.mine(confined=True, with_torch=False) is mine
    assert not mine.is_gone()
