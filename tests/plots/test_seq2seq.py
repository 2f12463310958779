"""The figures of the chapter on encoder and decoder."""

import numpy as np

WEIGHTS = np.eye(3)[::-1] * 0.9 + 0.05

# Name, arguments, and the words that have to stand in the figure.
FIGURES = {
    "two_ways": (
        ("314", "413", WEIGHTS),
        ["one summary for all steps", "a context for each step", "source", "target", "C", "3"],
    ),
    "by_length": (
        ([5, 10, 20], {"small": [1, 0.8, 0.4], "large": [1, 0.9, 0.5]}, 20),
        ["length of the source", "share of right digits", "lengths seen in training", "small"],
    ),
    "alignments": (
        ({"values: states": WEIGHTS, "values: embeddings": WEIGHTS}, "314", "413", [2, 1, 0]),
        ["values: states", "values: embeddings", "source", "target", "the digit to write", "4"],
    ),
    "letters": (
        ([("5 May", "05-05", np.full((5, 5), 0.2))],),
        ["source", "target", "M", "-"],
    ),
}
