"""Whatever is handed in, the notebook that runs is the teacher's with the learner's answers."""

import errno
import os

import nbformat
import pytest

from attnkit import notebooks
from attnkit.grading.graft import Unreadable, answers, graft, read
from tests.course import Course

ASSIGNMENT = "notation"
ANSWER, CHECK = "attention_cols", "attention_cols_check"


def cell(notebook, grade_id):
    return next(c for c in notebook.cells if c.metadata.nbgrader.grade_id == grade_id)


def right():
    return notebooks.teacher(ASSIGNMENT)


def starters():
    blank = notebooks.learner(ASSIGNMENT)
    return {c.metadata.nbgrader.grade_id: c.source for c in blank.cells}


# ------------------------------------------------------------------ what is handed in


def duplicated():
    notebook = right()
    doubles = [cell(notebook, name) for name in (ANSWER, CHECK, CHECK)]
    notebook.cells += [nbformat.from_dict(c | {"id": f"again-{i}"}) for i, c in enumerate(doubles)]
    return notebook


def check_deleted():
    notebook = right()
    notebook.cells.remove(cell(notebook, CHECK))
    return notebook


def check_emptied():
    notebook = notebooks.learner(ASSIGNMENT)
    cell(notebook, CHECK).source = "pass"
    return notebook


def check_retyped():
    notebook = right()
    retyped = cell(notebook, CHECK)
    retyped.cell_type = "markdown"
    del retyped["outputs"], retyped["execution_count"]
    return notebook


def answer_retyped():
    notebook = right()
    retyped = cell(notebook, ANSWER)
    retyped.cell_type = "raw"
    del retyped["outputs"], retyped["execution_count"]
    return notebook


def answer_deleted():
    notebook = right()
    notebook.cells.remove(cell(notebook, ANSWER))
    return notebook


def reordered():
    notebook = right()
    notebook.cells.reverse()
    return notebook


def points_forged():
    notebook = notebooks.learner(ASSIGNMENT)
    tags = cell(notebook, CHECK).metadata.nbgrader
    tags.points, tags.grade, tags.locked = 150, False, False
    return notebook


def check_patched_in_another_cell():
    notebook = notebooks.learner(ASSIGNMENT)
    notebook.cells.insert(2, nbformat.v4.new_code_cell("check = lambda *a, **k: None"))
    return notebook


def note_forged():
    notebook = right()
    notebook.metadata.note = "<script>forged</script>"
    return notebook


def tags_that_are_no_tags():
    notebook = right()
    notebook.cells[0].metadata.nbgrader = ["grade_id"]
    notebook.cells.append(nbformat.v4.new_code_cell("1", metadata={"nbgrader": {"grade_id": [1]}}))
    return notebook


HANDED_IN = {
    "right": (right, 4),
    "blank": (lambda: notebooks.learner(ASSIGNMENT), 0),
    "duplicated": (duplicated, 4),
    "check-deleted": (check_deleted, 4),
    "check-emptied": (check_emptied, 0),
    "check-retyped": (check_retyped, 4),
    "answer-retyped": (answer_retyped, 4),
    "answer-deleted": (answer_deleted, 0),
    "reordered": (reordered, 4),
    "points-forged": (points_forged, 0),
    "check-patched": (check_patched_in_another_cell, 0),
    "note-forged": (note_forged, 4),
    "a-page": (lambda: b"<i>no notebook</i>", 0),
    "no-tags": (tags_that_are_no_tags, 4),
    "not-json": (lambda: b'{"cells": [', 0),
    "not-text": (lambda: b"\x89PNG\xff\xfe", 0),
    "empty": (lambda: b"", 0),
    "a-list": (lambda: b"[]", 0),
    "no-cells": (lambda: nbformat.v4.new_notebook(), 0),
    "another-course": (lambda: notebooks.teacher("soft_attention"), 0),
}


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """Everything above handed in, with shadowing files beside and a link among it, and graded."""
    course = Course(tmp_path_factory.mktemp("course"), ASSIGNMENT)
    for learner, (notebook, _) in HANDED_IN.items():
        path = course.hand_in(learner, notebook())
        (path.parent / "numpy.py").write_text("raise SystemExit('shadowed')")
    link = course.path("submitted", "a-link")
    link.parent.mkdir(parents=True)
    link.symlink_to(course.folder / "solutions" / ASSIGNMENT / f"{ASSIGNMENT}.ipynb")
    course.nbgrader("autograde", ASSIGNMENT)
    course.nbgrader("generate_feedback", ASSIGNMENT)
    return course


@pytest.mark.parametrize(("learner", "mark"), [(k, v[1]) for k, v in HANDED_IN.items()])
def test_every_submission_gets_the_mark_it_deserves(course, learner, mark):
    assert course.marks(learner) == {CHECK: (mark, 4)}
    assert course.path("feedback", learner).exists()


def test_a_link_is_not_followed(course):
    assert course.marks("a-link") == {CHECK: (0, 4)}


def test_no_file_beside_the_notebook_is_taken_along(course):
    folder = course.path("autograded", "right").parent
    assert [path.name for path in folder.iterdir()] == [f"{ASSIGNMENT}.ipynb"]


def test_the_feedback_says_what_could_not_be_read(course):
    page = course.path("feedback", "not-json").read_text()
    assert "What was handed in could not be read" in page
    assert "could not be read" not in course.path("feedback", "right").read_text()


def test_no_note_and_no_tag_of_a_learners_is_shown(course):
    assert "forged" not in course.path("autograded", "note-forged").read_text()
    page = course.path("autograded", "a-page").read_text()
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
