"""Items of which one holds the answer: a table to fetch from, and a canvas of digits."""

import numpy as np

SLOTS, KEYS, CLASSES = 8, 16, 4
CELLS, BITS = 9, 8


def fetch(rng, size):
    """Tables of eight slots, each with a key and a class, and the key of one slot as the question.

    :param rng: a numpy generator
    :param size: how many tables
    :returns: a dict of integers: ``keys`` (size, 8), distinct in a row, below 16; ``classes``
        (size, 8), below 4; ``query`` (size,), a key; ``slot`` (size,), where it stands; ``target``
        (size,), the class there

    >>> fetch(np.random.default_rng(0), 5)["keys"].shape
    (5, 8)
    """
    keys = rng.permuted(np.tile(np.arange(KEYS), (size, 1)), axis=1)[:, :SLOTS]
    classes = rng.integers(CLASSES, size=(size, SLOTS))
    slot = rng.integers(SLOTS, size=size)
    row = np.arange(size)
    return {
        "keys": keys,
        "classes": classes,
        "query": keys[row, slot],
        "slot": slot,
        "target": classes[row, slot],
    }


def digits():
    """scikit-learn's pictures of handwritten digits: what is trained on, and what is kept apart.

    :returns: two pairs ``(images, labels)``; images (n, 8, 8) from 0 to 1, labels (n,)
    :raises ModuleNotFoundError: saying what to install, where scikit-learn is missing
    """
    try:
        from sklearn.datasets import load_digits
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            "the pictures of digits come with scikit-learn: pip install scikit-learn"
        ) from None
    data = load_digits()
    order = np.random.default_rng(0).permutation(len(data.target))
    images, labels = data.images[order] / 16, data.target[order]
    return (images[:1400], labels[:1400]), (images[1400:], labels[1400:])


def key_rows():
    """Nine rows of eight bits, all different: one for each cell of a canvas, (9, 8)."""
    numbers = np.random.default_rng(0).choice(2**BITS, size=CELLS, replace=False)
    return (numbers[:, None] >> np.arange(BITS)) % 2 * 1.0


def canvases(rng, size, images, labels):
    """Canvases of 3 x 3 digits; a row of bits above each digit tells the nine cells apart.

    The rows of bits change places from canvas to canvas. The question is one of them, the answer
    the digit under it.

    :param rng: a numpy generator
    :param size: how many canvases
    :param images: (n, 8, 8)
    :param labels: (n,)
    :returns: a dict: ``cells`` (size, 9, 9, 8), the bits in the first row of a cell; ``query``
        (size, 8), bits; ``cell`` (size,), where they stand; ``target`` (size,), the digit there

    >>> images, labels = np.zeros((10, 8, 8)), np.arange(10)
    >>> canvases(np.random.default_rng(0), 5, images, labels)["cells"].shape
    (5, 9, 9, 8)
    """
    which = rng.integers(len(images), size=(size, CELLS))
    rows = key_rows()[rng.permuted(np.tile(np.arange(CELLS), (size, 1)), axis=1)]
    cell = rng.integers(CELLS, size=size)
    row = np.arange(size)
    return {
        "cells": np.concatenate([rows[:, :, None], images[which]], axis=2),
        "query": rows[row, cell],
        "cell": cell,
        "target": labels[which[row, cell]],
    }
