"""The verdict names what is wrong: it is read here as a learner would read it."""

import json
from dataclasses import replace

import numpy as np
import pytest

from attnkit import soft_attention as sa
from attnkit.checking import CheckFailed, Verdict, judge
from attnkit.exercises import check, example, find, hint

SOFTMAX = find("soft_attention.softmax")


def verdict(answer, **options):
    return judge(SOFTMAX, answer, **options)


def test_a_right_answer_passes():
    assert verdict(sa.softmax).passed
    assert verdict(sa.softmax, seed=123, hidden=True).passed


def unfinished(scores, axis=-1):
    raise NotImplementedError()


def crashes(scores, axis=-1):
    longest = max(len(row) for row in scores)
    return longest


def one_argument(scores):
    return sa.softmax(scores)


@pytest.mark.parametrize(
    ("answer", "kind", "words"),
    [
        (unfinished, "unfinished", "write its body"),
        (None, "type", "not a function"),
        (lambda scores, axis=-1: None, "type", "is a `return` missing?"),
        (lambda scores, axis=-1: scores.tolist(), "type", "a list"),
        (lambda scores, axis=-1: scores.sum(axis), "shape", "wanted is (7,)"),
        (lambda scores, axis=-1: sa.softmax(scores, axis) + 0j, "dtype", "complex"),
        (lambda scores, axis=-1: sa.softmax(scores, axis).astype("f4"), "dtype", "digits are lost"),
        (lambda scores, axis=-1: np.zeros(scores.shape), "value", "is 0; wanted is"),
        (crashes, "raised", "`longest = max(len(row) for row in scores)`, raised TypeError"),
        (one_argument, "raised", "softmax(scores, axis=-1)` failed with TypeError"),
    ],
)
def test_what_is_wrong_is_said(answer, kind, words):
    found = verdict(answer)
    assert not found.passed
    assert found.kind == kind
    assert words in found.message


def test_the_arguments_of_the_case_are_said():
    assert verdict(crashes).called_with == "scores (7,)"
    assert "scores (3, 5), axis=0" in str(verdict(lambda scores, axis=-1: sa.softmax(scores)))


def test_an_answer_that_remembers_its_first_output_fails():
    memory = []

    def answer(scores, axis=-1):
        memory.append(sa.softmax(scores, axis))
        return memory[0]

    assert verdict(answer).kind in ("shape", "value")


def test_an_answer_that_writes_into_its_argument_is_told_so():
    found = verdict(SOFTMAX.misconceptions[-1].answer)
    assert found.kind == "arguments changed"
    assert "`scores`" in found.message
    assert found.misconceptions == ("changes the array it is given",)


def test_a_law_alone_can_fail_an_answer():
    exercise = find("notation.attention_cols")
    calls = []

    def answer(Q, K, V):
        calls.append(1)  # right on every case, but no longer when the laws are tried
        wanted = exercise.reference(Q, K, V)
        return wanted if len(calls) <= len(exercise.cases) else wanted + len(calls)

    found = judge(exercise, answer)
    assert found.kind == "law"
    assert found.law


def test_known_mistakes_that_cannot_be_told_apart_are_both_named():
    found = verdict(lambda scores, axis=-1: sa.softmax(scores))
    assert found.misconceptions == ("normalises along the last axis whatever `axis` says",)
    assert "axis=0" in found.hint


def test_two_failing_functions_do_not_share_a_mistake_only_because_both_fail():
    def answer(scores, axis=-1):
        raise ValueError("mine")

    assert verdict(answer).misconceptions == ()


def test_a_hidden_verdict_keeps_the_numbers_to_itself():
    for answer in [
        SOFTMAX.misconceptions[0].answer,
        crashes,
        lambda scores, axis=-1: scores.sum(axis),
        lambda scores, axis=-1: 1 / 0 if scores.size > 3 else [scores[0]],
    ]:
        found = verdict(answer, seed=5, hidden=True)
        assert found.given is None
        assert found.wanted is None
        assert found.called_with == ""
        assert not any(digit in found.message for digit in "0123456789")


def test_other_seeds_draw_other_numbers():
    wrong = SOFTMAX.misconceptions[6].answer
    assert not np.array_equal(verdict(wrong, seed=1).wanted, verdict(wrong, seed=2).wanted)
    assert np.array_equal(verdict(wrong, seed=1).wanted, verdict(wrong, seed=1).wanted)


# ------------------------------------------------------------------ how it is shown


def test_the_text_names_mistake_and_hint():
    mistake = SOFTMAX.misconceptions[1]
    text = " ".join(str(verdict(mistake.answer)).split())
    assert mistake.name in text
    assert mistake.hint in text


def test_the_html_escapes_and_names_the_worst_element():
    found = Verdict("x.y", "<b>", False, "value", "a < b", given=np.zeros((2, 2)), worst=(1, 0))
    html = found._repr_mimebundle_()["text/html"]
    assert "&lt;b&gt;" in html
    assert "a &lt; b" in html
    assert html.count("<u>") == 1


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        (
            "True means *may attend* in `mask`.",
            "True means <em>may attend</em> in <code>mask</code>.",
        ),
        ("beta * x, not a*b or `K *Q* V`", "beta * x, not a*b or <code>K *Q* V</code>"),
        ("*<b>*", "*&lt;b&gt;*"),
    ],
)
def test_the_html_marks_code_and_emphasis(said, shown):
    assert shown in Verdict("x.y", "X", False, "value", said)._repr_mimebundle_()["text/html"]


def test_a_verdict_survives_json():
    found = verdict(SOFTMAX.misconceptions[1].answer)
    back = Verdict.from_dict(json.loads(json.dumps(found.to_dict())))
    assert back.to_dict() == found.to_dict()
    assert np.isnan(back.given).any()


def test_check_prints_and_raises_in_one_line(capsys):
    check("soft_attention.softmax", sa.softmax)
    assert "right" in capsys.readouterr().out
    with pytest.raises(CheckFailed) as caught:
        check("soft_attention.softmax", SOFTMAX.misconceptions[0].answer)
    shown = " ".join(capsys.readouterr().out.split())
    assert "takes the exponential of the raw scores" in shown
    (line,) = caught.value._render_traceback_()
    assert "takes the exponential of the raw scores" in line


def test_an_unknown_exercise_gets_the_nearest_names():
    with pytest.raises(ValueError, match=r"did you mean 'soft_attention\.softmax'"):
        check("soft_attention.sofmax", sa.softmax)
    with pytest.raises(ValueError, match=r"did you mean 'notation\.attention_cols'"):
        hint("zzz")


def test_an_example_replays_the_case_that_the_check_names():
    found = verdict(crashes)
    arguments = example("soft_attention.softmax", found.case)
    assert arguments["scores"].shape == (7,)
    assert np.array_equal(
        arguments["scores"], example("soft_attention.softmax", found.case)["scores"]
    )
    with pytest.raises(ValueError, match="did you mean 'a vector'"):
        example("soft_attention.softmax", "a vctor")


def test_an_answer_that_fails_is_not_said_to_have_an_output():
    found = verdict(SOFTMAX.misconceptions[3].answer)
    assert found.kind == "raised"
    assert found.diagnosis.startswith("Your function fails where one fails that drops the axis")


def test_the_simplest_failing_case_comes_first():
    def answer(scores, axis=-1):
        return [0.0] if scores.ndim == 1 else 1 / 0

    assert verdict(answer).kind == "type"


def test_of_elements_equally_wrong_the_largest_wanted_is_shown():
    found = verdict(SOFTMAX.misconceptions[0].answer)
    assert np.isnan(found.given[found.worst])
    assert found.wanted[found.worst] == found.wanted.max()


def test_hints_come_in_three_steps():
    hints = [hint("soft_attention.softmax", step) for step in (1, 2, 3)]
    assert hint("soft_attention.softmax") == hints[0]
    assert len(set(hints)) == 3
    with pytest.raises(ValueError, match="hints 1 to 3"):
        hint("soft_attention.softmax", 4)


def reversed_and_halved(weights, right_order=False):
    N = weights.shape[-1]
    arrived = np.eye(N)
    for layer in weights:
        mixed = (layer.mean(axis=-3) + np.eye(N)) / 2  # wrong where a token sees nothing
        arrived = mixed @ arrived if right_order else arrived @ mixed
    return arrived


def test_of_two_mistakes_in_two_parts_one_after_the_other_is_named():
    rollout = find("applications.rollout")
    found = judge(rollout, reversed_and_halved)
    assert found.misconceptions == ("multiplies the layers in reverse order",)
    found = judge(rollout, lambda weights: reversed_and_halved(weights, right_order=True))
    assert found.misconceptions == ("divides by two instead of by the sum of the row",)


def test_where_two_known_mistakes_fit_a_part_neither_is_named():
    rollout = find("applications.rollout")
    twin = replace(rollout.misconceptions[0], name="does the same")
    both = replace(rollout, misconceptions=[*rollout.misconceptions, twin])
    assert judge(both, reversed_and_halved).misconceptions == ()
