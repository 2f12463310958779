"""Killed twenty times and started again, the grading ends as if nothing had happened."""

import multiprocessing
import os
import random
import signal
import sys
import time

import nbformat
import pytest
from sqlalchemy import event
from sqlalchemy.engine import Engine

from attnkit import notebooks
from attnkit.grading import batch, confine
from tests.course import Course

if confine.missing():
    pytest.skip(f"needs {', '.join(confine.missing())}", allow_module_level=True)

ASSIGNMENT = "notation"
LEARNERS = [f"learner-{index}" for index in range(6)]

# What happens first at each step of the writer: an event of Python's or of the database's, how what
# it is about begins or ends, and at which of them to kill.
RELEASING = [
    ("os.rename", "gradebook.db", 1),
    ("sql", "INSERT INTO source_cell", 1),
    ("open", ".draft/notation/notation.ipynb", 1),
    ("os.rename", "release/notation", 1),
]
GRADING = [
    ("open", ".result.json.draft", 1),
    ("os.rename", "/result.json", 2),
    ("os.rename", "/notation.ipynb", 2),
    ("os.chmod", "/notation.ipynb", 1),
    ("sql", "INSERT INTO submitted_assignment", 1),
    ("sql", "INSERT INTO grade", 1),
    ("commit", "", 2),
    ("open", ".done.draft", 1),
]
GRADING_AGAIN = [
    ("os.rename", "/before", 2),
    ("sql", "UPDATE grade", 2),
    ("os.rename", "/done", 1),
    ("os.remove", "/before", 1),
]
AT_RANDOM = 5


def kill_at(wanted, about, times):
    """End this process, not its workers, just before an event happens."""
    here, left = os.getpid(), [times]

    def look(happened, *words):
        text = [str(word).replace("/./", "/") for word in words]
        if happened == wanted and any(w.startswith(about) or w.endswith(about) for w in text):
            left[0] -= 1
            if left[0] == 0 and os.getpid() == here:
                os.kill(here, signal.SIGKILL)

    sys.addaudithook(lambda happened, arguments: look(happened, *arguments[:2]))
    event.listen(Engine, "before_cursor_execute", lambda *given: look("sql", given[2]))
    event.listen(Engine, "commit", lambda _: look("commit", ""))


def grade(course, point=None, **options):
    """Grade in a process of its own, as a terminal would; its exit code."""

    def run():
        if point:
            kill_at(*point)
        rows = batch.grade(course.folder, ASSIGNMENT, **options)
        sys.exit(any(row.state == "fault" for row in rows))

    process = multiprocessing.get_context("fork").Process(target=run)
    process.start()
    return process


def ended(process):
    process.join(60)
    return process.exitcode


def notebook(extra=""):
    made = notebooks.teacher(ASSIGNMENT)
    for cell in made.cells:
        if cell.metadata.nbgrader.solution:
            cell.source += extra
    return made


@pytest.fixture
def courses(tmp_path):
    """Two copies of a course that was never released, with the same seed and submissions."""
    made = []
    for name in ("undisturbed", "killed"):
        course = Course(tmp_path / name, ASSIGNMENT, release=False)
        (course.folder / ".course_seed").write_text("0123456789abcdef")
        for learner in LEARNERS:
            course.hand_in(learner, notebook())
        made.append(course)
    return made


def mark_by_hand(course):
    """As a teacher in the formgrader; and then some hand in anew."""
    with course.gradebook() as gradebook:
        for learner in LEARNERS[:3]:
            cell = (ASSIGNMENT, ASSIGNMENT, learner)
            grade = gradebook.find_grade("attention_cols_check", *cell)
            grade.manual_score, grade.needs_manual_grade = 2.5, False
            gradebook.find_comment("attention_cols", *cell).manual_comment = "Seen."
        gradebook.db.commit()
    for learner in LEARNERS[1:]:
        path = course.path("submitted", learner)
        path.write_text(nbformat.writes(notebook(extra="\nattention_cols = None")))


def files(course):
    """What grading wrote, by its path in the course."""
    rooms = (course.folder / room for room in ("release", "autograded", "results"))
    paths = [path for room in rooms for path in room.rglob("*") if path.is_file()]
    return {str(path.relative_to(course.folder)): path.read_bytes() for path in paths}


def test_twenty_kills_change_nothing(courses):
    undisturbed, killed = courses
    started = time.monotonic()
    assert ended(grade(undisturbed)) == 0
    usual = time.monotonic() - started

    for point in [*RELEASING, *GRADING]:
        assert ended(grade(killed, point)) == -signal.SIGKILL, point
    assert ended(grade(killed)) == 0
    assert killed.rows() == undisturbed.rows()

    for course in courses:
        mark_by_hand(course)
    assert ended(grade(undisturbed, force=True)) == 0
    for point in GRADING_AGAIN:
        assert ended(grade(killed, point)) == -signal.SIGKILL, point
    draw = random.Random(20)
    for _ in range(AT_RANDOM):
        process = grade(killed, force=True)
        time.sleep(draw.uniform(0.2, 1) * usual)
        process.kill()
        assert ended(process) in (0, -signal.SIGKILL)
    assert ended(grade(killed, force=True)) == 0

    assert killed.rows() == undisturbed.rows()
    for learner, auto_score, changed in ((LEARNERS[0], 4, False), (LEARNERS[1], 0, True)):
        assert killed.rows()[learner, ASSIGNMENT, "attention_cols_check", "Grade"] == {
            "auto_score": auto_score,
            "manual_score": 2.5,
            "extra_credit": None,
            "needs_manual_grade": changed,
        }
    assert files(killed) == files(undisturbed)
    assert not list(killed.folder.rglob(".*.draft"))
