"""Soft attention's demos on the built page: every hand changes what attnkit computes."""

import numpy as np

from attnkit import soft_attention as sa

from .hand import box, drag, finger, numbers

PAGE = "chapters/soft_attention"
PLANE, DIMENSION, CURVE = (
    "A query in the plane",
    "Dimension and saturation",
    "A curve from its points",
)


def plane_is_right(demo, scores):
    """Weights and read are attnkit's for the state, all as the tables show it; returns the read."""
    found = numbers(demo)
    items = np.array(list(found["Items"].values()))
    rest, single = found["Everything else"], found["Single numbers"]
    Q, K = np.array([rest["Query q"]]), items[:, :2]
    W = np.column_stack([rest["W, first column"], rest["W, second column"]])
    wanted = scores(Q, K, W)
    weights = sa.attention_weights(wanted, single["Temperature"][0])
    np.testing.assert_allclose(items[:, 4], wanted[0], atol=6e-5)
    np.testing.assert_allclose(items[:, 5], weights[0], atol=6e-5)
    np.testing.assert_allclose(rest["read"], sa.soft_read(weights, K)[0], atol=6e-5)
    np.testing.assert_allclose(single["entropy of the weights"], sa.entropy(weights), atol=6e-5)
    return rest["read"]


def curve_is_right(demo):
    """The same for the curve; returns the prediction."""
    found = numbers(demo)
    points = np.array(list(found["Points"].values()))
    single = {name: value for name, (value,) in found["Single numbers"].items()}
    scores = sa.gaussian_scores(
        np.array([[single["Where to ask, x*"]]]), points[:, :1], single["Bandwidth h"]
    )
    weights = sa.attention_weights(scores)
    np.testing.assert_allclose(points[:, 3], weights[0], atol=6e-5)
    prediction = sa.soft_read(weights, points[:, 1:2])[0, 0]
    np.testing.assert_allclose(single["prediction at x*"], prediction, atol=6e-5)
    return single["prediction at x*"]


def test_plane_by_mouse(page):
    """Dragging the query and an item moves the read to where attnkit puts it."""
    demo = box(page, PLANE)
    start = plane_is_right(demo, lambda Q, K, W: sa.dot_scores(Q, K))
    drag(page, demo.get_by_role("slider", name="Query q"), -120, -20)
    moved = plane_is_right(demo, lambda Q, K, W: sa.dot_scores(Q, K))
    assert moved != start
    drag(page, demo.get_by_role("slider", name="Item k₃"), 30, 25)
    again = plane_is_right(demo, lambda Q, K, W: sa.dot_scores(Q, K))
    assert again != moved
    demo.get_by_role("button", name="Reset").click()
    assert plane_is_right(demo, lambda Q, K, W: sa.dot_scores(Q, K)) == start


def test_plane_by_keyboard(page):
    """The same without a pointer: arrows move, radio buttons and the slider choose."""
    demo = box(page, PLANE)
    start = plane_is_right(demo, lambda Q, K, W: sa.dot_scores(Q, K))
    query = demo.get_by_role("slider", name="Query q")
    said = query.get_attribute("aria-valuetext")
    query.press("ArrowLeft")
    query.press("Shift+ArrowUp")
    assert query.get_attribute("aria-valuetext") != said
    assert plane_is_right(demo, lambda Q, K, W: sa.dot_scores(Q, K)) != start
    demo.get_by_label("dot, q·k").press("ArrowDown")
    plane_is_right(demo, lambda Q, K, W: sa.scaled_dot_scores(Q, K))
    demo.get_by_label("bilinear, k·Wq").press("Space")
    before = plane_is_right(demo, sa.bilinear_scores)
    demo.get_by_role("slider", name="e₁ under W").press("ArrowUp")
    demo.get_by_role("slider", name="e₂ under W").press("ArrowRight")
    assert plane_is_right(demo, sa.bilinear_scores) != before
    demo.get_by_label("distance, −|q−k|²").press("Space")
    demo.get_by_label("Temperature").press("ArrowRight")
    plane_is_right(demo, lambda Q, K, W: sa.gaussian_scores(Q, K, np.sqrt(0.5)))
    demo.get_by_role("button", name="Another example").press("Enter")
    plane_is_right(demo, lambda Q, K, W: sa.gaussian_scores(Q, K, np.sqrt(0.5)))


def test_plane_by_finger(page):
    """A finger drags a handle and does not scroll the page meanwhile."""
    demo = box(page, PLANE)
    start = plane_is_right(demo, lambda Q, K, W: sa.dot_scores(Q, K))
    finger(page, demo.get_by_role("slider", name="Query q"), (-40, -40), (-60, -80))
    assert plane_is_right(demo, lambda Q, K, W: sa.dot_scores(Q, K)) != start


def test_curve_by_mouse_and_keyboard(page):
    """Dragging x* and a point and changing the bandwidth give attnkit's prediction."""
    demo = box(page, CURVE)
    ask = demo.get_by_role("slider", name="Where to ask")
    seen = [curve_is_right(demo)]
    drag(page, ask, 60, 0)
    seen.append(curve_is_right(demo))
    drag(page, demo.get_by_role("slider", name="Point 5"), 10, -60)
    seen.append(curve_is_right(demo))
    ask.press("ArrowRight")
    seen.append(curve_is_right(demo))
    demo.get_by_role("slider", name="Point 5").press("Shift+ArrowDown")
    seen.append(curve_is_right(demo))
    demo.get_by_label("Bandwidth h").press("End")
    seen.append(curve_is_right(demo))
    assert len(set(seen)) == len(seen)


def test_dimension_by_mouse_and_keyboard(page):
    """The measures are those of the scores shown; the raw score saturates, the scaled does not."""
    demo = box(page, DIMENSION)

    def measured():
        found = numbers(demo)
        scores = np.array([row[0] for row in found["Weights in falling order"].values()])
        weights = [row[1] for row in found["Weights in falling order"].values()]
        np.testing.assert_allclose(weights, sa.softmax(scores), atol=2e-4)
        draw = {name: row[0] for name, row in found["What the scores give"].items()}
        jacobian = np.linalg.norm(sa.softmax_jacobian(scores))
        np.testing.assert_allclose(draw["Jacobian norm"], jacobian, atol=2e-4)
        np.testing.assert_allclose(draw["score variance"], scores.var(ddof=1), rtol=1e-3)
        return {name: row[1] for name, row in found["What the scores give"].items()}

    dimension = demo.get_by_label("Dimension d")
    small = measured()
    dimension.press("End")
    assert dimension.get_attribute("aria-valuetext") == "d = 1024"
    large = measured()
    assert large["Jacobian norm"] < small["Jacobian norm"] / 3
    demo.get_by_label("q·k/√d").check()
    assert measured()["Jacobian norm"] > 0.25
    demo.get_by_label("a key plus noise").check()
    assert measured()["Jacobian norm"] < 0.01
    track = dimension.bounding_box()
    page.mouse.click(track["x"] + 4, track["y"] + track["height"] / 2)
    assert dimension.get_attribute("aria-valuetext") == "d = 1"
    before = demo.locator(".attn-status").inner_text()
    demo.get_by_role("button", name="Draw again").click()
    assert demo.locator(".attn-status").inner_text() != before
