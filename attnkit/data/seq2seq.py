"""Pairs of a source and a target: digits to write backwards, and dates to write as ISO does.

>>> source, target = reversals(np.random.default_rng(0), batch=2, length=5)
>>> source.shape, bool((target == source[:, ::-1]).all())
((2, 5), True)
>>> dates(np.random.default_rng(0), 1)
[('Jul 22, 2026', '2026-07-22')]
"""

import datetime

import numpy as np

DIGITS = 10
# fmt: off
MONTHS = [
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
]
# fmt: on
WEEKDAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
# Eight ways to write one day in English; {Mon} is the month cut to three letters.
FORMATS = (
    "{d} {Month} {y}",
    "{Month} {d}, {y}",
    "{Weekday}, {Month} {d}, {y}",
    "{Weekday} {d} {Month} {y}",
    "{d} {Mon} {y}",
    "{Mon} {d}, {y}",
    "{dd}.{mm}.{y}",
    "{mm}/{dd}/{y}",
)
FIRST, LAST = datetime.date(1950, 1, 1), datetime.date(2039, 12, 31)


def reversals(rng, batch, length):
    """Digits 0 to 9 and the same backwards, each ``(batch, length)`` of integers."""
    source = rng.integers(DIGITS, size=(batch, length))
    return source, source[:, ::-1].copy()


def dates(rng, n):
    """``n`` pairs of a date in one of the eight formats and in ISO's, such as 2026-07-22."""
    days = rng.integers(FIRST.toordinal(), LAST.toordinal() + 1, size=n)
    formats = rng.integers(len(FORMATS), size=n)
    return [
        (
            written(datetime.date.fromordinal(int(day)), form),
            str(datetime.date.fromordinal(int(day))),
        )
        for day, form in zip(days, formats, strict=True)
    ]


def written(day, form):
    """One day in format number ``form``; no locale of the machine has a say in the names."""
    month = MONTHS[day.month - 1]
    return FORMATS[form].format(
        d=day.day,
        dd=f"{day.day:02}",
        mm=f"{day.month:02}",
        y=day.year,
        Month=month,
        Mon=month[:3],
        Weekday=WEEKDAYS[day.weekday()],
    )


def encoded(texts, alphabet):
    """Texts as rows of places in the alphabet, padded with 0, and the mask of what is text.

    >>> encoded(["ab", "b"], "ab")[0].tolist(), encoded(["ab", "b"], "ab")[1].tolist()
    ([[0, 1], [1, 0]], [[True, True], [True, False]])
    """
    lengths = np.array([len(text) for text in texts])
    mask = np.arange(lengths.max()) < lengths[:, None]
    numbers = np.zeros(mask.shape, dtype=int)
    numbers[mask] = [alphabet.index(letter) for text in texts for letter in text]
    return numbers, mask
