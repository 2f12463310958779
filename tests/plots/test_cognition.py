"""The figures of the chapter on attention in the mind."""

import numpy as np

from attnkit.data import cognition as data

rng = np.random.default_rng(0)
BARS = data.search_display(9, "conjunction", rng)
X = rng.normal(size=(6, 4))

# Name, arguments, and the words that have to stand in the figure.
FIGURES = {
    "promoted": (
        ({"upright": [0.6, 0, 0], "vermillion": [0, 0.8, 0.8]}, [0.22, 0.0, 0.0]),
        ["upright", "vermillion", "plain sum", "score", "bar 1", "bar 2", "bar 3", "0.22"],
    ),
    "displays": (({"feature": BARS, "conjunction": BARS},), ["feature", "conjunction"]),
    "looked_at": (
        ([(rng.random((8, 12, 3)), rng.random((8, 12)), np.array([[2, 3], [6, 9]]))],),
        ["visits in order", "scores of all places", "1", "2"],
    ),
    "search": (
        ([9, 16], {"feature": [1, 1], "conjunction": [4, 7], "guided": [1, 1]}),
        [
            "number of bars", "visits until the target", "feature", "conjunction",
            "conjunction, with a query", "each place once, by chance", "9", "16",
        ],
    ),
    "mean_to_max": (
        (np.geomspace(0.01, 100, 5), np.stack([X[0]] * 5), X),
        ["β", "pooled value", "channel 1", "channel 4", "mean", "max", "0.01", "1", "100"],
    ),
}  # fmt: skip
