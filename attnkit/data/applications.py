"""Toy data for the chapter on applications: opinions, scenes of digits, and spoken words."""

import numpy as np

from attnkit.data.structured_attention import FILLERS

GOOD = ("superb", "lovely", "clever", "moving")
BAD = ("awful", "boring", "clumsy", "noisy")
VOCABULARY = (*GOOD, *BAD, *FILLERS)
N_WORDS = 20


def opinions(rng, size):
    """Texts of 20 words, some of them good or bad; the majority of these decides.

    The minority has none to two words, the majority one or two more.

    :param rng: a numpy generator
    :param size: how many texts
    :returns: ``words (size, 20)``, indices into ``VOCABULARY``; ``label (size,)``, 1 for good and
        0 for bad; ``cue (size, 20)``, True at the good and the bad words

    >>> words, label, cue = opinions(np.random.default_rng(0), 5)
    >>> words.shape, label.shape, cue.shape
    ((5, 20), (5,), (5, 20))
    """
    label = rng.integers(2, size=size)
    minority = rng.integers(3, size=size)
    majority = minority + rng.integers(1, 3, size=size)
    place = rng.permuted(np.tile(np.arange(N_WORDS), (size, 1)), axis=1)
    cue = place < (majority + minority)[:, None]
    good = (place < majority[:, None]) == label[:, None]
    opinion = rng.integers(len(GOOD), size=cue.shape) + np.where(good, 0, len(GOOD))
    other = rng.integers(len(GOOD + BAD), len(VOCABULARY), size=cue.shape)
    return np.where(cue, opinion, other), label, cue


CELLS, DIGITS_SHOWN = 16, 4


def scenes(rng, size, images, labels):
    """Scenes of 4 x 4 cells with four digits, the rest empty, and a question: is there a seven?

    In half of the scenes the digit asked for is there once, in the others it is not.

    :param rng: a numpy generator
    :param size: how many scenes
    :param images: (n, 8, 8)
    :param labels: (n,), each of the ten digits among them
    :returns: ``cells (size, 16, 8, 8)``; ``asked (size,)``, a digit; ``cell (size,)``, where it
        is, or would be; ``there (size,)``, whether it is

    >>> images, labels = np.zeros((10, 8, 8)), np.arange(10)
    >>> cells, asked, cell, there = scenes(np.random.default_rng(0), 5, images, labels)
    >>> cells.shape, asked.shape, there.shape
    ((5, 16, 8, 8), (5,), (5,))
    """
    asked = rng.integers(10, size=size)
    there = rng.random(size) < 0.5
    place = rng.permuted(np.tile(np.arange(CELLS), (size, 1)), axis=1)
    digit = (asked[:, None] + rng.integers(1, 10, size=place.shape)) % 10  # any but the one asked
    digit = np.where(there[:, None] & (place == 0), asked[:, None], digit)
    by_digit = np.argsort(labels, kind="stable")
    count = np.bincount(labels, minlength=10)
    first = np.cumsum(count) - count
    which = by_digit[first[digit] + rng.integers(count[digit])]
    shown = (place < DIGITS_SHOWN)[..., None, None]
    return np.where(shown, images[which], 0.0), asked, place.argmin(axis=1), there


BANDS = 24


def spectra():
    """What each of the 26 letters sounds like in this toy world: two peaks over 24 bands, (26, 24).

    >>> spectra().shape
    (26, 24)
    """
    rng = np.random.default_rng(0)
    pairs = [(low, high) for low in range(2, 12, 2) for high in range(low + 3, BANDS - 1, 2)]
    peaks = np.array(pairs)[rng.choice(len(pairs), size=26, replace=False)]  # (26, 2)
    distance = np.arange(BANDS) - peaks[..., None]  # (26, 2, 24)
    return np.exp(-(distance**2) / 2).sum(axis=1)


def spoken(rng, word):
    """A word as sound: a frame after the other, three to six for each letter, with noise.

    :param rng: a numpy generator
    :param word: small letters, a to z
    :returns: ``sound (T, 24)``; ``letter (T,)``, which letter of the word is heard

    >>> sound, letter = spoken(np.random.default_rng(0), "on")
    >>> sound.shape, letter.tolist()
    ((11, 24), [0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1])
    """
    letter = np.repeat(np.arange(len(word)), rng.integers(3, 7, size=len(word)))
    clean = spectra()[[ord(word[place]) - ord("a") for place in letter]]
    return clean + 0.15 * rng.standard_normal(clean.shape), letter
