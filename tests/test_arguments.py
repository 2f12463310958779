"""Bad input is answered in words that name the argument, what came, and what is right."""

import subprocess
import sys

import numpy as np
import pytest
import torch

from attnkit import notation, seq2seq
from attnkit import soft_attention as sa
from attnkit.self_attention import masked_softmax, sinusoidal_positions

ONES = np.ones
BAD = [
    (lambda: sa.softmax([1.0, 2.0]), TypeError, ["scores", "list", "numpy array"]),
    (lambda: sa.softmax("abc"), TypeError, ["scores", "'abc'", "numpy array"]),
    (lambda: sa.softmax(ONES(3, int)), TypeError, ["scores", "int64", "floating"]),
    (lambda: sa.softmax(ONES(3, complex)), TypeError, ["scores", "complex128", "real"]),
    (lambda: sa.softmax(ONES(())), ValueError, ["scores", "()", "at least 1 axis"]),
    (lambda: sa.softmax(ONES((2, 0))), ValueError, ["scores", "(2, 0)", "empty"]),
    (lambda: sa.softmax(np.array([1, np.nan])), ValueError, ["scores", "NaN", "finite"]),
    (lambda: sa.softmax(np.array([1, -np.inf])), ValueError, ["scores", "infinite", "finite"]),
    (lambda: sa.softmax(ONES((2, 3)), axis=2), ValueError, ["axis", "2", "-2 to 1"]),
    (lambda: sa.softmax(ONES((2, 3)), axis=1.0), TypeError, ["axis", "1.0", "integer"]),
    (lambda: sa.softmax(ONES((2, 3)), axis=True), TypeError, ["axis", "True", "integer"]),
    (
        lambda: sa.dot_scores(ONES((2, 3)), ONES((5, 4))),
        ValueError,
        ["Q", "3", "K", "4", "W (4, 3)"],
    ),
    (lambda: sa.dot_scores(ONES(3), ONES((5, 3))), ValueError, ["Q", "(3,)", "at least 2 axes"]),
    (
        lambda: sa.bilinear_scores(ONES((2, 3)), ONES((5, 4)), ONES((3, 4))),
        ValueError,
        ["W", "(3, 4)", "Dk = 3", "K", "Dk = 4"],
    ),
    (
        lambda: sa.additive_scores(ONES((2, 3)), ONES((5, 4)), ONES((6, 3)), ONES((6, 4)), ONES(7)),
        ValueError,
        ["v", "H = 7", "W_q", "H = 6"],
    ),
    (
        lambda: sa.additive_scores(
            ONES((2, 3)), ONES((5, 4)), ONES((6, 3)), ONES((6, 4)), ONES((6, 1))
        ),
        ValueError,
        ["v", "(6, 1)", "1 axis", "v (H)"],
    ),
    (
        lambda: sinusoidal_positions(0, 4),
        ValueError,
        ["N", "0", "whole number from 1"],
    ),
    (lambda: sinusoidal_positions(3, 4.0), TypeError, ["D", "4.0", "whole number"]),
    (
        lambda: sinusoidal_positions(3, True),
        TypeError,
        ["D", "True", "whole number"],
    ),
    (lambda: sa.attention_weights(ONES(3), 0), ValueError, ["temperature", "0", "greater than 0"]),
    (lambda: sa.attention_weights(ONES(3), np.inf), ValueError, ["temperature", "inf", "finite"]),
    (lambda: sa.attention_weights(ONES(3), "hot"), TypeError, ["temperature", "'hot'", "number"]),
    (lambda: sa.gaussian_scores(ONES((2, 3)), ONES((5, 3)), -1.0), ValueError, ["bandwidth", "-1"]),
    (
        lambda: sa.soft_read(ONES((2, 3)), ONES((5, 4))),
        ValueError,
        ["V", "N = 5", "weights", "N = 3"],
    ),
    (
        lambda: sa.soft_attention(ONES((2, 3, 4)), ONES((3, 5, 4)), ONES((3, 5, 6))),
        ValueError,
        ["batch", "Q (2,)", "K (3,)"],
    ),
    (
        lambda: sa.soft_attention(ONES((3, 4)), torch.ones(5, 4), ONES((5, 6))),
        TypeError,
        ["Q from numpy", "K from torch"],
    ),
    (
        lambda: notation.attention_cols(ONES((4, 3)), ONES((5, 4)), ONES((6, 4))),
        ValueError,
        ["K", "Dk = 5", "Q", "Dk = 4"],
    ),
    (
        lambda: masked_softmax(ONES((2, 3)), ONES((2, 3))),
        TypeError,
        ["mask", "float64", "True or False"],
    ),
    (
        lambda: masked_softmax(ONES((2, 3)), ONES((2, 5), bool)),
        ValueError,
        ["mask", "N = 5", "scores", "N = 3"],
    ),
    (
        lambda: seq2seq.alignment_score(ONES((4, 5)), ONES(4), ONES(4, bool)),
        TypeError,
        ["aligned", "float64", "integers"],
    ),
]


@pytest.mark.parametrize(("call", "kind", "words"), BAD)
def test_bad_input_is_named(call, kind, words):
    with pytest.raises(kind) as caught:
        call()
    for word in words:
        assert word in str(caught.value)


def test_importing_attnkit_brings_neither_torch_nor_numpy():
    code = "import attnkit, sys; sys.exit('torch' in sys.modules or 'numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], timeout=60, check=False).returncode == 0


def test_the_references_need_no_torch():
    code = "import attnkit.soft_attention, sys; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], timeout=60, check=False).returncode == 0
