"""Some exercises of some chapters are an assignment like any other."""

import pytest

from attnkit import notebooks
from attnkit.cli import main
from attnkit.exercises import pick
from attnkit.grading import confine
from tests.course import Course

if confine.missing():
    pytest.skip(f"needs {', '.join(confine.missing())}", allow_module_level=True)

ITEMS = ["3.4", "notation.attention_cols", "saturation_in_words", "3.4"]


@pytest.fixture
def course(tmp_path):
    return Course(tmp_path / "course", "notation", release=False)


@pytest.fixture
def make(course, capsys):
    """Run the command: its exit code, and what it says."""

    def run(*arguments):
        code = main(["assignment", *arguments, "--course", str(course.folder)])
        return code, "".join(capsys.readouterr())

    return run


def test_it_is_handed_out_and_graded(course, make):
    code, said = make("week4", *ITEMS, "--title", "The fourth week")
    assert (code, "nbgrader generate_assignment week4" in said) == (0, True)
    course.nbgrader("generate_assignment", "week4")
    course.assignment = "week4"
    handed_out = course.released()
    assert handed_out.cells[0].source.startswith("# The fourth week\n\n13 points, about")
    assert "### BEGIN" not in "".join(cell.source for cell in handed_out.cells)
    course.hand_in("ada", notebooks.of_items("any", pick(ITEMS)))
    course.hand_in("bob", handed_out)
    assert main(["grade", "week4", "--course", str(course.folder)]) == 0
    wanted = {"soft_attention_check": (5, 5), "attention_cols_check": (4, 4)}
    assert course.marks("ada") == wanted | {"saturation_in_words": (None, 4)}
    assert not any(mark for mark, _ in course.marks("bob").values())
    assert main(["feedback", "week4", "--course", str(course.folder)]) == 0
    assert "Score, normalise, read" in course.path("feedback", "ada").read_text()


def test_bad_input_is_named(course, make):
    assert make("week1", "3.1")[0] == 0
    for arguments, words in {
        ("week1", "3.2"): "there is an assignment 'week1' already",
        ("week2", "3.11"): "there is no exercise '3.11'; did you mean '3.1'",
        ("week 2", "3.1"): "'week 2' is no name for a folder",
        ("../week2", "3.1"): "'../week2' is no name for a folder",
    }.items():
        code, said = make(*arguments)
        assert (code, words in said) == (2, True), said
    assert not (course.folder / "solutions" / "week2").exists()
