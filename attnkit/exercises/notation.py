"""The exercise of the chapter on notation: rows and columns."""

import numpy as np

from attnkit import notation
from attnkit.checking import exercise, in_single_precision, laws


@exercise(
    reference=notation.attention_cols,
    number="0.1",
    title="From rows to columns",
    section=("notation-columns", "Rows and columns"),
    points=4,
    minutes=15,
    difficulty=1,
    contract="Q (Dk, M), K (Dk, N), V (Dv, N) -> (Dv, M)",
    given='''\
def softmax(scores, axis):
    """Weights that add to one along the axis. Good for small scores only: see exercise 3.1."""
    exponentials = np.exp(scores)
    return exponentials / exponentials.sum(axis=axis, keepdims=True)
''',
    laws=[
        laws.items_permuted("K", "V", axis=-1),
        laws.read_inside_hull("V", axis=-1),
        laws.agrees(
            "each query is answered as if it were alone",
            lambda answer, arguments: (
                answer(**{**arguments, "Q": arguments["Q"][:, :1]}),
                answer(**arguments)[:, :1],
            ),
        ),
    ],
    hints=(
        "Write the shape under each matrix. Which product of two of them pairs each key with "
        "each query, and on which axis of the result do the items of one query lie?",
        "The row form is `softmax(Q @ K.T / sqrt(Dk), axis=1) @ V`. Transpose the whole line: the "
        "order of a product turns round, and the axis of the softmax moves with it.",
        "The scores are `K.T @ Q / np.sqrt(Dk)`, of shape (N, M); the items of one query stand in "
        "a *column*, so the softmax runs over axis 0, and `V` is multiplied from the left.",
    ),
)
def attention_cols(Q, K, V):
    r"""Scaled dot-product attention where each column is a vector.

    Many papers and the notes behind this book write a vector as a *column*. Compute the read
    of every query in that convention:

    $$O = V\,\mathrm{softmax}\!\left(\frac{K^\top Q}{\sqrt{D_k}}\right)$$

    where the weights of one query add to one. In a loop, with $m$ a query and $n$ an item:

    ```python
    for m in range(M):
        scores = np.array([K[:, n] @ Q[:, m] for n in range(N)]) / np.sqrt(Dk)
        O[:, m] = sum(softmax(scores, axis=0)[n] * V[:, n] for n in range(N))
    ```

    `softmax(scores, axis)` is given. $D_k$ is the number of rows of `K`, the length of a key.
    """


def _draw(rng, Dk, Dv, M, N):
    return {
        "Q": rng.normal(size=(Dk, M)),
        "K": rng.normal(size=(Dk, N)),
        "V": rng.normal(size=(Dv, N)),
    }


@attention_cols.case("four different sizes")
def _(rng):
    return _draw(rng, Dk=4, Dv=6, M=3, N=5)


@attention_cols.case("keys as long as values")
def _(rng):
    return _draw(rng, Dk=4, Dv=4, M=3, N=5)


@attention_cols.case("as many queries as items")
def _(rng):
    return _draw(rng, Dk=3, Dv=2, M=5, N=5)


@attention_cols.case("all sizes equal")
def _(rng):
    return _draw(rng, Dk=4, Dv=4, M=4, N=4)


@attention_cols.case("one item")
def _(rng):
    return _draw(rng, Dk=3, Dv=2, M=4, N=1)


@attention_cols.case("single precision")
def _(rng):
    return in_single_precision(_draw(rng, Dk=4, Dv=6, M=3, N=5))


@attention_cols.case("rows of memory that are not contiguous")
def _(rng):
    return {name: array.T.copy().T for name, array in _draw(rng, 4, 6, 3, 5).items()}


def _softmax(scores, axis):
    exponentials = np.exp(scores)
    return exponentials / exponentials.sum(axis=axis, keepdims=True)


@attention_cols.misconception(
    "scores the keys with the values, as the notes misprint it",
    hint="Your output does not depend on Q at all. Which matrix should meet the keys?",
)
def _(Q, K, V):
    return V @ _softmax(K.T @ V / np.sqrt(len(K)), axis=0)


@attention_cols.misconception(
    "multiplies Q by K instead of K by Q and takes the softmax over axis 0",
    hint="What shape has Q.T @ K, and where in it do the items of one query lie? V has to be "
    "multiplied by something of shape (N, M).",
)
def _(Q, K, V):
    return V @ _softmax(Q.T @ K / np.sqrt(len(K)), axis=0)


@attention_cols.misconception(
    "takes the softmax over the queries instead of the items",
    hint="Add up the weights of one query: is it one? In columns the items lie along axis 0.",
)
def _(Q, K, V):
    return V @ _softmax(K.T @ Q / np.sqrt(len(K)), axis=1)


@attention_cols.misconception(
    "keeps the score matrix of the row convention and its axis 1",
    hint="The weights are right, but they lie in rows; V has its items in columns. Transpose the "
    "weights, or start with K.T @ Q.",
)
def _(Q, K, V):
    return V @ _softmax(Q.T @ K / np.sqrt(len(K)), axis=1)


@attention_cols.misconception(
    "returns the reads as rows",
    hint="The numbers are right. Each read should be a column: shape (Dv, M).",
)
def _(Q, K, V):
    return notation.attention_cols(Q, K, V).T


@attention_cols.misconception(
    "is written for rows",
    hint="Right if each row were a vector; here each column is one. Write the shape under every "
    "matrix: which product is (N, M)?",
)
def _(Q, K, V):
    return _softmax(Q @ K.T / np.sqrt(K.shape[1]), axis=1) @ V


@attention_cols.misconception(
    "leaves out the division by the square root of Dk",
    hint="The formula divides the scores before the softmax. By what?",
)
def _(Q, K, V):
    return V @ _softmax(K.T @ Q, axis=0)


@attention_cols.misconception(
    "divides by the square root of the number of items",
    hint="In the column convention the length of a key is the number of *rows* of K.",
)
def _(Q, K, V):
    return V @ _softmax(K.T @ Q / np.sqrt(K.shape[1]), axis=0)


@attention_cols.right_answer("torch's scaled_dot_product_attention, transposed")
def _(Q, K, V):
    import torch

    rows = [torch.tensor(array.T) for array in (Q, K, V)]
    return torch.nn.functional.scaled_dot_product_attention(*rows).numpy().T


@attention_cols.right_answer("a loop over queries and items")
def _(Q, K, V):
    H = np.empty((len(V), Q.shape[1]), V.dtype)
    for m in range(Q.shape[1]):
        scores = np.array([K[:, n] @ Q[:, m] for n in range(K.shape[1])]) / np.sqrt(len(K))
        H[:, m] = sum(_softmax(scores, 0)[n] * V[:, n] for n in range(K.shape[1]))
    return H


@attention_cols.right_answer("einsum")
def _(Q, K, V):
    weights = _softmax(np.einsum("dn,dm->nm", K, Q) / len(K) ** 0.5, axis=0)
    return np.einsum("en,nm->em", V, weights)


@attention_cols.right_answer("the row form, transposed before and after")
def _(Q, K, V):
    return (_softmax(Q.T @ K / np.sqrt(len(K)), axis=1) @ V.T).T
