"""Through nbgrader's exchange, as on a JupyterHub: handed out, submitted, collected, given back."""

import fnmatch
import shutil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnkit.cli import main
from attnkit.grading import confine
from attnkit.grading.submission import BESIDE, all_but, beside
from tests.course import Course

ASSIGNMENT = "notation"


@pytest.fixture
def course(tmp_path):
    """A course whose exchange is a folder beside it, with an assignment handed out."""
    course = Course(tmp_path / "course", ASSIGNMENT)
    exchange = tmp_path / "exchange"
    exchange.mkdir(mode=0o777)
    exchange.chmod(0o777)
    with (course.folder / "nbgrader_config.py").open("a") as config:
        config.write(f"c.Exchange.root = {str(exchange)!r}\n")
        config.write(f"c.Exchange.cache = {str(tmp_path / 'cache')!r}\n")
    course.nbgrader("release_assignment", ASSIGNMENT)
    return course


@pytest.fixture
def learner(course, tmp_path):
    """The learner's own folder, to which the assignment was fetched."""
    learner = Course(tmp_path / "learner", ASSIGNMENT, release=False)
    shutil.rmtree(learner.folder / "solutions")
    shutil.copy(course.folder / "nbgrader_config.py", learner.folder)
    learner.nbgrader("fetch_assignment", ASSIGNMENT)
    return learner


@pytest.mark.skipif(bool(confine.missing()), reason=f"needs {', '.join(confine.missing())}")
@pytest.mark.parametrize("ours", [True, False], ids=["attnkit", "nbgrader"])
def test_an_assignment_goes_out_and_its_feedback_comes_back(course, learner, monkeypatch, ours):
    (notebook,) = (learner.folder / ASSIGNMENT).iterdir()
    assert notebook.name == f"{ASSIGNMENT}.ipynb"
    (learner.folder / ASSIGNMENT / "numpy.py").write_text("shadow = True")
    learner.nbgrader("submit", ASSIGNMENT)
    course.nbgrader("collect", ASSIGNMENT)
    if ours:
        monkeypatch.chdir(course.folder)
        for command in ("grade", "feedback"):
            monkeypatch.setattr("sys.argv", ["attnkit", command, ASSIGNMENT])
            assert main() in (0, None)
    else:
        course.nbgrader("autograde", ASSIGNMENT)
        course.nbgrader("generate_feedback", ASSIGNMENT)
    course.nbgrader("release_feedback", ASSIGNMENT)
    learner.nbgrader("fetch_feedback", ASSIGNMENT)
    (page,) = learner.folder.glob(f"{ASSIGNMENT}/feedback/*/{ASSIGNMENT}.html")
    assert "attention_cols" in page.read_text()
    assert not list(course.folder.glob("autograded/**/numpy.py"))


@given(st.text(st.characters(exclude_characters="/\0"), min_size=1))
def test_of_what_was_handed_in_only_three_kinds_of_names_pass(name):
    for tried in (name, f"{name}.ipynb", f"{name}.txt", *(name + kept for kept in BESIDE)):
        passes = not any(fnmatch.fnmatch(tried, glob) for glob in all_but("*.ipynb", *BESIDE))
        assert passes == (tried in BESIDE or tried.endswith(".ipynb"))


def test_what_lies_beside_a_notebook_passes():
    for name in (*BESIDE, ".ipynb"):
        assert not any(fnmatch.fnmatch(name, glob) for glob in all_but("*.ipynb", *BESIDE))


def test_a_folder_that_is_a_link_brings_no_secret_of_another(tmp_path):
    theirs = tmp_path / "ada"
    theirs.mkdir()
    (theirs / BESIDE[1]).write_text("of Ada's")
    (tmp_path / "eve").symlink_to(theirs)
    assert beside(theirs) == {BESIDE[1]: b"of Ada's"}
    assert beside(tmp_path / "eve") == {}
