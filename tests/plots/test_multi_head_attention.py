"""The figures of the chapter on multi-head attention."""

import numpy as np

WEIGHTS = np.array([[0.9, 0.05, 0.05], [0.1, 0.2, 0.7]])

# Name, arguments, and the words that have to stand in the figure.
FIGURES = {
    "two_heads": (
        (["dog", "chased", "cat"], WEIGHTS, np.array([[0.9, 0.0], [0.1, 0.7]])),
        ["weights", "reads, side by side", "head 1", "head 2", "dog", "chased", "cat", "0.90"],
    ),
    "cuts": (
        ({way: np.arange(12).reshape(3, 4) % 2 for way in ("blocks", "turns", "reshape")},),
        ["blocks (right)", "by turns", "reshape alone", "features", "items", "1", "2"],
    ),
    "shares": (
        ({1: WEIGHTS[:1], 2: WEIGHTS, 4: np.vstack([WEIGHTS, WEIGHTS])},),
        ["1 head", "2 heads", "4 heads", "head 4", "first place", "second place", "elsewhere"],
    ),
    "ablation": (
        ({(): 1.0, (0,): 0.97, (0, 2): 0.7}, 1 / 6),
        ["all heads", "without 1", "without 1 + 3", "0.97", "one right, one guessed"],
    ),
}
