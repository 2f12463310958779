"""The library's own function is found however it is called, and nothing else is taken for it."""

from dataclasses import replace

import pytest
import torch

from attnkit.checking import judge, shortcuts
from attnkit.exercises import find

SOFTMAX = find("soft_attention.softmax")
BODY = "def softmax(scores, axis=-1):\n    return "
USES = [
    f"import torch\n{BODY}torch.softmax(scores, axis)",
    f"import torch as t\n{BODY}t.softmax(scores, axis)",
    f"import torch.nn.functional as F\n{BODY}F.softmax(scores, axis)",
    f"from torch.nn import functional\n{BODY}functional.softmax(scores, axis)",
    f"from torch import softmax as z\n{BODY}z(scores, axis)",
    f"from torch import *\nown = softmax\n{BODY}own(scores, axis)",
    f"import torch\n{BODY}torch.tensor(scores).softmax(axis)",
    f"import torch\n{BODY}getattr(torch, 'softmax')(scores, axis)",
    f"import torch\n{BODY}getattr(torch.nn, 'functional').softmax(scores, axis)",
    f"{BODY}__import__('torch').softmax(scores, axis)",
    f"import importlib\n{BODY}importlib.import_module('scipy.special').softmax(scores, axis)",
    f"import torch\nF = torch.nn.functional\n{BODY}F.softmax(scores, axis)",
    f"import torch\nf = torch.special.softmax\n{BODY}f(scores, axis)",
    f"import torch\n(f := torch.softmax)\n{BODY}f(scores, axis)",
    f"{BODY}helper(scores)\ndef helper(x):\n    import torch\n    return torch.softmax(x, -1)",
    f"if True:\n    from torch import softmax as z\nelse:\n    z = None\n{BODY}z(scores)",
    "from torch import softmax",
    "import scipy.special\nsoftmax = scipy.special.softmax",
    "import torch\nsoftmax = lambda scores, axis=-1: torch.softmax(scores, axis)",
    "import torch\nclass S:\n    def __call__(self, x): return torch.softmax(x, -1)\nsoftmax = S()",
]
OTHERS = [
    f"import torch\n{BODY}np.exp(scores)\nprint(torch.softmax(torch.ones(3), 0))",
    f"import torch\n{BODY}np.exp(scores)\ndef elsewhere(x):\n    return torch.softmax(x, -1)",
    f"import numpy as np\n{BODY}np.exp(scores)  # not torch.softmax",
    f"{BODY}softmax(scores)",
    f"import mine\n{BODY}mine.softmax(scores)",
    "class A:\n    def softmax(self, x): return x\n    def f(self, x): return self.softmax(x)\n"
    f"{BODY}A().f(scores)",
    f"{BODY}getattr(scores, 'max')()",
    "this is no Python",
    "\0",
    "(" * 5000,
    f"{BODY}scores{'.T' * 3000}",
]


def used(sources, exercise=SOFTMAX):
    return shortcuts.in_sources(sources, [exercise])


@pytest.mark.parametrize("source", USES)
def test_a_use_is_found(source):
    assert used([source])
    # Whichever cells it is spread over.
    assert used([*source.splitlines(), source])


@pytest.mark.parametrize("source", OTHERS)
def test_nothing_else_is_taken_for_one(source):
    assert not used([source])


def test_a_function_inside_of_another_hides_nothing():
    elsewhere = "def softmax_jacobian(scores):\n    def softmax(x): return x\n    return softmax"
    assert used(["from torch import softmax", elsewhere])


def test_an_exercise_that_allows_all_looks_for_nothing():
    assert not used(USES, replace(SOFTMAX, not_allowed=()))


def test_several_answers_are_searched_at_once():
    """Each for its own functions, also in a library of which everything was imported."""
    attention = find("soft_attention.soft_attention")
    exercises = [SOFTMAX, attention, find("soft_attention.additive_scores")]

    def found(softmax, soft_attention):
        answer = f"def soft_attention(Q, K, V):\n    return {soft_attention}"
        imported = "from torch.nn.functional import *"
        return shortcuts.in_sources([imported, BODY + softmax, answer], exercises)

    read = "scaled_dot_product_attention"
    assert found(f"{read}(scores, scores, scores)", "Q.softmax(-1)") == {}
    uses = found("scores.softmax(axis)", f"{read}(Q, K, V)")
    assert uses == {SOFTMAX: "scores.softmax", attention: read}


def the_learners_function(source, tmp_path):
    """As a notebook defines it: its source can be seen."""
    path = tmp_path / "cell.py"
    path.write_text(source)
    namespace = {}
    exec(compile(source, str(path), "exec"), namespace)
    return namespace["softmax"]


@pytest.mark.parametrize(
    "source", [source for source in USES if "scipy" not in source and "class" not in source]
)
def test_the_check_beside_the_answer_says_the_same(source, tmp_path):
    answer = the_learners_function(source, tmp_path)
    verdict = judge(SOFTMAX, answer)
    assert (verdict.kind, verdict.earned) == ("not allowed", 0)
    assert "Knowing it is good" in verdict.hint


def test_the_function_itself_is_no_answer():
    assert judge(SOFTMAX, torch.softmax).kind == "not allowed"


def test_what_was_imported_in_another_cell_is_seen(tmp_path, monkeypatch):
    answer = the_learners_function(f"{BODY}z(scores, axis)", tmp_path)
    answer.__globals__["z"] = torch.softmax
    assert judge(SOFTMAX, answer).kind == "not allowed"


def test_the_text_says_what_is_not_allowed():
    assert "Not allowed here: `scipy.special.softmax`, `torch.softmax`." in SOFTMAX.terms
