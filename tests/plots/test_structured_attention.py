"""The figures of the chapter on structured attention."""

import numpy as np

rng = np.random.default_rng(0)
INSIDE = np.arange(16) // 5 == 1
MASK = np.arange(5) < np.array([[5], [4], [3], [0]])
CUE = np.zeros((4, 5), bool)
CUE[1, 2] = True

# Name, arguments, and the words that have to stand in the figure.
FIGURES = {
    "trellis": (
        (np.full((3, 2), 0.5), np.full((2, 2, 2), 0.25)),
        ["yes", "no", "item 1", "item 3", "0.50"],
    ),
    "three_weights": (
        (
            rng.normal(size=16),
            INSIDE,
            {kind: rng.random(16) for kind in ("softmax", "sigmoid", "chain")},
        ),
        ["evidence", "what counts", "softmax, scaled", "sigmoid", "chain", "position"],
    ),
    "r_squared": (
        ({"softmax": 0.5, "sigmoid": 0.55, "chain": 0.7}, 0.8),
        ["share of the variance explained", "best possible", "0.80", "0.55", "chain"],
    ),
    "accuracies": (
        ({"average": 0.4, "flat": 0.4, "max": 1.0, "hierarchy": 1.0}, 0.25),
        ["average", "one softmax for all words", "maximum", "hierarchy", "guess", "1.00"],
    ),
    "reading": (
        (MASK / 5, np.array([0.1, 0.9, 0.0, 0.0]), MASK, CUE, MASK & (np.arange(5) == 1)),
        ["words", "sentence weight", "overall", "opinion word", "0.90"],
    ),
}
