"""What a first view costs, and that nothing needed was left out to make it cheap."""

from pathlib import Path

import pytest

from .served import PAGES, weigh

# Every element's place and looks; within a formula and a drawing the whole's size is enough.
LOOKS = """() => {
  const left = [".attn-demo *", ".exercise-desk *", ".katex *", "svg *", "script", "style",
    "aside", ".pst-async-banner-revealer"];
  const looks = ["display", "color", "backgroundColor", "fontSize", "fontWeight", "fontFamily",
    "padding", "margin", "borderWidth", "borderColor", "overflowX", "position", "textDecoration"];
  return [...document.body.querySelectorAll(`:not(${left})`)].map((element) => {
    const { x, y, width, height } = element.getBoundingClientRect();
    const style = getComputedStyle(element);
    // The height of an inline box is the font's, which Chromium rounds now up, now down.
    const place = style.display === "inline" ? [x, width] : [x, y, width, height];
    return [element.outerHTML.slice(0, 120), place,
      ...looks.map((look) => style[look]), getComputedStyle(element, "::before").content];
  });
}"""
# What a reader may open, and what is there only then.
STATES = """async () => {
  await document.fonts.ready;
  document.querySelectorAll("details").forEach((details) => (details.open = true));
  document.head.insertAdjacentHTML("beforeend", `<style>* {
    transition: none !important; content-visibility: visible !important }</style>`);
  return [
    () => null,
    () => document.querySelector("#pst-search-dialog").showModal(),
    () => document.querySelector("#pst-search-dialog").close(),
    () => document.querySelector(".primary-toggle").click(),
  ].flatMap((open) => (open(), (LOOKS)()));
}""".replace("LOOKS", LOOKS)


def differ(one, other):
    """Whether an element looks otherwise; a pixel more or less is the browser's rounding."""
    (html, place, *looks), (html_2, place_2, *looks_2) = one, other
    moved = any(abs(a - b) > 1.5 for a, b in zip(place, place_2, strict=False))
    return moved or (html, looks) != (html_2, looks_2)


def test_first_views_are_small_quick_and_still(book, site, browser):
    cost = {name: weigh(browser, f"{site}/{name}") for name in PAGES}
    *others, heaviest = sorted(view["kb"] for view in cost.values())
    assert max(others) <= 200, cost
    assert heaviest <= 300, cost
    assert max(view["requests"] for view in cost.values()) <= 25, cost
    assert max(view["cls"] for view in cost.values()) <= 0.02, cost
    # The machine may be busy: a page that is late is asked twice more.
    late = [name for name, view in cost.items() if view["lcp"] > 2]
    assert not [n for n in late if min(weigh(browser, f"{site}/{n}")["lcp"] for _ in "ab") > 2]


def test_a_wide_page_does_not_move_while_it_loads(book, site, browser):
    for name in PAGES:
        assert weigh(browser, f"{site}/{name}", width=1280)["cls"] <= 0.02, name


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize(("width", "theme"), [(1280, "light"), (390, "dark")])
def test_rules_and_glyphs_left_out_are_not_missed(book, site, browser, name, width, theme):
    """With every rule and every glyph a page looks the same."""
    originals = {path.name: path for path in Path(book, "_static").glob("*/*fonts/*.woff2")}
    originals |= {p.name: p for p in Path(book, "_static").glob("vendor/*/webfonts/*.woff2")}
    assert {path.name for path in Path(book, "_static", "fonts").iterdir()} <= set(originals)

    def font(route):
        route.fulfill(path=originals[route.request.url.rsplit("/", 1)[1]])

    seen = []
    for whole in False, True:
        with browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=theme
        ) as context:
            page = context.new_page()
            if whole:
                page.route("**/site.css", lambda r: r.fulfill(path=book.parent / "whole.css"))
                page.route("**/fonts/*", font)
            page.goto(f"{site}/{name}", wait_until="networkidle")
            seen.append(page.evaluate(STATES))
    different = [pair for pair in zip(*seen, strict=True) if differ(*pair)]
    assert different == []
