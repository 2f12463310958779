"""The column convention of many papers and notes, beside the rows of this book."""

from attnkit.arguments import takes
from attnkit.soft_attention import softmax


@takes("Q (..., Dk, M)", "K (..., Dk, N)", "V (..., Dv, N)")
def attention_cols(Q, K, V):
    r"""Scaled dot-product attention where each *column* is a vector.

    .. math:: O = V\, \mathrm{softmax}(K^\top Q / \sqrt{D_k}), \quad
              \text{each column of the softmax adds to one}

    :param Q: queries ``(..., Dk, M)``
    :param K: keys ``(..., Dk, N)``
    :param V: values ``(..., Dv, N)``
    :returns: the reads ``(..., Dv, M)``, the transpose of what rows give
    :raises TypeError, ValueError: naming the argument, for input of another kind

    Source: Qiu, Neural Networks and Deep Learning, chapter 8, with Q where the notes print V.

    >>> import numpy as np
    >>> attention_cols(np.ones((4, 2)), np.ones((4, 5)), np.ones((3, 5))).shape
    (3, 2)
    """
    scores = K.mT @ Q / K.shape[-2] ** 0.5  # (..., N, M)
    return V @ softmax(scores, axis=-2)
