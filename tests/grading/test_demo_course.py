"""The class to rehearse with: complete, the same every time, and graded as it says."""

import csv
import html
import json
import re

import nbformat
import numpy as np
import pytest

from attnkit.checking import judge
from attnkit.exercises import all_exercises
from attnkit.grading import demo_course
from attnkit.grading.as_cell import as_cell
from attnkit.grading.batch import CannotGrade
from attnkit.grading.hostile import ANSWERS, FILES
from tests.rehearsal import ASSIGNMENT, ROOT, contents

ANSWERED = [(e, m) for e in all_exercises() for m in [*e.misconceptions, *e.right_answers]]
(EXERCISE,) = demo_course.exercises(ASSIGNMENT)
KINDS = [*ANSWERS, *FILES, *(each.kind for each in demo_course.tries(EXERCISE))]


@pytest.mark.timeout(600)
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_gets_its_mark_and_hears_why(rehearsal, kind):
    rows = [row for row in rehearsal.expected if row.answer == kind]
    assert rows
    with rehearsal.course.submissions(ASSIGNMENT) as (_, submissions):
        for row in rows:
            (notebook,) = submissions[row.student].notebooks
            (grade,) = notebook.grades
            assert (grade.name, grade.auto_score, grade.max_score) == (row.check, row.mark, row.of)
            assert row.says.replace("`", "") in shown(rehearsal, row)


def shown(rehearsal, row):
    """The words of the feedback above the learner's own answer."""
    place = rehearsal.course.path("feedback", row.assignment, row.student)
    page = (place / f"{row.assignment}.html").read_text()
    text = html.unescape(re.sub("<[^>]*>", "", page[page.index("<main>") :]))
    return re.sub(r"\s+", " ", text.partition("Your answer")[0])


def test_nobody_is_left_without_a_grade(rehearsal):
    handed_in = {row.student for row in rehearsal.expected}
    assert {row.student for row in rehearsal.graded} == handed_in
    assert {row.state for row in rehearsal.graded} == {"graded"}


def test_every_graded_notebook_is_valid(rehearsal):
    written = list(rehearsal.course.folder.glob(f"autograded/*/{ASSIGNMENT}/*.ipynb"))
    assert len(written) == len(rehearsal.graded)
    for path in written:
        nbformat.validate(json.loads(path.read_text()))


def test_nothing_that_was_handed_in_changed_a_file(rehearsal):
    assert contents(rehearsal.course.folder) == rehearsal.before


def test_what_is_expected_stands_in_the_folder(rehearsal):
    with open(rehearsal.course.folder / demo_course.EXPECTED, newline="") as file:
        rows = list(csv.DictReader(file))
    assert {tuple(row.values()) for row in rows} == {
        (r.student, r.assignment, r.check, r.answer, str(r.mark), str(r.of), r.says)
        for r in rehearsal.expected
    }


def test_students_are_labels(rehearsal):
    with rehearsal.course.gradebook() as gradebook:
        assert all(re.fullmatch(r"student-\d{3}", each.id) for each in gradebook.students)
        assert {each.first_name for each in gradebook.students} == {"Student"}


@pytest.mark.parametrize(("exercise", "known"), ANSWERED, ids=lambda x: x.name)
def test_an_answer_in_a_cell_is_the_answer(exercise, known):
    namespace = {"np": np}
    exec(exercise.given, namespace)
    exec(as_cell(exercise, known.answer), namespace)
    verdict = judge(exercise, namespace[exercise.function])
    wrong = known in exercise.misconceptions
    assert verdict.passed is not wrong
    assert verdict.misconceptions == ((known.name,) if wrong else ())


def test_the_same_seed_makes_the_same_class(tmp_path):
    folders = [tmp_path / name for name in ("one", "two", "other")]
    for folder, seed in zip(folders, (3, 3, 4), strict=True):
        demo_course.make(folder, ROOT, 6, seed=seed, assignments=[ASSIGNMENT])
    made = [
        {
            path.relative_to(folder): content.replace(str(folder).encode(), b"")
            for path, content in contents(folder).items()
        }
        for folder in folders
    ]
    assert made[0] == made[1] != made[2]
    assert len({(folder / ".course_seed").read_text() for folder in folders}) == 2


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"folder": ROOT / "chapters"}, "not empty; name a new folder"),
        ({"folder": ROOT / "README.md"}, "not empty; name a new folder"),
        ({"settings": ROOT / "chapters"}, "has no nbgrader_config.py"),
        ({"assignments": ["alchemy"]}, "called 'alchemy'; there are: notation, "),
        ({"students": 0}, "a class of 0 students"),
    ],
)
def test_what_cannot_be_made_is_said(tmp_path, changes, said):
    arguments = {"folder": tmp_path / "new", "settings": ROOT, "students": 3}
    with pytest.raises(CannotGrade, match=said):
        demo_course.make(**(arguments | changes))
    assert not (tmp_path / "new").exists()
