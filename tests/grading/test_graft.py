"""Whatever is handed in, the notebook that runs is the teacher's with the learner's answers."""

import errno
import os

import nbformat
import pytest

from attnkit import notebooks
from attnkit.exercises import find
from attnkit.grading.demo_course import hand_in
from attnkit.grading.graft import Unreadable, answers, graft, read
from attnkit.grading.hostile import ALL, FILES, Scene, cell
from tests.course import Course

ASSIGNMENT = "notation"
ANSWER, CHECK = "attention_cols", "attention_cols_check"
# nbgrader itself does not look at a file of another name.
HANDED_IN = {name: act for name, act in FILES.items() if name != "another file name"}


def right():
    return notebooks.teacher(ASSIGNMENT)


def starters():
    blank = notebooks.learner(ASSIGNMENT)
    return {c.metadata.nbgrader.grade_id: c.source for c in blank.cells}


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """All that can be wrong with a file, handed in and graded by nbgrader's own command."""
    course = Course(tmp_path_factory.mktemp("course"), ASSIGNMENT)
    scene = Scene(find("notation.attention_cols"), course.folder)
    for name, act in HANDED_IN.items():
        hand_in(course.path("submitted", name).parent, ASSIGNMENT, act.make(scene))
    course.nbgrader("autograde", ASSIGNMENT)
    course.nbgrader("generate_feedback", ASSIGNMENT)
    return course


@pytest.mark.parametrize("name", HANDED_IN)
def test_every_submission_gets_the_mark_it_deserves(course, name):
    assert course.marks(name) == {CHECK: (4 if HANDED_IN[name].keeps == ALL else 0, 4)}
    assert HANDED_IN[name].says in course.path("feedback", name).read_text()


def test_no_file_beside_the_notebook_is_taken_along(course):
    folder = course.path("autograded", "modules that shadow others").parent
    assert [path.name for path in folder.iterdir()] == [f"{ASSIGNMENT}.ipynb"]


def test_the_feedback_says_what_could_not_be_read(course):
    page = course.path("feedback", "broken JSON").read_text()
    assert "What was handed in could not be read" in page
    assert "could not be read" not in course.path("feedback", "cells reordered").read_text()


def test_no_note_and_no_tag_of_a_learners_is_shown(course):
    assert "forged" not in course.path("autograded", "note forged").read_text()
    page = course.path("autograded", "a page").read_text()
    assert "&lt;i&gt;no notebook" in page
    assert "<i>" not in page


# ------------------------------------------------------------------ the parts


def test_the_graft_takes_the_text_of_answers_and_nothing_else():
    submission = right()
    for c in submission.cells:
        c.source = f"# mine: {c.metadata.nbgrader.grade_id}"
    grafted = graft(right(), submission, starters())
    for ours, teachers in zip(grafted.cells, right().cells, strict=True):
        assert ours.metadata == teachers.metadata
        if ours.metadata.nbgrader.solution:
            assert ours.source == f"# mine: {ours.metadata.nbgrader.grade_id}"
        else:
            assert ours.source == teachers.source


def test_no_solution_of_the_teachers_is_left_where_nothing_came_back():
    grafted = graft(right(), nbformat.v4.new_notebook(), starters())
    assert cell(grafted, ANSWER).source == starters()[ANSWER]


def test_of_several_answers_the_first_that_is_not_empty_counts():
    notebook = right()
    first = cell(notebook, ANSWER)
    empty = nbformat.from_dict(first | {"source": "  \n"})
    later = nbformat.from_dict(first | {"source": "# later"})
    notebook.cells = [empty, first, later]
    assert answers(notebook)[ANSWER] == first.source


def test_a_file_that_is_too_large_is_not_read(tmp_path):
    path = tmp_path / "large.ipynb"
    path.write_text(nbformat.writes(right()))
    assert read(path, largest=10**6).cells
    with pytest.raises(Unreadable, match="at most 100 are read"):
        read(path, largest=100)


def test_half_of_a_character_pair_is_no_reason_to_stop():
    notebook = right()
    cell(notebook, ANSWER).source = "# \ud800"
    assert answers(notebook)[ANSWER] == "# ?"


def test_a_file_that_this_machine_cannot_read_is_no_fault_of_the_learner(tmp_path, monkeypatch):
    def fails(*_):
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "open", fails)
    with pytest.raises(OSError, match="Input/output"):
        read(tmp_path / "any.ipynb", largest=100)


def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe.ipynb")
    with pytest.raises(Unreadable, match="no ordinary file"):
        read(tmp_path / "pipe.ipynb", largest=100)
