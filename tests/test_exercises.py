"""The checks are graded too: every right answer passes, every known mistake is named."""

import inspect
import re
from pathlib import Path

import pytest

from attnkit.checking import judge
from attnkit.exercises import all_exercises

EXERCISES = all_exercises()
CHAPTERS = Path(__file__).parents[1] / "chapters"
SEEDS = (0, 1, 2**63)
RIGHT = [(e, r.name, r.answer) for e in EXERCISES for r in e.right_answers]
RIGHT += [(e, "the reference", e.reference) for e in EXERCISES]
WRONG = [(e, m) for e in EXERCISES for m in e.misconceptions]


@pytest.mark.parametrize(("exercise", "name", "answer"), RIGHT, ids=lambda x: getattr(x, "name", x))
def test_right_answers_are_accepted(exercise, name, answer):
    for seed in SEEDS:
        assert judge(exercise, answer, seed=seed).passed


@pytest.mark.parametrize(("exercise", "mistake"), WRONG, ids=lambda x: x.name)
def test_every_mistake_is_refused_under_its_own_name(exercise, mistake):
    for seed in SEEDS:
        for hidden in (False, True):
            verdict = judge(exercise, mistake.answer, seed=seed, hidden=hidden)
            assert not verdict.passed
            assert verdict.misconceptions == (mistake.name,)
            assert verdict.hint == mistake.hint


@pytest.mark.parametrize("exercise", EXERCISES, ids=lambda e: e.name)
def test_an_exercise_is_complete(exercise):
    assert len(exercise.cases) >= 5
    assert exercise.laws
    assert len(exercise.right_answers) >= 3
    assert len({m.name for m in exercise.misconceptions}) == len(exercise.misconceptions) >= 4
    reference = inspect.signature(exercise.reference)
    assert list(reference.parameters) == list(exercise.signature.parameters)
    assert [p.default for p in reference.parameters.values()] == [
        p.default for p in exercise.signature.parameters.values()
    ]


@pytest.mark.parametrize("exercise", [e for e in EXERCISES if e.section], ids=lambda e: e.name)
def test_the_section_to_reread_is_in_the_chapter(exercise):
    label, heading = exercise.section
    text = (CHAPTERS / f"{exercise.chapter}.md").read_text("utf-8")
    assert re.search(rf"^\({label}\)=\n##+ {re.escape(heading)}$", text, re.MULTILINE)


def test_the_exercises_of_the_book_are_there():
    assert [e.number for e in EXERCISES] == [
        "0.1",
        "2.1",
        "2.2",
        "3.1",
        "3.2",
        "3.3",
        "3.4",
        "3.5",
        "8.1",
        "8.2",
    ]
    # The written catalogue has 48 wrong variants for these eight.
    assert sum(len(e.misconceptions) for e in EXERCISES) >= 48
