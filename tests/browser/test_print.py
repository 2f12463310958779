"""A printed chapter: all of it, its demos too, black on white, and nothing to press."""

import re
import subprocess
from shutil import which

import pytest

WIDTH = 673  # of the text on A4, in CSS pixels


# A demo can be drawn once its module has come, which nothing on the page shows.
DEMOS_READY = """() => {
  dispatchEvent(new Event("beforeprint"));
  return [...document.querySelectorAll(".attn-demo")].every((demo) => demo.querySelector("svg"));
}"""


@pytest.fixture
def page(browser, site):
    """The chapter in a reader's dark theme, not yet scrolled."""
    with browser.new_context(color_scheme="dark") as context:
        page = context.new_page()
        page.goto(f"{site}/chapters/soft_attention.html", wait_until="networkidle")
        yield page


def test_the_print_has_every_page_the_first_demo_and_the_last_section(page, tmp_path):
    path = tmp_path / "chapter.pdf"
    page.wait_for_function(DEMOS_READY)
    page.pdf(path=path, format="A4")
    assert len(re.findall(rb"/Type */Page\b", path.read_bytes())) > 15
    if which("pdftotext") is None:
        return
    text = subprocess.run(
        ["pdftotext", path, "-"], capture_output=True, text=True, timeout=60, check=True
    ).stdout
    text = " ".join(text.split())
    assert "Can the read leave the hull of the items?" in text  # a demo's question
    assert "Further reading" in text.split("Summary")[-1]
    assert "Search this book" not in text


def test_on_paper_all_fits_and_nothing_waits_for_a_hand(page):
    page.set_viewport_size({"width": WIDTH, "height": 900})
    page.emulate_media(media="print")
    page.wait_for_function(DEMOS_READY)
    assert page.evaluate("document.documentElement.dataset.theme") == "light"
    seen = """(selector) => [...document.querySelectorAll(selector)]
      .filter((element) => element.getClientRects().length).map((e) => e.outerHTML.slice(0, 150))"""
    for selector in ("nav:not([aria-label=Page])", "button", "input[type=search]", "dialog"):
        assert page.evaluate(seen, selector) == [], selector
    wide = """(width) => [...document.querySelectorAll("article :not(.katex *, svg *)")]
      .filter((element) => element.getBoundingClientRect().right > width + 1 ||
        (element.matches("pre, .pst-scrollable-table-container, table") &&
          element.scrollWidth > element.clientWidth + 1))
      .map((element) => element.outerHTML.slice(0, 150))"""
    assert page.evaluate(wide, WIDTH) == []
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
