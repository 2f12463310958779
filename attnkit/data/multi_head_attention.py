"""The toy data of the chapter on multi-head attention: one query for two slots, planted heads."""

import numpy as np


def two_slots(n, rng, slots=8, words=6):
    """Rows of words and a question about two places in each: what stands here, and what there?

    :param n: how many rows
    :param rng: a ``numpy.random.Generator``; the same seed gives the same rows
    :returns: the words ``(n, slots)``, the two places asked for ``(n, 2)``, never the same twice,
        and the words that stand there ``(n, 2)``, all whole numbers from 0

    >>> rows, asked, answers = two_slots(3, np.random.default_rng(0))
    >>> rows.shape, asked.shape, bool((rows[0, asked[0]] == answers[0]).all())
    ((3, 8), (3, 2), True)
    """
    rows = rng.integers(words, size=(n, slots))
    first = rng.integers(slots, size=n)
    second = (first + rng.integers(1, slots, size=n)) % slots
    asked = np.stack([first, second], axis=1)
    return rows, asked, np.take_along_axis(rows, asked, axis=1)


def planted_heads(n, rng, size=3):
    """The reads of four heads whose worth is known, because it was planted.

    In two of five examples the first head alone knows the answer. In two more the second and the
    third know it, one as well as the other. In the last one the first head knows it, and the fourth
    says something else twice as loudly.

    :param n: how many examples, a multiple of 5
    :param rng: a ``numpy.random.Generator``
    :param size: how many answers there are, and features a head has
    :returns: what ``head_ablation`` takes, by name: ``reads (n, 4, size)``, ``W (size, 4 size)``,
        ``b (size,)``, ``answers (n,)``

    >>> {name: array.shape for name, array in planted_heads(10, np.random.default_rng(0)).items()}
    {'reads': (10, 4, 3), 'W': (3, 12), 'b': (3,), 'answers': (10,)}
    """
    answers = rng.integers(size, size=n)
    other = (answers + rng.integers(1, size, size=n)) % size
    kind = rng.permutation(np.arange(n) % 5)
    knows = np.stack([(kind < 2) | (kind == 4), kind // 2 == 1, kind // 2 == 1], axis=1)
    says = np.zeros((n, 4, size))
    says[:, :3] = knows[:, :, None] * np.eye(size)[answers][:, None]
    says[:, 3] = 2 * (kind == 4)[:, None] * np.eye(size)[other]
    # Each head speaks in a basis of its own, which its block of W undoes.
    bases = np.linalg.qr(rng.normal(size=(4, size, size)))[0]  # (h, answers, features)
    reads = (says[:, :, None] @ bases)[:, :, 0] + 0.02 * rng.normal(size=(n, 4, size))
    b = 0.2 * (np.arange(size) == 0)  # with nothing read, the first answer
    return {"reads": reads, "W": np.hstack(bases), "b": b, "answers": answers}
