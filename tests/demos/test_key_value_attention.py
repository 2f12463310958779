"""The soft dictionary holds to attnkit's numbers, and its traits to what a page can draw."""

import numpy as np
import pytest

from attnkit import key_value_attention as kv
from attnkit import soft_attention as sa
from attnkit.demos import key_value_attention as demos

from .node import close, node
from .traits import refuses

NAMES = ("places", "colours", "query", "strength", "paint")
# The share to erase and the share of the paint to add, by button.
WRITES = {"write": (1.0, 1.0), "erase": (1.0, 0.0), "add": (0.0, 1.0)}


def opening():
    first = demos.SoftDictionary()
    return {name: getattr(first, name) for name in NAMES}


@pytest.mark.parametrize("paint", ["violet", "turquoise", "white"])
def test_look_up_and_every_way_to_write(paint):
    """Scores, weights, read and the values after each write, weak and strong."""
    rng = np.random.default_rng(1)
    states = [
        {
            "places": rng.uniform(-4, 4, (4, 2)).tolist(),
            "colours": rng.uniform(0, 3, (4, 3)).tolist(),
            "query": rng.uniform(-4, 4, 2).tolist(),
            "strength": float(np.exp(rng.uniform(np.log(0.02), np.log(20)))),
            "paint": paint,
        }
        for _ in range(40)
    ]
    found = node(demos.SoftDictionary, *(("compute", state) for state in states))
    for state, result in zip(states, found, strict=True):
        Q, K, V = (np.array(state[name], ndmin=2) for name in ("query", "places", "colours"))
        scores = sa.gaussian_scores(Q, K, bandwidth=np.sqrt(0.5))
        weights = sa.attention_weights(scores, temperature=1 / state["strength"])
        close(result["scores"], scores[0])
        close(result["weights"], weights[0])
        close(result["read"], sa.soft_read(weights, V)[0])
        assert result["winner"] == weights[0].argmax()
        assert set(result["after"]) == set(WRITES)
        for name, (erase, add) in WRITES.items():
            wanted = kv.erase_add(V, weights[0], np.full(3, erase), add * np.array(result["paint"]))
            close(result["after"][name], wanted)


def test_the_answer_is_true():
    """Sharp, a place gives the value of its nearest key; half way, no strength helps."""
    sharp = opening() | {"strength": 20.0}
    K, V = np.array(sharp["places"]), np.array(sharp["colours"])
    half_way = (K[0] + K[1]) / 2
    at_key, between = node(
        demos.SoftDictionary,
        ("compute", sharp | {"query": K[0].tolist()}),
        ("compute", sharp | {"query": half_way.tolist()}),
    )
    close(at_key["read"], V[0])
    close(between["read"], (V[0] + V[1]) / 2)
    (soft,) = node(demos.SoftDictionary, ("compute", opening() | {"query": K[0].tolist()}))
    assert np.abs(np.array(soft["read"]) - V[0]).max() > 0.01


def test_opening_state_asks_the_question():
    """At first the read is stored nowhere: it differs from every value by far."""
    (result,) = node(demos.SoftDictionary, ("compute", opening()))
    gaps = np.abs(np.array(result["read"]) - np.array(opening()["colours"])).max(axis=1)
    assert gaps.min() > 0.1


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("places", np.zeros((3, 2)), r"places must be an array of shape \(4 by 2\)"),
        ("colours", np.full((4, 3), -0.1), "colours must be.*from 0 to 99"),
        ("query", [5, 0], "query must be"),
        ("strength", 0, "strength must be a number from 0.02 to 20"),
        ("paint", "black", "expected any of.*turquoise"),
    ],
)
def test_wrong_traits_are_named(name, value, message):
    refuses(demos.SoftDictionary(), name, value, message)
