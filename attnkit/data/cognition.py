"""Displays in which to search for one bar, and photographs that come with scikit-image."""

import numpy as np

SIDE = 128
# The bars of a display, half as long and half as wide as that, from their middle.
HALF_LENGTH, HALF_WIDTH = 5, 1
VERMILLION, BLUE, PAPER = (0.72, 0.28, 0.05), (0.04, 0.37, 0.62), (1.0, 1.0, 1.0)
PHOTOS = ("astronaut", "chelsea", "coffee", "rocket")


def search_display(n, kind, rng):
    """One upright vermillion bar among n - 1 others, each in a square of a grid, off its middle.

    In a ``"feature"`` display all others lie, vermillion or blue; in a ``"conjunction"`` half of
    them stand and are blue and half lie and are vermillion.

    :param n: how many bars, a square number from 4 to 36
    :param rng: a numpy Generator
    :returns: the bars ``(n, 4)``: row, column, 1 if blue, 1 if lying; the target is the first
    """
    grid = round(n**0.5)
    if grid**2 != n or not 2 <= grid <= 6:
        raise ValueError(f"n is {n}; it takes 4, 9, 16, 25 or 36")
    if kind not in ("feature", "conjunction"):
        raise ValueError(f"kind is {kind!r}; it takes 'feature' or 'conjunction'")
    square = SIDE / grid
    corners = np.stack(np.meshgrid(np.arange(grid), np.arange(grid)), -1).reshape(n, 2)
    play = square / 2 - HALF_LENGTH - 1.5  # no bar may touch another or the rim
    places = np.rint((rng.permutation(corners) + 0.5) * square + rng.uniform(-play, play, (n, 2)))
    half = np.arange(1, n) % 2
    blue, lying = (half, np.ones(n - 1)) if kind == "feature" else (half, 1 - half)
    looks = np.vstack([[0, 0], np.column_stack([blue, lying])])
    return np.hstack([places, looks]).astype(int)


def drawn(bars, blue_ink=BLUE):
    """The bars on paper as a picture ``(SIDE, SIDE, 3)`` with numbers from 0 to 1."""
    image = np.empty((SIDE, SIDE, 3))
    image[:] = PAPER
    for row, column, blue, lying in bars:
        high, wide = (HALF_WIDTH, HALF_LENGTH) if lying else (HALF_LENGTH, HALF_WIDTH)
        place = np.s_[row - high : row + high + 1, column - wide : column + wide + 1]
        image[place] = blue_ink if blue else VERMILLION
    return image


def photo(name, height=100):
    """A photograph as ``(about height, W, 3)`` with numbers from 0 to 1, made small by averaging.

    :param name: one of ``PHOTOS``; their files lie in scikit-image itself
    """
    if name not in PHOTOS:
        raise ValueError(f"name is {name!r}; it takes one of {', '.join(PHOTOS)}")
    try:
        import skimage.data
        from skimage.transform import downscale_local_mean
    except ImportError as error:
        raise ImportError("photo needs scikit-image: pip install scikit-image") from error
    full = getattr(skimage.data, name)()  # (H, W, 3), whole numbers to 255
    step = max(1, full.shape[0] // height)
    whole = full[: full.shape[0] // step * step, : full.shape[1] // step * step]
    return downscale_local_mean(whole / 255, (step, step, 1))
