"""The exercises of the chapter on attention in the mind: where a model looks, and pooling."""

import numpy as np

from attnkit import cognition as reference
from attnkit.checking import Question, exercise, in_single_precision, laws

# --------------------------------------------------------------------------- 1.1


def _with_features_in_another_order(answer, arguments):
    other = {**arguments, "features": arguments["features"][::-1]}
    if "query" in arguments:
        other["query"] = arguments["query"][::-1]
    return answer(**other)[0], answer(**arguments)[0]


def _pairs_no_farther_than_the_radius(answer, arguments):
    _, places = answer(**arguments)
    steps = places[:, None] - places  # (count, count, 2)
    close = (steps**2).sum(-1) <= arguments["radius"] ** 2
    return close, np.eye(len(places))


@exercise(
    reference=reference.scanpath,
    number="1.1",
    title="Where a model looks",
    section=("cog-formula", "The formula, the loop, the line"),
    points=5,
    minutes=30,
    difficulty=2,
    contract="features (F, H, W), count, radius, query (F,) or None, centre, surround -> scores "
    "(H, W) and fixations (count, 2), the row and the column of each visit",
    parts=("scores", "fixations"),
    given='''\
def blur(maps, sigma):
    """Each place becomes the average of those around it; maps (..., H, W), sigma in places."""

    def closeness(n):
        steps = np.arange(n)[:, None] - np.arange(n)
        weights = np.exp(-(steps**2) / (2 * sigma**2)).astype(maps.dtype)
        return weights / weights.sum(axis=-1, keepdims=True)

    return closeness(maps.shape[-2]) @ maps @ closeness(maps.shape[-1]).T


def promote(maps):
    """The operator N(.) on each map of (..., H, W): many equal peaks fade, a single one stays."""
    H, W = maps.shape[-2:]
    inner = maps[..., 1:-1, 1:-1]
    shifts = [(i, j) for i in range(3) for j in range(3) if (i, j) != (1, 1)]
    around = np.max([maps[..., i : H - 2 + i, j : W - 2 + j] for i, j in shifts], axis=0)
    peaks = np.where(inner > around, inner, 0)
    largest, highest = (array.max(axis=(-2, -1), keepdims=True) for array in (maps, peaks))
    others = peaks.sum(axis=(-2, -1), keepdims=True) - highest
    count = np.count_nonzero(peaks, axis=(-2, -1), keepdims=True) - 1
    return maps * (largest - others / np.maximum(count, 1)) ** 2
''',
    laws=[
        laws.agrees(
            "the negatives of the feature maps have the same scores",
            lambda answer, arguments: (
                answer(**{**arguments, "features": 1 - arguments["features"]})[0],
                answer(**arguments)[0],
            ),
        ),
        laws.agrees("the order of the features changes no score", _with_features_in_another_order),
        laws.agrees("no place is visited near an earlier one", _pairs_no_farther_than_the_radius),
    ],
    equivalent_mutants={
        "blur(features, centre) - blur(features, surround)  ->  "
        "blur(features, surround) - blur(features, centre)": "only its absolute value is used",
        "rows - row  ->  row - rows": "only its square is used",
        "columns - column  ->  column - columns": "only its square is used",
        "int(np.argmax(scores))  ->  np.argmax(scores)": "numpy's whole number divides like int's",
    },
    hints=(
        "A dark thing on light ground stands out as much as a light thing on dark ground. What "
        "does that ask of the difference between centre and surround? And which number can a "
        "closed place get so that it never wins again, even where every score is negative?",
        "One contrast map for each feature; promoted, or multiplied by its entry of the query; "
        "added up over the features. Then, count times: find the largest entry, write down its "
        "row and column, and set all entries within the radius to minus infinity, in a copy.",
        "`maps = np.abs(blur(features, centre) - blur(features, surround))`; "
        "`row, column = np.unravel_index(left.argmax(), left.shape)`; "
        "`left[(rows - row) ** 2 + (columns - column) ** 2 <= radius**2] = -np.inf`, where `rows` "
        "is np.arange(H)[:, None] and `columns` is np.arange(W).",
    ),
)
def scanpath(features, count, radius, query=None, centre=2.0, surround=12.0):
    r"""Score each place of a picture, then visit the best places one after the other.

    `features` holds F maps of one picture. Each map $f$ first becomes contrast, the difference
    between a narrow and a wide blur, lighter or darker alike:

    $$d_f = \left| \mathrm{blur}(f, \text{centre}) - \mathrm{blur}(f, \text{surround}) \right|$$

    Without a query (`query` is `None`) a place scores by what stands out: the sum of the promoted
    maps, $s = \sum_f N(d_f)$, where $N$ is the function `promote`. With a query it scores by what
    is asked for: $s = \sum_f q_f\, d_f$, no map promoted. An entry of the query may be negative,
    and then scores may be negative too.

    Then winner-take-all with inhibition of return. In a loop, with `left` a copy of the scores:

    ```python
    for visit in range(count):
        row, column = the place where left is largest
        fixations[visit] = row, column
        for i in range(H):
            for j in range(W):
                if (i - row) ** 2 + (j - column) ** 2 <= radius**2:
                    close the place (i, j) for good
    ```

    Return the scores of the *whole* picture, no place closed, and the fixations as a whole-number
    array. `blur(maps, sigma)` and `promote(maps)` are given; both take all F maps at once. There
    are always enough places for the visits.
    """


def _picture(rng, F=3, H=14, W=22, count=4, radius=2.5, query=False, **options):
    arguments = {"features": rng.uniform(size=(F, H, W)), "count": count, "radius": radius}
    if query:
        arguments["query"] = rng.normal(size=F)
    return arguments | {"centre": 1.0, "surround": 4.0} | options


def _bump(rng, H, W, places, height):
    i, j = np.arange(H)[:, None], np.arange(W)
    bumps = [np.exp(-((i - r) ** 2 + (j - c) ** 2) / 2) for r, c in places]
    return height * np.sum(bumps, axis=0) + rng.uniform(0, 0.02, size=(H, W))


@scanpath.case("no query")
def _(rng):
    return _picture(rng)


@scanpath.case("a query")
def _(rng):
    return _picture(rng, query=True)


@scanpath.case("a tall picture")
def _(rng):
    return _picture(rng, F=2, H=25, W=11)


@scanpath.case("a query that only avoids")
def _(rng):
    # The scores lie far below zero, and below minus one.
    return _picture(rng, count=6, query=True) | {"query": -rng.uniform(50, 150, size=3)}


@scanpath.case("dark things on light ground")
def _(rng):
    dark = 0.9 - _bump(rng, 14, 22, [(4, 5), (9, 16)], 0.8)
    return _picture(rng, count=2) | {"features": dark[None]}


@scanpath.case("a map with many peaks, a map with one")
def _(rng):
    many = [(r, c) for r in (4, 11, 18) for c in (4, 12, 20, 28)]
    features = [_bump(rng, 23, 33, many, 0.9), _bump(rng, 23, 33, [(14, 24)], 0.6)]
    return _picture(rng, count=2, radius=3.0) | {"features": np.stack(features)}


@scanpath.case("a radius of one")
def _(rng):
    return _picture(rng, count=6, radius=1.0)


@scanpath.case("the second best place is near the best")
def _(rng):
    heights = {(6, 6): 0.9, (6, 10): 0.7, (14, 20): 0.5}
    features = sum(_bump(rng, 19, 26, [place], height) for place, height in heights.items())
    return _picture(rng, count=2, radius=5.0) | {"features": features[None]}


@scanpath.case("the usual widths")
def _(rng):
    arguments = _picture(rng, H=30, W=41, count=3, radius=6.0)
    return {name: arguments[name] for name in ("features", "count", "radius")}


@scanpath.case("one feature, one visit")
def _(rng):
    return _picture(rng, F=1, count=1)


@scanpath.case("as many rows as columns")
def _(rng):
    return _picture(rng, H=16, W=16, query=True)


@scanpath.case("features in the thousands")
def _(rng):
    arguments = _picture(rng, query=True)
    return arguments | {"features": 1000 * arguments["features"]}


@scanpath.case("single precision")
def _(rng):
    return in_single_precision(_picture(rng, query=True))


@scanpath.case("rows of memory that are not contiguous")
def _(rng):
    return _picture(rng) | {"features": rng.uniform(size=(22, 14, 3)).T}


def _contrast(features, centre, surround):
    return np.abs(reference.blur(features, centre) - reference.blur(features, surround))


def _scores(maps, query):
    if query is None:
        return reference.promote(maps).sum(axis=0)
    return np.einsum("f,fij->ij", query, maps)


def _squared_distance(shape, place):
    rows, columns = np.indices(shape)
    return (rows - place[0]) ** 2 + (columns - place[1]) ** 2


def _visit(scores, count, close):
    """Visits where ``close(left, place)`` changes what is left of the scores."""
    left, places = scores.copy(), []
    for _ in range(count):
        places.append(np.unravel_index(left.argmax(), left.shape))
        close(left, places[-1])
    return np.array(places)


def _visits(scores, count, radius, closed=-np.inf):
    def close(left, place):
        left[_squared_distance(left.shape, place) <= radius**2] = closed

    return _visit(scores, count, close)


@scanpath.misconception(
    "keeps the sign of the difference",
    hint="A dark thing on light ground stands out too, but your contrast is negative there. What "
    "matters is how large the difference is, not which way it goes.",
)
def _(features, count, radius, query=None, centre=2.0, surround=12.0):
    maps = reference.blur(features, centre) - reference.blur(features, surround)
    scores = _scores(maps, query)
    return scores, _visits(scores, count, radius)


@scanpath.misconception(
    "keeps only what is lighter than its surround",
    hint="Turn a feature map into its negative: the same places should stand out. Cutting the "
    "negative differences off loses every dark thing.",
)
def _(features, count, radius, query=None, centre=2.0, surround=12.0):
    maps = reference.blur(features, centre) - reference.blur(features, surround)
    scores = _scores(np.maximum(maps, 0), query)
    return scores, _visits(scores, count, radius)


@scanpath.misconception(
    "visits the best place again and again",
    hint="The largest entry stays the largest. Close the winner and its neighbourhood before you "
    "look for the next one.",
)
def _(features, count, radius, query=None, centre=2.0, surround=12.0):
    scores = _scores(_contrast(features, centre, surround), query)
    return scores, _visit(scores, count, lambda left, place: None)


@scanpath.misconception(
    "closes a place by setting it to zero",
    hint="With a query that avoids something, scores are negative, and then zero is the largest of "
    "them: you come back to the place you closed. Which number loses against every other?",
)
def _(features, count, radius, query=None, centre=2.0, surround=12.0):
    scores = _scores(_contrast(features, centre, surround), query)
    return scores, _visits(scores, count, radius, closed=0)


@scanpath.misconception(
    "closes a place by setting it to minus one",
    hint="With a query that avoids something, scores may lie far below minus one, and you come "
    "back to the place you closed. Which number loses against every other?",
)
def _(features, count, radius, query=None, centre=2.0, surround=12.0):
    scores = _scores(_contrast(features, centre, surround), query)
    return scores, _visits(scores, count, radius, closed=-1)


@scanpath.misconception(
    "blurs with the usual widths whatever centre and surround are",
    hint="The widths of the two blurs are arguments: 2 and 12 only if nothing else is said.",
)
def _(features, count, radius, query=None, centre=2.0, surround=12.0):
    return reference.scanpath(features, count, radius, query)


@scanpath.misconception(
    "stretches each map of contrast to one range first",
    hint="The model of Itti and others does that, this one does not: a feature that hardly differs "
    "anywhere has to stay weak. Leave the contrast as it is.",
)
def _(features, count, radius, query=None, centre=2.0, surround=12.0):
    maps = _contrast(features, centre, surround)
    scores = _scores(maps / maps.max(axis=(1, 2), keepdims=True), query)
    return scores, _visits(scores, count, radius)


@scanpath.misconception(
    "returns column and row instead of row and column",
    hint="Index the scores with your first fixation: is that their maximum? In an array the row "
    "comes first; x and y come the other way round.",
)
def _(features, count, radius, query=None, centre=2.0, surround=12.0):
    scores, places = reference.scanpath(features, count, radius, query, centre, surround)
    return scores, places[:, ::-1]


@scanpath.misconception(
    "adds the maps without promoting them",
    hint="Without a query, a map in which everything stands out drowns the map in which one thing "
    "does. Pass the contrast maps through promote before you add them.",
)
def _(features, count, radius, query=None, centre=2.0, surround=12.0):
    maps = _contrast(features, centre, surround)
    scores = _scores(maps, np.ones(len(maps), maps.dtype) if query is None else query)
    return scores, _visits(scores, count, radius)


@scanpath.misconception(
    "promotes the sum of the maps instead of each map",
    hint="promote compares the peaks of one map with each other. Once the maps are added, it "
    "cannot tell which feature has a single peak. Promote first, add afterwards.",
)
def _(features, count, radius, query=None, centre=2.0, surround=12.0):
    maps = _contrast(features, centre, surround)
    scores = reference.promote(maps.sum(axis=0)) if query is None else _scores(maps, query)
    return scores, _visits(scores, count, radius)


@scanpath.misconception(
    "promotes the features instead of their contrast",
    hint="Contrast first: a bright wall has high numbers and no difference. What is promoted are "
    "the contrast maps.",
)
def _(features, count, radius, query=None, centre=2.0, surround=12.0):
    if query is None:
        scores = _contrast(reference.promote(features), centre, surround).sum(axis=0)
    else:
        scores = _scores(_contrast(features, centre, surround), query)
    return scores, _visits(scores, count, radius)


@scanpath.misconception(
    "promotes the maps with a query too",
    hint="With a query the task decides how much each map counts. Promoting on top silences the "
    "very maps that the task asks for, if they have several peaks.",
)
def _(features, count, radius, query=None, centre=2.0, surround=12.0):
    maps = reference.promote(_contrast(features, centre, surround))
    scores = maps.sum(axis=0) if query is None else _scores(maps, query)
    return scores, _visits(scores, count, radius)


@scanpath.misconception(
    "ignores the query",
    hint="When `query` is not None, every map is multiplied by its own entry of the query.",
)
def _(features, count, radius, query=None, centre=2.0, surround=12.0):
    return reference.scanpath(features, count, radius, None, centre, surround)


@scanpath.misconception(
    "applies the query before the absolute value",
    hint="A negative entry of the query has to lower the score. If you multiply the features first "
    "and take the absolute value afterwards, its sign is gone.",
)
def _(features, count, radius, query=None, centre=2.0, surround=12.0):
    weighed = features if query is None else query[:, None, None] * features
    maps = _contrast(weighed, centre, surround)
    scores = maps.sum(axis=0) if query is not None else _scores(maps, None)
    return scores, _visits(scores, count, radius)


@scanpath.misconception(
    "averages the maps instead of adding them",
    hint="The places come out right, the scores are too small by one factor: add the maps up.",
)
def _(features, count, radius, query=None, centre=2.0, surround=12.0):
    scores, places = reference.scanpath(features, count, radius, query, centre, surround)
    return scores / len(features), places


@scanpath.misconception(
    "returns the scores with the closed places in them",
    hint="Your scores hold minus infinity where a place was closed. Close places in a copy, such "
    "as scores.copy(), and return the map as it was.",
)
def _(features, count, radius, query=None, centre=2.0, surround=12.0):
    scores, places = reference.scanpath(features, count, radius, query, centre, surround)
    for place in places:
        scores[_squared_distance(scores.shape, place) <= radius**2] = -np.inf
    return scores, places


@scanpath.misconception(
    "closes a square instead of a disc",
    hint="A corner of the square is farther away than the radius. Compare the distance from the "
    "winner, rows and columns together.",
)
def _(features, count, radius, query=None, centre=2.0, surround=12.0):
    scores = _scores(_contrast(features, centre, surround), query)

    def close(left, place):
        rows, columns = np.indices(left.shape)
        far = np.maximum(np.abs(rows - place[0]), np.abs(columns - place[1]))
        left[far <= radius] = -np.inf

    return scores, _visit(scores, count, close)


@scanpath.misconception(
    "leaves places at exactly the radius open",
    hint="A place whose distance equals the radius is closed too: `<=`, not `<`.",
)
def _(features, count, radius, query=None, centre=2.0, surround=12.0):
    scores = _scores(_contrast(features, centre, surround), query)

    def close(left, place):
        left[_squared_distance(left.shape, place) < radius**2] = -np.inf

    return scores, _visit(scores, count, close)


@scanpath.misconception(
    "compares the squared distance with the radius itself",
    hint="Either take the root of the sum of squares, or square the radius.",
)
def _(features, count, radius, query=None, centre=2.0, surround=12.0):
    scores = _scores(_contrast(features, centre, surround), query)

    def close(left, place):
        left[_squared_distance(left.shape, place) <= radius] = -np.inf

    return scores, _visit(scores, count, close)


@scanpath.misconception(
    "closes the winner alone, not its neighbourhood",
    hint="The best places of a smooth map are neighbours. Everything within the radius is closed.",
)
def _(features, count, radius, query=None, centre=2.0, surround=12.0):
    scores = _scores(_contrast(features, centre, surround), query)

    def close(left, place):
        left[place] = -np.inf

    return scores, _visit(scores, count, close)


@scanpath.misconception(
    "returns places counted through the whole picture",
    hint="argmax without an axis counts the entries row by row. np.unravel_index, or divmod by the "
    "number of columns, turns that number into a row and a column.",
)
def _(features, count, radius, query=None, centre=2.0, surround=12.0):
    scores, places = reference.scanpath(features, count, radius, query, centre, surround)
    return scores, places @ [scores.shape[1], 1]


@scanpath.misconception(
    "writes into the features",
    hint="`-=` changes the picture of the caller. Make a new array: `blur(features, centre) - "
    "blur(features, surround)`.",
)
def _(features, count, radius, query=None, centre=2.0, surround=12.0):
    scores, places = reference.scanpath(features, count, radius, query, centre, surround)
    features -= reference.blur(features, surround)
    return scores, places


@scanpath.right_answer("scipy's filters")
def _(features, count, radius, query=None, centre=2.0, surround=12.0):
    from scipy import ndimage

    def filtered(array, sigma):
        wide = {"mode": "constant", "truncate": 80 / sigma}
        return ndimage.gaussian_filter(array, sigma, **wide)

    eight = np.array([[1, 1, 1], [1, 0, 1], [1, 1, 1]])
    scores = 0
    for index, one in enumerate(features):
        ones = np.ones_like(one)
        blurred = [filtered(one, s) / filtered(ones, s) for s in (centre, surround)]
        contrast = np.abs(blurred[0] - blurred[1])
        if query is None:
            peak = contrast > ndimage.maximum_filter(contrast, footprint=eight)
            heights = np.sort(contrast[1:-1, 1:-1][peak[1:-1, 1:-1]])[:-1]
            gain = (contrast.max() - (heights.mean() if len(heights) else 0)) ** 2
        else:
            gain = query[index]
        scores = scores + gain * contrast
    return scores, _visits(scores, count, radius)


@scanpath.right_answer("all places sorted once")
def _(features, count, radius, query=None, centre=2.0, surround=12.0):
    scores = _scores(_contrast(features, centre, surround), query)
    places = []
    for flat in np.argsort(-scores, axis=None, kind="stable"):
        place = np.array(divmod(flat, scores.shape[1]))
        if all(np.sum((place - known) ** 2) > radius**2 for known in places):
            places.append(place)
        if len(places) == count:
            break
    return scores, np.stack(places)


@scanpath.right_answer("a table of the open places")
def _(features, count, radius, query=None, centre=2.0, surround=12.0):
    maps = [_contrast(one, centre, surround) for one in features]
    gains = [1.0] * len(maps) if query is None else query
    maps = [reference.promote(one) for one in maps] if query is None else maps
    scores = sum(gain * one for gain, one in zip(gains, maps, strict=True))
    still_open = dict(np.ndenumerate(scores))
    places = []
    for _ in range(count):
        row, column = max(still_open, key=still_open.get)
        places.append((row, column))
        still_open = {
            (i, j): score
            for (i, j), score in still_open.items()
            if np.hypot(i - row, j - column) > radius
        }
    return scores, np.array(places)


# --------------------------------------------------------------------------- 1.2


def _items(arguments):
    return -2


def _pooled(output):
    return output[0]


def _weights(output):
    return output[1]


def _largest_of_ranks(answer, arguments):
    x = arguments["x"]
    ranks = x.argsort(axis=-2).argsort(axis=-2).astype(x.dtype)
    return answer(x=ranks, beta=50.0)[0], ranks.max(axis=-2)


@exercise(
    reference=reference.attention_pool,
    number="1.2",
    title="From mean to max",
    section=("cog-pool", "Pooling is attention without a query"),
    points=4,
    minutes=15,
    difficulty=1,
    contract="x (..., N, C), beta (a number) -> pooled (..., C) and weights (..., N, C)",
    parts=("pooled", "weights"),
    laws=[
        laws.sums_to(1, along=_items, part=_weights),
        laws.not_negative(part=_weights),
        laws.items_permuted("x", axis=-2, part=_pooled),
        laws.read_inside_hull("x", axis=-2, part=lambda output: output[0][..., None, :]),
        laws.agrees(
            "each channel is pooled as if it were alone",
            lambda answer, arguments: (
                answer(**{**arguments, "x": arguments["x"][..., :1]})[0],
                answer(**arguments)[0][..., :1],
            ),
        ),
        laws.agrees("of cells one apart, a beta of 50 reads the largest alone", _largest_of_ranks),
    ],
    equivalent_mutants={
        change: "the default of the helper is never used, the axis is always passed"
        for change in ("-1  ->  1", "1  ->  2", "1  ->  0")
    },
    hints=(
        "Along which axis do the weights of one channel have to add to one? And what is "
        "`np.exp(1000)`?",
        "Take the softmax of beta * x along the cells, each channel by itself. Before the "
        "exponential, subtract from each channel the largest of its own numbers beta * x.",
        "`scores = beta * x`, `e = np.exp(scores - scores.max(axis=-2, keepdims=True))`, "
        "`weights = e / e.sum(axis=-2, keepdims=True)`, and the pooled value is the sum of "
        "weights * x along axis -2.",
    ),
)
def attention_pool(x, beta):
    r"""Pool the cells of each channel with weights that the cells' own values make.

    `x` holds N cells of C channels, the cells in rows. Each channel $c$ has weights of its own:

    $$\alpha_{nc} = \frac{\exp(\beta x_{nc})}{\sum_j \exp(\beta x_{jc})}, \qquad
    o_c = \sum_n \alpha_{nc}\, x_{nc}$$

    In a loop, for one set of cells:

    ```python
    for c in range(C):
        total = sum(exp(beta * x[n, c]) for n in range(N))
        for n in range(N):
            weights[n, c] = exp(beta * x[n, c]) / total
            pooled[c] += weights[n, c] * x[n, c]
    ```

    Any `beta` may come: 0, where this is the mean; a thousand, where it is the maximum and where
    the loop above overflows; a negative one. Channels may lie far apart. There may be batch axes
    in front: `(B, N, C)` gives pooled `(B, C)` and weights `(B, N, C)`. Return both as a tuple.
    """


@attention_pool.case("six cells, four channels")
def _(rng):
    return {"x": rng.normal(size=(6, 4)), "beta": 1.0}


@attention_pool.case("a sharper choice")
def _(rng):
    return {"x": rng.normal(size=(6, 4)), "beta": 3.7}


@attention_pool.case("beta is zero")
def _(rng):
    return {"x": rng.normal(size=(6, 4)), "beta": 0.0}


@attention_pool.case("beta is negative")
def _(rng):
    return {"x": rng.normal(size=(6, 4)), "beta": -2.0}


@attention_pool.case("beta is a thousand")
def _(rng):
    return {"x": rng.normal(size=(6, 4)), "beta": 1000.0}


@attention_pool.case("one channel far below the others")
def _(rng):
    x = rng.normal(size=(6, 4))
    x[:, 1] -= 1000
    return {"x": x, "beta": 1.5}


@attention_pool.case("a batch")
def _(rng):
    return {"x": rng.normal(size=(2, 5, 3)), "beta": 1.5}


@attention_pool.case("two batch axes")
def _(rng):
    return {"x": rng.normal(size=(2, 3, 5, 4)), "beta": 0.5}


@attention_pool.case("as many cells as channels")
def _(rng):
    return {"x": rng.normal(size=(4, 4)), "beta": 2.5}


@attention_pool.case("one cell")
def _(rng):
    return {"x": rng.normal(size=(1, 4)), "beta": 2.0}


@attention_pool.case("one channel")
def _(rng):
    return {"x": rng.normal(size=(6, 1)), "beta": 2.0}


@attention_pool.case("equal cells")
def _(rng):
    return {"x": np.full((5, 3), rng.normal()), "beta": 2.0}


@attention_pool.case("single precision")
def _(rng):
    return in_single_precision({"x": rng.normal(size=(6, 4)), "beta": 2.0})


@attention_pool.case("rows of memory that are not contiguous")
def _(rng):
    return {"x": rng.normal(size=(4, 6)).T, "beta": 2.0}


def _softmax(scores, axis=-2):
    exponentials = np.exp(scores - scores.max(axis=axis, keepdims=True))
    return exponentials / exponentials.sum(axis=axis, keepdims=True)


def _read(weights, x):
    return (weights * x).sum(axis=-2), weights


@attention_pool.misconception(
    "gives all channels the same weights",
    hint="One number for each cell makes one distribution for all channels. In pooling each "
    "channel chooses for itself: the weights have the shape of x.",
)
def _(x, beta):
    scores = beta * x.mean(axis=-1, keepdims=True)
    return _read(np.broadcast_to(_softmax(scores), x.shape), x)


@attention_pool.misconception(
    "multiplies the weights by beta instead of the scores",
    hint="beta has to stand inside the exponential. Outside it only makes the weights add to beta.",
)
def _(x, beta):
    return _read(beta * _softmax(x), x)


@attention_pool.misconception(
    "normalises over the channels",
    hint="Add your weights up along the cells, axis -2: is it one for each channel?",
)
def _(x, beta):
    return _read(_softmax(beta * x, axis=-1), x)


@attention_pool.misconception(
    "reads the scores beta * x instead of x",
    hint="The weights are right, the pooled value is beta times too large: beta decides where to "
    "look, and what is read there is x itself.",
)
def _(x, beta):
    weights = _softmax(beta * x)
    return (weights * (beta * x)).sum(axis=-2), weights


@attention_pool.misconception(
    "takes the exponential of the raw scores",
    hint="With beta = 1000 the exponential is infinite and you divide infinity by infinity. Which "
    "number can you subtract from all cells of a channel without changing the weights?",
)
def _(x, beta):
    exponentials = np.exp(beta * x)
    return _read(exponentials / exponentials.sum(axis=-2, keepdims=True), x)


@attention_pool.misconception(
    "subtracts the largest number of the whole array",
    hint="A channel a thousand below the others underflows to 0 / 0. Each channel has to be "
    "shifted by its own maximum.",
)
def _(x, beta):
    exponentials = np.exp(beta * x - (beta * x).max())
    return _read(exponentials / exponentials.sum(axis=-2, keepdims=True), x)


@attention_pool.misconception(
    "subtracts the largest x instead of the largest beta * x",
    hint="For a negative beta the largest exponent belongs to the smallest x. Subtract the maximum "
    "of the scores beta * x, after the multiplication.",
)
def _(x, beta):
    exponentials = np.exp(beta * x - x.max(axis=-2, keepdims=True))
    return _read(exponentials / exponentials.sum(axis=-2, keepdims=True), x)


@attention_pool.misconception(
    "subtracts the largest absolute value",
    hint="Of the scores -1000 and -1001 the largest is -1000, not 1001. Subtract the maximum with "
    "its sign, or every exponential of a very negative channel is zero.",
)
def _(x, beta):
    scores = beta * x
    exponentials = np.exp(scores - np.abs(scores).max(axis=-2, keepdims=True))
    return _read(exponentials / exponentials.sum(axis=-2, keepdims=True), x)


@attention_pool.misconception(
    "opens and closes each cell by itself: a sigmoid gate",
    hint="A gate is a number from 0 to 1 for each cell that knows nothing of the other cells. Your "
    "weights do not add to one. Attention divides one unit among the cells: a softmax.",
)
def _(x, beta):
    return _read(np.exp(-np.logaddexp(0, -beta * x)), x)


@attention_pool.misconception(
    "takes the maximum whatever beta is",
    hint="That is the limit for a very large beta. For beta = 0 the result has to be the mean.",
)
def _(x, beta):
    weights = np.zeros_like(x)
    np.put_along_axis(weights, x.argmax(axis=-2)[..., None, :], 1, axis=-2)
    return _read(weights, x)


@attention_pool.misconception(
    "takes the mean whatever beta is",
    hint="That is the case beta = 0. Where does beta enter your weights?",
)
def _(x, beta):
    return _read(np.full_like(x, 1 / x.shape[-2]), x)


@attention_pool.misconception(
    "leaves beta out",
    hint="Your result does not change with beta. The scores are beta * x.",
)
def _(x, beta):
    return _read(_softmax(x), x)


@attention_pool.misconception(
    "divides by beta as if it were a temperature",
    hint="beta multiplies: a large beta is sharp, and beta = 0 is the mean. A temperature is 1 / "
    "beta.",
)
def _(x, beta):
    return _read(_softmax(x / np.float64(beta)), x)


@attention_pool.misconception(
    "divides the exponentials by the largest one instead of by their sum",
    hint="Your largest weight is always 1. What do the weights of a channel add to?",
)
def _(x, beta):
    scores = beta * x
    return _read(np.exp(scores - scores.max(axis=-2, keepdims=True)), x)


@attention_pool.misconception(
    "normalises along the first axis, also when there is a batch",
    hint="Right for one set of cells. With a batch in front the cells lie on axis -2; count axes "
    "from the end.",
)
def _(x, beta):
    weights = _softmax(beta * x, axis=0)
    return (weights * x).sum(axis=0), weights


@attention_pool.misconception(
    "keeps the axis of the cells in the result",
    hint="The pooled values have one number a channel: sum along axis -2 without keepdims.",
)
def _(x, beta):
    weights = _softmax(beta * x)
    return (weights * x).sum(axis=-2, keepdims=True), weights


@attention_pool.misconception(
    "returns the pooled values alone",
    hint="Return a tuple: the pooled values and the weights they were made with.",
)
def _(x, beta):
    return reference.attention_pool(x, beta)[0]


@attention_pool.misconception(
    "writes into x",
    hint="`*=` and `out=` write into the caller's array. Make a new one: beta * x.",
)
def _(x, beta):
    pooled, weights = reference.attention_pool(x, beta)
    x *= beta if beta != 1 else 2
    return pooled, weights


@attention_pool.right_answer("torch.softmax")
def _(x, beta):
    import torch

    cells = torch.tensor(x)
    weights = torch.softmax(beta * cells, dim=-2)
    return torch.einsum("...nc,...nc->...c", weights, cells), weights


@attention_pool.right_answer("scipy.special.softmax")
def _(x, beta):
    from scipy.special import softmax

    weights = softmax(beta * x, axis=-2).astype(x.dtype)
    return np.sum(weights * x, axis=-2), weights


@attention_pool.right_answer("differences of pairs")
def _(x, beta):
    gaps = beta * (x[..., None, :, :] - x[..., :, None, :])  # (..., N, N, C)
    weights = 1 / np.exp(gaps).sum(axis=-2)
    return np.einsum("...nc,...nc->...c", weights, x), weights


@attention_pool.right_answer("a loop over the channels")
def _(x, beta):
    pooled, weights = np.zeros_like(x[..., 0, :]), np.zeros_like(x)
    for c in range(x.shape[-1]):
        scores = beta * x[..., c]
        e = np.exp(scores - scores.max(axis=-1, keepdims=True))
        weights[..., c] = e / e.sum(axis=-1, keepdims=True)
        pooled[..., c] = (weights[..., c] * x[..., c]).sum(axis=-1)
    return pooled, weights


# --------------------------------------------------------------------------- written

borrowed_from_the_mind = Question(
    name="borrowed_from_the_mind",
    title="What was borrowed from the mind",
    points=4,
    prompt="""A newspaper writes: "The network pays attention as we do: it ignores what it does not
need and so saves work." In four to six sentences: say what attention is for when there is too much
input, and which other remedy there is; say why the soft attention of a network does not save work;
and name one more difference between a person's attention and a network's.""",
    answer="""When more comes in than can be used, attention selects a small, useful part of it and
leaves the rest aside. The other remedy is to enlarge the store: an external memory, from which one
then has to select again. Soft attention does not leave anything aside. It scores every item and
averages every item, so that it costs more work than a plain mean; what it saves is parameters, and
steps on the way from one place to a far one. Another difference: a gaze is at one place at a time,
while a softmax lies on all places at once.""",
    scheme="""- 1 point: selecting a part of too much input.
- 1 point: the other remedy, a larger store outside (external memory).
- 1 point: soft attention scores and averages all items, so it costs more than a plain mean.
- 1 point: one more difference (one place or all; the rest is lost or still there; the sensor;
  consciousness and effort; how it is learned).""",
)

pooling_in_words = Question(
    name="pooling_in_words",
    title="In what sense is max pooling attention?",
    points=4,
    prompt=r"""A set of notes says: "Max pooling and gating can roughly be seen as saliency-based
attention." In four to six sentences: say what is right in this and three ways in which it is not.
Use the words *query*, *channel* and *gradient*, and say of a sigmoid gate which law of attention
weights it breaks.""",
    answer=r"""Right is that both are driven by the input alone: there is no *query*, and what is
largest wins. Max pooling is the limit of softmax weights over the cells, scored by the cells' own
values, when their sharpness grows without end. But, first, each *channel* chooses for itself, so
that the winners of different channels lie in different cells and no one place is attended. Second,
the weights are no distribution that anyone could shift a little: the *gradient* reaches the
winners only, and a cell that lost by a hair learns nothing. Third, the largest value need not be
what stands out: saliency is a difference from the surroundings, and max pooling does not look at
them. A sigmoid gate gives each cell a number from 0 to 1 by itself; the numbers need not add to
one, so that all gates may be open or all closed: nothing competes.""",
    scheme="""- 1 point: no query, the input alone decides; or the limit of the softmax.
- 2 points: one each, at most two, for: winners differ by channel; gradient to winners only (no
  distribution); the largest value is not a difference from its surroundings.
- 1 point: a gate's weights do not add to one (nothing competes).""",
)
