"""The tolerance follows the dtype and how strongly the output answers to its arguments."""

import numpy as np

from attnkit import soft_attention as sa
from attnkit.checking.judge import Trial, observe
from attnkit.checking.tolerance import wanted
from attnkit.exercises import all_exercises

RNG = np.random.default_rng(0)


def slack(scores):
    return wanted(sa.softmax, {"scores": scores}).largest_slack


def test_single_precision_gets_more():
    scores = RNG.normal(size=5)
    ratio = slack(scores.astype(np.float32)) / slack(scores)
    assert 0.1 < ratio / (np.finfo("f4").eps / np.finfo("f8").eps) < 10


def test_a_large_common_shift_loses_digits_and_is_allowed_to():
    scores = RNG.normal(size=5)
    assert 100 < slack(scores + 1000) / slack(scores) < 2000


def test_integers_have_a_slack_too():
    expected = wanted(lambda scores: scores.argmax(-1), {"scores": RNG.normal(size=(3, 5))})
    assert expected.value.dtype.kind == "i"
    assert 0 < expected.largest_slack < 1e-10


def test_right_answers_use_a_small_part_of_it():
    for exercise in all_exercises():
        for index, case in enumerate(exercise.cases):
            arguments = case.draw(np.random.default_rng(index))
            expected = Trial(exercise, case, arguments, seed=0).wanted
            for right in exercise.right_answers:
                given = observe(exercise, right.answer, arguments).value
                assert worst(given, expected) < 0.1, (exercise.name, case.name, right.name)


def worst(given, expected):
    """The largest error as a share of what is allowed."""
    members = zip(*map(as_tuple, (given, expected.value, expected.slack)), strict=True)
    return max(np.max(np.abs(one - other) / allowed) for one, other, allowed in members)


def as_tuple(value):
    return value if isinstance(value, tuple) else (value,)
