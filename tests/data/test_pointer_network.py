"""Numbers to sort: their shapes, their range, and the order as numpy and Python have it."""

import numpy as np
import pytest

from attnkit.data import pointer_network as data


@pytest.mark.parametrize(("batch", "length"), [(1, 1), (4, 7), (50, 3)])
def test_numbers_to_sort(batch, length):
    numbers, order = data.to_sort(np.random.default_rng(0), batch, length)
    assert numbers.shape == (batch, length)
    assert order.shape == (batch, length + 1)
    assert 0 <= numbers.min() <= numbers.max() < 1
    for row, slots in zip(numbers, order, strict=True):
        assert slots[-1] == 0
        assert [row[slot - 1] for slot in slots[:-1]] == sorted(row, reverse=True)


def test_one_seed_gives_one_set():
    one, two = (data.to_sort(np.random.default_rng(3), 5, 4) for _ in range(2))
    assert all(np.array_equal(a, b) for a, b in zip(one, two, strict=True))
    assert not np.array_equal(one[0], data.to_sort(np.random.default_rng(4), 5, 4)[0])


def test_of_equal_numbers_the_one_further_left_comes_first():
    assert data.order([[2, 7, 7, 2], [1, 1, 1, 1]]).tolist() == [[2, 3, 1, 4, 0], [1, 2, 3, 4, 0]]
