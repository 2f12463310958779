"""The demo of multi-head attention on the built page: every hand changes what attnkit computes."""

import numpy as np

from .hand import box, drag, finger, numbers

PAGE = "chapters/multi_head_attention"
TITLE = "Heads side by side"


def rate(demo):
    """In how many of a hundred other questions both answers are right, as the demo says."""
    return int(demo.locator(".attn-status").inner_text().rsplit(" in ", 1)[1].split()[0])


def said(demo):
    """The rows of the answers: what was asked, what stands there, what the layer says."""
    return demo.locator(".attn-readings tbody tr").evaluate_all(
        "rows => rows.map(row => [...row.cells].map(cell => cell.textContent))"
    )


def is_sound(demo):
    """The tables hold together: rows of weights, the answers and what they are made of."""
    found = numbers(demo)
    weights = np.array(list(found["Weights of the heads that are on"].values()))
    np.testing.assert_allclose(weights.sum(axis=0), 1, atol=1e-3)
    probabilities = np.array(list(found["Probability of each word"].values()))
    np.testing.assert_allclose(probabilities.sum(axis=0), 1, atol=1e-3)
    words = list(found["Probability of each word"])
    for column, (_, there, answer, sure) in zip(probabilities.T, said(demo), strict=True):
        word, mark = answer.split()
        assert word == words[column.argmax()]
        assert mark == ("✓" if word == there else "✗")
        np.testing.assert_allclose(float(sure), column.max(), atol=6e-3)
    return weights, found["What the heads read"]


def query(demo, name):
    return demo.get_by_role("slider", name=f"Place that {name} asks for")


def test_one_head_fails_and_two_do_it(page):
    """The trained layers of the chapter, chosen by radio buttons."""
    demo = box(page, TITLE)
    weights, _ = is_sound(demo)
    assert weights.shape == (8, 1)
    assert rate(demo) < 50
    demo.get_by_label("1 head").press("ArrowDown")
    weights, _ = is_sound(demo)
    assert weights.shape == (8, 2)
    assert rate(demo) > 95
    assert sorted(weights.argmax(axis=0)) == [2, 5]
    demo.get_by_label("4 heads").check()
    assert is_sound(demo)[0].shape == (8, 4)
    assert rate(demo) > 95


def test_a_head_that_is_off_reads_zeros_and_loses_its_question(page):
    demo = box(page, TITLE)
    demo.get_by_label("2 heads").check()
    both = rate(demo)
    demo.get_by_role("button", name="head 1: on").click()
    weights, reads = is_sound(demo)
    assert weights.shape == (8, 1)
    assert {row[0] for row in reads.values()} == {0}
    assert any(row[1] for row in reads.values())
    assert rate(demo) < both / 2
    demo.get_by_role("button", name="head 1: off").press("Enter")
    assert rate(demo) == both
    demo.get_by_role("button", name="head 2: on").press("Space")
    assert rate(demo) < both / 2
    demo.get_by_role("button", name="Reset").click()
    assert is_sound(demo)[0].shape == (8, 1)


def test_queries_by_mouse_and_keyboard(page):
    """A query goes from place to place, past the other, and says where it is."""
    demo = box(page, TITLE)
    demo.get_by_label("2 heads").check()
    drag(page, query(demo, "q₁"), -80 if page.viewport_size["width"] > 500 else -66, 0)
    assert said(demo)[0][0] == "q₁, place 1"
    assert query(demo, "q₁").get_attribute("aria-valuetext") == "place 1, cat"
    assert 0 in is_sound(demo)[0].argmax(axis=0)
    second = query(demo, "q₂")
    for place in (5, 4, 3, 2):
        second.press("ArrowLeft")
        assert said(demo)[1][0] == f"q₂, place {place}"
    second.press("ArrowLeft")  # there stands the other, and beyond it nothing
    assert said(demo)[1][0] == "q₂, place 2"
    query(demo, "q₁").press("ArrowRight")
    assert said(demo)[0][0] == "q₁, place 3"
    is_sound(demo)


def test_a_finger_moves_a_query_and_does_not_scroll(page):
    demo = box(page, TITLE)
    finger(page, query(demo, "q₂"), (30, -20), (70, -60))
    assert said(demo)[1][0] != "q₂, place 6"
    is_sound(demo)


def test_another_example_asks_something_else(page):
    demo = box(page, TITLE)
    before = said(demo)
    demo.get_by_role("button", name="Another example").press("Enter")
    assert said(demo) != before
    is_sound(demo)
