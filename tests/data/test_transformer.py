"""Repeated strings and stories: their shapes, and that a story keeps to its people."""

import re

import numpy as np
import pytest

from attnkit.data import transformer as data

PERSON = rf"({'|'.join(data.NAMES)}) ({'|'.join(data.SURNAMES)})"
PLACE = rf"the ({'|'.join(data.PLACES)})"
SENTENCE = re.compile(
    rf"{PERSON} ({'|'.join(data.VERBS)}) {PERSON}( at {PLACE})?"
    rf"|then {PERSON} went to {PLACE}"
    rf"|{PERSON} and {PERSON} left {PLACE}"
)


@pytest.mark.parametrize(("batch", "length"), [(1, 1), (4, 7), (50, 12)])
def test_strings_are_written_twice(batch, length):
    strings = data.repeated(np.random.default_rng(0), batch, length, n_symbols=12)
    assert strings.shape == (batch, 2 * length)
    assert np.array_equal(strings[:, :length], strings[:, length:])
    assert all(len(set(row)) == length for row in strings.tolist())
    assert 0 <= strings.min() <= strings.max() < 12


def test_every_symbol_comes_first_about_as_often():
    strings = data.repeated(np.random.default_rng(0), 6000, 2, n_symbols=6)
    assert abs(np.bincount(strings[:, 0]) - 1000).max() < 150


def test_one_seed_gives_one_set():
    one, same, other = (data.stories(np.random.default_rng(seed), 4) for seed in (3, 3, 4))
    assert np.array_equal(one, same)
    assert not np.array_equal(one, other)


def test_stories_are_sentences_about_three_people_with_one_surname_each():
    stories = data.stories(np.random.default_rng(0), 300)
    assert stories.shape == (300, data.LENGTH)
    assert len(set(data.VOCABULARY)) == len(data.VOCABULARY)
    bearers = set()
    for story in stories:
        assert data.VOCABULARY[story[0]] == data.START
        whole = data.spell(story).rpartition(".")[0]
        assert all(SENTENCE.fullmatch(sentence) for sentence in whole.split(". "))
        people = set(re.findall(PERSON, data.spell(story)))
        assert len({name for name, _ in people}) == len(people) <= data.CAST
        assert len({surname for _, surname in people}) == len(people)
        bearers |= people
        sentences, formed, again, right = data.judged(story)
        assert sentences == formed == whole.count(".") + 1
        assert again == right == len(re.findall(PERSON, data.spell(story))) - len(people)
    assert len(bearers) == len(data.NAMES) * len(data.SURNAMES)


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        ("Ada Ash met Ben Cole . Ada Ash saw Ben Cole .", (2, 2, 2, 2)),
        ("Ada Ash met Ben Cole . Ada Cole saw Ben Cole .", (2, 2, 2, 1)),
        ("Ada Ash met Ben Cole . Ada Cole saw Ada Cole .", (2, 2, 2, 0)),
        ("Ada Ash met Ben . then Ben Ash went to the mill .", (2, 1, 1, 0)),
        ("Ada Ash met met . Ada Ash and", (1, 0, 1, 1)),
    ],
)
def test_what_is_wrong_is_counted(text, counts):
    assert data.judged([data.VOCABULARY.index(word) for word in (data.START, *text.split())]) == (
        counts
    )
