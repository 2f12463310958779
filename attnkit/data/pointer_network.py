"""Numbers to sort, and the order in which they are to be pointed at.

>>> numbers, order = to_sort(np.random.default_rng(0), batch=2, length=3)
>>> numbers.round(2)
array([[0.64, 0.27, 0.04],
       [0.02, 0.81, 0.91]])
>>> order
array([[1, 2, 3, 0],
       [3, 2, 1, 0]])
"""

import numpy as np


def to_sort(rng, batch, length):
    """Numbers from 0 to 1 ``(batch, length)``, and their `order`."""
    numbers = rng.random((batch, length))
    return numbers, order(numbers)


def order(numbers):
    """Which item is the largest, which comes next, ..., and at last 0, which is to stop.

    The items count from 1; of equal numbers the one further left comes first. ``numbers`` are
    ``(..., N)``, the answer is ``(..., N + 1)``.

    >>> order(np.array([5, 20, 10]))
    array([2, 3, 1, 0])
    """
    items = np.argsort(-np.asarray(numbers), axis=-1, stable=True) + 1
    return np.concatenate([items, np.zeros_like(items[..., :1])], axis=-1)
