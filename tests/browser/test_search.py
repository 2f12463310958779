"""Search: English, beginnings of words and Chinese lead to the section that has them."""

import pytest


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
    page.keyboard.type("square shapes hide mistakes")
    target = ".search-results li:first-child a[href$='#square-shapes-hide-mistakes']"
    page.locator(target).wait_for()
    page.keyboard.press("ArrowDown")
    assert page.evaluate("document.activeElement.matches('.search-results a')")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    page.wait_for_url("**/notation.html#square-shapes-hide-mistakes")
    page.keyboard.press("Control+k")
    page.keyboard.press("Escape")
    assert not page.locator("#pst-search-dialog").is_visible()


def test_chinese_is_found_by_any_part_of_a_term(site, page):
    """Simplified and traditional; the parts in another order are another word."""
    page.goto(f"{site}/index.html")
    page.keyboard.press("Control+k")
    glossary = f"{site}/chapters/glossary.html#soft-attention"
    for part in "点积", "积注意", "缩放点积注意力", "縮放點積", "點積注":
        assert glossary in [address for address, _ in look_up(page, part)], part
        assert part in page.locator(".search-results").inner_text()
    assert glossary not in [address for address, _ in look_up(page, "积点")]
