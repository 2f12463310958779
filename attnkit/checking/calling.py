"""Calls an answer as its exercise says: on arrays or on tensors, with gradients or without.

Numpy arrays go in and come out either way, so that cases, laws and what crosses between processes
know of nothing else.
"""

import warnings
from dataclasses import dataclass

import numpy as np

from attnkit.checking.compare import Other, is_tensor, plain

CUT_OFF = Other("missing (what you return has left torch on the way, or is detached as a whole)")


@dataclass(frozen=True)
class Way:
    """How a function is called: on ``numpy`` arrays or ``torch`` tensors.

    ``gradients`` are the names of the arguments whose gradients are appended to the value.
    """

    backend: str = "numpy"
    gradients: tuple[str, ...] = ()


def call(function, arguments, way, positional):
    """The value of ``function(**arguments)`` in plain numpy, and the arguments that it changed.

    :param arguments: by name; they may be written to
    :param positional: how many of them are given by place: people rename what they are given
    :returns: the value, with its gradients as further members; the names of what was changed
    """
    before = {
        name: array.tobytes() for name, array in arguments.items() if isinstance(array, np.ndarray)
    }
    names = list(arguments)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        given = tensors(arguments, way.gradients) if way.backend == "torch" else arguments
        value = function(
            *(given[name] for name in names[:positional]),
            **{name: given[name] for name in names[positional:]},
        )
        result = plain(value)
        if way.gradients:
            result = (*members(result), *_gradients(value, [given[n] for n in way.gradients]))
    return result, tuple(name for name, data in before.items() if arguments[name].tobytes() != data)


def members(value):
    """The parts of a value: those of a tuple, or it alone."""
    return value if isinstance(value, tuple) else (value,)


def tensors(arguments, leaves=()):
    """The arguments with each array as a tensor; of ``leaves`` the gradient can be asked."""
    import torch

    return {
        # A tensor shares the memory of its array, so a change of the one is seen in the other.
        name: torch.from_numpy(value).requires_grad_(name in leaves)
        if isinstance(value, np.ndarray)
        else value
        for name, value in arguments.items()
    }


def _gradients(value, leaves):
    """Those of one number made of the whole value, in which each element has its own weight.

    A plain sum would not do: that of softmax is constant, and its gradient zero.
    """
    import torch

    outputs = [part for part in members(value) if is_tensor(part) and part.requires_grad]
    if not outputs:
        return [CUT_OFF] * len(leaves)
    weights = [
        torch.cos(1 + torch.arange(part.numel(), dtype=part.dtype)).reshape(part.shape)
        for part in outputs
    ]
    # The gradient by an argument that the value does not depend on is zero.
    found = torch.autograd.grad(outputs, leaves, weights, materialize_grads=True)
    return [plain(gradient) for gradient in found]
