"""The exercises of the chapter on soft attention: softmax, scores, read, Jacobian."""

import numpy as np

from attnkit import soft_attention as reference
from attnkit.checking import Question, exercise, in_single_precision, laws

# --------------------------------------------------------------------------- 3.1


@exercise(
    reference=reference.softmax,
    number="3.1",
    title="A softmax that never overflows",
    section=("soft-softmax", "Normalise: the softmax"),
    points=4,
    minutes=15,
    difficulty=1,
    contract="scores (any shape), axis -> weights (same shape); finite for any finite scores",
    not_allowed=("scipy.special.softmax", "torch.softmax"),
    laws=[
        laws.sums_to(1, along=lambda arguments: arguments.get("axis", -1)),
        laws.not_negative(),
        laws.shift_invariant("scores", along=lambda arguments: arguments.get("axis", -1)),
    ],
    hints=(
        "What is `np.exp(1000)`? And what happens to the softmax if you subtract the same number "
        "from all scores of one query?",
        "Subtract from each row *its own* largest score: the largest exponential is then 1 and "
        "nothing overflows. One number for the whole array will not do when rows lie far apart.",
        "`shifted = scores - scores.max(axis=axis, keepdims=True)`; then exponentials divided by "
        "their sum along the same axis, again with `keepdims=True`.",
    ),
)
def softmax(scores, axis=-1):
    r"""Weights that add to one along the axis, at any size of the scores.

    Turn scores into weights:

    $$a_n = \frac{\exp(s_n)}{\sum_j \exp(s_j)}$$

    along any one axis of an array of any shape. As a loop, for one vector of scores:

    ```python
    total = sum(exp(s) for s in scores)
    for n in range(N):
        weights[n] = exp(scores[n]) / total
    ```

    Written like this it breaks: `exp(1000)` overflows. Yours must be right for *every* finite
    score, also when the scores are in the thousands, when all are far below zero, and when one
    row lies a thousand below another. Do not change the array you are given.
    """


@softmax.case("a vector")
def _(rng):
    return {"scores": rng.normal(size=7)}


@softmax.case("the rows of a matrix")
def _(rng):
    return {"scores": rng.normal(size=(3, 5)), "axis": -1}


@softmax.case("the columns of a matrix")
def _(rng):
    return {"scores": rng.normal(size=(3, 5)), "axis": 0}


@softmax.case("a middle axis")
def _(rng):
    return {"scores": rng.normal(size=(2, 3, 5)), "axis": 1}


@softmax.case("as many rows as columns")
def _(rng):
    return {"scores": rng.normal(size=(4, 4)), "axis": -1}


@softmax.case("scores between -1000 and 1000")
def _(rng):
    return {"scores": rng.uniform(-1000, 1000, size=(3, 5))}


@softmax.case("large scores close together")
def _(rng):
    return {"scores": 1000 + rng.normal(size=(3, 5))}


@softmax.case("one row a thousand below the others")
def _(rng):
    scores = rng.normal(size=(3, 5))
    scores[1] -= 1000
    return {"scores": scores}


@softmax.case("all scores far below zero")
def _(rng):
    return {"scores": -1000 + rng.normal(size=5)}


@softmax.case("one item")
def _(rng):
    return {"scores": rng.normal(size=(3, 1))}


@softmax.case("equal scores")
def _(rng):
    return {"scores": np.full((2, 4), rng.normal())}


@softmax.case("single precision")
def _(rng):
    return in_single_precision({"scores": rng.normal(size=(3, 5))})


@softmax.case("rows of memory that are not contiguous")
def _(rng):
    return {"scores": rng.normal(size=(5, 3)).T}


@softmax.misconception(
    "takes the exponential of the raw scores",
    hint="Right for small scores, but look at np.exp(1000). Which number can you subtract from "
    "all scores of a row without changing the weights?",
)
def _(scores, axis=-1):
    exponentials = np.exp(scores)
    return exponentials / exponentials.sum(axis=axis, keepdims=True)


@softmax.misconception(
    "subtracts the largest score of the whole array",
    hint="A row a thousand below the largest score underflows to 0 / 0. Each row has to be "
    "shifted by its own maximum.",
)
def _(scores, axis=-1):
    exponentials = np.exp(scores - scores.max())
    return exponentials / exponentials.sum(axis=axis, keepdims=True)


@softmax.misconception(
    "subtracts the largest absolute value",
    hint="For scores (-1000, -1001) the largest absolute value is 1001: you move away from zero. "
    "Subtract the maximum itself.",
)
def _(scores, axis=-1):
    exponentials = np.exp(scores - np.abs(scores).max(axis=axis, keepdims=True))
    return exponentials / exponentials.sum(axis=axis, keepdims=True)


@softmax.misconception(
    "drops the axis when it takes the maximum and the sum",
    hint="A maximum of shape (3,) does not line up with scores of shape (3, 5), and with a "
    "square array it lines up with the wrong axis. What does keepdims do?",
)
def _(scores, axis=-1):
    exponentials = np.exp(scores - scores.max(axis=axis))
    return exponentials / exponentials.sum(axis=axis)


@softmax.misconception(
    "normalises along the first axis whatever `axis` says",
    hint="Add your weights up along the axis that was asked for. Is it one?",
)
def _(scores, axis=-1):
    return reference.softmax(scores, axis=0)


@softmax.misconception(
    "normalises along the last axis whatever `axis` says",
    hint="Try axis=0 on a matrix of shape (3, 5) and add the weights up along axis 0.",
)
def _(scores, axis=-1):
    return reference.softmax(scores)


@softmax.misconception(
    "normalises over the whole array at once",
    hint="Each row of scores belongs to a query of its own and has to add to one by itself.",
)
def _(scores, axis=-1):
    exponentials = np.exp(scores - scores.max())
    return exponentials / exponentials.sum()


@softmax.misconception(
    "divides the scores by their maximum instead of subtracting it",
    hint="Dividing changes the differences between the scores, and these are all that softmax "
    "sees. Subtracting leaves them alone.",
)
def _(scores, axis=-1):
    exponentials = np.exp(scores / scores.max(axis=axis, keepdims=True))
    return exponentials / exponentials.sum(axis=axis, keepdims=True)


@softmax.misconception(
    "divides the exponentials by the largest one instead of by their sum",
    hint="Your largest weight is 1 even when others are above 0. What do weights add to?",
)
def _(scores, axis=-1):
    return np.exp(scores - scores.max(axis=axis, keepdims=True))


@softmax.misconception(
    "adds a small number to the denominator",
    hint="After the shift the sum is never below 1, so there is no division by zero to guard "
    "against; the small number only makes the weights add to less than one.",
)
def _(scores, axis=-1):
    exponentials = np.exp(scores - scores.max(axis=axis, keepdims=True))
    return exponentials / (exponentials.sum(axis=axis, keepdims=True) + 1e-3)


@softmax.misconception(
    "changes the array it is given",
    hint="`-=` and `out=` write into the caller's array. Make a new one: scores - maximum.",
)
def _(scores, axis=-1):
    scores -= scores.max(axis=axis, keepdims=True)
    np.exp(scores, out=scores)
    scores /= scores.sum(axis=axis, keepdims=True)
    return scores.copy()


@softmax.right_answer("torch.softmax")
def _(scores, axis=-1):
    import torch

    return torch.softmax(torch.tensor(scores), axis)


@softmax.right_answer("through the logarithm of the sum")
def _(scores, axis=-1):
    return np.exp(scores - np.logaddexp.reduce(scores, axis=axis, keepdims=True))


@softmax.right_answer("a loop over the vectors along the axis")
def _(scores, axis=-1):
    def one(vector):
        exponentials = [np.exp(s - max(vector)) for s in vector]
        return np.array([e / sum(exponentials) for e in exponentials])

    return np.apply_along_axis(one, axis, scores)


@softmax.right_answer("differences of pairs")
def _(scores, axis=-1):
    moved = np.moveaxis(scores, axis, -1)
    weights = 1 / np.exp(moved[..., None, :] - moved[..., :, None]).sum(-1)
    return np.moveaxis(weights, -1, axis)


# --------------------------------------------------------------------------- 3.2


@exercise(
    reference=reference.multiplicative_scores,
    number="3.2",
    title="Three scores in one matrix product",
    section=("soft-scores", "Score: five ways to compare"),
    points=4,
    minutes=20,
    difficulty=1,
    contract="Q (..., M, Dq), K (..., N, Dk), W (Dk, Dq) or None -> scores (..., M, N), divided "
    "by the square root of Dk if scaled",
    groups={"the dot product": 2, "the scale": 1, "the matrix W": 1},
    laws=[
        laws.items_permuted("K", axis=-2, output_axis=-1),
        laws.batch_independent("Q", "K", rank=2),
        laws.agrees(
            "twice the query, twice the score",
            lambda answer, arguments: (
                answer(**{**arguments, "Q": 2 * arguments["Q"]}),
                2 * answer(**arguments),
            ),
        ),
    ],
    hints=(
        "Write down the shape of every matrix and the shape you want. Which product of two of "
        "them gives one number for each pair of a query and a key?",
        "One product `Q @ (K transposed)` makes all pairs at once. With W, first turn every query "
        "into the space of the keys: as a column that is W q, so as a row it is q Wᵀ.",
        "`Q = Q @ W.T` if W is given, then `scores = Q @ np.swapaxes(K, -1, -2)`, and, if scaled, "
        "divide by `np.sqrt(K.shape[-1])`.",
    ),
)
def multiplicative_scores(Q, K, W=None, scaled=False):
    r"""The dot, the scaled dot and the bilinear score of every query with every key.

    One function for three scores. Row $m$ of `Q` is the query $q_m$, row $n$ of `K` the key $k_n$:

    $$s_{mn} = k_n^\top W q_m$$

    Without `W` (it is `None`) this is the dot product $k_n^\top q_m$. With `scaled=True` divide by
    $\sqrt{D_k}$, where $D_k$ is the length of a key (with or without `W`). In a loop:

    ```python
    for m in range(M):
        for n in range(N):
            scores[m, n] = K[n] @ W @ Q[m]
    ```

    There may be batch axes in front of `Q` and `K`: `(B, M, Dq)` and `(B, N, Dk)` give `(B, M, N)`.
    `W` has no batch axes.
    """


def _product(rng, M, N, Dq, Dk, batch=(), W=False, **options):
    arguments = {"Q": rng.normal(size=(*batch, M, Dq)), "K": rng.normal(size=(*batch, N, Dk))}
    if W:
        arguments["W"] = rng.normal(size=(Dk, Dq))
    return arguments | options


@multiplicative_scores.case("dot product", group="the dot product")
def _(rng):
    return _product(rng, M=3, N=5, Dq=4, Dk=4)


@multiplicative_scores.case("scaled dot product", group="the scale")
def _(rng):
    return _product(rng, M=3, N=5, Dq=4, Dk=4, scaled=True)


@multiplicative_scores.case("bilinear, queries and keys of different length", group="the matrix W")
def _(rng):
    return _product(rng, M=2, N=5, Dq=3, Dk=4, W=True)


@multiplicative_scores.case("bilinear, queries and keys of one length", group="the matrix W")
def _(rng):
    return _product(rng, M=2, N=5, Dq=4, Dk=4, W=True)


@multiplicative_scores.case("bilinear and scaled", group="the scale")
def _(rng):
    return _product(rng, M=2, N=5, Dq=3, Dk=4, W=True, scaled=True)


@multiplicative_scores.case("a batch", group="the dot product")
def _(rng):
    return _product(rng, M=3, N=5, Dq=4, Dk=4, batch=(2,))


@multiplicative_scores.case("a batch, scaled", group="the scale")
def _(rng):
    return _product(rng, M=3, N=5, Dq=4, Dk=4, batch=(2,), scaled=True)


@multiplicative_scores.case("a batch, bilinear", group="the matrix W")
def _(rng):
    return _product(rng, M=3, N=4, Dq=2, Dk=5, batch=(2,), W=True)


@multiplicative_scores.case("all sizes equal", group="the dot product")
def _(rng):
    return _product(rng, M=4, N=4, Dq=4, Dk=4)


@multiplicative_scores.case("one query, one key", group="the scale")
def _(rng):
    return _product(rng, M=1, N=1, Dq=3, Dk=3, scaled=True)


@multiplicative_scores.case("single precision", group="the scale")
def _(rng):
    return in_single_precision(_product(rng, M=2, N=5, Dq=3, Dk=4, W=True, scaled=True))


@multiplicative_scores.case("rows of memory that are not contiguous", group="the dot product")
def _(rng):
    return {"Q": rng.normal(size=(4, 3)).T, "K": rng.normal(size=(4, 5)).T}


def _scaled(scores, by, scaled):
    return scores / by if scaled else scores


def _turned(Q, W):
    return Q if W is None else Q @ W.T


@multiplicative_scores.misconception(
    "multiplies queries and keys element by element and sums",
    hint="Q * K pairs the first query with the first key, the second with the second, and no "
    "others. You want every query with every key: a matrix product.",
)
def _(Q, K, W=None, scaled=False):
    return _scaled((_turned(Q, W) * K).sum(-1), K.shape[-1] ** 0.5, scaled)


@multiplicative_scores.misconception(
    "divides by the dimension itself instead of its square root",
    hint="Which grows with D, the variance of a dot product or its standard deviation?",
)
def _(Q, K, W=None, scaled=False):
    return _scaled(_turned(Q, W) @ K.mT, K.shape[-1], scaled)


@multiplicative_scores.misconception(
    "divides by the square root of the number of keys",
    hint="The spread of a dot product comes from how many numbers it adds: the length of a key, "
    "not how many keys there are. Try sizes that differ.",
)
def _(Q, K, W=None, scaled=False):
    return _scaled(_turned(Q, W) @ K.mT, K.shape[-2] ** 0.5, scaled)


@multiplicative_scores.misconception(
    "divides by the square root of the length of a query",
    hint="With W the dot product is taken in the space of the keys: it adds Dk products, not Dq.",
)
def _(Q, K, W=None, scaled=False):
    return _scaled(_turned(Q, W) @ K.mT, Q.shape[-1] ** 0.5, scaled)


@multiplicative_scores.misconception(
    "scales always, asked or not",
    hint="Look at the parameter `scaled`: it is False unless the caller says so.",
)
def _(Q, K, W=None, scaled=False):
    return _turned(Q, W) @ K.mT / K.shape[-1] ** 0.5


@multiplicative_scores.misconception(
    "does not scale when there is a W",
    hint="`scaled` asks for the division whatever W is. Divide at the end, once for all.",
)
def _(Q, K, W=None, scaled=False):
    return _scaled(_turned(Q, W) @ K.mT, K.shape[-1] ** 0.5, scaled and W is None)


@multiplicative_scores.misconception(
    "never scales",
    hint="Look at the parameter `scaled`: when it is True, the scores are divided.",
)
def _(Q, K, W=None, scaled=False):
    return _turned(Q, W) @ K.mT


@multiplicative_scores.misconception(
    "applies W without transposing it",
    hint="W q with q a column is q Wᵀ with q a row. If Dq = Dk nothing fails, but key and query "
    "have changed places.",
)
def _(Q, K, W=None, scaled=False):
    turned = Q if W is None else Q @ W
    return _scaled(turned @ K.mT, K.shape[-1] ** 0.5, scaled)


@multiplicative_scores.misconception(
    "uses only the diagonal of W",
    hint="`*` multiplies element by element. W mixes the features of a query: use `@`.",
)
def _(Q, K, W=None, scaled=False):
    turned = Q if W is None else Q * np.diagonal(W)
    return _scaled(turned @ K.mT, K.shape[-1] ** 0.5, scaled)


@multiplicative_scores.misconception(
    "leaves W out",
    hint="When W is given, the query has to pass through it before it meets the keys.",
)
def _(Q, K, W=None, scaled=False):
    return _scaled(Q @ K.mT, K.shape[-1] ** 0.5, scaled)


@multiplicative_scores.misconception(
    "returns one row for each key instead of one for each query",
    hint="The numbers are right, the matrix is turned: row m belongs to query m.",
)
def _(Q, K, W=None, scaled=False):
    return _scaled(K @ _turned(Q, W).mT, K.shape[-1] ** 0.5, scaled)


@multiplicative_scores.misconception(
    "reshapes the keys where they should be transposed",
    hint="`reshape` keeps the numbers in their order in memory and cuts them into other rows; "
    "transposing exchanges the axes. Try it on np.arange(6).reshape(2, 3).",
)
def _(Q, K, W=None, scaled=False):
    columns = K.reshape(*K.shape[:-2], K.shape[-1], K.shape[-2])
    return _scaled(_turned(Q, W) @ columns, K.shape[-1] ** 0.5, scaled)


@multiplicative_scores.misconception(
    "does not expect a batch",
    hint="Right for one set of queries and keys. With a batch in front, `K.T` reverses every axis; "
    "`K.mT` or np.swapaxes(K, -1, -2) exchange only the last two, and `@` then does the rest.",
)
def _(Q, K, W=None, scaled=False):
    return _scaled(_turned(Q, W) @ K.T, K.shape[-1] ** 0.5, scaled)


@multiplicative_scores.right_answer("torch.nn.functional.bilinear")
def _(Q, K, W=None, scaled=False):
    import torch

    M, N, Dk = Q.shape[-2], K.shape[-2], K.shape[-1]
    W = torch.eye(Dk, dtype=torch.tensor(Q).dtype) if W is None else torch.tensor(W)
    queries = torch.tensor(Q)[..., :, None, :].expand(*Q.shape[:-2], M, N, Q.shape[-1])
    keys = torch.tensor(K)[..., None, :, :].expand(*K.shape[:-2], M, N, Dk)
    scores = torch.nn.functional.bilinear(keys.contiguous(), queries.contiguous(), W[None])[..., 0]
    return scores / Dk**0.5 if scaled else scores


@multiplicative_scores.right_answer("einsum")
def _(Q, K, W=None, scaled=False):
    W = np.eye(K.shape[-1]) if W is None else W
    return np.einsum("...nk,kq,...mq->...mn", K, W, Q) / (K.shape[-1] ** 0.5 if scaled else 1)


@multiplicative_scores.right_answer("the keys turned instead of the queries")
def _(Q, K, W=None, scaled=False):
    turned = K if W is None else K @ W
    scale = np.sqrt(K.shape[-1]) if scaled else 1.0
    return np.matmul(Q / scale, np.swapaxes(turned, -1, -2))


@multiplicative_scores.right_answer("broadcasting, then a sum")
def _(Q, K, W=None, scaled=False):
    turned = _turned(Q, W)
    scores = (turned[..., :, None, :] * K[..., None, :, :]).sum(axis=-1)
    return _scaled(scores, K.shape[-1] ** 0.5, scaled)


# --------------------------------------------------------------------------- 3.3


@exercise(
    reference=reference.additive_scores,
    number="3.3",
    title="The additive score",
    section=("soft-additive", "Additive"),
    points=4,
    minutes=20,
    difficulty=2,
    contract="Q (..., M, Dq), K (..., N, Dk), W_q (H, Dq), W_k (H, Dk), v (H,) -> scores "
    "(..., M, N)",
    laws=[
        laws.items_permuted("K", axis=-2, output_axis=-1),
        laws.batch_independent("Q", "K", rank=2),
        laws.agrees(
            "turning the sign of v turns the sign of every score",
            lambda answer, arguments: (
                answer(**{**arguments, "v": -arguments["v"]}),
                -answer(**arguments),
            ),
        ),
    ],
    hints=(
        "What is the shape of W_k k for one key, and what is left after v has met it? How many "
        "such numbers do you need for M queries and N keys?",
        "Project all queries to (M, H) and all keys to (N, H). To add every query to every key, "
        "give the two arrays an axis of size 1 in different places and let them broadcast to "
        "(M, N, H).",
        "`np.tanh((K @ W_k.T)[..., None, :, :] + (Q @ W_q.T)[..., :, None, :]) @ v`",
    ),
)
def additive_scores(Q, K, W_q, W_k, v):
    r"""A small network looks at each pair of a query and a key and returns one number.

    $$s_{mn} = v^\top \tanh(W_k k_n + W_q q_m)$$

    with a hidden layer of $H$ units: `W_k` is $(H, D_k)$, `W_q` is $(H, D_q)$, `v` is $(H,)$.
    Queries and keys need not have the same length. In a loop:

    ```python
    for m in range(M):
        for n in range(N):
            scores[m, n] = v @ np.tanh(W_k @ K[n] + W_q @ Q[m])
    ```

    There may be batch axes in front of `Q` and `K`: `(B, M, Dq)` and `(B, N, Dk)` give `(B, M, N)`.
    No bias is added.
    """


def _pairs(rng, M, N, Dq, Dk, H, batch=()):
    return {
        "Q": rng.normal(size=(*batch, M, Dq)),
        "K": rng.normal(size=(*batch, N, Dk)),
        "W_q": rng.normal(size=(H, Dq)),
        "W_k": rng.normal(size=(H, Dk)),
        "v": rng.normal(size=H),
    }


@additive_scores.case("five different sizes")
def _(rng):
    return _pairs(rng, M=2, N=5, Dq=3, Dk=4, H=6)


@additive_scores.case("queries and keys of one length")
def _(rng):
    return _pairs(rng, M=2, N=5, Dq=4, Dk=4, H=6)


@additive_scores.case("as many queries as keys")
def _(rng):
    return _pairs(rng, M=4, N=4, Dq=3, Dk=2, H=5)


@additive_scores.case("a batch")
def _(rng):
    return _pairs(rng, M=3, N=5, Dq=2, Dk=4, H=6, batch=(2,))


@additive_scores.case("one query, one key")
def _(rng):
    return _pairs(rng, M=1, N=1, Dq=3, Dk=2, H=4)


@additive_scores.case("one hidden unit")
def _(rng):
    return _pairs(rng, M=2, N=3, Dq=4, Dk=5, H=1)


@additive_scores.case("single precision")
def _(rng):
    return in_single_precision(_pairs(rng, M=2, N=5, Dq=3, Dk=4, H=6))


@additive_scores.case("large inputs, tanh at its limits")
def _(rng):
    arguments = _pairs(rng, M=2, N=5, Dq=3, Dk=4, H=6)
    return arguments | {"Q": 1000 * arguments["Q"], "K": 1000 * arguments["K"]}


def _hidden(Q, K, W_q, W_k):
    return (K @ W_k.T)[..., None, :, :] + (Q @ W_q.T)[..., :, None, :]


@additive_scores.misconception(
    "leaves out the tanh",
    hint="Without the bend the query adds the same number to all its scores, and the softmax "
    "removes it: the weights no longer depend on the query.",
)
def _(Q, K, W_q, W_k, v):
    return _hidden(Q, K, W_q, W_k) @ v


@additive_scores.misconception(
    "exchanges W_q and W_k",
    hint="Look at the sizes: W_q is (H, Dq) and belongs to the queries.",
)
def _(Q, K, W_q, W_k, v):
    return np.tanh(_hidden(Q, K, W_k, W_q)) @ v


@additive_scores.misconception(
    "concatenates query and key in one order and their matrices in the other",
    hint="[W_k W_q] goes with [k; q]. In the other order each matrix meets the wrong numbers.",
)
def _(Q, K, W_q, W_k, v):
    M, N = Q.shape[-2], K.shape[-2]
    queries = np.broadcast_to(Q[..., :, None, :], (*Q.shape[:-2], M, N, Q.shape[-1]))
    keys = np.broadcast_to(K[..., None, :, :], (*K.shape[:-2], M, N, K.shape[-1]))
    both = np.concatenate([queries, keys], axis=-1)
    return np.tanh(both @ np.concatenate([W_k, W_q], axis=1).T) @ v


@additive_scores.misconception(
    "applies the tanh after v instead of before",
    hint="Your scores all lie between -1 and 1. The tanh belongs to the hidden layer, v comes "
    "after it.",
)
def _(Q, K, W_q, W_k, v):
    return np.tanh(_hidden(Q, K, W_q, W_k) @ v)


@additive_scores.misconception(
    "multiplies the two projections instead of adding them",
    hint="The score is called additive: W_k k + W_q q.",
)
def _(Q, K, W_q, W_k, v):
    return np.tanh((K @ W_k.T)[..., None, :, :] * (Q @ W_q.T)[..., :, None, :]) @ v


@additive_scores.misconception(
    "uses the sigmoid instead of the tanh",
    hint="The sigmoid lies between 0 and 1, the tanh between -1 and 1.",
)
def _(Q, K, W_q, W_k, v):
    return (0.5 + 0.5 * np.tanh(_hidden(Q, K, W_q, W_k) / 2)) @ v


@additive_scores.misconception(
    "sums over the hidden units instead of weighting them with v",
    hint="v says how much each hidden unit counts. Where is it in your line?",
)
def _(Q, K, W_q, W_k, v):
    return np.tanh(_hidden(Q, K, W_q, W_k)).sum(-1)


@additive_scores.misconception(
    "adds a bias of one to every score",
    hint="The formula has no bias. (The softmax would not notice one; this check does.)",
)
def _(Q, K, W_q, W_k, v):
    return reference.additive_scores(Q, K, W_q, W_k, v) + 1


@additive_scores.misconception(
    "returns one row for each key instead of one for each query",
    hint="The numbers are right, the matrix is turned: row m belongs to query m.",
)
def _(Q, K, W_q, W_k, v):
    return reference.additive_scores(Q, K, W_q, W_k, v).mT


@additive_scores.misconception(
    "adds query 1 to key 1, query 2 to key 2, and no other pairs",
    hint="Every query has to meet every key. Give the two arrays an axis of size one in different "
    "places: (M, 1, H) and (1, N, H) broadcast to (M, N, H).",
)
def _(Q, K, W_q, W_k, v):
    return np.tanh(K @ W_k.T + Q @ W_q.T) @ v


@additive_scores.misconception(
    "does not expect a batch",
    hint="Right without a batch. `[:, None, :]` counts axes from the front; `[..., :, None, :]` "
    "counts them from the end and leaves batch axes alone.",
)
def _(Q, K, W_q, W_k, v):
    return np.tanh((Q @ W_q.T)[:, None, :] + (K @ W_k.T)[None, :, :]) @ v


@additive_scores.right_answer("torch's linear layers and tanh")
def _(Q, K, W_q, W_k, v):
    import torch

    Q, K, W_q, W_k, v = map(torch.tensor, (Q, K, W_q, W_k, v))
    linear = torch.nn.functional.linear
    hidden = torch.tanh(linear(Q, W_q).unsqueeze(-2) + linear(K, W_k).unsqueeze(-3))
    return linear(hidden, v[None]).squeeze(-1)


@additive_scores.right_answer("two loops")
def _(Q, K, W_q, W_k, v):
    if Q.ndim > 2:
        pairs = zip(Q, K, strict=True)
        return np.stack([reference.additive_scores(q, k, W_q, W_k, v) for q, k in pairs])
    return np.array([[v @ np.tanh(W_k @ k + W_q @ q) for k in K] for q in Q])


@additive_scores.right_answer("one matrix for the concatenated pair")
def _(Q, K, W_q, W_k, v):
    M, N = Q.shape[-2], K.shape[-2]
    queries = np.broadcast_to(Q[..., :, None, :], (*Q.shape[:-2], M, N, Q.shape[-1]))
    keys = np.broadcast_to(K[..., None, :, :], (*K.shape[:-2], M, N, K.shape[-1]))
    both = np.concatenate([keys, queries], axis=-1)
    return np.tanh(both @ np.concatenate([W_k, W_q], axis=1).T) @ v


@additive_scores.right_answer("einsum")
def _(Q, K, W_q, W_k, v):
    keys, queries = np.einsum("hk,...nk->...nh", W_k, K), np.einsum("hq,...mq->...mh", W_q, Q)
    hidden = np.tanh(queries[..., :, None, :] + keys[..., None, :, :])
    return np.einsum("...mnh,h->...mn", hidden, v)


# --------------------------------------------------------------------------- 3.4

_read = {"part": lambda output: output[0]}
_weights = {"part": lambda output: output[1]}


@exercise(
    reference=reference.soft_attention,
    number="3.4",
    title="Score, normalise, read",
    section=("soft-formula", "The formula, the loop, the line"),
    points=5,
    minutes=20,
    difficulty=2,
    parts=("read", "weights"),
    contract="Q (..., M, D), K (..., N, D), V (..., N, Dv), temperature -> the tuple (read "
    "(..., M, Dv), weights (..., M, N))",
    not_allowed=("torch.nn.functional.scaled_dot_product_attention",),
    laws=[
        laws.sums_to(1, along=lambda arguments: -1, **_weights),
        laws.not_negative(**_weights),
        laws.read_inside_hull("V", axis=-2, **_read),
        laws.items_permuted("K", "V", axis=-2, **_read),
        laws.items_permuted("K", "V", axis=-2, output_axis=-1, **_weights),
        laws.batch_independent("Q", "K", "V", rank=2, **_read),
    ],
    hints=(
        "Three lines: score, normalise, read. What is the shape after each, and along which axis "
        "do the items of one query lie?",
        "Divide the scores by the temperature *before* the softmax; the softmax runs over the "
        "items, the last axis; the read is one more matrix product, weights times V.",
        "`weights = softmax(Q @ np.swapaxes(K, -1, -2) / temperature, axis=-1)`, then return "
        "`weights @ V, weights`.",
    ),
)
def soft_attention(Q, K, V, temperature=1.0):
    r"""The whole mechanism: the read of every query, and the weights behind it.

    $$\alpha_{mn} = \frac{\exp(k_n^\top q_m / \tau)}{\sum_j \exp(k_j^\top q_m / \tau)}, \qquad
    o_m = \sum_n \alpha_{mn} v_n$$

    where $\tau$ is the `temperature`. Return the tuple `(read, weights)`. In a loop:

    ```python
    for m in range(M):
        weights[m] = softmax([K[n] @ Q[m] / temperature for n in range(N)])
        read[m] = sum(weights[m, n] * V[n] for n in range(N))
    ```

    The softmax has to be safe for scores of any size, also when the scores of one query lie
    thousands below those of another. In a notebook you may call your own of exercise 3.1. A field
    on a page of the book is checked by itself: there, write its two lines again. There may be batch
    axes in front.
    """


def _items(rng, M, N, D, Dv, batch=(), **options):
    return {
        "Q": rng.normal(size=(*batch, M, D)),
        "K": rng.normal(size=(*batch, N, D)),
        "V": rng.normal(size=(*batch, N, Dv)),
    } | options


@soft_attention.case("four different sizes")
def _(rng):
    return _items(rng, M=3, N=5, D=4, Dv=6)


@soft_attention.case("a temperature of 2")
def _(rng):
    return _items(rng, M=3, N=5, D=4, Dv=6, temperature=2.0)


@soft_attention.case("a batch at a temperature of 0.5")
def _(rng):
    return _items(rng, M=3, N=5, D=4, Dv=6, batch=(2,), temperature=0.5)


@soft_attention.case("all sizes equal")
def _(rng):
    return _items(rng, M=4, N=4, D=4, Dv=4, temperature=3.0)


@soft_attention.case("one item")
def _(rng):
    return _items(rng, M=3, N=1, D=4, Dv=2)


@soft_attention.case("one query")
def _(rng):
    return _items(rng, M=1, N=5, D=3, Dv=2)


@soft_attention.case("scores in the thousands")
def _(rng):
    arguments = _items(rng, M=3, N=5, D=4, Dv=6)
    return arguments | {"Q": 1000 * arguments["Q"]}


@soft_attention.case("one query far from all keys, one near")
def _(rng):
    # The scores of a row lie close together, the rows lie thousands apart.
    keys = 1 + 0.001 * rng.normal(size=(5, 4))
    queries = np.array([[500.0] * 4, [-500.0] * 4])
    return {"Q": queries, "K": keys, "V": rng.normal(size=(5, 3))}


@soft_attention.case("single precision")
def _(rng):
    return in_single_precision(_items(rng, M=3, N=5, D=4, Dv=6, temperature=2.0))


@soft_attention.case("rows of memory that are not contiguous")
def _(rng):
    return {
        "Q": rng.normal(size=(4, 3)).T,
        "K": rng.normal(size=(4, 5)).T,
        "V": rng.normal(size=(6, 5)).T,
    }


@soft_attention.misconception(
    "takes the softmax over the queries instead of the items",
    hint="Add up one row of your weights: one query shares out a weight of one among the items.",
)
def _(Q, K, V, temperature=1.0):
    weights = reference.softmax(Q @ K.mT / temperature, axis=-2)
    return weights @ V, weights


@soft_attention.misconception(
    "reads the plain average of the values",
    hint="Every query gets the same read. The weights are there: use them.",
)
def _(Q, K, V, temperature=1.0):
    read, weights = reference.soft_attention(Q, K, V, temperature)
    return np.broadcast_to(V.mean(axis=-2, keepdims=True), read.shape), weights


@soft_attention.misconception(
    "adds up the weights over the batch before it reads",
    hint="Each member of a batch reads its own values with its own weights. `@` keeps the batch "
    "axes apart; in an einsum the batch letter has to stay the same everywhere.",
)
def _(Q, K, V, temperature=1.0):
    weights = reference.soft_attention(Q, K, V, temperature)[1]
    return weights.sum(axis=tuple(range(weights.ndim - 2))) @ V, weights


@soft_attention.misconception(
    "divides by the temperature after the softmax",
    hint="Your rows add to 1 / temperature. The temperature belongs to the scores.",
)
def _(Q, K, V, temperature=1.0):
    weights = reference.softmax(Q @ K.mT) / temperature
    return weights @ V, weights


@soft_attention.misconception(
    "multiplies the scores by the temperature",
    hint="A high temperature makes the weights even, a low one sharp. Yours does the opposite.",
)
def _(Q, K, V, temperature=1.0):
    weights = reference.softmax(Q @ K.mT * temperature)
    return weights @ V, weights


@soft_attention.misconception(
    "leaves the temperature out",
    hint="Where does `temperature` stand in the formula?",
)
def _(Q, K, V, temperature=1.0):
    return reference.soft_attention(Q, K, V)


@soft_attention.misconception(
    "divides by the square root of D besides the temperature",
    hint="The caller decides how to scale: the temperature is all that the scores are divided by.",
)
def _(Q, K, V, temperature=1.0):
    return reference.soft_attention(Q, K, V, temperature * Q.shape[-1] ** 0.5)


@soft_attention.misconception(
    "divides by the square root of D instead of the temperature",
    hint="Where does `temperature` stand in the formula? It may be any positive number.",
)
def _(Q, K, V, temperature=1.0):
    return reference.soft_attention(Q, K, V, Q.shape[-1] ** 0.5)


@soft_attention.misconception(
    "does not expect a batch",
    hint="Right for one set of items. With a batch in front, `K.T` reverses every axis; `K.mT` or "
    "np.swapaxes(K, -1, -2) exchange only the last two, and `@` then does the rest.",
)
def _(Q, K, V, temperature=1.0):
    weights = reference.softmax(Q @ K.T / temperature)
    return weights @ V, weights


@soft_attention.misconception(
    "reads with the transposed weights",
    hint="Row m of the weights belongs to query m, and each row meets the rows of V: no transpose.",
)
def _(Q, K, V, temperature=1.0):
    weights = reference.soft_attention(Q, K, V, temperature)[1]
    return weights.mT @ V, weights


@soft_attention.misconception(
    "returns the weights without the read",
    hint="Two arrays are asked for: `return weights @ V, weights`.",
)
def _(Q, K, V, temperature=1.0):
    return reference.soft_attention(Q, K, V, temperature)[1]


@soft_attention.misconception(
    "returns the read without the weights",
    hint="Two arrays are asked for: `return weights @ V, weights`.",
)
def _(Q, K, V, temperature=1.0):
    return reference.soft_attention(Q, K, V, temperature)[0]


@soft_attention.misconception(
    "returns the weights before the read",
    hint="Both arrays are there; the read comes first.",
)
def _(Q, K, V, temperature=1.0):
    return reference.soft_attention(Q, K, V, temperature)[::-1]


@soft_attention.misconception(
    "takes the exponential of the raw scores",
    hint="np.exp(1000) is infinite, and infinite divided by infinite is NaN. Subtract each row's "
    "largest score first.",
)
def _(Q, K, V, temperature=1.0):
    exponentials = np.exp(Q @ K.mT / temperature)
    weights = exponentials / exponentials.sum(axis=-1, keepdims=True)
    return weights @ V, weights


@soft_attention.misconception(
    "subtracts the largest score of the whole array",
    hint="A query a thousand below the largest score underflows to 0 / 0. Each row has to be "
    "shifted by its own maximum.",
)
def _(Q, K, V, temperature=1.0):
    scores = Q @ K.mT / temperature
    exponentials = np.exp(scores - scores.max())
    weights = exponentials / exponentials.sum(axis=-1, keepdims=True)
    return weights @ V, weights


def _safe_softmax(scores):
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


@soft_attention.right_answer("torch's scaled_dot_product_attention")
def _(Q, K, V, temperature=1.0):
    import torch

    Q, K, V = map(torch.tensor, (Q, K, V))
    read = torch.nn.functional.scaled_dot_product_attention(Q, K, V, scale=1 / temperature)
    return read, torch.softmax(Q @ K.mT / temperature, dim=-1)


@soft_attention.right_answer("einsum")
def _(Q, K, V, temperature=1.0):
    weights = _safe_softmax(np.einsum("...md,...nd->...mn", Q, K) / temperature)
    return np.einsum("...mn,...nd->...md", weights, V), weights


@soft_attention.right_answer("the read first summed, then divided")
def _(Q, K, V, temperature=1.0):
    scores = (Q / temperature) @ np.swapaxes(K, -1, -2)
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
    total = exponentials.sum(axis=-1, keepdims=True)
    return (exponentials @ V) / total, exponentials / total


@soft_attention.right_answer("a loop over queries")
def _(Q, K, V, temperature=1.0):
    if Q.ndim > 2:
        reads, weights = zip(
            *(
                reference.soft_attention(q, k, v, temperature)
                for q, k, v in zip(Q, K, V, strict=True)
            ),
            strict=True,
        )
        return np.stack(reads), np.stack(weights)
    weights = np.stack([_safe_softmax(K @ q / temperature) for q in Q])
    return np.stack([row @ V for row in weights]), weights


# --------------------------------------------------------------------------- 3.5


@exercise(
    reference=reference.softmax_jacobian,
    number="3.5",
    title="When the gradient dies",
    section=("soft-jacobian", "The gradient of the softmax"),
    points=5,
    minutes=25,
    difficulty=3,
    contract="scores (..., N) -> J (..., N, N) with J[i, j] = d weight i / d score j; finite for "
    "any finite scores",
    equivalent_mutants={
        "np.eye(scores.shape[-1], dtype=scores.dtype)  ->  np.eye(scores.shape[-1])": "an identity "
        "in double precision makes the output wider, and wider is accepted",
    },
    laws=[
        laws.sums_to(0, along=lambda arguments: -1),
        laws.symmetric(),
        laws.batch_independent("scores", rank=1),
        laws.shift_invariant("scores", along=lambda arguments: -1),
    ],
    hints=(
        "What happens to the other weights when one score goes up? So which entries of J are "
        "positive and which negative, and what does each column add to?",
        "Differentiate a_i = exp(s_i) / Z with the quotient rule, once for j = i and once for "
        "j ≠ i: a_i (1 - a_i) and -a_i a_j. Both are a_i times (1 if i = j else 0, minus a_j).",
        "With `a` of shape (..., N): `a[..., :, None] * (np.eye(N) - a[..., None, :])`.",
    ),
)
def softmax_jacobian(scores):
    r"""How every weight answers to every score.

    With $a = \mathrm{softmax}(s)$, the Jacobian is

    $$J_{ij} = \frac{\partial a_i}{\partial s_j} = \begin{cases} a_i (1 - a_i) & i = j \\
    -a_i a_j & i \ne j \end{cases}$$

    or, in one line, $J = \mathrm{diag}(a) - a a^\top$. In a loop, for one vector of scores:

    ```python
    for i in range(N):
        for j in range(N):
            J[i, j] = a[i] * ((i == j) - a[j])
    ```

    The softmax runs over the last axis. Each vector of a batch has a Jacobian of its own:
    `(B, N)` gives `(B, N, N)`. The scores may be in the thousands, and the vectors of a batch far
    apart. In a notebook you may call your own softmax of exercise 3.1; in a field on a page of the
    book write its two lines again.
    """


@softmax_jacobian.case("a vector")
def _(rng):
    return {"scores": rng.normal(size=5)}


@softmax_jacobian.case("a batch")
def _(rng):
    return {"scores": rng.normal(size=(3, 4))}


@softmax_jacobian.case("a batch as long as the vectors")
def _(rng):
    return {"scores": rng.normal(size=(4, 4))}


@softmax_jacobian.case("two batch axes")
def _(rng):
    return {"scores": rng.normal(size=(2, 3, 4))}


@softmax_jacobian.case("saturated: scores between -1000 and 1000")
def _(rng):
    return {"scores": rng.uniform(-1000, 1000, size=(3, 5))}


@softmax_jacobian.case("large scores close together")
def _(rng):
    return {"scores": 1000 + rng.normal(size=4)}


@softmax_jacobian.case("one vector a thousand below the others")
def _(rng):
    scores = rng.normal(size=(3, 4))
    scores[1] -= 1000
    return {"scores": scores}


@softmax_jacobian.case("single precision")
def _(rng):
    return in_single_precision({"scores": rng.normal(size=(3, 4))})


@softmax_jacobian.case("one item")
def _(rng):
    return {"scores": rng.normal(size=1)}


@softmax_jacobian.case("equal scores")
def _(rng):
    return {"scores": np.full(4, rng.normal())}


def _diagonal(a):
    return a[..., :, None] * np.eye(a.shape[-1])


def _outer(a):
    return a[..., :, None] * a[..., None, :]


@softmax_jacobian.misconception(
    "fills the diagonal only",
    hint="All weights share one sum: when one score rises, the other weights fall. What is "
    "d a_i / d s_j for j ≠ i?",
)
def _(scores):
    a = reference.softmax(scores)
    return _diagonal(a * (1 - a))


@softmax_jacobian.misconception(
    "has the sign turned",
    hint="Raise a score: does its own weight rise or fall? So the diagonal is positive.",
)
def _(scores):
    return -reference.softmax_jacobian(scores)


@softmax_jacobian.misconception(
    "takes the outer product of the scores instead of the weights",
    hint="In a aᵀ both factors are weights. Your entries grow with the scores.",
)
def _(scores):
    return _diagonal(reference.softmax(scores)) - _outer(scores)


@softmax_jacobian.misconception(
    "treats the batch as one long vector",
    hint="The vectors of a batch do not share a softmax. Give `a` two different new axes, "
    "a[..., :, None] and a[..., None, :], and the batch stays in front.",
)
def _(scores):
    a = reference.softmax(scores).reshape(-1)
    return np.diag(a) - np.outer(a, a)


@softmax_jacobian.misconception(
    "does not expect a batch",
    hint="Right for one vector; np.diag and np.outer know nothing of more. Give `a` two different "
    "new axes: a[..., :, None] stands in a column, a[..., None, :] in a row, the batch in front.",
)
def _(scores):
    a = reference.softmax(scores)
    return np.diag(a) - np.outer(a, a)


@softmax_jacobian.misconception(
    "leaves out the diagonal term",
    hint="Your rows add to minus a_i. They should add to zero, since the weights add to one.",
)
def _(scores):
    return -_outer(reference.softmax(scores))


@softmax_jacobian.misconception(
    "takes the exponential of the raw scores",
    hint="np.exp(1000) is infinite. Use the safe softmax of exercise 3.1.",
)
def _(scores):
    a = np.exp(scores) / np.exp(scores).sum(axis=-1, keepdims=True)
    return _diagonal(a) - _outer(a)


@softmax_jacobian.misconception(
    "subtracts the largest score of the whole array",
    hint="A vector a thousand below the largest score underflows to 0 / 0. Each has to be shifted "
    "by its own maximum.",
)
def _(scores):
    exponentials = np.exp(scores - scores.max())
    a = exponentials / exponentials.sum(axis=-1, keepdims=True)
    return _diagonal(a) - _outer(a)


@softmax_jacobian.right_answer("torch.autograd's jacobian")
def _(scores):
    import torch

    def jacobian(vector):
        return torch.autograd.functional.jacobian(lambda s: torch.softmax(s, -1), vector)

    rows = torch.tensor(scores).reshape(-1, scores.shape[-1])
    return torch.stack([jacobian(row) for row in rows]).reshape(*scores.shape, -1)


@softmax_jacobian.right_answer("a loop")
def _(scores):
    a = _safe_softmax(scores)
    J = np.zeros((*a.shape, a.shape[-1]))
    for i in range(a.shape[-1]):
        for j in range(a.shape[-1]):
            J[..., i, j] = a[..., i] * ((i == j) - a[..., j])
    return J


@softmax_jacobian.right_answer("einsum")
def _(scores):
    a = _safe_softmax(scores)
    return np.einsum("...i,ij->...ij", a, np.eye(a.shape[-1])) - np.einsum("...i,...j->...ij", a, a)


@softmax_jacobian.right_answer("one vector after the other")
def _(scores):
    rows = [
        np.diag(a) - np.outer(a, a) for a in _safe_softmax(scores).reshape(-1, scores.shape[-1])
    ]
    return np.stack(rows).reshape(*scores.shape, scores.shape[-1])


# --------------------------------------------------------------------------- written

saturation_in_words = Question(
    name="saturation_in_words",
    title="Why divide, and when it does not help",
    points=4,
    prompt=r"""A colleague says: "We divide by $\sqrt{D_k}$ because otherwise large vectors make
attention slow to learn." In four to six sentences: say what is right in this and what is missing.
Use the words *variance*, *saturation* and *Jacobian*, name one situation in which the division
hardly changes the weights although $D_k$ is large, and one in which it does not cure the
problem.""",
    answer=r"""If the components of query and key are independent with mean 0 and variance 1, a
dot product of $D_k$ of them has *variance* $D_k$, so unscaled scores spread like $\sqrt{D_k}$ and
the softmax comes into *saturation*: one weight near 1, the others near 0. There the *Jacobian*
$\mathrm{diag}(a) - a a^\top$ is almost zero, so the gradient hardly reaches the scores; dividing
by $\sqrt{D_k}$ brings the variance back to 1. It is saturation, not $D_k$ itself, that hurts: at
$D_k = 4$ the unscaled Jacobian is even larger. If the components are so small that all scores lie
near zero, the weights are almost equal with the division and without it. If a query is aligned with
its key, their product has a mean of order $D_k$; after the division it is still of order
$\sqrt{D_k}$, and the softmax saturates all the same.""",
    scheme="""- 1 point: the variance of the dot product grows with the dimension, if independent.
- 1 point: saturation, and that the Jacobian vanishes there (not "the numbers get large").
- 1 point: a situation where it changes little (scores that are near zero anyway).
- 1 point: a situation it does not cure (aligned vectors: a mean that grows with the dimension).""",
)
