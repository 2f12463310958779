"""Soft attention's demos hold to attnkit's numbers, and their traits to what a page can draw."""

import numpy as np
import pytest

from attnkit import soft_attention as sa
from attnkit.demos import soft_attention as demos

from .node import close, node
from .traits import refuses

SCORES = {
    "dot": lambda Q, K, W: sa.dot_scores(Q, K),
    "scaled_dot": lambda Q, K, W: sa.scaled_dot_scores(Q, K),
    "bilinear": sa.bilinear_scores,
    "distance": lambda Q, K, W: sa.gaussian_scores(Q, K, bandwidth=np.sqrt(0.5)),
}


@pytest.mark.parametrize("score", SCORES)
def test_query_in_the_plane(score):
    """Scores, weights, read and entropy of random planes, sharp and flat."""
    rng = np.random.default_rng(1)
    states = [
        {
            "query": rng.uniform(-4, 4, 2).tolist(),
            "items": rng.uniform(-4, 4, (rng.integers(1, 9), 2)).tolist(),
            "matrix": rng.uniform(-4, 4, (2, 2)).tolist(),
            "temperature": float(np.exp(rng.uniform(np.log(0.05), np.log(50)))),
            "score": score,
        }
        for _ in range(40)
    ]
    found = node(demos.QueryInThePlane, *(("compute", state) for state in states))
    for state, result in zip(states, found, strict=True):
        Q, K, W = (np.array(state[name], ndmin=2) for name in ("query", "items", "matrix"))
        scores = SCORES[score](Q, K, W)
        weights = sa.attention_weights(scores, state["temperature"])
        close(result["scores"], scores[0])
        close(result["weights"], weights[0])
        close(result["read"], sa.soft_read(weights, K)[0])
        close(result["entropy"], sa.entropy(weights)[0])
        assert result["winner"] == weights[0].argmax()
        assert result["longest"] == np.linalg.norm(K, axis=-1).argmax()
        assert result["nearest"] == np.linalg.norm(K - Q, axis=-1).argmin()


def test_hull_holds_every_item():
    """The hull turns left at each corner and no item lies outside an edge."""
    rng = np.random.default_rng(2)
    state = demos.QueryInThePlane()
    plain = {name: getattr(state, name) for name in ("query", "score", "temperature", "matrix")}
    clouds = [rng.uniform(-4, 4, (8, 2)) for _ in range(20)]
    calls = (("compute", {**plain, "items": cloud.tolist()}) for cloud in clouds)
    for cloud, result in zip(clouds, node(demos.QueryInThePlane, *calls), strict=True):
        corners = np.array(result["hull"])
        edges = np.roll(corners, -1, axis=0) - corners
        steps = cloud[None] - corners[:, None]  # (corners, items, 2)
        side = edges[:, None, 0] * steps[..., 1] - edges[:, None, 1] * steps[..., 0]
        assert side.min() > -1e-9
        assert len(corners) >= 3


def test_opening_state_asks_the_question():
    """At first the nearest item, the longest and the dot product's winner do not all agree."""
    first = demos.QueryInThePlane()
    names = ("query", "items", "score", "temperature", "matrix")
    (result,) = node(demos.QueryInThePlane, ("compute", {n: getattr(first, n) for n in names}))
    assert result["winner"] == result["longest"] != result["nearest"]


@pytest.mark.parametrize("aligned", [False, True])
@pytest.mark.parametrize("scaled", [False, True])
def test_dimension_and_saturation(scaled, aligned):
    """Each draw's measures are attnkit's for the very vectors that were drawn."""
    states = [
        {"dimension": d, "scaled": scaled, "aligned": aligned, "seed": seed}
        for d, seed in [(1, 0), (2, 1), (4, 2), (32, 3), (256, 4), (1024, 5)]
    ]
    calls = [call for state in states for call in (("draw", state), ("compute", state))]
    found = node(demos.DimensionAndSaturation, *calls)
    for drawn, result in zip(found[::2], found[1::2], strict=True):
        # A Float64Array becomes an object of its indices in JSON.
        Q, K = (
            np.array([list(v.values()) if isinstance(v, dict) else v for v in vectors])
            for vectors in ([drawn["query"]], drawn["keys"])
        )
        scores = (sa.scaled_dot_scores if scaled else sa.dot_scores)(Q, K)
        scores = np.sort(scores)[:, ::-1].copy()
        weights = sa.attention_weights(scores)
        draw = result["draw"]
        close(draw["scores"], scores[0])
        close(draw["weights"], weights[0])
        close(draw["variance"], scores.var(ddof=1))
        close(draw["top"], scores.max())
        close(draw["entropy"], sa.entropy(weights)[0])
        close(draw["jacobian"], np.linalg.norm(sa.softmax_jacobian(scores)[0]))
        close(sum(result["average"]["weights"]), 1)


def averages(scaled, aligned, dimensions):
    """The demo's averages at each dimension."""
    states = [{"dimension": d, "scaled": scaled, "aligned": aligned} for d in dimensions]
    return node(demos.DimensionAndSaturation, *(("averages", state) for state in states))


def test_averages_say_what_the_answer_says():
    """Raw scores saturate with d, scaled ones do not, aligned ones do in spite of the scaling."""
    dimensions = [4, 16, 64, 256, 1024]
    raw = averages(False, False, dimensions)
    scaled = averages(True, False, dimensions)
    aligned = averages(True, True, dimensions)
    np.testing.assert_allclose([one["variance"] for one in raw], dimensions, rtol=0.15)
    np.testing.assert_allclose([one["variance"] for one in scaled], 1, atol=0.1)
    norms = [one["jacobian"] for one in raw]
    assert norms == sorted(norms, reverse=True)
    assert norms[0] > scaled[0]["jacobian"]
    spread = [one["jacobian"] for one in scaled]
    assert max(spread) < 1.1 * min(spread)
    np.testing.assert_allclose([one["top"] for one in aligned[2:]], [8, 16, 32], rtol=0.1)
    assert aligned[-1]["jacobian"] < 1e-3


def test_averages_equal_averages_of_whole_draws():
    """Drawing only the scores, given the query's length, changes no average."""
    for aligned in (False, True):
        state = {"dimension": 8, "scaled": False, "aligned": aligned}
        calls = [("compute", {**state, "seed": seed}) for seed in range(400)]
        draws = [result["draw"] for result in node(demos.DimensionAndSaturation, *calls)]
        (mean,) = averages(False, aligned, [8])
        for name in ("variance", "top", "entropy", "jacobian"):
            values = np.array([draw[name] for draw in draws])
            error = values.std() * np.sqrt(1 / 400 + 1 / 500)
            assert abs(values.mean() - mean[name]) < 4 * error, name


def test_curve_from_its_points():
    """Prediction and weights are attention with a Gaussian score, which is Nadaraya-Watson's."""
    rng = np.random.default_rng(3)
    states = [
        {
            "points": np.column_stack([rng.uniform(0, 10, n), rng.uniform(-2, 2, n)]).tolist(),
            "bandwidth": float(np.exp(rng.uniform(np.log(0.1), np.log(10)))),
            "asked": float(rng.uniform(0, 10)),
        }
        for n in rng.integers(1, 13, 40)
    ]
    found = node(demos.CurveFromItsPoints, *(("compute", state) for state in states))
    for state, result in zip(states, found, strict=True):
        K, V = np.hsplit(np.array(state["points"]), 2)
        grid, curve = np.hsplit(np.array(result["curve"]), 2)
        Q = np.array([[state["asked"]]])
        scores = sa.gaussian_scores(Q, K, state["bandwidth"])
        weights = sa.attention_weights(scores)
        close(result["scores"], scores[0])
        close(result["weights"], weights[0])
        close(result["prediction"], sa.soft_read(weights, V)[0, 0])
        on_grid = sa.attention_weights(sa.gaussian_scores(grid, K, state["bandwidth"]))
        close(curve, sa.soft_read(on_grid, V))


WRONG = [
    (demos.QueryInThePlane, "query", [1, float("nan")], "query must be an array of shape"),
    (demos.QueryInThePlane, "items", [[1, 2, 3]], r"shape \(1 to 8 by 2\).*got \[\[1, 2, 3\]\]"),
    (demos.QueryInThePlane, "items", np.zeros((9, 2)), "items must be"),
    (demos.QueryInThePlane, "items", [[1, 2], [3]], "items must be"),
    (demos.QueryInThePlane, "matrix", "W", "matrix must be"),
    (demos.QueryInThePlane, "temperature", 0, "temperature must be a number from 0.05 to 50"),
    (demos.QueryInThePlane, "score", "cosine", "expected any of.*scaled_dot"),
    (demos.DimensionAndSaturation, "dimension", 5, "expected any of"),
    (demos.DimensionAndSaturation, "seed", -1, "less than 0"),
    (demos.CurveFromItsPoints, "points", [[1, 3]], r"points must be.*from \[0, -2\] to \[10, 2\]"),
    (demos.CurveFromItsPoints, "bandwidth", None, "bandwidth must be a number"),
]


@pytest.mark.parametrize(("widget", "name", "value", "message"), WRONG)
def test_wrong_traits_are_named(widget, name, value, message):
    refuses(widget(), name, value, message)


def test_traits_are_set_and_observed_from_python():
    """In a notebook the demo is a widget like any other."""
    demo = demos.QueryInThePlane(query=np.array([1.0, 2.0]))
    seen = []
    demo.observe(lambda change: seen.append(change.new), "query")
    demo.query = (0, 1)
    assert seen == [[0.0, 1.0]]
    data, _ = demo._repr_mimebundle_()
    assert data["application/vnd.jupyter.widget-view+json"]["model_id"] == demo.model_id
    assert set(demo.get_state()) >= {"query", "items", "score", "temperature", "matrix", "_esm"}
