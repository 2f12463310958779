"""The demos of attention in the mind on the built page, by mouse, key and finger."""

import re

import numpy as np
import pytest
from scipy.stats import linregress

from attnkit import cognition as cog

from .hand import box, drag, number, numbers

PAGE = "chapters/cognition"
SEARCH, POOL = "Odd one out", "From mean to max"


def searched(demo):
    """The rows of the table of searches, without their names."""
    return np.array(list(numbers(demo)["Searches"].values())).reshape(-1, 4)


def look(demo, page, trial):
    """Ask for the next display and wait for its bars; returns where the target is."""
    demo.get_by_role("button", name=f"Show display {trial} of 12").click()
    demo.locator("rect.attn-key").first.wait_for()
    boxes = demo.locator("rect.attn-query").evaluate_all(
        "bars => bars.map(bar => ['x', 'width', 'height'].map(name => +bar.getAttribute(name)))"
    )
    (target,) = [x for x, width, height in boxes if height > width]
    return "left" if target < 200 else "right"


def test_a_search_by_key_button_and_finger(page):
    """Each way of answering is timed and judged, and then the target has its ring."""
    demo = box(page, SEARCH)
    side = look(demo, page, 1)
    page.keyboard.press("ArrowLeft" if side == "left" else "ArrowRight")
    demo.locator(".attn-target").wait_for()
    assert demo.locator(".attn-status").inner_text().startswith("Right.")
    side = look(demo, page, 2)
    demo.get_by_role("button", name=re.compile(f"{side} half")).click()
    demo.locator(".attn-target").wait_for()
    side = look(demo, page, 3)
    frame = demo.locator(".attn-frame").bounding_box()
    share = 0.75 if side == "left" else 0.25  # the wrong half
    page.touchscreen.tap(frame["x"] + share * frame["width"], frame["y"] + frame["height"] / 2)
    demo.locator(".attn-target").wait_for()
    assert demo.locator(".attn-status").inner_text().startswith("Wrong half.")
    rows = searched(demo)
    assert rows[:, 2].tolist() == [1, 1, 0]
    assert set(rows[:, 0]) <= {9, 16, 25}
    assert ((rows[:, 1] > 0) & (rows[:, 1] < 10)).all()


def test_nothing_counts_before_the_bars_appear(page):
    """A key during the cross is no answer, and a second click does not start a second clock."""
    demo = box(page, SEARCH)
    start = demo.get_by_role("button", name="Show display 1 of 12")
    start.click()
    page.keyboard.press("ArrowLeft")
    assert demo.locator("rect.attn-key").count() == 0
    assert demo.locator(".attn-cross").inner_html() == "+"
    demo.locator("rect.attn-key").first.wait_for()
    demo.get_by_role("button", name="Reset").click()  # nothing to reset yet: the search goes on
    assert demo.locator("rect.attn-key").count() > 0
    demo.get_by_role("button", name="Other displays").click()
    assert demo.locator("rect.attn-key").count() == 0


@pytest.mark.timeout(120)
def test_twelve_searches_give_two_lines_that_are_those_of_a_regression(page):
    demo = box(page, SEARCH)
    for trial in range(1, 13):
        side = look(demo, page, trial)
        page.keyboard.press("ArrowLeft" if side == "left" else "ArrowRight")
        demo.locator(".attn-target").wait_for()
    assert demo.get_by_role("button", name="All 12 done").get_attribute("aria-disabled") == "true"
    found = numbers(demo)
    for kind in ("feature", "conjunction"):
        rows = np.array([row for name, row in found["Searches"].items() if kind in name])
        assert len(rows) == 6
        mine, model = linregress(rows[:, 0], rows[:, 1]), linregress(rows[:, 0], rows[:, 3])
        slope, error, visits = found["Lines through the right answers"][kind]
        np.testing.assert_allclose(
            [slope, error], 1000 * np.array([mine.slope, mine.stderr]), atol=0.2
        )
        np.testing.assert_allclose(visits, model.slope, atol=1e-3)
        if kind == "feature":
            assert (rows[:, 3] == 1).all()
    assert "standard error" in demo.locator(".attn-status").inner_text()
    assert demo.locator(".attn-fit").count() == 4
    demo.get_by_role("button", name="Reset").click()
    assert demo.locator(".attn-mark").count() == 0


def pooled_right(demo):
    """What is pooled follows from the cells and beta that the page shows; returns the pooled."""
    found = numbers(demo)
    x, weights, gradients = (
        np.array(list(found[name].values())) for name in ("Values", "Weights", "Gradients")
    )
    beta = number(demo.locator(".attn-amount").inner_text())
    pooled, wanted = cog.attention_pool(x, beta)
    np.testing.assert_allclose(weights, wanted, atol=1e-4)
    np.testing.assert_allclose(gradients, wanted * (1 + beta * (x - pooled)), atol=1e-4)
    shown = demo.locator(".attn-readings tbody tr").evaluate_all(
        "rows => rows.map(row => row.cells[1].textContent)"
    )
    np.testing.assert_allclose([number(cell) for cell in shown], pooled, atol=6e-3)
    return tuple(pooled)


def test_pooling_by_slider_mouse_and_keyboard(page):
    """beta takes each channel from its mean to its maximum; dragging a cell moves its channel."""
    demo = box(page, POOL)
    beta = demo.get_by_label("Sharpness β")
    seen = [pooled_right(demo)]
    beta.press("ArrowRight")
    seen.append(pooled_right(demo))
    beta.press("End")
    assert beta.get_attribute("aria-valuetext") == "beta 100"
    seen.append(pooled_right(demo))
    assert "3 of 4 cells" in demo.locator(".attn-status").inner_text()
    drag(page, demo.get_by_role("slider", name="Cell 4 of channel 1"), 0, -160)
    seen.append(pooled_right(demo))
    assert seen[-1][1:] == seen[-2][1:]
    demo.get_by_role("slider", name="Cell 2 of channel 2").press("Shift+ArrowUp")
    seen.append(pooled_right(demo))
    beta.press("Home")
    seen.append(pooled_right(demo))
    demo.get_by_role("button", name="Another example").click()
    seen.append(pooled_right(demo))
    assert len(set(seen)) == len(seen)
