"""Points that are parted among groups of cases: what earns them, and how it is told."""

from dataclasses import replace

import numpy as np
import pytest

from attnkit.audit import audit
from attnkit.checking import Verdict, judge
from attnkit.checking.laws import Law
from attnkit.exercises import check, find

EXERCISE = find("soft_attention.multiplicative_scores")


def scores(Q, K, W=None, scaled=False, *, first=1, scale=1, turn=1):
    """Right, unless a factor makes one of its parts wrong."""
    if W is not None:
        Q = turn * Q @ W.T
    product = Q @ np.swapaxes(K, -1, -2)
    plain = W is None and not scaled
    return (first if plain else 1) * product / (scale * K.shape[-1] ** 0.5 if scaled else 1)


@pytest.mark.parametrize(
    ("wrong", "earned", "groups"),
    [
        ({}, 4, ()),
        ({"scale": 2}, 3, (True, False, True)),
        ({"turn": 2}, 2, (True, False, False)),  # with W some cases are scaled, too
        ({"first": 2}, 0, (False, True, True)),  # without the first nothing counts
        ({"first": 2, "scale": 2, "turn": 2}, 0, (False, False, False)),
    ],
)
@pytest.mark.parametrize("hidden", [False, True])
def test_each_part_earns_its_own_points(wrong, earned, groups, hidden):
    verdict = judge(EXERCISE, lambda *args, **kw: scores(*args, **kw, **wrong), hidden=hidden)
    assert (verdict.earned, verdict.points) == (earned, 4)
    assert verdict.passed == (earned == 4)
    assert tuple(right for _, _, right in verdict.groups) == groups


def test_a_law_costs_the_group_whose_case_breaks_it():
    never = Law(
        "never with a scale",
        lambda answer, arguments, seed, close: "seen" * (arguments.get("scaled", False)),
    )
    verdict = judge(replace(EXERCISE, laws=[never]), scores)
    assert (verdict.kind, verdict.law, verdict.earned) == ("law", "never with a scale", 3)


def test_laws_are_tried_in_each_group_that_is_right_so_far():
    plain = Law(
        "never without a scale",
        lambda answer, arguments, seed, close: "seen" * (arguments.keys() == {"Q", "K"}),
    )
    verdict = judge(
        replace(EXERCISE, laws=[plain]), lambda *args, **kw: scores(*args, **kw, scale=2)
    )
    assert [right for _, _, right in verdict.groups] == [False, False, True]
    assert verdict.earned == 0


def test_without_groups_it_is_all_or_nothing():
    verdict = judge(
        replace(EXERCISE, groups={}, cases=[replace(case, group="") for case in EXERCISE.cases]),
        lambda *args, **kw: scores(*args, **kw, scale=2),
    )
    assert (verdict.earned, verdict.groups) == (0, ())


def test_the_points_are_told_in_the_text_and_in_the_verdict():
    assert EXERCISE.terms.startswith(
        "**Points.** 2 for the dot product, 1 for the scale, 1 for the matrix W."
    )
    verdict = judge(EXERCISE, lambda *args, **kw: scores(*args, **kw, scale=2))
    text = str(verdict)
    assert "partly right, 3 of 4 points" in text
    assert "✓ the dot product (2), ✗ the scale (1), ✓ the matrix W (1)" in " ".join(text.split())
    assert Verdict.from_dict(verdict.to_dict()).groups == verdict.groups


def test_groups_have_to_add_up_and_to_exist():
    with pytest.raises(ValueError, match="have 5 points together; the exercise has 4"):
        replace(EXERCISE, groups={"all": 5})
    with pytest.raises(ValueError, match="there are 'the dot product'"):
        EXERCISE.case("new", group="the dog product")
    with pytest.raises(ValueError, match="there are 'the dot product'"):
        EXERCISE.case("new")


def test_a_check_gives_what_is_earned_as_its_result(capsys):
    name = EXERCISE.name
    assert check(name, lambda *args, **kw: scores(*args, **kw, scale=2), hidden=True) == 3
    assert check(name, scores) is None
    with pytest.raises(AssertionError):
        check(name, lambda *args, **kw: scores(*args, **kw, first=2))


def test_the_audit_says_what_a_mistake_earns_and_that_no_ignorance_earns_a_point():
    result = audit(EXERCISE)
    assert result.ok
    assert "never scales: 3 of 4" in result.partly
    easy = replace(
        EXERCISE,
        groups={"easy": 2, "hard": 2},
        cases=[
            replace(case, group="easy" if case.name == "one query, one key" else "hard")
            for case in EXERCISE.cases
        ],
    )
    assert "transposed" in audit(easy).wrong_survived
