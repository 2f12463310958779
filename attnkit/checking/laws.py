"""The laws of attention, each written once; prose, checks and tests try them.

>>> law = shift_invariant("scores", along=lambda arguments: -1)
>>> law.broken_by(lambda scores: np.exp(scores), {"scores": np.arange(3.0)})
'the output changes when the same number is added to all scores of a query'
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

# A law adds up or compares at most so many elements, each of which may be off by the slack.
LAW_TERMS = 16


@dataclass(frozen=True)
class Law:
    """A sentence, and a test that returns what it saw in words when the law is broken."""

    sentence: str
    test: Callable

    def broken_by(self, answer, arguments, rng=None, close=None):
        """What breaks the law when ``answer`` is called with these arguments, or None.

        None also where the law does not apply. ``close`` compares two arrays, see ``within``.
        """
        rng = np.random.default_rng(0) if rng is None else rng
        return self.test(answer, arguments, rng, close or within(1e-12))


def within(slack):
    """Whether two arrays have one shape and differ by no more than a law may add up of slack."""

    def close(one, other):
        return np.shape(one) == np.shape(other) and bool(
            np.all(np.abs(np.asarray(one, float) - other) <= LAW_TERMS * slack)
        )

    return close


def _whole(output):
    return output


def sums_to(total, along, part=_whole):
    """Along the axis ``along(arguments)`` the ``part`` of the output adds to ``total``."""

    def broken(answer, arguments, seed, close):
        sums = np.sum(part(answer(**arguments)), axis=along(arguments))
        if close(sums, np.full(sums.shape, float(total))):
            return None
        worst = sums.flat[np.argmax(np.abs(sums - total))]
        return f"one sum is {worst:.4g}"

    return Law(f"the numbers along the items add to {total}", broken)


def not_negative(part=_whole):
    def broken(answer, arguments, seed, close):
        least = np.min(part(answer(**arguments)))
        return None if least >= 0 else f"one weight is {least:.4g}"

    return Law("no weight is negative", broken)


def shift_invariant(name, along):
    """Adding one number to all scores along the axis changes nothing."""

    def broken(answer, arguments, seed, close):
        axis = along(arguments)
        scores = arguments[name]
        shape = [1 if i == axis % scores.ndim else n for i, n in enumerate(scores.shape)]
        shift = np.random.default_rng(seed).normal(scale=3.0, size=shape).astype(scores.dtype)
        moved = answer(**{**arguments, name: scores + shift})
        if close(moved, answer(**arguments)):
            return None
        return "the output changes when the same number is added to all scores of a query"

    return Law("adding one number to all scores of a query changes nothing", broken)


def items_permuted(*names, axis, output_axis=None, part=_whole):
    """Items have no order: permuting them permutes the output's axis, or changes nothing."""

    def broken(answer, arguments, seed, close):
        size = arguments[names[0]].shape[axis]
        if size < 3:
            return None  # a permutation of two is its own inverse and proves little
        order = np.roll(np.arange(size), 1)
        moved = {name: np.take(arguments[name], order, axis=axis) for name in names}
        expected = part(answer(**arguments))
        if output_axis is not None:
            expected = np.take(expected, order, axis=output_axis)
        if close(part(answer(**{**arguments, **moved})), expected):
            return None
        return "the output does not follow when the items are reordered"

    follows = "changes nothing" if output_axis is None else "reorders the output with them"
    return Law(f"reordering the items {follows}", broken)


def batch_independent(*names, rank, part=_whole):
    """Each member of a batch is treated as if it were alone; ``rank`` axes are one member."""

    def broken(answer, arguments, seed, close):
        arrays = [arguments[name] for name in names]
        if any(array.ndim <= rank for array in arrays):
            return None
        alone = {name: array[:1] for name, array in zip(names, arrays, strict=True)}
        if close(part(answer(**{**arguments, **alone})), part(answer(**arguments))[:1]):
            return None
        return "the first member of the batch gets another output when it is alone"

    return Law("the members of a batch do not see each other", broken)


def read_inside_hull(name, axis, part=_whole):
    """No feature of a read lies outside the values it averages."""

    def broken(answer, arguments, seed, close):
        values, read = arguments[name], part(answer(**arguments))
        low = np.min(values, axis=axis, keepdims=True)
        high = np.max(values, axis=axis, keepdims=True)
        if close(np.clip(read, low, high), read):
            return None
        return "a read lies outside the values"

    return Law("a read never leaves the hull of the values", broken)


def symmetric():
    def broken(answer, arguments, seed, close):
        matrix = answer(**arguments)
        return None if close(matrix, np.swapaxes(matrix, -1, -2)) else "it is not"

    return Law("the matrix is symmetric", broken)


def agrees(sentence, formulation):
    """The answer agrees with another formulation: ``formulation(answer, arguments)``.

    It returns what should be equal as a pair, or None where it does not apply.
    """

    def broken(answer, arguments, seed, close):
        pair = formulation(answer, arguments)
        return None if pair is None or close(*pair) else "the two differ"

    return Law(sentence, broken)


def without(name, law):
    """The law where the argument ``name`` is not given, such as a mask that would move too."""

    def broken(answer, arguments, seed, close):
        return None if name in arguments else law.test(answer, arguments, seed, close)

    return Law(law.sentence, broken)


def inputs_unchanged():
    def broken(answer, arguments, seed, close):
        before = {k: np.copy(v) for k, v in arguments.items() if isinstance(v, np.ndarray)}
        answer(**arguments)
        changed = [k for k, v in before.items() if not np.array_equal(v, arguments[k])]
        return f"the function changes {', '.join(changed)}" if changed else None

    return Law("the arguments stay as they were", broken)


def hidden_keys_get_nothing(mask, part=_whole):
    """Where the mask is False the weight is exactly zero."""

    def broken(answer, arguments, seed, close):
        weights = part(answer(**arguments))
        leaked = np.abs(weights[~np.broadcast_to(arguments[mask], weights.shape)])
        return f"a hidden key has weight {leaked.max():.4g}" if np.any(leaked) else None

    return Law("a key that the mask hides gets no weight", broken)


def causal(*names, axis, output_axis, part=_whole):
    """What comes later along the axis changes nothing of what the output says earlier."""

    def broken(answer, arguments, seed, close):
        size = arguments[names[0]].shape[axis]
        if size < 2:
            return None
        seen = np.arange(size // 2)
        later = np.arange(size // 2, size)
        other = {name: np.copy(arguments[name]) for name in names}
        rng = np.random.default_rng(seed)
        for array in other.values():
            moved = np.moveaxis(array, axis, 0)
            moved[later] = rng.normal(size=moved[later].shape)
        before = np.take(part(answer(**arguments)), seen, axis=output_axis)
        after = np.take(part(answer(**{**arguments, **other})), seen, axis=output_axis)
        return None if close(after, before) else "an earlier output changes with a later input"

    return Law("no output depends on what comes after it", broken)


def finite_gradients(*names, part=_whole):
    """Through torch, the sum of the output has finite gradients in the named arguments.

    For a reference: it gives tensors to the answer. An exercise names its ``gradients`` instead.
    """

    def broken(answer, arguments, seed, close):
        import torch

        leaves = {name: torch.tensor(arguments[name], requires_grad=True) for name in names}
        rest = {
            k: torch.tensor(v) if isinstance(v, np.ndarray) else v
            for k, v in arguments.items()
            if k not in leaves
        }
        part(answer(**leaves, **rest)).sum().backward()
        for name, leaf in leaves.items():
            if leaf.grad is None or not torch.isfinite(leaf.grad).all():
                return f"the gradient in {name} is missing or not finite"
        return None

    return Law("gradients are finite", broken)
