"""The demo of multi-head attention holds to attnkit's numbers, its traits to what it can draw."""

import numpy as np
import pytest

from attnkit import multi_head_attention as mh
from attnkit import soft_attention as sa
from attnkit.demos import multi_head_attention as demos

from .node import close, node
from .traits import refuses

LAYER = ("heads", "places", "words", "asks", "W_in", "b_in", "W_read", "b_read")
QUESTION = ("row", "asked", "shown", "off")
SHAPES = {
    "places": (8, 16),
    "words": (6, 16),
    "asks": (2, 8, 16),
    "W_in": (48, 16),
    "b_in": (48,),
    "W_read": (12, 16),
    "b_read": (12,),
}


def state(demo):
    return {name: getattr(demo, name) for name in (*LAYER, *QUESTION)}


def random_layers(rng, heads):
    return {"heads": heads} | {
        name: rng.normal(size=(len(heads), *shape)) for name, shape in SHAPES.items()
    }


def by_attnkit(state):
    """Weights, the reads side by side and the probabilities of the two answers."""
    layer = {name: np.array(state[name][state["shown"]]) for name in SHAPES}
    heads = state["heads"][state["shown"]]
    C = layer["places"] + layer["words"][state["row"]]
    X = sum(asks[place] for asks, place in zip(layer["asks"], state["asked"], strict=True))[None]
    identity, zero = np.eye(16), np.zeros(16)
    merged, weights = mh.multi_head_attention(
        X, C, layer["W_in"], layer["b_in"], identity, zero, heads
    )
    reads = merged.reshape(heads, -1) * ~np.array(state["off"])[:heads, None]
    scores = (layer["W_read"] @ reads.reshape(-1) + layer["b_read"]).reshape(2, 6)
    return weights[:, 0], reads.reshape(-1), sa.softmax(scores)


def test_every_layer_computes_what_attnkit_computes():
    rng = np.random.default_rng(0)
    layers = random_layers(rng, [1, 2, 4])
    states = []
    for shown in (0, 1, 2) * 5:
        demo = demos.HeadsSideBySide(
            **layers,
            shown=shown,
            row=rng.integers(6, size=8).tolist(),
            asked=rng.permutation(8)[:2].tolist(),
            off=(rng.random(4) < 0.3).tolist(),
        )
        states.append(state(demo))
    found = node(demos.HeadsSideBySide, *(("compute", one) for one in states))
    for one, result in zip(states, found, strict=True):
        weights, strip, probabilities = by_attnkit(one)
        close(result["weights"], weights)
        close(result["strip"], strip)
        close(result["probabilities"], probabilities)
        assert result["says"] == probabilities.argmax(axis=-1).tolist()
        wanted = [one["row"][place] for place in one["asked"]]
        assert result["right"] == [s == w for s, w in zip(result["says"], wanted, strict=True)]
        assert np.abs(result["strip"]).max() <= result["size"]


@pytest.mark.parametrize("shown", [0, 1])
def test_the_rate_is_the_share_of_questions_with_both_answers_right(shown):
    layers = random_layers(np.random.default_rng(1), [2, 4])
    demo = demos.HeadsSideBySide(**layers, shown=shown, off=[False, True, False, False])
    result, others = node(demos.HeadsSideBySide, ("compute", state(demo)), ("questions",))
    assert all(first != second for first, second in (one["asked"] for one in others))
    both = [
        [one["row"][place] for place in one["asked"]]
        == by_attnkit(state(demo) | one)[2].argmax(axis=-1).tolist()
        for one in others
    ]
    assert result["rate"] == np.mean(both)


def test_the_layer_by_hand_answers_both_and_a_head_off_loses_its_own():
    demo = demos.HeadsSideBySide()
    states = [state(demo) | {"off": [i == head for i in range(4)]} for head in (3, 0, 1)]
    both, second, first = node(demos.HeadsSideBySide, *(("compute", one) for one in states))
    assert both["rate"] == 1
    assert both["right"] == [True, True]
    assert [w.index(max(w)) for w in both["weights"]] == demo.asked
    assert second["right"] == [False, True]
    assert first["right"] == [True, False]
    assert max(first["rate"], second["rate"]) < 0.3


WRONG = [
    ("row", [0] * 7, "row"),
    ("row", [6] * 8, "row|less|greater|6"),
    ("asked", [3, 3], "asked must be two different places; got"),
    ("asked", [0, 8], "asked|8"),
    ("shown", 1, "shown must be less than 1, the number of layers; got 1"),
    ("heads", [3], "expected any of|heads"),
    ("off", [True], "off"),
    ("W_in", np.zeros((1, 16, 48)), "W_in must be an array of shape"),
    ("b_read", np.full((1, 12), np.nan), "b_read must be an array of shape"),
]


@pytest.mark.parametrize(("name", "value", "message"), WRONG)
def test_wrong_traits_are_named(name, value, message):
    refuses(demos.HeadsSideBySide(), name, value, message)
