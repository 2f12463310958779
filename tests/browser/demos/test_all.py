"""What holds for the demos of each page."""

from pathlib import Path

import pytest

from .hand import boxes

ROOT = Path(__file__).parents[3]
PAGES = [
    path.relative_to(ROOT).with_suffix("").as_posix()
    for path in [ROOT / "index.md", *sorted((ROOT / "chapters").glob("*.md"))]
    if "from attnkit.demos" in path.read_text("utf-8")
]


@pytest.fixture(params=PAGES)
def page_name(request):
    return request.param


@pytest.fixture(params=[1280, 390])
def width(request):
    return request.param


def test_question_comes_first(page):
    """Each box states its question before anything in it takes a hand, and hides the answer."""
    for demo in boxes(page):
        question = demo.locator(".attn-question")
        assert "?" in question.text_content()
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
    for demo in boxes(page):
        over = demo.evaluate(
            """demo => [...demo.querySelectorAll("*")].filter(part => {
                 const inner = part.getBoundingClientRect(), outer = demo.getBoundingClientRect();
                 return !part.closest("svg *") && inner.width && inner.right > outer.right;
               }).map(part => part.outerHTML.slice(0, 99))"""
        )
        assert over == []
    assert [place.bounding_box()["height"] for place in places.all()] == sizes
    assert page.evaluate("document.documentElement.scrollWidth") <= page.viewport_size["width"]


def test_tab_reaches_everything(page):
    """From the first control of each demo, Tab visits all others in turn and then leaves.

    So it does the tables, which may be wider than the box and then must scroll without a mouse.
    """
    for demo in boxes(page):
        demo.locator("summary", has_text="Numbers").click()
        count = demo.evaluate(
            """demo => {
                 // Of the buttons of a choice one takes the focus for all.
                 const one = (control) => control.type !== "radio" || control.checked;
                 const all = [
                   ...demo.querySelectorAll("[tabindex], button, summary, input:not(:disabled)"),
                 ].filter((control) => one(control) && control.getClientRects().length);
                 all[0].focus();
                 return all.length;
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
        """() => {
             dispatchEvent(new Event("beforeprint"));
             return [...document.querySelectorAll(".attn-demo")].every(
               (demo) => demo.querySelector("svg"));
           }"""
    )


def test_a_folder_of_files_shows_demos(browser, book, page_name):
    with browser.new_context() as context:
        page = context.new_page()
        page.goto((book / f"{page_name}.html").as_uri())
        assert boxes(page)


def test_a_demo_that_does_not_arrive_says_so(browser, site, page_name):
    with browser.new_context() as context:
        page = context.new_page()
        page.route("**/*.demos.js*", lambda route: route.abort())
        page.goto(f"{site}/{page_name}.html")
        lost = page.locator(".attn-demo", has_text="reload the page")
        lost.first.wait_for(state="attached")
        assert lost.count() == page.locator(".attn-demo").count()
