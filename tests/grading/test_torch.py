"""Exercises whose answer is a function of tensors, or trains: arrays cross, gradients too."""

import nbformat
import numpy as np
import pytest
import torch

from attnkit import soft_attention
from attnkit.checking import exercise, laws
from attnkit.checking import judge as judge_here
from attnkit.grading import confine, judge
from tests.grading.conftest import LIMITS

if confine.missing():
    pytest.skip(f"needs {', '.join(confine.missing())}", allow_module_level=True)

FIELDS = dict(
    number="9.1", minutes=5, difficulty=1, points=2, hints=("a", "b", "c"), backend="torch"
)


@exercise(
    reference=soft_attention.softmax,
    title="Weights with a gradient",
    contract="scores (N) -> weights (N)",
    gradients=("scores",),
    laws=[
        laws.sums_to(1, along=lambda arguments: -1),
        laws.shift_invariant("scores", along=lambda arguments: -1),
    ],
    **FIELDS,
)
def gentle(scores):
    """Softmax, in torch."""


gentle.case("a vector")(lambda rng: {"scores": rng.normal(size=5)})
gentle.case("far apart")(lambda rng: {"scores": rng.uniform(-100, 100, size=5)})
gentle.case("single")(lambda rng: {"scores": rng.normal(size=5).astype("f4")})


@gentle.misconception("cuts the normaliser off the gradient", hint="Where is detach?")
def cut_off(scores):
    exponentials = torch.exp(scores - scores.max())
    return exponentials / exponentials.sum().detach()


def descend(w, X, y, steps):
    """Least squares by gradient descent; the weights, and the loss before each step."""
    w = w.clone().requires_grad_()
    losses = []
    for _ in range(steps):
        loss = ((X @ w - y) ** 2).mean()
        (gradient,) = torch.autograd.grad(loss, w)
        w = (w - 0.1 * gradient).detach().requires_grad_()
        losses.append(loss.detach())
    return w.detach(), torch.stack(losses)


def loss(value, w, X, y, steps):
    """the loss of your weights"""
    if np.isnan(value[0]).all():
        raise ZeroDivisionError("what some decompositions do with NaN")
    return np.mean((X @ value[0] - y) ** 2)


@exercise(
    reference=descend,
    title="Descend",
    contract="w (D), X (N, D), y (N), steps -> weights (D), losses (steps)",
    parts=("weights", "losses"),
    measure=loss,
    **FIELDS,
)
def train(w, X, y, steps):
    """Train."""


@train.case("some data")
def _(rng):
    X = rng.normal(size=(20, 3))
    return {"w": rng.normal(size=3), "X": X, "y": X @ rng.normal(size=3), "steps": 30}


GENTLE = {
    "right": "    e = torch.exp(scores - scores.max())\n    return e / e.sum()",
    "of the library": "    return torch.nn.functional.softmax(scores, dim=-1)",
    "cut off": "    e = torch.exp(scores - scores.max())\n    return e / e.sum().detach()",
    "out of torch": "    e = np.exp(scores.detach().numpy())\n    return e / e.sum()",
    "no tensor": "    return None",
    "changes it": "    with torch.no_grad():\n        scores -= scores.max()\n"
    "    e = torch.exp(scores)\n    return e / e.sum()",
}
STEP = (
    "    w = w.clone().requires_grad_()\n    losses = []\n    for _ in range(steps):\n"
    "        loss = ((X @ w - y) ** 2).mean()\n        loss.backward()\n"
    "        with torch.no_grad():\n            w -= 0.1 * w.grad\n            w.grad = None\n"
    "        losses.append(loss.item())\n"
)
TRAIN = {
    "right": STEP + "    return w.detach(), torch.tensor(losses, dtype=w.dtype)",
    "lies": "    return w, torch.zeros(steps, dtype=w.dtype)",
    "untrained and honest": "    return w, ((X @ w - y) ** 2).mean().repeat(steps)",
    "weights alone": "    return w",
    "not a number": "    return w * np.nan, torch.zeros(steps, dtype=w.dtype)",
    "lists": STEP + "    return w.detach().tolist(), losses",
}


def answered(item, body):
    cells = [
        nbformat.v4.new_code_cell(
            f"import torch\nimport numpy as np\ndef {item.function}{item.signature}:\n{body}"
        ),
        nbformat.v4.new_code_cell(f'check("{item.name}", {item.function})'),
    ]
    for cell, grade in zip(cells, (False, True), strict=True):
        cell.metadata["nbgrader"] = {"grade": grade, "grade_id": item.function}
    return nbformat.v4.new_notebook(cells=cells)


@pytest.fixture
def verdict(monkeypatch):
    """What the judge says of an answer to one of the exercises above, as the check here does."""
    monkeypatch.setattr(judge, "find", {item.name: item for item in (gentle, train)}.__getitem__)

    def of(item, body):
        (there,) = judge.judge(answered(item, body), seed=5, limits=LIMITS).verdicts
        namespace = {"torch": torch, "np": np}
        exec(f"def {item.function}{item.signature}:\n{body}", namespace)
        here = judge_here(item, namespace[item.function])
        assert (here.kind, here.misconceptions) == (there.kind, there.misconceptions)
        return there

    return of


@pytest.mark.parametrize(
    ("answer", "kind", "words"),
    [
        ("right", "passed", "3 cases and every law agree"),
        ("of the library", "passed", ""),
        ("cut off", "value", "`the gradient in scores` at ["),
        (
            "out of torch",
            "type",
            "`the gradient in scores` is missing (what you return has left torch",
        ),
        ("no tensor", "type", "None (is a `return` missing?)"),
        ("changes it", "arguments changed", "`scores`"),
    ],
)
def test_values_and_gradients_are_judged(verdict, answer, kind, words):
    found = verdict(gentle, GENTLE[answer])
    assert found.kind == kind
    assert words in found.message
    if answer == "cut off":
        assert found.misconceptions == ("cuts the normaliser off the gradient",)


@pytest.mark.parametrize(
    ("answer", "kind", "words"),
    [
        ("right", "passed", ""),
        ("lies", "value", "the loss of your weights is"),
        ("untrained and honest", "value", "the loss of your weights is"),
        ("not a number", "value", "the loss of your weights cannot be computed"),
        ("weights alone", "type", "wanted is a tuple of arrays: (weights, losses)"),
        ("lists", "type", "`weights` is a list"),
    ],
)
def test_training_is_judged_by_its_weights_and_not_by_what_it_says(verdict, answer, kind, words):
    found = verdict(train, TRAIN[answer])
    assert found.kind == kind
    assert words in found.message


def test_a_gradient_needs_torch():
    with pytest.raises(ValueError, match='gradients need backend="torch"'):
        exercise(
            reference=descend,
            title="x",
            contract="",
            gradients=("w",),
            **FIELDS | {"backend": "numpy"},
        )(descend)
