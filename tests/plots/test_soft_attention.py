"""The figures of the chapter on soft attention."""

import numpy as np

from attnkit import soft_attention
from attnkit.plots import soft_attention as plots

rng = np.random.default_rng(0)
SCORES = [2.0, 1.0, 0.0]
WEIGHTS = soft_attention.softmax(np.array(SCORES))
TEMPERATURES = np.geomspace(0.1, 10, 5)
CORNERS = np.array([[-2.0, -1.0], [-1.0, 2.0], [2.0, 1.0], [1.0, -2.0]])
KEYS = np.array([[1.0, 0.5], [3.0, 3.0]])
GRID = np.linspace(0, 1, 7)
MEASURED = [{"jacobian": 0.3, "entropy": 2.0}, {"jacobian": 0.2, "entropy": 1.0}]

# Name, arguments, and the words that have to stand in the figure.
FIGURES = {
    "score_normalise_read": (
        (SCORES, WEIGHTS, np.array([60.0, 40.0, 30.0]), 52.4),
        ["scores", "weights", "walk 1", "walk 2", "walk 3", "0.67", "minutes", "read 52.4"],
    ),
    "temperature": (
        (TEMPERATURES, np.stack([WEIGHTS] * 5)),
        ["temperature", "weight", "walk 1", "walk 2", "walk 3"],
    ),
    "score_maps": (
        (
            {
                "dot": soft_attention.dot_scores,
                "bilinear": soft_attention.scaled_dot_scores,
                "additive": soft_attention.dot_scores,
                "gaussian": soft_attention.gaussian_scores,
            },
            np.ones(2),
            KEYS,
        ),
        ["dot", "bilinear", "additive", "Gaussian", "q", "k near", "k long"],
    ),
    "hull": (
        (np.vstack([CORNERS, [[0, 0]]]), 0.3 * CORNERS),
        ["hull", "reads", "items"],
    ),
    "kernel_regression": (
        (GRID, GRID, GRID, {0.05: GRID, 0.5: GRID, 5: GRID}),
        ["rain", "minutes", "remembered walks", "h = 0.05", "h = 0.5", "h = 5"],
    ),
    "saturation": (
        ([4, 16], MEASURED, MEASURED, 16),
        ["norm of the Jacobian", "entropy of the weights", "dimension d", "unscaled", "scaled"],
    ),
}


def test_hull_has_its_corners_only():
    inside = np.array([[0.0, 0.0], [0.5, -0.5]])
    corners = plots._convex_hull(np.vstack([inside, CORNERS]))
    assert sorted(map(tuple, corners)) == sorted(map(tuple, CORNERS))
