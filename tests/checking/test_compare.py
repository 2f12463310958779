"""What came is compared with what was wanted as plain numbers, and told in words."""

import numpy as np
import pytest
import torch

from attnkit.checking.compare import difference, plain, same
from attnkit.checking.generic import EqualToEverything
from attnkit.checking.tolerance import Wanted

WANTED = np.arange(6.0).reshape(2, 3)
SLACK = np.full((2, 3), 1e-8)


def wanted(value=WANTED, slack=SLACK, dtype="float64"):
    return Wanted(value, slack, np.dtype(dtype))


@pytest.mark.parametrize(
    "given", [WANTED, WANTED + 1e-10, torch.tensor(WANTED), WANTED.astype(int), WANTED.T.copy().T]
)
def test_right_values_are_accepted(given):
    assert difference(plain(given), wanted()) is None


@pytest.mark.parametrize(
    ("given", "kind", "words"),
    [
        (None, "type", "return"),
        (WANTED.tolist(), "type", "list"),
        ((WANTED, WANTED), "type", "tuple of 2"),
        (WANTED.T, "shape", "(3, 2)"),
        (WANTED[0], "shape", "(3,)"),  # would broadcast
        (WANTED.astype(np.float32), "dtype", "float32"),
        (WANTED.astype(complex), "dtype", "complex128"),
        (WANTED.astype(str), "dtype", "real"),
        (WANTED + np.nan, "value", "nan"),
        (WANTED + np.array([0, 0, 1e-6]), "value", "[1, 2]"),
        ((WANTED + 1).view(EqualToEverything), "value", "[1, 2]"),
    ],
)
def test_what_is_wrong_is_said(given, kind, words):
    found = difference(plain(given), wanted())
    assert found.kind == kind
    assert words in found.message


@pytest.mark.parametrize("given", [2.5, np.nan])
def test_single_numbers_are_compared_too(given):
    number = wanted(plain(np.float64(2.0)), np.float64(1e-8))
    assert difference(plain(np.float64(2.0)), number) is None
    found = difference(plain(np.float64(given)), number)
    assert found.kind == "value"
    assert found.message == f"what you return is {given:.6g}; wanted is 2"


def test_the_parts_of_a_tuple_are_named():
    both = wanted((WANTED, WANTED), (SLACK, SLACK))
    found = difference((WANTED, WANTED + 1), both, ("read", "weights"))
    assert found.message.startswith("`weights` at [1, 2] is 6; wanted is 5")
    assert "read, weights" in difference(WANTED, both, ("read", "weights")).message


def test_single_precision_is_accepted_where_the_arguments_have_it():
    single = wanted(slack=np.full((2, 3), 1e-4), dtype="float32")
    assert difference(WANTED.astype("float32") + np.float32(1e-5), single) is None
    assert difference(WANTED.astype("float32") + np.float32(1e-2), single).kind == "value"


def test_a_difference_too_small_to_be_seen_is_said():
    assert "off by" in difference(WANTED + 1e-7, wanted()).message


def test_a_plain_copy_does_not_follow_the_array_it_came_from():
    array = WANTED.copy()
    copy = plain((array,))
    array += 1
    assert same(copy[0], WANTED)


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        (WANTED, WANTED + 1e-9, True),
        (WANTED, WANTED + 1, False),
        (WANTED, WANTED.T, False),
        (WANTED + np.nan, WANTED + np.nan, True),
        (WANTED + np.nan, WANTED, False),
        ((WANTED,), (WANTED,), True),
        ((WANTED,), WANTED, False),
        (None, None, True),
        (None, WANTED, False),
    ],
)
def test_same(one, other, alike):
    assert same(one, other) is alike
