"""Text for the Transformer: strings that repeat themselves, and little stories that can be checked.

>>> repeated(np.random.default_rng(0), batch=2, length=3, n_symbols=9)
array([[4, 5, 2, 4, 5, 2],
       [2, 8, 3, 2, 8, 3]])
>>> print(spell(stories(np.random.default_rng(0), 1)[0])[:43])
Eva Fell called Cleo Hill. Dan Cole saw Eva
"""

import numpy as np


def repeated(rng, batch, length, n_symbols):
    """Strings of ``length`` distinct symbols, each written twice ``(batch, 2 * length)``."""
    once = rng.permuted(np.tile(np.arange(n_symbols), (batch, 1)), axis=1)[:, :length]
    return np.tile(once, (1, 2))


NAMES = ("Ada", "Ben", "Cleo", "Dan", "Eva", "Finn", "Gus", "Hana")
SURNAMES = ("Ash", "Birch", "Cole", "Dale", "Fell", "Gray", "Hill", "Lake", "Marsh", "North")
SURNAMES += ("Reed", "Stone", "Vale", "West", "Wood", "Young")
PLACES = ("bridge", "harbour", "market", "mill", "station", "tower")
VERBS = ("met", "saw", "called", "helped")
FORMS = (  # what a sentence is made of
    ("NAME", "SURNAME", "VERB", "NAME", "SURNAME", "."),
    ("NAME", "SURNAME", "VERB", "NAME", "SURNAME", "at", "the", "PLACE", "."),
    ("then", "NAME", "SURNAME", "went", "to", "the", "PLACE", "."),
    ("NAME", "SURNAME", "and", "NAME", "SURNAME", "left", "the", "PLACE", "."),
)
KINDS = {"NAME": NAMES, "SURNAME": SURNAMES, "PLACE": PLACES, "VERB": VERBS}
START = "|"
VOCABULARY = (
    START,
    *(word for words in KINDS.values() for word in words),
    *sorted({word for form in FORMS for word in form} - KINDS.keys()),
)
CAST, LENGTH = 3, 48


def stories(rng, n):
    """Stories ``(n, LENGTH)`` of a cast of three; surnames are drawn anew for each story.

    Indices into ``VOCABULARY``; the first is START, the last sentence is cut off where it is.
    """
    return np.array([[VOCABULARY.index(word) for word in _story(rng)] for _ in range(n)])


def _story(rng):
    names, surnames = (rng.permutation(words)[:CAST] for words in (NAMES, SURNAMES))
    words = [START]
    while len(words) < LENGTH:
        form = FORMS[rng.integers(len(FORMS))]
        people = iter(rng.permutation(CAST))
        for slot in form:
            if slot == "NAME":
                person = next(people)
                words.append(names[person])
            elif slot == "SURNAME":
                words.append(surnames[person])
            else:
                words.append(rng.choice(KINDS[slot]) if slot in KINDS else slot)
    return words[:LENGTH]


def spell(tokens):
    """A story as text, without its START."""
    return " ".join(VOCABULARY[token] for token in tokens[1:]).replace(" .", ".")


def named_again(tokens):
    """Pairs of places: a first name that came before, and the surname that followed it at first.

    >>> story = "| Ada Ash saw Ben Birch . then Ada Ash".split()
    >>> named_again([VOCABULARY.index(word) for word in story])
    [(8, 2)]
    """
    first, pairs = {}, []
    for place, token in enumerate(tokens[:-1]):
        if VOCABULARY[token] in NAMES:
            surname = first.setdefault(VOCABULARY[token], place + 1)
            if surname <= place:
                pairs.append((place, surname))
    return pairs


def judged(tokens):
    """Counts of a story: sentences, those that have a form; people named again, those rightly."""
    words = [VOCABULARY[token] for token in tokens[1:]]
    sentences = [[*part.split(), "."] for part in " ".join(words).split(" .")[:-1]]
    formed = sum(any(_has_form(sentence, form) for form in FORMS) for sentence in sentences)
    again = named_again(tokens)
    right = sum(tokens[place + 1] == tokens[surname] for place, surname in again)
    return len(sentences), formed, len(again), right


def _has_form(sentence, form):
    return len(sentence) == len(form) and all(
        word in KINDS.get(slot, (slot,)) for word, slot in zip(sentence, form, strict=True)
    )
