"""Opinions, scenes and sounds: their shapes, and that the answer is what the text promises."""

import numpy as np
import pytest

from attnkit.data import applications as data

IMAGES, LABELS = np.arange(30.0)[:, None, None] * np.ones((8, 8)) + 1, np.arange(30) % 10


def drawn(kind, seed=0, size=500):
    rng = np.random.default_rng(seed)
    if kind == "opinions":
        return data.opinions(rng, size)
    if kind == "scenes":
        return data.scenes(rng, size, IMAGES, LABELS)
    return data.spoken(rng, "banana")


@pytest.mark.parametrize("kind", ["opinions", "scenes", "spoken"])
def test_one_seed_gives_one_set(kind):
    for one, two in zip(drawn(kind, 3), drawn(kind, 3), strict=True):
        assert np.array_equal(one, two)
    assert not np.array_equal(drawn(kind, 3)[0], drawn(kind, 4)[0])


def test_the_majority_decides():
    words, label, cue = drawn("opinions")
    assert words.shape == cue.shape == (500, 20)
    good, bad = len(data.GOOD), len(data.GOOD + data.BAD)
    margins = set()
    for text, right, marked in zip(words, label, cue, strict=True):
        assert np.array_equal(marked, text < bad)
        for_good, for_bad = (text < good).sum(), ((text >= good) & (text < bad)).sum()
        assert right == (for_good > for_bad)
        margins.add((max(for_good, for_bad), min(for_good, for_bad)))
    assert margins == {(m + more, m) for m in (0, 1, 2) for more in (1, 2)}
    assert set(words.ravel()) == set(range(len(data.VOCABULARY)))
    assert len(set(data.VOCABULARY)) == len(data.VOCABULARY)
    assert 0.4 < label.mean() < 0.6


def test_a_scene_has_the_digit_once_or_not_at_all():
    cells, asked, cell, there = drawn("scenes")
    assert cells.shape == (500, 16, 8, 8)
    shown = cells[..., 0, 0]
    digit = np.where(shown > 0, LABELS[shown.astype(int) - 1], -1)
    assert ((shown > 0).sum(axis=1) == 4).all()
    assert np.array_equal((digit == asked[:, None]).sum(axis=1), there)
    assert np.array_equal(digit[np.arange(500), cell] == asked, there)
    assert set(cell) == set(range(16))
    assert set(asked) == set(range(10))
    assert set(shown[shown > 0]) == set(IMAGES[:, 0, 0])
    assert 0.4 < there.mean() < 0.6


def test_letters_sound_different_and_one_after_the_other():
    sound, letter = drawn("spoken")
    lengths = np.bincount(letter)
    assert sound.shape == (len(letter), data.BANDS)
    assert np.array_equal(letter, np.sort(letter))
    assert len(lengths) == 6
    assert lengths.min() >= 3
    assert lengths.max() <= 6
    spectra = data.spectra()
    likeness = spectra @ spectra.T
    nearest = (sound @ spectra.T).argmax(axis=1)
    assert np.array_equal(nearest, [ord("banana"[n]) - ord("a") for n in letter])
    assert (likeness - 100 * np.eye(26)).max() < 0.8 * likeness.diagonal().min()
