"""Self-attention's demos on the built page: every hand changes what attnkit computes."""

import numpy as np

from attnkit import self_attention as sa
from attnkit.soft_attention import softmax

from .hand import box, drag, number, numbers

PAGE = "chapters/self_attention"
MASKS, SHUFFLE = "Masks", "Shuffle the sentence"


def tables(demo):
    """Scores and weights as the tables show them, where they are numbers, and the rest."""
    demo.locator("summary", has_text="Numbers").click()
    sheet = demo.locator(".attn-sheet")
    sheet.locator("table").first.wait_for()
    found = sheet.evaluate(
        """sheet => [...sheet.querySelectorAll("table")].map(table =>
             [...table.tBodies[0].rows].map(row =>
               [...row.cells].slice(1).map(cell => cell.textContent)))"""
    )
    demo.locator("summary", has_text="Numbers").click()
    words = {"NaN": np.nan, "−∞": -np.inf, "−1e9": -1e9}
    return [
        np.array([[words[c] if c in words else number(c) for c in row] for row in rows])
        for rows in found
    ]


def masks_are_right(demo, fill):
    """The weights are attnkit's for the scores and the mask that the table shows."""
    scores, weights, single = tables(demo)
    visible = scores > -1e8
    if fill == "number":
        wanted = softmax(np.where(visible, scores, -1e9))
    else:
        wanted = sa.masked_softmax(np.where(visible, scores, 0.0), visible)
    if fill == "infinity":
        wanted[~visible.any(axis=1)] = np.nan
    np.testing.assert_allclose(weights, wanted, atol=6e-5)
    assert single[0, 0] == (~visible.any(axis=1)).sum()
    return visible, weights


def test_masks(page):
    """Each mask hides what its name says, and each fill answers in its own way."""
    demo = box(page, MASKS)
    visible, _ = masks_are_right(demo, "infinity")
    assert visible.all()
    demo.get_by_label("no padding").check()
    visible, _ = masks_are_right(demo, "infinity")
    assert (visible == [True] * 4 + [False] * 2).all()
    demo.get_by_label("nothing later (causal)").check()
    visible, _ = masks_are_right(demo, "infinity")
    assert (visible == np.tril(np.ones((6, 6), bool))).all()
    demo.get_by_label("both", exact=True).check()
    demo.get_by_label("at the start").check()
    _, weights = masks_are_right(demo, "infinity")
    assert np.isnan(weights[:2]).all()
    assert "NaN" in demo.locator(".attn-status").inner_text()
    demo.get_by_label("−1e9").check()
    _, weights = masks_are_right(demo, "number")
    np.testing.assert_allclose(weights[:2], 1 / 6, atol=6e-5)
    demo.get_by_label("−∞, empty rows zero").check()
    _, weights = masks_are_right(demo, "zeros")
    assert not weights[:2].any()


def test_masks_by_keyboard(page):
    """The same without a pointer: arrows choose and count."""
    demo = box(page, MASKS)
    demo.get_by_label("everyone").press("ArrowDown")
    demo.get_by_label("no padding").press("ArrowDown")
    demo.get_by_role("slider", name="Words").press("End")
    demo.get_by_role("slider", name="Padding").press("End")
    demo.get_by_label("−∞", exact=True).press("ArrowDown")
    visible, before = masks_are_right(demo, "number")
    assert (visible == np.tril(np.ones((8, 8), bool))).all()
    demo.get_by_label("scores").check()
    assert "−1e9" in demo.locator("svg").text_content()
    demo.get_by_role("button", name="Another example").press("Enter")
    _, after = masks_are_right(demo, "number")
    assert (before != after).any()
    demo.get_by_role("button", name="Reset").press("Enter")
    assert masks_are_right(demo, "infinity")[0].shape == (6, 6)


def differences(demo):
    """By how much each word's output differs, as the table shows it, and where the words stand."""
    rows = numbers(demo)["Outputs, word by word"]
    for row in rows.values():
        now, before = np.array(row[1:5]), np.array(row[5:9])
        np.testing.assert_allclose(np.abs(now - before).max(), row[9], atol=1.1e-4)
    return {word: row[9] for word, row in rows.items()}, {w: row[0] for w, row in rows.items()}


def test_shuffle_by_mouse(page):
    """Dragging a word moves it, and what else changes depends on mask and positions."""
    demo = box(page, SHUFFLE)
    dog = demo.get_by_role("slider", name="Word dog")
    room = demo.locator("svg").bounding_box()["width"]
    drag(page, dog, 0.45 * room, 0)
    changed, places = differences(demo)
    assert places["dog"] in (3, 4)
    assert sorted(places.values()) == [1, 2, 3, 4, 5]
    assert max(changed.values()) == 0
    demo.get_by_label("itself and those before").check()
    changed, _ = differences(demo)
    assert max(changed.values()) > 0.01
    assert changed["man"] == 0
    demo.get_by_label("two").check()
    assert differences(demo)[0]["man"] > 0
    demo.get_by_label("all words").check()
    assert max(differences(demo)[0].values()) == 0
    demo.get_by_label("waves are added").check()
    assert min(differences(demo)[0].values()) > 0


def test_shuffle_by_keyboard(page):
    """An arrow moves a word by one place."""
    demo = box(page, SHUFFLE)
    dog = demo.get_by_role("slider", name="Word dog")
    dog.press("ArrowRight")
    assert dog.get_attribute("aria-valuetext") == "place 2"
    assert differences(demo)[1]["bit"] == 1
    dog.press("ArrowRight")
    assert differences(demo)[1]["dog"] == 3
    demo.get_by_role("button", name="Reset").press("Enter")
    assert differences(demo)[1]["dog"] == 1
