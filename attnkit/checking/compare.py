"""Compares what came with what was wanted, and says in words what is different."""

import sys
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Other:
    """Stands for a returned value that is neither an array nor a tuple: what it is, in words."""

    words: str


@dataclass(frozen=True)
class Difference:
    """``kind`` is type, shape, dtype or value; ``worst`` is the index of the worst element."""

    kind: str
    message: str
    given: np.ndarray | None = None
    wanted: np.ndarray | None = None
    worst: tuple[int, ...] = ()


def difference(given, wanted, parts=(), what="what you return"):
    """The first difference between a returned value and what is Wanted, or None.

    ``what`` says what is compared; ``parts`` names the members of a tuple that is wanted.
    """
    if not isinstance(wanted.value, tuple):
        return _array_difference(given, wanted.value, wanted.slack, wanted.dtype, what)
    names = ", ".join(parts)
    if not isinstance(given, tuple) or len(given) != len(wanted.value):
        return Difference(
            "type", f"you return {describe(given)}; wanted is a tuple of arrays: ({names})"
        )
    for part, *compared in zip(parts, given, wanted.value, wanted.slack, strict=True):
        found = _array_difference(*compared, wanted.dtype, f"`{part}`")
        if found:
            return found
    return None


def plain(value):
    """A copy in plain numpy that no later call and no subclass can change.

    Tuples stay tuples, a plain number is an array without axes; anything else is kept in words.
    """
    if isinstance(value, tuple):
        return tuple(plain(member) for member in value)
    if is_tensor(value):
        value = value.detach().cpu().numpy()
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if is_number or isinstance(value, np.ndarray | np.generic):
        return np.array(value, subok=False)
    return value if value is None or isinstance(value, Other) else Other(describe(value))


def same(one, other, tolerance=1e-6):
    """Whether two plain values are alike: same kind, same shape, close, NaN beside NaN."""
    if isinstance(one, tuple) and isinstance(other, tuple):
        return len(one) == len(other) and all(
            same(a, b, tolerance) for a, b in zip(one, other, strict=True)
        )
    if not (isinstance(one, np.ndarray) and isinstance(other, np.ndarray)):
        return one is None and other is None
    if one.shape != other.shape or {one.dtype.kind, other.dtype.kind} - set("fiu"):
        return False
    scale = np.max(np.abs(other[np.isfinite(other)]), initial=1.0)
    return np.allclose(one, other, rtol=0, atol=tolerance * scale, equal_nan=True)


def describe(value):
    """A returned value in a few words."""
    if value is None:
        return "None (is a `return` missing?)"
    if is_tensor(value) or isinstance(value, np.ndarray):
        return f"an array of shape {tuple(value.shape)}"
    if isinstance(value, tuple):
        return f"a tuple of {len(value)}"
    if isinstance(value, Other):
        return value.words
    article = "an" if type(value).__name__[0] in "aeiou" else "a"
    return f"{article} {type(value).__name__}"


def is_tensor(value):
    return "torch" in sys.modules and isinstance(value, sys.modules["torch"].Tensor)


def _array_difference(given, wanted, slack, dtype, what):
    if not isinstance(given, np.ndarray):
        return Difference("type", f"{what} is {describe(given)}; wanted is an array")
    if given.dtype.kind not in "fiu":
        return Difference("dtype", f"{what} has dtype {given.dtype}; wanted are real numbers")
    if given.shape != wanted.shape:
        return Difference(
            "shape", f"{what} has shape {given.shape}; wanted is {wanted.shape}", given, wanted
        )
    if given.dtype.kind == "f" and given.dtype.itemsize < dtype.itemsize:
        return Difference(
            "dtype", f"{what} has dtype {given.dtype}, the arguments had {dtype}: digits are lost"
        )
    return _value_difference(given, wanted, slack, what)


def _value_difference(given, wanted, slack, what):
    with np.errstate(invalid="ignore"):
        gap = np.asarray(np.abs(given.astype(float) - wanted))  # of numbers numpy makes no array
    gap[~np.isfinite(gap)] = np.inf
    if np.all(gap <= slack):
        return None
    # Among elements that are equally wrong, NaN above all, the largest wanted one tells most.
    worst_first = np.lexsort((np.abs(wanted).ravel(), gap.ravel()))[::-1]
    worst = tuple(int(i) for i in np.unravel_index(worst_first[0], gap.shape))
    place = f" at [{', '.join(map(str, worst))}]" if worst else ""
    message = f"{what}{place} is {given[worst]:.6g}; wanted is {wanted[worst]:.6g}"
    if f"{given[worst]:.6g}" == f"{wanted[worst]:.6g}":
        message += f" (off by {gap[worst]:.1g})"
    return Difference("value", message, given, wanted, worst)
