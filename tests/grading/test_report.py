"""The report counts what was handed in, and shows a class no names."""

import json
from collections import Counter

import pytest

from attnkit.cli import main
from attnkit.grading.report import KINDS, report
from tests.rehearsal import ASSIGNMENT

pytestmark = pytest.mark.timeout(600)


@pytest.fixture(scope="module")
def seen(rehearsal):
    return report(rehearsal.course, ASSIGNMENT)


def test_counts_are_those_of_the_class(rehearsal, seen):
    (row,) = seen.rows
    expected = rehearsal.expected
    assert seen.graded == len(expected)
    assert row.passed == sum(each.mark == each.of for each in expected)
    # What could not be read is graded as an empty notebook.
    blank = ("not filled in yet", "could not be read")
    assert row.blank == sum(each.says in blank for each in expected)
    assert row.passed + row.failed + row.blank == len(expected)
    kinds = (each.answer.partition("mistake: ") for each in expected)
    mistakes = Counter(name for _, mistake, name in kinds if mistake)
    counts = {mistake.name: mistake.count for mistake in row.mistakes}
    assert {name: counts[name] for name in counts if name not in KINDS.values()} == mistakes
    assert counts[KINDS["raised"]] > 3
    assert list(counts.values()) == sorted(counts.values(), reverse=True)
    assert row.unnamed == row.failed - sum(counts.values())


def test_who_has_no_grade_is_listed(rehearsal, seen):
    handed_in = {row.student for row in rehearsal.expected}
    assert seen.without_grade
    assert not handed_in & set(seen.without_grade)
    with rehearsal.course.gradebook() as gradebook:
        assert len(gradebook.students) == len(handed_in) + len(seen.without_grade)


def test_the_page_names_no_student_and_the_terminal_does(seen):
    missing = seen.without_grade[0]
    assert missing in seen.text()
    assert missing in seen.json()
    assert "student-" not in seen.html()
    for form in (seen.text(), seen.html()):
        assert "is written for rows" in form
        assert "Notation: Rows and columns" in form


def test_the_command(rehearsal, seen, capsys):
    place = ["--course", str(rehearsal.course.folder)]
    assert main(["report", ASSIGNMENT, "--json", *place]) == 0
    assert json.loads(capsys.readouterr().out) == json.loads(seen.json())
    assert main(["report", ASSIGNMENT, "--html", *place]) == 0
    assert capsys.readouterr().out.startswith("<!doctype html>")
    assert main(["report", "alchemy", *place]) == 2
    assert "it has: notation" in capsys.readouterr().err


def test_a_folder_that_is_no_course(tmp_path, capsys):
    assert main(["report", ASSIGNMENT, "--course", str(tmp_path)]) == 2
    assert "is no course" in capsys.readouterr().err


def test_a_course_without_a_gradebook(rehearsal, tmp_path, capsys):
    settings = rehearsal.course.folder / "nbgrader_config.py"
    (tmp_path / settings.name).write_bytes(settings.read_bytes())
    assert main(["report", ASSIGNMENT, "--course", str(tmp_path)]) == 2
    assert "has no gradebook yet" in capsys.readouterr().err
    assert not (tmp_path / "gradebook.db").exists()
