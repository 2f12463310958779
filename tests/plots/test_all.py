"""All figures: each draws, carries its words, and keeps to the book's colours and sizes.

A chapter's figures are ``attnkit.plots.X``; how to draw them stands in ``FIGURES`` of
``tests/plots/test_X.py``: name, arguments, and the words that have to stand in the figure.
"""

import io
import re
from functools import cache
from importlib import import_module
from pkgutil import iter_modules

import matplotlib
import pytest

from attnkit import plots

CHAPTERS = [module.name for module in iter_modules(plots.__path__)]
MODULES = {chapter: import_module(f"attnkit.plots.{chapter}") for chapter in CHAPTERS}
FIGURES = {chapter: import_module(f"tests.plots.test_{chapter}").FIGURES for chapter in CHAPTERS}

chapters = pytest.mark.parametrize("chapter", CHAPTERS)
figures = pytest.mark.parametrize(
    ("chapter", "name"), [(chapter, name) for chapter in CHAPTERS for name in FIGURES[chapter]]
)


@cache
def draw(chapter, name):
    arguments, words = FIGURES[chapter][name]
    with matplotlib.rc_context(plots.STYLE):
        figure = getattr(MODULES[chapter], name)(*arguments)
        svg = io.StringIO()
        figure.savefig(svg, format="svg", metadata={"Date": None})
    return figure, svg.getvalue(), words


def texts(svg):
    return re.findall(r"<text[^>]*>([^<]*)</text>", svg)


@chapters
def test_every_public_figure_is_tried(chapter):
    public = {
        name
        for name, thing in vars(MODULES[chapter]).items()
        if getattr(thing, "__module__", "") == MODULES[chapter].__name__
        and not name.startswith("_")
    }
    assert public == set(FIGURES[chapter])


@figures
def test_words_are_text_in_the_figure(chapter, name):
    _, svg, words = draw(chapter, name)
    assert not set(words) - set(texts(svg))


@figures
def test_only_colours_of_the_palette(chapter, name):
    _, svg, _ = draw(chapter, name)
    used = {colour.lower() for colour in re.findall(r"#[0-9a-fA-F]{6}\b", svg)}
    assert used
    assert used <= plots.PALETTE


@figures
def test_readable_on_a_phone(chapter, name):
    figure, svg, _ = draw(chapter, name)
    assert figure.get_figwidth() <= 6
    sizes = [float(size) for size in re.findall(r"font(?:-size)?: ([\d.]+)px", svg)]
    assert sizes
    assert min(sizes) >= 9


@figures
def test_same_data_same_file(chapter, name):
    assert draw(chapter, name)[1] == draw.__wrapped__(chapter, name)[1]


@chapters
def test_no_word_without_a_figure(chapter):
    svgs = [draw(chapter, name)[1] for name in FIGURES[chapter]]
    shown = "\n".join(text for svg in svgs for text in texts(svg))
    stems = {key: word.split("{")[0].strip() for key, word in MODULES[chapter].WORDS.items()}
    assert not [key for key, stem in stems.items() if stem not in shown]
