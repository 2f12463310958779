"""Key-value attention: look up by the key, return the value; and a memory to write into as well.

Read from top to bottom. A query is compared with keys ``K (..., N, Dk)``, what comes back is made
of values ``V (..., N, Dv)``. An external memory ``(..., N, D)`` is a soft dictionary that lasts:
it is read by attention and written by attention. Every function takes numpy arrays and torch
tensors alike and leaves its arguments as they were.
"""

from attnkit.arguments import array_namespace, positive, takes
from attnkit.soft_attention import softmax


@takes("Q (..., M, Dk)", "K (..., N, Dk)", "V (..., N, Dv)?")
def key_value_attention(Q, K, V=None):
    r"""A soft dictionary: the keys decide how much each entry counts, the values are returned.

    .. math:: \alpha_{mn} = \mathrm{softmax}_n\left(k_n^\top q_m / \sqrt{D_k}\right), \quad
              o_m = \sum_n \alpha_{mn} v_n

    :param Q: queries ``(..., M, Dk)``
    :param K: keys ``(..., N, Dk)``
    :param V: values ``(..., N, Dv)``; without them the keys are read, which is attention over
        one set of vectors
    :returns: the read ``(..., M, Dv)`` and the weights ``(..., M, N)``
    :raises TypeError, ValueError: naming the argument, for input of another kind

    Source: Miller et al. (2016), there with learned maps of both sides; the scale:
    Vaswani et al. (2017), equation 1.

    >>> import numpy as np
    >>> read, weights = key_value_attention(np.ones((2, 4)), np.ones((5, 4)), np.ones((5, 3)))
    >>> read.shape, weights.shape
    ((2, 3), (2, 5))
    """
    V = K if V is None else V
    weights = softmax(Q @ K.mT / K.shape[-1] ** 0.5)  # (..., M, N)
    return weights @ V, weights


@takes("Q (..., M, D)", "K (..., N, D)")
def cosine_scores(Q, K):
    r"""The cosine of the angle between each query and each key: direction counts, length does not.

    .. math:: s_{mn} = \frac{k_n^\top q_m}{\lVert k_n \rVert \, \lVert q_m \rVert},
              \quad 0 \text{ if either vector is zero}

    :param Q: queries ``(..., M, D)``
    :param K: keys ``(..., N, D)``
    :returns: scores ``(..., M, N)`` from -1 to 1
    :raises TypeError, ValueError: naming the argument, for input of another kind

    Source: Graves et al. (2014), equation 6, where the query is called key.

    >>> import numpy as np
    >>> cosine_scores(np.array([[2.0, 0.0]]), np.array([[3.0, 3.0], [1.0, 0.0], [0.0, 0.0]]))
    array([[0.70710678, 1.        , 0.        ]])
    """
    xp = array_namespace(Q)
    squares = xp.sum(Q**2, axis=-1)[..., :, None] * xp.sum(K**2, axis=-1)[..., None, :]
    # The root comes after the choice: at zero its slope is infinite.
    return Q @ K.mT / xp.sqrt(xp.where(squares > 0, squares, xp.ones_like(squares)))


@takes("memory (..., N, D)", "weights (..., N)", "erase (..., D)", "add (..., D)")
def erase_add(memory, weights, erase, add):
    r"""Write into a memory: each place gives up a share of what it holds, then takes something in.

    .. math:: m_n' = m_n \odot (1 - w_n e) + w_n a

    :param memory: ``(..., N, D)``, ``N`` places
    :param weights: ``(..., N)``, how much each place takes part, from 0 to 1
    :param erase: ``(..., D)``, what share of each component to give up, from 0 to 1
    :param add: ``(..., D)``, what to take in
    :returns: the memory afterwards, ``(..., N, D)``
    :raises TypeError, ValueError: naming the argument, for input of another kind

    Source: Graves et al. (2014), equations 3 and 4: the erasing comes first.

    >>> import numpy as np
    >>> erase_add(np.full((2, 3), 7.0), np.array([1.0, 0.0]), np.ones(3), np.array([1.0, 2, 3]))
    array([[1., 2., 3.],
           [7., 7., 7.]])
    """
    share = weights[..., :, None]  # (..., N, 1)
    return memory * (1 - share * erase[..., None, :]) + share * add[..., None, :]


@takes("memory (..., N, D)", "query (..., D)", "erase (..., D)", "add (..., D)", strength=positive)
def write_by_content(memory, query, strength, erase, add):
    r"""Find the places whose content resembles the query, and write there.

    .. math:: w_n = \mathrm{softmax}_n\left(\beta \cos(m_n, q)\right), \quad
              m_n' = m_n \odot (1 - w_n e) + w_n a

    :param memory: ``(..., N, D)``
    :param query: ``(..., D)``, what to look for
    :param strength: :math:`\beta`, the key strength; one over it is the temperature
    :param erase: ``(..., D)``, from 0 to 1
    :param add: ``(..., D)``
    :returns: the memory afterwards ``(..., N, D)`` and the weights ``(..., N)``
    :raises TypeError, ValueError: naming the argument, for input of another kind

    Source: Graves et al. (2014), equations 3 to 6.

    >>> import numpy as np
    >>> memory = np.array([[2.0, 0.0], [0.0, 5.0]])
    >>> write_by_content(memory, np.array([0.0, 1.0]), 50.0, np.ones(2), np.ones(2))[0].round(9)
    array([[2., 0.],
           [1., 1.]])
    """
    scores = cosine_scores(query[..., None, :], memory)[..., 0, :]  # (..., N)
    weights = softmax(strength * scores)
    return erase_add(memory, weights, erase, add), weights


def _at_least_one(name, value, arguments):
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError(f"{name} is {value!r}; it takes a whole number, at least 1")


@takes("query (..., D)", "K (..., N, D)", "V (..., N, D)", hops=_at_least_one, strength=positive)
def read_in_hops(query, K, V, hops, strength=1.0):
    r"""Look up, then look up what was found, and so on: each read is the next query.

    .. math:: \alpha^{(h)} = \mathrm{softmax}\left(\beta K q^{(h)}\right), \quad
              q^{(h + 1)} = V^\top \alpha^{(h)}

    :param query: ``(..., D)``
    :param K: keys ``(..., N, D)``
    :param V: values ``(..., N, D)``, in the space of the keys
    :param hops: how many look-ups, at least one
    :param strength: :math:`\beta`, one over the temperature
    :returns: the last read ``(..., D)`` and the weights of every hop ``(..., hops, N)``
    :raises TypeError, ValueError: naming the argument, for input of another kind

    Source: after Sukhbaatar et al. (2015), where the next query is read and query added.

    >>> import numpy as np
    >>> K, V = np.eye(3), np.eye(3)[[1, 2, 0]]  # 0 leads to 1, 1 to 2, 2 to 0
    >>> read_in_hops(K[0], K, V, hops=2, strength=100.0)[0].round(9)
    array([0., 0., 1.])
    """
    xp = array_namespace(query)
    weights = []
    for _ in range(hops):
        weights.append(softmax(strength * (K @ query[..., :, None])[..., 0]))  # (..., N)
        query = (weights[-1][..., None, :] @ V)[..., 0, :]  # (..., D)
    return query, xp.stack(weights, axis=-2)
