"""The built book, made once a session for the tests that read its pages."""

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="session")
def book():
    """The folder of the built book, after `make book`."""
    built = subprocess.run(
        ["make", "book"], cwd=ROOT, capture_output=True, text=True, timeout=1500, check=False
    )
    assert built.returncode == 0, (built.stdout + built.stderr)[-6000:]
    return ROOT / "_build" / "html"
