"""Each law holds for the reference and is broken by a function that breaks it."""

import numpy as np
import pytest

from attnkit import soft_attention as sa
from attnkit.checking import laws

RNG = np.random.default_rng(0)
SCORES = {"scores": RNG.normal(size=(3, 5))}
ITEMS = {name: RNG.normal(size=(2, n, d)) for name, n, d in [("Q", 3, 4), ("K", 5, 4), ("V", 5, 6)]}


def last(arguments):
    return -1


def read(Q, K, V):
    return sa.soft_attention(Q, K, V)[0]


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
    "agrees": (
        laws.agrees("twice", lambda f, a: (f(scores=2 * a["scores"]), 2 * f(**a))),
        lambda scores: scores.sum(-1),
        lambda scores: (scores**2).sum(-1),
        SCORES,
    ),
}


@pytest.mark.parametrize(("law", "keeps", "breaks", "arguments"), CASES.values(), ids=CASES)
def test_law(law, keeps, breaks, arguments):
    assert law(keeps, arguments, np.random.default_rng(1)) is None
    assert law(breaks, arguments, np.random.default_rng(1))
