"""The soft dictionary on the built page: every hand changes what attnkit computes."""

import numpy as np

from attnkit import key_value_attention as kv
from attnkit import soft_attention as sa

from .hand import box, drag, finger, numbers

PAGE = "chapters/key_value_attention"
TITLE = "A soft dictionary"


def entries(demo):
    """Keys, values, weights and read, after holding weights and read to attnkit's."""
    found = numbers(demo)
    rows = np.array(list(found["Entries"].values()))
    K, weights, V = rows[:, :2], rows[:, 3], rows[:, 4:]
    (strength,) = found["Single numbers"]["Strength β"]
    scores = sa.gaussian_scores(np.array([found["Query"]["Query q"]]), K, np.sqrt(0.5))
    wanted = sa.attention_weights(scores, temperature=1 / strength)
    np.testing.assert_allclose(rows[:, 2], scores[0], atol=6e-5)
    np.testing.assert_allclose(weights, wanted[0], atol=6e-5)
    read = found["Colours"]["Read"]
    np.testing.assert_allclose(read, sa.soft_read(wanted, V)[0], atol=2e-4)
    return K, V, weights, read, np.array(found["Colours"]["Colour to write"])


def writes_rightly(demo, button, erase, add):
    """Press a way to write: values change as attnkit says, keys and weights stay."""
    K, V, weights, _, paint = entries(demo)
    demo.get_by_role("button", name=button).click()
    new_K, new_V, new_weights, _, _ = entries(demo)
    wanted = kv.erase_add(V, weights, np.full(3, float(erase)), add * paint)
    np.testing.assert_allclose(new_V, wanted, atol=3e-4)
    assert np.array_equal(new_K, K)
    assert np.array_equal(new_weights, weights)
    assert not np.array_equal(new_V, V)


def test_by_mouse(page):
    """Dragging the query and a key moves the weights and no colour; writing does the reverse."""
    demo = box(page, TITLE)
    K, V, weights, read, _ = entries(demo)
    drag(page, demo.get_by_role("slider", name="Query q"), -60, 30)
    _, same_V, other_weights, other_read, _ = entries(demo)
    assert np.array_equal(same_V, V)
    assert not np.array_equal(other_weights, weights)
    drag(page, demo.get_by_role("slider", name="Key k₃"), 30, -25)
    moved_K, same_V, _, last_read, _ = entries(demo)
    assert not np.array_equal(moved_K, K)
    assert np.array_equal(same_V, V)
    assert read != other_read != last_read
    writes_rightly(demo, "Erase, then add", 1, 1)
    writes_rightly(demo, "Only erase", 1, 0)
    writes_rightly(demo, "Only add", 0, 1)
    demo.get_by_role("button", name="Reset").click()
    assert entries(demo)[3] == read


def test_by_keyboard(page):
    """Arrows move, the strength makes a dictionary of it, the radio buttons choose the colour."""
    demo = box(page, TITLE)
    query = demo.get_by_role("slider", name="Query q")
    said = query.get_attribute("aria-valuetext")
    query.press("ArrowLeft")
    query.press("Shift+ArrowUp")
    assert query.get_attribute("aria-valuetext") != said
    _, V, weights, read, _ = entries(demo)
    assert "stored nowhere" in demo.locator(".attn-status").inner_text()
    demo.get_by_label("Strength β").press("End")
    *_, sharp, _ = entries(demo)
    np.testing.assert_allclose(sharp, V[weights.argmax()], atol=1e-3)
    assert "the value stored there" in demo.locator(".attn-status").inner_text()
    demo.get_by_label("violet").press("ArrowDown")
    assert demo.get_by_label("turquoise").is_checked()
    demo.get_by_role("button", name="Erase, then add").press("Enter")
    *_, painted, paint = entries(demo)
    np.testing.assert_allclose(painted, paint, atol=1e-3)
    demo.get_by_role("button", name="Another example").press("Enter")
    assert entries(demo)[3] != read


def test_by_finger(page):
    """A finger drags a key and does not scroll the page meanwhile."""
    demo = box(page, TITLE)
    K = entries(demo)[0]
    finger(page, demo.get_by_role("slider", name="Key k₁"), (20, 30))
    assert not np.array_equal(entries(demo)[0], K)


def test_the_ground_is_painted_and_follows(page):
    """The picture behind the keys shows other reads once the strength or a colour changes."""
    demo = box(page, TITLE)
    ground = demo.locator("svg image")
    seen = [ground.get_attribute("href")]
    demo.get_by_label("Strength β").press("End")
    seen.append(ground.get_attribute("href"))
    demo.get_by_role("button", name="Only erase").click()
    page.wait_for_function(
        "old => document.querySelector('svg image').href.baseVal !== old", arg=seen[1]
    )
    seen.append(ground.get_attribute("href"))
    assert all(picture.startswith("data:image/png") for picture in seen)
    assert len(set(seen)) == 3
