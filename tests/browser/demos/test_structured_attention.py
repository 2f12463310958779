"""Structured attention's demo on the built page: every hand changes what attnkit computes."""

import numpy as np

from attnkit import soft_attention as sa
from attnkit import structured_attention as structured

from .hand import box, drag, numbers

PAGE = "chapters/structured_attention"
TITLE = "Evidence and neighbours"


def weights_are_right(demo):
    """All rows are attnkit's for the evidence and transition the tables show; returns the chain."""
    found = numbers(demo)
    table = np.array(list(found["Positions"].values()))
    single = {name: value for name, (value,) in found["Single numbers"].items()}
    scores = np.ascontiguousarray(table[:, 0])
    transition = single["Transition, the reward for equal neighbours"] * np.eye(2)
    chain = structured.chain_weights(scores, transition)
    np.testing.assert_allclose(table[:, 1], sa.softmax(scores), atol=6e-5)
    np.testing.assert_allclose(table[:, 2], 1 / (1 + np.exp(-scores)), atol=6e-5)
    np.testing.assert_allclose(table[:, 3], chain, atol=6e-5)
    np.testing.assert_allclose(single["sum of marginals"], chain.sum(), atol=6e-5)
    return table[:, 3].tolist()


def test_by_mouse(page):
    """Dragging a bar down takes its neighbours with it, once there is a transition."""
    demo = box(page, TITLE)
    first = weights_are_right(demo)
    transition = demo.get_by_label("Transition")
    track = transition.bounding_box()
    page.mouse.click(track["x"] + 0.75 * track["width"], track["y"] + track["height"] / 2)
    vouched = weights_are_right(demo)
    assert vouched[7] > first[7] + 0.2
    assert vouched[2] < first[2] - 0.2
    drag(page, demo.get_by_role("slider", name="Evidence at position 7"), 25, 90)
    dragged = weights_are_right(demo)
    assert dragged[6] < vouched[6]
    assert dragged[5] < vouched[5]
    demo.get_by_role("button", name="Reset").click()
    assert weights_are_right(demo) == first


def test_by_keyboard(page):
    demo = box(page, TITLE)
    first = weights_are_right(demo)
    lone = demo.get_by_role("slider", name="Evidence at position 3")
    lone.press("ArrowDown")
    lone.press("Shift+ArrowDown")
    assert lone.get_attribute("aria-valuetext") == "2.00"
    assert lone.get_attribute("aria-valuenow") == "2"
    moved = weights_are_right(demo)
    assert moved[2] < first[2]
    assert moved[3:] == first[3:]  # without a transition nobody else moves
    lone.press("ArrowLeft")
    assert weights_are_right(demo) == moved
    transition = demo.get_by_label("Transition")
    transition.press("ArrowRight")
    assert transition.get_attribute("aria-valuetext") == "transition 0.5"
    assert weights_are_right(demo)[3:] != moved[3:]
    transition.press("Home")
    weights_are_right(demo)
    demo.get_by_role("button", name="Another example").press("Enter")
    weights_are_right(demo)
