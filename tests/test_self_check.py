"""A learner's notebook is run to its end whatever its cells do."""

import pytest

from attnkit import notebooks, self_check


def verdicts(body):
    """Those of two exercises, the first answered with ``body`` and the second left blank."""
    notebook = notebooks.learner("soft_attention")
    for cell in notebook.cells:
        if cell.metadata.nbgrader.grade_id == "softmax":
            cell.source = f"def softmax(scores, axis=-1):\n    {body}"
    last = [c.metadata.nbgrader.grade_id for c in notebook.cells].index(
        "multiplicative_scores_check"
    )
    notebook.cells = notebook.cells[: last + 1]
    return [verdict for _, verdict in self_check.verdicts(notebook, timeout=5)]


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("while True: pass", "endless loop"),
        ("import sys; sys.exit()", "SystemExit"),
        ("return input()", "`return input()`, raised StdinNotImplementedError"),
        ("print('x' * 1_000_000); return [1]", "a list"),
        ("import warnings; warnings.warn('!'); return None", "`return` missing"),
    ],
)
def test_one_bad_answer_leaves_the_next_alone(body, words):
    first, second = verdicts(body)
    assert words in first.message
    assert second.kind == "unfinished"


def test_a_cell_that_does_not_compile_is_said():
    first, _ = verdicts("return (scores")
    assert first.message.startswith("SyntaxError")


def test_a_dead_kernel_is_told():
    for verdict in verdicts("import os; os._exit(3)"):
        assert not verdict.passed
        assert "ended the run" in verdict.message
