"""The exercises of the chapter on applications: explanation tests, image tokens, rollout."""

import inspect

import numpy as np

from attnkit import applications as reference
from attnkit.applications import jensen_shannon, kendall_tau, patches, with_class_token
from attnkit.checking import Question, exercise, in_single_precision, laws
from attnkit.self_attention import masked_softmax

# Without its look at the arguments: a mistake may come to it with weights that are infinite.
prediction = inspect.unwrap(reference.prediction)

# --------------------------------------------------------------------------- 11.1

TESTS = ("agreement", "permuted", "uniform", "rival")


def _the_tokens_in_another_order(answer, arguments):
    """Tokens, padding and all that is said of places, reordered together."""
    order = np.roll(np.arange(len(arguments["H"])), 1)
    back = np.argsort(order)
    moved = {name: arguments[name][order] for name in ("H", "real")}
    moved["rivals"] = arguments["rivals"][:, order]
    moved["orders"] = back[arguments["orders"][:, order]]
    return np.array(answer(**arguments | moved)), np.array(answer(**arguments))


def _more_padding(answer, arguments):
    if arguments["real"].all():
        return None  # who forgets about padding loses the points of padding only
    N = len(arguments["H"])
    longer = {
        "H": np.concatenate([arguments["H"], 1 + arguments["H"][:2]]),
        "real": np.append(arguments["real"], [False, False]),
        "rivals": np.concatenate([arguments["rivals"], 1 + arguments["rivals"][:, :2]], axis=1),
        "orders": np.array([[*order, N, N + 1] for order in arguments["orders"]]),
    }
    return np.array(answer(**arguments | longer)), np.array(answer(**arguments))


def _the_other_class(answer, arguments):
    other = {"w": -arguments["w"]}
    return np.array(answer(**arguments | other)), np.array(answer(**arguments))


def _an_order_that_moves_nothing(answer, arguments):
    still = np.arange(len(arguments["H"]))[None]
    return np.asarray(answer(**arguments | {"orders": still})[1]), np.float64(0)


@exercise(
    reference=reference.explanation_tests,
    number="11.1",
    title="Four tests of an explanation",
    section=("applications-explanation", "Is attention an explanation?"),
    points=8,
    minutes=50,
    difficulty=3,
    parts=TESTS,
    groups={"a text without padding": 5, "padding": 2, "rivals that leave tokens out": 1},
    contract="H (N, D), query (D,), w (D,), real (N,) of booleans, orders (P, N) of integers, "
    "rivals (R, N), tolerance -> the tuple of numbers (agreement, permuted, uniform, rival)",
    given='''\
def masked_softmax(scores, mask):
    """Weights over the last axis that share 1 among the visible items; the hidden get 0."""
    visible = np.where(mask, scores, -np.inf)
    exponentials = np.exp(visible - visible.max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


def prediction(weights, H, w):
    """The probability: weights (..., N), states H (N, D) and classifier w (D,) -> (...)."""
    return (1 + np.tanh((weights * (H @ w)).sum(axis=-1) / 2)) / 2
''',
    right_anyway={"transposed": "four numbers have no axes"},
    equivalent_mutants={
        **{
            f"{other} - p  ->  p - {other}": "the absolute value does not care which comes first"
            for other in (
                "prediction(weights[orders], H, w)",
                "prediction(same, H, w)",
                "prediction(others, H, w)",
            )
        },
        **{
            f"{pairs}, axis=(-2, -1))  ->  {pairs})": "of one text all axes are summed"
            for pairs in ("np.sum(order_a ** 2", "np.sum(order_b ** 2", "np.sum(order_a * order_b")
        },
        "(-2, -1)  ->  (-1, -2)": "both axes are summed",
        "-1  ->  1": "of one text the last axis of the pairs is number 1",
        "0  ->  1": "one pair counts twice, and so do two",
        "0  ->  -1": "with two real tokens and no ties there is always a pair",
        "1  ->  2": "with two real tokens and no ties there is always a pair",
        "1  ->  0": "with two real tokens and no ties there is always a pair",
    },
    laws=[
        laws.agrees(
            "reordering the places and all that is said of them changes nothing",
            _the_tokens_in_another_order,
        ),
        laws.agrees("more padding changes nothing", _more_padding),
        laws.agrees("the other class is explained as well as the one", _the_other_class),
        laws.agrees("an order that moves nothing changes nothing", _an_order_that_moves_nothing),
    ],
    hints=(
        "Which of the four numbers look at places one by one? At those, padding has to be left "
        "out by you. And for each change: what moves, the weights or the states?",
        "Make the weights and the prediction once. For the agreement compare the sign of "
        "`a[i] - a[j]` with that of `g[i] - g[j]` for all pairs of real tokens. The other three "
        "call `prediction` again with other weights and the *same* states: reordered, equal, or "
        "the softmax of a rival's scores over the real tokens.",
        "With `a, g = weights[real], abs(weights * (H @ w))[real]` the pairs are "
        "`np.sign(a[:, None] - a) * np.sign(g[:, None] - g)`, each twice; their sum divided by "
        "`n * (n - 1)`, with `n = len(a)`, is the agreement. `weights[orders]` are all reordered "
        "weights at once, `real / real.sum()` the equal ones, `masked_softmax(rivals, real)` the "
        "rivals. Keep a rival if `abs(prediction(others, H, w) - p) <= tolerance`. In the "
        "divergence put 0 where a weight is 0.",
    ),
)
def explanation_tests(H, query, w, real, orders, rivals, tolerance=0.05):
    r"""Four tests of whether the weights of one text explain what the model says.

    A text has $N$ places; `real` is True where there is a token and False where it is padded. The
    state of place $n$ is $h_n$, a row of `H`. The model to be tested is

    $$\alpha_n = \frac{\exp(h_n^\top q)}{\sum_{j \text{ real}} \exp(h_j^\top q)}, \qquad
    p = \sigma\Big(\sum_n \alpha_n\, w^\top h_n\Big)$$

    with $q$ in `query`, and weight 0 for padding. Both steps are given as
    `masked_softmax(scores, mask)` and `prediction(weights, H, w)`. Return the tuple
    `(agreement, permuted, uniform, rival)`:

    1. **agreement**, Kendall's $\tau$ between $\alpha_n$ and $g_n = |\alpha_n\, w^\top h_n|$. This
       $g_n$ is gradient times state: the gradient of $\sum_n \alpha_n w^\top h_n$ by $h_n$, *with
       the weights held constant*, times $h_n$. $\tau$ is the share of pairs of real tokens that
       $\alpha$ and $g$ put in the same order, less the share that they put in opposite orders.
    2. **permuted**, the median of $|p' - p|$ over the rows of `orders`. Under an order $\pi$ the
       weight of place $n$ becomes $\alpha_{\pi(n)}$; the states stay. Padding stays in its place.
       The median of an even number of changes is the mean of the middle two.
    3. **uniform**, $|p' - p|$ when all real tokens get the same weight.
    4. **rival**: a row of `rivals` holds scores; their softmax over the real tokens is another
       distribution $\beta$. It goes unnoticed if $|p' - p|$ is at most `tolerance`. Return the
       largest divergence from $\alpha$ of those that go unnoticed, or 0 if none does:

    $$\mathrm{JSD}(\alpha, \beta) = \frac12 \sum_n \alpha_n \ln \frac{\alpha_n}{m_n} +
    \frac12 \sum_n \beta_n \ln \frac{\beta_n}{m_n}, \qquad m = \frac{\alpha + \beta}{2}$$

    with the natural logarithm and $0 \ln 0 = 0$. In loops:

    ```python
    for i, j in combinations([n for n in range(N) if real[n]], 2):
        same = (weights[i] - weights[j]) * (g[i] - g[j]) > 0
        agreement += (1 if same else -1) / pairs
    for order in orders:
        changes.append(abs(prediction(weights[order], H, w) - p))
    for scores in rivals:
        others = masked_softmax(scores, real)
        if abs(prediction(others, H, w) - p) <= tolerance:
            rival = max(rival, divergence(weights, others))
    ```

    There are at least two real tokens, and among them no two weights and no two $g_n$ are equal.
    """


def _text(rng, N, D, P, R, hidden=(), w_scale=1.0, rival_scale=2.0):
    """Half of the rivals change the prediction least of many, the other half most."""
    real = ~np.isin(np.arange(N), hidden)
    H, query, w = rng.normal(size=(N, D)), rng.normal(size=D), w_scale * rng.normal(size=D)
    places = np.flatnonzero(real)
    orders = np.tile(np.arange(N), (P, 1))
    orders[:, real] = [rng.permutation(places) for _ in range(P)]
    pool = rival_scale * rng.normal(size=(400, N))
    p = prediction(masked_softmax(H @ query, real), H, w)
    change = np.abs(prediction(masked_softmax(pool, real), H, w) - p).argsort()
    chosen = np.concatenate([change[: R // 2], change[R // 2 - R :]])
    return {
        "H": H,
        "query": query,
        "w": w,
        "real": real,
        "orders": orders,
        "rivals": pool[rng.permutation(chosen)],
    }


@explanation_tests.case("all sizes different", group="a text without padding")
def _(rng):
    return _text(rng, N=6, D=4, P=3, R=8)


@explanation_tests.case("all sizes equal", group="a text without padding")
def _(rng):
    return _text(rng, N=5, D=5, P=5, R=5)


@explanation_tests.case("many orders, up and down", group="a text without padding")
def _(rng):
    while True:
        text = _text(rng, N=6, D=4, P=21, R=4)
        model = {name: text[name] for name in ("H", "query", "w", "real")}
        weights, p = _read(**model)
        rises = prediction(weights[text["orders"]], text["H"], text["w"]) > p
        if 0.3 < rises.mean() < 0.7:
            return text


@explanation_tests.case("an even number of orders", group="a text without padding")
def _(rng):
    return _text(rng, N=7, D=3, P=4, R=5)


@explanation_tests.case("two tokens", group="a text without padding")
def _(rng):
    return _text(rng, N=2, D=3, P=3, R=6)


@explanation_tests.case("one order and one rival", group="a text without padding")
def _(rng):
    return _text(rng, N=5, D=3, P=1, R=1)


@explanation_tests.case("no rival goes unnoticed", group="a text without padding")
def _(rng):
    return _text(rng, N=6, D=4, P=3, R=8) | {"tolerance": 1e-12}


@explanation_tests.case("a tolerance of its own", group="a text without padding")
def _(rng):
    return _text(rng, N=6, D=4, P=3, R=50) | {"tolerance": 0.2}


@explanation_tests.case("a classifier that is sure", group="a text without padding")
def _(rng):
    return _text(rng, N=6, D=4, P=5, R=8, w_scale=6.0)


@explanation_tests.case("single precision", group="a text without padding")
def _(rng):
    return in_single_precision(_text(rng, N=6, D=4, P=3, R=8))


@explanation_tests.case("rows of memory that are not contiguous", group="a text without padding")
def _(rng):
    text = _text(rng, N=6, D=4, P=3, R=8)
    return text | {name: np.asfortranarray(text[name]) for name in ("H", "orders", "rivals")}


@explanation_tests.case("padding at the end", group="padding")
def _(rng):
    return _text(rng, N=7, D=4, P=3, R=8, hidden=(5, 6))


@explanation_tests.case("padding at the start and in between", group="padding")
def _(rng):
    return _text(rng, N=8, D=4, P=5, R=6, hidden=(0, 3, 4))


@explanation_tests.case("rivals on one token each", group="rivals that leave tokens out")
def _(rng):
    text = _text(rng, N=5, D=3, P=3, R=1, w_scale=0.2)
    return text | {"rivals": 1000 * np.eye(5), "tolerance": 0.1}


def _read(H, query, w, real):
    """The weights of the model and what it predicts with them."""
    weights = masked_softmax(H @ query, real)
    return weights, prediction(weights, H, w)


def _but(H, query, w, real, orders, rivals, tolerance, **parts):
    """The right answer, with some of the four numbers replaced."""
    right = reference.explanation_tests(H, query, w, real, orders, rivals, tolerance)
    return tuple((dict(zip(TESTS, right, strict=True)) | parts).values())


def _furthest(apart, unnoticed):
    return np.max(np.where(unnoticed, apart, 0))


# ------------------------------------------------ mistakes about the agreement


@explanation_tests.misconception(
    "lets the gradient flow through the attention",
    hint="The weights depend on the states too, but here they are held constant: only then does "
    "the number say what the token adds through its own weight. The gradient by h_n is weight "
    "times w, nothing else.",
)
def _(H, query, w, real, orders, rivals, tolerance=0.05):
    weights, _ = _read(H, query, w, real)
    logits = H @ w
    through = weights * (logits - weights @ logits) * (H @ query)
    agreement = kendall_tau(weights, np.abs(weights * logits + through), real)
    return _but(H, query, w, real, orders, rivals, tolerance, agreement=agreement)


@explanation_tests.misconception(
    "ranks the padding too",
    hint="Padding has weight 0 and g = 0: it comes last in both rankings, and each such pair looks "
    "like agreement. Compare real tokens only.",
)
def _(H, query, w, real, orders, rivals, tolerance=0.05):
    weights, _ = _read(H, query, w, real)
    agreement = kendall_tau(weights, np.abs(weights * (H @ w)), np.ones_like(real))
    return _but(H, query, w, real, orders, rivals, tolerance, agreement=agreement)


@explanation_tests.misconception(
    "forgets the absolute value in gradient times state",
    hint="A token may speak strongly against the class. g is the size of what it adds, whatever "
    "the sign.",
)
def _(H, query, w, real, orders, rivals, tolerance=0.05):
    weights, _ = _read(H, query, w, real)
    agreement = kendall_tau(weights, weights * (H @ w), real)
    return _but(H, query, w, real, orders, rivals, tolerance, agreement=agreement)


@explanation_tests.misconception(
    "leaves the weight out of the gradient",
    hint="The state reaches the sum multiplied by its weight, so the gradient has that factor.",
)
def _(H, query, w, real, orders, rivals, tolerance=0.05):
    weights, _ = _read(H, query, w, real)
    agreement = kendall_tau(weights, np.abs(H @ w), real)
    return _but(H, query, w, real, orders, rivals, tolerance, agreement=agreement)


@explanation_tests.misconception(
    "takes the length of the gradient, without the state",
    hint="The gradient by h_n is weight times w: its length ranks the tokens as the weights do, so "
    "that the agreement is 1 for every text. Multiply by the state.",
)
def _(H, query, w, real, orders, rivals, tolerance=0.05):
    agreement = H.dtype.type(1)
    return _but(H, query, w, real, orders, rivals, tolerance, agreement=agreement)


@explanation_tests.misconception(
    "takes the length of weight times state, without the classifier",
    hint="That length is what the token adds to the read. How far it moves this answer depends on "
    "the direction, too: multiply the state by w.",
)
def _(H, query, w, real, orders, rivals, tolerance=0.05):
    weights, _ = _read(H, query, w, real)
    agreement = kendall_tau(weights, weights * np.linalg.norm(H, axis=-1), real)
    return _but(H, query, w, real, orders, rivals, tolerance, agreement=agreement)


@explanation_tests.misconception(
    "takes a correlation of the numbers instead of their order",
    hint="Kendall's tau looks at the order of each pair only, not at how far the two are apart.",
)
def _(H, query, w, real, orders, rivals, tolerance=0.05):
    weights, _ = _read(H, query, w, real)
    a, g = weights[real], np.abs(weights * (H @ w))[real]
    agreement = np.corrcoef(a, g)[0, 1]
    return _but(H, query, w, real, orders, rivals, tolerance, agreement=agreement)


@explanation_tests.misconception(
    "takes Spearman's correlation of ranks instead of Kendall's",
    hint="Two coefficients for ranks: Spearman correlates the ranks, Kendall counts pairs. Pairs "
    "are asked for.",
)
def _(H, query, w, real, orders, rivals, tolerance=0.05):
    weights, _ = _read(H, query, w, real)
    a, g = weights[real], np.abs(weights * (H @ w))[real]
    agreement = np.corrcoef(a.argsort().argsort(), g.argsort().argsort())[0, 1]
    return _but(H, query, w, real, orders, rivals, tolerance, agreement=agreement)


@explanation_tests.misconception(
    "divides by the square of the number of tokens",
    hint="n tokens have n (n - 1) / 2 pairs, as no token is paired with itself. A table of all i "
    "and j holds each of them twice, so n (n - 1) of its entries count.",
)
def _(H, query, w, real, orders, rivals, tolerance=0.05):
    right = reference.explanation_tests(H, query, w, real, orders, rivals, tolerance)
    n = real.sum()
    agreement = right[0] * (n - 1) / n
    return _but(H, query, w, real, orders, rivals, tolerance, agreement=agreement)


@explanation_tests.misconception(
    "returns the share of pairs in the same order",
    hint="Of it the share of pairs in opposite orders is subtracted: opposite rankings get -1, not "
    "0.",
)
def _(H, query, w, real, orders, rivals, tolerance=0.05):
    right = reference.explanation_tests(H, query, w, real, orders, rivals, tolerance)
    return _but(H, query, w, real, orders, rivals, tolerance, agreement=(1 + right[0]) / 2)


# ------------------------------------------------ mistakes about the changes


@explanation_tests.misconception(
    "moves the states along with the weights",
    hint="Each token then keeps its own weight, and the sum is the same in another order: the "
    "change is always zero. Move the weights, leave the states.",
)
def _(H, query, w, real, orders, rivals, tolerance=0.05):
    return _but(H, query, w, real, orders, rivals, tolerance, permuted=H.dtype.type(0))


@explanation_tests.misconception(
    "moves the states instead of the weights",
    hint="Place n should get the weight of place order[n]. Moving the states that way is moving "
    "the weights back the other way.",
)
def _(H, query, w, real, orders, rivals, tolerance=0.05):
    weights, p = _read(H, query, w, real)
    changes = np.abs(prediction(weights, H[orders], w) - p)
    return _but(H, query, w, real, orders, rivals, tolerance, permuted=np.median(changes))


@explanation_tests.misconception(
    "takes the mean of the changes instead of the median",
    hint="One order that turns the prediction around would decide the mean. The median is asked "
    "for.",
)
def _(H, query, w, real, orders, rivals, tolerance=0.05):
    weights, p = _read(H, query, w, real)
    changes = np.abs(prediction(weights[orders], H, w) - p)
    return _but(H, query, w, real, orders, rivals, tolerance, permuted=changes.mean())


@explanation_tests.misconception(
    "takes the largest of the changes instead of the median",
    hint="Half of the orders should change the prediction by more, half by less.",
)
def _(H, query, w, real, orders, rivals, tolerance=0.05):
    weights, p = _read(H, query, w, real)
    changes = np.abs(prediction(weights[orders], H, w) - p)
    return _but(H, query, w, real, orders, rivals, tolerance, permuted=changes.max())


@explanation_tests.misconception(
    "takes the median before the absolute value",
    hint="Changes up and changes down cancel in your median. First how large each change is, then "
    "the median.",
)
def _(H, query, w, real, orders, rivals, tolerance=0.05):
    weights, p = _read(H, query, w, real)
    permuted = np.abs(np.median(prediction(weights[orders], H, w)) - p)
    return _but(H, query, w, real, orders, rivals, tolerance, permuted=permuted)


@explanation_tests.misconception(
    "compares logits instead of probabilities",
    hint="A logit that goes from 8 to 12 changes nothing that anyone would see: the probability "
    "stays near 1. Compare what `prediction` returns.",
)
def _(H, query, w, real, orders, rivals, tolerance=0.05):
    weights, _ = _read(H, query, w, real)
    logits = H @ w
    permuted = np.median(np.abs(weights[orders] @ logits - weights @ logits))
    uniform = np.abs(real / real.sum() @ logits - weights @ logits)
    others = masked_softmax(rivals, real)
    unnoticed = np.abs(others @ logits - weights @ logits) <= tolerance
    rival = _furthest(jensen_shannon(weights, others), unnoticed)
    parts = {"permuted": permuted, "uniform": uniform, "rival": rival}
    return _but(H, query, w, real, orders, rivals, tolerance, **parts)


@explanation_tests.misconception(
    "compares logits, and probabilities only for the rivals",
    hint="In two of the three changes you compare logits. Compare what `prediction` returns.",
)
def _(H, query, w, real, orders, rivals, tolerance=0.05):
    weights, _ = _read(H, query, w, real)
    logits = H @ w
    permuted = np.median(np.abs(weights[orders] @ logits - weights @ logits))
    uniform = np.abs(real / real.sum() @ logits - weights @ logits)
    parts = {"permuted": permuted, "uniform": uniform}
    return _but(H, query, w, real, orders, rivals, tolerance, **parts)


@explanation_tests.misconception(
    "lets padding have a share of the uniform weights",
    hint="The weight 1 is shared by the real tokens; padding gets nothing.",
)
def _(H, query, w, real, orders, rivals, tolerance=0.05):
    _, p = _read(H, query, w, real)
    uniform = np.abs(prediction(np.full(len(H), 1 / len(H)), H, w) - p)
    return _but(H, query, w, real, orders, rivals, tolerance, uniform=uniform)


@explanation_tests.misconception(
    "gives uniform weights that do not add to one",
    hint="Divide by the number of real tokens, not by the number of places: otherwise a part of "
    "the weight is lost in the padding.",
)
def _(H, query, w, real, orders, rivals, tolerance=0.05):
    _, p = _read(H, query, w, real)
    uniform = np.abs(prediction(real / len(H), H, w) - p)
    return _but(H, query, w, real, orders, rivals, tolerance, uniform=uniform)


@explanation_tests.misconception(
    "gives every token the weight one",
    hint="Uniform weights add to one as well: each of n tokens gets 1 / n.",
)
def _(H, query, w, real, orders, rivals, tolerance=0.05):
    _, p = _read(H, query, w, real)
    uniform = np.abs(prediction(real * H.dtype.type(1), H, w) - p)
    return _but(H, query, w, real, orders, rivals, tolerance, uniform=uniform)


# ------------------------------------------------ mistakes about the rivals


@explanation_tests.misconception(
    "takes the logarithm to base 2",
    hint="With the natural logarithm the divergence is at most ln 2; yours can reach 1.",
)
def _(H, query, w, real, orders, rivals, tolerance=0.05):
    right = reference.explanation_tests(H, query, w, real, orders, rivals, tolerance)
    rival = right[3] / np.log(right[3].dtype.type(2))
    return _but(H, query, w, real, orders, rivals, tolerance, rival=rival)


@explanation_tests.misconception(
    "takes the root, the Jensen-Shannon distance",
    hint="The root of the divergence is called the Jensen-Shannon distance, and scipy's function "
    "of that name returns it. Asked for is the divergence.",
)
def _(H, query, w, real, orders, rivals, tolerance=0.05):
    right = reference.explanation_tests(H, query, w, real, orders, rivals, tolerance)
    return _but(H, query, w, real, orders, rivals, tolerance, rival=np.sqrt(right[3]))


@explanation_tests.misconception(
    "adds the two halves of the divergence without halving",
    hint="Each of the two sums counts half.",
)
def _(H, query, w, real, orders, rivals, tolerance=0.05):
    right = reference.explanation_tests(H, query, w, real, orders, rivals, tolerance)
    return _but(H, query, w, real, orders, rivals, tolerance, rival=2 * right[3])


def _relative_entropy(p, q):
    """Of p from q, where p is zero nothing."""
    seen = p > 0
    return np.sum(np.where(seen, p * np.log(np.where(seen, p, 1) / np.where(seen, q, 1)), 0), -1)


@explanation_tests.misconception(
    "takes the divergence of Kullback and Leibler",
    hint="Measured straight from one to the other the divergence is not symmetric, and infinite "
    "where the other has weight zero. Measure both from their mean m.",
)
def _(H, query, w, real, orders, rivals, tolerance=0.05):
    weights, p = _read(H, query, w, real)
    others = masked_softmax(rivals, real)
    unnoticed = np.abs(prediction(others, H, w) - p) <= tolerance
    rival = _furthest(_relative_entropy(weights, others), unnoticed)
    return _but(H, query, w, real, orders, rivals, tolerance, rival=rival)


@explanation_tests.misconception(
    "multiplies zero by the logarithm of zero",
    hint="Where a weight is zero, 0 times minus infinity is NaN, and so is the sum. Such a token "
    "adds nothing: put 0 there.",
)
def _(H, query, w, real, orders, rivals, tolerance=0.05):
    weights, p = _read(H, query, w, real)
    others = masked_softmax(rivals, real)
    m = (weights + others) / 2
    apart = (weights * np.log(weights / m) + others * np.log(others / m)).sum(-1) / 2
    unnoticed = np.abs(prediction(others, H, w) - p) <= tolerance
    rival = np.max(np.where(unnoticed, apart, 0))
    return _but(H, query, w, real, orders, rivals, tolerance, rival=rival)


def _by_weights(others, H, query, w, real, orders, rivals, tolerance):
    """The answer of those who make other weights of the rivals' scores."""
    weights, p = _read(H, query, w, real)
    m = (weights + others) / 2
    apart = (_relative_entropy(weights, m) + _relative_entropy(others, m)) / 2
    rival = _furthest(apart, np.abs(prediction(others, H, w) - p) <= tolerance)
    return _but(H, query, w, real, orders, rivals, tolerance, rival=rival)


@explanation_tests.misconception(
    "takes the scores of a rival for weights",
    hint="Scores may be negative and need not add to one. A rival's weights are the softmax of its "
    "scores over the real tokens.",
)
def _(H, query, w, real, orders, rivals, tolerance=0.05):
    return _by_weights(rivals * real, H, query, w, real, orders, rivals, tolerance)


@explanation_tests.misconception(
    "does not normalise the rival's weights",
    hint="Exponentials are positive, but they do not add to one yet. Divide by their sum over the "
    "real tokens.",
)
def _(H, query, w, real, orders, rivals, tolerance=0.05):
    return _by_weights(np.exp(rivals) * real, H, query, w, real, orders, rivals, tolerance)


@explanation_tests.misconception(
    "lets padding have a share of a rival's weights",
    hint="Take the softmax over the real tokens. Setting padding to zero afterwards leaves weights "
    "that add to less than one.",
)
def _(H, query, w, real, orders, rivals, tolerance=0.05):
    others = masked_softmax(rivals, np.ones_like(real)) * real
    return _by_weights(others, H, query, w, real, orders, rivals, tolerance)


@explanation_tests.misconception(
    "lets a rival attend to padding",
    hint="The softmax of a rival's scores goes over the real tokens only.",
)
def _(H, query, w, real, orders, rivals, tolerance=0.05):
    others = masked_softmax(rivals, np.ones_like(real))
    return _by_weights(others, H, query, w, real, orders, rivals, tolerance)


@explanation_tests.misconception(
    "takes the softmax over the rivals",
    hint="Each row of `rivals` is one rival. Its softmax goes along the row, over the tokens.",
)
def _(H, query, w, real, orders, rivals, tolerance=0.05):
    others = masked_softmax(rivals.T, np.ones_like(rivals.T, dtype=bool)).T * real
    return _by_weights(others, H, query, w, real, orders, rivals, tolerance)


@explanation_tests.misconception(
    "counts rivals that are noticed",
    hint="Weights far away that change the prediction prove nothing. Only rivals within the "
    "tolerance count.",
)
def _(H, query, w, real, orders, rivals, tolerance=0.05):
    rival = np.max(jensen_shannon(masked_softmax(H @ query, real), masked_softmax(rivals, real)))
    return _but(H, query, w, real, orders, rivals, tolerance, rival=rival)


@explanation_tests.misconception(
    "counts the rivals that are noticed instead of the others",
    hint="Within the tolerance a rival goes unnoticed, and only those count. Turn the comparison "
    "round.",
)
def _(H, query, w, real, orders, rivals, tolerance=0.05):
    weights, p = _read(H, query, w, real)
    others = masked_softmax(rivals, real)
    noticed = np.abs(prediction(others, H, w) - p) > tolerance
    rival = _furthest(jensen_shannon(weights, others), noticed)
    return _but(H, query, w, real, orders, rivals, tolerance, rival=rival)


@explanation_tests.misconception(
    "does not look at how large a change downwards is",
    hint="A prediction that falls from 0.9 to 0.1 has changed. Take the absolute value before you "
    "compare with the tolerance.",
)
def _(H, query, w, real, orders, rivals, tolerance=0.05):
    weights, p = _read(H, query, w, real)
    others = masked_softmax(rivals, real)
    rival = _furthest(jensen_shannon(weights, others), prediction(others, H, w) - p <= tolerance)
    return _but(H, query, w, real, orders, rivals, tolerance, rival=rival)


@explanation_tests.misconception(
    "has a tolerance of its own",
    hint="The tolerance is an argument; 0.05 is only what it is if nobody says otherwise.",
)
def _(H, query, w, real, orders, rivals, tolerance=0.05):
    return reference.explanation_tests(H, query, w, real, orders, rivals)


@explanation_tests.misconception(
    "returns the rival that changes the prediction least",
    hint="All rivals within the tolerance go unnoticed. Of these the furthest is asked for.",
)
def _(H, query, w, real, orders, rivals, tolerance=0.05):
    weights, p = _read(H, query, w, real)
    others = masked_softmax(rivals, real)
    change = np.abs(prediction(others, H, w) - p)
    least = change.argmin()
    apart = jensen_shannon(weights, others)[least] * (change[least] <= tolerance)
    return _but(H, query, w, real, orders, rivals, tolerance, rival=apart)


@explanation_tests.misconception(
    "takes the furthest of all rivals and asks only then whether it goes unnoticed",
    hint="The furthest of all may well be noticed, and a nearer one not. First keep those that go "
    "unnoticed, then look for the furthest of them.",
)
def _(H, query, w, real, orders, rivals, tolerance=0.05):
    weights, p = _read(H, query, w, real)
    others = masked_softmax(rivals, real)
    apart = jensen_shannon(weights, others)
    unnoticed = np.abs(prediction(others, H, w) - p) <= tolerance
    furthest = apart.argmax()
    rival = apart[furthest] * unnoticed[furthest]
    return _but(H, query, w, real, orders, rivals, tolerance, rival=rival)


# ------------------------------------------------ right answers


@explanation_tests.right_answer("in loops, as the text has it")
def _(H, query, w, real, orders, rivals, tolerance=0.05):
    weights = masked_softmax(H @ query, real)
    p = prediction(weights, H, w)
    g = [abs(weights[n] * (w @ H[n])) for n in range(len(H))]
    places = [n for n in range(len(H)) if real[n]]
    pairs = [(i, j) for i in places for j in places if i < j]
    signs = [1.0 if (weights[i] - weights[j]) * (g[i] - g[j]) > 0 else -1.0 for i, j in pairs]
    changes = sorted(abs(prediction(weights[order], H, w) - p) for order in orders)
    middle = len(changes) // 2
    even = len(changes) % 2 == 0
    permuted = (changes[middle - 1] + changes[middle]) / 2 if even else changes[middle]
    equal = np.zeros_like(weights)
    equal[places] = 1 / len(places)
    rival = H.dtype.type(0)
    for scores in rivals:
        others = masked_softmax(scores, real)
        if abs(prediction(others, H, w) - p) <= tolerance:
            apart = H.dtype.type(0)
            for a, b in zip(weights, others, strict=True):
                for one in (a, b):
                    if one > 0:
                        apart = apart + one * np.log(2 * one / (a + b)) / 2
            rival = max(rival, apart)
    return sum(signs) / len(pairs), permuted, abs(prediction(equal, H, w) - p), rival


@explanation_tests.right_answer("scipy's functions on the real tokens alone")
def _(H, query, w, real, orders, rivals, tolerance=0.05):
    from scipy.spatial.distance import jensenshannon
    from scipy.stats import kendalltau

    weights = masked_softmax(H @ query, real)
    p = prediction(weights, H, w)
    tau = kendalltau(weights[real], np.abs(weights[real] * (H[real] @ w))).statistic
    permuted = np.median([abs(prediction(weights[order], H, w) - p) for order in orders])
    uniform = abs(prediction(np.ones(real.sum()) / real.sum(), H[real], w) - p)
    others = masked_softmax(rivals, real).astype(float)
    kept = [row for row in others if abs(prediction(row, H, w) - p) <= tolerance]
    apart = [jensenshannon(weights.astype(float), row) ** 2 for row in kept]
    return tau, permuted, uniform, max(apart, default=0.0)


@explanation_tests.right_answer("torch, with the gradient of the logit by autograd")
def _(H, query, w, real, orders, rivals, tolerance=0.05):
    import torch

    H, query, w, real, orders, rivals = map(torch.tensor, (H, query, w, real, orders, rivals))

    def weigh(scores):
        return scores.masked_fill(~real, -torch.inf).softmax(-1)

    def predict(weights):
        return torch.sigmoid(weights @ H @ w)

    weights = weigh(H @ query)
    states = H.clone().requires_grad_()
    (weights @ states @ w).backward()
    g = (states.grad * H).sum(-1).abs()[real]
    a = weights[real]
    first, second = torch.combinations(torch.arange(len(a))).T
    tau = (torch.sign(a[first] - a[second]) * torch.sign(g[first] - g[second])).mean()
    p = predict(weights)
    permuted = (predict(weights[orders]) - p).abs().quantile(0.5)
    uniform = (predict(weigh(torch.zeros_like(weights))) - p).abs()
    others = weigh(rivals)
    m = (weights + others) / 2
    apart = (torch.xlogy(weights, weights) + torch.xlogy(others, others)) / 2 - torch.xlogy(m, m)
    unnoticed = (predict(others) - p).abs() <= tolerance
    return tau, permuted, uniform, (apart.sum(-1) * unnoticed).max()


@explanation_tests.right_answer("numpy, padding cut away first")
def _(H, query, w, real, orders, rivals, tolerance=0.05):
    place = np.cumsum(real) - 1  # of a token among the real ones
    orders = place[orders[:, real]]
    H, rivals = H[real], rivals[:, real]

    def normalised(scores):
        powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
        return powers / powers.sum(axis=-1, keepdims=True)

    def sigmoid(weights):
        return 1 / (1 + np.exp(-np.einsum("...n,nd,d->...", weights, H, w)))

    def plogp(p):
        return (p * np.log(np.maximum(p, np.finfo(p.dtype).tiny))).sum(axis=-1)

    weights = normalised(H @ query)
    g = np.abs(weights * (H @ w))
    up = np.tril(np.sign(np.subtract.outer(weights, weights)) * np.sign(np.subtract.outer(g, g)))
    n = len(H)
    p = sigmoid(weights)
    others = normalised(rivals)
    apart = (plogp(weights) + plogp(others)) / 2 - plogp((weights + others) / 2)
    apart = apart[np.abs(sigmoid(others) - p) <= tolerance]
    return (
        2 * up.sum() / (n * (n - 1)),
        np.quantile(np.abs(sigmoid(weights[orders]) - p), 0.5),
        np.abs(sigmoid(np.full_like(weights, 1 / n)) - p),
        apart.max(initial=0),
    )


# --------------------------------------------------------------------------- 11.2


def _sequences(output):
    return output[0]


def _positions_come_last(answer, arguments):
    nowhere = {"positions": 0 * arguments["positions"]}
    return answer(**arguments | nowhere)[0] + arguments["positions"], answer(**arguments)[0]


def _only_the_first_place_teaches(answer, arguments):
    rest = arguments["upstream"].copy()
    rest[:, 0] = 0
    gradient = answer(**arguments | {"upstream": rest})[1]
    return gradient, np.zeros_like(gradient)


@exercise(
    reference=reference.image_tokens,
    number="11.2",
    title="An image as a sequence",
    section=("applications-vision", "Images as sequences"),
    points=6,
    minutes=35,
    difficulty=2,
    parts=("Z", "gradient"),
    groups={"images that patches fill": 5, "images with a rest": 1},
    contract="images (B, C, H, W), size, W_e (D, C size size), token (D,), positions (N + 1, D), "
    "upstream (B, N + 1, D) -> the tuple (Z (B, N + 1, D), gradient (D,))",
    laws=[
        laws.items_permuted("images", "upstream", axis=0, output_axis=0, part=_sequences),
        laws.agrees("positions are added, and nothing else", _positions_come_last),
        laws.agrees(
            "the class token learns from its own place only", _only_the_first_place_teaches
        ),
    ],
    hints=(
        "Take one image of 1 channel, 4 rows and 6 columns that holds the numbers 0 to 23, and "
        "patches of side 2. Which four numbers are the first patch? Does a reshape put them side "
        "by side?",
        "Cut the rows into (rows of patches, side) and the columns into (columns of patches, side) "
        "with one reshape. Then *exchange* axes so that the two axes of patches come first and "
        "channel, row and column of the patch last. Only then reshape to one vector a patch. For "
        "the gradient: how many images does one class token stand in front of?",
        "With `s = size`, `rows = H // s` and `columns = W // s`: `x = images[:, :, : rows * s, : "
        "columns * s].reshape(B, C, rows, s, columns, s)`, `x = x.transpose(0, 2, 4, 1, 3, 5)`, "
        "then `x.reshape(B, rows * columns, -1) @ W_e.T`; concatenate the token, repeated for "
        "each image, in front; add `positions`. The gradient is `upstream[:, 0].sum(axis=0)`.",
    ),
)
def image_tokens(images, size, W_e, token, positions, upstream):
    r"""Images as the sequences that a vision Transformer reads, and what its class token learns.

    Cut each image into squares of side $s$ (`size`): from left to right, then downwards. A patch is
    written out as one vector $x_n$, channel after channel, and in a channel row by row. Rows at the
    bottom and columns at the right that fill no patch are left out. So an image has
    $N = \lfloor H/s \rfloor \cdot \lfloor W/s \rfloor$ patches. In front of them stands one
    learned vector, the class token $c$ (`token`), the same for every image; each place has its
    position $p$, the class token the first:

    $$z_{b0} = c + p_0, \qquad z_{bn} = W_e\, x_{bn} + p_n, \quad n = 1, \dots, N$$

    Return the tuple `(Z, gradient)`. The second is what `token` learns: a loss $L$ behind the
    sequences answers with its gradient by them, `upstream`, and you pass on

    $$\text{gradient} = \frac{\partial L}{\partial c}
    = \sum_b \frac{\partial L}{\partial z_{b0}}$$

    In a loop, with `columns = W // size`:

    ```python
    for b in range(B):
        Z[b, 0] = token + positions[0]
        for n in range(N):
            top, left = n // columns * size, n % columns * size
            x = images[b, :, top : top + size, left : left + size].reshape(-1)
            Z[b, n + 1] = W_e @ x + positions[n + 1]
        gradient += upstream[b, 0]
    ```

    Do it without autograd: the point is to see what it would do.
    """


def _images(rng, B, C, H, W, size, D):
    T = (H // size) * (W // size) + 1
    return {
        "images": rng.normal(size=(B, C, H, W)),
        "size": size,
        "W_e": rng.normal(size=(D, C * size * size)),
        "token": rng.normal(size=D),
        "positions": rng.normal(size=(T, D)),
        "upstream": rng.normal(size=(B, T, D)),
    }


@image_tokens.case("all sizes different", group="images that patches fill")
def _(rng):
    return _images(rng, B=4, C=3, H=4, W=6, size=2, D=5)


@image_tokens.case("tall images of one channel", group="images that patches fill")
def _(rng):
    return _images(rng, B=3, C=1, H=9, W=6, size=3, D=4)


@image_tokens.case("square images", group="images that patches fill")
def _(rng):
    return _images(rng, B=2, C=2, H=4, W=4, size=2, D=3)


@image_tokens.case("as many images, channels and features", group="images that patches fill")
def _(rng):
    return _images(rng, B=4, C=4, H=4, W=8, size=4, D=4)


@image_tokens.case("one image", group="images that patches fill")
def _(rng):
    return _images(rng, B=1, C=3, H=4, W=6, size=2, D=5)


@image_tokens.case("one patch", group="images that patches fill")
def _(rng):
    return _images(rng, B=3, C=2, H=3, W=3, size=3, D=4)


@image_tokens.case("a patch for each pixel", group="images that patches fill")
def _(rng):
    return _images(rng, B=2, C=3, H=2, W=4, size=1, D=5)


@image_tokens.case("single precision", group="images that patches fill")
def _(rng):
    return in_single_precision(_images(rng, B=3, C=3, H=4, W=6, size=2, D=5))


@image_tokens.case("rows of memory that are not contiguous", group="images that patches fill")
def _(rng):
    arguments = _images(rng, B=3, C=3, H=4, W=6, size=2, D=5)
    names = ("images", "W_e", "upstream")
    return arguments | {name: np.asfortranarray(arguments[name]) for name in names}


@image_tokens.case("a rest at the bottom and at the right", group="images with a rest")
def _(rng):
    return _images(rng, B=2, C=3, H=8, W=11, size=3, D=5)


@image_tokens.case("a rest at the right", group="images with a rest")
def _(rng):
    return _images(rng, B=3, C=1, H=4, W=7, size=2, D=3)


def _sequences_of(x, W_e, token, positions):
    """The sequences of patches that somebody has cut."""
    return with_class_token(x @ W_e.T, token, positions)


def _cut(images, size):
    """The axes of all patches: (B, C, rows, size, columns, size), with no rest."""
    B, C, H, W = images.shape
    rows, columns = H // size, W // size
    filled = images[:, :, : rows * size, : columns * size]
    return filled.reshape(B, C, rows, size, columns, size)


def _reordered(images, size, axes):
    """The patches written out in another order of those axes; batch and two of places first."""
    cut = _cut(images, size).transpose(0, *axes)
    B, rows, columns = cut.shape[:3]
    return cut.reshape(B, rows * columns, -1)


def _misread(name, axes, *, hint):
    @image_tokens.misconception(name, hint=hint)
    def _(images, size, W_e, token, positions, upstream):
        x = _reordered(images, size, axes)
        return _sequences_of(x, W_e, token, positions), upstream[:, 0].sum(axis=0)


_misread(
    "goes down the columns of patches",
    (4, 2, 1, 3, 5),
    hint="Your patches are right, their order is not: the second patch is the one to the *right* "
    "of the first, as one reads. The shape does not tell, nor do the numbers where there is one "
    "row or one column of patches.",
)
_misread(
    "writes out each patch column by column",
    (2, 4, 1, 5, 3),
    hint="Inside a patch, rows come first: of a 2 x 2 patch top left, top right, bottom left, "
    "bottom right. You have exchanged the last two axes.",
)
_misread(
    "writes out all channels of a pixel together",
    (2, 4, 3, 5, 1),
    hint="Both orders are in use, but W_e was made for the other one: the whole first channel of "
    "the patch, then the second.",
)
_misread(
    "exchanges rows and columns, of patches and in patches",
    (4, 2, 1, 5, 3),
    hint="Your images are transposed. Try one that is wider than high and look at its first patch.",
)


@image_tokens.misconception(
    "cuts with a reshape alone",
    hint="A reshape keeps the numbers in their order in memory: your first patch is the first "
    "numbers of the image, row after row, and no square. Cut rows and columns into two axes each, "
    "then exchange axes.",
)
def _(images, size, W_e, token, positions, upstream):
    B, N = len(images), len(positions) - 1
    x = _cut(images, size).reshape(B, N, -1)
    return _sequences_of(x, W_e, token, positions), upstream[:, 0].sum(axis=0)


@image_tokens.misconception(
    "keeps channels apart but cuts each with a reshape alone",
    hint="In each channel your first patch is the first numbers in memory, and no square. Cut "
    "rows and columns into two axes each, then exchange axes.",
)
def _(images, size, W_e, token, positions, upstream):
    B, C, N = *images.shape[:2], len(positions) - 1
    x = _cut(images, size).reshape(B, C, N, -1).swapaxes(1, 2).reshape(B, N, -1)
    return _sequences_of(x, W_e, token, positions), upstream[:, 0].sum(axis=0)


@image_tokens.misconception(
    "does not expect a rest",
    hint="Right where the side divides height and width. Where it does not, leave out the rows at "
    "the bottom and the columns at the right before you reshape.",
)
def _(images, size, W_e, token, positions, upstream):
    B, C, H, W = images.shape
    cut = images.reshape(B, C, H // size, size, W // size, size).transpose(0, 2, 4, 1, 3, 5)
    x = cut.reshape(B, len(positions) - 1, -1)
    return _sequences_of(x, W_e, token, positions), upstream[:, 0].sum(axis=0)


@image_tokens.misconception(
    "leaves out the rest at the top and at the left",
    hint="The first patch starts in the top left corner. What is left over lies at the bottom and "
    "at the right.",
)
def _(images, size, W_e, token, positions, upstream):
    H, W = images.shape[2:]
    x = patches(images[:, :, H % size :, W % size :].copy(), size)
    return _sequences_of(x, W_e, token, positions), upstream[:, 0].sum(axis=0)


@image_tokens.misconception(
    "fills the rest up with zeros",
    hint="You have more patches than there are positions. What fills no patch is left out.",
)
def _(images, size, W_e, token, positions, upstream):
    H, W = images.shape[2:]
    x = patches(np.pad(images, ((0, 0), (0, 0), (0, -H % size), (0, -W % size))), size)
    tokens = np.broadcast_to(token, (len(x), 1, len(token)))
    Z = np.concatenate([tokens, x @ W_e.T], axis=1)
    N = min(Z.shape[1], len(positions))
    Z[:, :N] += positions[:N]
    return Z, upstream[:, 0].sum(axis=0)


@image_tokens.misconception(
    "takes the size for a number of patches",
    hint="`size` is the side of one patch in pixels, not how many patches stand in a row.",
)
def _(images, size, W_e, token, positions, upstream):
    B, C, H, W = images.shape
    cut = images.reshape(B, C, size, H // size, size, W // size).transpose(0, 2, 4, 1, 3, 5)
    x = cut.reshape(B, size * size, -1)
    return _sequences_of(x, W_e, token, positions), upstream[:, 0].sum(axis=0)


def _placed_otherwise(name, place, *, hint):
    """Mistakes with the class token and the positions; ``place`` joins them with the patches."""

    @image_tokens.misconception(name, hint=hint)
    def _(images, size, W_e, token, positions, upstream):
        return place(patches(images, size) @ W_e.T, token, positions), upstream[:, 0].sum(axis=0)


def _in_front(x, token):
    tokens = np.broadcast_to(token, (len(x), 1, len(token)))
    return np.concatenate([tokens, x], axis=1)


def _token_without_position(x, token, positions):
    return _in_front(x + positions[:-1], token)


def _token_placed_last(x, token, positions):
    return _in_front(x + positions[:-1], token + positions[-1])


def _token_at_the_end(x, token, positions):
    tokens = np.broadcast_to(token, (len(x), 1, len(token)))
    return np.concatenate([x, tokens], axis=1) + positions


def _positions_for_patches_only(x, token, positions):
    return _in_front(x + positions[1:], token)


def _token_on_the_first_patch(x, token, positions):
    return _in_front(x + positions[1:], token + positions[1])


def _without_positions(x, token, positions):
    return _in_front(x, token)


def _token_in_every_patch(x, token, positions):
    return _in_front(x + token, token) + positions


def _zeros_for_the_token(x, token, positions):
    return _in_front(x, 0 * token) + positions


def _no_token(x, token, positions):
    return x + positions[1:]


_placed_otherwise(
    "gives position 0 to the first patch and none to the class token",
    _token_without_position,
    hint="There are N + 1 positions, one for each place of the sequence. Put the class token in "
    "front first, then add all of them.",
)
_placed_otherwise(
    "gives position 0 to the first patch and the last one to the class token",
    _token_placed_last,
    hint="Position 0 belongs to the class token, position 1 to the first patch. Put the class "
    "token in front first, then add all of them.",
)
_placed_otherwise(
    "adds positions to the patches only",
    _positions_for_patches_only,
    hint="The class token has a position as well: row 0 is its own.",
)
_placed_otherwise(
    "gives the class token the position of the first patch",
    _token_on_the_first_patch,
    hint="Position 0 belongs to the class token alone; the first patch has position 1.",
)
_placed_otherwise(
    "puts the class token at the end",
    _token_at_the_end,
    hint="The class token is the first of the sequence, where the classifier will look for it.",
)
_placed_otherwise(
    "leaves out the positions",
    _without_positions,
    hint="Without positions the patches are a bag: shuffled, the image would be the same.",
)
_placed_otherwise(
    "adds the class token to every patch as well",
    _token_in_every_patch,
    hint="The class token is a place of its own in the sequence. The patches know nothing of it "
    "until they attend.",
)
_placed_otherwise(
    "starts with zeros instead of the class token",
    _zeros_for_the_token,
    hint="The first place of the sequence holds the learned vector `token`.",
)
_placed_otherwise(
    "leaves out the class token",
    _no_token,
    hint="The sequence has N + 1 places: the class token stands in front of the patches.",
)


def _learning_otherwise(name, learn, *, hint):
    """Mistakes with the gradient of the class token, made of ``upstream`` by ``learn``."""

    @image_tokens.misconception(name, hint=hint)
    def _(images, size, W_e, token, positions, upstream):
        Z, _ = reference.image_tokens(images, size, W_e, token, positions, upstream)
        return Z, learn(upstream)


def _nothing(upstream):
    return np.zeros_like(upstream[0, 0])


def _mean_over_images(upstream):
    return upstream[:, 0].mean(axis=0)


def _of_the_first_image(upstream):
    return upstream[0, 0].copy()


def _of_each_image(upstream):
    return upstream[:, 0].copy()


def _of_all_places(upstream):
    return upstream.sum(axis=(0, 1))


def _of_the_last_place(upstream):
    return upstream[:, -1].sum(axis=0)


_learning_otherwise(
    "gives the class token no gradient",
    _nothing,
    hint="As if the token were detached: it would stay as it was drawn at the start. It is a "
    "parameter like any other.",
)
_learning_otherwise(
    "takes the mean over the images",
    _mean_over_images,
    hint="If the loss is a mean over the batch, `upstream` holds that 1/B already. One token that "
    "is used B times gets the *sum* of B gradients.",
)
_learning_otherwise(
    "takes the gradient of the first image only",
    _of_the_first_image,
    hint="The same token stands in front of every image and learns from each of them.",
)
_learning_otherwise(
    "has a gradient for each image",
    _of_each_image,
    hint="There is one class token for all images, so there is one gradient, of its shape (D,).",
)
_learning_otherwise(
    "sums over all places",
    _of_all_places,
    hint="The class token stands at place 0 only. The gradients at the other places belong to the "
    "patches and their positions.",
)
_learning_otherwise(
    "takes the last place for that of the class token",
    _of_the_last_place,
    hint="The class token is the first of the sequence, and so is its gradient.",
)


@image_tokens.misconception(
    "embeds with the matrix the other way round",
    hint="W_e has a row for each feature: the patches are rows, so multiply by its transpose. A "
    "reshape of W_e to the shape that fits is something else.",
)
def _(images, size, W_e, token, positions, upstream):
    Z = _sequences_of(patches(images, size), W_e.reshape(W_e.shape[::-1]).T, token, positions)
    return Z, upstream[:, 0].sum(axis=0)


@image_tokens.right_answer("in loops, as the text has it")
def _(images, size, W_e, token, positions, upstream):
    B, _, H, W = images.shape
    Z = np.empty_like(upstream)
    gradient = np.zeros_like(token)
    for b in range(B):
        Z[b, 0] = token + positions[0]
        gradient += upstream[b, 0]
        n = 1
        for top in range(0, H - size + 1, size):
            for left in range(0, W - size + 1, size):
                x = images[b, :, top : top + size, left : left + size].reshape(-1)
                Z[b, n] = W_e @ x + positions[n]
                n += 1
    return Z, gradient


@image_tokens.right_answer("windows that slide over the image, every size-th of them")
def _(images, size, W_e, token, positions, upstream):
    windows = np.lib.stride_tricks.sliding_window_view(images, (size, size), axis=(2, 3))
    windows = windows[:, :, ::size, ::size]
    kernels = W_e.reshape(len(W_e), -1, size, size)
    x = np.einsum("bcijhw,dchw->bijd", windows, kernels).reshape(len(images), -1, len(W_e))
    Z = np.insert(x, 0, token, axis=1) + positions
    return Z, np.einsum("bd->d", upstream[:, 0])


@image_tokens.right_answer("torch, a convolution with large steps and autograd")
def _(images, size, W_e, token, positions, upstream):
    import torch

    images, W_e, token, positions, upstream = map(
        torch.tensor, (images, W_e, token, positions, upstream)
    )
    token.requires_grad_()
    kernels = W_e.reshape(len(W_e), -1, size, size)
    x = torch.nn.functional.conv2d(images, kernels, stride=size).flatten(2).mT
    Z = torch.cat([token.expand(len(x), 1, -1), x], dim=1) + positions
    Z.backward(upstream)
    return Z, token.grad


@image_tokens.right_answer("torch's unfold")
def _(images, size, W_e, token, positions, upstream):
    import torch

    x = torch.nn.functional.unfold(torch.tensor(images), size, stride=size).mT.numpy()
    Z = np.empty_like(upstream)
    Z[:, 0] = token
    Z[:, 1:] = x @ W_e.T
    return Z + positions, upstream.sum(axis=0)[0]


# --------------------------------------------------------------------------- 11.3


def _items_change_places(answer, arguments):
    weights = arguments["weights"]
    order = np.roll(np.arange(weights.shape[-1]), 1)
    moved = answer(weights=weights[..., order, :][..., order].copy())
    return moved, answer(**arguments)[..., order, :][..., order]


def _a_layer_that_looks_at_itself(answer, arguments):
    weights = arguments["weights"]
    itself = np.broadcast_to(np.eye(weights.shape[-1], dtype=weights.dtype), weights[:1].shape)
    return answer(weights=np.concatenate([weights, itself])), answer(**arguments)


@exercise(
    reference=reference.rollout,
    number="11.3",
    title="Roll attention out",
    section=("applications-rollout", "Through several layers: rollout"),
    points=5,
    minutes=20,
    difficulty=2,
    contract="weights (L, ..., h, N, N), layers first, then batch axes, then heads -> shares "
    "(..., N, N), a row for each output",
    groups={"rows that add to one": 3, "tokens that see nothing": 1, "batches": 1},
    equivalent_mutants={
        "1  ->  2": "the last two axes are equally long",
        "np.eye(weights.shape[-1], dtype=weights.dtype)  ->  np.eye(weights.shape[-1])": "in "
        "double precision nothing is lost",
    },
    laws=[
        laws.sums_to(1, along=lambda arguments: -1),
        laws.not_negative(),
        laws.items_permuted("weights", axis=-3),
        laws.agrees("reordering the tokens reorders rows and columns", _items_change_places),
        laws.agrees(
            "a layer in which every token sees itself changes nothing",
            _a_layer_that_looks_at_itself,
        ),
    ],
    hints=(
        "Take two layers and one head. Output m of layer 2 is made of which outputs of layer 1? "
        "And each of these of which inputs? In which order do the two matrices stand?",
        "For each layer: mean over the heads, plus the identity, each row divided by its sum. Then "
        "start with the matrix of the first layer and multiply every later one from the left.",
        "`mixed = weights.mean(axis=-3) + np.eye(N)`, `mixed /= mixed.sum(axis=-1, "
        "keepdims=True)`, `arrived = mixed[0]`, and `for layer in mixed[1:]: arrived = layer @ "
        "arrived`.",
    ),
)
def rollout(weights):
    r"""How much of each input has arrived at each output of a stack of attention layers.

    `weights[l, i]` are the attention weights $A^{(l, i)}$ of head $i$ in layer $l$, a row for each
    query, the first layer first. Rollout takes a layer for a mixture: half of a token goes on as it
    is, along the residual path, half is replaced by what the heads read on average. In matrices,

    $$\hat A^{(l)} = \mathrm{rows}\Big(I + \frac1h \sum_{i} A^{(l, i)}\Big), \qquad
    R = \hat A^{(L)} \cdots \hat A^{(2)}\, \hat A^{(1)}$$

    where $\mathrm{rows}$ divides each row by its own sum. That sum is 2, unless the token sees
    nothing in this layer: then its rows of weights are all zeros, and it stays as it is.
    Entry $R_{mn}$ is the share of input $n$ in output $m$. In a loop, for one sequence:

    ```python
    for layer in weights:
        for m in range(N):
            row = [sum(head[m, n] for head in layer) / h + (m == n) for n in range(N)]
            mixed[m] = [share / sum(row) for share in row]
        for m in range(N):
            for n in range(N):
                after[m, n] = sum(mixed[m, k] * before[k, n] for k in range(N))
        before = after.copy()
    ```

    where `before` starts as the identity. There may be batch axes between the layers and the heads:
    `(L, B, h, N, N)` gives `(B, N, N)`.
    """


def _stack(rng, L, h, N, batch=(), scale=1.5):
    return {
        "weights": masked_softmax(
            scale * rng.normal(size=(L, *batch, h, N, N)), np.ones((N, N), dtype=bool)
        )
    }


@rollout.case("three layers of two heads", group="rows that add to one")
def _(rng):
    return _stack(rng, L=3, h=2, N=5)


@rollout.case("two layers, made by hand", group="rows that add to one")
def _(rng):
    first, second = np.eye(3), np.eye(3)
    first[1] = [1, 0, 0]  # the first token goes to the second
    second[2] = [0, 1, 0]  # and from there to the third
    return {"weights": np.stack([first, second])[:, None]}


@rollout.case("as many layers and heads as tokens", group="rows that add to one")
def _(rng):
    return _stack(rng, L=4, h=4, N=4)


@rollout.case("causal weights", group="rows that add to one")
def _(rng):
    scores = rng.normal(size=(3, 4, 5, 5))
    return {"weights": masked_softmax(scores, np.tri(5, dtype=bool))}


@rollout.case("one layer", group="rows that add to one")
def _(rng):
    return _stack(rng, L=1, h=3, N=4)


@rollout.case("one head", group="rows that add to one")
def _(rng):
    return _stack(rng, L=4, h=1, N=3)


@rollout.case("one token", group="rows that add to one")
def _(rng):
    return _stack(rng, L=3, h=2, N=1)


@rollout.case("forty layers", group="rows that add to one")
def _(rng):
    return _stack(rng, L=40, h=2, N=3, scale=6.0)


@rollout.case("single precision", group="rows that add to one")
def _(rng):
    return in_single_precision(_stack(rng, L=3, h=2, N=5))


@rollout.case("rows of memory that are not contiguous", group="rows that add to one")
def _(rng):
    return {"weights": np.asfortranarray(_stack(rng, L=3, h=2, N=5)["weights"])}


@rollout.case("a token that sees nothing in one layer", group="tokens that see nothing")
def _(rng):
    weights = _stack(rng, L=3, h=2, N=5)["weights"]
    weights[1, :, 3] = 0
    return {"weights": weights}


@rollout.case("causal, padded at the start", group="tokens that see nothing")
def _(rng):
    mask = np.tri(5, dtype=bool) & (np.arange(5) > 1)
    return {"weights": masked_softmax(rng.normal(size=(2, 3, 5, 5)), mask)}


@rollout.case("a batch", group="batches")
def _(rng):
    return _stack(rng, L=3, h=4, N=5, batch=(2,))


@rollout.case("a batch as large as everything else", group="batches")
def _(rng):
    return _stack(rng, L=3, h=3, N=3, batch=(3,))


@rollout.case("two batch axes", group="batches")
def _(rng):
    return _stack(rng, L=2, h=4, N=5, batch=(3, 2))


def _rows(mixed):
    return mixed / mixed.sum(axis=-1, keepdims=True)


def _mixed(weights):
    """Each layer as rollout takes it, before the product."""
    return _rows(weights.mean(axis=-3) + np.eye(weights.shape[-1], dtype=weights.dtype))


def _product(layers):
    """Later layers on the left."""
    arrived = layers[0]
    for layer in layers[1:]:
        arrived = layer @ arrived
    return arrived


@rollout.misconception(
    "multiplies the layers in reverse order",
    hint="The last layer acts last: its rows mix outputs of the layer before. So it stands on the "
    "left, and the first layer, which touches the inputs, on the right.",
)
def _(weights):
    return _product(_mixed(weights)[::-1])


@rollout.misconception(
    "leaves out the identity",
    hint="Beside the heads each token goes on along the residual path. Add the identity to the "
    "mean of the heads before you divide.",
)
def _(weights):
    return _product(weights.mean(axis=-3))


@rollout.misconception(
    "adds the identity and does not renormalise",
    hint="With the identity each row adds to 2, so that L layers make it 2 to the power L. Divide "
    "each row by its sum.",
)
def _(weights):
    return _product(weights.mean(axis=-3) + np.eye(weights.shape[-1], dtype=weights.dtype))


@rollout.misconception(
    "divides by two instead of by the sum of the row",
    hint="A token that sees nothing has only the identity in its row: the sum is 1, not 2. Divided "
    "by 2, half of it would get lost.",
)
def _(weights):
    return _product((weights.mean(axis=-3) + np.eye(weights.shape[-1], dtype=weights.dtype)) / 2)


@rollout.misconception(
    "renormalises once, at the end",
    hint="Right as long as all rows have the same sum. Where a token sees nothing they have not: "
    "divide in each layer, before the product.",
)
def _(weights):
    mixed = weights.mean(axis=-3) + np.eye(weights.shape[-1], dtype=weights.dtype)
    return _rows(_product(mixed))


@rollout.misconception(
    "multiplies head by head and averages at the end",
    hint="Head 1 of a later layer reads what all heads of the layer before wrote together. So "
    "average the heads in each layer, before the product.",
)
def _(weights):
    heads = _rows(weights + np.eye(weights.shape[-1], dtype=weights.dtype))
    return _product(heads).mean(axis=-3)


@rollout.misconception(
    "returns columns for rows",
    hint="Row m should say what output m is made of, and add to one. You return the transpose.",
)
def _(weights):
    return _product(_mixed(weights)).swapaxes(-1, -2)


@rollout.misconception(
    "normalises the columns",
    hint="A row says what one output is made of; its shares add to one. Sum over the last axis.",
)
def _(weights):
    mixed = weights.mean(axis=-3) + np.eye(weights.shape[-1], dtype=weights.dtype)
    return _product(mixed / mixed.sum(axis=-2, keepdims=True))


@rollout.misconception(
    "adds the identity once, after the product",
    hint="Every layer has its own residual path. Add the identity in each layer, before the "
    "product.",
)
def _(weights):
    arrived = _product(weights.mean(axis=-3))
    return _rows(arrived + np.eye(weights.shape[-1], dtype=weights.dtype))


@rollout.misconception(
    "multiplies entry by entry",
    hint="A path from n to m goes through *any* token in between: sum over it. That is the matrix "
    "product, not the product of entries.",
)
def _(weights):
    return _rows(_mixed(weights).prod(axis=0))


@rollout.misconception(
    "averages the layers",
    hint="Layers come one after another, so their mixtures are multiplied. A mean would put them "
    "side by side.",
)
def _(weights):
    return _mixed(weights).mean(axis=0)


@rollout.misconception(
    "looks at the last layer only",
    hint="The last layer mixes what the layers before have mixed already. Follow it down to the "
    "inputs.",
)
def _(weights):
    return _mixed(weights)[-1]


@rollout.misconception(
    "looks at the first layer only",
    hint="The later layers mix on. Multiply each of them from the left.",
)
def _(weights):
    return _mixed(weights)[0]


@rollout.misconception(
    "takes the largest of the heads instead of the mean",
    hint="That is another rollout, which follows the strongest head. Here the mean is asked for.",
)
def _(weights):
    return _product(_rows(weights.max(axis=-3) + np.eye(weights.shape[-1], dtype=weights.dtype)))


@rollout.misconception(
    "weighs the residual path like one more head",
    hint="You add the heads up. The identity counts as much as all heads together, not as one of "
    "h + 1: take the mean of the heads.",
)
def _(weights):
    h = weights.shape[-3]
    return _product(
        _rows(h * weights.mean(axis=-3) + np.eye(weights.shape[-1]) * weights.dtype.type(1))
    )


@rollout.misconception(
    "returns the row of the first token only",
    hint="In a model with a class token in front, that row is the one people draw. Here all rows "
    "are asked for.",
)
def _(weights):
    return _product(_mixed(weights))[..., 0, :]


@rollout.misconception(
    "starts from the identity and adds each product to it",
    hint="The residual path is in each layer's matrix already, as the identity. Multiply on; add "
    "nothing afterwards.",
)
def _(weights):
    arrived = np.eye(weights.shape[-1], dtype=weights.dtype)
    for layer in _mixed(weights):
        arrived = arrived + layer @ arrived
    return _rows(arrived)


@rollout.misconception(
    "takes the axis behind the layers for the heads",
    hint="With a batch, its axes stand between layers and heads. Count from the end: the heads are "
    "axis -3.",
)
def _(weights):
    return _product(_rows(weights.mean(axis=1) + np.eye(weights.shape[-1], dtype=weights.dtype)))


@rollout.right_answer("in loops, as the text has it")
def _(weights):
    L, *batch, h, N, _ = weights.shape
    R = np.empty((*batch, N, N), weights.dtype)
    for index in np.ndindex(*batch):
        before = np.eye(N, dtype=weights.dtype)
        for layer in range(L):
            heads = weights[(layer, *index)]
            after = np.zeros_like(before)
            for m in range(N):
                row = [sum(heads[i, m, n] for i in range(h)) / h + (m == n) for n in range(N)]
                for k in range(N):
                    after[m] += row[k] / sum(row) * before[k]
            before = after
        R[index] = before
    return R


@rollout.right_answer("the last layer first, each earlier one from the right")
def _(weights):
    h, N = weights.shape[-3:-1]
    eye = np.eye(N, dtype=weights.dtype)
    arrived = eye
    for heads in weights[::-1]:
        mixed = np.einsum("...hmn->...mn", heads) / h + eye
        arrived = arrived @ (mixed / np.einsum("...mn->...m", mixed)[..., None])
    return arrived


@rollout.right_answer("each input sent through the layers, as a chain of vectors")
def _(weights):
    heads = weights.mean(axis=-3)
    N = weights.shape[-1]
    total = 1 + heads.sum(axis=-1)
    inputs = []
    for n in range(N):
        share = np.broadcast_to(np.eye(N, dtype=weights.dtype)[n], total.shape[1:])
        for A, t in zip(heads, total, strict=True):
            share = (share + (A @ share[..., None])[..., 0]) / t
        inputs.append(share)
    return np.stack(inputs, axis=-1)


@rollout.right_answer("torch and functools.reduce")
def _(weights):
    from functools import reduce

    import torch

    weights = torch.tensor(weights)
    mixed = weights.mean(-3) + torch.eye(weights.shape[-1], dtype=weights.dtype)
    return reduce(lambda below, layer: layer @ below, torch.nn.functional.normalize(mixed, 1, -1))


# --------------------------------------------------------------------------- written

heat_map_in_words = Question(
    name="heat_map_in_words",
    title="A heat map in a report",
    points=5,
    prompt=r"""A bank writes to a customer: "Our model refused your loan. The words it paid most
attention to are marked in your letter; they are the reasons." The picture shows the attention
weights of the last layer, averaged over the heads, of a model with a recurrent encoder below the
attention. In five to seven sentences: why do these weights not show what the customer asks? Name
*one* reason that lies in the states below the attention, *one* that lies in the values, and *one*
that lies in the layers; say which test of this chapter you would run on this model, and what result
would speak *for* the picture; and say what nobody should conclude if the test fails.""",
    answer=r"""A recurrent encoder has mixed the words before attention sees them: the state at the
place of a word also holds its neighbours, so a weight on this place is no weight on this word. The
weight is also not yet the contribution: what reaches the output is weight times value, and a large
weight on a short value, as on a full stop, brings in little. And the last layer reads the outputs
of the layers below, which are mixtures already; to get back to words one would have to follow all
layers, and rollout, which does this, still takes every value for equally important and knows
nothing of the classifier. I would put other weights into the trained model and leave the rest
alone: reordered ones and equal ones. If the decision changed under almost all of them, it would
depend on these weights, which speaks for the picture; to show more, one would take the marked words
out of the letter and ask the model again. If the test fails, that is, if quite different weights
give the same decision, it follows that *these* weights are not the one explanation, as others would
have done; it does not follow that the model is wrong, nor that attention never explains anything:
the same test comes out differently for a model whose states have not been mixed.""",
    scheme="""- 1 point: states below attention are mixed, a place is not a word.
- 1 point: weight times value contributes; a large weight on a short value does little.
- 1 point: layers (or heads averaged): the last layer reads mixtures; weights must be followed down.
- 1 point: a fitting test (permuted or uniform weights, or removing the words; an adversary only
  beside a baseline) and the result that would support the picture.
- 1 point: a failed test does not show that the model is wrong or attention is never an
  explanation; it concerns this model and these weights.""",
)
