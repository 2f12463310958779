"""The checks are graded too: every right answer passes, every known mistake is named."""

import inspect
import re
from pathlib import Path

import pytest

from attnkit.checking import judge
from attnkit.exercises import all_exercises, example, find

EXERCISES = all_exercises()
CHAPTERS = Path(__file__).parents[1] / "chapters"
SEEDS = (0, 1, 2**63)
# How many wrong variants were written down for each exercise before it was made.
CATALOGUE = {
    **{"0.1": 5, "1.1": 6, "1.2": 5, "2.1": 6, "2.2": 5},
    **{"3.1": 8, "3.2": 6, "3.3": 8, "3.4": 6, "3.5": 4},
    **{"4.1": 6, "4.2": 7, "4.3": 7, "5.1": 6, "5.2": 6},
    **{"6.1": 6, "6.2": 7, "6.3": 5, "7.1": 6, "7.2": 6, "8.1": 7, "8.2": 7},
    **{"9.1": 8, "9.2": 7, "9.3": 8, "9.4": 7, "9.5": 4},
    **{"10.1": 8, "10.2": 7, "10.3": 6, "10.4": 6, "10.5": 4, "11.1": 6, "11.2": 5, "11.3": 5},
}
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


def test_no_two_functions_have_one_name():
    """Any exercises may stand in one notebook."""
    assert len({exercise.function for exercise in EXERCISES}) == len(EXERCISES)


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


@pytest.mark.parametrize("exercise", EXERCISES, ids=lambda e: e.name)
def test_the_section_to_reread_is_in_the_chapter(exercise):
    label, heading = exercise.section
    text = (CHAPTERS / f"{exercise.chapter}.md").read_text("utf-8")
    assert re.search(rf"^\({label}\)=\n##+ {re.escape(heading)}$", text, re.MULTILINE)


def test_numbers_count_up():
    numbers = [tuple(map(int, exercise.number.split("."))) for exercise in EXERCISES]
    assert numbers == sorted(set(numbers))


@pytest.mark.parametrize("exercise", EXERCISES, ids=lambda e: e.name)
def test_every_mistake_of_the_written_catalogue_is_known(exercise):
    assert len(exercise.misconceptions) >= CATALOGUE[exercise.number]


def test_an_example_can_be_given_to_the_function_it_is_for():
    exercise = find("hard_attention.reinforce_surrogate")
    arguments = example(exercise.name, "one example")
    exercise.reference(**arguments).backward()
    assert arguments["scores"].grad.shape == (1, 4)
