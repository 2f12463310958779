"""Digits backwards and dates: shapes, ranges, and the same data for the same seed."""

import datetime
import re

import numpy as np
import pytest

from attnkit.data import seq2seq as data

# What each format is read with; none of them needs the machine's locale to be English.
MONTH = "|".join(data.MONTHS)


def test_reversals():
    source, target = data.reversals(np.random.default_rng(0), 500, 7)
    assert source.shape == target.shape == (500, 7)
    assert set(source.ravel()) == set(range(10))
    for row, backwards in zip(source.tolist(), target.tolist(), strict=True):
        assert backwards == list(reversed(row))


def test_the_same_seed_gives_the_same_data():
    for draw in (lambda rng: data.reversals(rng, 3, 4)[0].tolist(), lambda rng: data.dates(rng, 9)):
        one, same, other = (draw(np.random.default_rng(seed)) for seed in (1, 1, 2))
        assert one == same != other


def read(text):
    """The date that a text means, found in another way than it was written."""
    weekday = text.split(",")[0].split()[0]
    if numbers := re.fullmatch(r"(\d\d)\.(\d\d)\.(\d{4})", text):
        day, month, year = map(int, numbers.groups())
    elif numbers := re.fullmatch(r"(\d\d)/(\d\d)/(\d{4})", text):
        month, day, year = map(int, numbers.groups())
    else:
        name = re.search(r"[A-Z][a-z]{2}(?=[a-z]* \d{4}$|[a-z]* \d+, \d{4}$)", text)[0]
        month = [month[:3] for month in data.MONTHS].index(name) + 1
        day, year = (int(number) for number in re.findall(r"\d+", text))
    date = datetime.date(year, month, day)
    if weekday in data.WEEKDAYS:
        assert data.WEEKDAYS[date.weekday()] == weekday
    return date


def test_dates_mean_what_they_say():
    pairs = data.dates(np.random.default_rng(0), 2000)
    assert [str(read(written)) for written, _ in pairs] == [iso for _, iso in pairs]
    years = {int(iso[:4]) for _, iso in pairs}
    assert (min(years), max(years)) == (1950, 2039)


def test_every_format_is_drawn_and_each_is_another():
    day = datetime.date(1999, 3, 5)
    texts = [data.written(day, form) for form in range(len(data.FORMATS))]
    assert texts == [
        "5 March 1999",
        "March 5, 1999",
        "Friday, March 5, 1999",
        "Friday 5 March 1999",
        "5 Mar 1999",
        "Mar 5, 1999",
        "05.03.1999",
        "03/05/1999",
    ]
    shapes = {
        re.sub(r"\d+", "0", re.sub(r"[A-Z][a-z]{3,}", "Xxxx", written))
        for written, _ in data.dates(np.random.default_rng(0), 500)
    }
    assert len(shapes) >= len(data.FORMATS)


def test_encoded_texts_can_be_read_back():
    texts = ["5 May", "", "12 June 1999"]
    alphabet = "".join(sorted(set("".join(texts))))
    numbers, mask = data.encoded(texts, alphabet)
    assert numbers.shape == mask.shape == (3, 12)
    back = [
        "".join(alphabet[i] for i in row[seen]) for row, seen in zip(numbers, mask, strict=True)
    ]
    assert back == texts


def test_a_letter_that_is_not_in_the_alphabet_is_refused():
    with pytest.raises(ValueError, match="substring"):
        data.encoded(["ä"], "abc")
