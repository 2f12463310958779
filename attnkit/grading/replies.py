"""The only forms that a reply of the learner's process may have; anything else is refused here.

What comes is written by a process in which the learner may do as they please. A well-formed reply
may still be a lie, but nothing is believed that a lie could gain by: it is a value to be judged, a
failure, or text to be shown.
"""

from dataclasses import dataclass

import numpy as np

from attnkit.checking.compare import Other, describe
from attnkit.grading import wire

TEXT, MESSAGE, NAME = 100_000, 1000, 100  # characters
PICTURE = 2_000_000  # bytes
SHOWN, PARTS = 20, 32  # outputs of one cell, members of one tuple
ARRAY = wire.LARGEST // 2  # bytes


@dataclass(frozen=True)
class Ran:
    """What a cell printed, warned and showed, and its error: a name and a message, or None."""

    printed: str
    warned: str
    shown: tuple[dict, ...]
    error: tuple[str, str] | None


@dataclass(frozen=True)
class Returned:
    """The value of a call, and the names of the arguments it says it has changed.

    Who can hide a change can as well copy the argument first, which is all that is asked.
    """

    value: object
    changed: tuple[str, ...]


@dataclass(frozen=True)
class Raised:
    """An exception, and the learner's own line with its number, if it has one."""

    name: str
    message: str
    line: tuple[int, str] | None


@dataclass(frozen=True)
class Late:
    """The call or cell was interrupted, at this line of the learner's."""

    line: tuple[int, str] | None


@dataclass(frozen=True)
class Missing:
    """There is no function of this name."""


def of_cell(message, number):
    """The reply number ``number``, to a request to run a cell; Broken if it is none."""
    match message:
        case [n, "ran", str(printed), str(warned), list(shown), error] if n == number:
            if len(printed) <= TEXT and len(warned) <= TEXT and len(shown) <= SHOWN:
                return Ran(printed, warned, tuple(map(_output, shown)), _error(error))
        case [n, "late", line] if n == number:
            return Late(_line(line))
    raise wire.Broken("this is no reply to a cell")


def of_call(message, number):
    """The reply number ``number``, to a call of a function; Broken if it is none."""
    match message:
        case [n, "value", value, list(changed)] if n == number:
            if len(changed) <= PARTS and all(isinstance(name, str) for name in changed):
                return Returned(_value(value), tuple(changed))
        case [n, "raised", name, text, line] if n == number:
            return Raised(*_error([name, text]), _line(line))
        case [n, "late", line] if n == number:
            return Late(_line(line))
        case [n, "missing"] if n == number:
            return Missing()
    raise wire.Broken("this is no reply to a call")


def crossing(value):
    """A plain value in the form in which ``of_call`` reads it."""
    if isinstance(value, tuple) and len(value) <= PARTS:
        return {"tuple": [_part(member) for member in value]}
    return _part(value)


def _part(value):
    if value is None:
        return None
    if isinstance(value, np.ndarray):
        if value.dtype.kind not in wire.KINDS:
            return {"other": f"an array of dtype {value.dtype}"[:NAME]}
        if value.nbytes > ARRAY:
            return {"other": f"an array of {value.nbytes:,} bytes"[:NAME]}
        return value
    return {"other": describe(value)[:NAME]}


def _value(data):
    match data:
        case {"tuple": list(parts), **rest} if len(parts) <= PARTS and not rest:
            return tuple(map(_member, parts))
    return _member(data)


def _member(data):
    match data:
        case None | np.ndarray():
            return data
        case {"other": str(words), **rest} if len(words) <= NAME and not rest:
            return Other(words)
    raise wire.Broken("this is no value")


def _output(data):
    """Text and pictures; never HTML or scripts, which would run in the teacher's browser."""
    match data:
        case {"text/plain": str(text), **rest} if len(text) <= TEXT and rest.keys() <= {
            "image/png"
        }:
            picture = rest.get("image/png", b"")
            if isinstance(picture, bytes) and len(picture) <= PICTURE:
                return data
    raise wire.Broken("this is no output")


def _error(data):
    match data:
        case None:
            return None
        case [str(name), str(text)] if name.isidentifier() and len(name) <= NAME:
            if len(text) <= MESSAGE:
                return name, text
    raise wire.Broken("this is no error")


def _line(data):
    match data:
        case None:
            return None
        case [int(number), str(text)] if len(text) <= MESSAGE:
            return number, text
    raise wire.Broken("this is no line")
