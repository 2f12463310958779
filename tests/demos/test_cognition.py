"""The demos of attention in the mind hold to attnkit's numbers, their traits to their limits."""

import numpy as np
import pytest
import torch
from scipy.stats import linregress

from attnkit import cognition as cog
from attnkit.data import cognition as data
from attnkit.demos import cognition as demos

from .node import close, node
from .traits import refuses


def test_displays_keep_the_rules_of_the_data():
    """Twelve displays, two of each kind and size; a target that is clearly left or right."""
    calls = [("displays", seed) for seed in range(40)]
    lefts = []
    for plan in node(demos.OddOneOut, *calls):
        kinds = sorted((trial["kind"], trial["n"]) for trial in plan)
        wanted = [(kind, n) for kind in ("feature", "conjunction") for n in (9, 9, 16, 16, 25, 25)]
        assert kinds == sorted(wanted)
        for trial in plan:
            bars = np.array(trial["bars"])
            looks = {tuple(look) for look in bars[1:, 2:]}
            like = data.search_display(trial["n"], trial["kind"], np.random.default_rng(0))
            assert looks == {tuple(look) for look in like[1:, 2:]}
            assert tuple(bars[0, 2:]) == (0, 0)
            painted = (data.drawn(bars) != data.PAPER).any(-1)
            assert painted.sum() == 33 * trial["n"]
            assert trial["left"] == (bars[0, 1] < data.SIDE / 2)
            assert abs(bars[0, 1] - data.SIDE / 2) >= 8
            lefts.append(trial["left"])
    assert 0.4 < np.mean(lefts) < 0.6


def test_the_model_of_the_page_is_attnkits():
    """Scores of every place to nine digits, and the same visits."""
    (plan,) = node(demos.OddOneOut, ("displays", 3))
    bars = [trial["bars"] for trial in plan]
    calls = [call for one in bars for call in (("scores", one), ("visits", one))]
    found = node(demos.OddOneOut, *calls)
    for one, scores, visits in zip(bars, found[::2], found[1::2], strict=True):
        one = np.array(one)
        ours, places = cog.scanpath(cog.feature_maps(data.drawn(one)), len(visits), 6.0)
        close(np.array(scores).reshape(ours.shape), ours)
        np.testing.assert_array_equal(visits, places)
        near = np.hypot(*(places - one[0, :2]).T) <= 6
        assert near.tolist() == [False] * (len(visits) - 1) + [True]


def test_lines_are_those_of_linear_regression():
    rng = np.random.default_rng(0)
    clouds = [np.column_stack([rng.choice([9, 16, 25], 6), rng.random(6)]) for _ in range(20)]
    clouds = [cloud for cloud in clouds if len(set(cloud[:, 0])) > 1]
    calls = [("fitted", cloud.tolist()) for cloud in clouds]
    for cloud, fit in zip(clouds, node(demos.OddOneOut, *calls), strict=True):
        wanted = linregress(*cloud.T)
        close([fit["slope"], fit["start"]], [wanted.slope, wanted.intercept])
        close(fit["error"], wanted.stderr)
    assert node(demos.OddOneOut, ("fitted", [[9, 1.0], [9, 2.0]]), ("fitted", [])) == [None, None]


def test_wrong_answers_are_left_out_of_the_lines():
    (plan,) = node(demos.OddOneOut, ("displays", 1))
    times = [0.4 + 0.01 * trial["n"] for trial in plan]
    state = {"seed": 1, "times": [9.0, *times[1:]], "right": [False] + 11 * [True]}
    (result,) = node(demos.OddOneOut, ("compute", state))
    for line in result["lines"]:
        close(line["yours"]["slope"], 0.01)
        close(line["yours"]["error"], 0)
    assert [len(t["path"]) for t in result["done"] if t["kind"] == "feature"] == 6 * [1]
    conjunctions = [len(t["path"]) for t in result["done"] if t["kind"] == "conjunction"]
    assert np.mean(conjunctions) > 3


def test_from_mean_to_max():
    """Pooled values, weights and gradients of random cells, dull and sharp."""
    rng = np.random.default_rng(1)
    states = [
        {"x": rng.uniform(-2, 2, (4, 3)).tolist(), "beta": float(beta)}
        for beta in [-50, -2, -0.5, 0, 0.2, 1, 5, 20, 100]
        for _ in range(4)
    ]
    calls = (("compute", state) for state in states)
    for state, result in zip(states, node(demos.FromMeanToMax, *calls), strict=True):
        x = torch.tensor(state["x"], dtype=torch.float64, requires_grad=True)
        pooled, weights = cog.attention_pool(x, state["beta"])
        (gradient,) = torch.autograd.grad(pooled.sum(), x)
        close(result["pooled"], pooled.detach())
        close(result["weights"], weights.detach())
        close(result["gradient"], gradient)
        close(result["mean"], x.mean(0).detach())
        close(result["max"], x.amax(0).detach())
        assert result["most"] == weights.argmax(0).tolist()


def test_the_channels_of_the_opening_map_do_not_agree():
    first = demos.FromMeanToMax()
    assert len(set(np.argmax(first.x, axis=0))) == 3


WRONG = [
    (demos.FromMeanToMax, "x", [[1, 2, 3]], r"x must be an array of shape \(4 by 3\)"),
    (demos.FromMeanToMax, "x", np.full((4, 3), 2.1), "from -2 to 2"),
    (demos.FromMeanToMax, "beta", 1e3, "beta must be a number from -50 to 100"),
    (demos.OddOneOut, "seed", -1, "less than 0"),
    (demos.OddOneOut, "times", [-1.0], "less than 0|minimum|greater"),
    (demos.OddOneOut, "times", [1.0] * 13, "length"),
    (demos.OddOneOut, "right", ["yes"], "[Bb]ool"),
]


@pytest.mark.parametrize(("widget", "name", "value", "message"), WRONG)
def test_wrong_traits_are_named(widget, name, value, message):
    refuses(widget(), name, value, message)
