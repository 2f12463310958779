"""Each law holds for the reference and is broken by a function that breaks it."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from attnkit import soft_attention as sa
from attnkit.checking import laws

RNG = np.random.default_rng(0)
SCORES = {"scores": RNG.normal(size=(3, 5))}
ITEMS = {name: RNG.normal(size=(2, n, d)) for name, n, d in [("Q", 3, 4), ("K", 5, 4), ("V", 5, 6)]}


def last(arguments):
    return -1


def read(Q, K, V):
    return sa.soft_attention(Q, K, V)[0]


def masked(scores, mask):
    hidden = torch.where(torch.as_tensor(mask), torch.as_tensor(scores), -torch.inf)
    return torch.softmax(hidden, -1)


def causal_attention(X):
    X = torch.tensor(X)
    return F.scaled_dot_product_attention(X, X, X, is_causal=True).numpy()


def with_nan_gradient(scores):
    return torch.sqrt(0 * scores)


def raises_its_argument(scores):
    scores += 1
    return scores


def naive(scores):
    return np.exp(scores)


CASES = {
    "sums to one": (laws.sums_to(1, along=last), sa.softmax, naive, SCORES),
    "not negative": (laws.not_negative(), sa.softmax, lambda scores: scores, SCORES),
    "shift": (laws.shift_invariant("scores", along=last), sa.softmax, naive, SCORES),
    "permuted items, read": (
        laws.items_permuted("K", "V", axis=-2),
        read,
        lambda Q, K, V: read(Q, K, V + np.arange(5)[:, None]),
        ITEMS,
    ),
    "permuted items, weights": (
        laws.items_permuted("K", "V", axis=-2, output_axis=-1),
        lambda Q, K, V: sa.dot_scores(Q, K),
        lambda Q, K, V: sa.dot_scores(Q, K) + np.arange(5),
        ITEMS,
    ),
    "batch": (
        laws.batch_independent("Q", "K", "V", rank=2),
        read,
        lambda Q, K, V: read(Q, K, V) + Q.mean(),
        ITEMS,
    ),
    "hull": (
        laws.read_inside_hull("V", axis=-2),
        read,
        lambda Q, K, V: 3 * read(Q, K, V),
        ITEMS,
    ),
    "symmetric": (
        laws.symmetric(),
        sa.softmax_jacobian,
        lambda scores: sa.softmax_jacobian(scores) + np.arange(5),
        SCORES,
    ),
    "inputs unchanged": (
        laws.inputs_unchanged(),
        sa.softmax,
        raises_its_argument,
        {"scores": SCORES["scores"].copy()},
    ),
    "hidden keys": (
        laws.hidden_keys_get_nothing("mask", part=np.asarray),
        masked,
        lambda scores, mask: sa.softmax(np.where(mask, scores, -5)),
        SCORES | {"mask": np.arange(15).reshape(3, 5) % 4 > 0},
    ),
    "causal": (
        laws.causal("X", axis=-2, output_axis=-2),
        causal_attention,
        lambda X: F.scaled_dot_product_attention(*[torch.tensor(X)] * 3).numpy(),
        {"X": RNG.normal(size=(2, 5, 4))},
    ),
    "finite gradients": (
        laws.finite_gradients("scores"),
        sa.softmax,
        with_nan_gradient,
        SCORES,
    ),
    "agrees": (
        laws.agrees("twice", lambda f, a: (f(scores=2 * a["scores"]), 2 * f(**a))),
        lambda scores: scores.sum(-1),
        lambda scores: (scores**2).sum(-1),
        SCORES,
    ),
}


@pytest.mark.parametrize(("law", "keeps", "breaks", "arguments"), CASES.values(), ids=CASES)
def test_law(law, keeps, breaks, arguments):
    assert law.broken_by(keeps, arguments) is None
    assert law.broken_by(breaks, arguments)


def test_a_law_without_an_argument_is_silent_where_it_is_given():
    law = laws.without("mask", laws.sums_to(1, along=last))
    assert law.broken_by(lambda scores, mask=None: scores, SCORES)
    assert law.broken_by(lambda scores, mask=None: scores, SCORES | {"mask": None}) is None
