"""The audit is clean, and it notices when an exercise is weakened."""

import json
from dataclasses import replace

import pytest

from attnkit.audit import audit, audit_mutants
from attnkit.checking.exercise import Misconception, RightAnswer
from attnkit.cli import main
from attnkit.exercises import all_exercises, find

EXERCISES = all_exercises()
each_exercise = pytest.mark.parametrize("exercise", EXERCISES, ids=lambda e: e.name)


@each_exercise
def test_the_checks_stand_their_own_test(exercise):
    result = audit(exercise)
    assert result.ok, result
    assert result.right_accepted >= 5  # reference, solution, an oracle and other formulations
    generic = 15 - len(exercise.right_anyway)
    assert result.wrong_rejected >= generic + len(exercise.misconceptions)


@each_exercise
def test_every_small_change_of_the_solution_is_noticed(exercise):
    result = audit_mutants(exercise)
    assert result.ok, result
    assert result.killed >= 10  # the shortest solution has few places to change


def without(exercise, *names):
    cases = [case for case in exercise.cases if case.name not in names]
    assert len(cases) == len(exercise.cases) - len(names)
    return replace(exercise, cases=cases)


def test_without_its_extreme_cases_the_naive_softmax_survives():
    weaker = without(
        find("soft_attention.softmax"),
        "scores between -1000 and 1000",
        "large scores close together",
        "one row a thousand below the others",
        "all scores far below zero",
    )
    assert "takes the exponential of the raw scores" in audit(weaker).wrong_survived


def test_square_sizes_let_a_wrong_divisor_survive():
    exercise = find("notation.attention_cols")
    weaker = replace(exercise, cases=[c for c in exercise.cases if c.name == "all sizes equal"])
    assert "divides by the square root of the number of items" in audit(weaker).wrong_survived


def test_without_the_distant_query_a_mutant_survives():
    weaker = without(
        find("soft_attention.soft_attention"),
        "one query far from all keys, one near",
    )
    assert audit_mutants(weaker).survived == [
        "np.max(scores, axis=axis, keepdims=True)  ->  np.max(scores, keepdims=True)"
    ]


def test_a_right_answer_that_is_refused_is_reported():
    exercise = find("soft_attention.softmax")
    wrong = RightAnswer("half of it", lambda scores, axis=-1: exercise.reference(scores, axis) / 2)
    result = audit(replace(exercise, right_answers=[*exercise.right_answers, wrong]))
    assert result.right_refused == ["half of it"]
    assert not result.ok


def test_two_mistakes_that_are_one_are_reported():
    exercise = find("soft_attention.softmax")
    twin = Misconception("is the naive one", exercise.misconceptions[0].answer, "x")
    result = audit(replace(exercise, misconceptions=[*exercise.misconceptions, twin]))
    assert len(result.indistinct) == 2
    assert not result.ok


def test_a_stale_excuse_is_reported():
    exercise = replace(find("soft_attention.softmax"), equivalent_mutants={"a  ->  b": "never"})
    assert audit_mutants(exercise).stale == ["a  ->  b"]


def test_the_command_prints_the_matrix_and_ends_with_zero(capsys):
    assert main(["audit", "notation.attention_cols"]) == 0
    header, row = capsys.readouterr().out.splitlines()
    assert header.split()[:3] == ["name", "right", "accepted"]
    assert row.split()[0] == "notation.attention_cols"


def test_the_command_writes_json(capsys):
    assert main(["audit", "--json", "soft_attention.softmax_jacobian"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["ok"] is True
    (row,) = report["exercises"]
    assert (
        row["right_refused"] == row["wrong_survived"] == row["misnamed"] == row["indistinct"] == []
    )


def test_the_command_ends_with_one_if_a_wrong_answer_survives(capsys, monkeypatch):
    exercise = find("soft_attention.softmax")
    monkeypatch.setattr(exercise, "cases", exercise.cases[:1])
    assert main(["audit", exercise.name]) == 1
    assert "takes the exponential of the raw scores" in capsys.readouterr().out
    assert main(["audit", "--mutants", exercise.name]) == 1


def test_the_command_says_which_names_are_near(capsys):
    assert main(["audit", "soft_attention.sofmax"]) == 2
    assert "soft_attention.softmax" in capsys.readouterr().err
