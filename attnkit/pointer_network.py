"""Pointer networks: the attention weights are the answer, and nothing is read.

Read from top to bottom. A pointer chooses among ``S`` *slots*: slot 0 is the gate, whose input says
GO when writing begins and which is pointed at to STOP; slots 1 to ``N`` are the items. So the
numbers of the items in code are those of the prose. Inputs are ``x (..., S, D)``, encoder states
``e (..., S, De)``; a mask is True where a slot may be pointed at. Every function takes numpy arrays
and torch tensors alike and leaves its arguments as they were. The network that the chapter trains
is ``attnkit.training.pointer_network``.
"""

import numpy as np

from attnkit.arguments import array_namespace, takes
from attnkit.soft_attention import additive_scores


def _at_least(least):
    """A rule: a whole number that is not below ``least``."""

    def rule(name, value, arguments):
        if isinstance(value, bool) or not isinstance(value, int | np.integer):
            raise TypeError(
                f"{name} is {value!r} of type {type(value).__name__}; it takes a whole number"
            )
        if value < least:
            raise ValueError(f"{name} is {value}; it takes a whole number of at least {least}")

    return rule


@takes("scores (..., S)", "mask (..., S) bool")
def log_distribution(scores, mask):
    r"""The logarithm of the pointer's distribution over the slots that the mask leaves.

    .. math:: \ln p_n = s_n - \ln \sum_{j \text{ visible}} \exp(s_j),
              \quad -\infty \text{ if hidden}

    The largest *visible* score is subtracted before any exponential, so scores may have any size.

    :param scores: ``(..., S)``
    :param mask: ``(..., S)`` of booleans, True = may be pointed at; the batch axes broadcast
    :returns: logarithms, the shape of ``scores`` and ``mask`` together; minus infinity for hidden
        slots, so for a row in which nothing is visible everywhere
    :raises TypeError, ValueError: naming the argument, for input of another kind

    >>> import numpy as np
    >>> log_distribution(np.array([0.0, 0.0, 9.0]), np.array([True, True, False])).round(3)
    array([-0.693, -0.693,   -inf])
    """
    xp = array_namespace(scores)
    lowest = xp.min(scores, axis=-1, keepdims=True)
    top = xp.max(xp.where(mask, scores, lowest), axis=-1, keepdims=True)
    shifted = xp.where(mask, scores - top, -xp.inf)
    total = xp.sum(xp.exp(shifted), axis=-1, keepdims=True)
    return shifted - xp.log(xp.where(total > 0, total, 1))


@takes("chosen (..., M) int", slots=_at_least(1))
def unvisited(chosen, slots):
    r"""The mask of a sequence without repetition: an item may be pointed at until it has been.

    The gate, slot 0, may always be pointed at.

    :param chosen: ``(..., M)`` of integers, the slot that each step points at
    :param slots: how many there are, ``S``
    :returns: booleans ``(..., M, S)``, what each step may point at
    :raises TypeError, ValueError: naming the argument, for input of another kind

    >>> import numpy as np
    >>> unvisited(np.array([2, 1, 0]), slots=3).astype(int)
    array([[1, 1, 1],
           [1, 1, 0],
           [1, 0, 0]])
    """
    xp = array_namespace(chosen)
    pointed = xp.astype(chosen[..., None] == xp.arange(slots), chosen.dtype)  # (..., M, S)
    M = chosen.shape[-1]
    earlier = xp.tril(xp.ones((M, M), dtype=pointed.dtype), k=-1)  # (step, step before it)
    before = earlier @ pointed
    return (before == 0) | (xp.arange(slots) == 0)


def _joins(name, W, arguments):
    d_0, x = arguments["d_0"], arguments["x"]
    if W.shape[-1] != d_0.shape[-1] + x.shape[-1]:
        raise ValueError(
            f"W has shape {tuple(W.shape)}; it takes (Dd, Dd + D), here "
            f"({d_0.shape[-1]}, {d_0.shape[-1]} + {x.shape[-1]})"
        )


def _are_slots(name, chosen, arguments):
    slots = arguments["x"].shape[-2]
    if chosen.min() < 0 or chosen.max() >= slots:
        raise ValueError(
            f"{name} holds numbers from {int(chosen.min())} to {int(chosen.max())}; x has {slots} "
            f"slots, so it takes 0 to {slots - 1}"
        )


@takes(
    "x (..., S, D)",
    "e (..., S, De)",
    "d_0 (..., Dd)",
    "chosen (..., M) int",
    "mask (..., M, S) bool",
    "steps (..., M) bool",
    "W (Dd, J)",
    "W_q (H, Dd)",
    "W_k (H, De)",
    "v (H)",
    W=_joins,
    chosen=_are_slots,
)
def log_likelihood(x, e, d_0, chosen, mask, steps, W, W_q, W_k, v):
    r"""How probable it is that a pointer network writes ``chosen``, told the truth at each step.

    With :math:`c_0 = 0`, the gate, whose input says GO,

    .. math:: d_m &= \tanh(W\,[d_{m-1}; x_{c_{m-1}}]), \quad
              s_{mn} = v^\top \tanh(W_q d_m + W_k e_n) \\
              \ln p(c_{1:M} \mid x) &= \sum_m \ln \mathrm{softmax}(s_m)_{c_m}

    :param x: inputs ``(..., S, D)``, the gate's first
    :param e: encoder states ``(..., S, De)``
    :param d_0: the decoder's first state ``(..., Dd)``
    :param chosen: ``(..., M)`` of integers from 0 to S - 1; 0 is STOP
    :param mask: ``(..., M, S)`` of booleans, what each step may point at
    :param steps: ``(..., M)`` of booleans, False where a step is padding and does not count
    :param W: ``(Dd, Dd + D)``, a plain recurrent cell in place of the paper's gated one
    :param W_q: ``(H, Dd)``
    :param W_k: ``(H, De)``
    :param v: ``(H,)``
    :returns: the logarithm of each step's probability ``(..., M)``, zero for padding, and their
        sum ``(...)``
    :raises TypeError, ValueError: naming the argument, for input of another kind

    Source: Vinyals et al. (2015), section 2.3.

    >>> import numpy as np
    >>> one = np.ones
    >>> log_p, total = log_likelihood(
    ...     one((2, 4, 1)), one((2, 4, 5)), one((2, 3)), np.array([[2, 0], [0, 0]]),
    ...     one((2, 2, 4), bool), np.array([[True, True], [True, False]]),
    ...     one((3, 3 + 1)), one((6, 3)), one((6, 5)), one(6),
    ... )
    >>> total.round(3)  # all four slots score alike
    array([-2.773, -1.386])
    """
    xp = array_namespace(x)
    d, previous, logs = d_0, x[..., 0, :], []
    for m in range(chosen.shape[-1]):
        d = xp.tanh(xp.concat([d, previous], axis=-1) @ W.mT)
        scores = additive_scores(d[..., None, :], e, W_q, W_k, v)[..., 0, :]  # (..., S)
        pointed = chosen[..., m, None] == xp.arange(x.shape[-2])  # (..., S)
        logs.append(
            xp.sum(xp.where(pointed, log_distribution(scores, mask[..., m, :]), 0), axis=-1)
        )
        previous = xp.sum(xp.where(pointed[..., None], x, 0), axis=-2)
    log_p = xp.where(steps, xp.stack(logs, axis=-1), 0)  # (..., M)
    return log_p, xp.sum(log_p, axis=-1)


@takes("scores (B, M, S)", width=_at_least(1))
def decode(scores, width=1):
    r"""The most probable sequence without repetition that a search finds, and its logarithm.

    Each step's distribution is over the items that the sequence has not pointed at, and the gate.
    Pointing at the gate is STOP: from then on only the gate is left, with probability 1. Of all
    beginnings the ``width`` most probable are kept; one is the *greedy* search, more a *beam*.

    :param scores: ``(B, M, S)``, what step m gives each slot, whatever was chosen before
    :param width: how many beginnings are kept
    :returns: the slots ``(B, M)``, and the logarithm of the sequence's probability ``(B,)``
    :raises TypeError, ValueError: naming the argument, for input of another kind

    >>> import numpy as np
    >>> scores = np.log(np.array([[[0.1, 0.4, 0.5], [0.2, 0.7, 0.1]]]))
    >>> chosen, total = decode(scores)
    >>> chosen, np.exp(total).round(3)
    (array([[2, 1]]), array([0.389]))
    """
    xp = array_namespace(scores)
    B, M, S = scores.shape
    slots = xp.arange(S)
    chosen = xp.zeros((B, 1, 0), dtype=slots.dtype)  # (B, width, steps so far)
    total = xp.zeros((B, 1), dtype=scores.dtype)
    visible = xp.ones((B, 1, S), dtype=xp.bool)
    for step in range(M):
        log_p = log_distribution(scores[:, None, step], visible)  # (B, width, S)
        candidates = xp.reshape(total[..., None] + log_p, (B, -1))  # (B, width * S)
        best = xp.argsort(-candidates, axis=-1)[:, :width]
        total = xp.take_along_axis(candidates, best, axis=-1)
        parent, slot = (best // S)[..., None], (best % S)[..., None]  # (B, width, 1)
        chosen = xp.concat([xp.take_along_axis(chosen, parent, axis=1), slot], axis=-1)
        visible = xp.take_along_axis(visible, parent, axis=1) & (slots != slot) & (slot != 0)
        visible = visible | (slots == 0)
    return chosen[:, 0], total[:, 0]
