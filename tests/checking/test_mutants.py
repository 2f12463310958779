"""The mutator makes each small change once, and every change is a program that differs."""

import ast

import pytest

from attnkit.checking.mutants import mutants


@pytest.mark.parametrize(
    ("source", "changed"),
    [
        ("a + b", {"a", "b", "a - b"}),
        ("a - b", {"a", "b", "a + b", "b - a"}),
        ("a @ b", {"a", "b", "b @ a"}),
        ("-a", {"a"}),
        ("f(x, axis=0)", {"f(x, axis=1)", "f(x, axis=-1)"}),
        ("np.max(x, axis=k)", {"np.min(x, axis=k)", "x", "np.max(x)"}),
        (
            "np.max(x, keepdims=True)",
            {"np.min(x, keepdims=True)", "x", "np.max(x)", "np.max(x, keepdims=False)"},
        ),
        ("np.tanh(x)", {"x"}),
        ("x.mT", {"x"}),
        ("a if c else b", {"a", "b"}),
        ("(a, b)", {"(b, a)"}),
        ("x[..., None, k]", {"x[..., k, None]"}),
        ("if c:\n    a", {"pass", "if True:\n    a"}),
    ],
)
def test_changes(source, changed):
    assert {text for _, text in mutants(source)} == changed


def test_every_mutant_is_a_program_that_differs():
    source = "def f(x, y=2):\n    if y:\n        x = x @ y.mT\n    return x / 3, -y"
    found = list(mutants(source))
    assert len({text for _, text in found}) == len(found)
    for change, text in found:
        ast.parse(text)
        assert text != source
        assert "->" in change
