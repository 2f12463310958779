"""The figure of the page on limits."""

import numpy as np

WEIGHTS = {name: np.eye(4)[:3] for name in ("temperature", "bond", "window")}

# Name, arguments, and the words that have to stand in the figure.
FIGURES = {
    "families": (
        ([1.0, -1.0, 0.5, 0.0], WEIGHTS),
        ["one row of scores", "hard choice", "mean", "sigmoids", "chain", "all or none", "local"],
    ),
}
