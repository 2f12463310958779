"""Looks at the arguments of a public function and says in words what is wrong with them.

A function declares what it takes, in the notation of the book::

    @takes("Q (..., M, D)", "K (..., N, D)", temperature=positive)
    def weights(Q, K, temperature=1.0): ...

The same letter means the same size; ``...`` stands for batch axes, which broadcast; ``bool`` or
``int`` after the axes asks for truth values or whole numbers, as in ``"mask (..., N) bool"``; a
``?`` at the end marks an array that may be None. The body of the function then holds the mechanism
only.
"""

import functools
import inspect
import math
import re

import array_api_compat
import numpy as np

_SPEC = re.compile(r"(?P<name>\w+) \((?P<axes>[^)]*)\)(?: (?P<kind>bool|int))?(?P<optional>\??)")
# What an array may hold: the kind's name in the array API, and in words.
_KINDS = {
    None: ("real floating", "real floating-point numbers, such as float64"),
    "bool": ("bool", "booleans, True or False"),
    "int": ("integral", "integers, such as int64"),
}


def array_namespace(array):
    """The functions of the library that an array is of, with the names of the array API.

    numpy has those names itself; for it array_api_compat would first import all that numpy has,
    which takes longer than to check an answer.
    """
    return np if isinstance(array, np.ndarray) else array_api_compat.array_namespace(array)


def takes(*specs, **rules):
    """Check array arguments against ``specs`` and any argument against a rule of its own.

    A rule is called as ``rule(name, value, arguments)`` and raises TypeError or ValueError.
    """
    parsed = [_parse(spec) for spec in specs]

    def decorate(function):
        signature = inspect.signature(function)

        @functools.wraps(function)
        def checked(*args, **kwargs):
            bound = signature.bind(*args, **kwargs)
            bound.apply_defaults()
            _check_arrays(parsed, bound.arguments)
            for name, rule in rules.items():
                rule(name, bound.arguments[name], bound.arguments)
            return function(*args, **kwargs)

        return checked

    return decorate


def positive(name, value, arguments):
    """A rule: a finite number greater than zero."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise TypeError(f"{name} is {_describe(value)}; it takes one positive number") from None
    if not (math.isfinite(number) and number > 0):
        raise ValueError(f"{name} is {number:g}; it takes a finite number greater than 0")


def whole(name, value, arguments):
    """A rule: a whole number from 1."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise TypeError(f"{name} is {_describe(value)}; it takes one whole number, such as 8")
    if value < 1:
        raise ValueError(f"{name} is {value}; it takes a whole number from 1")


def axis_of(array_name):
    """A rule: an integer that counts an axis of the named array."""

    def rule(name, value, arguments):
        ndim = arguments[array_name].ndim
        if isinstance(value, bool) or not isinstance(value, int | np.integer):
            raise TypeError(f"{name} is {_describe(value)}; it takes one integer, such as -1")
        if not -ndim <= value < ndim:
            raise ValueError(
                f"{name} is {value}, but {array_name} has {ndim} axes; "
                f"it takes an integer from {-ndim} to {ndim - 1}"
            )

    return rule


def _parse(spec):
    name, axes, kind, optional = _SPEC.fullmatch(spec).group("name", "axes", "kind", "optional")
    letters = [letter.strip() for letter in axes.split(",")]
    batched = letters[0] == "..."
    letters = letters[1:] if batched else letters
    return name, letters, batched, kind, bool(optional), spec.rstrip("?")


def _check_arrays(parsed, arguments):
    sizes = {}  # letter -> (size, the argument that set it)
    batches = {}
    arrays = {}
    for name, letters, batched, kind, optional, spec in parsed:
        array = arguments[name]
        if array is None and optional:
            continue
        _check_kind(name, array, kind, spec)
        shape = tuple(array.shape)
        rank = max(len(letters), 1)
        if len(shape) < rank or (len(shape) > rank and not batched):
            least = "at least " if batched else ""
            axes = f"{least}{rank} {'axis' if rank == 1 else 'axes'}"
            raise ValueError(f"{name} has shape {shape}; it takes {axes}: {spec}")
        if 0 in shape:
            raise ValueError(f"{name} is empty: its shape is {shape}; every axis needs an item")
        for letter, size in zip(letters, shape[len(shape) - len(letters) :], strict=True):
            known, owner = sizes.setdefault(letter, (size, name))
            if size != known:
                raise ValueError(
                    f"{name} has shape {shape}, so {letter} = {size}, but {owner} has "
                    f"{letter} = {known}; they must agree: {spec}"
                )
        if letters:
            batches[name] = shape[: len(shape) - len(letters)]
        arrays[name] = array
    _check_together(arrays, batches)


def _check_kind(name, array, kind, spec):
    if not array_api_compat.is_array_api_obj(array):
        raise TypeError(
            f"{name} is {_describe(array)}; it takes a numpy array or a torch tensor: {spec}"
        )
    xp = array_namespace(array)
    dtype, wanted = _KINDS[kind]
    if not xp.isdtype(array.dtype, dtype):
        raise TypeError(f"{name} has dtype {array.dtype}; it takes {wanted}")
    if not bool(xp.all(xp.isfinite(array))):
        raise ValueError(f"{name} holds NaN or infinite numbers; it takes finite ones")


def _check_together(arrays, batches):
    kinds = {name: type(array).__module__.partition(".")[0] for name, array in arrays.items()}
    if len(set(kinds.values())) > 1:
        owners = ", ".join(f"{name} from {kind}" for name, kind in kinds.items())
        raise TypeError(f"arrays of different libraries: {owners}; pass all from one")
    try:
        np.broadcast_shapes(*batches.values())
    except ValueError:
        shapes = ", ".join(f"{name} {shape}" for name, shape in batches.items())
        raise ValueError(f"the batch axes do not broadcast together: {shapes}") from None


def _describe(value):
    if isinstance(value, list | tuple):
        return f"a {type(value).__name__}"
    return f"{value!r} of type {type(value).__name__}"
