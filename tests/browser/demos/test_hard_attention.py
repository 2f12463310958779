"""Hard attention's demo on the built page: every hand changes what attnkit computes."""

import numpy as np

from attnkit import hard_attention as ha
from attnkit import soft_attention as sa

from .hand import box, finger, number, numbers

PAGE = "chapters/hard_attention"
TITLE = "Three ways to a gradient"


def is_right(demo):
    """What can be known without the draws is attnkit's; returns error and spread of each way."""
    found = numbers(demo)
    scores, values, weights, losses, exact = np.array(list(found["Items"].values())).T
    settings = {name: value for name, (value,) in found["Settings"].items()}
    np.testing.assert_allclose(weights, sa.softmax(scores), atol=6e-5)
    np.testing.assert_allclose(losses, 1 + (values - settings["Target"]) ** 2, atol=6e-5)
    np.testing.assert_allclose(exact, ha.expected_loss_gradient(scores, losses), atol=2e-4)
    assert min(abs(settings["Baseline"]), abs(settings["Baseline"] - weights @ losses)) < 2e-4
    means = np.array(list(found["Mean of the estimates"].values()))
    errors = np.linalg.norm(means - exact, axis=-1)
    ways = found["All three, on the same draws"]
    np.testing.assert_allclose([error for error, _ in ways.values()], errors, atol=2e-4)
    return ways, settings


def status(demo):
    return demo.locator(".attn-status").inner_text()


def test_by_keyboard(page):
    """More draws bring REINFORCE's mean home, the baseline calms it, heat biases Gumbel."""
    demo = box(page, TITLE)
    _, settings = is_right(demo)
    assert settings["Draws"] == 10
    draws = demo.get_by_role("slider", name="Draws")
    draws.press("Home")
    ways, settings = is_right(demo)
    assert settings["Draws"] == 1
    assert ways["REINFORCE"][1] == 0
    assert status(demo).startswith("1 draw of REINFORCE")
    draws.press("End")
    assert draws.get_attribute("aria-valuetext") == "10000 draws"
    plain, _ = is_right(demo)
    assert plain["REINFORCE"][0] < plain["REINFORCE"][1] / 25
    demo.get_by_label("none").press("ArrowDown")
    calmed, settings = is_right(demo)
    assert settings["Baseline"] > 1
    assert calmed["REINFORCE"][1] < plain["REINFORCE"][1] / 2
    demo.get_by_label("Gumbel-softmax").press("Space")
    demo.get_by_role("slider", name="Temperature").press("End")
    hot, settings = is_right(demo)
    assert settings["Temperature"] == 10
    assert hot["Gumbel-softmax"][0] > 10 * hot["Gumbel-softmax"][1]
    assert "Gumbel-softmax" in status(demo)
    demo.get_by_role("button", name="Reset").press("Enter")
    assert is_right(demo)[1]["Draws"] == 10


def test_by_mouse(page):
    """Drawing again changes the draws and nothing else; discs give way to a cloud."""
    demo = box(page, TITLE)
    first, _ = is_right(demo)
    demo.get_by_role("button", name="Draw again").click()
    second, _ = is_right(demo)
    assert first != second
    shares = demo.locator(".attn-number").all_text_contents()
    assert abs(sum(map(number, shares)) - 1) < 0.02
    demo.get_by_label("straight-through").check()
    cloud = demo.locator(".attn-cloud")
    assert cloud.get_attribute("d").count("M") == 10
    assert demo.locator(".attn-disc").count() == 0
    track = demo.get_by_role("slider", name="Draws").bounding_box()
    page.mouse.click(track["x"] + track["width"] - 4, track["y"] + track["height"] / 2)
    assert cloud.get_attribute("d").count("M") == 1000
    assert "10000 draws" in status(demo)


def test_by_finger(page):
    """A tap chooses a way."""
    demo = box(page, TITLE)
    finger(page, demo.get_by_label("straight-through"))
    demo.get_by_label("straight-through").and_(demo.locator(":checked")).wait_for()
    is_right(demo)
    assert "straight-through" in status(demo)
