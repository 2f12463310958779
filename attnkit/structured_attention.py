"""Structured attention: weights that know of each other, along a chain or down a hierarchy.

Read from top to bottom. A chain gives each of ``N`` positions one of ``S`` states: its evidence is
``unary (..., N, S)``, its neighbours are scored by ``transition (S, S)``, and the weights are its
marginals. A hierarchy reads ``N`` words into each of ``L`` sentences and the sentences into one
vector. Every function takes numpy arrays and torch tensors alike and leaves its arguments as they
were.
"""

from attnkit.arguments import array_namespace, takes
from attnkit.self_attention import masked_softmax
from attnkit.soft_attention import softmax

# --------------------------------------------------------------------------- a chain


def _log_sum_exp(numbers, axis):
    """The logarithm of a sum of exponentials, at any size of the numbers; the axis goes."""
    xp = array_namespace(numbers)
    top = xp.max(numbers, axis=axis, keepdims=True)
    exponentials = xp.exp(numbers - top)
    return (top + xp.log(xp.sum(exponentials, axis=axis, keepdims=True))).squeeze(axis)


@takes("unary (..., N, S)", "transition (S, S)")
def log_partition(unary, transition):
    r"""The logarithm of the sum over all ways to give each position a state.

    .. math:: \log Z = \log \sum_{z_1, \dots, z_N}
              \exp\Big(\sum_n u_n(z_n) + \sum_{n > 1} t(z_{n-1}, z_n)\Big)

    There are :math:`S^N` ways; the recursion takes :math:`N S^2` steps. The gradient of the result
    in ``unary`` is :func:`chain_marginals`.

    :param unary: the evidence :math:`u_n(s)`, ``(..., N, S)``
    :param transition: :math:`t(r, s)`, from state ``r`` to state ``s`` of the next position
    :returns: ``(...)``
    :raises TypeError, ValueError: naming the argument, for input of another kind

    Source: Kim et al. (2017); the forward recursion is that of hidden Markov models.

    >>> import numpy as np
    >>> bool(np.isclose(log_partition(np.zeros((5, 3)), np.zeros((3, 3))), np.log(3**5)))
    True
    """
    forward = unary[..., 0, :]  # (..., S)
    for n in range(1, unary.shape[-2]):
        steps = forward[..., :, None] + transition  # (..., S, S), from and to
        forward = unary[..., n, :] + _log_sum_exp(steps, axis=-2)
    return _log_sum_exp(forward, axis=-1)


@takes("unary (..., N, S)", "transition (S, S)")
def chain_marginals(unary, transition):
    r"""How probable each state is at each position, all chains counted: forward-backward.

    .. math:: p(z_n = s) \propto \exp\big(f_n(s) + b_n(s)\big)

    with the messages, in logarithms,

    .. math:: f_1 = u_1, \quad f_n(s) = u_n(s) + \log \sum_r \exp(f_{n-1}(r) + t(r, s)) \\
              b_N = 0, \quad b_n(r) = \log \sum_s \exp(t(r, s) + u_{n+1}(s) + b_{n+1}(s))

    :param unary: the evidence :math:`u_n(s)`, ``(..., N, S)``
    :param transition: :math:`t(r, s)`, from state ``r`` to state ``s`` of the next position
    :returns: ``(..., N, S)``; at each position the states add to one
    :raises TypeError, ValueError: naming the argument, for input of another kind

    Source: Kim et al. (2017); the recursion is that of hidden Markov models.

    >>> import numpy as np
    >>> chain_marginals(np.zeros((2, 5, 3)), np.zeros((3, 3))).shape
    (2, 5, 3)
    """
    xp = array_namespace(unary)
    N = unary.shape[-2]
    forward = [unary[..., 0, :]]
    for n in range(1, N):
        steps = forward[-1][..., :, None] + transition  # (..., S, S), from and to
        forward.append(unary[..., n, :] + _log_sum_exp(steps, axis=-2))
    backward = [xp.zeros_like(unary[..., 0, :])]
    for n in range(N - 1, 0, -1):
        steps = transition + (unary[..., n, :] + backward[-1])[..., None, :]
        backward.append(_log_sum_exp(steps, axis=-1))
    # Both messages together are the logarithm of p times Z; the softmax over states divides by Z.
    return softmax(xp.stack(forward, axis=-2) + xp.stack(backward[::-1], axis=-2))


def _two_states(name, value, arguments):
    if tuple(value.shape) != (2, 2):
        raise ValueError(f"{name} has shape {tuple(value.shape)}; no and yes take (2, 2)")


@takes("scores (..., N)", "transition (S, S)", transition=_two_states)
def chain_weights(scores, transition):
    r"""A weight for each item: how probable it is that a chain of yes and no says yes to it.

    .. math:: \alpha_n = p(z_n = 1), \quad u_n(0) = 0, \quad u_n(1) = s_n

    Each weight is between 0 and 1; together they add to the number of items one expects. Without
    transitions they are the sigmoids of the scores.

    :param scores: ``(..., N)``
    :param transition: ``(2, 2)``, from and to, state 0 is no and state 1 is yes
    :returns: weights, the shape of ``scores``
    :raises TypeError, ValueError: naming the argument, for input of another kind

    Source: Kim et al. (2017), selecting a subsequence.

    >>> import numpy as np
    >>> chain_weights(np.array([2.0, 0.0, 2.0]), np.array([[1.0, 0.0], [0.0, 1.0]])).round(2)
    array([0.91, 0.81, 0.91])
    """
    xp = array_namespace(scores)
    unary = xp.stack([xp.zeros_like(scores), scores], axis=-1)  # (..., N, 2)
    return chain_marginals(unary, transition)[..., 1]


# --------------------------------------------------------------------------- a hierarchy


def _mask_of(axes):
    """A rule: Booleans of the shape of X without its last axes."""

    def rule(name, value, arguments):
        if not str(getattr(value, "dtype", "")).endswith("bool"):
            raise TypeError(f"{name} is not an array of Booleans; it takes True for may attend")
        shape = tuple(arguments["X"].shape[:-axes])
        if tuple(value.shape) != shape:
            raise ValueError(f"{name} has shape {tuple(value.shape)}; it takes {shape}")

    return rule


@takes(
    "X (..., L, N, D)",
    "W_word (H, D)",
    "q_word (H)",
    "W_sentence (G, D)",
    "q_sentence (G)",
    word_mask=_mask_of(1),
    sentence_mask=_mask_of(2),
)
def hierarchical_attention(X, W_word, q_word, W_sentence, q_sentence, word_mask, sentence_mask):
    r"""Read the words of each sentence into a vector, then the sentences into one.

    .. math:: \alpha_{ln} = \mathrm{softmax}_n\big(q_w^\top \tanh(W_w x_{ln})\big), \quad
              s_l = \sum_n \alpha_{ln} x_{ln} \\
              \beta_l = \mathrm{softmax}_l\big(q_s^\top \tanh(W_s s_l)\big), \quad
              o = \sum_l \beta_l s_l

    A sentence may be attended if its mask says so *and* it has a word that may be. Where nothing
    may be attended the weights and the read are zeros.

    :param X: words, ``(..., L, N, D)``: L sentences of N words
    :param W_word: ``(H, D)``; ``q_word``: ``(H,)``, the learned query of the words
    :param W_sentence: ``(G, D)``; ``q_sentence``: ``(G,)``, that of the sentences
    :param word_mask: Booleans ``(..., L, N)``, True = may attend
    :param sentence_mask: Booleans ``(..., L)``
    :returns: the read ``(..., D)``, the word weights ``(..., L, N)`` and the sentence weights
        ``(..., L)``
    :raises TypeError, ValueError: naming the argument, for input of another kind

    Source: Yang et al. (2016), without their recurrent encoders and biases.

    >>> import numpy as np
    >>> X, one, seen = np.ones((2, 3, 5, 4)), np.ones, np.ones((2, 3, 5), bool)
    >>> read, words, sentences = hierarchical_attention(
    ...     X, one((6, 4)), one(6), one((7, 4)), one(7), seen, seen[..., 0]
    ... )
    >>> read.shape, words.shape, sentences.shape
    ((2, 4), (2, 3, 5), (2, 3))
    """
    xp = array_namespace(X)
    word_scores = xp.tanh(X @ W_word.mT) @ q_word  # (..., L, N)
    word_weights = masked_softmax(word_scores, word_mask)
    S = xp.sum(word_weights[..., None] * X, axis=-2)  # (..., L, D)
    sentence_scores = xp.tanh(S @ W_sentence.mT) @ q_sentence  # (..., L)
    seen = sentence_mask & xp.any(word_mask, axis=-1)
    sentence_weights = masked_softmax(sentence_scores, seen)
    read = xp.sum(sentence_weights[..., None] * S, axis=-2)  # (..., D)
    return read, word_weights, sentence_weights
