"""Tables to look something up in, and memories that are written over and over."""

import numpy as np


def tables(count, *, entries, keys, values, seed):
    """Tables of random pairs, and for each a key to look up.

    :param count: how many tables
    :param entries: pairs in a table; no key stands twice in one table
    :param keys, values: how many different keys and values there are
    :returns: key numbers ``(count, entries)``, value numbers ``(count, entries)``, the key asked
        for ``(count,)`` and the value that belongs to it ``(count,)``

    >>> [array.shape for array in tables(3, entries=4, keys=9, values=5, seed=0)]
    [(3, 4), (3, 4), (3,), (3,)]
    """
    rng = np.random.default_rng(seed)
    table_keys = rng.permuted(np.tile(np.arange(keys), (count, 1)), axis=1)[:, :entries]
    table_values = rng.integers(values, size=(count, entries))
    row, place = np.arange(count), rng.integers(entries, size=count)
    return table_keys, table_values, table_keys[row, place], table_values[row, place]


def rewrites(count, *, writes, keys, values, seed):
    """Sequences of pairs to store one after the other; a key may come again with another value.

    :param count: how many sequences
    :param writes: pairs in a sequence
    :param keys, values: how many different keys and values there are
    :returns: key numbers ``(count, writes)``, value numbers ``(count, writes)``, the key asked for
        ``(count,)``, its latest value ``(count,)`` and how often it was written ``(count,)``

    >>> [array.shape for array in rewrites(3, writes=4, keys=2, values=5, seed=0)]
    [(3, 4), (3, 4), (3,), (3,), (3,)]
    """
    rng = np.random.default_rng(seed)
    written_keys = rng.integers(keys, size=(count, writes))
    written_values = rng.integers(values, size=(count, writes))
    row = np.arange(count)
    asked = written_keys[row, rng.integers(writes, size=count)]
    hits = written_keys == asked[:, None]  # (count, writes)
    latest = writes - 1 - hits[:, ::-1].argmax(axis=1)
    return written_keys, written_values, asked, written_values[row, latest], hits.sum(axis=1)
