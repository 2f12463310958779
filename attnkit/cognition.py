"""Attention that a picture draws and attention that a task steers, as a model that runs.

Read from top to bottom: a picture becomes feature maps, a feature map becomes contrast, the
contrasts become one score for each place, and the places are visited from the best one on. At the
end stands pooling, which is attention without a query. A map is ``(H, W)``: row first, then
column. Every function takes numpy arrays and torch tensors alike and leaves its arguments as they
were.
"""

import math

import numpy as np

from attnkit.arguments import array_namespace, positive, takes
from attnkit.soft_attention import softmax

FEATURES = (
    "bright", "red", "green", "blue", "yellow", "upright", "lying", "rising", "falling",
)  # fmt: skip


def _colours(name, value, arguments):
    if value.shape[-1] != 3:
        raise ValueError(
            f"{name} has shape {tuple(value.shape)}; its last axis takes red, green and blue: "
            "(H, W, 3)"
        )
    _at_least_three(name, value[..., 0], arguments)
    if value.min() < 0 or value.max() > 1:
        raise ValueError(
            f"{name} runs from {value.min():g} to {value.max():g}; it takes numbers from 0 to 1"
        )


def _at_least_three(name, value, arguments):
    if min(value.shape[-2:]) < 3:
        raise ValueError(
            f"{name} has {value.shape[-2]} rows and {value.shape[-1]} columns; a place needs its "
            "eight neighbours: at least 3 of each"
        )


@takes("image (H, W, C)", image=_colours)
def feature_maps(image):
    r"""What a picture shows at each place: brightness, four colours, four directions of edges.

    .. math:: R = r - \tfrac{g + b}{2}, \quad G = g - \tfrac{r + b}{2}, \quad
              B = b - \tfrac{r + g}{2}, \quad Y = \tfrac{r + g}{2} - \tfrac{|r - g|}{2} - b

    and zero where that is negative. With :math:`d_x, d_y` the differences of brightness between
    the neighbours on both sides, the edges are the positive and the negative part of
    :math:`(d_x^2 - d_y^2) / \sqrt{d_x^2 + d_y^2}` (upright, lying) and of
    :math:`2 d_x d_y / \sqrt{d_x^2 + d_y^2}` (rising, falling).

    :param image: ``(H, W, 3)``, red, green and blue from 0 to 1
    :returns: ``(9, H, W)`` in the order of ``FEATURES``, none below zero
    :raises TypeError, ValueError: naming the argument, for input of another kind

    Source: the colours of Itti, Koch and Niebur (1998); their edges come from Gabor filters.

    >>> import numpy as np
    >>> feature_maps(np.full((4, 6, 3), 0.5)).shape
    (9, 4, 6)
    """
    xp = array_namespace(image)
    r, g, b = image[..., 0], image[..., 1], image[..., 2]
    bright = (r + g + b) / 3
    across, down = xp.zeros_like(bright), xp.zeros_like(bright)
    across[1:-1, 1:-1] = bright[1:-1, 2:] - bright[1:-1, :-2]
    down[1:-1, 1:-1] = bright[2:, 1:-1] - bright[:-2, 1:-1]
    strength = xp.sqrt(across**2 + down**2 + 1e-12)
    straight, slanted = (across**2 - down**2) / strength, 2 * across * down / strength
    maps = [
        bright,
        r - (g + b) / 2,
        g - (r + b) / 2,
        b - (r + g) / 2,
        (r + g) / 2 - xp.abs(r - g) / 2 - b,
        straight,
        -straight,
        slanted,
        -slanted,
    ]
    return xp.clip(xp.stack(maps), min=0.0)


@takes("maps (..., H, W)", sigma=positive)
def blur(maps, sigma):
    r"""Each place becomes the average of the places around it, near ones counting more.

    The weights are a softmax of minus the squared distance over :math:`2\sigma^2`, so they add to
    one at the rim too.

    :param maps: ``(..., H, W)``
    :param sigma: in places
    :returns: ``(..., H, W)``

    >>> import numpy as np
    >>> blur(np.eye(3), sigma=1e6).round(2)
    array([[0.33, 0.33, 0.33],
           [0.33, 0.33, 0.33],
           [0.33, 0.33, 0.33]])
    """
    xp = array_namespace(maps)

    def weights(n):
        places = xp.arange(n, dtype=maps.dtype)
        return softmax(-((places[:, None] - places) ** 2) / (2 * sigma**2))  # (n, n)

    return weights(maps.shape[-2]) @ maps @ weights(maps.shape[-1]).mT


def _wider(name, value, arguments):
    positive(name, value, arguments)
    if value <= arguments["centre"]:
        raise ValueError(
            f"{name} is {value:g} and centre is {arguments['centre']:g}; the surround takes the "
            "larger one"
        )


@takes("features (..., H, W)", centre=positive, surround=_wider)
def centre_surround(features, centre, surround):
    r"""How much each place differs from what is around it, lighter or darker alike.

    .. math:: d = \bigl| \mathrm{blur}(f, \sigma_c) - \mathrm{blur}(f, \sigma_s) \bigr|

    :param features: ``(..., H, W)``
    :param centre, surround: the two widths, in places
    :returns: the contrast ``(..., H, W)``, none below zero

    Source: Itti, Koch and Niebur (1998), there between the levels of a pyramid.

    >>> import numpy as np
    >>> centre_surround(np.ones((5, 4, 6)), centre=1, surround=3).round(6).max()
    np.float64(0.0)
    """
    return abs(blur(features, centre) - blur(features, surround))


@takes("maps (..., H, W)", maps=_at_least_three)
def promote(maps):
    r"""The operator N(.): a map with one peak keeps its strength, many equal peaks fade.

    .. math:: N(d) = d \, (M - \bar m)^2

    where :math:`M` is the largest entry of the map and :math:`\bar m` the mean height of its peaks,
    the highest one left out. A peak is a place higher than its eight neighbours.

    :param maps: ``(..., H, W)``, none below zero; all in one unit, for a map that is ten times as
        high comes out a thousand times as high
    :returns: ``(..., H, W)``

    Source: Itti, Koch and Niebur (1998), who first stretch every map to one range.

    >>> import numpy as np
    >>> one, two = np.zeros((2, 5, 9))
    >>> one[2, 2] = two[2, 2] = two[2, 6] = 1.0
    >>> promote(np.stack([one, two])).max(axis=(-2, -1))
    array([1., 0.])
    """
    xp = array_namespace(maps)
    H, W = maps.shape[-2:]
    largest = xp.max(maps, axis=(-2, -1), keepdims=True)
    inner = maps[..., 1:-1, 1:-1]
    shifts = [(i, j) for i in range(3) for j in range(3) if (i, j) != (1, 1)]
    around = xp.stack([maps[..., i : H - 2 + i, j : W - 2 + j] for i, j in shifts])
    peaks = xp.where(inner > xp.max(around, axis=0), inner, xp.zeros_like(inner))
    highest = xp.max(peaks, axis=(-2, -1), keepdims=True)
    others = xp.sum(peaks, axis=(-2, -1), keepdims=True) - highest
    count = xp.sum(peaks > 0, axis=(-2, -1), keepdims=True) - 1
    return maps * (largest - others / xp.clip(count, min=1)) ** 2


def _not_exhausted(name, value, arguments):
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise ValueError(f"{name} is {value!r}; it takes a whole number, 1 or more")
    H, W = next(array for array in arguments.values() if hasattr(array, "shape")).shape[-2:]
    radius = arguments["radius"]
    up, left = min(int(radius), H - 1), min(int(radius), W - 1)
    steps = ((i, j) for i in range(-up, up + 1) for j in range(-left, left + 1))
    size = sum(i * i + j * j <= radius**2 for i, j in steps)
    most = math.ceil(H * W / size)
    if value > most:
        raise ValueError(
            f"{name} is {value}, but each visit with radius {radius:g} closes up to {size} of the "
            f"{H} x {W} places; it takes at most {most}"
        )


@takes("scores (H, W)", radius=positive, count=_not_exhausted)
def fixations(scores, count, radius):
    r"""Visit the best place, close it and all within the radius, and visit the best that is left.

    :param scores: ``(H, W)``, of any sign
    :param count: how many places to visit
    :param radius: in places; what lies exactly that far away is closed too
    :returns: ``(count, 2)`` whole numbers, row and column of each visit in order; of equal scores
        the first in reading order wins
    :raises ValueError: also where the visits might run out of places

    Source: winner-take-all and inhibition of return, Koch and Ullman (1985).

    >>> import numpy as np
    >>> fixations(np.array([[0.0, 5.0, 4.0, 0.0, 3.0]]), count=2, radius=1)
    array([[0, 1],
           [0, 4]])
    """
    xp = array_namespace(scores)
    H, W = scores.shape
    rows, columns = xp.arange(H)[:, None], xp.arange(W)
    visited = []
    for _ in range(count):
        row, column = divmod(int(xp.argmax(scores)), W)
        visited.append([row, column])
        near = (rows - row) ** 2 + (columns - column) ** 2 <= radius**2
        scores = xp.where(near, -xp.inf, scores)
    return xp.asarray(visited)


@takes(
    "features (F, H, W)",
    "query (F)?",
    features=_at_least_three,
    centre=positive,
    surround=_wider,
    radius=positive,
    count=_not_exhausted,
)
def scanpath(features, count, radius, query=None, centre=2.0, surround=12.0):
    r"""Where a model looks: without a query at what stands out, with one at what is asked for.

    .. math:: s = \sum_f N(d_f) \quad \text{or} \quad s = \sum_f q_f \, d_f, \qquad
              d_f = \mathrm{centre\_surround}(f)

    :param features: ``(F, H, W)``
    :param count, radius: as of ``fixations``
    :param query: ``(F,)``, how much each feature counts for the task; a negative number avoids it
    :param centre, surround: as of ``centre_surround``
    :returns: the scores ``(H, W)`` and the fixations ``(count, 2)``
    :raises TypeError, ValueError: naming the argument, for input of another kind

    Source: Itti, Koch and Niebur (1998); with a query, the idea of Wolfe, Cave and Franzel (1989).

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> scores, places = scanpath(rng.random((9, 24, 32)), 3, 4.0)
    >>> scores.shape, places.shape
    ((24, 32), (3, 2))
    """
    xp = array_namespace(features)
    maps = centre_surround(features, centre, surround)  # (F, H, W)
    maps = promote(maps) if query is None else query[:, None, None] * maps
    scores = xp.sum(maps, axis=0)  # (H, W)
    return scores, fixations(scores, count, radius)


def _finite(name, value, arguments):
    if isinstance(value, bool) or not isinstance(value, int | float | np.number):
        raise TypeError(f"{name} is {value!r} of type {type(value).__name__}; it takes one number")
    if not math.isfinite(value):
        raise ValueError(f"{name} is {value:g}; it takes a finite number")


@takes("x (..., N, C)", beta=_finite)
def attention_pool(x, beta):
    r"""Pooling as attention without a query: each channel scores its cells by their own values.

    .. math:: o_c = \sum_n \alpha_{nc}\, x_{nc}, \quad
              \alpha_{nc} = \frac{\exp(\beta x_{nc})}{\sum_j \exp(\beta x_{jc})}

    :param x: ``(..., N, C)``, N cells of C channels
    :param beta: 0 is mean pooling; towards infinity it becomes max pooling, towards minus infinity
        min pooling
    :returns: the pooled values ``(..., C)`` and the weights ``(..., N, C)``
    :raises TypeError, ValueError: naming the argument, for input of another kind

    >>> import numpy as np
    >>> pooled, weights = attention_pool(np.array([[0.0, 3.0], [2.0, 1.0]]), beta=0)
    >>> pooled, weights.shape
    (array([1., 2.]), (2, 2))
    """
    xp = array_namespace(x)
    weights = softmax(beta * x, axis=-2)  # (..., N, C)
    return xp.sum(weights * x, axis=-2), weights
