"""Applications: what weights explain and what they do not; images as sequences.

Read from top to bottom. The first half holds one text: its tokens have states ``H (..., N, D)``,
attention gives them ``weights (..., N)``, and a linear classifier ``w (D,)`` reads the average.
The second half follows weights through values and layers, and cuts images into patches. Every
function takes numpy arrays and torch tensors alike and leaves its arguments as they were.
"""

from attnkit.arguments import array_namespace, positive, takes, whole
from attnkit.self_attention import masked_softmax
from attnkit.soft_attention import entropy

# --------------------------------------------------------------------------- is it an explanation?


@takes("weights (..., N)", "H (..., N, D)", "w (D)")
def prediction(weights, H, w):
    r"""The probability that a linear classifier finds in the attended average of the states.

    .. math:: p = \sigma\Big(\sum_n \alpha_n\, w^\top h_n\Big), \quad
              \sigma(x) = \frac{1}{1 + e^{-x}}

    :param weights: ``(..., N)``
    :param H: the states of the tokens, ``(..., N, D)``
    :param w: ``(D,)``
    :returns: ``(...)``; the batch axes of weights and states broadcast
    :raises TypeError, ValueError: naming the argument, for input of another kind

    >>> import numpy as np
    >>> prediction(np.full((4, 5), 0.2), np.zeros((5, 3)), np.ones(3))
    array([0.5, 0.5, 0.5, 0.5])
    """
    xp = array_namespace(weights)
    logit = xp.sum(weights * (H @ w), axis=-1)
    return (1 + xp.tanh(logit / 2)) / 2


@takes("p (..., N)", "q (..., N)")
def jensen_shannon(p, q):
    r"""How far two distributions are apart, in nats: from 0 if they agree to ln 2 if disjoint.

    .. math:: \mathrm{JSD}(p, q) = \tfrac12 \sum_n p_n \ln \frac{p_n}{m_n}
              + \tfrac12 \sum_n q_n \ln \frac{q_n}{m_n}
              = H(m) - \frac{H(p) + H(q)}{2}, \quad m = \frac{p + q}{2}

    :param p: ``(..., N)``, adds to one; zeros are allowed
    :param q: ``(..., N)``, adds to one; its batch axes broadcast against those of ``p``
    :returns: ``(...)``
    :raises TypeError, ValueError: naming the argument, for input of another kind

    Source: Lin (1991); as a distance of attention weights: Jain and Wallace (2019), section 3.

    >>> import numpy as np
    >>> jensen_shannon(np.array([[1.0, 0.0], [0.5, 0.5]]), np.array([0.0, 1.0])).round(4)
    array([0.6931, 0.2158])
    """
    return entropy((p + q) / 2) - (entropy(p) + entropy(q)) / 2


@takes("a (..., N)", "b (..., N)", "real (..., N) bool")
def kendall_tau(a, b, real):
    r"""Whether two rankings of the real tokens agree: 1 in one order, -1 in opposite ones.

    .. math:: \tau = \frac{\sum_{i < j} \mathrm{sgn}(a_i - a_j)\, \mathrm{sgn}(b_i - b_j)}
              {\sqrt{\sum_{i < j} \mathrm{sgn}^2(a_i - a_j) \; \sum_{i < j}
              \mathrm{sgn}^2(b_i - b_j)}}

    over the pairs of real tokens: the share of pairs in the same order, less that of pairs in
    opposite orders, with Kendall's correction for ties. Zero where one of them has nothing but
    ties.

    :param a: ``(..., N)``
    :param b: ``(..., N)``
    :param real: ``(..., N)``, True where there is a token, False where the text is padded
    :returns: ``(...)``
    :raises TypeError, ValueError: naming the argument, for input of another kind

    Source: Kendall (1945), tau-b.

    >>> import numpy as np
    >>> a, b = np.array([3.0, 2.0, 1.0, 0.0]), np.array([3.0, 1.0, 2.0, 9.0])
    >>> float(kendall_tau(a, b, np.array([True, True, True, False])).round(4))
    0.3333
    """
    xp = array_namespace(a)
    pairs = real[..., :, None] & real[..., None, :]  # (..., N, N), each pair twice
    order_a = xp.where(pairs, xp.sign(a[..., :, None] - a[..., None, :]), 0)
    order_b = xp.where(pairs, xp.sign(b[..., :, None] - b[..., None, :]), 0)
    untied = xp.sum(order_a**2, axis=(-2, -1)) * xp.sum(order_b**2, axis=(-2, -1))
    agreement = xp.sum(order_a * order_b, axis=(-2, -1))
    return agreement / xp.where(untied > 0, untied, 1) ** 0.5


def _keeps_padding(name, orders, arguments):
    """Each order has every place once, and padding stays where it is."""
    xp = array_namespace(orders)
    places = xp.arange(orders.shape[-1])
    if bool(xp.any(xp.sort(orders, axis=-1) != places)):
        raise ValueError(f"{name} has a row that is not an order of 0 to {orders.shape[-1] - 1}")
    if bool(xp.any((orders != places) & ~arguments["real"])):
        raise ValueError(f"{name} moves a place where real is False; padding has to stay")


@takes(
    "H (N, D)",
    "query (D)",
    "w (D)",
    "real (N) bool",
    "orders (P, N) int",
    "rivals (R, N)",
    orders=_keeps_padding,
    tolerance=positive,
)
def explanation_tests(H, query, w, real, orders, rivals, tolerance=0.05):
    r"""Four tests of whether the attention weights of one text explain its prediction.

    The weights are :math:`\alpha = \mathrm{softmax}(H q)` over the real tokens.

    1. *Agreement*: Kendall's tau of the weights and of gradient times state,
       :math:`|\alpha_n\, w^\top h_n|`, the weights held constant.
    2. *Permuted*: the median change of the prediction when the weights are reordered.
    3. *Uniform*: its change when all real tokens get the same weight.
    4. *Rival*: the largest Jensen-Shannon divergence from the weights among those rivals that
       change the prediction by no more than the tolerance; zero if there is none.

    :param H: the states of the tokens, ``(N, D)``
    :param query: ``(D,)``
    :param w: the classifier, ``(D,)``
    :param real: ``(N,)``, True where there is a token, False where the text is padded
    :param orders: ``(P, N)``, each row an order of the places that leaves padding where it is
    :param rivals: ``(R, N)``, each row the scores of other weights
    :param tolerance: the change of a probability that counts as none
    :returns: the four numbers
    :raises TypeError, ValueError: naming the argument, for input of another kind

    Source: Jain and Wallace (2019), sections 4.1 and 4.2; the uniform weights: Wiegreffe and
    Pinter (2019).

    >>> import numpy as np
    >>> H, one = np.eye(3), np.ones(3)
    >>> real, orders = np.array([True] * 3), np.array([[1, 2, 0]])
    >>> tests = explanation_tests(H, one, 0 * one, real, orders, np.array([[9.0, 0, 0]]))
    >>> [float(test.round(2)) for test in tests]
    [0.0, 0.0, 0.0, 0.32]
    """
    xp = array_namespace(H)
    weights = masked_softmax(H @ query, real)  # (N,)
    p = prediction(weights, H, w)
    agreement = kendall_tau(weights, xp.abs(weights * (H @ w)), real)

    changes = xp.sort(xp.abs(prediction(weights[orders], H, w) - p))  # (P,)
    permuted = (changes[(len(orders) - 1) // 2] + changes[len(orders) // 2]) / 2

    same = masked_softmax(xp.zeros_like(weights), real)
    uniform = xp.abs(prediction(same, H, w) - p)

    others = masked_softmax(rivals, real)  # (R, N)
    unseen = xp.abs(prediction(others, H, w) - p) <= tolerance
    rival = xp.max(xp.where(unseen, jensen_shannon(weights, others), 0))
    return agreement, permuted, uniform, rival


@takes("weights (..., N)", "H (..., N, D)", "w (D)", tolerance=positive)
def adversarial_weights(weights, H, w, tolerance=0.05):
    r"""The weights furthest from the given ones that move the prediction by no more than allowed.

    .. math:: \arg\max_\beta \mathrm{JSD}(\alpha, \beta) \quad \text{over distributions } \beta
              \text{ with } |p(\beta) - p(\alpha)| \le \varepsilon

    The divergence is convex, and the condition holds the logit, which is linear in
    :math:`\beta`, between two bounds. So the maximum lies at a corner of what is allowed, and a
    corner has at most two tokens: every pair is tried, as far towards its first token as goes.

    :param weights: ``(..., N)``, the weights of attention
    :param H: the states of the tokens, ``(..., N, D)``
    :param w: the classifier, ``(D,)``
    :param tolerance: the change of the probability that counts as none
    :returns: other weights, ``(..., N)``
    :raises TypeError, ValueError: naming the argument, for input of another kind

    Source: the question is that of Jain and Wallace (2019), section 4.2.2, who climb a gradient.

    >>> import numpy as np
    >>> H = np.array([[2.0], [1.0], [0.0]])
    >>> adversarial_weights(np.array([0.0, 1.0, 0.0]), H, np.ones(1), 1e-6).round(3)
    array([0.5, 0. , 0.5])
    """
    xp = array_namespace(weights)
    N = weights.shape[-1]
    p = prediction(weights, H, w)[..., None, None]
    logits = H @ w  # (..., N), of each token alone
    start, step = logits[..., None, :], logits[..., :, None] - logits[..., None, :]
    eps = xp.finfo(weights.dtype).eps
    bound = xp.clip(xp.where(step > 0, p + tolerance, p - tolerance), eps, 1 - eps)
    bound = xp.log(bound / (1 - bound))  # of the logit
    share = (bound - start) / xp.where(step == 0, 1, step)
    share = xp.clip(share, 0, 1)[..., None]  # (..., N, N, 1)
    identity = xp.eye(N, dtype=weights.dtype)
    pairs = share * identity[:, None, :] + (1 - share) * identity  # (..., N, N, N), to and from
    change = xp.abs(prediction(pairs, H[..., None, None, :, :], w) - p)
    apart = jensen_shannon(weights[..., None, None, :], pairs)
    met = change <= tolerance * (1 + eps**0.5)  # those at a bound meet it up to rounding
    apart = xp.where(met, apart, -1)
    best = xp.argmax(xp.reshape(apart, (*apart.shape[:-2], -1)), axis=-1)[..., None, None]
    pairs = xp.reshape(pairs, (*pairs.shape[:-3], -1, N))
    return xp.take_along_axis(pairs, best, axis=-2)[..., 0, :]


# --------------------------------------------------------------------------- weight, contribution


@takes("weights (..., M, N)", "V (..., N, Dv)")
def contributions(weights, V):
    r"""How long the piece is that each item adds to the read: its weight times its value's length.

    .. math:: c_{mn} = \lVert \alpha_{mn} v_n \rVert = \alpha_{mn} \lVert v_n \rVert

    :param weights: ``(..., M, N)``, not negative
    :param V: values ``(..., N, Dv)``; for one head of several, with its block of the output matrix
    :returns: ``(..., M, N)``
    :raises TypeError, ValueError: naming the argument, for input of another kind

    Source: Kobayashi et al. (2020), section 3.

    >>> import numpy as np
    >>> contributions(np.array([[0.9, 0.1]]), np.array([[0.1, 0.0], [3.0, 4.0]]))
    array([[0.09, 0.5 ]])
    """
    xp = array_namespace(V)
    return weights * xp.linalg.vector_norm(V, axis=-1)[..., None, :]


def _layers(name, weights, arguments):
    if weights.ndim < 4:
        raise ValueError(
            f"{name} has shape {tuple(weights.shape)}; it takes layers, then heads, then N x N: "
            "(L, ..., h, N, N)"
        )


@takes("weights (..., h, N, N)", weights=_layers)
def rollout(weights):
    r"""How much of each input has arrived at each output, if every layer mixes and keeps by half.

    .. math:: \hat A^{(l)} = \mathrm{rows}\Big(I + \frac1h \sum_i A^{(l, i)}\Big), \quad
              R = \hat A^{(L)} \cdots \hat A^{(2)} \hat A^{(1)}

    where :math:`\mathrm{rows}` divides each row by its sum. The identity stands for the residual
    path. Entry :math:`R_{mn}` is the share of input :math:`n` in output :math:`m`.

    :param weights: ``(L, ..., h, N, N)``, the attention of each layer, the first layer first; a row
        that sees nothing is all zeros
    :returns: ``(..., N, N)``; each row adds to one
    :raises TypeError, ValueError: naming the argument, for input of another kind

    Source: Abnar and Zuidema (2020), section 3.

    >>> import numpy as np
    >>> first, second = np.array([[1.0, 0.0], [1.0, 0.0]]), np.array([[0.0, 1.0], [0.0, 1.0]])
    >>> rollout(np.stack([first, second])[:, None])
    array([[0.75, 0.25],
           [0.5 , 0.5 ]])
    """
    xp = array_namespace(weights)
    mixed = xp.mean(weights, axis=-3) + xp.eye(weights.shape[-1], dtype=weights.dtype)
    mixed = mixed / xp.sum(mixed, axis=-1, keepdims=True)  # (L, ..., N, N)
    arrived = mixed[0]
    for layer in mixed[1:]:
        arrived = layer @ arrived
    return arrived


# --------------------------------------------------------------------------- images as sequences


def _fits(name, size, arguments):
    whole(name, size, arguments)
    shape = tuple(arguments["images"].shape)
    if size > min(shape[-2:]):
        raise ValueError(f"{name} is {size}; no such patch fits into images of shape {shape}")


@takes("images (..., C, H, W)", size=_fits)
def patches(images, size):
    r"""Cut images into squares, each written out as one vector: from the left, then downwards.

    Patch :math:`n = i \lfloor W / s \rfloor + j` covers the rows :math:`i s` to :math:`i s + s - 1`
    and the columns :math:`j s` to :math:`j s + s - 1`; its vector holds one channel after another,
    each row by row. Rows at the bottom and columns at the right that fill no patch are left out.

    :param images: ``(..., C, H, W)``
    :param size: :math:`s`, the side of a patch
    :returns: ``(..., N, C * size * size)`` with ``N = (H // size) * (W // size)``
    :raises TypeError, ValueError: naming the argument, for input of another kind

    Source: Dosovitskiy et al. (2021), section 3.1; the order is that of ``torch.nn.Unfold``.

    >>> import numpy as np
    >>> patches(np.arange(8.0).reshape(1, 2, 4), 2)
    array([[0., 1., 4., 5.],
           [2., 3., 6., 7.]])
    """
    xp = array_namespace(images)
    *batch, C, H, W = images.shape
    rows, columns = H // size, W // size
    filled = images[..., : rows * size, : columns * size]
    grid = xp.reshape(filled, (*batch, C, rows, size, columns, size))
    grid = xp.moveaxis(grid, (-4, -2), (-5, -4))  # (..., rows, columns, C, size, size)
    return xp.reshape(grid, (*batch, rows * columns, C * size * size))


def _one_more(name, positions, arguments):
    N, D = arguments["patches"].shape[-2:]
    if tuple(positions.shape) != (N + 1, D):
        raise ValueError(
            f"{name} has shape {tuple(positions.shape)}; {N} patches and the class token take "
            f"{(N + 1, D)}"
        )


@takes("patches (..., N, D)", "token (D)", "positions (T, D)", positions=_one_more)
def with_class_token(patches, token, positions):
    r"""What enters a vision Transformer: a learned token, then the patches, each with its place.

    .. math:: z_0 = c + p_0, \quad z_n = x_n + p_n, \quad n = 1, \dots, N

    :param patches: embedded patches ``(..., N, D)``
    :param token: the class token :math:`c`, ``(D,)``, the same for every image
    :param positions: ``(N + 1, D)``, that of the class token first
    :returns: ``(..., N + 1, D)``
    :raises TypeError, ValueError: naming the argument, for input of another kind

    Source: Dosovitskiy et al. (2021), equation 1.

    >>> import numpy as np
    >>> with_class_token(np.zeros((2, 16, 8)), np.ones(8), np.zeros((17, 8))).shape
    (2, 17, 8)
    """
    xp = array_namespace(patches)
    first = xp.broadcast_to(token, (*patches.shape[:-2], 1, patches.shape[-1]))
    return xp.concat([first, patches], axis=-2) + positions


def _sees_a_patch(name, W_e, arguments):
    C, size = arguments["images"].shape[1], arguments["size"]
    if W_e.shape[1] != C * size * size:
        raise ValueError(
            f"{name} has shape {tuple(W_e.shape)}; a patch of {C} channels and side {size} has "
            f"{C * size * size} numbers, so it takes (D, {C * size * size})"
        )


def _a_place_each(name, upstream, arguments):
    *_, H, W = arguments["images"].shape
    size = arguments["size"]
    T = (H // size) * (W // size) + 1
    if upstream.shape[1] != T:
        raise ValueError(
            f"{name} has shape {tuple(upstream.shape)}; patches and class token are {T} places"
        )


@takes(
    "images (B, C, H, W)",
    "W_e (D, P)",
    "token (D)",
    "positions (T, D)",
    "upstream (B, T, D)",
    size=_fits,
    W_e=_sees_a_patch,
    upstream=_a_place_each,
)
def image_tokens(images, size, W_e, token, positions, upstream):
    r"""Images as the sequences that a vision Transformer reads, and what its class token learns.

    .. math:: z_{b0} = c + p_0, \quad z_{bn} = W_e x_{bn} + p_n, \qquad
              \frac{\partial L}{\partial c} = \sum_b \frac{\partial L}{\partial z_{b0}}

    One class token stands in front of every image, so its gradient is the sum over the images.

    :param images: ``(B, C, H, W)``
    :param size: the side of a patch
    :param W_e: ``(D, C * size * size)``, embeds a patch
    :param token: the class token :math:`c`, ``(D,)``
    :param positions: ``(N + 1, D)``, that of the class token first
    :param upstream: the gradient of a loss by the result, ``(B, N + 1, D)``
    :returns: the sequences ``(B, N + 1, D)`` and the gradient of the loss by ``token``, ``(D,)``
    :raises TypeError, ValueError: naming the argument, for input of another kind

    Source: Dosovitskiy et al. (2021), equation 1.

    >>> import numpy as np
    >>> images, W_e, places = np.ones((2, 3, 8, 4)), np.ones((5, 12)), np.zeros((9, 5))
    >>> Z, gradient = image_tokens(images, 2, W_e, np.zeros(5), places, np.ones((2, 9, 5)))
    >>> Z.shape, gradient
    ((2, 9, 5), array([2., 2., 2., 2., 2.]))
    """
    xp = array_namespace(images)
    Z = with_class_token(patches(images, size) @ W_e.mT, token, positions)
    return Z, xp.sum(upstream[:, 0], axis=0)
