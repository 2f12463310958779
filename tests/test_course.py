"""A course with plain nbgrader and the settings at the root: from release to export."""

import csv

import pytest

from attnkit import notebooks
from tests.course import Course

ASSIGNMENT = "soft_attention"
MISTAKE = ("np.tanh(from_key + from_query) @ v", "np.tanh((from_key + from_query) @ v)")


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """A course in which three learners handed in and were graded."""
    course = Course(tmp_path_factory.mktemp("course"), ASSIGNMENT)
    wrong = notebooks.teacher(ASSIGNMENT)
    for cell in wrong.cells:
        if cell.metadata.nbgrader.grade_id == "additive_scores":
            assert MISTAKE[0] in cell.source
            cell.source = cell.source.replace(*MISTAKE)
    course.hand_in("right", notebooks.teacher(ASSIGNMENT))
    course.hand_in("blank", course.released())
    course.hand_in("wrong", wrong)
    for command in (["autograde", ASSIGNMENT], ["generate_feedback", ASSIGNMENT], ["export"]):
        course.nbgrader(*command)
    return course


def test_the_release_is_the_learners_notebook(course):
    ours = notebooks.learner(ASSIGNMENT)
    assert [cell.source for cell in course.released().cells] == [c.source for c in ours.cells]


def test_everyone_gets_what_they_deserve(course):
    scores = {learner: course.marks(learner) for learner in ("right", "blank", "wrong")}
    question = "saturation_in_words"
    checks = {name for name in scores["right"] if name != question}
    assert len(checks) == 5
    for name in checks:
        full = scores["right"][name][1]
        assert scores["right"][name] == (full, full)
        assert scores["blank"][name] == (0, full)
        lost = name == "additive_scores_check"
        assert scores["wrong"][name] == (0 if lost else full, full)
    # A written answer waits for a person; an untouched one needs none.
    assert scores["right"][question][0] is None
    assert scores["blank"][question][0] == 0


def test_the_feedback_names_the_mistake_and_shows_no_hidden_case(course):
    page = course.path("feedback", "wrong").read_text()
    assert "a function that applies the tanh after v instead of before" in page
    assert "The tanh belongs to the hidden layer" in page
    right = course.path("feedback", "right").read_text()
    assert "Wanted (" not in right


def test_the_export_has_a_row_for_each_learner(course):
    with (course.folder / "grades.csv").open() as file:
        rows = {row["student_id"]: row for row in csv.DictReader(file)}
    assert {name: float(row["score"]) for name, row in rows.items()} == {
        "right": 22,
        "blank": 0,
        "wrong": 18,
    }
    assert float(rows["right"]["max_score"]) == 26


def test_the_course_keeps_its_seed(course):
    assert len((course.folder / ".course_seed").read_text()) == 16
