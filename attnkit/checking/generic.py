"""Wrong answers that fit any exercise: every check has to refuse them."""

import numpy as np


class EqualToEverything(np.ndarray):
    """An array that claims to be whatever it is compared with."""

    def __eq__(self, other):
        return np.ones(self.shape, bool)

    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        return np.zeros(self.shape)


def wrong_answers(exercise):
    """Name and function of each generic wrong answer, built around the exercise's reference."""

    def right(*args, **kwargs):
        return exercise.reference(*args, **kwargs)

    def changed(change):
        def answer(*args, **kwargs):
            value = right(*args, **kwargs)
            return tuple(map(change, value)) if isinstance(value, tuple) else change(value)

        return answer

    yield "zeros", changed(np.zeros_like)
    yield "ones", changed(np.ones_like)
    yield "NaN", changed(lambda array: np.full_like(array, np.nan))
    yield "None", lambda *args, **kwargs: None
    yield "the first argument", lambda first, *args, **kwargs: first.copy()
    yield "transposed", changed(np.transpose)
    yield "an axis too many", changed(lambda array: array[None])
    yield "flattened", changed(np.ravel)
    yield "as a list", changed(np.ndarray.tolist)
    yield "in single precision", changed(lambda array: array.astype(np.float32))
    yield "equal to everything", changed(lambda array: np.zeros_like(array).view(EqualToEverything))
    yield "one part in a million off", changed(lambda array: array * (1 + 1e-6) + 1e-6)
    yield "writes into its arguments", _writes_into_its_arguments(right)
    yield "grows from call to call", _grows(right)
    yield "always its first answer", _remembers(right)


def _writes_into_its_arguments(right):
    def answer(*args, **kwargs):
        value = right(*args, **kwargs)
        args[0][...] += 1
        return value

    return answer


def _grows(right):
    calls = 0

    def answer(*args, **kwargs):
        nonlocal calls
        calls += 1
        value = right(*args, **kwargs)
        return tuple(v * calls for v in value) if isinstance(value, tuple) else value * calls

    return answer


def _remembers(right):
    memory = []

    def answer(*args, **kwargs):
        memory.append(right(*args, **kwargs))
        return memory[0]

    return answer
