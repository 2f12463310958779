"""The laws of attention, each written once; the prose names them and the checks try them.

A law is a sentence and a test. The test gets the answer as a function of named arguments, the
arguments of a case, and a random generator; it returns None when the law holds or does not apply,
otherwise what it saw, in words.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Law:
    sentence: str
    broken: Callable

    def __call__(self, answer, arguments, rng):
        return self.broken(answer, arguments, rng)


def _close(one, other):
    scale = max(1.0, float(np.max(np.abs(other), initial=0.0)))
    single = min(np.asarray(one).dtype.itemsize, np.asarray(other).dtype.itemsize) < 8
    return np.shape(one) == np.shape(other) and bool(
        np.all(np.abs(np.asarray(one) - other) <= (1e-4 if single else 1e-8) * scale)
    )


def _whole(output):
    return output


def sums_to(total, along, part=_whole):
    """Along the axis ``along(arguments)`` the ``part`` of the output adds to ``total``."""

    def broken(answer, arguments, rng):
        sums = np.sum(part(answer(**arguments)), axis=along(arguments))
        if _close(sums, np.full(sums.shape, float(total))):
            return None
        worst = sums.flat[np.argmax(np.abs(sums - total))]
        return f"one sum is {worst:.4g}"

    return Law(f"the numbers along the items add to {total}", broken)


def not_negative(part=_whole):
    def broken(answer, arguments, rng):
        least = np.min(part(answer(**arguments)))
        return None if least >= 0 else f"one weight is {least:.4g}"

    return Law("no weight is negative", broken)


def shift_invariant(name, along):
    """Adding one number to all scores along the axis changes nothing."""

    def broken(answer, arguments, rng):
        axis = along(arguments)
        scores = arguments[name]
        shape = [1 if i == axis % scores.ndim else n for i, n in enumerate(scores.shape)]
        shift = rng.normal(scale=3.0, size=shape).astype(scores.dtype)
        moved = answer(**{**arguments, name: scores + shift})
        if _close(moved, answer(**arguments)):
            return None
        return "after adding the same number to all scores of one query, the output is another"

    return Law("adding one number to all scores of a query changes nothing", broken)


def items_permuted(*names, axis, output_axis=None, part=_whole):
    """Items have no order: permuting them permutes the output's axis, or changes nothing."""

    def broken(answer, arguments, rng):
        size = arguments[names[0]].shape[axis]
        if size < 3:
            return None  # a permutation of two is its own inverse and proves little
        order = np.roll(np.arange(size), 1)
        moved = {name: np.take(arguments[name], order, axis=axis) for name in names}
        expected = part(answer(**arguments))
        if output_axis is not None:
            expected = np.take(expected, order, axis=output_axis)
        if _close(part(answer(**{**arguments, **moved})), expected):
            return None
        return "after reordering the items the output does not follow"

    follows = "changes nothing" if output_axis is None else "reorders the output with them"
    return Law(f"reordering the items {follows}", broken)


def batch_independent(*names, rank, part=_whole):
    """Each member of a batch is treated as if it were alone; ``rank`` axes are one member."""

    def broken(answer, arguments, rng):
        arrays = [arguments[name] for name in names]
        if any(array.ndim <= rank for array in arrays):
            return None
        alone = {name: array[:1] for name, array in zip(names, arrays, strict=True)}
        if _close(part(answer(**{**arguments, **alone})), part(answer(**arguments))[:1]):
            return None
        return "the first member of the batch gets another output when it is alone"

    return Law("the members of a batch do not see each other", broken)


def read_inside_hull(name, axis, part=_whole):
    """No feature of a read lies outside the values it averages."""

    def broken(answer, arguments, rng):
        values, read = arguments[name], part(answer(**arguments))
        low = np.min(values, axis=axis, keepdims=True)
        high = np.max(values, axis=axis, keepdims=True)
        slack = 1e-4 if values.dtype.itemsize < 8 else 1e-8
        if np.all((read >= low - slack) & (read <= high + slack)):
            return None
        return "a read lies outside the values"

    return Law("a read never leaves the hull of the values", broken)


def symmetric():
    def broken(answer, arguments, rng):
        matrix = answer(**arguments)
        return None if _close(matrix, np.swapaxes(matrix, -1, -2)) else "it is not"

    return Law("the matrix is symmetric", broken)


def agrees(sentence, formulation):
    """The answer agrees with another formulation: ``formulation(answer, arguments)``.

    It returns what should be equal as a pair, or None where it does not apply.
    """

    def broken(answer, arguments, rng):
        pair = formulation(answer, arguments)
        return None if pair is None or _close(*pair) else "the two differ"

    return Law(sentence, broken)
