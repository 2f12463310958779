"""Structured attention's demo holds to attnkit's numbers, and its traits to what can be drawn."""

import numpy as np
import pytest

from attnkit import soft_attention as sa
from attnkit import structured_attention as structured
from attnkit.demos import structured_attention as demos

from .node import close, node
from .traits import refuses


def test_evidence_and_neighbours():
    """All three rows and log Z of random evidence, one position and the limits included."""
    rng = np.random.default_rng(1)
    states = [
        {
            "evidence": rng.uniform(-4, 4, rng.integers(1, 11)).tolist(),
            "transition": float(transition),
        }
        for transition in [*np.arange(-2, 4.5, 0.5), *rng.uniform(-2, 4, 30)]
    ]
    states += [{"evidence": [4.0] * 10, "transition": 4.0}, {"evidence": [-4], "transition": 0}]
    found = node(demos.EvidenceAndNeighbours, *(("compute", state) for state in states))
    for state, result in zip(states, found, strict=True):
        scores = np.array(state["evidence"], float)
        transition = state["transition"] * np.eye(2)
        close(result["softmax"], sa.softmax(scores))
        close(result["sigmoid"], structured.chain_weights(scores, np.zeros((2, 2))))
        close(result["chain"], structured.chain_weights(scores, transition))
        unary = np.stack([0 * scores, scores], axis=-1)
        close(result["logZ"], structured.log_partition(unary, transition))


def test_the_opening_state_tells_the_story():
    """With a transition the chain prefers the weak bar between strong ones to the lone one."""
    first = demos.EvidenceAndNeighbours()
    lone, dip = 2, 7
    assert first.transition == 0
    assert first.evidence[lone] == max(first.evidence)
    at = {"evidence": first.evidence}
    none, some = node(
        demos.EvidenceAndNeighbours,
        ("compute", {**at, "transition": 0}),
        ("compute", {**at, "transition": 2}),
    )
    close(none["chain"], none["sigmoid"])
    assert none["chain"][lone] > 0.9 > 0.5 > none["chain"][dip]
    assert some["chain"][dip] > 0.8 > 0.5 > some["chain"][lone]


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("evidence", [5.0], "evidence must be .*from -4 to 4"),
        ("evidence", [], "evidence must be"),
        ("evidence", [[1.0]], "evidence must be"),
        ("transition", 4.5, "transition must be a number from -2 to 4"),
        ("transition", None, "transition must be a number"),
    ],
)
def test_wrong_traits_are_named(name, value, message):
    refuses(demos.EvidenceAndNeighbours(), name, value, message)
