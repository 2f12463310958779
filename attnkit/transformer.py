"""The Transformer: the block, writing with a cache, softmax in blocks, linear attention, circuits.

Read from top to bottom. Rows are vectors, ``X (..., N, D)``; masks are True where a query may
attend. The parameters of a block are arrays under the names of its arguments, so that a dict of
them is given as ``transformer_block(X, **weights, heads=4)``. Every function takes numpy arrays and
torch tensors alike and leaves its arguments as they were. The networks that the chapter trains are
in ``attnkit.training.transformer``.
"""

from attnkit.arguments import array_namespace, positive, takes, whole
from attnkit.multi_head_attention import multi_head_attention
from attnkit.self_attention import masked_softmax


@takes("X (..., D)", "gain (D)", "bias (D)", eps=positive)
def layer_norm(X, gain, bias, eps=1e-5):
    r"""Each vector by itself: mean zero and variance one over its features, then gain and bias.

    .. math:: y = g \odot \frac{x - \mu}{\sqrt{\sigma^2 + \epsilon}} + b, \quad
              \mu = \frac{1}{D} \sum_j x_j, \quad \sigma^2 = \frac{1}{D} \sum_j (x_j - \mu)^2

    :param X: ``(..., D)``
    :param gain: ``(D,)``
    :param bias: ``(D,)``
    :param eps: keeps a vector of equal features from being divided by zero
    :returns: ``(..., D)``
    :raises TypeError, ValueError: naming the argument, for input of another kind

    Source: Ba et al. (2016), section 3, with the ``eps`` of ``torch.nn.LayerNorm``.

    >>> import numpy as np
    >>> layer_norm(np.array([[1.0, 3.0], [2.0, 2.0]]), np.ones(2), np.zeros(2)).round(3)
    array([[-1.,  1.],
           [ 0.,  0.]])
    """
    xp = array_namespace(X)
    centred = X - xp.mean(X, axis=-1, keepdims=True)
    variance = xp.mean(centred**2, axis=-1, keepdims=True)
    return gain * centred / (variance + eps) ** 0.5 + bias


@takes(
    "X (..., N, D)",
    "W_in (P, D)",
    "b_in (P)",
    "W_out (D, D)",
    "b_out (D)",
    "gain_1 (D)",
    "bias_1 (D)",
    "W_1 (H, D)",
    "b_1 (H)",
    "W_2 (D, H)",
    "b_2 (D)",
    "gain_2 (D)",
    "bias_2 (D)",
    "mask (..., N, N) bool?",
)
def transformer_block(
    X,
    W_in,
    b_in,
    W_out,
    b_out,
    gain_1,
    bias_1,
    W_1,
    b_1,
    W_2,
    b_2,
    gain_2,
    bias_2,
    heads,
    norm_first=False,
    mask=None,
):
    r"""One block: attention between the places, then a small network at each place by itself.

    Both add to what they were given (the residual path). The norms stand behind the sums, as in
    the paper, or in front of the two steps:

    .. math::

        \text{after:} \quad Y &= \mathrm{norm}_1(X + \mathrm{attend}(X)), \quad
            Z = \mathrm{norm}_2(Y + \mathrm{feed}(Y)) \\
        \text{first:} \quad Y &= X + \mathrm{attend}(\mathrm{norm}_1(X)), \quad
            Z = Y + \mathrm{feed}(\mathrm{norm}_2(Y))

    with :math:`\mathrm{feed}(Y) = \max(0, Y W_1^\top + b_1) W_2^\top + b_2`.

    :param X: ``(..., N, D)``
    :param W_in, b_in, W_out, b_out: of the attention, see ``multi_head_attention``
    :param gain_1, bias_1: of the attention's norm, ``(D,)``
    :param W_1, b_1: of the hidden layer, ``(H, D)`` and ``(H,)``
    :param W_2, b_2: of the layer behind it, ``(D, H)`` and ``(D,)``
    :param gain_2, bias_2: of the small network's norm, ``(D,)``
    :param heads: a divisor of ``D``
    :param norm_first: whether the norms stand first, *pre-norm*; otherwise *post-norm*
    :param mask: ``(..., N, N)``, True where a place may attend
    :returns: ``(..., N, D)``
    :raises TypeError, ValueError: naming the argument, for input of another kind

    Source: Vaswani et al. (2017), section 3.1; norms first: Xiong et al. (2020).

    >>> import numpy as np
    >>> one = np.ones
    >>> weights = {
    ...     "W_in": one((12, 4)), "b_in": one(12), "W_out": one((4, 4)), "b_out": one(4),
    ...     "gain_1": one(4), "bias_1": one(4), "W_1": one((7, 4)), "b_1": one(7),
    ...     "W_2": one((4, 7)), "b_2": one(4), "gain_2": one(4), "bias_2": one(4),
    ... }
    >>> transformer_block(one((3, 4)), **weights, heads=2).shape
    (3, 4)
    """
    xp = array_namespace(X)

    def attend(X):
        return multi_head_attention(X, X, W_in, b_in, W_out, b_out, heads, mask)[0]

    def feed_forward(X):
        return xp.clip(X @ W_1.mT + b_1, 0, None) @ W_2.mT + b_2

    if norm_first:
        X = X + attend(layer_norm(X, gain_1, bias_1))
        return X + feed_forward(layer_norm(X, gain_2, bias_2))
    X = layer_norm(X + attend(X), gain_1, bias_1)
    return layer_norm(X + feed_forward(X), gain_2, bias_2)


@takes("scores (..., M, N)", "V (..., N, Dv)", block=whole)
def blockwise_attention(scores, V, block):
    r"""The softmax read, without ever holding more than one block of the weights.

    Three things are carried from block to block, for each query: the largest score so far
    :math:`t`, the sum :math:`\ell` of the exponentials and their sum :math:`o` with the values,
    both relative to :math:`t`. When a block brings a larger score :math:`t'`, what was summed
    before shrinks by :math:`e^{t - t'}`:

    .. math:: \ell \leftarrow e^{t - t'} \ell + \sum_n e^{s_n - t'}, \quad
              o \leftarrow e^{t - t'} o + \sum_n e^{s_n - t'} v_n, \quad
              t \leftarrow t' = \max(t, \max_n s_n)

    In the end :math:`o / \ell` is the read. The order of the blocks does not matter.

    :param scores: ``(..., M, N)``, given whole here; in earnest each block is computed when needed
    :param V: values ``(..., N, Dv)``
    :param block: how many items are looked at together; the last block may be shorter
    :returns: the read ``(..., M, Dv)``
    :raises TypeError, ValueError: naming the argument, for input of another kind

    Source: Milakov and Gimelshein (2018), algorithm 3, with the read of Dao et al. (2022).

    >>> import numpy as np
    >>> blockwise_attention(np.ones((3, 5)), np.ones((5, 4)), block=2).shape
    (3, 4)
    """
    xp = array_namespace(scores)
    top, total, read = scores[..., :1], 0, 0  # (..., M, 1); any finite start will do
    for start in range(0, scores.shape[-1], block):
        some = scores[..., start : start + block]  # (..., M, block)
        higher = xp.maximum(top, xp.max(some, axis=-1, keepdims=True))
        shrink = xp.exp(top - higher)
        exponentials = xp.exp(some - higher)
        total = shrink * total + xp.sum(exponentials, axis=-1, keepdims=True)
        read = shrink * read + exponentials @ V[..., start : start + block, :]
        top = higher
    return read / total


def _both_or_none(name, values, arguments):
    if (values is None) != (arguments["keys"] is None):
        raise ValueError("the cache is keys and values together: give both, or none to begin with")


@takes(
    "q (..., T, Dk)",
    "k (..., T, Dk)",
    "v (..., T, Dv)",
    "keys (..., N, Dk)?",
    "values (..., N, Dv)?",
    values=_both_or_none,
)
def attend_with_cache(q, k, v, keys=None, values=None):
    r"""Causal attention for new places only: the keys and values of the old ones are in the cache.

    New place :math:`t` sees all that is cached and the new places up to itself. What it reads is
    row :math:`N + t` of causal attention over everything; no old place is computed again.

    Heads are a batch axis. In multi-query attention they ask ``q (..., h, T, Dk)``, and one cache
    serves them all, ``k (..., 1, T, Dk)``.

    :param q: queries of the new places ``(..., T, Dk)``; one place when a model writes
    :param k: their keys ``(..., T, Dk)``
    :param v: their values ``(..., T, Dv)``
    :param keys: ``(..., N, Dk)``, of the places before, or None if there are none
    :param values: ``(..., N, Dv)``, likewise
    :returns: the read ``(..., T, Dv)``, and the new cache: keys ``(..., N + T, Dk)`` and values
        ``(..., N + T, Dv)``
    :raises TypeError, ValueError: naming the argument, for input of another kind

    Source: one cache for all heads: Shazeer (2019), section 3.

    >>> import numpy as np
    >>> read, keys, values = attend_with_cache(*np.ones((3, 5, 4)))
    >>> read, keys, values = attend_with_cache(*np.ones((3, 1, 4)), keys, values)
    >>> read.shape, keys.shape
    ((1, 4), (6, 4))
    """
    xp = array_namespace(q)
    if keys is not None:
        k, v = xp.concat([keys, k], axis=-2), xp.concat([values, v], axis=-2)
    new, old_and_new = q.shape[-2], k.shape[-2]
    # The triangle ends in the last corner: the newest place sees everything.
    mask = xp.tril(xp.ones((new, old_and_new), dtype=xp.bool), k=old_and_new - new)
    weights = masked_softmax(q @ k.mT / k.shape[-1] ** 0.5, mask)  # (..., T, N + T)
    return weights @ v, k, v


@takes("X (...)")
def positive_features(X):
    r"""The feature map of linear attention, number by number: linear above zero, decaying below.

    .. math:: \phi(x) = \mathrm{elu}(x) + 1 = \begin{cases} x + 1 & x > 0 \\ e^x & x \le 0
              \end{cases}

    :param X: any shape
    :returns: the shape of ``X``; zero only where the exponential underflows
    :raises TypeError, ValueError: naming the argument, for input of another kind

    Source: Katharopoulos et al. (2020), section 3.2.

    >>> import numpy as np
    >>> positive_features(np.array([-1000.0, -1.0, 0.0, 2.0])).round(3)
    array([0.   , 0.368, 1.   , 3.   ])
    """
    xp = array_namespace(X)
    return xp.clip(X, 0, None) + xp.exp(xp.clip(X, None, 0))


@takes("Q (..., N, Dk)", "K (..., N, Dk)", "V (..., N, Dv)")
def linear_attention(Q, K, V):
    r"""Causal attention whose weights are products of features, so that two sums are all it keeps.

    With the features :math:`\phi` of ``positive_features``,

    .. math:: h_n = \frac{S_n^\top \phi(q_n)}{z_n^\top \phi(q_n)}, \quad
              S_n = S_{n-1} + \phi(k_n)\, v_n^\top, \quad z_n = z_{n-1} + \phi(k_n)

    These are the weights :math:`\phi(q_n)^\top \phi(k_j)`, divided by their sum over
    :math:`j \le n`. Another function than softmax attention, not an approximation of it. Where all
    weights vanish, the read is zero.

    :param Q: queries ``(..., N, Dk)``
    :param K: keys ``(..., N, Dk)``
    :param V: values ``(..., N, Dv)``
    :returns: the reads ``(..., N, Dv)``
    :raises TypeError, ValueError: naming the argument, for input of another kind

    Source: Katharopoulos et al. (2020), section 3.4.

    >>> import numpy as np
    >>> linear_attention(np.zeros((3, 4)), np.zeros((3, 4)), np.arange(3.0)[:, None])
    array([[0. ],
           [0.5],
           [1. ]])
    """
    xp = array_namespace(Q)
    asking, asked = positive_features(Q), positive_features(K)
    S, z, reads = 0, 0, []
    for n in range(Q.shape[-2]):
        here = slice(n, n + 1)
        S = S + asked[..., here, :].mT @ V[..., here, :]  # (..., Dk, Dv)
        z = z + asked[..., here, :]  # (..., 1, Dk)
        total = xp.sum(asking[..., here, :] * z, axis=-1, keepdims=True)
        reads.append(asking[..., here, :] @ S / xp.where(total > 0, total, 1))
    return xp.concat(reads, axis=-2)


def _has_a_place_before(name, weights, arguments):
    if weights.shape[-1] < 2:
        raise ValueError(f"{name} has one place; it takes two at least, or none has one before it")


@takes("weights (..., N, N)", weights=_has_a_place_before)
def previous_token_scores(weights):
    r"""How much each head looks at the place before: the mean weight over the places that have one.

    .. math:: \frac{1}{N - 1} \sum_{i=1}^{N-1} \alpha_{i,\, i-1}, \quad i \text{ from } 0

    :param weights: ``(..., N, N)``, one row a query; the heads are among the batch axes
    :returns: ``(...)``, one number a head, from 0 to 1
    :raises TypeError, ValueError: naming the argument, for input of another kind

    Source: the previous-token heads of Elhage et al. (2021).

    >>> import numpy as np
    >>> previous_token_scores(np.stack([np.eye(5), np.eye(5, k=-1)]))
    array([0., 1.])
    """
    xp = array_namespace(weights)
    return xp.mean(xp.linalg.diagonal(weights, offset=-1), axis=-1)


def _repeats(name, period, arguments):
    whole(name, period, arguments)
    N = arguments["weights"].shape[-1]
    if period >= N:
        raise ValueError(
            f"{name} is {period}, but weights has {N} places; nothing is repeated unless it is "
            f"smaller than {N}"
        )


@takes("weights (..., N, N)", period=_repeats)
def induction_scores(weights, period):
    r"""How much each head looks behind the previous occurrence of the token that it stands on.

    In a sequence that repeats itself after :math:`T` tokens, the token of place :math:`i` stood at
    :math:`i - T` before, and what followed it there is at :math:`i - T + 1`:

    .. math:: \frac{1}{N - T} \sum_{i=T}^{N-1} \alpha_{i,\, i-T+1}, \quad i \text{ from } 0

    :param weights: ``(..., N, N)``, one row a query; the heads are among the batch axes
    :param period: :math:`T`, smaller than ``N``
    :returns: ``(...)``, one number a head, from 0 to 1
    :raises TypeError, ValueError: naming the argument, for input of another kind

    Source: the prefix matching of Olsson et al. (2022), on a repeated random sequence.

    >>> import numpy as np
    >>> induction_scores(np.stack([np.eye(8), np.eye(8, k=-3)]), period=4)
    array([0., 1.])
    """
    xp = array_namespace(weights)
    behind = xp.linalg.diagonal(weights, offset=1 - period)  # from place T - 1 on
    return xp.mean(behind[..., 1:], axis=-1)


def head_scores(weights, period):
    r"""Both scores of each head, from a sequence that repeats itself.

    :param weights: ``(..., N, N)``, one row a query; the heads are among the batch axes
    :param period: how many tokens the repeated string has, smaller than ``N``
    :returns: ``previous_token_scores`` and ``induction_scores``, ``(...)`` each
    :raises TypeError, ValueError: naming the argument, for input of another kind

    >>> import numpy as np
    >>> previous, induction = head_scores(np.ones((2, 3, 8, 8)) / 8, period=4)
    >>> previous.shape, induction.shape
    ((2, 3), (2, 3))
    """
    return previous_token_scores(weights), induction_scores(weights, period)
