"""Hard attention: read one item, by the largest weight or by a draw, and train through the choice.

Read from top to bottom: first the read, then the gradient it seems to lack, exact and estimated.
Items lie along the last axis of scores and weights ``(..., M, N)``; values are ``V (..., N, Dv)``.
Randomness comes in as uniform numbers ``u``, so that every function gives the same for the same
arguments. Numpy arrays and torch tensors alike, except where a function says otherwise.
"""

import numpy as np

from attnkit.arguments import array_namespace, positive, takes
from attnkit.soft_attention import softmax


def _from_zero_to_one(name, value, arguments):
    if value is not None and not bool(((value >= 0) & (value < 1)).all()):
        raise ValueError(f"{name} holds numbers outside of [0, 1); it takes uniform numbers")


def _inside_zero_to_one(name, value, arguments):
    if not bool(((value > 0) & (value < 1)).all()):
        raise ValueError(
            f"{name} holds numbers that are not between 0 and 1; the Gumbel noise -log(-log(u)) "
            "takes uniform numbers inside of (0, 1)"
        )


def _items_of_scores(name, value, arguments):
    scores = arguments["scores"]
    batch, N = tuple(scores.shape[:-1]), scores.shape[-1]
    if tuple(np.shape(value)) != batch or "int" not in str(getattr(value, "dtype", "")):
        raise TypeError(f"{name} takes integers of shape {batch}, one item for each row of scores")
    if not bool(((value >= 0) & (value < N)).all()):
        raise ValueError(f"{name} names an item that is not there; it takes 0 to {N - 1}")


@takes("weights (..., M, N)", "V (..., N, Dv)", "u (..., M)?", u=_from_zero_to_one)
def hard_read(weights, V, u=None):
    r"""Read one item for each query: the one of the largest weight, or one drawn by the weights.

    .. math:: o_m = v_{z_m}, \quad z_m = \arg\max_n \alpha_{mn}
              \quad\text{or}\quad z_m \sim \alpha_m

    The draw inverts the distribution: :math:`z_m` is the first item whose partial sum
    :math:`\alpha_{m1} + \dots + \alpha_{mz}` is larger than :math:`u_m`.

    :param weights: ``(..., M, N)``, rows that add to one
    :param V: values ``(..., N, Dv)``
    :param u: uniform numbers in [0, 1), ``(..., M)``; None takes the largest weight
    :returns: the read ``(..., M, Dv)`` and the index of the item, from 0, ``(..., M)``
    :raises TypeError, ValueError: naming the argument, for input of another kind

    Source: Xu et al. (2015), section 4.1, for the sample.

    >>> import numpy as np
    >>> weights, V = np.array([[0.2, 0.5, 0.3]]), np.eye(3)
    >>> hard_read(weights, V)[1], hard_read(weights, V, u=np.array([0.9]))[1]
    (array([1]), array([2]))
    """
    xp = array_namespace(weights)
    if u is None:
        index = weights.argmax(-1)
    else:
        passed = weights.cumsum(-1) <= u[..., None]  # (..., M, N)
        # Rounding may leave the last partial sum below u.
        index = passed.sum(-1).clip(max=weights.shape[-1] - 1)
    return xp.take_along_axis(V, index[..., None], axis=-2), index


@takes("scores (..., N)", "losses (..., N)")
def expected_loss_gradient(scores, losses):
    r"""The gradient by the scores of the loss that a sampled choice costs on average.

    .. math:: \frac{\partial}{\partial s_n} \sum_j \alpha_j L_j
              = \alpha_n \Big(L_n - \sum_j \alpha_j L_j\Big)

    It is a finite sum: no sample is needed where the loss of every item can be computed.

    :param scores: ``(..., N)``
    :param losses: what each item would cost, ``(..., N)``
    :returns: ``(..., N)``, adding to zero along the items

    >>> import numpy as np
    >>> expected_loss_gradient(np.zeros(2), np.array([1.0, 3.0]))
    array([-0.5,  0.5])
    """
    weights = softmax(scores)
    return weights * (losses - (weights * losses).sum(-1)[..., None])


@takes("scores (..., N)", "losses (...)", "baseline (...)", choice=_items_of_scores)
def reinforce_gradient(scores, choice, losses, baseline):
    r"""One estimate of that gradient for each choice that was drawn, from its own loss alone.

    .. math:: (L_z - b)\, \frac{\partial \ln \alpha_z}{\partial s_n}
              = (L_z - b)\, (\delta_{zn} - \alpha_n)

    Its mean over draws of ``z`` is :func:`expected_loss_gradient`, whatever number the baseline
    is, as long as it does not depend on the draw.

    :param scores: ``(..., N)``
    :param choice: integers ``(...)``, the items drawn
    :param losses: what they cost, ``(...)``
    :param baseline: :math:`b`, ``(...)``
    :returns: ``(..., N)``

    Source: Williams (1992).

    >>> import numpy as np
    >>> scores, zero = np.zeros((2, 2)), np.zeros(2)
    >>> reinforce_gradient(scores, np.array([0, 1]), np.array([1.0, 3.0]), zero)
    array([[ 0.5, -0.5],
           [-1.5,  1.5]])
    """
    xp = array_namespace(scores)
    chosen = xp.arange(scores.shape[-1]) == choice[..., None]  # (..., N)
    ones, zeros = xp.ones_like(scores), xp.zeros_like(scores)
    return (losses - baseline)[..., None] * (xp.where(chosen, ones, zeros) - softmax(scores))


@takes("scores (B, N)", "losses (B)", "baseline (B)", choice=_items_of_scores)
def reinforce_surrogate(scores, choice, losses, baseline):
    r"""A number to call ``backward`` on (torch): its gradient is REINFORCE plus the direct one.

    .. math:: \frac{1}{B} \sum_i L_i + [L_i - b_i]\, \ln \alpha_{i z_i}

    where :math:`[\,\cdot\,]` is a constant to the gradient. The first term trains what turned the
    item into a loss, the second the scores; the baseline gets no gradient.

    :param scores: tensor ``(B, N)``
    :param choice: integers ``(B,)``, the items drawn
    :param losses: what they cost, ``(B,)``, with their own graph behind them
    :param baseline: ``(B,)``
    :returns: a tensor without axes

    Source: Williams (1992); Xu et al. (2015), section 4.1.

    >>> import torch
    >>> scores = torch.zeros(1, 2, requires_grad=True)
    >>> loss, baseline = torch.ones(1), torch.zeros(1)
    >>> reinforce_surrogate(scores, torch.tensor([0]), loss, baseline).backward()
    >>> scores.grad
    tensor([[ 0.5000, -0.5000]])
    """
    log_weights = scores.log_softmax(-1)  # (B, N)
    chosen = log_weights.gather(-1, choice[:, None])[:, 0]  # (B,)
    return (losses + (losses - baseline).detach() * chosen).mean()


@takes("scores (..., N)", "u (..., N)", u=_inside_zero_to_one)
def gumbel_scores(scores, u):
    r"""Scores plus Gumbel noise: their largest is a sample of the softmax of the scores.

    .. math:: s_n + g_n, \quad g_n = -\ln(-\ln u_n)

    :param scores: ``(..., N)``
    :param u: uniform numbers inside of (0, 1), ``(..., N)``
    :returns: ``(..., N)``

    Source: Maddison et al. (2017), section 2; the trick is older.

    >>> import numpy as np
    >>> gumbel_scores(np.zeros(2), np.array([0.1, 0.9])).round(3)
    array([-0.834,  2.25 ])
    """
    xp = array_namespace(scores)
    return scores - xp.log(-xp.log(u))


@takes(
    "scores (..., M, N)",
    "V (..., N, Dv)",
    "u (..., M, N)",
    "upstream (..., M, Dv)",
    u=_inside_zero_to_one,
    temperature=positive,
)
def straight_through(scores, V, u, upstream, temperature=1.0):
    r"""A hard choice forward, the gradient of a soft one backward, written out.

    .. math:: z = \arg\max_n (s_n + g_n), \quad w = \mathrm{softmax}((s + g) / \tau), \quad
              \frac{\partial}{\partial s_n} \approx
              \frac{w_n}{\tau} \Big(c_n - \sum_j w_j c_j\Big), \quad c_n = v_n^\top h

    where ``g`` is Gumbel noise and ``h`` the gradient of the loss by the read :math:`v_z`. The item
    is an exact sample of ``softmax(scores)`` (Gumbel-max), the weights are its relaxation
    (Gumbel-softmax), and the gradient is that of ``w @ V``, as if it had been read.

    :param scores: ``(..., M, N)``
    :param V: values ``(..., N, Dv)``
    :param u: uniform numbers inside of (0, 1), ``(..., M, N)``
    :param upstream: the gradient of the loss by the read, ``(..., M, Dv)``
    :param temperature: :math:`\tau`
    :returns: the choice, integers ``(..., M)``; the weights ``(..., M, N)``; the gradient by the
        scores ``(..., M, N)``

    Source: Jang et al. (2017), section 2; straight-through: Bengio et al. (2013).

    >>> import numpy as np
    >>> half = np.full((2, 5), 0.5)
    >>> parts = straight_through(np.ones((2, 5)), np.ones((5, 3)), half, np.ones((2, 3)))
    >>> [part.shape for part in parts]
    [(2,), (2, 5), (2, 5)]
    """
    noisy = gumbel_scores(scores, u)  # (..., M, N)
    weights = softmax(noisy / temperature)
    slopes = upstream @ V.mT  # (..., M, N): how the loss answers to each weight
    mean = (weights * slopes).sum(-1)  # (..., M)
    return noisy.argmax(-1), weights, weights * (slopes - mean[..., None]) / temperature
