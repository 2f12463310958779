"""The figures of the chapter on hard attention."""

import numpy as np
from matplotlib.patches import PathPatch

from attnkit.plots import hard_attention as plots

PLACES = np.linspace(-3, 3, 7)
CURVES = {name: np.linspace(0.2, 1, 7) for name in plots.LINES}
CELLS = np.random.default_rng(0).random((9, 9, 8))
WEIGHTS = np.array([0.02] * 8 + [0.84])

# Name, arguments, and the words that have to stand in the figure.
FIGURES = {
    "choice_and_expectation": (
        (PLACES, {name: PLACES + 4 for name in ("argmax", "draw", "expected")}),
        ["score of bakery 2", "minutes in the queue", "largest weight", "one draw", "expected"],
    ),
    "bias_and_variance": (
        ([0.1, 0.5, 1, 5], [0.01, 0.02, 0.07, 0.2], [0.8, 0.1, 0.02, 1e-4], 3.4, 0.17),
        ["temperature", "bias", "variance", "Gumbel-softmax", "REINFORCE", "with baseline"],
    ),
    "learning": (
        (PLACES, CURVES),
        ["steps", "accuracy", "soft", "every choice", "straight-through", "with baseline"],
    ),
    "canvas": (
        (CELLS, WEIGHTS, np.eye(8)[0], {"soft": 0.98, "baseline": 0.97, "uniform": 0.25}),
        ["weights on a canvas", "asked", "0.84", "answered right", "soft", "plain mean", "0.25"],
    ),
}


def test_the_darkest_pixel_is_darkest_ink():
    picture = np.zeros((9, 9, 8))
    picture[0, 0, 2] = 1
    figure = plots.canvas(picture, WEIGHTS, np.zeros(8), {"soft": 1.0})
    (patch,) = [p for p in figure.axes[0].patches if isinstance(p, PathPatch)]
    assert patch.get_path().get_extents().bounds == (2, 0, 1, 1)
    assert patch.get_facecolor()[3] == 1
