"""Multi-head attention: several small attentions side by side, each with a question of its own.

Read from top to bottom. Rows are vectors: what asks is ``X (..., M, D)``, what is asked
``C (..., N, D)``. A head is one attention in a space of ``D / h`` dimensions; the heads stand on an
axis of their own, ``(..., h, M, N)`` for the weights. Every function takes numpy arrays and torch
tensors alike and leaves its arguments as they were.
"""

import numpy as np

from attnkit.arguments import array_namespace, takes
from attnkit.self_attention import masked_softmax
from attnkit.soft_attention import softmax


def _share_features(name, heads, arguments):
    """A rule: so many heads can share out the features of X evenly."""
    if isinstance(heads, bool) or not isinstance(heads, int | np.integer):
        raise TypeError(f"{name} is {heads!r}; it takes one integer, such as 2")
    D = arguments["X"].shape[-1]
    if heads < 1 or D % heads:
        raise ValueError(
            f"{name} is {heads}, but X has {D} features; it takes a number that divides {D}"
        )


@takes("X (..., T, D)", heads=_share_features)
def split_heads(X, heads):
    r"""Give each head its own block of features: the first ``D / h`` to the first head, and so on.

    .. math:: \text{split}(X)_{itj} = X_{t,\; i d + j}, \quad d = D / h

    :param X: ``(..., T, D)``, already projected
    :param heads: :math:`h`, a divisor of ``D``
    :returns: ``(..., h, T, D / h)``
    :raises TypeError, ValueError: naming the argument, for input of another kind

    Source: Vaswani et al. (2017), section 3.2.2; the blocks are those of stacked matrices.

    >>> import numpy as np
    >>> split_heads(np.arange(8.0).reshape(2, 4), heads=2)
    array([[[0., 1.],
            [4., 5.]],
    <BLANKLINE>
           [[2., 3.],
            [6., 7.]]])
    """
    xp = array_namespace(X)
    blocks = xp.reshape(X, (*X.shape[:-1], heads, -1))  # (..., T, h, D / h)
    return xp.moveaxis(blocks, -2, -3)  # (..., h, T, D / h)


@takes("X (..., h, T, d)")
def merge_heads(X):
    r"""Write the heads' vectors side by side, the first head's first: undoes ``split_heads``.

    .. math:: \text{merge}(X)_{t,\; i d + j} = X_{itj}

    :param X: ``(..., h, T, d)``
    :returns: ``(..., T, h d)``

    Source: the Concat of Vaswani et al. (2017), section 3.2.2.

    >>> import numpy as np
    >>> X = np.arange(24.0).reshape(2, 3, 4)
    >>> merge_heads(split_heads(X, heads=2)).shape, (merge_heads(split_heads(X, 2)) == X).all()
    ((2, 3, 4), np.True_)
    """
    xp = array_namespace(X)
    side_by_side = xp.moveaxis(X, -3, -2)  # (..., T, h, d)
    return xp.reshape(side_by_side, (*side_by_side.shape[:-2], -1))  # (..., T, h d)


def _one_block_a_head(name, V, arguments):
    heads = arguments["weights"].shape[-3]
    if V.shape[-1] % heads:
        raise ValueError(
            f"{name} has {V.shape[-1]} features, but weights has {heads} heads; the number of "
            "heads must divide the number of features"
        )


@takes("weights (..., h, M, N)", "V (..., N, D)", V=_one_block_a_head)
def multi_head_read(weights, V):
    r"""Each head reads its own features with its own weights; the reads stand side by side.

    .. math:: o_{m,\; i d + j} = \sum_n \alpha_{imn} V_{n,\; i d + j}

    :param weights: ``(..., h, M, N)``, one row of weights for each head and query
    :param V: values ``(..., N, D)``, already projected; ``h`` divides ``D``
    :returns: ``(..., M, D)``
    :raises TypeError, ValueError: naming the argument, for input of another kind

    Source: Vaswani et al. (2017), section 3.2.2, before the output matrix.

    >>> import numpy as np
    >>> multi_head_read(np.ones((2, 3, 5)) / 5, np.ones((5, 8))).shape
    (3, 8)
    """
    return merge_heads(weights @ split_heads(V, weights.shape[-3]))


def _three_stacked(name, array, arguments):
    D = arguments["X"].shape[-1]
    if array.shape[0] != 3 * D:
        raise ValueError(
            f"{name} has shape {tuple(array.shape)}, but X has {D} features; it takes {3 * D} "
            "rows: those for the queries, for the keys and for the values, one below the other"
        )


@takes(
    "X (..., M, D)",
    "C (..., N, D)",
    "W_in (P, D)",
    "b_in (P)",
    "W_out (D, D)",
    "b_out (D)",
    "mask (..., M, N) bool?",
    W_in=_three_stacked,
    heads=_share_features,
)
def multi_head_attention(X, C, W_in, b_in, W_out, b_out, heads, mask=None):
    r"""The whole layer: project, split, attend in each head, merge, and mix.

    .. math::

        \text{head}_i &= \mathrm{softmax}\!\left(\frac{(X W_{q,i}^\top + b_{q,i})
                         (C W_{k,i}^\top + b_{k,i})^\top}{\sqrt{D / h}}\right)
                         (C W_{v,i}^\top + b_{v,i}) \\
        O &= [\text{head}_1, \dots, \text{head}_h]\, W_{out}^\top + b_{out}

    The parameters are laid out as those of ``torch.nn.MultiheadAttention``: ``W_in`` holds the
    matrices for queries, keys and values one below the other, and in each of them head ``i`` owns
    the ``i``-th block of ``D / h`` rows.

    :param X: what asks, ``(..., M, D)``
    :param C: what is asked, ``(..., N, D)``; ``X`` itself for self-attention
    :param W_in: ``(3 D, D)``
    :param b_in: ``(3 D,)``
    :param W_out: ``(D, D)``
    :param b_out: ``(D,)``
    :param heads: :math:`h`, a divisor of ``D``
    :param mask: ``(..., M, N)``, True where a query may attend, the same for all heads; a query
        that may attend to nothing gets weights of zero
    :returns: the output ``(..., M, D)`` and the weights ``(..., h, M, N)``
    :raises TypeError, ValueError: naming the argument, for input of another kind

    Source: Vaswani et al. (2017), section 3.2.2.

    >>> import numpy as np
    >>> one = np.ones
    >>> output, weights = multi_head_attention(
    ...     one((3, 4)), one((5, 4)), one((12, 4)), one(12), one((4, 4)), one(4), heads=2
    ... )
    >>> output.shape, weights.shape
    ((3, 4), (2, 3, 5))
    """
    D = X.shape[-1]
    Q = split_heads(X @ W_in[:D].mT + b_in[:D], heads)  # (..., h, M, D / h)
    K = split_heads(C @ W_in[D : 2 * D].mT + b_in[D : 2 * D], heads)  # (..., h, N, D / h)
    V = split_heads(C @ W_in[2 * D :].mT + b_in[2 * D :], heads)  # (..., h, N, D / h)
    scores = Q @ K.mT / K.shape[-1] ** 0.5  # (..., h, M, N)
    # The mask is the same for every head.
    weights = softmax(scores) if mask is None else masked_softmax(scores, mask[..., None, :, :])
    return merge_heads(weights @ V) @ W_out.mT + b_out, weights


def _one_column_a_feature(name, W, arguments):
    _, heads, d = arguments["reads"].shape
    if W.shape[1] != heads * d:
        raise ValueError(
            f"{name} has {W.shape[1]} columns, but reads has {heads} heads of {d} features; it "
            f"takes {heads * d} columns"
        )


@takes("reads (B, h, d)", "W (A, F)", "b (A)", "answers (B) int", W=_one_column_a_feature)
def head_ablation(reads, W, b, answers):
    r"""What each head is worth: the accuracy with all heads, less the accuracy without this one.

    The answer to an example is the row of ``W`` that scores highest on the merged reads. A head is
    taken away by zeros in the place of its read; the others stay.

    .. math:: \text{loss}_i = \text{accuracy}(\text{all}) - \text{accuracy}(\text{all but } i)

    :param reads: what each head read for each of ``B`` examples, ``(B, h, d)``
    :param W: ``(A, h d)``, one row an answer; its columns in the order of ``merge_heads``
    :param b: ``(A,)``
    :param answers: the right rows, whole numbers ``(B,)``
    :returns: ``(h,)``; below zero for a head without which the answers get better
    :raises TypeError, ValueError: naming the argument, for input of another kind

    Source: Michel et al. (2019), section 3.2, there with BLEU in the place of accuracy.

    >>> import numpy as np
    >>> reads = np.array([[[1.0], [0.0]], [[-1.0], [0.0]]])
    >>> head_ablation(reads, np.array([[1.0, 1.0], [-1.0, -1.0]]), np.zeros(2), np.array([0, 1]))
    array([0.5, 0. ])
    """
    xp = array_namespace(reads)

    def accuracy(kept):
        merged = xp.reshape(reads * kept[:, None], (reads.shape[0], -1))  # (B, h d)
        right = xp.argmax(merged @ W.mT + b, axis=1) == answers
        return xp.mean(xp.asarray(right, dtype=reads.dtype))

    everyone = xp.ones(reads.shape[1], dtype=reads.dtype)
    without = everyone - xp.eye(reads.shape[1], dtype=reads.dtype)  # row i: all but head i
    return xp.stack([accuracy(everyone) - accuracy(kept) for kept in without])
