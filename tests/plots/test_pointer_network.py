"""The figures of the chapter on pointer networks."""

import numpy as np

WEIGHTS = np.eye(4)[[2, 3, 1, 0]] * 0.9 + 0.025

# Name, arguments, and the words that have to stand in the figure.
FIGURES = {
    "read_or_point": (
        ([5, 20, 10], [0.1, 0.7, 0.2]),
        ["attention reads: an average", "a pointer points: a place", "item 2", "16.5", "0.70"],
    ),
    "by_length": (
        ([3, 5, 10], {"with": [1, 1, 0.9], "without": [1, 0.9, 0]}, {"with": [0, 0, 0]}, (3, 5)),
        ["how many numbers", "sorted without a mistake", "pointed twice somewhere", "trained on"],
    ),
    "pointing": (
        ({"with the mask": WEIGHTS, "without": WEIGHTS}, [5, 20, 10], [2, 3, 1, 0]),
        ["with the mask", "without", "20", "gate", "step", "where to point", "4"],
    ),
}
