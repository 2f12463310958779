"""Soft attention: score the items, normalise the scores, read the weighted average.

Read from top to bottom. Rows are vectors: queries ``Q (..., M, D)``, keys ``K (..., N, D)``,
values ``V (..., N, Dv)``; scores and weights are ``(..., M, N)``, one row a query. Every function
takes numpy arrays and torch tensors alike and leaves its arguments as they were.
"""

from attnkit.arguments import array_namespace, axis_of, positive, takes


@takes("scores (...)", axis=axis_of("scores"))
def softmax(scores, axis=-1):
    r"""Positive numbers that add to one, in the order of the scores, at any size of the scores.

    .. math:: a_n = \frac{\exp(s_n - \max_j s_j)}{\sum_j \exp(s_j - \max_j s_j)}

    Subtracting the largest score changes nothing in exact arithmetic and keeps ``exp`` from
    overflowing.

    :param scores: any shape, real and finite
    :param axis: the axis along which the weights add to one
    :returns: weights, the shape of ``scores``
    :raises TypeError, ValueError: naming the argument, for input of another kind

    Source: the normalisation of Bahdanau et al. (2015), section 3.1; the shift is folklore.

    >>> import numpy as np
    >>> softmax(np.array([1000.0, 1001.0])).round(3)
    array([0.269, 0.731])
    >>> softmax(np.zeros((2, 3, 5)), axis=1).shape
    (2, 3, 5)
    """
    xp = array_namespace(scores)
    shifted = scores - xp.max(scores, axis=axis, keepdims=True)
    exponentials = xp.exp(shifted)
    return exponentials / xp.sum(exponentials, axis=axis, keepdims=True)


def _bridges(name, W, arguments):
    Q, K = arguments["Q"], arguments["K"]
    if W is None and Q.shape[-1] != K.shape[-1]:
        raise ValueError(
            f"Q has vectors of size {Q.shape[-1]} and K of size {K.shape[-1]}; without W they "
            f"must agree, or pass W ({K.shape[-1]}, {Q.shape[-1]}) to bridge them"
        )


@takes("Q (..., M, Dq)", "K (..., N, Dk)", "W (Dk, Dq)?", W=_bridges)
def multiplicative_scores(Q, K, W=None, scaled=False):
    r"""The scores that are one matrix product: dot, scaled dot and bilinear.

    .. math:: s_{mn} = k_n^\top W q_m, \quad W = I \text{ if none is given}, \quad
              \text{divided by } \sqrt{D_k} \text{ if scaled}

    :param Q: queries ``(..., M, Dq)``
    :param K: keys ``(..., N, Dk)``; without ``W``, ``Dk = Dq``
    :param W: ``(Dk, Dq)``, turns a query into the space of the keys
    :param scaled: divide by the square root of ``Dk``, the length of the dot product
    :returns: scores ``(..., M, N)``
    :raises TypeError, ValueError: naming the argument, for input of another kind

    Source: Luong et al. (2015), equation 8; the scale: Vaswani et al. (2017), section 3.2.1.

    >>> import numpy as np
    >>> multiplicative_scores(np.ones((2, 3)), np.ones((5, 4)), W=np.ones((4, 3))).shape
    (2, 5)
    """
    if W is not None:
        Q = Q @ W.mT  # (..., M, Dk)
    scores = Q @ K.mT  # (..., M, N)
    return scores / K.shape[-1] ** 0.5 if scaled else scores


def dot_scores(Q, K):
    r"""The dot product :math:`s_{mn} = k_n^\top q_m`. Long keys win.

    >>> import numpy as np
    >>> dot_scores(np.array([[1.0, 0.0]]), np.array([[3.0, 3.0], [1.0, 0.0]]))
    array([[3., 1.]])
    """
    return multiplicative_scores(Q, K)


def scaled_dot_scores(Q, K):
    r"""The dot product divided by :math:`\sqrt{D}`, so that its spread does not grow with ``D``.

    >>> import numpy as np
    >>> scaled_dot_scores(np.ones((1, 4)), np.ones((3, 4)))
    array([[2., 2., 2.]])
    """
    return multiplicative_scores(Q, K, scaled=True)


def bilinear_scores(Q, K, W):
    r"""The bilinear score :math:`s_{mn} = k_n^\top W q_m`, which may treat key and query apart.

    >>> import numpy as np
    >>> bilinear_scores(np.ones((2, 3)), np.ones((5, 4)), np.ones((4, 3))).shape
    (2, 5)
    """
    return multiplicative_scores(Q, K, W)


@takes("Q (..., M, Dq)", "K (..., N, Dk)", "W_q (H, Dq)", "W_k (H, Dk)", "v (H)")
def additive_scores(Q, K, W_q, W_k, v):
    r"""A small network with one hidden layer looks at each pair of key and query.

    .. math:: s_{mn} = v^\top \tanh(W_k k_n + W_q q_m)

    :param Q: queries ``(..., M, Dq)``
    :param K: keys ``(..., N, Dk)``
    :param W_q: ``(H, Dq)``
    :param W_k: ``(H, Dk)``
    :param v: ``(H,)``
    :returns: scores ``(..., M, N)``; an array ``(..., M, N, H)`` is made on the way
    :raises TypeError, ValueError: naming the argument, for input of another kind

    Source: Bahdanau et al. (2015), section 3.1 and appendix A.1.2.

    >>> import numpy as np
    >>> H, one = 6, np.ones
    >>> additive_scores(one((2, 3)), one((5, 4)), one((H, 3)), one((H, 4)), one(H)).shape
    (2, 5)
    """
    xp = array_namespace(Q)
    from_query = (Q @ W_q.mT)[..., :, None, :]  # (..., M, 1, H)
    from_key = (K @ W_k.mT)[..., None, :, :]  # (..., 1, N, H)
    return xp.tanh(from_key + from_query) @ v  # (..., M, N)


@takes("Q (..., M, D)", "K (..., N, D)", bandwidth=positive)
def gaussian_scores(Q, K, bandwidth=1.0):
    r"""Closeness as a score: :math:`s_{mn} = -\lVert q_m - k_n \rVert^2 / (2 h^2)`.

    Its softmax is the Gaussian kernel of Nadaraya (1964) and Watson (1964). On keys of equal
    length it differs from ``dot / h**2`` by a constant a row, so the weights are the same.

    :param bandwidth: :math:`h`, in the unit of the vectors
    :returns: scores ``(..., M, N)``, never above zero

    >>> import numpy as np
    >>> gaussian_scores(np.array([[0.0]]), np.array([[1.0], [2.0]]))
    array([[-0.5, -2. ]])
    """
    difference = Q[..., :, None, :] - K[..., None, :, :]  # (..., M, N, D)
    return -(difference**2).sum(-1) / (2 * bandwidth**2)


@takes("scores (..., N)", temperature=positive)
def attention_weights(scores, temperature=1.0):
    r"""The attention distribution of each query: softmax over the items, the last axis.

    .. math:: \alpha_{mn} = \mathrm{softmax}(s_m / \tau)_n

    :param scores: ``(..., N)``
    :param temperature: :math:`\tau`; towards 0 one item takes all, towards infinity all are equal
    :returns: weights, the shape of ``scores``

    >>> import numpy as np
    >>> attention_weights(np.array([[2.0, 1.0, 0.0]]), temperature=0.1).round(2)
    array([[1., 0., 0.]])
    """
    return softmax(scores / temperature)


@takes("weights (..., M, N)", "V (..., N, Dv)")
def soft_read(weights, V):
    r"""The read: each query's weighted average of the values, an expectation over the items.

    .. math:: o_m = \sum_n \alpha_{mn} v_n = \mathbb{E}_{z \sim \alpha_m}[v_z]

    :param weights: ``(..., M, N)``, rows that add to one
    :param V: values ``(..., N, Dv)``
    :returns: ``(..., M, Dv)``

    >>> import numpy as np
    >>> soft_read(np.full((2, 5), 0.2), np.arange(5.0)[:, None])
    array([[2.],
           [2.]])
    """
    return weights @ V


@takes("Q (..., M, D)", "K (..., N, D)", "V (..., N, Dv)", temperature=positive)
def soft_attention(Q, K, V, temperature=1.0):
    r"""Score, normalise, read: the whole mechanism with the dot product as its score.

    .. math:: \alpha = \mathrm{softmax}(Q K^\top / \tau), \quad O = \alpha V

    :param Q: queries ``(..., M, D)``
    :param K: keys ``(..., N, D)``
    :param V: values ``(..., N, Dv)``
    :param temperature: :math:`\tau`; with the square root of ``D`` this is scaled dot-product
        attention
    :returns: the read ``(..., M, Dv)`` and the weights ``(..., M, N)``
    :raises TypeError, ValueError: naming the argument, for input of another kind

    Source: Vaswani et al. (2017), equation 1, there with a fixed temperature.

    >>> import numpy as np
    >>> read, weights = soft_attention(np.ones((2, 4)), np.ones((5, 4)), np.ones((5, 3)))
    >>> read.shape, weights.shape
    ((2, 3), (2, 5))
    """
    weights = softmax(Q @ K.mT / temperature)  # (..., M, N)
    return weights @ V, weights


@takes("x (..., M)", "keys (..., N)", "values (..., N)", bandwidth=positive)
def nadaraya_watson(x, keys, values, bandwidth=1.0):
    r"""Kernel regression: predict at ``x`` the average of known values, near ones weighing more.

    .. math:: \hat y(x) = \sum_n \frac{\kappa(x - x_n)}{\sum_j \kappa(x - x_j)}\, y_n,
              \quad \kappa(u) = \exp(-u^2 / 2h^2)

    :param x: where to predict, ``(..., M)``
    :param keys: where values are known, ``(..., N)``
    :param values: ``(..., N)``
    :param bandwidth: :math:`h`, in the unit of ``x``
    :returns: predictions ``(..., M)``

    Source: Nadaraya (1964), Watson (1964).

    >>> import numpy as np
    >>> nadaraya_watson(np.array([0.5]), np.array([0.0, 1.0]), np.array([2.0, 4.0]))
    array([3.])
    """
    scores = gaussian_scores(x[..., None], keys[..., None], bandwidth)
    return soft_read(attention_weights(scores), values[..., None])[..., 0]


@takes("scores (..., N)")
def softmax_jacobian(scores):
    r"""How each weight answers to each score: :math:`J_{ij} = \partial a_i / \partial s_j`.

    .. math:: J = \mathrm{diag}(a) - a a^\top, \quad a = \mathrm{softmax}(s)

    It is symmetric, its rows add to zero, and it vanishes when one weight takes all.

    :param scores: ``(..., N)``
    :returns: ``(..., N, N)``

    >>> import numpy as np
    >>> softmax_jacobian(np.zeros(2))
    array([[ 0.25, -0.25],
           [-0.25,  0.25]])
    """
    xp = array_namespace(scores)
    weights = softmax(scores)
    identity = xp.eye(scores.shape[-1], dtype=scores.dtype)
    return weights[..., :, None] * (identity - weights[..., None, :])


@takes("weights (..., N)")
def entropy(weights):
    r"""How spread out a distribution is, in nats: :math:`-\sum_n a_n \ln a_n`, from 0 to ln N.

    >>> import numpy as np
    >>> entropy(np.array([[0.5, 0.5], [1.0, 0.0]])).round(4) + 0.0
    array([0.6931, 0.    ])
    """
    xp = array_namespace(weights)
    logs = xp.log(xp.where(weights > 0, weights, xp.ones_like(weights)))
    return -xp.sum(weights * logs, axis=-1)
