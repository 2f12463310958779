"""Toy data for structured attention: noisy segments, and documents with one key sentence."""

import numpy as np

N_POSITIONS, SHORTEST, LONGEST = 16, 4, 8
NOISE = 1.5


def all_segments():
    """Every segment that :func:`segments` may draw, and how probable it is.

    :returns: ``inside`` Booleans ``(K, N)``, one segment a row, and probabilities ``(K,)``

    >>> inside, probabilities = all_segments()
    >>> inside.shape, float(probabilities.sum().round(9))
    ((55, 16), 1.0)
    """
    inside, probabilities = [], []
    lengths = range(SHORTEST, LONGEST + 1)
    places = np.arange(N_POSITIONS)
    for length in lengths:
        starts = N_POSITIONS - length + 1
        for start in range(starts):
            inside.append((start <= places) & (places < start + length))
            probabilities.append(1 / len(lengths) / starts)
    return np.array(inside), np.array(probabilities)


def segments(n, seed):
    """Sequences in which one stretch of 4 to 8 of 16 positions counts, and noisy evidence of it.

    :returns: ``evidence (n, N)``, 1 inside and -1 outside plus noise of deviation 1.5;
        ``values (n, N)``, standard normal; ``inside (n, N)``, Booleans; ``target (n,)``, the sum
        of the values inside

    >>> evidence, values, inside, target = segments(3, seed=0)
    >>> evidence.shape, values.shape, inside.shape, target.shape
    ((3, 16), (3, 16), (3, 16), (3,))
    """
    rng = np.random.default_rng(seed)
    every, probabilities = all_segments()
    inside = every[rng.choice(len(every), size=n, p=probabilities)]
    evidence = np.where(inside, 1.0, -1.0) + NOISE * rng.standard_normal(inside.shape)
    values = rng.standard_normal(inside.shape)
    return evidence, values, inside, (values * inside).sum(axis=-1)


OPINIONS = ("superb", "decent", "dull", "awful")
CUE = "overall"
FILLERS = tuple(
    [
        "the",
        "a",
        "of",
        "and",
        "with",
        "in",
        "its",
        "this",
        "that",
        "was",
        "is",
        "had",
        "music",
        "plot",
        "cast",
        "scene",
        "story",
        "actor",
        "light",
        "sound",
        "ending",
        "camera",
        "dialogue",
        "costume",
        "first",
        "last",
        "then",
        "later",
        "again",
        "still",
        "quite",
        "rather",
        "almost",
        "very",
        "one",
        "two",
        "three",
        "some",
        "each",
        "other",
    ]
)
VOCABULARY = (*OPINIONS, CUE, *FILLERS)
N_SENTENCES, N_WORDS = 12, 12


def documents(n, seed, decoys=True):
    """Reviews whose verdict is one opinion word: the one in the sentence that says "overall".

    With decoys every other sentence has an opinion word too, drawn at random; without, none has.
    Reviews have 8 to 12 sentences and sentences 6 to 12 words; the rest is padding.

    :returns: ``words (n, 12, 12)``, indices into ``VOCABULARY``; ``word_mask`` of that shape and
        ``sentence_mask (n, 12)``, True where there is something; ``key (n,)``, the index of the
        sentence that counts; ``label (n,)``, the index of its opinion

    >>> words, word_mask, sentence_mask, key, label = documents(3, seed=0)
    >>> words.shape, sentence_mask.shape, label.shape
    ((3, 12, 12), (3, 12), (3,))
    """
    rng = np.random.default_rng(seed)
    words = rng.integers(len(OPINIONS) + 1, len(VOCABULARY), size=(n, N_SENTENCES, N_WORDS))
    lengths = rng.integers(6, N_WORDS + 1, size=(n, N_SENTENCES))
    counts = rng.integers(8, N_SENTENCES + 1, size=n)
    sentence_mask = np.arange(N_SENTENCES) < counts[:, None]
    word_mask = (np.arange(N_WORDS) < lengths[..., None]) & sentence_mask[..., None]
    key = rng.integers(counts)
    label = rng.integers(len(OPINIONS), size=n)

    opinions = rng.integers(len(OPINIONS), size=(n, N_SENTENCES))
    review = np.arange(n)
    opinions[review, key] = label
    is_key = np.arange(N_SENTENCES) == key[:, None]
    # Two different places in each sentence: one for the opinion, one for the cue.
    first = rng.integers(lengths)
    second = (first + 1 + rng.integers(lengths - 1)) % lengths
    place = np.arange(N_WORDS)
    has_opinion = (is_key | decoys)[..., None] & (place == first[..., None])
    words = np.where(has_opinion, opinions[..., None], words)
    words = np.where(is_key[..., None] & (place == second[..., None]), len(OPINIONS), words)
    return words, word_mask, sentence_mask, key, label
