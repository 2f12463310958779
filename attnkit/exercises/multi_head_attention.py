"""The exercises of the chapter on multi-head attention: split and merge, the layer, ablation."""

import inspect

import numpy as np

from attnkit import multi_head_attention as reference
from attnkit.checking import Question, exercise, in_single_precision, laws
from attnkit.data.multi_head_attention import planted_heads
from attnkit.exercises.self_attention import OF_EMPTY_ROWS
from attnkit.self_attention import masked_softmax
from attnkit.soft_attention import softmax as _softmax

# A length that is below zero is the one that numpy works out.
_ANY_NEGATIVE = {"1  ->  2": "for the unknown length numpy takes -2 as well as -1"}

# --------------------------------------------------------------------------- 6.1


def _same_items_in_another_order(answer, arguments):
    weights, V = arguments["weights"], arguments["V"]
    order = np.roll(np.arange(V.shape[-2]), 1)
    moved = {"weights": np.take(weights, order, axis=-1), "V": np.take(V, order, axis=-2)}
    return answer(**moved), answer(**arguments)


def _each_item_reads_itself(answer, arguments):
    weights, V = arguments["weights"], arguments["V"]
    identity = np.eye(V.shape[-2], dtype=V.dtype)
    shape = (*weights.shape[:-2], *identity.shape)
    return answer(weights=np.broadcast_to(identity, shape).copy(), V=V), V


@exercise(
    reference=reference.multi_head_read,
    number="6.1",
    title="Split, read, merge",
    section=("multi-cuts", "Cutting heads, rightly and wrongly"),
    points=4,
    minutes=20,
    difficulty=2,
    contract="weights (..., h, M, N), V (..., N, D) -> reads (..., M, D); h divides D",
    equivalent_mutants=_ANY_NEGATIVE,
    laws=[
        laws.agrees("reordering the items changes nothing", _same_items_in_another_order),
        laws.agrees("when every item reads itself, V comes back", _each_item_reads_itself),
        laws.batch_independent("weights", "V", rank=2),
        laws.read_inside_hull("V", axis=-2),
    ],
    hints=(
        "Take V of shape (2, 4) holding the numbers 0 to 7, and two heads. Which numbers belong to "
        "the first head? Compare with what your reshape gives it.",
        "A reshape keeps the numbers in their order in memory. So only *cut* the last axis with "
        "it, D into (h, d), and then *exchange* axes so that the heads stand in front of the "
        "items. The way back is the same two steps in the opposite order.",
        "`blocks = np.moveaxis(V.reshape(*V.shape[:-1], h, -1), -2, -3)`, then "
        "`reads = np.moveaxis(weights @ blocks, -3, -2)`, then "
        "`reads.reshape(*reads.shape[:-2], -1)`.",
    ),
)
def multi_head_read(weights, V):
    r"""Each head reads its own block of features with its own weights.

    `V` has been projected already. Head number $i$ (from 0) owns the features $i d$ to
    $i d + d - 1$, where $d = D / h$, and reads them with its own weights. The reads of the heads
    stand side by side, in the order of the heads:

    $$o_{m,\; i d + j} = \sum_{n} \alpha_{imn}\, V_{n,\; i d + j}$$

    where $\alpha$ is `weights`. In a loop:

    ```python
    for i in range(h):
        block = slice(i * d, (i + 1) * d)
        for m in range(M):
            terms = [weights[i, m, n] * V[n, block] for n in range(N)]
            reads[m, block] = sum(terms)
    ```

    There may be batch axes in front of both: `(B, h, M, N)` and `(B, N, D)` give `(B, M, D)`.
    """


def _reads(rng, h, M, N, d, batch=()):
    return {
        "weights": _softmax(rng.normal(size=(*batch, h, M, N))),
        "V": rng.normal(size=(*batch, N, h * d)),
    }


@multi_head_read.case("all sizes different")
def _(rng):
    return _reads(rng, h=2, M=3, N=5, d=4)


@multi_head_read.case("three heads")
def _(rng):
    return _reads(rng, h=3, M=4, N=5, d=2)


@multi_head_read.case("a batch")
def _(rng):
    return _reads(rng, h=3, M=4, N=5, d=2, batch=(2,))


@multi_head_read.case("as many heads as queries, items and features of a head")
def _(rng):
    return _reads(rng, h=3, M=3, N=3, d=3)


@multi_head_read.case("one head")
def _(rng):
    return _reads(rng, h=1, M=2, N=3, d=4)


@multi_head_read.case("one feature for each head")
def _(rng):
    return _reads(rng, h=4, M=2, N=3, d=1)


@multi_head_read.case("one query")
def _(rng):
    return _reads(rng, h=2, M=1, N=5, d=3)


@multi_head_read.case("one item")
def _(rng):
    return _reads(rng, h=2, M=3, N=1, d=4)


@multi_head_read.case("values in the thousands")
def _(rng):
    arguments = _reads(rng, h=2, M=3, N=5, d=4)
    return arguments | {"V": 1000 * arguments["V"]}


@multi_head_read.case("single precision")
def _(rng):
    return in_single_precision(_reads(rng, h=2, M=3, N=5, d=4))


@multi_head_read.case("rows of memory that are not contiguous")
def _(rng):
    arguments = _reads(rng, h=2, M=3, N=5, d=4)
    return arguments | {"V": np.asfortranarray(arguments["V"])}


def _split(V, h):
    return reference.split_heads(V, h)


def _cut(V, h):
    """The split that keeps the order in memory: right shape, wrong numbers."""
    return V.reshape(*V.shape[:-2], h, V.shape[-2], -1)


def _glue(reads):
    """The merge that keeps the order in memory."""
    return reads.reshape(*reads.shape[:-3], reads.shape[-2], -1)


def _split_by_turns(V, h):
    """Feature 0 to the first head, feature 1 to the second, as one deals cards."""
    return np.moveaxis(V.reshape(*V.shape[:-1], -1, h), -1, -3)


def _merge_by_turns(reads):
    turned = np.moveaxis(reads, -3, -1)
    return turned.reshape(*turned.shape[:-2], -1)


def _reshape_alone(name, split, merge, *, hint):
    """The mistake as one writes it for a batch, and in the two ways that forget about one."""

    @multi_head_read.misconception(name, hint=hint)
    def _(weights, V):
        return merge(weights @ split(V, weights.shape[-3]))

    @multi_head_read.misconception(f"{name}, with no room for a batch", hint=hint)
    def _(weights, V):
        one = V.reshape(weights.shape[-1], V.shape[-1])  # an error for more than one
        return merge(weights @ split(one, weights.shape[-3]))

    @multi_head_read.misconception(f"{name}, and takes a batch for features", hint=hint)
    def _(weights, V):
        h, M, N = weights.shape[-3:]
        return merge(weights @ split(V.reshape(N, -1), h)).reshape(M, -1)


_reshape_alone(
    "splits with a reshape alone",
    _cut,
    reference.merge_heads,
    hint="Reshaping (N, D) to (h, N, d) has the right shape and mixes items: the first head gets "
    "the first rows whole. Cut the last axis into (h, d) first, then exchange axes.",
)
_reshape_alone(
    "merges with a reshape alone",
    _split,
    _glue,
    hint="Your heads read the right things. But reshaping (h, M, d) to (M, h d) takes the first "
    "head's queries one after another. Bring the axis of the heads beside that of the features "
    "first.",
)
_reshape_alone(
    "splits and merges with a reshape alone",
    _cut,
    _glue,
    hint="Your two reshapes undo each other, so a round trip looks right. Between them, though, "
    "each head holds whole rows instead of its own features. Exchange axes after the cut, and "
    "before the merge.",
)


@multi_head_read.misconception(
    "deals the features out by turns",
    hint="Feature 0 to the first head, feature 1 to the second, and so on: split and merge undo "
    "each other, and yet no head owns the block that its matrix made. Cut D into (h, d), not into "
    "(d, h).",
)
def _(weights, V):
    return _merge_by_turns(weights @ _split_by_turns(V, weights.shape[-3]))


@multi_head_read.misconception(
    "deals the features out by turns and merges them in blocks",
    hint="Cut D into (h, d), not into (d, h): the first head owns the first d features.",
)
def _(weights, V):
    return reference.merge_heads(weights @ _split_by_turns(V, weights.shape[-3]))


@multi_head_read.misconception(
    "merges by turns",
    hint="Your heads read the right things; then their features alternate. In the output the whole "
    "first head comes first.",
)
def _(weights, V):
    return _merge_by_turns(weights @ _split(V, weights.shape[-3]))


@multi_head_read.misconception(
    "averages over the heads",
    hint="The reads stand side by side: h heads of d features make D features again.",
)
def _(weights, V):
    return (weights @ _split(V, weights.shape[-3])).mean(axis=-3)


@multi_head_read.misconception(
    "adds the heads up",
    hint="The reads stand side by side: h heads of d features make D features again.",
)
def _(weights, V):
    return (weights @ _split(V, weights.shape[-3])).sum(axis=-3)


@multi_head_read.misconception(
    "averages the weights before reading",
    hint="With one averaged row of weights there is only one place to look at, as with one head. "
    "Each block of features has to be read with its own head's weights.",
)
def _(weights, V):
    return weights.mean(axis=-3) @ V


@multi_head_read.misconception(
    "lets each head read all features",
    hint="Your output has h times D features. Each head reads its own D / h.",
)
def _(weights, V):
    return reference.merge_heads(weights @ V[..., None, :, :])


@multi_head_read.misconception(
    "puts the heads below each other",
    hint="You have h M rows; wanted is one row for each query, in which the heads stand side by "
    "side.",
)
def _(weights, V):
    reads = weights @ _split(V, weights.shape[-3])
    return reads.reshape(*reads.shape[:-3], -1, reads.shape[-1])


@multi_head_read.misconception(
    "does not merge",
    hint="The heads read the right things. What is left is to put them side by side: (h, M, d) "
    "becomes (M, D).",
)
def _(weights, V):
    return weights @ _split(V, weights.shape[-3])


@multi_head_read.misconception(
    "does not expect a batch",
    hint="Right without a batch. Count axes from the end, -1, -2, -3, and keep what stands before "
    "them: `V.reshape(*V.shape[:-1], h, -1)`.",
)
def _(weights, V):
    h, M, N = weights.shape[-3:]
    reads = weights @ V.reshape(N, h, -1).transpose(1, 0, 2)
    return np.moveaxis(reads, -3, -2).reshape(M, -1)


@multi_head_read.right_answer("the heads one by one")
def _(weights, V):
    h = weights.shape[-3]
    blocks = np.split(V, h, axis=-1)
    reads = [weights[..., i, :, :] @ blocks[i] for i in range(h)]
    return np.concatenate(reads, axis=-1)


@multi_head_read.right_answer("einsum")
def _(weights, V):
    cut = V.reshape(*V.shape[:-1], weights.shape[-3], -1)
    reads = np.einsum("...hmn,...nhd->...mhd", weights, cut)
    return reads.reshape(*reads.shape[:-2], -1)


@multi_head_read.right_answer("torch's unflatten and flatten")
def _(weights, V):
    import torch

    heads = torch.tensor(V).unflatten(-1, (weights.shape[-3], -1)).transpose(-2, -3)
    return (torch.tensor(weights) @ heads).transpose(-2, -3).flatten(-2)


@multi_head_read.right_answer("all features for every head, the foreign ones set to zero")
def _(weights, V):
    h, D = weights.shape[-3], V.shape[-1]
    own = np.repeat(np.eye(h, dtype=V.dtype), D // h, axis=1)[:, None, :]  # (h, 1, D)
    return (weights @ (V[..., None, :, :] * own)).sum(axis=-3)


# --------------------------------------------------------------------------- 6.2


def _weights_where_hidden(answer, arguments):
    if "mask" not in arguments:
        return None
    hidden = ~arguments["mask"][..., None, :, :] * answer(**arguments)[1]
    return hidden, np.zeros_like(hidden)


_output = {"part": lambda pair: pair[0]}
_weights = {"part": lambda pair: pair[1]}


@exercise(
    reference=reference.multi_head_attention,
    number="6.2",
    title="A whole layer with loaded weights",
    section=("multi-torch", "The layer in PyTorch"),
    points=6,
    minutes=35,
    difficulty=3,
    parts=("output", "weights"),
    contract="X (..., M, D), C (..., N, D), W_in (3 D, D), b_in (3 D,), W_out (D, D), b_out (D,), "
    "heads, mask (..., M, N) or None -> the tuple (output (..., M, D), weights (..., heads, M, N))",
    groups={"the layer": 4, "the mask": 2},
    not_allowed=(
        "torch.nn.MultiheadAttention",
        "torch.nn.functional.multi_head_attention_forward",
        "torch.nn.functional.scaled_dot_product_attention",
    ),
    equivalent_mutants=OF_EMPTY_ROWS
    | {"1  ->  2": "; and ".join([OF_EMPTY_ROWS["1  ->  2"], *_ANY_NEGATIVE.values()])}
    | {
        "C @ W_in[D:2 * D].mT + b_in[D:2 * D]  ->  C @ W_in[D:2 * D].mT" + end: (
            "the bias of the keys adds one number to all scores of a query, and softmax drops it"
        )
        for end in ("", " - b_in[D:2 * D]")
    },
    given='''\
def softmax(scores, axis=-1):
    """Weights that add to one along the axis, at any size of the scores (exercise 3.1)."""
    exponentials = np.exp(scores - scores.max(axis=axis, keepdims=True))
    return exponentials / exponentials.sum(axis=axis, keepdims=True)
''',
    laws=[
        laws.without("mask", laws.sums_to(1, along=lambda arguments: -1, **_weights)),
        laws.not_negative(**_weights),
        laws.without("mask", laws.items_permuted("C", axis=-2, **_output)),
        laws.without("mask", laws.items_permuted("C", axis=-2, output_axis=-1, **_weights)),
        laws.without("mask", laws.batch_independent("X", "C", rank=2, **_output)),
        laws.agrees("a key that the mask hides gets no weight", _weights_where_hidden),
    ],
    hints=(
        "Write the shape behind every line. Whose features do the rows of `W_in` make, and how "
        "many numbers are added up in one score of one head?",
        "Project first, with the first, second and third D rows of `W_in` and of `b_in`; then cut "
        "the projected features into heads as in exercise 6.1. Everything between is attention on "
        "the last two axes, with D / heads under the root. Then merge, and the output matrix.",
        "`Q = X @ W_in[:D].T + b_in[:D]` and so on; `scores = Q @ np.swapaxes(K, -1, -2) / "
        "np.sqrt(D // heads)` after the split; hide with `np.where(mask[..., None, :, :], scores, "
        "np.finfo(scores.dtype).min)` and, after the softmax, multiply by the mask once more.",
    ),
)
def multi_head_attention(X, C, W_in, b_in, W_out, b_out, heads, mask=None):
    r"""The whole layer, with parameters laid out as PyTorch lays them out.

    The rows of `X` ask, the rows of `C` are asked. `W_in` holds three matrices one below the
    other, for queries, keys and values, $D$ rows each, and `b_in` their biases. With
    $d = D / h$, head $i$ owns the $i$-th block of $d$ rows in each of the three:

    $$\mathrm{head}_i = \mathrm{softmax}\!\left(\frac{Q_i K_i^\top}{\sqrt{d}}\right) V_i, \qquad
    O = [\mathrm{head}_1, \dots, \mathrm{head}_h]\, W_{out}^\top + b_{out}$$

    In a loop, for one head, without a mask:

    ```python
    def project(A, part):  # part 0: queries, 1: keys, 2: values
        rows = slice(part * D + i * d, part * D + (i + 1) * d)
        return A @ W_in[rows].T + b_in[rows]

    Q, K, V = project(X, 0), project(C, 1), project(C, 2)
    weights[i] = softmax(Q @ K.T / np.sqrt(d))
    head = weights[i] @ V
    ```

    Return the tuple `(output, weights)`, with the weights of each head by itself. There may be
    batch axes in front of `X` and `C`. `softmax(scores, axis)` is given.

    `mask` is None, or boolean with True where a query may attend to an item, `(M, N)` or, with a
    batch, `(B, M, N)`; it is the same for all heads. A hidden item gets a weight of exactly zero.
    A query that may attend to nothing gets only zeros as weights, so that `b_out` alone is its
    output; NaN is wrong there, and so are equal weights. The scores may be of any size, and a
    hidden one may lie thousands above the visible ones.
    """


def _layer(rng, M, N, D, heads, batch=(), **options):
    return {
        "X": rng.normal(size=(*batch, M, D)),
        "C": rng.normal(size=(*batch, N, D)),
        "W_in": rng.normal(size=(3 * D, D)) / D**0.5,
        "b_in": rng.normal(size=3 * D),
        "W_out": rng.normal(size=(D, D)),
        "b_out": rng.normal(size=D),
        "heads": heads,
    } | options


def _visible(rng, *shape):
    """A random mask in which every query sees something."""
    mask = rng.random(shape) < 0.5
    np.put_along_axis(mask, rng.integers(shape[-1], size=(*shape[:-1], 1)), True, axis=-1)
    return mask


@multi_head_attention.case("two heads", group="the layer")
def _(rng):
    return _layer(rng, M=4, N=5, D=6, heads=2)


@multi_head_attention.case("three heads", group="the layer")
def _(rng):
    return _layer(rng, M=4, N=5, D=6, heads=3)


@multi_head_attention.case("a batch", group="the layer")
def _(rng):
    return _layer(rng, M=4, N=5, D=6, heads=2, batch=(3,))


@multi_head_attention.case("as many queries as items", group="the layer")
def _(rng):
    return _layer(rng, M=4, N=4, D=6, heads=2)


@multi_head_attention.case("one head", group="the layer")
def _(rng):
    return _layer(rng, M=2, N=5, D=3, heads=1)


@multi_head_attention.case("as many heads as features", group="the layer")
def _(rng):
    return _layer(rng, M=2, N=5, D=3, heads=3)


@multi_head_attention.case("one query, one item", group="the layer")
def _(rng):
    return _layer(rng, M=1, N=1, D=4, heads=2)


@multi_head_attention.case("scores in the thousands", group="the layer")
def _(rng):
    arguments = _layer(rng, M=3, N=5, D=4, heads=2)
    return arguments | {"X": 50 * arguments["X"], "C": 50 * arguments["C"]}


@multi_head_attention.case("single precision", group="the layer")
def _(rng):
    return in_single_precision(_layer(rng, M=4, N=5, D=6, heads=2))


@multi_head_attention.case("rows of memory that are not contiguous", group="the layer")
def _(rng):
    arguments = _layer(rng, M=4, N=5, D=6, heads=2)
    return arguments | {name: np.asfortranarray(arguments[name]) for name in ("X", "W_in")}


@multi_head_attention.case("a mask", group="the mask")
def _(rng):
    return _layer(rng, M=4, N=5, D=6, heads=2, mask=_visible(rng, 4, 5))


@multi_head_attention.case("only what came before", group="the mask")
def _(rng):
    return _layer(rng, M=4, N=4, D=6, heads=2, mask=np.tri(4, dtype=bool))


@multi_head_attention.case("a mask for each member of a batch", group="the mask")
def _(rng):
    return _layer(rng, M=4, N=5, D=6, heads=2, batch=(3,), mask=_visible(rng, 3, 4, 5))


@multi_head_attention.case("as many heads as members of the batch, with masks", group="the mask")
def _(rng):
    return _layer(rng, M=4, N=5, D=6, heads=2, batch=(2,), mask=_visible(rng, 2, 4, 5))


@multi_head_attention.case("a query that may attend to nothing", group="the mask")
def _(rng):
    mask = _visible(rng, 4, 5)
    mask[1] = False
    return _layer(rng, M=4, N=5, D=6, heads=2, mask=mask)


@multi_head_attention.case("hidden items that score thousands above the rest", group="the mask")
def _(rng):
    arguments = _layer(rng, M=3, N=5, D=4, heads=2, mask=np.tile(np.arange(5) < 3, (3, 1)))
    items = 50 * arguments["C"]
    items[3], items[4] = 100 * items[0], -100 * items[0]  # one of them, whoever asks
    return arguments | {"X": 50 * arguments["X"], "C": items}


@multi_head_attention.case("a mask, in single precision", group="the mask")
def _(rng):
    return in_single_precision(_layer(rng, M=4, N=5, D=6, heads=2, mask=_visible(rng, 4, 5)))


def _hide(scores, mask):
    """The right weights."""
    return _softmax(scores) if mask is None else masked_softmax(scores, mask[..., None, :, :])


def _projected(X, C, W_in, b_in, order=(0, 1, 2)):
    """Queries, keys and values; ``order`` says which third of the rows each is made with."""
    W, b = np.split(W_in, 3), np.split(b_in, 3)
    return [A @ W[i].T + b[i] for A, i in zip((X, C, C), order, strict=True)]


# A learner's own merge does not refuse NaN.
_merge = inspect.unwrap(reference.merge_heads)


def _attend(Q, K, V, heads, mask, split=_split, merge=_merge, scale=None, weigh=_hide):
    """Merged reads and weights, with any step replaced by a wrong one."""
    Q, K, V = (split(A, heads) for A in (Q, K, V))
    weights = weigh(Q @ K.mT / (K.shape[-1] ** 0.5 if scale is None else scale), mask)
    return merge(weights @ V), weights


def _wrong_layer(X, C, W_in, b_in, W_out, b_out, heads, mask, order=(0, 1, 2), **wrong):
    """The layer with a wrong step inside."""
    merged, weights = _attend(*_projected(X, C, W_in, b_in, order), heads, mask, **wrong)
    return merged @ W_out.T + b_out, weights


def _mistake(name, *, hint, **wrong):
    """The mistake of doing one step of the layer in this wrong way."""

    @multi_head_attention.misconception(name, hint=hint)
    def _(X, C, W_in, b_in, W_out, b_out, heads, mask=None):
        return _wrong_layer(X, C, W_in, b_in, W_out, b_out, heads, mask, **wrong)


@multi_head_attention.misconception(
    "divides by the root of D instead of D / heads",
    hint="Divide by the root of the number of terms in the dot product. How many features does "
    "one head compare?",
)
def _(X, C, W_in, b_in, W_out, b_out, heads, mask=None):
    scale = X.shape[-1] ** 0.5
    return _wrong_layer(X, C, W_in, b_in, W_out, b_out, heads, mask, scale=scale)


_mistake(
    "does not divide the scores",
    hint="Scaled dot products: divide by the root of the features of one head, D / heads.",
    scale=1.0,
)


@multi_head_attention.misconception(
    "leaves out the output matrix",
    hint="The heads stand side by side but nothing mixes them yet. What are W_out and b_out for?",
)
def _(X, C, W_in, b_in, W_out, b_out, heads, mask=None):
    return _attend(*_projected(X, C, W_in, b_in), heads, mask)


@multi_head_attention.misconception(
    "leaves out the bias of the output",
    hint="The weights are right. What is still to be added to the output?",
)
def _(X, C, W_in, b_in, W_out, b_out, heads, mask=None):
    return _wrong_layer(X, C, W_in, b_in, W_out, 0 * b_out, heads, mask)


@multi_head_attention.misconception(
    "leaves out the biases of the projections",
    hint="Each projection is W x + b. A layer fresh from PyTorch has biases of zero, so there you "
    "would not notice; a trained one has not.",
)
def _(X, C, W_in, b_in, W_out, b_out, heads, mask=None):
    return _wrong_layer(X, C, W_in, 0 * b_in, W_out, b_out, heads, mask)


_mistake(
    "takes the rows of W_in as keys, queries, values",
    hint="In W_in the matrix for the queries comes first, then keys, then values.",
    order=(1, 0, 2),
)


_mistake(
    "takes the rows of W_in as queries, values, keys",
    hint="In W_in the matrix for the queries comes first, then keys, then values.",
    order=(0, 2, 1),
)


@multi_head_attention.misconception(
    "takes the rows of W_in head by head",
    hint="You read the rows as: first head's queries, keys, values, then the second head's. In "
    "this layout all queries come first, head after head, then all keys, then all values.",
)
def _(X, C, W_in, b_in, W_out, b_out, heads, mask=None):
    D = X.shape[-1]
    rows = np.arange(3 * D).reshape(heads, 3, -1).swapaxes(0, 1).reshape(-1)
    return _wrong_layer(X, C, W_in[rows], b_in[rows], W_out, b_out, heads, mask)


@multi_head_attention.misconception(
    "uses the projections without transposing them",
    hint="A row x becomes x Wᵀ. The matrices are square, so nothing complains when you forget it.",
)
def _(X, C, W_in, b_in, W_out, b_out, heads, mask=None):
    turned = np.concatenate([W.T for W in np.split(W_in, 3)])
    return _wrong_layer(X, C, turned, b_in, W_out, b_out, heads, mask)


@multi_head_attention.misconception(
    "uses the output matrix without transposing it",
    hint="The weights are right. The last step is a linear layer: each merged row y becomes "
    "y W_outᵀ.",
)
def _(X, C, W_in, b_in, W_out, b_out, heads, mask=None):
    return _wrong_layer(X, C, W_in, b_in, W_out.T, b_out, heads, mask)


@multi_head_attention.misconception(
    "splits the input before projecting it",
    hint="If the raw features are dealt out to the heads first, each head sees only a part of "
    "every vector. Each head's matrix has D columns: project first, split afterwards.",
)
def _(X, C, W_in, b_in, W_out, b_out, heads, mask=None):
    d = X.shape[-1] // heads
    own = np.kron(np.eye(heads), np.ones((d, d))).astype(W_in.dtype)  # blocks on the diagonal
    return _wrong_layer(X, C, W_in * np.tile(own, (3, 1)), b_in, W_out, b_out, heads, mask)


_mistake(
    "splits into heads with a reshape alone",
    hint="Right shape, wrong numbers: exercise 6.1 is about this. Cut the last axis, then exchange "
    "axes.",
    split=_cut,
)


_mistake(
    "merges the heads with a reshape alone",
    hint="The weights are right, so the split is. Before you merge, bring the axis of the heads "
    "beside that of the features.",
    merge=_glue,
)


_mistake(
    "deals the features out by turns",
    hint="Cut D into (heads, d), not into (d, heads): the first head owns the first d rows of each "
    "matrix. Split and merge undo each other either way, so a round trip does not show it.",
    split=_split_by_turns,
    merge=_merge_by_turns,
)


@multi_head_attention.misconception(
    "does not expect a batch",
    hint="Right without a batch. Count axes from the end and keep what stands before them: "
    "`Q.reshape(*Q.shape[:-1], heads, d)`, then np.moveaxis(Q, -2, -3); and `.T` turns round all "
    "axes, np.swapaxes(K, -1, -2) only the last two.",
)
def _(X, C, W_in, b_in, W_out, b_out, heads, mask=None):
    def split(A, heads):
        return A.reshape(len(A), heads, W_in.shape[-1] // heads).transpose(1, 0, 2)

    return _wrong_layer(X, C, W_in, b_in, W_out, b_out, heads, mask, split=split)


@multi_head_attention.misconception(
    "takes keys and values from X",
    hint="The rows of X ask, the rows of C are asked: keys and values are made of C.",
)
def _(X, C, W_in, b_in, W_out, b_out, heads, mask=None):
    return _wrong_layer(X, X, W_in, b_in, W_out, b_out, heads, mask)


@multi_head_attention.misconception(
    "returns the average of the heads' weights",
    hint="The output is right. Return the weights of each head by itself; PyTorch averages them "
    "unless it is told average_attn_weights=False.",
)
def _(X, C, W_in, b_in, W_out, b_out, heads, mask=None):
    output, weights = reference.multi_head_attention(X, C, W_in, b_in, W_out, b_out, heads, mask)
    return output, weights.mean(axis=-3)


@multi_head_attention.misconception(
    "normalises over the queries",
    hint="Each row of weights belongs to one query and adds to one over the items, the last axis.",
)
def _(X, C, W_in, b_in, W_out, b_out, heads, mask=None):
    def weigh(scores, mask):
        return _hide(scores, mask) if mask is not None else _softmax(scores, axis=-2)

    return _wrong_layer(X, C, W_in, b_in, W_out, b_out, heads, mask, weigh=weigh)


@multi_head_attention.misconception(
    "gives a query that may attend to nothing no bias of the output",
    hint="Your weights are right. A query that reads nothing has zeros in the place of its heads; "
    "the output layer comes after them and adds its bias all the same.",
)
def _(X, C, W_in, b_in, W_out, b_out, heads, mask=None):
    output, weights = reference.multi_head_attention(X, C, W_in, b_in, W_out, b_out, heads, mask)
    return (output if mask is None else output * mask.any(axis=-1)[..., None]), weights


def _mistake_with_the_mask(name, *, hint):
    """The mistake of weights that are wrong where there is a mask, and only there."""

    def decorate(wrong):
        def weigh(scores, mask):
            return _softmax(scores) if mask is None else wrong(scores, mask)

        _mistake(name, hint=hint, weigh=weigh)
        return wrong

    return decorate


@_mistake_with_the_mask(
    "takes True in the mask for hidden",
    hint="Here True means *may attend*, as in scaled_dot_product_attention. In "
    "nn.MultiheadAttention it means the opposite.",
)
def _(scores, mask):
    return _hide(scores, ~mask)


@_mistake_with_the_mask("pays no heed to the mask", hint="What do you do with `mask`?")
def _(scores, mask):
    return _softmax(scores)


@_mistake_with_the_mask(
    "sets the hidden weights to zero and lets the rest add to less than one",
    hint="What the hidden items would have got has to go to the others: hide the scores before the "
    "softmax.",
)
def _(scores, mask):
    return _softmax(scores) * mask[..., None, :, :]


@_mistake_with_the_mask(
    "sets hidden scores to zero",
    hint="exp(0) is 1, so an item with score zero still gets weight. A hidden score has to be so "
    "low that its exponential vanishes.",
)
def _(scores, mask):
    return _softmax(scores * mask[..., None, :, :])


@_mistake_with_the_mask(
    "gives a query that may attend to nothing equal weights",
    hint="Only the query without any item is wrong. When all scores are equally low, the softmax "
    "shares evenly, as it always does. Multiply the weights by the mask once more.",
)
def _(scores, mask):
    return _softmax(np.where(mask[..., None, :, :], scores, -1e9))


@_mistake_with_the_mask(
    "adds a large negative number to the hidden scores, such as -1e9",
    hint="Only the query without any item is wrong: the same number was added to all its scores, "
    "and a softmax does not notice that. Multiply the weights by the mask once more.",
)
def _(scores, mask):
    hidden = np.where(mask[..., None, :, :], scores.dtype.type(0), scores.dtype.type(-1e9))
    return _softmax(scores + hidden)


@_mistake_with_the_mask(
    "hides after the softmax and divides by what is left",
    hint="Right while the scores are small. If a hidden score lies far above the visible ones, "
    "nothing is left of these after the softmax: hide the scores before it.",
)
def _(scores, mask):
    left = _softmax(scores) * mask[..., None, :, :]
    total = left.sum(axis=-1, keepdims=True)
    return left / np.where(total > 0, total, 1)


@_mistake_with_the_mask(
    "gives a query that may attend to nothing NaN",
    hint="Only the query without any item is wrong: there, -inf minus -inf is no number. Fill with "
    "the lowest finite number instead, and multiply the weights by the mask once more.",
)
def _(scores, mask):
    scores = np.where(mask[..., None, :, :], scores, -np.inf)
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


@_mistake_with_the_mask(
    "lines the batch of the mask up with the heads",
    hint="Weights are (B, heads, M, N), a mask is (B, M, N). Shapes line up from the right, so the "
    "batch meets the heads: an error if the two differ, wrong numbers if not. Give the mask an "
    "axis for the heads: `mask[..., None, :, :]`.",
)
def _(scores, mask):
    return _softmax(np.where(mask, scores, np.finfo(scores.dtype).min)) * mask


@multi_head_attention.right_answer("torch.nn.MultiheadAttention")
def _(X, C, W_in, b_in, W_out, b_out, heads, mask=None):
    import torch

    loaded = torch.nn.MultiheadAttention(X.shape[-1], heads, batch_first=True)
    names = ("in_proj_weight", "in_proj_bias", "out_proj.weight", "out_proj.bias")
    state = zip(names, map(torch.tensor, (W_in, b_in, W_out, b_out)), strict=True)
    loaded.to(torch.tensor(X).dtype).load_state_dict(dict(state))
    if mask is None:
        mask = np.ones((X.shape[-2], C.shape[-2]), bool)
    empty = ~mask.any(axis=-1)  # a row of which torch makes NaN
    true_is_hidden = ~torch.tensor(mask | empty[..., None])
    if mask.ndim == 3:
        true_is_hidden = true_is_hidden.repeat_interleave(heads, 0)
    items = torch.tensor(C)
    both = loaded(
        torch.tensor(X), items, items, attn_mask=true_is_hidden, average_attn_weights=False
    )
    theirs, theirs_per_head = (tensor.detach().numpy() for tensor in both)
    return (
        np.where(empty[..., None], b_out, theirs),
        np.where(empty[..., None, :, None], 0, theirs_per_head),
    )


@multi_head_attention.right_answer("a loop over the heads")
def _(X, C, W_in, b_in, W_out, b_out, heads, mask=None):
    W, b = W_in.reshape(3, heads, -1, X.shape[-1]), b_in.reshape(3, heads, -1)
    output, all_weights = b_out, []
    for i in range(heads):
        Q, K, V = (A @ W[p, i].T + b[p, i] for p, A in enumerate([X, C, C]))
        scores = Q @ K.mT / np.sqrt(Q.shape[-1]).astype(X.dtype)
        all_weights.append(_hide(scores[..., None, :, :], mask)[..., 0, :, :])
        block = slice(i * Q.shape[-1], (i + 1) * Q.shape[-1])
        output = output + all_weights[-1] @ V @ W_out[:, block].T
    return output, np.stack(all_weights, axis=-3)


@multi_head_attention.right_answer("einsum, exponentials of visible scores only")
def _(X, C, W_in, b_in, W_out, b_out, heads, mask=None):
    W, b = W_in.reshape(3, heads, -1, X.shape[-1]), b_in.reshape(3, heads, -1)
    Q = np.einsum("...md,hed->...hme", X, W[0]) + b[0][:, None]
    K = np.einsum("...nd,hed->...hne", C, W[1]) + b[1][:, None]
    V = np.einsum("...nd,hed->...hne", C, W[2]) + b[2][:, None]
    scores = np.einsum("...me,...ne->...mn", Q, K) / np.sqrt(Q.shape[-1]).astype(X.dtype)
    visible = np.ones((), bool) if mask is None else mask[..., None, :, :]
    top = np.max(scores, axis=-1, keepdims=True, where=visible, initial=-np.finfo(X.dtype).max)
    powers = np.exp(np.where(visible, scores - top, -np.inf))
    total = powers.sum(axis=-1, keepdims=True)
    weights = powers / np.where(total > 0, total, 1)
    output = np.einsum("...hmn,...hne,ohe->...mo", weights, V, W_out.reshape(-1, *W.shape[1:3]))
    return output + b_out, weights


# --------------------------------------------------------------------------- 6.3


def _heads_change_places(answer, arguments):
    reads, W = arguments["reads"], arguments["W"]
    h, d = reads.shape[1:]
    order = np.roll(np.arange(h), 1)
    columns = W.reshape(-1, h, d)[:, order].reshape(W.shape)
    moved = answer(**{**arguments, "reads": reads[:, order], "W": columns})
    return moved, answer(**arguments)[order]


def _a_head_that_reads_nothing(answer, arguments):
    silent = arguments["reads"].copy()
    silent[:, -1] = 0
    loss = answer(**{**arguments, "reads": silent})[-1:]
    return loss, np.zeros_like(loss)


@exercise(
    reference=reference.head_ablation,
    number="6.3",
    title="What is each head worth?",
    section=("multi-ablation", "What is a head worth?"),
    points=4,
    minutes=20,
    difficulty=2,
    contract="reads (B, h, d), W (A, h d), b (A,), answers (B,) -> losses (h,)",
    laws=[
        laws.items_permuted("reads", "answers", axis=0),
        laws.agrees("heads that change places take their losses along", _heads_change_places),
        laws.agrees("a head that reads nothing is worth nothing", _a_head_that_reads_nothing),
    ],
    equivalent_mutants=_ANY_NEGATIVE
    | {
        change: "in numpy no product or mean here depends on this dtype"
        for change in (
            "np.ones(reads.shape[1], dtype=reads.dtype)  ->  np.ones(reads.shape[1])",
            "np.eye(reads.shape[1], dtype=reads.dtype)  ->  np.eye(reads.shape[1])",
            "np.asarray(right, dtype=reads.dtype)  ->  right",
            "np.asarray(right, dtype=reads.dtype)  ->  np.asarray(right)",
        )
    },
    right_anyway={
        "transposed": "the output has one axis",
        "flattened": "the output has one axis",
    },
    hints=(
        "Write a small function that returns the accuracy for reads of shape (B, h, d). What has "
        "to be different in the reads when head 2 is away, and what has to stay?",
        "Make a *copy* of the reads for each head, put zeros in the place of that head only, and "
        "compare with the accuracy of all heads on the same examples.",
        "`without = reads.copy(); without[:, i] = 0`, then "
        "`(without.reshape(len(reads), -1) @ W.T + b).argmax(axis=1) == answers`, and the mean of "
        "that.",
    ),
)
def head_ablation(reads, W, b, answers):
    r"""The loss of accuracy when one head, and only this one, is taken away.

    `reads[t, i]` is what head $i$ has read for example $t$. A linear layer on the merged reads
    decides: the answer is the row of `W` with the highest score,

    $$\hat a_t = \operatorname*{argmax}_a \Big( b_a + \sum_{i} \sum_{j} W_{a,\; i d + j}\,
    \mathrm{reads}_{tij} \Big)$$

    The loss of head $i$ is the accuracy with all heads, less the accuracy with all heads but $i$.
    The accuracy is the share of examples whose answer is `answers[t]`, a row number from 0. Taking
    a head away means zeros in the place of what it has read; the other heads, `W` and `b` stay as
    they are. In a loop:

    ```python
    for i in range(h):
        for t in range(B):
            kept = reads[t].copy()
            kept[i] = 0
            scores = W @ kept.reshape(h * d) + b
            right[t] = scores.argmax() == answers[t]
        losses[i] = accuracy - right.mean()
    ```

    A loss may be negative: then the answers are better without that head.
    """


def _decisions(rng, B, h, d, A, wrong=0.3):
    """Random heads whose joint answer is right but for a share of the examples."""
    reads, W, b = rng.normal(size=(B, h, d)), rng.normal(size=(A, h * d)), rng.normal(size=A)
    answers = (reads.reshape(B, -1) @ W.T + b).argmax(axis=1)
    other = (answers + rng.integers(1, A, size=B)) % A
    return {
        "reads": reads,
        "W": W,
        "b": b,
        "answers": np.where(rng.random(B) < wrong, other, answers),
    }


@head_ablation.case("planted heads: one alone, two alike, one that harms")
def _(rng):
    return planted_heads(60, rng)


@head_ablation.case("three heads of two features")
def _(rng):
    return _decisions(rng, B=50, h=3, d=2, A=4)


@head_ablation.case("two heads of three features")
def _(rng):
    return _decisions(rng, B=50, h=2, d=3, A=5)


@head_ablation.case("as many heads as features")
def _(rng):
    return _decisions(rng, B=50, h=3, d=3, A=4)


@head_ablation.case("all answers right with all heads")
def _(rng):
    return _decisions(rng, B=40, h=4, d=2, A=3, wrong=0)


@head_ablation.case("one head")
def _(rng):
    return _decisions(rng, B=40, h=1, d=3, A=4)


@head_ablation.case("one example")
def _(rng):
    return _decisions(rng, B=1, h=3, d=2, A=4)


@head_ablation.case("reads in the thousands")
def _(rng):
    arguments = _decisions(rng, B=40, h=3, d=2, A=4)
    return arguments | {name: 1000 * arguments[name] for name in ("reads", "b")}


@head_ablation.case("single precision")
def _(rng):
    return in_single_precision(_decisions(rng, B=40, h=3, d=2, A=4))


@head_ablation.case("rows of memory that are not contiguous")
def _(rng):
    arguments = _decisions(rng, B=40, h=3, d=2, A=4)
    return arguments | {"reads": np.asfortranarray(arguments["reads"])}


def _accuracy(merged, W, b, answers):
    return ((merged @ W.T + b).argmax(axis=1) == answers).mean()


def _losses(without, reads, W, b, answers):
    """Accuracy of all heads less that of ``without(i)``, which gives merged reads."""
    everyone = _accuracy(reads.reshape(len(reads), -1), W, b, answers)
    heads = range(reads.shape[1])
    return np.array([everyone - _accuracy(without(i), W, b, answers) for i in heads])


def _silenced(reads, chosen):
    """Merged reads with zeros for the chosen heads."""
    kept = reads.copy()
    kept[:, chosen] = 0
    return kept.reshape(len(reads), -1)


def _without_columns(reads, columns):
    merged = reads.reshape(len(reads), -1).copy()
    merged[:, columns] = 0
    return merged


@head_ablation.misconception(
    "takes the heads away one after another",
    hint="Your first loss is right. Then the first head stays away while you try the second. Start "
    "from all heads each time; zeros written into the same array stay there.",
)
def _(reads, W, b, answers):
    return _losses(lambda i: _silenced(reads, slice(i + 1)), reads, W, b, answers)


@head_ablation.misconception(
    "writes zeros into the reads it was given",
    hint="Your first loss is right. Then the first head stays away while you try the second, and "
    "the caller's array is changed. Take a copy for each head: `reads.copy()`.",
)
def _(reads, W, b, answers):
    everyone = _accuracy(reads.reshape(len(reads), -1), W, b, answers)
    losses = []
    for i in range(reads.shape[1]):
        reads[:, i] = 0
        losses.append(everyone - _accuracy(reads.reshape(len(reads), -1), W, b, answers))
    return np.array(losses)


@head_ablation.misconception(
    "keeps one head instead of taking it away",
    hint="You measure what a head can do alone. Asked is what the others cannot do without it.",
)
def _(reads, W, b, answers):
    others = [np.arange(reads.shape[1]) != i for i in range(reads.shape[1])]
    return _losses(lambda i: _silenced(reads, others[i]), reads, W, b, answers)


@head_ablation.misconception(
    "returns the accuracy that is left instead of the loss",
    hint="A head without which nothing changes should get zero.",
)
def _(reads, W, b, answers):
    everyone = _accuracy(reads.reshape(len(reads), -1), W, b, answers)
    return everyone - reference.head_ablation(reads, W, b, answers)


@head_ablation.misconception(
    "returns the size of the change without its sign",
    hint="A head without which the answers get better has a loss below zero.",
)
def _(reads, W, b, answers):
    return np.abs(_losses(lambda i: _silenced(reads, i), reads, W, b, answers))


@head_ablation.misconception(
    "counts the answers that change instead of those that become wrong",
    hint="An answer may change from wrong to right. Compare with `answers` both times, not with "
    "what all heads together have said.",
)
def _(reads, W, b, answers):
    said = (reads.reshape(len(reads), -1) @ W.T + b).argmax(axis=1)
    return _losses(lambda i: _silenced(reads, i), reads, W, b, said)


@head_ablation.misconception(
    "subtracts the other way round",
    hint="A head that helps should get a positive loss.",
)
def _(reads, W, b, answers):
    return -reference.head_ablation(reads, W, b, answers)


@head_ablation.misconception(
    "divides by the accuracy of all heads",
    hint="The loss is a difference of two accuracies, not a share of one.",
)
def _(reads, W, b, answers):
    everyone = _accuracy(reads.reshape(len(reads), -1), W, b, answers)
    return reference.head_ablation(reads, W, b, answers) / everyone


@head_ablation.misconception(
    "counts examples instead of taking their share",
    hint="Accuracy is a mean: divide by the number of examples.",
)
def _(reads, W, b, answers):
    return reference.head_ablation(reads, W, b, answers) * len(reads)


@head_ablation.misconception(
    "silences every h-th feature",
    hint="In the merged reads a head's features stand together: head i owns the columns i d to "
    "i d + d - 1.",
)
def _(reads, W, b, answers):
    h = reads.shape[1]
    return _losses(lambda i: _without_columns(reads, slice(i, None, h)), reads, W, b, answers)


@head_ablation.misconception(
    "silences a block at the wrong place",
    hint="Head i starts at column i d of the merged reads, not at column i.",
)
def _(reads, W, b, answers):
    d = reads.shape[2]
    return _losses(lambda i: _without_columns(reads, slice(i, i + d)), reads, W, b, answers)


@head_ablation.misconception(
    "silences an example instead of a head",
    hint="The heads stand on the second axis of the reads: `kept[:, i] = 0`. `kept[i] = 0` blanks "
    "example i, with all its heads.",
)
def _(reads, W, b, answers):
    def without(i):
        kept = reads.copy()
        kept[i] = 0
        return kept.reshape(len(reads), -1)

    return _losses(without, reads, W, b, answers)


@head_ablation.misconception(
    "sets rows of W to zero instead of columns",
    hint="A row of W belongs to an answer, a block of its columns to a head.",
)
def _(reads, W, b, answers):
    d, merged = reads.shape[2], reads.reshape(len(reads), -1)

    def right(i):
        rows = np.arange(len(W)) // d == i
        return _accuracy(merged, np.where(rows[:, None], 0, W), b, answers)

    everyone = _accuracy(merged, W, b, answers)
    return np.array([everyone - right(i) for i in range(reads.shape[1])])


@head_ablation.misconception(
    "silences one feature instead of one head",
    hint="A head has d features. All of them have to go.",
)
def _(reads, W, b, answers):
    return _losses(lambda i: _without_columns(reads, i), reads, W, b, answers)


@head_ablation.misconception(
    "merges the features before the heads",
    hint="The columns of W go head by head. Reshape the reads as they stand, (B, h, d) to "
    "(B, h d), without exchanging axes.",
)
def _(reads, W, b, answers):
    h, d = reads.shape[1:]
    mixed = reads.swapaxes(1, 2).reshape(len(reads), h, d)

    def without(i):
        silent = reads.copy()
        silent[:, i] = 0
        return silent.swapaxes(1, 2).reshape(len(reads), -1)

    return _losses(without, mixed, W, b, answers)


@head_ablation.misconception(
    "makes the remaining heads louder",
    hint="Nothing is renormalised: the other heads stay as they are. If you zero a head's weights "
    "and let the rest add to one again, you measure another model.",
)
def _(reads, W, b, answers):
    h = reads.shape[1]
    return _losses(lambda i: _silenced(reads, i) * h / (h - 1), reads, W, b, answers)


@head_ablation.misconception(
    "puts the mean over the examples in the head's place",
    hint="That is a way to ablate, too, and gives other numbers. Here zeros are asked for.",
)
def _(reads, W, b, answers):
    def without(i):
        silent = reads.copy()
        silent[:, i] = reads[:, i].mean(axis=0)
        return silent.reshape(len(reads), -1)

    return _losses(without, reads, W, b, answers)


@head_ablation.misconception(
    "compares different examples",
    hint="With all heads and without one, measure on the same examples: else you compare easy "
    "ones with hard ones.",
)
def _(reads, W, b, answers):
    half = (len(reads) + 1) // 2
    merged = reads.reshape(len(reads), -1)
    everyone = _accuracy(merged[:half], W, b, answers[:half])
    rest = (reads[-half:], W, b, answers[-half:])
    return (
        reference.head_ablation(*rest) + everyone - _accuracy(merged[-half:], W, b, answers[-half:])
    )


@head_ablation.misconception(
    "leaves out the bias",
    hint="The layer that decides is W merged + b. Where is b?",
)
def _(reads, W, b, answers):
    return reference.head_ablation(reads, W, 0 * b, answers)


@head_ablation.misconception(
    "measures the probability of the right answer instead of the accuracy",
    hint="An example counts as right or wrong: compare the argmax with the answer.",
)
def _(reads, W, b, answers):
    def sureness(merged):
        return _softmax(merged @ W.T + b)[np.arange(len(answers)), answers].mean()

    everyone = sureness(reads.reshape(len(reads), -1))
    return np.array([everyone - sureness(_silenced(reads, i)) for i in range(reads.shape[1])])


@head_ablation.right_answer("columns of W set to zero")
def _(reads, W, b, answers):
    h, d = reads.shape[1:]
    merged = reads.reshape(len(reads), -1)
    own = np.repeat(np.arange(h), d)
    right = [_accuracy(merged, W * (own != i), b, answers) for i in range(h)]
    return _accuracy(merged, W, b, answers) - np.array(right)


@head_ablation.right_answer("what each head contributes, subtracted from the whole")
def _(reads, W, b, answers):
    parts = np.einsum("bhd,ahd->bha", reads, W.reshape(len(b), *reads.shape[1:]))
    whole = parts.sum(axis=1) + b
    right = (whole[:, None] - parts).argmax(axis=-1) == answers[:, None]  # (B, h)
    return (whole.argmax(axis=-1) == answers).mean() - right.mean(axis=0)


@head_ablation.right_answer("torch, the head deleted")
def _(reads, W, b, answers):
    import torch

    reads, W, b, answers = map(torch.tensor, (reads, W, b, answers))
    h, d = reads.shape[1:]

    def accuracy(kept):
        columns = W.unflatten(1, (h, d))[:, kept].flatten(1)
        logits = torch.nn.functional.linear(reads[:, kept].flatten(1), columns, b)
        return (logits.argmax(-1) == answers).to(reads.dtype).mean()

    everyone = list(range(h))
    return torch.stack(
        [accuracy(everyone) - accuracy([k for k in everyone if k != i]) for i in everyone]
    )


heads_in_words = Question(
    name="heads_in_words",
    title="What eight heads are, and what they are not",
    points=4,
    prompt=r"""A colleague says: "Our layer has eight heads, so it has eight times the parameters
and looks at eight different parts of the sentence. I took each head away by itself and the accuracy
stayed, so all eight can go." Four to six sentences: what is wrong with the number of parameters,
what with the eight parts, and what with the conclusion? Say what you would measure before you
prune.""",
    answer=r"""With the width $D$ fixed, each head gets $D / 8$ features; the three projections and
the output matrix together have $4 D^2$ entries (and $4 D$ biases) for any number of heads. Nothing
in the layer or its loss makes two heads different: each *can* look elsewhere, since its projections
are its own, and training makes them differ only as far as the task rewards it. If two heads do the
same, either may go without any loss, because the other still answers, and yet not both. So a loss
of zero for each head alone says that no head is *necessary given the others*, not that all are
useless. Before pruning I would take heads away together, one more at a time, and measure after each
step, on the same examples that were not used for choosing; and I would look for heads whose removal
improves the answers.""",
    scheme="""- 1 point: the number of parameters does not depend on the number of heads.
- 1 point: nothing enforces different parts; heads may be redundant.
- 1 point: redundancy hides behind ablating one at a time (two alike: each may go, not both).
- 1 point: a sensible measurement (several together or step by step, on the same or fresh data).""",
)
