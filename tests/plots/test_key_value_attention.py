"""The figures of the chapter on key-value attention."""

import numpy as np

KEYS = np.array([[2.0, 0.0], [1.0, 2.0], [-2.0, 1.0]])
VALUES = np.array([[0.9, 0.1, 0.1], [1.0, 0.9, 0.2], [0.3, 0.6, 1.0]])
WEIGHTS = np.array([0.25, 0.7, 0.05])
GRID = np.linspace(0, 1, 7)
SIZES = [4, 8]
HISTORY = (np.array([[3.0, 0.0], [3.0, 8.5]]), np.array([[1.0, 0.0], [0.0, 1.0]]))

# Name, arguments, and the words that have to stand in the figure.
FIGURES = {
    "soft_dictionary": (
        (np.array([1.0, -1.0]), KEYS, WEIGHTS, VALUES, WEIGHTS @ VALUES),
        ["query", "keys", "weights", "values", "read", "−1", "0.25", "0.9"],
    ),
    "lookup_limit": (
        (GRID[:3], GRID[:3], GRID, {1: GRID, 5: GRID, 50: GRID}),
        ["where you ask", "what you get", "strength 1", "strength 50", "stored: key and value"],
    ),
    "tables_read": (
        (
            {
                design: dict.fromkeys(SIZES, share)
                for design, share in [("apart", 1.0), ("one vector", 0.9), ("keys as values", 0.1)]
            },
            0.125,
        ),
        [
            "numbers kept for an entry",
            "share of right answers",
            "key and value apart",
            "one vector for both",
            "the keys are read",
            "chance",
        ],
    ),
    "strength": (
        (np.geomspace(0.1, 100, 4), np.full((4, 4), 0.25), [0.9, 0.5, 0.0, -0.3]),
        ["key strength", "weight", "cosine 0.90", "cosine −0.30"],
    ),
    "three_ways_to_write": (
        (
            ["Ada", "Bo"],
            ["A", "B"],
            {"add only": HISTORY, "add, then erase": HISTORY, "erase, then add": HISTORY},
        ),
        ["add", "add, then erase", "erase, then add", "Ada", "Bo", "write", "8.5", "3"],
    ),
    "rewritten": (
        ([1, 2], {"only adds": [1.0, 0.5], "erases": [1.0, 1.0]}, [1.0, 0.56]),
        [
            "times the key was written",
            "share of right answers",
            "only adds",
            "erases, then adds",
            "best that adding can do",
        ],
    ),
    "copy_errors": (
        ([10, 20], {"exact": [0, 0], "blurred": [0.1, 0.3], "sharpened": [0, 0]}),
        [
            "length of the sequence",
            "share of wrong bits",
            "exact steps",
            "blurred steps",
            "blurred and sharpened",
        ],
    ),
}
