"""A class that holds every kind of answer, handed in and graded for the tests about it."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from attnkit.grading import batch, demo_course, feedback, judge
from attnkit.grading.graded import GradedCourse

ROOT = Path(__file__).parents[1]
ASSIGNMENT = "notation"


@dataclass(frozen=True)
class Rehearsal:
    """The course, what was expected, what grading said, and the files before anyone was graded."""

    course: GradedCourse
    expected: list[demo_course.Row]
    graded: list[batch.Row]
    before: dict[Path, bytes]


def contents(folder):
    """What the files hold that nothing which is handed in may change."""
    rooms = ("solutions", "submitted", "release", ".course_seed", "nbgrader_config.py")
    found = [path for room in rooms for path in [folder / room, *(folder / room).rglob("*")]]
    return {path: path.read_bytes() for path in found if path.is_file()}


def rehearse(folder):
    """Make the class in a folder, grade it and write the feedback."""
    students = demo_course.enough([ASSIGNMENT])
    expected = demo_course.make(folder, ROOT, students, assignments=[ASSIGNMENT])
    before = contents(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(judge, "STEP", 1.0)  # endless loops end sooner
        patch.setattr(judge, "GRACE", 0.5)
        graded = batch.grade(folder, ASSIGNMENT, jobs=2)
    course = GradedCourse(folder)
    list(feedback.write_all(course, ASSIGNMENT))
    return Rehearsal(course, expected, graded, before)
