"""The demos on the built page: a mouse, a finger and the keyboard change what attnkit computes."""

import numpy as np
import pytest

from attnkit import soft_attention as sa

PLANE, DIMENSION, CURVE = (
    "A query in the plane",
    "Dimension and saturation",
    "A curve from its points",
)
TITLES = (PLANE, DIMENSION, CURVE)


@pytest.fixture(params=[1280, 390])
def page(request, browser, site):
    """The chapter, at the width of a desk and of a phone; it must stay quiet and at home."""
    with browser.new_context(
        viewport={"width": request.param, "height": 900}, has_touch=True
    ) as context:
        page = context.new_page()
        page.set_default_timeout(10_000)
        faults = []
        page.on("console", lambda m: m.type == "error" and faults.append(m.text))
        page.on("pageerror", lambda error: faults.append(str(error)))
        home = (site, "blob:", "data:")
        page.on("request", lambda r: r.url.startswith(home) or faults.append(r.url))
        page.goto(f"{site}/chapters/soft_attention.html")
        yield page
        assert faults == []


def box(page, title):
    """A demo of the page after a reader has come by all of them."""
    for place in page.locator(".attn-demo").all():
        place.scroll_into_view_if_needed()
    demo = page.get_by_role("group", name=title, exact=True)
    demo.wait_for()
    return demo


def number(text):
    """A number as the page writes it."""
    return float(text.replace("−", "-"))


def numbers(demo):
    """The rows of the opened Numbers, by the caption of their table and their first cell."""
    sheet = demo.locator(".attn-sheet")
    if not sheet.is_visible():
        demo.locator("summary", has_text="Numbers").click()
    sheet.locator("table").first.wait_for()
    tables = sheet.evaluate(
        """sheet => [...sheet.querySelectorAll("table")].map(table => [
             table.caption.textContent,
             [...table.tBodies[0].rows].map(row => [...row.cells].map(cell => cell.textContent)),
           ])"""
    )
    return {
        caption: {name: [number(cell) for cell in cells] for name, *cells in rows}
        for caption, rows in tables
    }


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


def drag(page, handle, across, down):
    """Take a handle with the mouse and move it by so many pixels."""
    handle.scroll_into_view_if_needed()
    place = handle.bounding_box()
    x, y = place["x"] + place["width"] / 2, place["y"] + place["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + across / 2, y + down / 2)
    page.mouse.move(x + across, y + down)
    page.mouse.up()


def test_question_comes_first(page):
    """Each box states its question before anything in it takes a hand, and hides the answer."""
    for title in TITLES:
        demo = box(page, title)
        question = demo.locator(".attn-question")
        assert "?" in question.inner_text()
        assert question.evaluate(
            """question => [...question.parentElement.querySelectorAll("input, [tabindex], button")]
               .every(control => question.compareDocumentPosition(control) & 4)"""
        )
        answer = demo.locator("details", has_text="Answer").last
        assert not answer.locator("p").first.is_visible()
        answer.locator("summary").click()
        assert answer.locator("p").first.is_visible()


def test_nothing_jumps_and_nothing_is_cut(page):
    """A place keeps its size when its demo arrives, and no text or control reaches out of it."""
    places = page.locator(".attn-demo")
    sizes = [place.bounding_box()["height"] for place in places.all()]
    for title in TITLES:
        demo = box(page, title)
        over = demo.evaluate(
            """demo => [...demo.querySelectorAll("*")].filter(part => {
                 const inner = part.getBoundingClientRect(), outer = demo.getBoundingClientRect();
                 return !part.closest("svg *") && inner.width && inner.right > outer.right;
               }).map(part => part.outerHTML.slice(0, 99))"""
        )
        assert over == []
    assert [place.bounding_box()["height"] for place in places.all()] == sizes
    assert page.evaluate("document.documentElement.scrollWidth") <= page.viewport_size["width"]


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
    query = demo.get_by_role("slider", name="Query q")
    query.scroll_into_view_if_needed()
    place = query.bounding_box()
    x, y = place["x"] + place["width"] / 2, place["y"] + place["height"] / 2
    touch = page.context.new_cdp_session(page)
    scrolled = page.evaluate("scrollY")
    for kind, points in [
        ("touchStart", [{"x": x, "y": y}]),
        ("touchMove", [{"x": x - 40, "y": y - 40}]),
        ("touchMove", [{"x": x - 60, "y": y - 80}]),
        ("touchEnd", []),
    ]:
        touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
    assert page.evaluate("scrollY") == scrolled
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


def test_tab_reaches_everything(page):
    """From the first control of each demo, Tab visits all others in turn and then leaves."""
    for title in TITLES:
        demo = box(page, title)
        count = demo.evaluate(
            """demo => {
                 const others = [
                   ...demo.querySelectorAll("[tabindex], button, summary, [type=range]"),
                 ].filter(control => control.getClientRects().length);
                 others[0].focus();
                 return others.length + demo.querySelectorAll("fieldset").length;
               }"""
        )
        inside = "demo => demo.contains(document.activeElement)"
        for _ in range(count - 1):
            page.keyboard.press("Tab")
            assert demo.evaluate(inside)
        page.keyboard.press("Tab")
        assert not demo.evaluate(inside)


def test_print_shows_every_demo(page):
    """What was never scrolled to is printed too."""
    page.wait_for_function(
        """count => {
             dispatchEvent(new Event("beforeprint"));
             return document.querySelectorAll(".attn-demo svg").length === count;
           }""",
        arg=len(TITLES),
    )
