"""Hard attention's demo holds to attnkit's numbers, and says in its answer what it shows."""

import numpy as np
import pytest

from attnkit import hard_attention as ha
from attnkit import soft_attention as sa
from attnkit.demos import hard_attention as demos

from .node import close, node
from .traits import refuses

WAYS = ("reinforce", "gumbel", "straight_through")
NAMES = ("scores", "items", "target", "way", "samples", "baseline", "temperature", "seed")
FIRST = {name: getattr(demos.ThreeWaysToAGradient(), name) for name in NAMES}


def estimates(state, u):
    """The three estimates of every draw, (draws, 3) each, by attnkit."""
    draws = len(u)
    rows = np.tile(state["scores"], (draws, 1))
    V = np.array(state["items"])[:, None]
    losses = 1 + (V[:, 0] - state["target"]) ** 2
    weights = sa.softmax(np.array(state["scores"]))
    choice = ha.gumbel_scores(rows, u).argmax(-1)
    baseline = np.full(draws, weights @ losses if state["baseline"] else 0.0)
    soft = sa.attention_weights(ha.gumbel_scores(rows, u), state["temperature"])

    def through(read):
        upstream = 2 * (read - state["target"])
        return ha.straight_through(rows, V, u, upstream, state["temperature"])[2]

    return choice, {
        "reinforce": ha.reinforce_gradient(rows, choice, losses[choice], baseline),
        "gumbel": through(soft @ V),
        "straight_through": through(V[choice]),
    }


def test_three_ways_are_attnkits():
    """Mean, error and spread of each way, for random problems and settings."""
    rng = np.random.default_rng(0)
    states = [
        FIRST
        | {
            "scores": rng.uniform(-3, 3, 3).tolist(),
            "items": rng.uniform(-2, 2, 3).tolist(),
            "target": float(rng.uniform(-2, 2)),
            "samples": int(10 ** rng.integers(4)),
            "baseline": bool(rng.integers(2)),
            "temperature": float(np.exp(rng.uniform(-2, 2))),
            "way": WAYS[rng.integers(3)],
            "seed": int(rng.integers(1000)),
        }
        for _ in range(20)
    ]
    calls = [call for state in states for call in (("noise", state), ("compute", state))]
    found = node(demos.ThreeWaysToAGradient, *calls)
    for state, u, result in zip(states, found[::2], found[1::2], strict=True):
        losses = 1 + (np.array(state["items"]) - state["target"]) ** 2
        exact = ha.expected_loss_gradient(np.array(state["scores"]), losses)
        close(result["losses"], losses)
        close(result["exact"], exact)
        choice, wanted = estimates(state, np.array(u))
        close(result["shares"], np.bincount(choice, minlength=3) / len(choice))
        close(result["dots"], wanted[state["way"]][:1000])
        for way in WAYS:
            mean = wanted[way].mean(0)
            close(result["ways"][way]["mean"], mean)
            close(result["ways"][way]["error"], np.linalg.norm(mean - exact))
            spread = np.sqrt(((wanted[way] - mean) ** 2).sum(-1).mean())
            close(result["ways"][way]["spread"], spread)
        scores, items = np.tile(state["scores"], (3, 1)), np.arange(3)
        baseline = np.full(3, result["expected"] if state["baseline"] else 0.0)
        close(result["of_item"], ha.reinforce_gradient(scores, items, losses, baseline))


def shown(**changed):
    """What the demo shows of its own problem with ten thousand draws."""
    state = FIRST | {"samples": 10_000} | changed
    (result,) = node(demos.ThreeWaysToAGradient, ("compute", state))
    return result["ways"]


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_demo_shows_what_its_answer_says(seed):
    """REINFORCE right and noisy, the baseline calms it, Gumbel trades bias for variance."""
    plain, calmed = shown(seed=seed)["reinforce"], shown(seed=seed, baseline=True)["reinforce"]
    for one in (plain, calmed):
        assert one["error"] < 4 * one["spread"] / 100
    assert calmed["spread"] < plain["spread"] / 2
    hot, warm, cold = (shown(seed=seed, temperature=t)["gumbel"] for t in (10, 1, 0.1))
    assert hot["spread"] < warm["spread"] < cold["spread"]
    assert hot["error"] > warm["error"] > cold["error"]
    assert warm["error"] > 8 * warm["spread"] / 100
    through = shown(seed=seed)["straight_through"]
    assert through["error"] > 8 * through["spread"] / 100
    assert through["spread"] > warm["spread"]


WRONG = [
    ("scores", [1.0, 2.0], "scores must be an array of shape"),
    ("items", [0, 0, 3], r"entries from -2 to 2"),
    ("target", float("nan"), "target must be a number"),
    ("way", "adam", "expected any of"),
    ("samples", 7, "expected any of"),
    ("temperature", 0, "temperature must be a number from 0.05 to 10"),
    ("seed", -1, "less than 0"),
]


@pytest.mark.parametrize(("name", "value", "message"), WRONG)
def test_wrong_traits_are_named(name, value, message):
    refuses(demos.ThreeWaysToAGradient(), name, value, message)
