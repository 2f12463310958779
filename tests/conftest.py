"""What many tests need: the built book and a graded class, made once a session, and tensors."""

import subprocess
from pathlib import Path

import pytest
import torch
from filelock import FileLock

ROOT = Path(__file__).parents[1]

# The tensors are tiny: on a busy machine two threads only wait for each other.
torch.set_num_threads(1)


@pytest.fixture(scope="session")
def book(tmp_path_factory, testrun_uid):
    """The folder of the built book, after `make book` by the first of the processes that test."""
    built = tmp_path_factory.getbasetemp().parent / f"book-{testrun_uid}"
    with FileLock(f"{built}.lock"):
        if not built.exists():
            made = subprocess.run(
                ["make", "book"],
                cwd=ROOT,
                capture_output=True,
                text=True,
                timeout=1500,
                check=False,
            )
            assert made.returncode == 0, (made.stdout + made.stderr)[-6000:]
            built.touch()
    return ROOT / "_build" / "html"


@pytest.fixture(scope="session")
def rehearsal(tmp_path_factory):
    """A class with every kind of answer, graded; see ``tests.rehearsal``."""
    from attnkit.grading import confine
    from tests.rehearsal import rehearse

    if confine.missing():
        pytest.skip(f"needs {', '.join(confine.missing())}")
    return rehearse(tmp_path_factory.mktemp("class"))


@pytest.fixture
def tensors():
    """Draws tensors of a shape in double precision, the same in each run."""
    generator = torch.Generator().manual_seed(0)

    def draw(*shape):
        return torch.randn(shape, generator=generator, dtype=torch.float64)

    return draw
