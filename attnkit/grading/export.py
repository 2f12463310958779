"""The marks of a course as a CSV file: plain, or as Canvas and Moodle import them."""

import csv
import re
from dataclasses import dataclass

# A spreadsheet takes a cell that begins with one of these (full width too) for a formula.
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
NEGATIVE = re.compile(r"-\d+(\.\d+)?")


@dataclass(frozen=True)
class Mark:
    """What a student has for an assignment; ``score`` is after the penalty for being late."""

    raw: float
    penalty: float
    score: float
    timestamp: object
    waiting: bool  # a written answer is not marked yet


def marks(gradebook):
    """The mark of each submission in the gradebook, by assignment and student."""
    found = {}
    for assignment in gradebook.assignments:
        for submission in gradebook.assignment_submissions(assignment.name):
            penalty = submission.late_submission_penalty or 0.0
            found[assignment.name, submission.student.id] = Mark(
                raw=submission.score,
                penalty=penalty,
                score=max(submission.score - penalty, 0.0),
                timestamp=submission.timestamp,
                waiting=submission.needs_manual_grade,
            )
    return found


def plain(assignments, students, marks):
    """A row for each assignment and student, with all that nbgrader knows."""
    yield [
        "assignment",
        "duedate",
        "timestamp",
        "student_id",
        "last_name",
        "first_name",
        "email",
        "raw_score",
        "late_submission_penalty",
        "score",
        "max_score",
        "waits_for_teacher",
    ]
    for assignment in assignments:
        for student in students:
            mark = marks.get((assignment.name, student.id))
            yield [
                assignment.name,
                assignment.duedate,
                mark and mark.timestamp,
                student.id,
                student.last_name,
                student.first_name,
                student.email,
                mark and mark.raw,
                mark and mark.penalty,
                mark and mark.score,
                assignment.max_score,
                mark and ("yes" if mark.waiting else "no"),
            ]


def canvas(assignments, students, marks):
    """A column for each assignment, and the row of full marks, as Canvas's gradebook imports it."""
    identity = ["Student", "ID", "SIS User ID", "SIS Login ID", "Section"]
    yield [*identity, *(assignment.name for assignment in assignments)]
    yield ["Points Possible", *[None] * 4, *(assignment.max_score for assignment in assignments)]
    for student in students:
        name = ", ".join(filter(None, (student.last_name, student.first_name))) or student.id
        # Canvas's own number of a student is not known here; it finds them by the others.
        row = [name, None, student.id, student.id, None]
        yield row + [_score(marks.get((each.name, student.id))) for each in assignments]


def moodle(assignments, students, marks):
    """A column for each assignment and one for what to say of it, as Moodle's import maps them."""
    columns = ["First name", "Last name", "ID number", "Email address"]
    for assignment in assignments:
        columns += [f"Assignment: {assignment.name} (Real)"]
        columns += [f"Assignment: {assignment.name} (Feedback)"]
    yield columns
    for student in students:
        row = [student.first_name, student.last_name, student.id, student.email]
        for assignment in assignments:
            mark = marks.get((assignment.name, student.id))
            row += [_score(mark), mark and _said(mark, assignment.max_score)]
        yield row


FORMATS = {"plain": plain, "canvas": canvas, "moodle": moodle}


def write(gradebook, layout, file):
    """Write the gradebook's marks to a file; returns how many of them wait for the teacher.

    Who handed nothing in has empty cells: whether that is a zero is the teacher's to say.
    """
    found = marks(gradebook)
    students = sorted(gradebook.students, key=lambda each: (each.last_name or "", each.id))
    assignments = sorted(gradebook.assignments, key=lambda each: each.name)
    writer = csv.writer(file, quoting=csv.QUOTE_NONNUMERIC)
    writer.writerows(map(_cells, FORMATS[layout](assignments, students, found)))
    return sum(mark.waiting for mark in found.values())


def _score(mark):
    return mark and mark.score


def _said(mark, of):
    late = f", {mark.penalty:g} taken off for being late" if mark.penalty else ""
    return f"{mark.score:g} of {of:g}{late}"


def _cells(row):
    return [value if isinstance(value, int | float) else _harmless(value) for value in row]


def _harmless(value):
    """A text that no spreadsheet runs: an apostrophe goes in front of what could be a formula."""
    text = "" if value is None else str(value)
    if text.lstrip(" ").startswith(FORMULA) and not NEGATIVE.fullmatch(text):
        return f"'{text}"
    return text
