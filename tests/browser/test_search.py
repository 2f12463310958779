"""Search: English, beginnings of words and Chinese lead to the section that has them."""

import json
import subprocess
import sys
from pathlib import Path
from shutil import copy, copytree

import pytest

from .served import serving

ROOT = Path(__file__).parents[2]


@pytest.fixture
def page(browser):
    """A page that stays quiet."""
    page = browser.new_page()
    page.set_default_timeout(10_000)
    faults = []
    page.on("console", lambda m: m.type == "error" and faults.append(m.text))
    page.on("pageerror", lambda error: faults.append(str(error)))
    yield page
    page.close()
    assert faults == []


def look_up(page, text):
    """Type into the dialog; the addresses and the titles it lists."""
    page.locator("#pst-search-dialog input").fill(text)
    page.wait_for_timeout(600)  # typing has to stop before the index is asked
    links = page.locator(".search-results a")
    return [(link.get_attribute("href"), link.inner_text()) for link in links.all()]


def test_a_word_and_its_beginning_lead_to_the_section(site, page):
    page.goto(f"{site}/chapters/notation.html")
    page.get_by_role("button", name="Search").click()
    for text in "temperature", "temperat":
        found = look_up(page, text)
        assert (
            f"{site}/chapters/soft_attention.html#temperature",
            "Soft attention: Temperature",
        ) in found
    assert all("genindex" not in address for address, _ in look_up(page, "softmax"))
    assert look_up(page, "☃☃") == []
    assert page.locator("[role=status]", has_text="Nothing found").is_visible()


def test_by_keyboard_alone(site, page):
    page.goto(f"{site}/chapters/soft_attention.html")
    page.keyboard.press("Control+k")
    page.keyboard.type("rows and columns")
    page.locator(".search-results a").first.wait_for()
    page.keyboard.press("ArrowDown")
    assert page.evaluate("document.activeElement.matches('.search-results a')")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    page.wait_for_url("**/notation.html#rows-and-columns")
    page.keyboard.press("Control+k")
    page.keyboard.press("Escape")
    assert not page.locator("#pst-search-dialog").is_visible()


def test_chinese_is_found_by_any_part_of_a_term(book, page, tmp_path):
    """The site's own script and index maker, over two pages with Chinese terms."""
    copytree(book / "_static", tmp_path / "_static")
    copy(book / "index.html", tmp_path)
    terms = {"attention": "缩放点积注意力（scaled dot-product attention）", "reverse": "积点"}
    pages = []
    for name, text in terms.items():
        path = tmp_path / f"{name}.html"
        path.write_text(
            '<html lang="en"><title>t</title><article><section id="terms"><h1>Terms</h1>'
            f"<p>{text}</p></section></article></html>"
        )
        pages.append({"url": path.name, "path": str(path)})
    subprocess.run(
        [Path(sys.executable).parent / "node", ROOT / "_ext" / "search.mjs"],
        input=json.dumps({"pages": pages, "target": str(tmp_path / "pagefind")}),
        encoding="utf-8",
        check=True,
        timeout=60,
    )
    with serving(tmp_path) as address:
        page.goto(f"{address}/index.html")
        page.keyboard.press("Control+k")
        for part in "点积", "积注意", "缩放点积注意力", "注意力":
            assert look_up(page, part) == [(f"{address}/attention.html#terms", "Terms")], part
            assert part in page.locator(".search-results p").inner_text()
