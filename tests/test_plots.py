"""The figures: each draws, carries its words, and keeps to the book's colours and sizes."""

import io
import re
from functools import cache

import matplotlib
import numpy as np
import pytest

from attnkit import plots, soft_attention

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


@cache
def draw(name):
    arguments, words = FIGURES[name]
    with matplotlib.rc_context(plots.STYLE):
        figure = getattr(plots, name)(*arguments)
        svg = io.StringIO()
        figure.savefig(svg, format="svg", metadata={"Date": None})
    return figure, svg.getvalue(), words


def texts(svg):
    return re.findall(r"<text[^>]*>([^<]*)</text>", svg)


def test_every_public_figure_is_tried():
    public = {
        name
        for name, thing in vars(plots).items()
        if getattr(thing, "__module__", "") == plots.__name__ and not name.startswith("_")
    }
    assert public - {"use_book_style"} == set(FIGURES)


@pytest.mark.parametrize("name", FIGURES)
def test_words_are_text_in_the_figure(name):
    _, svg, words = draw(name)
    assert not set(words) - set(texts(svg))


@pytest.mark.parametrize("name", FIGURES)
def test_only_colours_of_the_palette(name):
    _, svg, _ = draw(name)
    used = {colour.lower() for colour in re.findall(r"#[0-9a-fA-F]{6}\b", svg)}
    assert used
    assert used <= plots.PALETTE


@pytest.mark.parametrize("name", FIGURES)
def test_readable_on_a_phone(name):
    figure, svg, _ = draw(name)
    assert figure.get_figwidth() <= 6
    sizes = [float(size) for size in re.findall(r"font(?:-size)?: ([\d.]+)px", svg)]
    assert sizes
    assert min(sizes) >= 9


@pytest.mark.parametrize("name", FIGURES)
def test_same_data_same_file(name):
    assert draw(name)[1] == draw.__wrapped__(name)[1]


def test_no_word_without_a_figure():
    shown = "\n".join(text for name in FIGURES for text in texts(draw(name)[1]))
    stems = {key: word.split("{")[0].strip() for key, word in plots.WORDS.items()}
    assert not [key for key, stem in stems.items() if stem not in shown]


def test_hull_has_its_corners_only():
    inside = np.array([[0.0, 0.0], [0.5, -0.5]])
    corners = plots._convex_hull(np.vstack([inside, CORNERS]))
    assert sorted(map(tuple, corners)) == sorted(map(tuple, CORNERS))
