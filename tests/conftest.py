"""What all tests share: torch on one thread, and the built book, made once a session."""

import subprocess
from pathlib import Path

import pytest
import torch

ROOT = Path(__file__).parents[1]

# The tensors are tiny: on a busy machine two threads only wait for each other.
torch.set_num_threads(1)


@pytest.fixture(scope="session")
def book():
    """The folder of the built book, after `make book`."""
    built = subprocess.run(
        ["make", "book"], cwd=ROOT, capture_output=True, text=True, timeout=1500, check=False
    )
    assert built.returncode == 0, (built.stdout + built.stderr)[-6000:]
    return ROOT / "_build" / "html"
