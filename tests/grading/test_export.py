"""The marks as Canvas, Moodle and a spreadsheet read them, and never as a formula."""

import csv
import io
from types import SimpleNamespace

import pytest

from attnkit.cli import main
from attnkit.grading import export
from attnkit.grading.gradebook import opened

NAMES = {
    "anna": ("Anna", "Example"),
    "=cmd|' /C calc'!A0": ("=1+1", "Example"),
    "quote": ('say "hi", twice', "line\nbreak"),
    "none": (None, None),
    "-5": ("-5", "@SUM(A1)"),
}


@pytest.fixture(scope="module")
def gradebook(tmp_path_factory):
    """Two assignments; one late submission, one with a written answer to mark, some missing."""
    url = f"sqlite:///{tmp_path_factory.mktemp('marks')}/gradebook.db"
    with opened(SimpleNamespace(db_url=url, course_id="attention")) as gradebook:
        for name in ("first", "second"):
            gradebook.add_assignment(name)
            gradebook.add_notebook("nb", name)
            cell = {"max_score": 5, "cell_type": "code"}
            gradebook.add_grade_cell("check", "nb", name, **cell)
            gradebook.add_grade_cell("words", "nb", name, max_score=3, cell_type="markdown")
        for student, (first, last) in NAMES.items():
            gradebook.add_student(
                student, first_name=first, last_name=last, email=f"{student}@example.org"
            )
        for student, points, penalty in (("anna", 4, 1.5), ("quote", 1, 3), ("-5", 5, None)):
            submission = gradebook.add_submission("first", student)
            (notebook,) = submission.notebooks
            notebook.late_submission_penalty = penalty
            for grade in notebook.grades:
                if grade.name == "check":
                    grade.auto_score = points
                grade.needs_manual_grade = grade.name == "words" and student == "-5"
        gradebook.db.commit()
        yield gradebook


def rows(gradebook, layout):
    file = io.StringIO(newline="")
    waiting = export.write(gradebook, layout, file)
    assert waiting == 1
    return list(csv.reader(io.StringIO(file.getvalue(), newline="")))


def test_plain_has_a_row_for_each_assignment_and_student(gradebook):
    head, *body = rows(gradebook, "plain")
    table = {(row[0], row[3]): dict(zip(head, row, strict=True)) for row in body}
    assert len(body) == len(table) == 2 * len(NAMES)
    late = table["first", "anna"]
    marks = ("raw_score", "late_submission_penalty", "score", "max_score")
    assert [float(late[name]) for name in marks] == [4, 1.5, 2.5, 8]
    assert float(table["first", "quote"]["score"]) == 0  # never below nothing
    assert table["first", "-5"]["waits_for_teacher"] == "yes"
    assert table["first", "none"]["score"] == ""  # not a zero: nothing was handed in
    assert table["second", "anna"]["score"] == ""


def test_canvas_has_its_columns_and_the_row_of_full_marks(gradebook):
    head, full, *body = rows(gradebook, "canvas")
    assert head == [
        "Student",
        "ID",
        "SIS User ID",
        "SIS Login ID",
        "Section",
        "first",
        "second",
    ]
    assert full == ["Points Possible", "", "", "", "", "8.0", "8.0"]
    anna = next(row for row in body if row[2] == "anna")
    assert anna == ["Example, Anna", "", "anna", "anna", "", "2.5", ""]
    assert ["none", "", "none", "none", "", "", ""] in body


def test_moodle_has_its_columns(gradebook):
    head, *body = rows(gradebook, "moodle")
    assert head[:4] == ["First name", "Last name", "ID number", "Email address"]
    assert head[4:6] == ["Assignment: first (Real)", "Assignment: first (Feedback)"]
    anna = next(row for row in body if row[2] == "anna")
    said = "2.5 of 8, 1.5 taken off for being late"
    assert anna == ["Anna", "Example", "anna", "anna@example.org", "2.5", said, "", ""]


@pytest.mark.parametrize("layout", export.FORMATS)
def test_no_cell_is_a_formula(gradebook, layout):
    cells = [cell for row in rows(gradebook, layout) for cell in row]
    assert any(cell == "'=cmd|' /C calc'!A0" for cell in cells)
    assert not any(cell.startswith(("=", "+", "@", "\t", "\r")) for cell in cells)
    assert [cell for cell in cells if cell.startswith("-")] in (["-5"] * n for n in range(1, 5))


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ("=1+1", "'=1+1"),
        ("+1", "'+1"),
        ("-1+1", "'-1+1"),
        ("-1.5", "-1.5"),
        ("@x", "'@x"),
        ("\tx", "'\tx"),
        ("\rx", "'\rx"),
        ("  =x", "'  =x"),
        ("＝x", "'＝x"),
        ("a=b", "a=b"),
        (None, ""),
    ],
)
def test_what_could_be_a_formula_gets_an_apostrophe(text, cell):
    assert export._cells([text]) == [cell]


def test_numbers_stay_numbers():
    assert export._cells([-2.5, 3]) == [-2.5, 3]


def test_every_text_is_quoted(gradebook):
    file = io.StringIO(newline="")
    export.write(gradebook, "canvas", file)
    assert '"say ""hi"", twice"' not in file.getvalue().splitlines()[0]
    assert '"Student","ID","SIS User ID"' in file.getvalue()
    assert '"line\nbreak, say ""hi"", twice"' in file.getvalue()


@pytest.mark.timeout(600)
def test_the_command(rehearsal, tmp_path, capsys):
    place = ["--course", str(rehearsal.course.folder)]
    target = tmp_path / "marks.csv"
    assert main(["export", "--format", "canvas", "--to", str(target), *place]) == 0
    assert main(["export", "--format", "canvas", *place]) == 0
    assert capsys.readouterr().out == target.read_bytes().decode()
    head, full, *body = csv.reader(target.open(newline=""))
    assert (head[5:], full[5:]) == (["notation"], ["4.0"])
    marks = {row[2]: row[5] for row in body}
    expected = {row.student: row.mark for row in rehearsal.expected}
    assert {name: float(mark) for name, mark in marks.items() if mark} == expected
    assert main(["export", "--to", str(tmp_path / "no" / "folder.csv"), *place]) == 2
    assert "cannot be written" in capsys.readouterr().err
