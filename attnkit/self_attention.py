"""Self-attention: every vector of a sequence asks all of them; masks and positions.

Read from top to bottom. A sequence is ``X (..., N, D)``, one vector a row. Masks are boolean and
True where a query may attend; a row that sees nothing gets zeros. Every function of arrays takes
numpy arrays and torch tensors alike and leaves its arguments as they were.
"""

from itertools import permutations

import numpy as np

from attnkit.arguments import array_namespace, takes, whole
from attnkit.soft_attention import softmax


@takes("scores (..., N)", "mask (..., N) bool")
def masked_softmax(scores, mask):
    r"""The softmax over the items that the mask leaves visible; a row without any is all zeros.

    .. math:: a_n = \frac{m_n \exp(s_n - t)}{\sum_j m_j \exp(s_j - t)},
              \quad t = \max_{j : m_j = 1} s_j, \quad a = 0 \text{ if no } m_j \text{ is } 1

    Hidden items get exactly zero, and so does the gradient of their scores. The shift is the
    largest *visible* score: a hidden one may be larger by any amount.

    :param scores: ``(..., N)``, real and finite
    :param mask: ``(..., N)``, True = may attend; it broadcasts against the scores
    :returns: weights, of the shape that scores and mask have together
    :raises TypeError, ValueError: naming the argument, for input of another kind

    Source: the mask of Vaswani et al. (2017), section 3.2.3; zeros for an empty row as in
    ``torch.nn.functional.scaled_dot_product_attention``.

    >>> masked_softmax(np.zeros((2, 3)), np.array([[True, True, False], [False] * 3]))
    array([[0.5, 0.5, 0. ],
           [0. , 0. , 0. ]])
    """
    xp = array_namespace(scores)
    visible = xp.where(mask, scores, -xp.inf)
    top = xp.max(visible, axis=-1, keepdims=True)
    top = xp.where(xp.isfinite(top), top, 0)  # an empty row has no largest score
    exponentials = xp.exp(visible - top)
    total = xp.sum(exponentials, axis=-1, keepdims=True)
    return exponentials / xp.where(total > 0, total, 1)


@takes("X (..., N, D)", "W_q (Dk, D)", "W_k (Dk, D)", "W_v (Dv, D)")
def self_attention(X, W_q, W_k, W_v):
    r"""Each vector of a sequence asks every vector of the same sequence.

    .. math:: Q = X W_q^\top, \quad K = X W_k^\top, \quad V = X W_v^\top, \quad
              H = \mathrm{softmax}(Q K^\top / \sqrt{D_k})\, V

    :param X: the sequence ``(..., N, D)``, of any length ``N``
    :param W_q: ``(Dk, D)``, makes queries
    :param W_k: ``(Dk, D)``, makes keys
    :param W_v: ``(Dv, D)``, makes values
    :returns: the outputs ``(..., N, Dv)`` and the weights ``(..., N, N)``
    :raises TypeError, ValueError: naming the argument, for input of another kind

    Source: Vaswani et al. (2017), equation 1, with queries, keys and values from one sequence.

    >>> W_q, W_k, W_v = np.ones((3, 4)), np.ones((3, 4)), np.ones((6, 4))
    >>> H, weights = self_attention(np.ones((5, 4)), W_q, W_k, W_v)
    >>> H.shape, weights.shape
    ((5, 6), (5, 5))
    """
    Q, K, V = X @ W_q.mT, X @ W_k.mT, X @ W_v.mT
    weights = softmax(Q @ K.mT / K.shape[-1] ** 0.5)  # (..., N, N)
    return weights @ V, weights


@takes("Q (..., N, Dk)", "K (..., N, Dk)", "V (..., N, Dv)", "real (..., N) bool")
def masked_attention(Q, K, V, real, causal=False):
    r"""Scaled dot-product attention that sees no padding and, if causal, nothing that comes later.

    Query ``m`` may attend to key ``n`` if ``real[n]`` and, when ``causal``, ``n <= m``.

    :param Q: queries ``(..., N, Dk)``
    :param K: keys ``(..., N, Dk)``
    :param V: values ``(..., N, Dv)``
    :param real: ``(..., N)``, True where the sequence has a token, False where it is padded
    :param causal: whether later keys are hidden as well
    :returns: the read ``(..., N, Dv)`` and the weights ``(..., N, N)``; zeros in both where a
        query sees nothing
    :raises TypeError, ValueError: naming the argument, for input of another kind

    Source: Vaswani et al. (2017), section 3.2.3.

    >>> real = np.array([False, True, True])  # padded at the start
    >>> masked_attention(*np.zeros((3, 3, 2)), real, causal=True)[1]
    array([[0. , 0. , 0. ],
           [0. , 1. , 0. ],
           [0. , 0.5, 0.5]])
    """
    xp = array_namespace(Q)
    mask = real[..., None, :]  # (..., 1, N): padding is hidden from every query
    if causal:
        mask = mask & xp.tril(xp.ones((Q.shape[-2], Q.shape[-2]), dtype=xp.bool))
    weights = masked_softmax(Q @ K.mT / K.shape[-1] ** 0.5, mask)
    return weights @ V, weights


@takes(N=whole, D=whole)
def sinusoidal_positions(N, D):
    r"""A fixed vector for each place in a sequence: sines and cosines of many wavelengths.

    .. math:: p_{t,\,2i} = \sin(t / 10000^{2i/D}), \quad p_{t,\,2i+1} = \cos(t / 10000^{2i/D}),
              \quad t = 0, \dots, N - 1

    For even ``D`` every row has the length :math:`\sqrt{D/2}`, and the dot product of two rows
    depends on how far apart they are, not on where.

    :param N: the number of places
    :param D: the size of each vector; if it is odd, the last sine has no cosine
    :returns: a numpy array ``(N, D)``
    :raises TypeError, ValueError: naming the argument, for input of another kind

    Source: Vaswani et al. (2017), section 3.5.

    >>> sinusoidal_positions(2, 4).round(4)
    array([[0.    , 1.    , 0.    , 1.    ],
           [0.8415, 0.5403, 0.01  , 1.    ]])
    """
    place, column = np.arange(N)[:, None], np.arange(D)
    angle = place / 10000 ** (2 * (column // 2) / D)  # (N, D)
    return np.where(column % 2 == 0, np.sin(angle), np.cos(angle))


@takes("X (N, D)", "positions (N, D)", "mask (N, N) bool")
def placed_attention(X, positions, mask):
    r"""Self-attention over vectors to which their places have been added, under a mask.

    No projections: with :math:`Z = X + P` it is the masked softmax of
    :math:`Z Z^\top / \sqrt{D}`, times :math:`Z`.

    >>> placed_attention(np.eye(2), np.zeros((2, 2)), np.eye(2, dtype=bool))
    array([[1., 0.],
           [0., 1.]])
    """
    Z = X + positions
    return masked_softmax(Z @ Z.mT / Z.shape[-1] ** 0.5, mask) @ Z


@takes("X (N, D)", "positions (N, D)", "mask (N, N) bool")
def equivariance_error(X, positions, mask):
    r"""How far ``placed_attention`` is from following every reordering of its sequence.

    .. math:: \max_\pi \max_{n,d} \bigl|f(\pi X) - \pi f(X)\bigr|_{nd}

    over all :math:`N!` orders :math:`\pi`. Zero, up to rounding, means permutation equivariant on
    this sequence. Positions and mask belong to the layer and stay where they are.

    :param X: the sequence ``(N, D)``; ``N!`` orders are tried, so keep it short
    :param positions: ``(N, D)``, what the layer adds to each place
    :param mask: ``(N, N)``, True = may attend
    :returns: one number
    :raises TypeError, ValueError: naming the argument, for input of another kind

    >>> everything = np.ones((3, 3), dtype=bool)
    >>> X = np.arange(6.0).reshape(3, 2)
    >>> float(equivariance_error(X, np.zeros((3, 2)), everything)) < 1e-12
    True
    >>> float(equivariance_error(X, np.zeros((3, 2)), np.tril(everything))) > 1
    True
    """
    xp = array_namespace(X)
    in_place = placed_attention(X, positions, mask)
    errors = []
    for order in permutations(range(X.shape[0])):
        order = list(order)
        moved = placed_attention(X[order], positions, mask)
        errors.append(xp.max(xp.abs(moved - in_place[order])))
    return max(errors)
