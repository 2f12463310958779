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
