"""The command at a terminal: what it prints, and how it ends."""

import json

import nbformat
import pytest

from attnkit import notebooks
from attnkit.cli import main
from attnkit.exercises import all_exercises


def run(capsys, *arguments):
    code = main([str(argument) for argument in arguments])
    return code, *capsys.readouterr()


def test_exercises_are_listed(capsys):
    code, out, _ = run(capsys, "exercises")
    assert code == 0
    names = [line.split()[1] for line in out.splitlines()][1:]
    assert names == [exercise.name for exercise in all_exercises()]


def test_exercises_are_listed_as_json(capsys):
    code, out, _ = run(capsys, "exercises", "--json")
    rows = json.loads(out)
    assert code == 0
    assert [row["misconceptions"] for row in rows] == [
        len(e.misconceptions) for e in all_exercises()
    ]
    asked = {"name", "chapter", "points", "minutes", "backend", "cases", "laws", "misconceptions"}
    assert all(asked <= row.keys() for row in rows)


@pytest.fixture
def notebook(tmp_path):
    def write(content):
        path = tmp_path / "answer.ipynb"
        nbformat.write(content, path)
        return path

    return write


def test_check_of_a_right_notebook(capsys, notebook):
    code, out, _ = run(capsys, "check", notebook(notebooks.teacher("notation")))
    assert code == 0
    assert out.splitlines()[1].split() == [
        "0.1",
        "From",
        "rows",
        "to",
        "columns",
        "4",
        "4",
        "right",
    ]


def test_check_of_a_blank_notebook(capsys, notebook):
    code, out, _ = run(capsys, "check", notebook(notebooks.learner("notation")))
    assert code == 1
    assert "not filled in yet" in out


def test_check_as_json(capsys, notebook):
    code, out, _ = run(capsys, "check", "--json", notebook(notebooks.learner("notation")))
    (row,) = json.loads(out)
    assert code == 1
    assert row["exercise"] == "notation.attention_cols"
    assert row["kind"] == "unfinished"
    assert row["points"] == 4


@pytest.mark.parametrize("content", ["# no notebook", "[]", "{}", '{"cells": 3}', b"\x89PNG\xff"])
def test_check_of_what_is_no_notebook(capsys, tmp_path, content):
    path = tmp_path / "thing.ipynb"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    code, out, err = run(capsys, "check", path)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert "is no notebook" in err


def test_check_of_a_file_that_is_not_there(capsys, tmp_path):
    code, _, err = run(capsys, "check", tmp_path / "none.ipynb")
    assert code == 2
    assert "No such file" in err


def test_check_of_a_notebook_without_checks(capsys, notebook):
    code, out, _ = run(capsys, "check", notebook(nbformat.v4.new_notebook()))
    assert code == 1
    assert "no check" in out


def test_windows_is_told_where_a_course_can_run(capsys, monkeypatch):
    monkeypatch.setattr("sys.platform", "win32")
    for command in ("grade", "feedback", "report"):
        assert main([command, "notation"]) == 2
        assert "install WSL" in capsys.readouterr().err
    assert main(["exercises"]) == 0
