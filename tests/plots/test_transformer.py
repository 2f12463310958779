"""The figures of the chapter on the Transformer."""

import numpy as np

LETTERS = list("kqmkq")
LOOKS = np.stack([np.eye(5, k=-1), np.tril(np.ones((5, 5))) / np.arange(1, 6)[:, None]])

# Name, arguments, and the words that have to stand in the figure.
FIGURES = {
    "orders": ((), ["post-norm", "pre-norm", "attend", "feed-forward", "norm", "+"]),
    "gradients": (
        ({"post": np.linspace(300, 600, 24), "pre": np.linspace(600, 150, 24)},),
        ["post-norm", "pre-norm", "block, from the input"],
    ),
    "collapse": (
        ({"alone": [1, 1e-2, 1e-7, 1e-16], "residual": [1, 0.9, 0.9, 0.8], "both": [1] * 4},),
        ["layers", "how different the places are", "alone", "residual", "both", "1e-8"],
    ),
    "training": (
        ({"two": np.linspace(4, 0, 100), "one": np.linspace(4, 2, 100)},),
        ["step of the training", "loss", "two", "one"],
    ),
    "patterns": (
        (LOOKS, LETTERS, 3),
        ["layer 1", "layer 2", "who asks", "the place before", "behind the same token", "k"],
    ),
    "glances": (
        (LOOKS[1][2:4], LETTERS, ["Ada", "Ben"]),
        ["Ada", "Ben", "who asks", "who is asked", "q"],
    ),
}
