"""A browser and a server of the built book, shared by the browser tests."""

import os
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from shutil import which

import pytest
from playwright.sync_api import sync_playwright

# Chromium calls its maker on its own; the tests count requests, so it is kept quiet.
QUIET = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


class SilentHandler(SimpleHTTPRequestHandler):
    """Serves files and says nothing."""

    def log_message(self, *_):
        pass


@pytest.fixture(scope="session")
def site(book):
    """The address of the built book, served on this machine."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(SilentHandler, directory=book))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


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
