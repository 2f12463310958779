"""Every page of the book in a browser: both widths, both themes."""

import re
from pathlib import Path

import pytest

from .served import FOLDER, PAGES, names

AXE = Path(__file__).parents[2] / "node_modules" / "axe-core" / "axe.min.js"
# Every rule but those that axe calls experimental and the stricter contrast of level AAA.
AUDIT = """async () => {
  const left = ["experimental", "wcag2aaa"];
  const rules = axe.getRules().map(({ ruleId, tags }) =>
    [ruleId, { enabled: !tags.some((tag) => left.includes(tag)) }]);
  const { violations } = await axe.run({ rules: Object.fromEntries(rules) });
  return violations.map(({ id, nodes }) => [id, nodes.map((node) => node.html.slice(0, 200))]);
}"""

# The anchors of a page (its top among them) and all it links or loads.
LINKS = """() => [
  ["", ...[...document.querySelectorAll("[id]")].map(({ id }) => id)],
  [...document.querySelectorAll("[href], [src]")]
    .flatMap(({ href, src }) => [href, src]).filter((link) => typeof link === "string")
    .map(decodeURI),
]"""
PAGE = re.compile(r"\.html(#|$)")


def faults_of(page, address, site, theme):
    """What is wrong with a page, in the words of whoever noticed."""
    faults = []
    own = (site, f"blob:{site.removesuffix(FOLDER)}", "data:")
    page.on("request", lambda r: None if r.url.startswith(own) else faults.append(r.url))
    page.on("response", lambda r: faults.append(r.url) if r.status >= 400 else None)
    page.on("console", lambda m: faults.append(m.text) if m.type == "error" else None)
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.goto(address, wait_until="networkidle")
    if page.evaluate("document.documentElement.dataset.theme") != theme:
        faults.append("the theme does not follow the reader's setting")
    wider = page.evaluate("document.documentElement.scrollWidth - innerWidth")
    if wider > 0:
        faults.append(f"{wider} px wider than the screen")
    page.evaluate(AXE.read_text(encoding="utf-8"))
    return faults + page.evaluate(AUDIT)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_pages_are_quiet_fit_and_are_accessible(book, site, browser, width, theme):
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=theme)
    faults = []
    for name in PAGES:
        page = context.new_page()
        faults += [f"{name}: {fault}" for fault in faults_of(page, f"{site}/{name}", site, theme)]
        page.close()
    context.close()
    assert not faults, "\n".join(faults)


def test_icons_show_without_a_script(site, browser):
    page = browser.new_page()
    page.goto(f"{site}/index.html", wait_until="networkidle")
    icon = page.locator(".primary-toggle .fa-bars")
    assert icon.evaluate("i => getComputedStyle(i, '::before').fontFamily").startswith('"Font Awe')
    assert page.evaluate(
        "[...document.fonts].some(f => /Awesome/.test(f.family) && f.status == 'loaded')"
    )
    page.close()


def test_every_link_within_the_site_leads_somewhere(book, site, browser):
    """From the first page on, in a folder of a host, over HTTP."""
    page = browser.new_page()
    ids, links, waiting = {}, set(), [f"{site}/index.html"]
    while waiting:
        address = waiting.pop()
        if address in ids:
            continue
        page.goto(address)
        ids[address], found = page.evaluate(LINKS)
        found = {link for link in found if link.startswith(site)}
        links |= {(address, link) for link in found}
        waiting += [link.split("#")[0] for link in found if PAGE.search(link)]
    files = {link for _, link in links if not PAGE.search(link)}
    broken = [link for link in files if page.request.get(link).status != 200]
    broken += [
        (address, link)
        for address, link in links
        if PAGE.search(link) and link.partition("#")[2] not in ids[link.split("#")[0]]
    ]
    page.close()
    assert broken == []
    assert {address.removeprefix(f"{site}/") for address in ids} == set(names(book)) == set(PAGES)
    assert any(link.endswith(".ipynb") for link in files)
