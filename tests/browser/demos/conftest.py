"""A page of the built book for the tests that play its demos."""

import pytest


@pytest.fixture
def page_name(request):
    """The page that a module of tests is about."""
    return request.module.PAGE


@pytest.fixture
def width():
    """That of a phone: what fits there fits on a desk, and takes a finger as well as a mouse."""
    return 390


@pytest.fixture
def page(browser, site, page_name, width):
    """The PAGE; it must stay quiet and at home."""
    with browser.new_context(viewport={"width": width, "height": 900}, has_touch=True) as context:
        page = context.new_page()
        page.set_default_timeout(10_000)
        faults = []
        page.on("console", lambda m: m.type == "error" and faults.append(m.text))
        page.on("pageerror", lambda error: faults.append(str(error)))
        home = (site, "blob:", "data:")
        page.on("request", lambda r: r.url.startswith(home) or faults.append(r.url))
        page.goto(f"{site}/{page_name}.html")
        # Text that is laid out while a finger moves would move the page under it.
        page.add_style_tag(content="* { content-visibility: visible !important }")
        yield page
        assert faults == []
