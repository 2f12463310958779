"""What is wanted of a case, and how far a right answer may be off: derived, not guessed.

A right answer that orders its operations differently rounds differently. Each operation rounds by
at most one unit ``eps`` of the arguments' dtype, relative to the numbers it works on; and what the
rounding of an argument does to the output is measured here, by nudging the arguments. So an
element may be off by

    ROUNDINGS * eps * (largest number around + what a relative nudge of one would do to it)

where the largest number around is that of the arguments, of the output, or 1: on the way to a small
output stand weights near one, and their rounding stays when they cancel.
"""

import copy
from dataclasses import dataclass, replace

import numpy as np

from attnkit.checking.calling import members
from attnkit.checking.compare import plain

# More operations than go one after another into one element of any case.
ROUNDINGS = 64
NUDGE = 1e-7
NUDGES = 3


@dataclass(frozen=True)
class Wanted:
    """The wanted value in double precision; the dtype it should have; the slack an element has.

    ``value`` and ``slack`` are arrays, or tuples of arrays when a tuple is wanted.
    """

    value: object
    slack: object
    dtype: np.dtype

    @property
    def largest_slack(self):
        return max(float(np.max(slack)) for slack in members(self.slack))

    def of_any_value(self):
        """The same, but for the numbers: what remains are type, shape and dtype."""
        slack = tuple(np.full(member.shape, np.inf) for member in members(self.value))
        return replace(self, slack=slack if isinstance(self.value, tuple) else slack[0])


def wanted(reference, arguments):
    """Run the reference on the arguments of a case and measure how it answers to a nudge."""
    dtype = np.result_type(*(array for array in arguments.values() if _is_floating(array)))
    doubles = _changed(arguments, lambda array: array.astype(float))
    value = plain(reference(**copy.deepcopy(doubles)))
    rng = np.random.default_rng(0)
    response = [np.zeros(member.shape) for member in members(value)]
    for _ in range(NUDGES):
        nudged = _changed(
            doubles, lambda array: array * (1 + NUDGE * rng.choice([-1.0, 1.0], array.shape))
        )
        moved = members(plain(reference(**nudged)))
        for known, one, other in zip(response, moved, members(value), strict=True):
            np.maximum(known, np.abs(one - other) / NUDGE, out=known)
    around = [*members(value), *(x for x in doubles.values() if _is_floating(x))]
    largest = max(1.0, *(float(np.max(np.abs(array))) for array in around))
    slack = tuple(ROUNDINGS * np.finfo(dtype).eps * (largest + known) for known in response)
    return Wanted(value, slack if isinstance(value, tuple) else slack[0], dtype)


def _is_floating(value):
    return isinstance(value, np.ndarray) and value.dtype.kind == "f"


def _changed(arguments, change):
    return {k: change(v) if _is_floating(v) else v for k, v in arguments.items()}
