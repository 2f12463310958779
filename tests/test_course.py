"""A course with plain nbgrader and the settings at the root: from release to export."""

import csv
import os
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbgrader.api import Gradebook

from attnkit import notebooks

ROOT = Path(__file__).parent.parent
ASSIGNMENT = "soft_attention"
MISTAKE = ("np.tanh(from_key + from_query) @ v", "np.tanh((from_key + from_query) @ v)")


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """The folder of a course in which three learners handed in and were graded."""
    folder = tmp_path_factory.mktemp("course")
    shutil.copytree(ROOT / "solutions", folder / "solutions")
    shutil.copy(ROOT / "nbgrader_config.py", folder)
    path = Path(sys.executable).parent
    environment = os.environ | {"PATH": f"{path}{os.pathsep}{os.environ['PATH']}"}

    def nbgrader(*arguments):
        result = subprocess.run(
            [path / "nbgrader", *arguments],
            cwd=folder,
            env=environment,
            timeout=240,
            capture_output=True,
            text=True,
            check=False,
        )
        assert result.returncode == 0, result.stderr

    nbgrader("generate_assignment", ASSIGNMENT)
    released = nbformat.read(folder / f"release/{ASSIGNMENT}/{ASSIGNMENT}.ipynb", as_version=4)
    wrong = notebooks.teacher(ASSIGNMENT)
    for cell in wrong.cells:
        if cell.metadata.nbgrader.grade_id == "additive_scores":
            assert MISTAKE[0] in cell.source
            cell.source = cell.source.replace(*MISTAKE)
    handed_in = {"right": notebooks.teacher(ASSIGNMENT), "blank": released, "wrong": wrong}
    for learner, notebook in handed_in.items():
        target = folder / "submitted" / learner / ASSIGNMENT
        target.mkdir(parents=True)
        nbformat.write(notebook, target / f"{ASSIGNMENT}.ipynb")
    nbgrader("autograde", ASSIGNMENT)
    nbgrader("generate_feedback", ASSIGNMENT)
    nbgrader("export")
    return folder


def test_the_release_is_the_learners_notebook(course):
    released = nbformat.read(course / f"release/{ASSIGNMENT}/{ASSIGNMENT}.ipynb", as_version=4)
    ours = notebooks.learner(ASSIGNMENT)
    assert [cell.source for cell in released.cells] == [cell.source for cell in ours.cells]


def test_everyone_gets_what_they_deserve(course):
    with Gradebook(f"sqlite:///{course}/gradebook.db") as gradebook:
        scores = {
            learner: {
                grade.name: (grade.auto_score, grade.max_score)
                for notebook in gradebook.find_submission(ASSIGNMENT, learner).notebooks
                for grade in notebook.grades
            }
            for learner in ("right", "blank", "wrong")
        }
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
    page = (course / f"feedback/wrong/{ASSIGNMENT}/{ASSIGNMENT}.html").read_text()
    assert "a function that applies the tanh after v instead of before" in page
    assert "The tanh belongs to the hidden layer" in page
    right = (course / f"feedback/right/{ASSIGNMENT}/{ASSIGNMENT}.html").read_text()
    assert "Wanted (" not in right


def test_the_export_has_a_row_for_each_learner(course):
    with (course / "grades.csv").open() as file:
        rows = {row["student_id"]: row for row in csv.DictReader(file)}
    assert {name: float(row["score"]) for name, row in rows.items()} == {
        "right": 22,
        "blank": 0,
        "wrong": 18,
    }
    assert float(rows["right"]["max_score"]) == 26


def test_the_course_keeps_its_seed(course):
    assert len((course / ".course_seed").read_text()) == 16
