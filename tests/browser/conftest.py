"""A browser and a server of the built book, shared by the browser tests."""

import os
from shutil import which

import pytest
from playwright.sync_api import sync_playwright

from .served import QUIET, serving


@pytest.fixture(scope="session")
def site(book):
    """The address of the built book, served on this machine."""
    with serving(book) as address:
        yield address


@pytest.fixture(scope="session")
def browser():
    """A headless Chromium; without one the test is skipped, under CI it fails."""
    path = os.environ.get("CHROMIUM") or which("chromium") or which("google-chrome")
    if path is None:
        reason = "These tests need Chromium: install it or set CHROMIUM to its path."
        (pytest.fail if os.environ.get("CI") else pytest.skip)(reason)
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=path, args=QUIET)
        yield chromium
        chromium.close()
