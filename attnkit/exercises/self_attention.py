"""The exercises of the chapter on self-attention: masks, projections, positions, equivariance."""

import numpy as np

from attnkit import self_attention as reference
from attnkit.checking import Question, exercise, in_single_precision, laws


def shares(exponentials):
    """What each has of the sum of its row; zeros where that is zero."""
    total = exponentials.sum(axis=-1, keepdims=True)
    return exponentials / np.where(total > 0, total, 1)


def hidden_too_late(scores, mask):
    """A masked softmax whose mask comes after the exponential, which may be infinite by then."""
    top = np.where(mask, scores, -np.inf).max(axis=-1, keepdims=True)
    return shares(np.exp(scores - np.where(np.isfinite(top), top, 0)) * mask)


def _softmax(scores, axis=-1):
    """As learners write it: minus infinity is welcome, and a row of nothing else gives NaN."""
    exponentials = np.exp(scores - scores.max(axis=axis, keepdims=True))
    return exponentials / exponentials.sum(axis=axis, keepdims=True)


# --------------------------------------------------------------------------- 9.1


def _last(arguments):
    return -1


# What a masked softmax puts in the place of the maximum and the sum of a row that sees nothing.
OF_EMPTY_ROWS = {
    "0  ->  1": "minus infinity stays what it is, whatever is subtracted; and no row that sees "
    "something has a sum below one",
    "0  ->  -1": "minus infinity stays what it is, whatever is subtracted",
    "1  ->  2": "an empty row holds zeros, whatever they are divided by",
}


@exercise(
    reference=reference.masked_softmax,
    number="9.1",
    title="A softmax that knows what is hidden",
    section=("self-empty", "The row that sees nothing"),
    points=5,
    minutes=20,
    difficulty=2,
    contract="scores (..., N), mask (..., N) of booleans, True = may attend, broadcasting against "
    "the scores -> weights; hidden items exactly 0, a row without visible items all 0",
    not_allowed=("scipy.special.softmax", "torch.softmax"),
    laws=[
        laws.hidden_keys_get_nothing("mask"),
        laws.not_negative(),
        laws.shift_invariant("scores", along=_last),
        laws.agrees(
            "a row adds to one, or to zero if it sees nothing",
            lambda answer, arguments: (
                answer(**arguments).sum(axis=-1),
                np.broadcast_to(arguments["mask"], arguments["scores"].shape).any(-1).astype(float),
            ),
        ),
        laws.agrees(
            "a hidden score may be anything",
            lambda answer, arguments: (
                answer(
                    **{
                        **arguments,
                        "scores": np.where(
                            arguments["mask"], arguments["scores"], arguments["scores"] + 50
                        ),
                    }
                ),
                answer(**arguments),
            ),
        ),
    ],
    equivalent_mutants=OF_EMPTY_ROWS,
    hints=(
        "Which score makes an exponential exactly zero? And what do you subtract from a row, the "
        "largest score of all, or the largest that may be seen?",
        "Put minus infinity in the place of hidden scores, subtract each row's largest *visible* "
        "score, take exponentials, divide by their sum. Two steps fail in a row that sees nothing: "
        "infinity minus infinity, and zero divided by zero. Give both a harmless number there.",
        "`visible = np.where(mask, scores, -np.inf)`; `top = visible.max(-1, keepdims=True)`, "
        "replaced by 0 where it is not finite; `e = np.exp(visible - top)`; divide by the sum, "
        "replaced by 1 where it is 0.",
    ),
)
def masked_softmax(scores, mask):
    r"""Softmax over the items that may be seen; the others get exactly zero.

    `mask` is True where an item may be attended to. The visible items of a row share a weight of
    one, as in any softmax; a hidden item gets the weight zero:

    $$a_n = \begin{cases} \exp(s_n) \,/ \sum_{j \text{ visible}} \exp(s_j) & n \text{ visible} \\
    0 & n \text{ hidden} \end{cases}$$

    In a loop, for one row:

    ```python
    total = sum(exp(scores[n]) for n in range(N) if mask[n])
    for n in range(N):
        weights[n] = exp(scores[n]) / total if mask[n] else 0.0
    ```

    A row in which *nothing* may be seen gets zeros: not NaN, and not equal weights. The scores may
    be of any size; a hidden one may lie thousands above all visible ones. `mask` has the shape of
    the scores or one that broadcasts to it, such as `(N,)` for all rows or `(B, 1, N)`. Do not
    change the arrays you are given.
    """


def _scores(rng, *shape, scale=1.0):
    return scale * rng.normal(size=shape)


def _mask(rng, *shape):
    """Every row sees its first item and hides its last; the rest is drawn."""
    mask = rng.random(shape) < 0.5
    mask[..., 0], mask[..., -1] = True, False
    return mask


@masked_softmax.case("some items hidden in each row")
def _(rng):
    return {"scores": _scores(rng, 3, 5), "mask": _mask(rng, 3, 5)}


@masked_softmax.case("nothing hidden")
def _(rng):
    return {"scores": _scores(rng, 3, 5), "mask": np.ones((3, 5), bool)}


@masked_softmax.case("one row sees nothing")
def _(rng):
    mask = _mask(rng, 3, 5)
    mask[1] = False
    return {"scores": _scores(rng, 3, 5), "mask": mask}


@masked_softmax.case("as many rows as items")
def _(rng):
    return {"scores": _scores(rng, 4, 4), "mask": _mask(rng, 4, 4)}


@masked_softmax.case("one mask for all rows of a batch")
def _(rng):
    return {"scores": _scores(rng, 2, 3, 5), "mask": _mask(rng, 5)}


@masked_softmax.case("a mask for each member of a batch, one of which sees nothing")
def _(rng):
    mask = _mask(rng, 2, 1, 5)
    mask[0] = False
    return {"scores": _scores(rng, 2, 3, 5), "mask": mask}


@masked_softmax.case("a hidden score far above the visible ones")
def _(rng):
    scores, mask = _scores(rng, 3, 5), _mask(rng, 3, 5)
    return {"scores": np.where(mask, scores, scores + 2000), "mask": mask}


@masked_softmax.case("scores between -1000 and 1000")
def _(rng):
    return {"scores": rng.uniform(-1000, 1000, size=(3, 5)), "mask": _mask(rng, 3, 5)}


@masked_softmax.case("all scores far below zero")
def _(rng):
    return {"scores": _scores(rng, 3, 5) - 1e5, "mask": _mask(rng, 3, 5)}


@masked_softmax.case("one row a thousand below the others")
def _(rng):
    scores = _scores(rng, 3, 5)
    scores[1] -= 1000
    return {"scores": scores, "mask": _mask(rng, 3, 5)}


@masked_softmax.case("one item, seen or not")
def _(rng):
    return {"scores": _scores(rng, 2, 1), "mask": np.array([[True], [False]])}


@masked_softmax.case("single precision")
def _(rng):
    return in_single_precision({"scores": _scores(rng, 3, 5), "mask": _mask(rng, 3, 5)})


@masked_softmax.case("rows of memory that are not contiguous")
def _(rng):
    return {"scores": _scores(rng, 5, 3).T, "mask": _mask(rng, 3, 5)}


@masked_softmax.misconception(
    "fills with minus infinity and leaves the empty row to itself",
    hint="Two steps fail in a row that sees nothing. Its largest score is minus infinity, and "
    "minus itself that is NaN; once this is repaired, the sum of its exponentials is zero, and "
    "zero by zero is NaN, too. Subtract 0 there, and divide by 1.",
)
def _(scores, mask):
    return _softmax(np.where(mask, scores, -np.inf))


@masked_softmax.misconception(
    "fills with a large negative number, such as -1e9",
    hint="Look at the weights of the row that sees nothing: all its scores are the same large "
    "number, so it attends to hidden items evenly.",
)
def _(scores, mask):
    return _softmax(np.where(mask, scores, -1e9))


@masked_softmax.misconception(
    "adds a large negative number to the hidden scores, such as -1e9",
    hint="Look at the row that sees nothing: the same number was added to all its scores, and a "
    "softmax does not notice that. It attends to hidden items as if nothing were hidden.",
)
def _(scores, mask):
    return _softmax(scores + np.where(mask, scores.dtype.type(0), scores.dtype.type(-1e9)))


@masked_softmax.misconception(
    "adds minus infinity times the part that is hidden",
    hint="For a visible item that is minus infinity times zero, which is NaN. np.where chooses; a "
    "product cannot.",
)
def _(scores, mask):
    return _softmax(scores + (1 - mask) * -np.inf)


@masked_softmax.misconception(
    "fills with a number that is not far enough below the scores, such as -10",
    hint="exp(-10) is small, not zero. And what if the visible scores lie at -100000?",
)
def _(scores, mask):
    return _softmax(np.where(mask, scores, -10.0))


@masked_softmax.misconception(
    "multiplies the scores by the mask",
    hint="A score of zero is not a weight of zero: exp(0) is 1.",
)
def _(scores, mask):
    return _softmax(scores * mask)


@masked_softmax.misconception(
    "multiplies the weights by the mask after the softmax",
    hint="The hidden items have taken their share before you removed them: do the visible weights "
    "still add to one?",
)
def _(scores, mask):
    return _softmax(scores) * mask


@masked_softmax.misconception(
    "reads True as hidden",
    hint="In this book True means: may attend. PyTorch's nn.MultiheadAttention means the opposite.",
)
def _(scores, mask):
    return reference.masked_softmax(scores, ~mask)


@masked_softmax.misconception(
    "fills hidden scores with zero",
    hint="A score of zero is a score like any other: exp(0) is 1. Which score gives a weight of "
    "zero?",
)
def _(scores, mask):
    return _softmax(np.where(mask, scores, 0.0)) * mask


@masked_softmax.misconception(
    "subtracts the largest score of the row, hidden ones included",
    hint="If a hidden score lies far above, every visible exponential underflows to zero. Subtract "
    "the largest score that may be seen. (Masking the weights of a whole softmax and dividing by "
    "what is left is the same mistake.)",
)
def _(scores, mask):
    shifted = scores - scores.max(axis=-1, keepdims=True)
    exponentials = np.exp(np.where(mask, shifted, -np.inf))
    return shares(exponentials)


@masked_softmax.misconception(
    "multiplies the exponentials by the mask, infinite ones included",
    hint="The exponential of a hidden score far above the visible ones is infinite, and infinity "
    "times zero is NaN. Hide before the exponential: np.where(mask, scores, -np.inf).",
)
def _(scores, mask):
    return hidden_too_late(scores, mask)


@masked_softmax.misconception(
    "subtracts the largest visible score of all rows",
    hint="Right when the rows are alike. In a row that lies a thousand below the others every "
    "exponential is then zero: each row needs its own largest score, axis=-1.",
)
def _(scores, mask):
    exponentials = np.exp(np.where(mask, scores, -np.inf) - scores.max(where=mask, initial=-1e9))
    return shares(exponentials)


@masked_softmax.misconception(
    "normalises over the rows instead of the items of a row",
    hint="The items of one row share one unit of weight: add up along the last axis, axis=-1.",
)
def _(scores, mask):
    mask = np.broadcast_to(mask, scores.shape)
    return reference.masked_softmax(scores.swapaxes(-1, -2), mask.swapaxes(-1, -2)).swapaxes(-1, -2)


@masked_softmax.misconception(
    "subtracts no maximum",
    hint="np.exp(1000) is infinite, and exp(-1000) is zero. Subtract each row's largest visible "
    "score first.",
)
def _(scores, mask):
    exponentials = np.where(mask, np.exp(scores), 0)
    return shares(exponentials)


@masked_softmax.misconception(
    "adds a small number to the denominator",
    hint="It keeps the empty row from failing, and makes every other row add to a little less than "
    "one. Treat the empty row alone.",
)
def _(scores, mask):
    visible = np.where(mask, scores, -np.inf)
    top = visible.max(axis=-1, keepdims=True)
    exponentials = np.exp(visible - np.where(np.isfinite(top), top, 0))
    return exponentials / (exponentials.sum(axis=-1, keepdims=True) + 1e-9)


@masked_softmax.misconception(
    "expects a mask of exactly the shape of the scores",
    hint="Right when the shapes are equal. Indexing with a mask does not broadcast; np.where does.",
)
def _(scores, mask):
    visible = scores.copy()
    visible[~mask] = -np.inf
    return reference.masked_softmax(scores, np.isfinite(visible))


@masked_softmax.misconception(
    "writes into the scores it is given",
    hint="`scores[~mask] = ...` and `np.copyto` change the caller's array. np.where makes a new "
    "one.",
)
def _(scores, mask):
    weights = reference.masked_softmax(scores, mask)
    np.copyto(scores, -np.inf, where=~mask)
    return weights


@masked_softmax.right_answer("torch's scaled_dot_product_attention, reading the identity")
def _(scores, mask):
    import torch

    scores, mask = torch.broadcast_tensors(torch.tensor(scores), torch.tensor(mask))
    identity = torch.eye(scores.shape[-1], dtype=scores.dtype)
    read = torch.nn.functional.scaled_dot_product_attention
    wide = identity.expand(*scores.shape[:-2], *identity.shape)
    return read(scores, wide, wide, attn_mask=mask, scale=1.0)


@masked_softmax.right_answer("one row after the other, the visible scores alone")
def _(scores, mask):
    mask = np.broadcast_to(mask, scores.shape)
    weights = np.zeros_like(scores)
    for index in np.ndindex(scores.shape[:-1]):
        visible = scores[index][mask[index]]
        if visible.size:
            exponentials = np.exp(visible - visible.max())
            weights[index][mask[index]] = exponentials / exponentials.sum()
    return weights


@masked_softmax.right_answer("minus infinity, then the empty rows set to zero")
def _(scores, mask):
    weights = _softmax(np.where(mask, scores, -np.inf))
    return np.where(mask.any(axis=-1, keepdims=True), weights, 0)


@masked_softmax.right_answer("masked arrays of numpy")
def _(scores, mask):
    visible = np.ma.array(scores, mask=~np.broadcast_to(mask, scores.shape))
    exponentials = np.ma.exp(visible - visible.max(axis=-1, keepdims=True))
    return (exponentials / exponentials.sum(axis=-1, keepdims=True)).filled(0)


@masked_softmax.right_answer("the lowest number there is, then the mask once more")
def _(scores, mask):
    return _softmax(np.where(mask, scores, np.finfo(scores.dtype).min)) * mask


# --------------------------------------------------------------------------- 9.2

_output = {"part": lambda output: output[0]}
_weights = {"part": lambda output: output[1]}


@exercise(
    reference=reference.self_attention,
    number="9.2",
    title="Self-attention with projections",
    section=("self-formula", "The formula, the loop, the line"),
    points=4,
    minutes=15,
    difficulty=1,
    parts=("H", "weights"),
    contract="X (..., N, D), W_q (Dk, D), W_k (Dk, D), W_v (Dv, D) -> the tuple (H (..., N, Dv), "
    "weights (..., N, N))",
    not_allowed=("torch.nn.functional.scaled_dot_product_attention",),
    given='''\
def softmax(scores, axis=-1):
    """Weights that add to one along the axis, at any size of the scores."""
    exponentials = np.exp(scores - scores.max(axis=axis, keepdims=True))
    return exponentials / exponentials.sum(axis=axis, keepdims=True)
''',
    laws=[
        laws.sums_to(1, along=_last, **_weights),
        laws.items_permuted("X", axis=-2, output_axis=-2, **_output),
        laws.batch_independent("X", rank=2, **_output),
    ],
    hints=(
        "Three matrices, one sequence: which of them makes what is asked, which makes what is "
        "compared with it, and which makes what is returned? Write the shape of each product.",
        "In rows, a linear map is `X @ W.T`. Then this is attention as before, with N queries and "
        "the same N items: scores divided by the root of the number of terms in the dot product, "
        "softmax over the items, read.",
        "`Q, K, V = X @ W_q.T, X @ W_k.T, X @ W_v.T`; "
        "`weights = softmax(Q @ np.swapaxes(K, -1, -2) / np.sqrt(W_k.shape[0]))`; "
        "`return weights @ V, weights`.",
    ),
)
def self_attention(X, W_q, W_k, W_v):
    r"""Every vector of a sequence asks every vector of it.

    Row $n$ of `X` is the vector $x_n$. Three matrices turn it into a query, a key and a value:

    $$q_n = W_q x_n, \qquad k_n = W_k x_n, \qquad v_n = W_v x_n$$

    and then each query attends to all keys with the scaled dot product and reads the values:

    $$\alpha_{nj} = \mathrm{softmax}_j\!\left(\frac{k_j^\top q_n}{\sqrt{D_k}}\right), \qquad
    h_n = \sum_j \alpha_{nj} v_j$$

    where $D_k$ is the length of a key. Return the tuple `(H, weights)`. In a loop:

    ```python
    for n in range(N):
        q = W_q @ X[n]
        weights[n] = softmax(np.array([(W_k @ X[j]) @ q for j in range(N)]) / np.sqrt(Dk))
        H[n] = sum(weights[n, j] * (W_v @ X[j]) for j in range(N))
    ```

    There may be batch axes in front of `X`: `(B, N, D)` gives `(B, N, Dv)` and `(B, N, N)`. The
    matrices have none. `softmax(scores, axis)` is given.
    """


def _sequence(rng, N, D, Dk, Dv, batch=()):
    return {
        "X": rng.normal(size=(*batch, N, D)),
        "W_q": rng.normal(size=(Dk, D)) / D**0.5,
        "W_k": rng.normal(size=(Dk, D)) / D**0.5,
        "W_v": rng.normal(size=(Dv, D)) / D**0.5,
    }


@self_attention.case("four different sizes")
def _(rng):
    return _sequence(rng, N=5, D=3, Dk=4, Dv=6)


@self_attention.case("keys as long as the vectors")
def _(rng):
    return _sequence(rng, N=5, D=4, Dk=4, Dv=6)


@self_attention.case("keys and values of one length")
def _(rng):
    return _sequence(rng, N=5, D=7, Dk=4, Dv=4)


@self_attention.case("a batch")
def _(rng):
    return _sequence(rng, N=5, D=3, Dk=4, Dv=6, batch=(2,))


@self_attention.case("all sizes equal")
def _(rng):
    return _sequence(rng, N=4, D=4, Dk=4, Dv=4)


@self_attention.case("all sizes equal, a batch of as many")
def _(rng):
    return _sequence(rng, N=4, D=4, Dk=4, Dv=4, batch=(4,))


@self_attention.case("one vector")
def _(rng):
    return _sequence(rng, N=1, D=3, Dk=4, Dv=2)


@self_attention.case("a long sequence")
def _(rng):
    return _sequence(rng, N=17, D=3, Dk=4, Dv=2)


@self_attention.case("scores in the hundreds")
def _(rng):
    arguments = _sequence(rng, N=5, D=3, Dk=4, Dv=6)
    return arguments | {"X": 20 * arguments["X"]}


@self_attention.case("single precision")
def _(rng):
    return in_single_precision(_sequence(rng, N=5, D=3, Dk=4, Dv=6))


@self_attention.case("rows of memory that are not contiguous")
def _(rng):
    arguments = _sequence(rng, N=5, D=3, Dk=4, Dv=6)
    return {name: array.T.copy().T for name, array in arguments.items()}


def _read(Q, K, V, by):
    weights = _softmax(Q @ K.mT / by)
    return weights @ V, weights


def _projected(X, W_q, W_k, W_v):
    return X @ W_q.T, X @ W_k.T, X @ W_v.T


@self_attention.misconception(
    "leaves out the division by the square root of Dk",
    hint="The formula divides the scores before the softmax. By what?",
)
def _(X, W_q, W_k, W_v):
    return _read(*_projected(X, W_q, W_k, W_v), by=1)


@self_attention.misconception(
    "divides by Dk instead of its square root",
    hint="Which grows with Dk, the variance of a dot product or its standard deviation?",
)
def _(X, W_q, W_k, W_v):
    return _read(*_projected(X, W_q, W_k, W_v), by=len(W_k))


@self_attention.misconception(
    "divides by the square root of D, the length of the input vectors",
    hint="The dot product adds Dk terms: it is taken after the projection, not before.",
)
def _(X, W_q, W_k, W_v):
    return _read(*_projected(X, W_q, W_k, W_v), by=X.shape[-1] ** 0.5)


@self_attention.misconception(
    "divides by the square root of N, the length of the sequence",
    hint="The spread of a dot product comes from how many numbers it adds: the length of a key, "
    "not how many keys there are.",
)
def _(X, W_q, W_k, W_v):
    return _read(*_projected(X, W_q, W_k, W_v), by=X.shape[-2] ** 0.5)


@self_attention.misconception(
    "divides by the square root of Dv, the length of a value",
    hint="The scale belongs to the dot product of query and key. How many terms does it have?",
)
def _(X, W_q, W_k, W_v):
    return _read(*_projected(X, W_q, W_k, W_v), by=len(W_v) ** 0.5)


@self_attention.misconception(
    "takes the vectors for columns",
    hint="The vectors are rows of X, so a linear map is `X @ W.T`. `W @ X` takes columns for "
    "vectors, and the two are mixed up without an error if N = D.",
)
def _(X, W_q, W_k, W_v):
    Q, K, V = W_q @ X, W_k @ X, W_v @ X
    weights = _softmax(K.T @ Q / len(W_k) ** 0.5, axis=0)
    return V @ weights, weights


@self_attention.misconception(
    "takes the softmax over the queries instead of the items",
    hint="Add up one row of your weights: one query shares out a weight of one among the items.",
)
def _(X, W_q, W_k, W_v):
    Q, K, V = _projected(X, W_q, W_k, W_v)
    weights = _softmax(Q @ K.mT / len(W_k) ** 0.5, axis=-2)
    return weights @ V, weights


@self_attention.misconception(
    "exchanges queries and keys",
    hint="Row n of the scores belongs to the query of vector n: Q comes first. Nothing fails "
    "otherwise, since both have the same shape.",
)
def _(X, W_q, W_k, W_v):
    Q, K, V = _projected(X, W_q, W_k, W_v)
    return _read(K, Q, V, by=len(W_k) ** 0.5)


@self_attention.misconception(
    "makes the keys with the matrix of the queries",
    hint="Three matrices are given. With one matrix on both sides the scores are symmetric: what "
    "you ask is then what you show.",
)
def _(X, W_q, W_k, W_v):
    return reference.self_attention(X, W_q, W_q, W_v)


@self_attention.misconception(
    "reads the vectors themselves instead of the values",
    hint="What comes out has the length D. It should be made of W_v x, of length Dv.",
)
def _(X, W_q, W_k, W_v):
    weights = reference.self_attention(X, W_q, W_k, W_v)[1]
    return weights @ X, weights


@self_attention.misconception(
    "reads the keys instead of the values",
    hint="The keys say which item counts; what is read are the values.",
)
def _(X, W_q, W_k, W_v):
    return reference.self_attention(X, W_q, W_k, W_k)


@self_attention.misconception(
    "compares the vectors without projecting them",
    hint="Queries and keys are W_q x and W_k x. Comparing x with itself always favours long "
    "vectors and itself.",
)
def _(X, W_q, W_k, W_v):
    return _read(X, X, X @ W_v.T, by=len(W_k) ** 0.5)


@self_attention.misconception(
    "multiplies by the matrices without transposing them",
    hint="W x with x a column is x Wᵀ with x a row. If D = Dk = Dv nothing fails, and every number "
    "is another.",
)
def _(X, W_q, W_k, W_v):
    return _read(X @ W_q, X @ W_k, X @ W_v, by=len(W_k) ** 0.5)


@self_attention.misconception(
    "scales the weights instead of the scores",
    hint="Your rows add to less than one. The division belongs before the softmax.",
)
def _(X, W_q, W_k, W_v):
    Q, K, V = _projected(X, W_q, W_k, W_v)
    weights = _softmax(Q @ K.mT) / len(W_k) ** 0.5
    return weights @ V, weights


@self_attention.misconception(
    "does not expect a batch",
    hint="Right for one sequence. With a batch in front, `K.T` reverses every axis; `K.mT` or "
    "np.swapaxes(K, -1, -2) exchange only the last two.",
)
def _(X, W_q, W_k, W_v):
    Q, K, V = _projected(X, W_q, W_k, W_v)
    weights = _softmax(Q @ K.T / len(W_k) ** 0.5)
    return weights @ V, weights


@self_attention.misconception(
    "reshapes the keys where they should be transposed",
    hint="`reshape` keeps the numbers in their order in memory and cuts them into other rows; "
    "transposing exchanges the axes.",
)
def _(X, W_q, W_k, W_v):
    Q, K, V = _projected(X, W_q, W_k, W_v)
    weights = _softmax(Q @ K.reshape(*K.shape[:-2], K.shape[-1], -1) / len(W_k) ** 0.5)
    return weights @ V, weights


@self_attention.misconception(
    "returns the outputs without the weights",
    hint="Two arrays are asked for: `return weights @ V, weights`.",
)
def _(X, W_q, W_k, W_v):
    return reference.self_attention(X, W_q, W_k, W_v)[0]


@self_attention.misconception(
    "returns the weights before the outputs",
    hint="Both arrays are there; the outputs come first.",
)
def _(X, W_q, W_k, W_v):
    return reference.self_attention(X, W_q, W_k, W_v)[::-1]


@self_attention.right_answer("torch's linear layers and scaled_dot_product_attention")
def _(X, W_q, W_k, W_v):
    import torch

    X, W_q, W_k, W_v = map(torch.tensor, (X, W_q, W_k, W_v))
    Q, K, V = (torch.nn.functional.linear(X, W) for W in (W_q, W_k, W_v))
    weights = torch.softmax(Q @ K.mT / len(W_k) ** 0.5, dim=-1)
    return torch.nn.functional.scaled_dot_product_attention(Q, K, V), weights


@self_attention.right_answer("einsum")
def _(X, W_q, W_k, W_v):
    Q, K, V = (np.einsum("kd,...nd->...nk", W, X) for W in (W_q, W_k, W_v))
    weights = _softmax(np.einsum("...nk,...jk->...nj", Q, K) / np.sqrt(Q.shape[-1]))
    return np.einsum("...nj,...jv->...nv", weights, V), weights


@self_attention.right_answer("one bilinear matrix, and the values read last")
def _(X, W_q, W_k, W_v):
    weights = _softmax(X @ (W_q.T @ W_k) @ np.swapaxes(X, -1, -2) / np.sqrt(len(W_k)))
    return (weights @ X) @ W_v.T, weights


@self_attention.right_answer("a loop over the vectors")
def _(X, W_q, W_k, W_v):
    if X.ndim > 2:
        found = [reference.self_attention(x, W_q, W_k, W_v) for x in X]
        return np.stack([H for H, _ in found]), np.stack([weights for _, weights in found])
    H, weights = np.zeros((len(X), len(W_v)), X.dtype), np.zeros((len(X), len(X)), X.dtype)
    for n, x in enumerate(X):
        weights[n] = _softmax(np.array([(W_k @ y) @ (W_q @ x) for y in X]) / len(W_k) ** 0.5)
        H[n] = sum(weights[n, j] * (W_v @ y) for j, y in enumerate(X))
    return H, weights


# --------------------------------------------------------------------------- 9.3


def _earlier_outputs_stay(answer, arguments):
    """The outputs before the last place, with another vector there."""
    if not arguments.get("causal") or arguments["Q"].shape[-2] < 2:
        return None
    other = {name: np.copy(arguments[name]) for name in ("Q", "K", "V")}
    for array in other.values():
        array[..., -1, :] += 1
    before, after = (answer(**a)[0][..., :-1, :] for a in (arguments, {**arguments, **other}))
    return after, before


def _padding_is_not_read(answer, arguments):
    """The outputs with other keys and values where there is padding."""
    real = arguments["real"][..., None]
    other = {name: np.where(real, arguments[name], arguments[name] + 7) for name in ("K", "V")}
    return answer(**{**arguments, **other})[0], answer(**arguments)[0]


@exercise(
    reference=reference.masked_attention,
    number="9.3",
    title="Causal and padded at once",
    section=("self-masks", "Masks: who may look where"),
    points=6,
    minutes=25,
    difficulty=3,
    parts=("read", "weights"),
    groups={"padding": 2, "the causal mask": 2, "both, and rows that see nothing": 2},
    contract="Q (..., N, Dk), K (..., N, Dk), V (..., N, Dv), real (..., N) of booleans, causal -> "
    "the tuple (read (..., N, Dv), weights (..., N, N)); zeros in both where a query sees nothing",
    not_allowed=("torch.nn.functional.scaled_dot_product_attention",),
    equivalent_mutants=OF_EMPTY_ROWS,
    laws=[
        laws.agrees("a later vector changes no earlier output", _earlier_outputs_stay),
        laws.agrees("what stands in the padding is never read", _padding_is_not_read),
        laws.not_negative(**_weights),
    ],
    hints=(
        "Draw the (N, N) table for a sequence whose last place is padding: which *columns* does "
        "the padding hide? Which triangle does causality hide? May a cell be seen if only one of "
        "the two allows it?",
        "`real` gets an axis for the queries, (..., 1, N); the causal table is (N, N), True on and "
        "below the diagonal. Both have to be True. Then comes the masked softmax of exercise 9.1, "
        "which also answers the rows that see nothing.",
        "`mask = real[..., None, :]`, and if causal "
        "`mask = mask & np.tril(np.ones((N, N), bool))`; scores `Q @ K.mT / np.sqrt(Dk)`; your "
        "masked softmax; read.",
    ),
)
def masked_attention(Q, K, V, real, causal=False):
    r"""Attention that reads no padding and, if asked, nothing that comes later.

    Sequences of unequal length are padded to one length $N$. `real` is True where a sequence has a
    token and False where it is padded: at its end or, as one often does for decoding, at its
    start. Query $m$ may attend to key $n$ if `real[n]` and, when `causal` is True, $n \le m$:

    $$\alpha_{mn} = \text{softmax over the visible } n \text{ of }
    \frac{k_n^\top q_m}{\sqrt{D_k}}, \qquad o_m = \sum_n \alpha_{mn} v_n$$

    In a loop, for one sequence:

    ```python
    for m in range(N):
        seen = [n for n in range(N) if real[n] and (n <= m or not causal)]
        if seen:
            weights[m, seen] = softmax([K[n] @ Q[m] / np.sqrt(Dk) for n in seen])
        read[m] = sum(weights[m, n] * V[n] for n in seen)
    ```

    Padding hides *keys*. A query in the padding asks like any other, and nobody uses its answer.
    A query that sees nothing gets zeros, in its weights and in its read. Return the tuple
    `(read, weights)`. The scores may be of any size. There may be batch axes in front of all four
    arrays. In a notebook you may call your own masked softmax of exercise 9.1. A field on a page of
    the book is checked by itself: there, write its lines again.
    """


def _padded(rng, real, Dk, Dv, causal):
    real = np.array(real, dtype=bool)
    return {
        "Q": rng.normal(size=(*real.shape, Dk)),
        "K": rng.normal(size=(*real.shape, Dk)),
        "V": rng.normal(size=(*real.shape, Dv)),
        "real": real,
        "causal": causal,
    }


END, START = [[1, 1, 1, 0, 0], [1, 1, 1, 1, 0]], [[0, 1, 1, 1, 1], [0, 0, 1, 1, 1]]


@masked_attention.case("padding at the end", group="padding")
def _(rng):
    return _padded(rng, END[0], Dk=4, Dv=6, causal=False)


@masked_attention.case("a batch, padded by different amounts", group="padding")
def _(rng):
    return _padded(rng, END, Dk=4, Dv=6, causal=False)


@masked_attention.case("no padding and not causal", group="padding")
def _(rng):
    arguments = _padded(rng, [1] * 5, Dk=4, Dv=6, causal=False)
    del arguments["causal"]  # left out, it is False
    return arguments


@masked_attention.case("causal, no padding", group="the causal mask")
def _(rng):
    return _padded(rng, [1] * 5, Dk=4, Dv=6, causal=True)


@masked_attention.case("causal, a batch", group="the causal mask")
def _(rng):
    return _padded(rng, [[1] * 5] * 2, Dk=4, Dv=6, causal=True)


@masked_attention.case("causal, one token", group="the causal mask")
def _(rng):
    return _padded(rng, [[1]] * 3, Dk=4, Dv=2, causal=True)


@masked_attention.case("causal, scores in the thousands", group="the causal mask")
def _(rng):
    arguments = _padded(rng, [1] * 5, Dk=4, Dv=6, causal=True)
    return arguments | {"Q": 1000 * arguments["Q"]}


@masked_attention.case("nothing but padding", group="both, and rows that see nothing")
def _(rng):
    return _padded(rng, [[1, 1, 1], [0, 0, 0]], Dk=4, Dv=2, causal=False)


@masked_attention.case("causal, padded at the end", group="both, and rows that see nothing")
def _(rng):
    return _padded(rng, END, Dk=4, Dv=6, causal=True)


@masked_attention.case(
    "causal, padded at the start: the first rows see nothing",
    group="both, and rows that see nothing",
)
def _(rng):
    return _padded(rng, START, Dk=4, Dv=6, causal=True)


@masked_attention.case(
    "a batch as large as the sequence is long", group="both, and rows that see nothing"
)
def _(rng):
    return _padded(rng, [[0, 1, 1], [1, 1, 0], [1, 0, 1]], Dk=4, Dv=2, causal=True)


@masked_attention.case("single precision", group="both, and rows that see nothing")
def _(rng):
    return in_single_precision(_padded(rng, START, Dk=4, Dv=6, causal=True))


def _tril(N, k=0):
    return np.tril(np.ones((N, N), bool), k)


def _right_mask(Q, real, causal):
    return real[..., None, :] & (_tril(Q.shape[-2]) if causal else True)


def _attend(Q, K, V, mask):
    weights = reference.masked_softmax(Q @ K.mT / K.shape[-1] ** 0.5, mask)
    return weights @ V, weights


@masked_attention.misconception(
    "sees the upper triangle instead of the lower one",
    hint="Your first query sees everything and the last only itself. Query m may see n ≤ m: a "
    "triangle below the diagonal.",
)
def _(Q, K, V, real, causal=False):
    mask = real[..., None, :] & (_tril(Q.shape[-2]).T if causal else True)
    return _attend(Q, K, V, mask)


@masked_attention.misconception(
    "hides a token from itself",
    hint="Query m may see n ≤ m, itself included: your diagonal is hidden, so the first query sees "
    "nothing.",
)
def _(Q, K, V, real, causal=False):
    mask = real[..., None, :] & (_tril(Q.shape[-2], -1) if causal else True)
    return _attend(Q, K, V, mask)


@masked_attention.misconception(
    "lets each token see the next one",
    hint="A triangle that is shifted by one shows the answer to the one who has to guess it. Query "
    "m may see n ≤ m.",
)
def _(Q, K, V, real, causal=False):
    mask = real[..., None, :] & (_tril(Q.shape[-2], 1) if causal else True)
    return _attend(Q, K, V, mask)


@masked_attention.misconception(
    "is never causal",
    hint="Look at the parameter `causal`: when it is True, later keys are hidden as well.",
)
def _(Q, K, V, real, causal=False):
    return reference.masked_attention(Q, K, V, real)


@masked_attention.misconception(
    "is always causal",
    hint="Look at the parameter `causal`: it is False unless the caller says so.",
)
def _(Q, K, V, real, causal=False):
    return reference.masked_attention(Q, K, V, real, True)


@masked_attention.misconception(
    "ignores the padding",
    hint="Change a key or a value where `real` is False: your output changes with it.",
)
def _(Q, K, V, real, causal=False):
    return reference.masked_attention(Q, K, V, np.ones_like(real), causal)


@masked_attention.misconception(
    "reads True in `real` as padding",
    hint="`real` is True where there is a token. Yours attends to the padding only.",
)
def _(Q, K, V, real, causal=False):
    return reference.masked_attention(Q, K, V, ~real, causal)


@masked_attention.misconception(
    "fills hidden scores with zero",
    hint="A score of zero is a score like any other: exp(0) is 1. Which score gives a weight of "
    "zero?",
)
def _(Q, K, V, real, causal=False):
    mask = _right_mask(Q, real, causal)
    weights = _softmax(np.where(mask, Q @ K.mT / K.shape[-1] ** 0.5, 0))
    return weights @ V, weights


@masked_attention.misconception(
    "removes hidden weights after the softmax",
    hint="The hidden keys have taken their share before you removed them: do the visible weights "
    "still add to one?",
)
def _(Q, K, V, real, causal=False):
    mask = _right_mask(Q, real, causal)
    weights = _softmax(Q @ K.mT / K.shape[-1] ** 0.5) * mask
    return weights @ V, weights


@masked_attention.misconception(
    "hides the queries in the padding instead of the keys",
    hint="`real` along the queries blanks rows; the real queries still read the padding. Which "
    "axis of the scores holds the keys?",
)
def _(Q, K, V, real, causal=False):
    mask = real[..., :, None] & (_tril(Q.shape[-2]) if causal else np.ones(Q.shape[-2], bool))
    return _attend(Q, K, V, mask)


@masked_attention.misconception(
    "hides both the queries and the keys in the padding",
    hint="Only keys are hidden. A query in the padding asks like any other: its row is not empty, "
    "though nobody uses it.",
)
def _(Q, K, V, real, causal=False):
    mask = real[..., :, None] & real[..., None, :]
    return _attend(Q, K, V, mask & _tril(Q.shape[-2]) if causal else mask)


@masked_attention.misconception(
    "shows a key if either mask allows it",
    hint="`or` lets a later real token and an earlier padded one through. Both masks have to allow "
    "a key.",
)
def _(Q, K, V, real, causal=False):
    mask = real[..., None, :]
    return _attend(Q, K, V, mask | _tril(Q.shape[-2]) if causal else mask)


@masked_attention.misconception(
    "gives `real` no axis for the queries",
    hint="Right without a batch. With one, (B, N) against scores (B, N, N) lines up the batch with "
    "the queries: an error, unless B = N, and then wrong numbers. Insert an axis: (B, 1, N).",
)
def _(Q, K, V, real, causal=False):
    mask = real & _tril(Q.shape[-2]) if causal else real
    weights = reference.masked_softmax(Q @ K.mT / K.shape[-1] ** 0.5, mask)
    return weights @ V, weights


@masked_attention.misconception(
    "does not expect a sequence without a batch",
    hint="Right for a batch. `real[:, None, :]` counts axes from the front; `real[..., None, :]` "
    "counts them from the end.",
)
def _(Q, K, V, real, causal=False):
    mask = real[:, None, :]
    return _attend(Q, K, V, mask & _tril(Q.shape[-2]) if causal else mask)


@masked_attention.misconception(
    "leaves NaN in the rows that see nothing",
    hint="Padded at the start and causal, the first query sees nothing at all, and it should get "
    "zeros. Its largest score is minus infinity, and minus itself that is NaN: subtract 0 there. "
    "The sum of its exponentials is then zero: divide by 1 there.",
)
def _(Q, K, V, real, causal=False):
    mask = _right_mask(Q, real, causal)
    weights = _softmax(np.where(mask, Q @ K.mT / K.shape[-1] ** 0.5, -np.inf))
    return weights @ V, weights


@masked_attention.misconception(
    "multiplies the exponentials by the mask, infinite ones included",
    hint="The exponential of a hidden score far above the visible ones is infinite, and infinity "
    "times zero is NaN. Hide before the exponential: np.where(mask, scores, -np.inf).",
)
def _(Q, K, V, real, causal=False):
    scores = Q @ K.mT / K.shape[-1] ** 0.5
    weights = hidden_too_late(scores, _right_mask(Q, real, causal))
    return weights @ V, weights


@masked_attention.misconception(
    "fills hidden scores with a large negative number, such as -1e9",
    hint="Look at a row that sees nothing: all its scores are the same, so it attends evenly to "
    "what it must not see.",
)
def _(Q, K, V, real, causal=False):
    mask = _right_mask(Q, real, causal)
    weights = _softmax(np.where(mask, Q @ K.mT / K.shape[-1] ** 0.5, -1e9))
    return weights @ V, weights


@masked_attention.misconception(
    "adds a large negative number to the hidden scores, such as -1e9",
    hint="Look at a row that sees nothing: the same number was added to all its scores, and a "
    "softmax does not notice that.",
)
def _(Q, K, V, real, causal=False):
    hidden = np.where(_right_mask(Q, real, causal), Q.dtype.type(0), Q.dtype.type(-1e9))
    weights = _softmax(Q @ K.mT / K.shape[-1] ** 0.5 + hidden)
    return weights @ V, weights


@masked_attention.misconception(
    "forgets the padding when it is causal",
    hint="Your causal mask takes the place of the padding mask. Both have to allow a key.",
)
def _(Q, K, V, real, causal=False):
    return _attend(Q, K, V, _tril(Q.shape[-2]) if causal else real[..., None, :])


@masked_attention.misconception(
    "sets the values of the padding to zero and leaves its keys in the softmax",
    hint="The padding says nothing any more, but it still takes its share of the weight: do the "
    "weights of the real keys add to one?",
)
def _(Q, K, V, real, causal=False):
    mask = _tril(Q.shape[-2]) if causal else np.ones((Q.shape[-2],) * 2, bool)
    return _attend(Q, K, V * real[..., None], mask)


@masked_attention.misconception(
    "leaves out the division by the square root of Dk",
    hint="The scores are dot products divided by the root of the length of a key.",
)
def _(Q, K, V, real, causal=False):
    return reference.masked_attention(Q * K.shape[-1] ** 0.5, K, V, real, causal)


@masked_attention.right_answer("torch's scaled_dot_product_attention")
def _(Q, K, V, real, causal=False):
    import torch

    Q, K, V, real = map(torch.tensor, (Q, K, V, real))
    N = Q.shape[-2]
    mask = real.unsqueeze(-2).expand(*real.shape[:-1], N, N)
    if causal:
        mask = mask & torch.ones(N, N).tril().bool()
    read = torch.nn.functional.scaled_dot_product_attention
    identity = torch.eye(N, dtype=V.dtype).expand(*V.shape[:-2], N, N)
    return read(Q, K, V, attn_mask=mask), read(Q, K, identity, attn_mask=mask)


@masked_attention.right_answer("comparing positions, and the empty rows mended afterwards")
def _(Q, K, V, real, causal=False):
    places = np.arange(Q.shape[-2])
    hidden = ~real[..., np.newaxis, :]
    if causal:
        hidden = hidden | (places[np.newaxis, :] > places[:, np.newaxis])
    scores = np.where(hidden, -np.inf, np.einsum("...md,...nd->...mn", Q, K) / Q.shape[-1] ** 0.5)
    weights = np.nan_to_num(_softmax(scores))
    return weights @ V, weights


@masked_attention.right_answer("a loop over queries, the visible keys alone")
def _(Q, K, V, real, causal=False):
    if Q.ndim > 2:
        found = [
            reference.masked_attention(*one, causal) for one in zip(Q, K, V, real, strict=True)
        ]
        return np.stack([read for read, _ in found]), np.stack([weights for _, weights in found])
    read, weights = np.zeros_like(V), np.zeros((len(Q), len(Q)), Q.dtype)
    for m, query in enumerate(Q):
        seen = np.flatnonzero(real[: m + 1] if causal else real)
        if seen.size:
            weights[m, seen] = _softmax(K[seen] @ query / len(query) ** 0.5)
            read[m] = weights[m, seen] @ V[seen]
    return read, weights


# --------------------------------------------------------------------------- 9.4


def _rows_of_one_length(answer, arguments):
    """The squared lengths of the rows, and half the number of columns."""
    if arguments["D"] % 2:
        return None
    squares = (answer(**arguments) ** 2).sum(axis=-1)
    return squares, np.full(squares.shape, arguments["D"] / 2)


def _gram(answer, arguments):
    """Products of rows: those of a place later, and those before."""
    if arguments["D"] % 2:
        return None
    table = answer(**arguments)
    gram = table @ table.T
    return gram[1:, 1:], gram[:-1, :-1]


@exercise(
    reference=reference.sinusoidal_positions,
    number="9.4",
    title="Waves for positions",
    section=("self-sinusoids", "Waves"),
    points=4,
    minutes=20,
    difficulty=2,
    contract="N, D (whole numbers from 1) -> positions (N, D), in double precision; D may be odd",
    laws=[
        laws.agrees("for even D every row has the length sqrt(D / 2)", _rows_of_one_length),
        laws.agrees("for even D the product of two rows depends on their distance only", _gram),
        laws.agrees(
            "a longer table begins with the shorter one",
            lambda answer, arguments: (
                answer(**{**arguments, "N": arguments["N"] + 3})[: arguments["N"]],
                answer(**arguments),
            ),
        ),
    ],
    hints=(
        "Which columns share a wavelength? Write the exponent of columns 0, 1, 2, 3 for D = 4 by "
        "hand.",
        "Make the angles first, a table (N, D): the place, counted from 0, in a column, divided "
        "by 10000 to the power 2i / D, where i is the column divided by 2 without remainder. Then "
        "the sine in even columns, the cosine in odd ones.",
        "`column = np.arange(D)`; "
        "`angle = np.arange(N)[:, None] / 10000 ** (2 * (column // 2) / D)`; "
        "`np.where(column % 2 == 0, np.sin(angle), np.cos(angle))`.",
    ),
)
def sinusoidal_positions(N, D):
    r"""A vector for each of N places: sines and cosines of many wavelengths.

    $$p_{t,\,2i} = \sin\!\left(\frac{t}{10000^{2i/D}}\right), \qquad
    p_{t,\,2i+1} = \cos\!\left(\frac{t}{10000^{2i/D}}\right)$$

    for the places $t = 0, \dots, N - 1$, counted from zero. Columns $2i$ and $2i + 1$ share a
    wavelength: first a sine, then its cosine. In a loop:

    ```python
    for t in range(N):
        for column in range(D):
            angle = t / 10000 ** (2 * (column // 2) / D)
            positions[t, column] = cos(angle) if column % 2 else sin(angle)
    ```

    `D` may be odd: then the last column is a sine without its cosine. Return an array of shape
    `(N, D)`.
    """


@sinusoidal_positions.case("five places, four columns")
def _(rng):
    return {"N": 5, "D": 4}


@sinusoidal_positions.case("64 columns")
def _(rng):
    return {"N": 6, "D": 64}


@sinusoidal_positions.case("as many places as columns")
def _(rng):
    return {"N": 8, "D": 8}


@sinusoidal_positions.case("two columns")
def _(rng):
    return {"N": 7, "D": 2}


@sinusoidal_positions.case("an odd number of columns")
def _(rng):
    return {"N": 6, "D": 5}


@sinusoidal_positions.case("one column")
def _(rng):
    return {"N": 4, "D": 1}


@sinusoidal_positions.case("one place")
def _(rng):
    return {"N": 1, "D": 6}


@sinusoidal_positions.case("sizes drawn at random")
def _(rng):
    return {"N": int(rng.integers(4, 8)), "D": 2 * int(rng.integers(10, 17))}


def _angles(N, D):
    return np.arange(N)[:, None] / 10000 ** (2 * (np.arange(D) // 2) / D)


def _waves(angles, first=np.sin, second=np.cos):
    even = np.arange(angles.shape[1]) % 2 == 0
    return np.where(even, first(angles), second(angles))


def _in_blocks(if_odd, sines, cosines):
    """The mistake of another order; of an odd D, one half is rounded up by 1 or down by 0."""

    @sinusoidal_positions.misconception(
        f"puts all sines first and then all cosines{if_odd}",
        hint="The wavelengths are right. Sine and cosine of one wavelength stand side by side: "
        "columns 0 and 1, columns 2 and 3. (Some libraries use your order; a model trained with "
        "one cannot read the other.)",
    )
    def _(N, D):
        angles = _angles(N, D)[:, ::2]  # one for each sine
        return np.concatenate(
            [np.sin(angles[:, : (D + sines) // 2]), np.cos(angles[:, : (D + cosines) // 2])], axis=1
        )


_in_blocks("", sines=1, cosines=0)
_in_blocks(", one column short if D is odd", sines=0, cosines=0)
_in_blocks(", one too many if D is odd", sines=1, cosines=1)


@sinusoidal_positions.misconception(
    "uses the exponent i / D instead of 2i / D",
    hint="For the last pair 2i / D comes near 1, so the longest wave is about 10000 times the "
    "shortest. Yours ends at the square root of that.",
)
def _(N, D):
    return _waves(np.arange(N)[:, None] / 10000 ** (np.arange(D) // 2 / D))


@sinusoidal_positions.misconception(
    "gives each column a wavelength of its own",
    hint="Columns 2i and 2i + 1 share one: the exponent is that of the pair, for both of them. "
    "Look at the length of your rows: is it always the same?",
)
def _(N, D):
    return _waves(np.arange(N)[:, None] / 10000 ** (np.arange(D) / D))


@sinusoidal_positions.misconception(
    "doubles the column instead of the pair",
    hint="i counts pairs, from 0 to D / 2. With i as the number of the column, 2i / D goes to 2.",
)
def _(N, D):
    return _waves(np.arange(N)[:, None] / 10000 ** (2 * np.arange(D) / D))


@sinusoidal_positions.misconception(
    "multiplies by the power of 10000 instead of dividing",
    hint="Later columns should turn more slowly, not faster.",
)
def _(N, D):
    return _waves(np.arange(N)[:, None] * 10000 ** (2 * (np.arange(D) // 2) / D))


@sinusoidal_positions.misconception(
    "counts places from 1",
    hint="The first row is 0, 1, 0, 1, ...: the sine and the cosine of zero.",
)
def _(N, D):
    return reference.sinusoidal_positions(N + 1, D)[1:]


@sinusoidal_positions.misconception(
    "exchanges sine and cosine",
    hint="The even columns, 0 among them, are sines: the first row begins with 0.",
)
def _(N, D):
    return _waves(_angles(N, D), np.cos, np.sin)


@sinusoidal_positions.misconception(
    "uses sines only",
    hint="The odd columns are cosines. A sine alone cannot tell rising from falling.",
)
def _(N, D):
    return _waves(_angles(N, D), np.sin, np.sin)


@sinusoidal_positions.misconception(
    "makes as many cosines as sines when D is odd",
    hint="Right for even D. With five columns there are three sines and two cosines: make the "
    "cosines only for the columns that exist, `angle[:, :D // 2]`.",
)
def _(N, D):
    table = np.zeros((N, D))
    angle = np.arange(N)[:, None] / 10000 ** (np.arange(0, D, 2) / D)
    table[:, 0::2] = np.sin(angle)
    table[:, 1::2] = np.cos(angle)
    return table


@sinusoidal_positions.misconception(
    "leaves the last column empty when D is odd",
    hint="Right for even D. The last of five columns is a sine without its cosine, not zeros.",
)
def _(N, D):
    table = reference.sinusoidal_positions(N, D)
    table[:, D // 2 * 2 :] = 0
    return table


@sinusoidal_positions.misconception(
    "measures angles in degrees, or in turns",
    hint="np.sin and np.cos take radians, and the formula has no 2π and no 180 in it.",
)
def _(N, D):
    return _waves(2 * np.pi * _angles(N, D))


@sinusoidal_positions.misconception(
    "returns one row for each column",
    hint="The numbers are right, the table is turned: row t belongs to place t.",
)
def _(N, D):
    return reference.sinusoidal_positions(N, D).T


@sinusoidal_positions.misconception(
    "returns single precision",
    hint="The waves are right to seven digits. An answer in double precision is asked for: do not "
    "convert to float32.",
)
def _(N, D):
    return reference.sinusoidal_positions(N, D).astype(np.float32)


@sinusoidal_positions.right_answer("torch, with the exponential of a logarithm")
def _(N, D):
    import torch

    place = torch.arange(N, dtype=torch.float64).unsqueeze(1)
    rate = torch.exp(torch.arange(0, D, 2, dtype=torch.float64) * (-np.log(10000.0) / D))
    table = torch.zeros(N, D, dtype=torch.float64)
    table[:, 0::2] = torch.sin(place * rate)
    table[:, 1::2] = torch.cos(place * rate[: D // 2])
    return table


@sinusoidal_positions.right_answer("two loops")
def _(N, D):
    from math import cos, sin

    def wave(t, column):
        angle = t / 10000 ** (2 * (column // 2) / D)
        return cos(angle) if column % 2 else sin(angle)

    return np.array([[wave(t, column) for column in range(D)] for t in range(N)])


@sinusoidal_positions.right_answer("real and imaginary part of a rotation")
def _(N, D):
    turns = np.exp(1j * np.outer(np.arange(N), 10000.0 ** (-np.arange(0, D, 2) / D)))
    return np.stack([turns.imag, turns.real], axis=-1).reshape(N, -1)[:, :D]


# --------------------------------------------------------------------------- 9.5


@exercise(
    reference=reference.equivariance_error,
    number="9.5",
    title="Does it know the order?",
    section=("self-order", "Order: what self-attention cannot see"),
    points=4,
    minutes=20,
    difficulty=2,
    contract="X (N, D), positions (N, D), mask (N, N) of booleans -> one number: the largest "
    "absolute difference over all N! orders",
    given='''\
from itertools import permutations


def placed_attention(X, positions, mask):
    """The layer to be tested, (N, D) -> (N, D). Treat it as a box that you cannot open."""
    Z = X + positions
    scores = np.where(mask, Z @ Z.T / np.sqrt(Z.shape[1]), -np.inf)
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True) @ Z
''',
    right_anyway={"transposed": "a single number stays as it is"},
    equivalent_mutants={
        "moved - in_place[order]  ->  in_place[order] - moved": "the absolute value does not care "
        "which comes first",
    },
    laws=[
        laws.agrees(
            "an error is not negative",
            lambda answer, arguments: (np.minimum(answer(**arguments), 0), np.float64(0)),
        ),
        laws.agrees(
            "without positions, and with everything to be seen, the error is zero",
            lambda answer, arguments: (
                answer(
                    X=arguments["X"],
                    positions=0 * arguments["positions"],
                    mask=np.ones_like(arguments["mask"]),
                ),
                np.float64(0),
            ),
        ),
    ],
    hints=(
        "You have one sequence and one order. Which two outputs of the layer should be equal if "
        "the layer does not care about order, and what has to be reordered before you compare?",
        "Reorder the sequence and run the layer: `placed_attention(X[order], positions, mask)`. "
        "Run the layer on the sequence as it is, and reorder what comes out: the same `order`. "
        "Compare. Do so for every order, and keep the largest difference.",
        "`in_place = placed_attention(X, positions, mask)`; then, for each `order` in "
        "`map(list, permutations(range(len(X))))`, "
        "`np.abs(placed_attention(X[order], positions, mask) - in_place[order]).max()`; return "
        "the largest.",
    ),
)
def equivariance_error(X, positions, mask):
    r"""Measure how far a layer is from following every reordering of its input.

    A layer $f$ is *permutation equivariant* if reordering its input reorders its output in the
    same way and changes nothing else: $f(\pi X) = \pi f(X)$ for every order $\pi$. Write the test.
    Return one number:

    $$\max_{\pi}\; \max_{n, d}\; \bigl| f(\pi X) - \pi f(X) \bigr|_{nd}$$

    over *all* orders of the rows of `X`. Reordering means, in a loop:

    ```python
    for n in range(N):
        reordered[n] = X[order[n]]
    ```

    In numpy that is `X[order]`.

    The layer is given: `placed_attention(X, positions, mask)`. You need not know what it does.
    `positions` and `mask` belong to the layer: they stay where they are while the sequence is
    reordered. `permutations` is given too: `permutations(range(3))` yields all six orders of three
    items, as tuples; numpy indexes with a list, so write `X[list(order)]`.

    Return the number itself and no verdict: whoever calls you compares it with rounding, about
    `1e-15` in double precision.
    """


def _layer(rng, N=4, D=3, **parts):
    """A sequence and a layer that treats all places alike, unless ``parts`` say otherwise."""
    arguments = {
        "X": rng.normal(size=(N, D)),
        "positions": np.zeros((N, D)),
        "mask": np.ones((N, N), bool),
    }
    return arguments | parts


def _ring(N):
    """Each place sees itself and its two neighbours, the last place being next to the first."""
    distance = np.abs(np.arange(N)[:, None] - np.arange(N))
    return np.minimum(distance, N - distance) <= 1


@equivariance_error.case("a layer with positions")
def _(rng):
    return _layer(rng, positions=rng.normal(size=(4, 3)))


@equivariance_error.case("a layer that treats all places alike")
def _(rng):
    return _layer(rng)


@equivariance_error.case("a causal layer")
def _(rng):
    return _layer(rng, mask=np.tril(np.ones((4, 4), bool)))


@equivariance_error.case("each place sees its neighbours, round a table")
def _(rng):
    return _layer(rng, N=5, D=2, mask=_ring(5))


@equivariance_error.case("positions that are the same everywhere")
def _(rng):
    return _layer(rng, positions=np.tile(rng.normal(size=3), (4, 1)))


@equivariance_error.case("positions too small to be noticed by eye")
def _(rng):
    return _layer(rng, positions=1e-5 * rng.normal(size=(4, 3)))


@equivariance_error.case("only the last place is special")
def _(rng):
    positions = np.zeros((4, 3))
    positions[-1] = rng.normal(size=3)
    return _layer(rng, positions=positions)


@equivariance_error.case("as many vectors as features")
def _(rng):
    return _layer(rng, N=4, D=4, positions=rng.normal(size=(4, 4)))


@equivariance_error.case("two vectors")
def _(rng):
    return _layer(rng, N=2, D=3, positions=rng.normal(size=(2, 3)))


@equivariance_error.case("one vector")
def _(rng):
    return _layer(rng, N=1, D=3, positions=rng.normal(size=(1, 3)))


@equivariance_error.case("single precision")
def _(rng):
    return in_single_precision(_layer(rng, positions=rng.normal(size=(4, 3))))


def _orders(X):
    from itertools import permutations

    return map(list, permutations(range(len(X))))


def _largest(errors):
    return np.max(np.abs(list(errors)))


f = reference.placed_attention


@equivariance_error.misconception(
    "reorders the output back the wrong way",
    hint="You undo the order where you should repeat it, or the other way round. Some orders are "
    "their own inverse and hide this; take (1, 2, 0) and follow one row with your finger.",
)
def _(X, positions, mask):
    out = f(X, positions, mask)
    return _largest(f(X[o], positions, mask) - out[np.argsort(o)] for o in _orders(X))


@equivariance_error.misconception(
    "compares with the output as it was",
    hint="That tests invariance: an output that does not move at all. Equivariant means that the "
    "output moves along with its input.",
)
def _(X, positions, mask):
    out = f(X, positions, mask)
    return _largest(f(X[o], positions, mask) - out for o in _orders(X))


@equivariance_error.misconception(
    "tries only the order that is no reordering",
    hint="Your error is always zero: with the identity nothing is tested. An equivariance test "
    "that no layer fails says nothing.",
)
def _(X, positions, mask):
    return X.dtype.type(0)


@equivariance_error.misconception(
    "tries only the reversed order",
    hint="Some layers pass this one and fail others: round a table, turning the row of guests "
    "round keeps all neighbours. Try every order, and keep the largest difference: a loop that "
    "writes over it keeps that of the last order, which is the reversed one.",
)
def _(X, positions, mask):
    return np.abs(f(X[::-1], positions, mask) - f(X, positions, mask)[::-1]).max()


@equivariance_error.misconception(
    "tries only shifts",
    hint="Round a table a shift keeps all neighbours, so some layers pass every shift and fail "
    "other orders. np.roll makes N orders of N!.",
)
def _(X, positions, mask):
    out = f(X, positions, mask)
    return _largest(
        f(np.roll(X, k, axis=0), positions, mask) - np.roll(out, k, axis=0) for k in range(len(X))
    )


@equivariance_error.misconception(
    "tries only one exchange, of the first two",
    hint="A layer in which only the last place is special passes this. Try every order.",
)
def _(X, positions, mask):
    if len(X) < 2:
        return X.dtype.type(0)
    order = [1, 0, *range(2, len(X))]
    return np.abs(f(X[order], positions, mask) - f(X, positions, mask)[order]).max()


@equivariance_error.misconception(
    "moves the positions along with the sequence",
    hint="Then every word keeps its place number and nothing has been reordered. The positions "
    "belong to the layer: place 1 stays place 1, whoever stands there.",
)
def _(X, positions, mask):
    out = f(X, positions, mask)
    return _largest(f(X[o], positions[o], mask) - out[o] for o in _orders(X))


@equivariance_error.misconception(
    "moves the mask along with the sequence",
    hint="The mask belongs to the layer and stays: it says which place sees which, whoever stands "
    "there.",
)
def _(X, positions, mask):
    out = f(X, positions, mask)
    return _largest(f(X[o], positions, mask[np.ix_(o, o)]) - out[o] for o in _orders(X))


@equivariance_error.misconception(
    "reorders the output and not the input",
    hint="Both sides have to be reordered: on the left the sequence that goes in, on the right "
    "what came out.",
)
def _(X, positions, mask):
    out = f(X, positions, mask)
    return _largest(out - out[o] for o in _orders(X))


@equivariance_error.misconception(
    "reorders the features instead of the vectors",
    hint="Vectors are rows: X[order] takes rows, X[:, order] takes columns.",
)
def _(X, positions, mask):
    out = f(X, positions, mask)
    return _largest(f(X[:, o], positions, mask) - out[:, o] for o in _orders(X.T))


@equivariance_error.misconception(
    "forgets the absolute value",
    hint="A large negative difference is a difference too.",
)
def _(X, positions, mask):
    out = f(X, positions, mask)
    return np.max([(f(X[o], positions, mask) - out[o]).max() for o in _orders(X)])


@equivariance_error.misconception(
    "measures the length of the difference instead of its largest entry",
    hint="np.linalg.norm adds up the squares of all entries. Asked is the largest one: "
    "`np.abs(...).max()`.",
)
def _(X, positions, mask):
    out = f(X, positions, mask)
    return np.max([np.linalg.norm(f(X[o], positions, mask) - out[o]) for o in _orders(X)])


@equivariance_error.misconception(
    "averages the differences",
    hint="A mean over many orders and entries hides one bad entry. The largest is asked for.",
)
def _(X, positions, mask):
    out = f(X, positions, mask)
    return np.mean([np.abs(f(X[o], positions, mask) - out[o]).mean() for o in _orders(X)])


@equivariance_error.misconception(
    "returns a verdict instead of the number",
    hint="The number says more: 1e-15 is rounding, 1e-5 is a layer that knows the order. Return "
    "it and leave the threshold to the reader.",
)
def _(X, positions, mask):
    return X.dtype.type(reference.equivariance_error(X, positions, mask) < 1e-3)


@equivariance_error.right_answer("torch, one order after the other")
def _(X, positions, mask):
    import torch

    X, positions, mask = map(torch.tensor, (X, positions, mask))

    def layer(X):
        attend = torch.nn.functional.scaled_dot_product_attention
        return attend(*[X + positions] * 3, attn_mask=mask)

    out = layer(X)
    return torch.stack([(layer(X[o]) - out[o]).abs().max() for o in _orders(X)]).max()


@equivariance_error.right_answer("matrices of zeros and ones")
def _(X, positions, mask):
    eye = np.eye(len(X), dtype=X.dtype)
    out = f(X, positions, mask)
    worst = X.dtype.type(0)
    for order in _orders(X):
        P = eye[order]
        worst = max(worst, np.max(np.abs(f(P @ X, positions, mask) - P @ out)))
    return worst


@equivariance_error.right_answer("the output undone instead of the input's order repeated")
def _(X, positions, mask):
    out = f(X, positions, mask)
    back = (f(X[o], positions, mask)[np.argsort(o)] for o in _orders(X))
    return _largest(b - out for b in back)


# --------------------------------------------------------------------------- written

order_in_words = Question(
    name="order_in_words",
    title="A bag or a sentence?",
    points=4,
    prompt=r"""A colleague has trained a model of self-attention layers without any position
vectors. "It cannot know the order of the words," you say. "But mine is causal," she answers, "and
it does." In four to six sentences: say who is right, and when. Use the words *permutation
equivariant* and *causal mask*; say what the last output of *one* causal layer knows of the order of
the words before it, and what a second layer changes; and describe a test that would settle the
question for a given model, with the number you would look at.""",
    answer=r"""Without a mask every layer is *permutation equivariant*: reorder the words and the
outputs are reordered with them, so any number of such layers sees a bag. A *causal mask* breaks
this, because row $m$ sees only the first $m$ words: which words those are depends on the order. Yet
the last output of one causal layer averages over all words with weights that depend on the words
alone, so it still knows nothing of the order of those before it. A second layer reads the outputs
of the first at the earlier places; these differ with what came before each of them, so from the
second layer on the order arrives everywhere. To settle it, run the model on a sequence and on
reordered copies, reorder the outputs of the first run in the same way, and look at the largest
absolute difference: near the rounding of the number format the model is equivariant (on these
inputs), far above it the model knows the order.""",
    scheme="""- 1 point: without a mask permutation equivariant, however many layers.
- 1 point: with a causal mask not equivariant, because the visible set depends on the order.
- 1 point: the last output of one causal layer is still blind to the order before it; a second
  layer is not.
- 1 point: a test that reorders input and output alike and compares the largest difference with
  rounding.""",
)
