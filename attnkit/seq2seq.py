"""One step of a decoder that looks where it needs to, and how well its weights point.

Read from top to bottom. Rows are vectors: annotations ``h (..., N, Dh)`` of a source of ``N``
symbols, states ``(..., Ds)``; a mask is True where a position may be attended. Every function takes
numpy arrays and torch tensors alike and leaves its arguments as they were. The models that the
chapter trains are ``attnkit.training.seq2seq``.
"""

from attnkit.arguments import array_namespace, takes
from attnkit.self_attention import masked_softmax
from attnkit.soft_attention import additive_scores


def _joins(name, W, arguments):
    parts = [arguments[part].shape[-1] for part in ("s_prev", "y_prev", "h")]
    if W.shape[-1] != sum(parts):
        raise ValueError(
            f"W has shape {tuple(W.shape)}; it takes (Ds, Ds + Dy + Dh), here "
            f"({parts[0]}, {parts[0]} + {parts[1]} + {parts[2]})"
        )


@takes(
    "s_prev (..., Ds)",
    "y_prev (..., Dy)",
    "h (..., N, Dh)",
    "mask (..., N) bool",
    "W_q (H, Ds)",
    "W_k (H, Dh)",
    "v (H)",
    "W (Ds, J)",
    W=_joins,
)
def bahdanau_step(s_prev, y_prev, h, mask, W_q, W_k, v, W):
    r"""One decoder step: weigh the annotations by the previous state, read, then move on.

    .. math:: e_n &= v^\top \tanh(W_q s_{t-1} + W_k h_n), \quad \alpha = \mathrm{softmax}(e) \\
              c_t &= \sum_n \alpha_n h_n, \quad s_t = \tanh(W\,[s_{t-1}; y_{t-1}; c_t])

    :param s_prev: the decoder's previous state ``(..., Ds)``, which is the query
    :param y_prev: the embedding of the previous output ``(..., Dy)``
    :param h: annotations ``(..., N, Dh)``, which are keys and values
    :param mask: ``(..., N)`` of booleans, True = a real source position, False = padding
    :param W_q: ``(H, Ds)``
    :param W_k: ``(H, Dh)``
    :param v: ``(H,)``
    :param W: ``(Ds, Ds + Dy + Dh)``, a plain recurrent cell in place of the paper's gated one
    :returns: the new state ``(..., Ds)``, the context ``(..., Dh)``, the weights ``(..., N)``;
        a source that is all padding gives a context and weights of zeros
    :raises TypeError, ValueError: naming the argument, for input of another kind

    Source: Bahdanau et al. (2015), section 3.1 and appendix A.2.

    >>> import numpy as np
    >>> one = np.ones
    >>> s, context, weights = bahdanau_step(
    ...     one((2, 3)), one((2, 4)), one((2, 5, 6)), one((2, 5), bool),
    ...     one((7, 3)), one((7, 6)), one(7), one((3, 3 + 4 + 6)),
    ... )
    >>> s.shape, context.shape, weights.shape
    ((2, 3), (2, 6), (2, 5))
    """
    xp = array_namespace(s_prev)
    scores = additive_scores(s_prev[..., None, :], h, W_q, W_k, v)[..., 0, :]  # (..., N)
    weights = masked_softmax(scores, mask)
    context = (weights[..., None, :] @ h)[..., 0, :]  # (..., Dh)
    joined = xp.concat([s_prev, y_prev, context], axis=-1)
    return xp.tanh(joined @ W.mT), context, weights


def _some_step(name, steps, arguments):
    if not steps.any():
        raise ValueError("steps is False everywhere; it takes at least one step that counts")


@takes("weights (..., M, N)", "aligned (..., M) int", "steps (..., M) bool", steps=_some_step)
def alignment_score(weights, aligned, steps):
    r"""How well weights point: the share of hits, and the soft alignment error rate.

    Over all steps that count, of all sentences together,

    .. math:: \text{share} = \frac{\#\{\arg\max_n \alpha_{tn} = n^*_t\}}{\#\{t\}}, \qquad
              \text{error} = 1 - \frac{\sum_t \alpha_{t n^*_t}}{\#\{t\}}

    :param weights: ``(..., M, N)``, each row adds to one
    :param aligned: ``(..., M)`` of integers, the true source position of each step, from 0
    :param steps: ``(..., M)`` of booleans, False where a step is padding and does not count
    :returns: the share and the error, two numbers from 0 to 1
    :raises TypeError, ValueError: naming the argument, for input of another kind

    Source: Och and Ney's alignment error rate for one sure link a step; the soft form is that of
    Tu et al. (2016).

    >>> import numpy as np
    >>> weights = np.array([[0.1, 0.9], [0.6, 0.4]])
    >>> share, error = alignment_score(weights, np.array([1, 1]), np.array([True, True]))
    >>> float(share), round(float(error), 2)
    (0.5, 0.35)
    """
    xp = array_namespace(weights)
    hits = (xp.argmax(weights, axis=-1) == aligned) & steps  # (..., M)
    true = (aligned[..., None] == xp.arange(weights.shape[-1])) & steps[..., None]  # (..., M, N)
    mass = xp.sum(xp.where(true, weights, 0))
    return xp.sum(hits) / xp.sum(steps), 1 - mass / xp.sum(steps)
