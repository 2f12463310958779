"""What the tests of the judge share: a notebook of two exercises to grade."""

import pytest

from attnkit import notebooks
from attnkit.grading import judge

LIMITS = {"memory": 4 * 2**30, "seconds": 60}
CELLS = ("imports", "softmax", "softmax_check", "softmax_jacobian", "softmax_jacobian_check")


@pytest.fixture
def impatient(monkeypatch):
    """A judge that waits for a second only, so that endless answers end soon."""
    monkeypatch.setattr(judge, "STEP", 1.0)
    monkeypatch.setattr(judge, "GRACE", 0.5)


@pytest.fixture
def judged(impatient):
    """Judge a notebook of two exercises: the answer to the first, a right one to the second."""

    def grade(answer, seed=7, limits=LIMITS, **options):
        notebook = notebooks.teacher("soft_attention")
        by_id = {cell.metadata.nbgrader.grade_id: cell for cell in notebook.cells}
        by_id["softmax"].source = answer
        notebook.cells = [by_id[name] for name in CELLS]
        return judge.judge(notebook, seed=seed, limits=limits, **options)

    return grade
