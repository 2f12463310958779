"""What came is compared with what was wanted as plain numbers, and told in words."""

import numpy as np
import pytest
import torch

from attnkit.checking.compare import difference, plain, same

WANTED = np.arange(6.0).reshape(2, 3)


class EqualToEverything(np.ndarray):
    """An array that lies when it is compared."""

    def __eq__(self, other):
        return np.ones(self.shape, bool)

    def __sub__(self, other):
        return np.zeros(self.shape)

    def __abs__(self):
        return np.zeros(self.shape)


@pytest.mark.parametrize(
    "given", [WANTED, WANTED + 1e-10, torch.tensor(WANTED), WANTED.astype(int), WANTED.T.copy().T]
)
def test_right_values_are_accepted(given):
    assert difference(plain(given), WANTED) is None


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
        (WANTED + np.array([0, 0, 1e-6]), "value", "[0, 2]"),
        (WANTED.view(EqualToEverything) + 1, "value", "[0, 0]"),
    ],
)
def test_what_is_wrong_is_said(given, kind, words):
    found = difference(plain(given), WANTED)
    assert found.kind == kind
    assert words in found.message


def test_the_parts_of_a_tuple_are_named():
    found = difference((WANTED, WANTED + 1), (WANTED, WANTED), ("read", "weights"))
    assert found.message.startswith("`weights` at [0, 0] is 1; wanted is 0")
    assert "read, weights" in difference(WANTED, (WANTED, WANTED), ("read", "weights")).message


def test_numbers_of_single_precision_are_given_their_tolerance():
    wanted = WANTED.astype(np.float32)
    assert difference(wanted + np.float32(1e-5), wanted) is None
    assert difference(wanted + np.float32(1e-2), wanted).kind == "value"


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
