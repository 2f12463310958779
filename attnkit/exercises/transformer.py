"""The exercises of the chapter on the Transformer: its block, its costs, and what its heads do."""

import inspect

import numpy as np

from attnkit import transformer as reference
from attnkit.checking import Question, exercise, in_single_precision, laws
from attnkit.multi_head_attention import multi_head_attention
from attnkit.self_attention import masked_softmax
from attnkit.soft_attention import softmax as _softmax

# --------------------------------------------------------------------------- 10.1


def _steps_that_add_nothing(answer, arguments):
    if not arguments.get("norm_first"):
        return None
    silent = ("W_out", "b_out", "W_2", "b_2")
    changed = {name: np.zeros_like(arguments[name]) for name in silent}
    return answer(**{**arguments, **changed}), arguments["X"]


def _one_number_more_at_a_place(answer, arguments):
    if not arguments.get("norm_first"):
        return None
    X = arguments["X"]
    more = np.linspace(0, np.abs(X).max(), X.shape[-2], dtype=X.dtype)[:, None]
    moved = answer(**{**arguments, "X": X + more})
    return moved - answer(**arguments), np.broadcast_to(more, moved.shape)


@exercise(
    reference=reference.transformer_block,
    number="10.1",
    title="A block, in both orders",
    section=("transformer-block", "The block"),
    points=6,
    minutes=35,
    difficulty=3,
    contract="X (..., N, D); W_in, b_in, W_out, b_out, heads and mask are for the given "
    "multi_head_attention; gain_1, bias_1, gain_2, bias_2 (D,); W_1 (H, D), b_1 (H,), W_2 (D, H), "
    "b_2 (D,); norm_first True or False -> (..., N, D)",
    groups={"post-norm": 3, "pre-norm": 3},
    not_allowed=(
        "torch.nn.TransformerEncoderLayer",
        "torch.nn.LayerNorm",
        "torch.nn.functional.layer_norm",
    ),
    given='''\
def multi_head_attention(X, C, W_in, b_in, W_out, b_out, heads, mask=None):
    """The layer of exercise 6.2: the output (..., M, D) and the weights (..., heads, M, N)."""
    Q, K, V = (
        np.moveaxis((A @ W.T + b).reshape(*A.shape[:-1], heads, -1), -2, -3)
        for A, W, b in zip((X, C, C), np.split(W_in, 3), np.split(b_in, 3))
    )
    scores = Q @ np.swapaxes(K, -1, -2) / Q.shape[-1] ** 0.5
    visible = True if mask is None else mask[..., None, :, :]
    scores = np.where(visible, scores, np.finfo(scores.dtype).min)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True)) * visible
    total = weights.sum(axis=-1, keepdims=True)
    weights = weights / np.where(total > 0, total, 1)
    reads = np.moveaxis(weights @ V, -3, -2)
    return reads.reshape(*reads.shape[:-2], -1) @ W_out.T + b_out, weights
''',
    laws=[
        laws.without("mask", laws.items_permuted("X", axis=-2, output_axis=-2)),
        laws.without("mask", laws.batch_independent("X", rank=2)),
        laws.agrees("pre-norm, and steps that add nothing: X comes out", _steps_that_add_nothing),
        laws.agrees(
            "pre-norm: one number more in all features of a place goes straight through",
            _one_number_more_at_a_place,
        ),
    ],
    hints=(
        "Draw the block: where does the path from X to the output pass through no matrix at all? "
        "In which of the two orders does it pass through a norm?",
        "Write three small functions first: the norm, which looks at one vector at a time (axis "
        "-1, with `keepdims=True`); the attention step; the feed-forward step. Then each order is "
        "two lines. The second step adds to what the first has made, not to X.",
        "`variance = ((X - mean) ** 2).mean(-1, keepdims=True)`, divided by `np.sqrt(variance + "
        "1e-5)`. Post-norm: `Y = norm(X + attend(X), gain_1, bias_1)`, then `norm(Y + feed(Y), "
        "gain_2, bias_2)`. Pre-norm: `Y = X + attend(norm(X, gain_1, bias_1))`, then `Y + "
        "feed(norm(Y, gain_2, bias_2))`.",
    ),
)
def transformer_block(
    X,
    W_in,
    b_in,
    W_out,
    b_out,
    gain_1,
    bias_1,
    W_1,
    b_1,
    W_2,
    b_2,
    gain_2,
    bias_2,
    heads,
    norm_first=False,
    mask=None,
):
    r"""One block of a Transformer, with its norms behind the steps or in front of them.

    A block takes two steps. *Attend* lets the places look at one another: it is the output of
    `multi_head_attention(X, X, W_in, b_in, W_out, b_out, heads, mask)`, which is given. *Feed*
    works on each place by itself, with a hidden layer of $H$ numbers:

    $$\mathrm{feed}(y) = W_2 \max(0,\; W_1 y + b_1) + b_2$$

    Each step adds to what it was given, and a norm keeps the numbers in bounds:

    $$
    \begin{aligned}
    \text{post-norm:} \quad
    y &= \mathrm{norm}_1(x + \mathrm{attend}(x)) \\
    z &= \mathrm{norm}_2(y + \mathrm{feed}(y)) \\
    \text{pre-norm:} \quad
    y &= x + \mathrm{attend}(\mathrm{norm}_1(x)) \\
    z &= y + \mathrm{feed}(\mathrm{norm}_2(y))
    \end{aligned}
    $$

    Return $z$. With `norm_first=False` the norms stand behind the sums (*post-norm*, as in the
    paper), with True in front of the steps (*pre-norm*). The norm treats each vector by
    itself; with the mean $\mu$ and the variance $\sigma^2$ of its $D$ features (divided by $D$,
    not by $D - 1$), and $\epsilon = 10^{-5}$:

    $$\mathrm{norm}_i(x) = \gamma_i \odot \frac{x - \mu}{\sqrt{\sigma^2 + \epsilon}} + \beta_i$$

    Its gain $\gamma_i$ is `gain_1` or `gain_2`, its bias $\beta_i$ is `bias_1` or `bias_2`; `b_1`
    and `b_2` belong to the feed-forward step. In a loop, for post-norm:

    ```python
    A, _ = multi_head_attention(X, X, W_in, b_in, W_out, b_out, heads, mask)
    for n in range(N):
        y = norm(X[n] + A[n], gain_1, bias_1)
        h = [max(0, W_1[f] @ y + b_1[f]) for f in range(H)]
        Z[n] = norm(y + W_2 @ h + b_2, gain_2, bias_2)
    ```

    In pre-norm, attention is given the normalised vectors as `X` and as `C`. There may be batch
    axes in front of `X`. `mask` is None or boolean, True where a place may attend; pass it on.
    Nothing else comes behind the block: a stack of pre-norm blocks has one more norm at its very
    end, which is not yours.
    """


def _parameters(rng, N, D, H, heads, batch=(), **options):
    return {
        "X": rng.normal(size=(*batch, N, D)),
        "W_in": rng.normal(size=(3 * D, D)) / D**0.5,
        "b_in": rng.normal(size=3 * D),
        "W_out": rng.normal(size=(D, D)) / D**0.5,
        "b_out": rng.normal(size=D),
        "gain_1": rng.uniform(0.5, 2, size=D),
        "bias_1": rng.normal(size=D),
        "W_1": rng.normal(size=(H, D)) / D**0.5,
        "b_1": rng.normal(size=H),
        "W_2": rng.normal(size=(D, H)) / H**0.5,
        "b_2": rng.normal(size=D),
        "gain_2": rng.uniform(0.5, 2, size=D),
        "bias_2": rng.normal(size=D),
        "heads": heads,
    } | options


def _causal(N):
    return np.tri(N, dtype=bool)


def _both_orders(name):
    """The same case in both orders, each for the points of its own group."""

    def register(draw):
        @transformer_block.case(name, group="post-norm")
        def _(rng):
            return draw(rng)

        @transformer_block.case(f"{name}, pre-norm", group="pre-norm")
        def _(rng):
            return draw(rng) | {"norm_first": True}

    return register


@_both_orders("four different sizes")
def _(rng):
    return _parameters(rng, N=5, D=6, H=8, heads=3)


@_both_orders("a batch")
def _(rng):
    return _parameters(rng, N=5, D=6, H=9, heads=2, batch=(3,))


@_both_orders("as many places as features and hidden numbers")
def _(rng):
    return _parameters(rng, N=4, D=4, H=4, heads=2)


@_both_orders("each place sees only what came before")
def _(rng):
    return _parameters(rng, N=5, D=6, H=8, heads=2, mask=_causal(5))


@_both_orders("a mask for each member of a batch")
def _(rng):
    mask = _causal(4) | (rng.random((2, 4, 4)) < 0.3)
    return _parameters(rng, N=4, D=6, H=5, heads=2, batch=(2,), mask=mask)


@_both_orders("one place")
def _(rng):
    return _parameters(rng, N=1, D=6, H=8, heads=2)


@_both_orders("numbers in the thousands")
def _(rng):
    arguments = _parameters(rng, N=5, D=6, H=8, heads=2)
    return arguments | {"X": 1000 * arguments["X"]}


@_both_orders("numbers so small that epsilon counts")
def _(rng):
    arguments = _parameters(rng, N=5, D=6, H=8, heads=2)
    return arguments | {name: 1e-3 * arguments[name] for name in ("X", "W_out", "b_out")}


@_both_orders("single precision")
def _(rng):
    return in_single_precision(_parameters(rng, N=5, D=6, H=8, heads=2))


@_both_orders("rows of memory that are not contiguous")
def _(rng):
    arguments = _parameters(rng, N=5, D=6, H=8, heads=2)
    return arguments | {name: np.asfortranarray(arguments[name]) for name in ("X", "W_in", "W_1")}


@transformer_block.case("a place whose features become all equal", group="post-norm")
def _(rng):
    arguments = _parameters(rng, N=5, D=6, H=8, heads=2)
    for name in ("W_out", "b_out"):
        arguments[name] *= 0
    arguments["X"][2] = 1.5
    return arguments


# A learner's own attention does not refuse NaN.
_attention = inspect.unwrap(multi_head_attention)


def _norm(X, gain, bias):
    return _norm_with(X, gain, bias, lambda variance: (variance + 1e-5) ** 0.5)


def _norm_with(X, gain, bias, root, axis=-1):
    centred = X - X.mean(axis=axis, keepdims=True)
    return gain * centred / root((centred**2).mean(axis=axis, keepdims=True)) + bias


def _relu(H):
    return np.maximum(H, 0)


def _wire(X, attend, feed, norm_1, norm_2, norm_first):
    """The right order of the steps."""
    if norm_first:
        Y = X + attend(norm_1(X))
        return Y + feed(norm_2(Y))
    Y = norm_1(X + attend(X))
    return norm_2(Y + feed(Y))


def _feed(Y, W_1, b_1, W_2, b_2, bend):
    return bend(Y @ W_1.T + b_1) @ W_2.T + b_2


def _block(
    X,
    W_in,
    b_in,
    W_out,
    b_out,
    gain_1,
    bias_1,
    W_1,
    b_1,
    W_2,
    b_2,
    gain_2,
    bias_2,
    heads,
    norm_first=False,
    mask=None,
    norm=_norm,
    bend=_relu,
    feed=_feed,
    wire=_wire,
    see=None,
):
    """The block, with any of its parts replaced by a wrong one."""
    mask = see(mask) if see else mask
    return wire(
        X,
        lambda X, C=None: _attention(
            X, X if C is None else C, W_in, b_in, W_out, b_out, heads, mask
        )[0],
        lambda Y: feed(Y, W_1, b_1, W_2, b_2, bend),
        lambda X: norm(X, gain_1, bias_1),
        lambda X: norm(X, gain_2, bias_2),
        norm_first,
    )


def _mistake(name, *, hint, **wrong):
    """The mistake of getting one part of the block wrong in this way."""

    @transformer_block.misconception(name, hint=hint)
    def _(*given, **named):
        return _block(*given, **named, **wrong)


def _residual_normalised(X, attend, feed, norm_1, norm_2, norm_first):
    if not norm_first:
        return _wire(X, attend, feed, norm_1, norm_2, norm_first)
    X = norm_1(X)
    Y = norm_2(X + attend(X))
    return Y + feed(Y)


def _no_residual(X, attend, feed, norm_1, norm_2, norm_first):
    if norm_first:
        return feed(norm_2(attend(norm_1(X))))
    return norm_2(feed(norm_1(attend(X))))


def _no_residual_of_the_first_step(X, attend, feed, norm_1, norm_2, norm_first):
    Y = attend(norm_1(X)) if norm_first else norm_1(attend(X))
    return Y + feed(norm_2(Y)) if norm_first else norm_2(Y + feed(Y))


def _no_residual_of_the_second_step(X, attend, feed, norm_1, norm_2, norm_first):
    if norm_first:
        return feed(norm_2(X + attend(norm_1(X))))
    return norm_2(feed(norm_1(X + attend(X))))


def _from_the_beginning(X, attend, feed, norm_1, norm_2, norm_first):
    if norm_first:
        return X + feed(norm_2(X + attend(norm_1(X))))
    return norm_2(X + feed(norm_1(X + attend(X))))


def _side_by_side(X, attend, feed, norm_1, norm_2, norm_first):
    if norm_first:
        return X + attend(norm_1(X)) + feed(norm_2(X))
    return norm_2(norm_1(X + attend(X)) + feed(X))


def _one_norm_for_both(X, attend, feed, norm_1, norm_2, norm_first):
    return _wire(X, attend, feed, norm_1, norm_1, norm_first)


def _norms_exchanged(X, attend, feed, norm_1, norm_2, norm_first):
    return _wire(X, attend, feed, norm_2, norm_1, norm_first)


def _orders_exchanged(X, attend, feed, norm_1, norm_2, norm_first):
    return _wire(X, attend, feed, norm_1, norm_2, not norm_first)


def _always_behind(X, attend, feed, norm_1, norm_2, norm_first):
    return _wire(X, attend, feed, norm_1, norm_2, False)


def _always_first(X, attend, feed, norm_1, norm_2, norm_first):
    return _wire(X, attend, feed, norm_1, norm_2, True)


def _norm_of_the_step_alone(X, attend, feed, norm_1, norm_2, norm_first):
    if norm_first:
        return _wire(X, attend, feed, norm_1, norm_2, norm_first)
    Y = X + norm_1(attend(X))
    return Y + norm_2(feed(Y))


def _one_more_norm(X, attend, feed, norm_1, norm_2, norm_first):
    Z = _wire(X, attend, feed, norm_1, norm_2, norm_first)
    return norm_2(Z) if norm_first else Z


def _asks_the_bare_ones(X, attend, feed, norm_1, norm_2, norm_first):
    if not norm_first:
        return _wire(X, attend, feed, norm_1, norm_2, norm_first)
    Y = X + attend(norm_1(X), X)
    return Y + feed(norm_2(Y))


def _feed_before_attend(X, attend, feed, norm_1, norm_2, norm_first):
    return _wire(X, feed, attend, norm_1, norm_2, norm_first)


def _unbiased(X, gain, bias):
    D = X.shape[-1]
    return _norm_with(X, gain, bias, lambda variance: (variance * D / max(D - 1, 1) + 1e-5) ** 0.5)


def _epsilon_outside(X, gain, bias):
    return _norm_with(X, gain, bias, lambda variance: variance**0.5 + 1e-5)


def _no_epsilon(X, gain, bias):
    return _norm_with(X, gain, bias, lambda variance: variance**0.5)


def _other_epsilon(X, gain, bias):
    return _norm_with(X, gain, bias, lambda variance: (variance + 1e-6) ** 0.5)


def _no_root(X, gain, bias):
    return _norm_with(X, gain, bias, lambda variance: variance + 1e-5)


def _over_the_places(X, gain, bias):
    return _norm_with(X, gain, bias, lambda variance: (variance + 1e-5) ** 0.5, axis=-2)


def _over_everything(X, gain, bias):
    return _norm_with(X, gain, bias, lambda variance: (variance + 1e-5) ** 0.5, axis=(-2, -1))


def _no_gain_no_bias(X, gain, bias):
    return _norm(X, np.ones_like(gain), np.zeros_like(bias))


def _no_gain(X, gain, bias):
    return _norm(X, np.ones_like(gain), bias)


def _no_bias(X, gain, bias):
    return _norm(X, gain, np.zeros_like(bias))


def _mean_square(X, gain, bias):
    return gain * X / ((X**2).mean(axis=-1, keepdims=True) + 1e-5) ** 0.5 + bias


def _no_b_1(Y, W_1, b_1, W_2, b_2, bend):
    return _feed(Y, W_1, np.zeros_like(b_1), W_2, b_2, bend)


def _no_b_2(Y, W_1, b_1, W_2, b_2, bend):
    return _feed(Y, W_1, b_1, W_2, np.zeros_like(b_2), bend)


def _no_b_at_all(Y, W_1, b_1, W_2, b_2, bend):
    return _feed(Y, W_1, np.zeros_like(b_1), W_2, np.zeros_like(b_2), bend)


def _gelu(H):
    from math import erf

    return H / 2 * (1 + np.vectorize(erf)(H / 2**0.5))


def _gelu_with_tanh(H):
    return H / 2 * (1 + np.tanh((2 / np.pi) ** 0.5 * (H + 0.044715 * H**3)))


def _straight(H):
    return H


def _nothing_hidden(mask):
    return None


def _turned_round(mask):
    return None if mask is None else ~mask


_mistake(
    "puts the norm on the residual path, too",
    hint="In pre-norm you overwrite X with norm(X) and then add to that. Only what the step "
    "*reads* is normalised; what it is added to is X as it was. Set `W_out` and `W_2` and their "
    "biases to zero: X should come out untouched.",
    wire=_residual_normalised,
)
_mistake(
    "leaves out the residual path",
    hint="Each step adds to what it was given: X plus what attention says, Y plus what the "
    "feed-forward step says. Without it attention alone draws all places together.",
    wire=_no_residual,
)
_mistake(
    "leaves out the residual path around attention",
    hint="The second step adds to what it was given; so should the first.",
    wire=_no_residual_of_the_first_step,
)
_mistake(
    "leaves out the residual path around the feed-forward step",
    hint="The first step adds to what it was given; so should the second.",
    wire=_no_residual_of_the_second_step,
)
_mistake(
    "adds the second step to the X of the beginning",
    hint="The feed-forward step adds to what the attention step has made. If it adds to X, what "
    "attention wrote is lost on the path.",
    wire=_from_the_beginning,
)
_mistake(
    "lets both steps read X, side by side",
    hint="Some models do this, and it is another block. Here the feed-forward step reads what the "
    "attention step has made.",
    wire=_side_by_side,
)
_mistake(
    "uses the first norm twice",
    hint="Each norm has a gain and a bias of its own. In a new layer they are all ones and zeros, "
    "and nobody notices.",
    wire=_one_norm_for_both,
)
_mistake(
    "exchanges the two norms",
    hint="`gain_1` and `bias_1` belong to the attention step, `gain_2` and `bias_2` to the "
    "feed-forward step.",
    wire=_norms_exchanged,
)
_mistake(
    "exchanges the two orders",
    hint="Both of your orders are right, each in the other's place. `norm_first=False` is the one "
    "of the paper, with the norm behind the sum.",
    wire=_orders_exchanged,
)
_mistake(
    "stays post-norm when the norms should come first",
    hint="Right with `norm_first=False`. With True each norm moves in front of its step, inside "
    "the sum.",
    wire=_always_behind,
)
_mistake(
    "stays pre-norm when the norms should stand behind",
    hint="Right with `norm_first=True`. With False each norm is taken of the whole sum, "
    "X + attend(X).",
    wire=_always_first,
)
_mistake(
    "normalises the step and not the sum",
    hint="In post-norm, what is normalised is the *sum* of X and the step: "
    "norm(X + attend(X)), not X + norm(attend(X)).",
    wire=_norm_of_the_step_alone,
)
_mistake(
    "adds a norm behind a pre-norm block",
    hint="A stack of such blocks has one more norm, once, at its very end. The block itself "
    "returns its sum as it is.",
    wire=_one_more_norm,
)
_mistake(
    "normalises who asks and not who is asked",
    hint="In pre-norm the whole step reads normalised vectors. Give norm(X) to "
    "`multi_head_attention` twice, as `X` and as `C`.",
    wire=_asks_the_bare_ones,
)
_mistake(
    "takes the feed-forward step before attention",
    hint="First the places look at one another, then each works on what it has read.",
    wire=_feed_before_attend,
)
_mistake(
    "divides the variance by D - 1",
    hint="The variance of a norm is the plain mean of the squares, divided by D. `np.var` does "
    "that, `torch.var` does not unless told so.",
    norm=_unbiased,
)
_mistake(
    "adds epsilon outside the root",
    hint="Is your epsilon inside the root? It is added to the variance, before the root.",
    norm=_epsilon_outside,
)
_mistake(
    "leaves out epsilon",
    hint="A vector of equal features has the variance zero, and zero divided by zero is NaN. Add "
    "epsilon to the variance, under the root.",
    norm=_no_epsilon,
)
_mistake(
    "takes another epsilon",
    hint="Nearly. How small is epsilon here? Look at the case with small numbers.",
    norm=_other_epsilon,
)
_mistake(
    "divides by the variance instead of its root",
    hint="After a norm the features of a vector have the variance one. Divide by the standard "
    "deviation, the root of the variance.",
    norm=_no_root,
)
_mistake(
    "normalises over the places",
    hint="Each place is normalised by itself, over its features: axis -1. Over axis -2 the places "
    "would see one another, and later ones too.",
    norm=_over_the_places,
)
_mistake(
    "normalises all places together",
    hint="Each vector has a mean and a variance of its own: give the axis, -1, and keep it with "
    "`keepdims=True`.",
    norm=_over_everything,
)
_mistake(
    "leaves out gain and bias",
    hint="After the division each feature is multiplied by its gain and its bias is added. In a "
    "new layer they are ones and zeros, and nobody notices.",
    norm=_no_gain_no_bias,
)
_mistake(
    "leaves out the gain",
    hint="Before the bias is added, each feature is multiplied by its gain. In a new layer all "
    "gains are one, and nobody notices.",
    norm=_no_gain,
)
_mistake(
    "leaves out the bias of the norms",
    hint="Each norm ends by adding its bias. In a new layer it is zero, and nobody notices.",
    norm=_no_bias,
)
_mistake(
    "leaves out b_1",
    hint="The hidden layer has a bias, too: it is added before what is negative is cut off.",
    feed=_no_b_1,
)
_mistake(
    "leaves out b_2",
    hint="The feed-forward step adds `b_2` to what it has made of the hidden layer.",
    feed=_no_b_2,
)
_mistake(
    "leaves out b_1 and b_2",
    hint="Both layers of the feed-forward step have a bias: `b_1` is added before what is negative "
    "is cut off, `b_2` after the second matrix.",
    feed=_no_b_at_all,
)
_mistake(
    "divides without subtracting the mean",
    hint="That is another norm (root mean square), which some models use. Here the mean is "
    "subtracted first.",
    norm=_mean_square,
)
_mistake(
    "bends with a GELU",
    hint="Many later models do. Here the hidden layer is cut off at zero: max(0, ...).",
    bend=_gelu,
)
_mistake(
    "bends with a GELU made of a tanh",
    hint="Many later models do. Here the hidden layer is cut off at zero: max(0, ...).",
    bend=_gelu_with_tanh,
)
_mistake(
    "does not bend",
    hint="Two matrices in a row are one matrix. What stands between them in the formula?",
    bend=_straight,
)
_mistake(
    "does not pass the mask on",
    hint="Right without a mask. Give it to `multi_head_attention`.",
    see=_nothing_hidden,
)
_mistake(
    "reads True as hidden",
    hint="In this book True means: may attend. PyTorch's layers mean the opposite.",
    see=_turned_round,
)


def _in_torch(X, *weights):
    import torch

    return [torch.tensor(array) for array in (X, *weights)]


@transformer_block.right_answer("torch's layer norm and attention, step by step")
def _(
    X, W_in, b_in, W_out, b_out, gain_1, bias_1, W_1, b_1, W_2, b_2, gain_2, bias_2, heads,
    norm_first=False, mask=None,
):  # fmt: skip
    import torch
    import torch.nn.functional as F

    W_in, b_in, W_out, b_out, gain_1, bias_1, W_1, b_1, W_2, b_2, gain_2, bias_2 = _in_torch(
        W_in, b_in, W_out, b_out, gain_1, bias_1, W_1, b_1, W_2, b_2, gain_2, bias_2
    )
    X = torch.tensor(X)
    visible = None if mask is None else torch.tensor(mask)[..., None, :, :]

    def attend(X):
        Q, K, V = (
            A.unflatten(-1, (heads, -1)).transpose(-2, -3)
            for A in F.linear(X, W_in, b_in).chunk(3, -1)
        )
        read = F.scaled_dot_product_attention(Q, K, V, attn_mask=visible)
        return F.linear(read.transpose(-2, -3).flatten(-2), W_out, b_out)

    def feed(X):
        return F.linear(F.linear(X, W_1, b_1).relu(), W_2, b_2)

    def norm(X, gain, bias):
        return F.layer_norm(X, X.shape[-1:], gain, bias)

    if norm_first:
        X = X + attend(norm(X, gain_1, bias_1))
        return X + feed(norm(X, gain_2, bias_2))
    X = norm(X + attend(X), gain_1, bias_1)
    return norm(X + feed(X), gain_2, bias_2)


@transformer_block.right_answer("torch's encoder layer with copied weights")
def _(
    X, W_in, b_in, W_out, b_out, gain_1, bias_1, W_1, b_1, W_2, b_2, gain_2, bias_2, heads,
    norm_first=False, mask=None,
):  # fmt: skip
    import torch

    X, *weights = _in_torch(
        X, W_in, b_in, W_out, b_out, W_1, b_1, W_2, b_2, gain_1, bias_1, gain_2, bias_2
    )
    layer = torch.nn.TransformerEncoderLayer(
        X.shape[-1], heads, len(b_1), dropout=0.0, batch_first=True, norm_first=norm_first
    )
    for parameter, weight in zip(layer.parameters(), weights, strict=True):
        parameter.data = weight
    if mask is None:
        return layer(X)
    hidden = ~torch.tensor(mask)
    if mask.ndim == 2:
        return layer(X, src_mask=hidden)
    return layer(X, src_mask=hidden.repeat_interleave(heads, 0))


@transformer_block.right_answer("one list of steps for both orders")
def _(
    X, W_in, b_in, W_out, b_out, gain_1, bias_1, W_1, b_1, W_2, b_2, gain_2, bias_2, heads,
    norm_first=False, mask=None,
):  # fmt: skip
    def norm(X, gain, bias):
        spread = np.sqrt(X.var(axis=-1, keepdims=True) + X.dtype.type(1e-5))
        return (X - X.mean(axis=-1, keepdims=True)) / spread * gain + bias

    def attend(X):
        return _attention(X, X, W_in, b_in, W_out, b_out, heads, mask)[0]

    def feed(X):
        return np.einsum("df,...nf->...nd", W_2, np.maximum(X @ W_1.T + b_1, 0)) + b_2

    for step, gain, bias in ((attend, gain_1, bias_1), (feed, gain_2, bias_2)):
        X = X + step(norm(X, gain, bias)) if norm_first else norm(X + step(X), gain, bias)
    return X


# --------------------------------------------------------------------------- 10.2


def _items(arguments):
    return -1


def _other_blocks(answer, arguments):
    return answer(**{**arguments, "block": arguments["block"] + 1}), answer(**arguments)


def _blocks_in_another_order(answer, arguments):
    scores, V = arguments["scores"], arguments["V"]
    moved = {"scores": scores[..., ::-1].copy(), "V": V[..., ::-1, :].copy()}
    return answer(**moved, block=arguments["block"]), answer(**arguments)


@exercise(
    reference=reference.blockwise_attention,
    number="10.2",
    title="Softmax in blocks",
    section=("transformer-online", "Softmax in blocks"),
    points=5,
    minutes=30,
    difficulty=2,
    contract="scores (..., M, N), V (..., N, Dv), block from 1 -> the read (..., M, Dv)",
    not_allowed=(
        "scipy.special.softmax",
        "torch.softmax",
        "torch.nn.functional.scaled_dot_product_attention",
    ),
    laws=[
        laws.shift_invariant("scores", along=_items),
        laws.agrees("the size of the blocks changes nothing", _other_blocks),
        laws.agrees("reordering the items changes nothing", _blocks_in_another_order),
        laws.read_inside_hull("V", axis=-2),
    ],
    hints=(
        "After the first block you hold a sum of exponentials, each relative to the largest score "
        "*so far*. The second block brings a larger one. What are your sums relative to now, and "
        "what have they to be multiplied by?",
        "Carry three things for each query: the largest score, the sum of the exponentials, and "
        "the sum of the exponentials times the values. For each block find the new largest score, "
        "shrink *both* sums by exp(old - new), add the block's share to both. Divide once, at the "
        "end.",
        "`new = np.maximum(top, s.max(-1, keepdims=True))`; `shrink = np.exp(top - new)`; "
        "`e = np.exp(s - new)`; `total = shrink * total + e.sum(-1, keepdims=True)`; "
        "`read = shrink * read + e @ V[..., a:b, :]`; `top = new`. Here "
        "`s = scores[..., a:b]` and `b = a + block`, for each `a` in `range(0, N, block)`. Start "
        "with `top = -np.inf`, `total = 0` and `read = 0`, and return `read / total`.",
    ),
)
def blockwise_attention(scores, V, block):
    r"""The softmax read, one block of items after the other, with one look at each.

    Wanted is what softmax attention reads:

    $$o_m = \sum_n \frac{\exp(s_{mn})}{\sum_j \exp(s_{mj})}\, v_n$$

    but the row of weights must never exist as a whole. Go through the items in blocks of `block`,
    and keep for each query only three things: the largest score $t$ so far, the sum $\ell$ of the
    exponentials so far, and the sum $o$ of the exponentials times the values, both relative to
    $t$. When a block brings a larger score $t'$, what was summed before has to shrink:

    $$
    \begin{aligned}
    \ell &\leftarrow e^{t - t'} \ell + \sum_{n} e^{s_n - t'} \\
    o &\leftarrow e^{t - t'} o + \sum_{n} e^{s_n - t'} v_n \\
    t &\leftarrow t'
    \end{aligned}
    $$

    The sums run over the items $n$ of the new block. In the end the read is $o / \ell$. As a loop,
    for one query and blocks of one item:

    ```python
    t, total, o = -inf, 0.0, zeros
    for n in range(N):
        bigger = max(t, s[n])
        total = total * exp(t - bigger) + exp(s[n] - bigger)
        o = o * exp(t - bigger) + exp(s[n] - bigger) * V[n]
        t = bigger
    read = o / total
    ```

    `block` need not divide the number of items: the last block may be shorter, and a block may be
    larger than everything. The scores may have any size, and any block may lie a thousand above or
    below the others. There may be batch axes in front of `scores` and `V`. The check sees what you
    return, not how much you held at a time: that is between you and the loop.
    """


def _scored(rng, M, N, Dv, block, batch=(), scale=1.0):
    return {
        "scores": scale * rng.normal(size=(*batch, M, N)),
        "V": rng.normal(size=(*batch, N, Dv)),
        "block": block,
    }


@blockwise_attention.case("two blocks of three items")
def _(rng):
    return _scored(rng, M=3, N=6, Dv=4, block=3)


@blockwise_attention.case("a last block that is shorter")
def _(rng):
    return _scored(rng, M=3, N=8, Dv=4, block=3)


@blockwise_attention.case("blocks of one item")
def _(rng):
    return _scored(rng, M=3, N=5, Dv=4, block=1)


@blockwise_attention.case("a block larger than everything")
def _(rng):
    return _scored(rng, M=3, N=5, Dv=4, block=8)


@blockwise_attention.case("as many queries as items and features")
def _(rng):
    return _scored(rng, M=4, N=4, Dv=4, block=2)


@blockwise_attention.case("a batch")
def _(rng):
    return _scored(rng, M=3, N=7, Dv=4, block=2, batch=(2,))


@blockwise_attention.case("scores that rise from block to block")
def _(rng):
    arguments = _scored(rng, M=3, N=8, Dv=4, block=2)
    return arguments | {"scores": np.sort(3 * arguments["scores"], axis=-1)}


@blockwise_attention.case("scores that fall from block to block")
def _(rng):
    arguments = _scored(rng, M=3, N=8, Dv=4, block=2)
    return arguments | {"scores": -np.sort(3 * arguments["scores"], axis=-1)}


@blockwise_attention.case("all scores equal")
def _(rng):
    return _scored(rng, M=3, N=7, Dv=4, block=3, scale=0.0)


@blockwise_attention.case("all scores a thousand below zero")
def _(rng):
    arguments = _scored(rng, M=3, N=7, Dv=4, block=3)
    return arguments | {"scores": arguments["scores"] - 1000}


@blockwise_attention.case("a later block a thousand below the first")
def _(rng):
    arguments = _scored(rng, M=3, N=6, Dv=4, block=2)
    arguments["scores"][:, 2:4] -= 1000
    return arguments


@blockwise_attention.case("a later block a thousand above the first")
def _(rng):
    arguments = _scored(rng, M=3, N=6, Dv=4, block=2)
    arguments["scores"][:, 2:4] += 1000
    return arguments


@blockwise_attention.case("one query a thousand below the others")
def _(rng):
    arguments = _scored(rng, M=3, N=6, Dv=4, block=2)
    arguments["scores"][1] -= 1000
    return arguments


@blockwise_attention.case("scores between -1000 and 1000")
def _(rng):
    arguments = _scored(rng, M=3, N=8, Dv=4, block=3)
    return arguments | {"scores": rng.uniform(-1000, 1000, size=(3, 8))}


@blockwise_attention.case("one item")
def _(rng):
    return _scored(rng, M=3, N=1, Dv=4, block=2)


@blockwise_attention.case("single precision")
def _(rng):
    return in_single_precision(_scored(rng, M=3, N=8, Dv=4, block=3))


@blockwise_attention.case("rows of memory that are not contiguous")
def _(rng):
    arguments = _scored(rng, M=3, N=7, Dv=4, block=2)
    return arguments | {name: np.asfortranarray(arguments[name]) for name in ("scores", "V")}


def _pieces(scores, V, block):
    """Each block's scores and values."""
    for start in range(0, scores.shape[-1], block):
        yield scores[..., start : start + block], V[..., start : start + block, :]


def _largest(scores):
    return scores.max(axis=-1, keepdims=True)


def _summed(exponentials):
    return exponentials.sum(axis=-1, keepdims=True)


@blockwise_attention.misconception(
    "does not shrink what was summed before",
    hint="Each block's exponentials are relative to another largest score, and you add them up as "
    "if they were alike. When the largest score moves from t to t', multiply both sums by "
    "exp(t - t').",
)
def _(scores, V, block):
    top, total, read = -np.inf, 0, 0
    for s, v in _pieces(scores, V, block):
        top = np.maximum(top, _largest(s))
        total = total + _summed(np.exp(s - top))
        read = read + np.exp(s - top) @ v
    return read / total


@blockwise_attention.misconception(
    "measures each block from its own largest score and adds up",
    hint="The largest exponential of each block is then one, so a block of low scores counts as "
    "much as one of high scores. All exponentials have to be relative to *one* score: the largest "
    "so far.",
)
def _(scores, V, block):
    total = read = 0
    for s, v in _pieces(scores, V, block):
        total = total + _summed(np.exp(s - _largest(s)))
        read = read + np.exp(s - _largest(s)) @ v
    return read / total


@blockwise_attention.misconception(
    "shrinks the new block as well",
    hint="What the new block brings is relative to the new largest score already. Shrink the old "
    "sums first, then add.",
)
def _(scores, V, block):
    top, total, read = -np.inf, 0, 0
    for s, v in _pieces(scores, V, block):
        new = np.maximum(top, _largest(s))
        total = np.exp(top - new) * (total + _summed(np.exp(s - new)))
        read = np.exp(top - new) * (read + np.exp(s - new) @ v)
        top = new
    return read / total


@blockwise_attention.misconception(
    "shrinks the denominator and not the read",
    hint="Both sums are relative to the largest score so far: the read has to shrink along with "
    "the denominator.",
)
def _(scores, V, block):
    top, total, read = scores[..., :1], 0, 0
    for s, v in _pieces(scores, V, block):
        new = np.maximum(top, _largest(s))
        total = np.exp(top - new) * total + _summed(np.exp(s - new))
        read = read + np.exp(s - new) @ v
        top = new
    return read / total


@blockwise_attention.misconception(
    "shrinks the read and not the denominator",
    hint="Both sums are relative to the largest score so far: the denominator has to shrink along "
    "with the read.",
)
def _(scores, V, block):
    top, total, read = scores[..., :1], 0, 0
    for s, v in _pieces(scores, V, block):
        new = np.maximum(top, _largest(s))
        total = total + _summed(np.exp(s - new))
        read = np.exp(top - new) * read + np.exp(s - new) @ v
        top = new
    return read / total


@blockwise_attention.misconception(
    "shrinks by exp(new - old)",
    hint="The largest score only grows, so exp(new - old) is above one: your sums swell. What was "
    "exp(s - old) has to become exp(s - new).",
)
def _(scores, V, block):
    top, total, read = scores[..., :1], 0, 0
    for s, v in _pieces(scores, V, block):
        new = np.maximum(top, _largest(s))
        total = np.exp(new - top) * total + _summed(np.exp(s - new))
        read = np.exp(new - top) * read + np.exp(s - new) @ v
        top = new
    return read / total


@blockwise_attention.misconception(
    "normalises every block and averages the blocks",
    hint="A block of low scores then counts as much as one of high scores. Add up exponentials, "
    "all relative to one score, and divide once, at the end.",
)
def _(scores, V, block):
    reads = [_softmax(s) @ v for s, v in _pieces(scores, V, block)]
    return sum(reads) / len(reads)


@blockwise_attention.misconception(
    "adds up normalised blocks",
    hint="Each block's weights add to one, so all of them add to the number of blocks. Add up "
    "exponentials, and divide once, at the end.",
)
def _(scores, V, block):
    return sum(_softmax(s) @ v for s, v in _pieces(scores, V, block))


@blockwise_attention.misconception(
    "divides after every block and goes on with the quotient",
    hint="After the first division your read is no longer a sum that the next block could be added "
    "to. Keep it as it is and divide once, at the end.",
)
def _(scores, V, block):
    top, total, read = scores[..., :1], 0, 0
    for s, v in _pieces(scores, V, block):
        new = np.maximum(top, _largest(s))
        total = np.exp(top - new) * total + _summed(np.exp(s - new))
        read = (np.exp(top - new) * read + np.exp(s - new) @ v) / total
        top = new
    return read


@blockwise_attention.misconception(
    "does not divide at the end",
    hint="What you return is the sum of exponentials times values. The weights have to add to one: "
    "divide by the sum of the exponentials.",
)
def _(scores, V, block):
    top, read = scores[..., :1], 0
    for s, v in _pieces(scores, V, block):
        new = np.maximum(top, _largest(s))
        read = np.exp(top - new) * read + np.exp(s - new) @ v
        top = new
    return read


@blockwise_attention.misconception(
    "measures from the largest score of the block, even if there was a larger one",
    hint="Right as long as the scores are mild. If a block lies a thousand below those before it, "
    "exp(old - new) is infinite. The reference may only grow: np.maximum of the old one and the "
    "block's.",
)
def _(scores, V, block):
    top, total, read = scores[..., :1], 0, 0
    for s, v in _pieces(scores, V, block):
        new = _largest(s)
        total = np.exp(top - new) * total + _summed(np.exp(s - new))
        read = np.exp(top - new) * read + np.exp(s - new) @ v
        top = new
    return read / total


@blockwise_attention.misconception(
    "measures from the largest score of the first block",
    hint="Right as long as the scores are mild. If a later block lies a thousand above, its "
    "exponentials are infinite. Move the reference when a larger score comes.",
)
def _(scores, V, block):
    top, total, read = _largest(scores[..., :block]), 0, 0
    for s, v in _pieces(scores, V, block):
        total = total + _summed(np.exp(s - top))
        read = read + np.exp(s - top) @ v
    return read / total


@blockwise_attention.misconception(
    "does not remember the new largest score",
    hint="You find the larger score and shrink by it, and then forget it: the next block starts "
    "from the old one again. What is missing at the end of the loop's body?",
)
def _(scores, V, block):
    top, total, read = scores[..., :1], 0, 0
    for s, v in _pieces(scores, V, block):
        new = np.maximum(top, _largest(s))
        total = np.exp(top - new) * total + _summed(np.exp(s - new))
        read = np.exp(top - new) * read + np.exp(s - new) @ v
    return read / total


@blockwise_attention.misconception(
    "takes one largest score for all queries",
    hint="Right as long as the queries score alike. If one lies a thousand below, all its "
    "exponentials are zero. Each query has a reference of its own: axis -1, `keepdims=True`.",
)
def _(scores, V, block):
    top, total, read = scores[..., :1].max(), 0, 0
    for s, v in _pieces(scores, V, block):
        new = np.maximum(top, s.max())
        total = np.exp(top - new) * total + _summed(np.exp(s - new))
        read = np.exp(top - new) * read + np.exp(s - new) @ v
        top = new
    return read / total


@blockwise_attention.misconception(
    "leaves out the last block if it is shorter",
    hint="How many blocks are there if N is no multiple of the block? `range(0, N, block)` starts "
    "one for what is left, N // block does not count it.",
)
def _(scores, V, block):
    top, total, read = scores[..., :1], 0, 0
    for s, v in list(_pieces(scores, V, block))[: scores.shape[-1] // block]:
        new = np.maximum(top, _largest(s))
        total = np.exp(top - new) * total + _summed(np.exp(s - new))
        read = np.exp(top - new) * read + np.exp(s - new) @ v
        top = new
    return read / total  # zero by zero, if there is no whole block


@blockwise_attention.misconception(
    "lets the largest score start at zero",
    hint="If all scores lie at -1000, zero is the largest, every exponential underflows, and you "
    "divide zero by zero. Start below all scores: -np.inf, or the first score.",
)
def _(scores, V, block):
    top, total, read = np.zeros_like(scores[..., :1]), 0, 0
    for s, v in _pieces(scores, V, block):
        new = np.maximum(top, _largest(s))
        total = np.exp(top - new) * total + _summed(np.exp(s - new))
        read = np.exp(top - new) * read + np.exp(s - new) @ v
        top = new
    return read / total


@blockwise_attention.misconception(
    "subtracts nothing",
    hint="np.exp(1000) is infinite. Each exponential has to be relative to the largest score so "
    "far.",
)
def _(scores, V, block):
    return np.exp(scores) @ V / _summed(np.exp(scores))


@blockwise_attention.misconception(
    "does not expect a batch",
    hint="Right without a batch. Cut the items of `V` with `V[..., a:b, :]`, not with `V[a:b]`.",
)
def _(scores, V, block):
    top, total, read = scores[..., :1], 0, 0
    for start in range(0, scores.shape[-1], block):
        s, v = scores[..., start : start + block], V[start : start + block]
        new = np.maximum(top, _largest(s))
        total = np.exp(top - new) * total + _summed(np.exp(s - new))
        read = np.exp(top - new) * read + np.exp(s - new) @ v
        top = new
    return read / total


@blockwise_attention.misconception(
    "adds a small number to the denominator",
    hint="It makes every read a little too small, and guards against nothing: the largest "
    "exponential is one.",
)
def _(scores, V, block):
    exponentials = np.exp(scores - _largest(scores))
    return exponentials @ V / (_summed(exponentials) + scores.dtype.type(1e-6))


@blockwise_attention.right_answer("logarithms of the sums, block by block")
def _(scores, V, block):
    log_total, read = -np.inf, 0
    for s, v in _pieces(scores, V, block):
        new = np.logaddexp(log_total, np.logaddexp.reduce(s, axis=-1, keepdims=True))
        read = np.exp(log_total - new) * read + np.exp(s - new) @ v
        log_total = new
    return read


@blockwise_attention.right_answer("partial reads, joined two by two")
def _(scores, V, block):
    def join(one, other):
        top = np.maximum(one[0], other[0])
        left, right = np.exp(one[0] - top), np.exp(other[0] - top)
        return top, *(left * a + right * b for a, b in zip(one[1:], other[1:], strict=True))

    parts = []
    for s, v in _pieces(scores, V, block):
        e = np.exp(s - s.max(axis=-1, keepdims=True))
        parts.append((s.max(axis=-1, keepdims=True), e.sum(axis=-1, keepdims=True), e @ v))
    while len(parts) > 1:
        parts = [join(parts[0], parts[1]), *parts[2:]]
    _, total, read = parts[0]
    return read / total


@blockwise_attention.right_answer("torch, one item after the other")
def _(scores, V, block):
    import torch

    scores, V = torch.tensor(scores), torch.tensor(V)
    top = torch.full_like(scores[..., :1], -torch.inf)
    total, read = torch.zeros_like(top), torch.zeros((), dtype=V.dtype)
    for n in range(scores.shape[-1]):
        s = scores[..., n : n + 1]
        new = torch.maximum(top, s)
        share, rest = torch.exp(s - new), torch.exp(top - new)
        total, read, top = total * rest + share, read * rest + share * V[..., n : n + 1, :], new
    return read / total


@blockwise_attention.right_answer("two passes: the largest score first")
def _(scores, V, block):
    top = -np.inf
    for s, _ in _pieces(scores, V, block):
        top = np.maximum(top, s.max(axis=-1, keepdims=True))
    total = sum(np.exp(s - top).sum(axis=-1, keepdims=True) for s, _ in _pieces(scores, V, block))
    return sum(np.exp(s - top) @ v for s, v in _pieces(scores, V, block)) / total


# --------------------------------------------------------------------------- 10.3

_CACHE = ("q", "k", "v", "keys", "values")
_read = {"part": lambda output: output[0]}


def _in_two_calls(answer, arguments):
    """The new places one call later than the others, instead of all at once."""
    q, k, v = (arguments[name] for name in ("q", "k", "v"))
    if q.shape[-2] < 2:
        return None
    cache = {name: arguments[name] for name in ("keys", "values") if name in arguments}
    first = {"q": q[..., :1, :].copy(), "k": k[..., :1, :].copy(), "v": v[..., :1, :].copy()}
    rest = {"q": q[..., 1:, :].copy(), "k": k[..., 1:, :].copy(), "v": v[..., 1:, :].copy()}
    read, keys, values = answer(**first, **cache)
    others = answer(**rest, keys=keys, values=values)[0]
    return np.concatenate([read, others], axis=-2), answer(**arguments)[0]


def _cached_places_in_another_order(answer, arguments):
    if "keys" not in arguments:
        return None
    turned = {name: arguments[name][..., ::-1, :].copy() for name in ("keys", "values")}
    return answer(**{**arguments, **turned})[0], answer(**arguments)[0]


@exercise(
    reference=reference.attend_with_cache,
    number="10.3",
    title="Writing with a cache",
    section=("transformer-cache", "Writing with a cache"),
    points=5,
    minutes=25,
    difficulty=2,
    parts=("read", "keys", "values"),
    contract="q (..., T, Dk), k (..., T, Dk), v (..., T, Dv) of T new places; keys (..., N, Dk) "
    "and values (..., N, Dv) of the N before them, or None and None -> the tuple (read "
    "(..., T, Dv), keys (..., N + T, Dk), values (..., N + T, Dv))",
    not_allowed=("torch.nn.functional.scaled_dot_product_attention",),
    groups={"one new place": 3, "several new places": 2},
    equivalent_mutants={
        "np.ones((new, old_and_new), dtype=np.bool)  ->  np.ones((new, old_and_new))": "the given "
        "function takes any number but zero for True",
    },
    given='''\
def masked_softmax(scores, mask):
    """Weights that add to one over the items that may be seen, True (exercise 9.1)."""
    visible = np.where(mask, scores, -np.inf)
    top = visible.max(axis=-1, keepdims=True)
    exponentials = np.exp(visible - np.where(np.isfinite(top), top, 0))
    total = exponentials.sum(axis=-1, keepdims=True)
    return exponentials / np.where(total > 0, total, 1)
''',
    laws=[
        laws.agrees("in two calls the reads are those of one", _in_two_calls),
        laws.agrees("reordering what is cached changes no read", _cached_places_in_another_order),
    ],
    hints=(
        "A model has written N words and is about to read word N + 1. Which keys may its query "
        "see? If three words come at once, which keys may each of the three see?",
        "First append, then attend: the new place sees itself, too. With T new places the mask has "
        "T rows and N + T columns; row t sees the N cached places and the new ones up to t. Give "
        "back the appended keys and values, and nothing else is needed the next time.",
        "`k = np.concatenate([keys, k], axis=-2)` unless `keys` is None, likewise `v`; "
        "`mask = np.tril(np.ones((T, N + T), bool), k=N)`; "
        "`weights = masked_softmax(q @ np.swapaxes(k, -1, -2) / np.sqrt(Dk), mask)`; "
        "`return weights @ v, k, v`.",
    ),
)
def attend_with_cache(q, k, v, keys=None, values=None):
    r"""Causal attention of new places, with the keys and values of the old ones kept in a cache.

    A model that writes one word after the other needs the keys and values of all words so far, and
    those of the old words never change. So they are kept: `keys` and `values` hold $N$ places.
    There are $T$ new places with queries `q`, keys `k` and values `v`; when a model writes, $T$ is
    one. Append `k` to `keys` and `v` to `values`, and let new place $t$ (from 1) see the $N$ old
    places and the new ones up to itself:

    $$
    \begin{aligned}
    o_t &= \sum_{n=1}^{N + t} \alpha_{tn} v_n \\
    \alpha_t &= \mathrm{softmax}\!\left(\frac{q_t^\top k_1}{\sqrt{D_k}}, \dots,
    \frac{q_t^\top k_{N + t}}{\sqrt{D_k}}\right)
    \end{aligned}
    $$

    Return the tuple `(read, keys, values)` with the appended keys and values, the old ones first.
    In a loop, with `t` from 0:

    ```python
    all_keys, all_values = [*keys, *k], [*values, *v]
    for t in range(T):
        seen = N + t + 1
        scores = [q[t] @ all_keys[n] / np.sqrt(Dk) for n in range(seen)]
        weights = softmax(scores)
        read[t] = sum(weights[n] * all_values[n] for n in range(seen))
    ```

    At the very beginning there is no cache: `keys` and `values` are None, and $N = 0$. The arrays
    that you are given stay as they are: whoever holds the old cache may go on from it in another
    way.

    There may be batch axes in front, such as `(B, h)` for sequences and heads, and every member has
    a cache of its own. In *multi-query* attention the heads share one: `q` is `(B, h, T, Dk)`, all
    others are `(B, 1, ...)`; the axes broadcast, as they do in `@`, so you need not do anything for
    it. `masked_softmax(scores, mask)` is given.
    """


def _places(rng, T, N, Dk, Dv, batch=(), heads=()):
    arguments = {
        "q": rng.normal(size=(*batch, *heads, T, Dk)),
        "k": rng.normal(size=(*batch, *(1 for _ in heads), T, Dk)),
        "v": rng.normal(size=(*batch, *(1 for _ in heads), T, Dv)),
    }
    if N:
        arguments["keys"] = rng.normal(size=(*batch, *(1 for _ in heads), N, Dk))
        arguments["values"] = rng.normal(size=(*batch, *(1 for _ in heads), N, Dv))
    return arguments


@attend_with_cache.case("one new place, five in the cache", group="one new place")
def _(rng):
    return _places(rng, T=1, N=5, Dk=3, Dv=4)


@attend_with_cache.case("the first place of all", group="one new place")
def _(rng):
    return _places(rng, T=1, N=0, Dk=3, Dv=4)


@attend_with_cache.case("the second place", group="one new place")
def _(rng):
    return _places(rng, T=1, N=1, Dk=3, Dv=4)


@attend_with_cache.case("sequences and heads", group="one new place")
def _(rng):
    return _places(rng, T=1, N=5, Dk=3, Dv=4, batch=(2, 3))


@attend_with_cache.case("heads that share one cache", group="one new place")
def _(rng):
    return _places(rng, T=1, N=5, Dk=4, Dv=3, batch=(2,), heads=(3,))


@attend_with_cache.case("as many features as cached places", group="one new place")
def _(rng):
    return _places(rng, T=1, N=4, Dk=4, Dv=4)


@attend_with_cache.case("scores in the thousands", group="one new place")
def _(rng):
    arguments = _places(rng, T=1, N=5, Dk=3, Dv=4)
    return arguments | {"q": 1000 * arguments["q"]}


@attend_with_cache.case("single precision", group="one new place")
def _(rng):
    return in_single_precision(_places(rng, T=1, N=5, Dk=3, Dv=4))


@attend_with_cache.case("rows of memory that are not contiguous", group="one new place")
def _(rng):
    arguments = _places(rng, T=1, N=5, Dk=3, Dv=4, batch=(2,))
    return {name: np.asfortranarray(array) for name, array in arguments.items()}


@attend_with_cache.case("three new places, four in the cache", group="several new places")
def _(rng):
    return _places(rng, T=3, N=4, Dk=5, Dv=6)


@attend_with_cache.case("a whole sequence at once", group="several new places")
def _(rng):
    return _places(rng, T=5, N=0, Dk=3, Dv=4)


@attend_with_cache.case("as many new places as old", group="several new places")
def _(rng):
    return _places(rng, T=3, N=3, Dk=3, Dv=3, batch=(3,))


@attend_with_cache.case("several new places, heads that share", group="several new places")
def _(rng):
    return _places(rng, T=3, N=2, Dk=4, Dv=5, batch=(2,), heads=(4,))


@attend_with_cache.case("several new places, in single precision", group="several new places")
def _(rng):
    return in_single_precision(_places(rng, T=3, N=4, Dk=5, Dv=6))


def _joined(old, new, axis=-2):
    return new if old is None else np.concatenate([old, new], axis=axis)


def _attended(q, k, v, mask=None, scale=None):
    """What ``q`` reads; without a mask of its own the triangle that ends in the last corner."""
    if mask is None:
        mask = np.tril(np.ones((q.shape[-2], k.shape[-2]), bool), k=k.shape[-2] - q.shape[-2])
    return masked_softmax(q @ k.mT / (k.shape[-1] ** 0.5 if scale is None else scale), mask) @ v


@attend_with_cache.misconception(
    "attends to the new places only",
    hint="The cache you return is right, but the query does not look into it: append first, then "
    "attend to everything that is there.",
)
def _(q, k, v, keys=None, values=None):
    return _attended(q, k, v), _joined(keys, k), _joined(values, v)


@attend_with_cache.misconception(
    "returns the new keys and values only",
    hint="Your read is right. But the next word will see no more than what you return: the old "
    "keys and values have to stay in the cache.",
)
def _(q, k, v, keys=None, values=None):
    return _attended(q, _joined(keys, k), _joined(values, v)), k, v


@attend_with_cache.misconception(
    "returns the cache as it was",
    hint="Your read is right. But the new keys and values have to be in what you return, or they "
    "are forgotten.",
)
def _(q, k, v, keys=None, values=None):
    read = _attended(q, _joined(keys, k), _joined(values, v))
    return (read, k, v) if keys is None else (read, keys.copy(), values.copy())


@attend_with_cache.misconception(
    "attends to the cache before the new places are in it",
    hint="A place sees itself, too. First append, then attend: else the first word of all sees "
    "nothing.",
)
def _(q, k, v, keys=None, values=None):
    read = np.zeros(np.broadcast_shapes((*q.shape[:-1], 1), (*v.shape[:-2], 1, v.shape[-1])))
    if keys is not None:
        read = read + _attended(q, keys, values, np.ones((q.shape[-2], keys.shape[-2]), bool))
    return read.astype(q.dtype), _joined(keys, k), _joined(values, v)


@attend_with_cache.misconception(
    "lets the triangle start in the first corner",
    hint="With fewer queries than keys, np.tril(np.ones((T, N + T))) shows the first new place the "
    "first key only. PyTorch's is_causal=True does the same. The triangle has to end in the *last* "
    "corner: row t (from 0) sees N + t + 1 places. Shift it by N.",
)
def _(q, k, v, keys=None, values=None):
    k, v = _joined(keys, k), _joined(values, v)
    return _attended(q, k, v, np.tri(q.shape[-2], k.shape[-2], dtype=bool)), k, v


@attend_with_cache.misconception(
    "lets the new places see what comes after them",
    hint="Right for one new place. Of several, each may see the new ones up to itself only: else "
    "the reads change when the same words come one by one.",
)
def _(q, k, v, keys=None, values=None):
    k, v = _joined(keys, k), _joined(values, v)
    return _attended(q, k, v, np.ones((q.shape[-2], k.shape[-2]), bool)), k, v


@attend_with_cache.misconception(
    "turns the mask round",
    hint="In this book True means: may be seen. You hide what should be seen and show the rest.",
)
def _(q, k, v, keys=None, values=None):
    k, v = _joined(keys, k), _joined(values, v)
    T, N = q.shape[-2], k.shape[-2]
    return _attended(q, k, v, ~np.tril(np.ones((T, N), bool), k=N - T)), k, v


@attend_with_cache.misconception(
    "lets no place see itself",
    hint="Your triangle is one column short: the newest place sees everything, itself included.",
)
def _(q, k, v, keys=None, values=None):
    k, v = _joined(keys, k), _joined(values, v)
    T, N = q.shape[-2], k.shape[-2]
    return _attended(q, k, v, np.tril(np.ones((T, N), bool), k=N - T - 1)), k, v


@attend_with_cache.misconception(
    "lets each place see one that comes after it",
    hint="Right for one new place. Of several, each sees one too many: row t (from 0) sees N + t + "
    "1 places.",
)
def _(q, k, v, keys=None, values=None):
    k, v = _joined(keys, k), _joined(values, v)
    T, N = q.shape[-2], k.shape[-2]
    return _attended(q, k, v, np.tril(np.ones((T, N), bool), k=N - T + 1)), k, v


@attend_with_cache.misconception(
    "keeps the queries in place of the keys",
    hint="Old queries have been answered; nobody needs them again. What a new query is compared "
    "with are keys.",
)
def _(q, k, v, keys=None, values=None):
    if q.shape != k.shape:
        raise ValueError("shapes do not line up")
    k, v = _joined(keys, q), _joined(values, v)
    return _attended(q, k, v), k, v


@attend_with_cache.misconception(
    "puts the new places in front of the old ones",
    hint="One read is right in any order, but the cache you return has the old places first; and "
    "with several new places the triangle counts on it.",
)
def _(q, k, v, keys=None, values=None):
    k, v = (k, v) if keys is None else (_joined(k, keys), _joined(v, values))
    return _attended(q, k, v), k, v


@attend_with_cache.misconception(
    "appends to the wrong axis",
    hint="The places are the last axis but one. Joined along the features, the keys become longer "
    "instead of more. (If what fails is `if keys:`, ask `if keys is not None:`; an array of many "
    "numbers is neither true nor false.)",
)
def _(q, k, v, keys=None, values=None):
    k, v = _joined(keys, k, axis=-1), _joined(values, v, axis=-1)
    return _attended(q, k, v), k, v


@attend_with_cache.misconception(
    "appends to the first axis, which is that of the batch",
    hint="Right without a batch. Count axes from the end: the places are axis -2.",
)
def _(q, k, v, keys=None, values=None):
    k, v = _joined(keys, k, axis=0), _joined(values, v, axis=0)
    return _attended(q, k, v), k, v


@attend_with_cache.misconception(
    "lets all members of a batch use the first one's cache",
    hint="Right for one sequence. Every member of the batch has keys and values of its own.",
)
def _(q, k, v, keys=None, values=None):
    def firsts(old, new):
        if old is None or old.ndim < 3:
            return _joined(old, new)
        return _joined(np.broadcast_to(old[:1], old.shape), new)

    k, v = firsts(keys, k), firsts(values, v)
    return _attended(q, k, v), k, v


@attend_with_cache.misconception(
    "exchanges keys and values in what it returns",
    hint="Your read is right. Return first the read, then the keys, then the values.",
)
def _(q, k, v, keys=None, values=None):
    k, v = _joined(keys, k), _joined(values, v)
    return _attended(q, k, v), v, k


@attend_with_cache.misconception(
    "returns the read alone",
    hint="The read is right. Return the new cache with it: the tuple (read, keys, values).",
)
def _(q, k, v, keys=None, values=None):
    return _attended(q, _joined(keys, k), _joined(values, v))


@attend_with_cache.misconception(
    "does not divide the scores",
    hint="The attention is the scaled one: divide by the root of Dk.",
)
def _(q, k, v, keys=None, values=None):
    k, v = _joined(keys, k), _joined(values, v)
    return _attended(q, k, v, scale=1.0), k, v


@attend_with_cache.misconception(
    "divides by the root of the number of places",
    hint="The scores are divided by the root of Dk, the length of a key, which stays the same "
    "while the cache grows.",
)
def _(q, k, v, keys=None, values=None):
    k, v = _joined(keys, k), _joined(values, v)
    return _attended(q, k, v, scale=k.shape[-2] ** 0.5), k, v


@attend_with_cache.misconception(
    "divides by the root of the length of a value",
    hint="Divide by the root of the number of terms in the dot product of query and key.",
)
def _(q, k, v, keys=None, values=None):
    k, v = _joined(keys, k), _joined(values, v)
    return _attended(q, k, v, scale=v.shape[-1] ** 0.5), k, v


@attend_with_cache.right_answer("torch's attention with an explicit mask")
def _(q, k, v, keys=None, values=None):
    import torch
    from torch.nn.attention.bias import causal_lower_right
    from torch.nn.functional import scaled_dot_product_attention

    q, k, v = torch.tensor(q), torch.tensor(k), torch.tensor(v)
    if keys is not None:
        k, v = torch.cat([torch.tensor(keys), k], -2), torch.cat([torch.tensor(values), v], -2)
    batch = q.shape[:-2]
    wide = [A.expand(*batch, *A.shape[-2:]).reshape(1, -1, *A.shape[-2:]) for A in (q, k, v)]
    bias = causal_lower_right(q.shape[-2], k.shape[-2])
    read = scaled_dot_product_attention(*wide, attn_mask=bias)
    return read.reshape(*batch, -1, v.shape[-1]), k, v


@attend_with_cache.right_answer("place by place, without a mask")
def _(q, k, v, keys=None, values=None):
    old = 0 if keys is None else keys.shape[-2]
    if old:
        k, v = np.concatenate([keys, k], axis=-2), np.concatenate([values, v], axis=-2)
    reads = []
    for t in range(q.shape[-2]):
        seen = slice(old + t + 1)
        scores = np.einsum("...d,...nd->...n", q[..., t, :], k[..., seen, :])
        e = np.exp((scores - scores.max(axis=-1, keepdims=True)) / np.sqrt(k.shape[-1]))
        weights = e / e.sum(axis=-1, keepdims=True)
        reads.append(np.einsum("...n,...nv->...v", weights, v[..., seen, :]))
    return np.stack(reads, axis=-2), k, v


@attend_with_cache.right_answer("each place's number against each other's")
def _(q, k, v, keys=None, values=None):
    if keys is None:
        keys, values = k[..., :0, :], v[..., :0, :]
    k, v = np.append(keys, k, axis=-2), np.append(values, v, axis=-2)
    places = np.arange(k.shape[-2])
    hidden = places > places[-q.shape[-2] :, None]
    scores = q @ np.swapaxes(k, -1, -2) / np.sqrt(k.shape[-1])
    return _softmax(np.where(hidden, np.finfo(scores.dtype).min, scores)) @ v, k, v


# --------------------------------------------------------------------------- 10.4


def _inside_hull(answer, arguments):
    """Zeros, the read where all weights vanish, may lie outside."""
    if np.min(arguments["Q"]) < -100:
        return None
    V, read = arguments["V"], answer(**arguments)
    return np.clip(read, V.min(-2, keepdims=True), V.max(-2, keepdims=True)), read


def _as_one_place(answer, arguments):
    """One place reads itself, whatever its query and its key say."""
    first = {name: arguments[name][..., :1, :].copy() for name in ("Q", "K", "V")}
    return answer(**first), first["V"]


@exercise(
    reference=reference.linear_attention,
    number="10.4",
    title="Attention with two sums",
    section=("transformer-linear", "Linear attention"),
    points=4,
    minutes=25,
    difficulty=2,
    contract="Q (..., N, Dk), K (..., N, Dk), V (..., N, Dv) -> reads (..., N, Dv); read n sees "
    "the places up to n",
    equivalent_mutants={"1  ->  2": "where all weights vanish, zeros are divided by it"},
    laws=[
        laws.causal("Q", "K", "V", axis=-2, output_axis=-2),
        laws.batch_independent("Q", "K", "V", rank=2),
        laws.agrees("a read never leaves the hull of the values", _inside_hull),
        laws.agrees("a place that is alone reads itself", _as_one_place),
    ],
    hints=(
        "Write down what read 3 needs of places 1, 2 and 3, and what read 4 needs of the same "
        "three. Which part does not depend on the query?",
        "Two sums do not: S, the products of a key's features with its value, and z, the features "
        "themselves. Add place n to both *before* its query reads, then divide the one read by the "
        "other. (Or multiply all features of queries with all of keys, cut off what comes later "
        "with np.tril, and divide by the sum of each row: the same numbers, with N times N of them "
        "on the way.)",
        "`S = S + phi(K[..., n, :])[..., :, None] * V[..., n, None, :]`; "
        "`z = z + phi(K[..., n, :])`; with `phi_q = phi(Q[..., n, :])` the read is "
        "`(phi_q[..., None, :] @ S)[..., 0, :]` divided by "
        "`(phi_q * z).sum(-1, keepdims=True)`, where that is above zero.",
    ),
)
def linear_attention(Q, K, V):
    r"""Causal attention with features in the place of the softmax, from two running sums.

    Softmax attention weighs key $j$ for query $n$ by $\exp(q_n^\top k_j / \sqrt{D_k})$. Linear
    attention weighs it by a product of *features*, $\phi(q_n)^\top \phi(k_j)$, where $\phi$ makes
    every number positive:

    $$\phi(x) = \mathrm{elu}(x) + 1 = \begin{cases} x + 1 & x > 0 \\ e^x & x \le 0 \end{cases}$$

    The weights are divided by their sum, as ever, and place $n$ sees the places up to itself:

    $$
    \begin{aligned}
    h_n &= \frac{\sum_{j \le n} \phi(q_n)^\top \phi(k_j)\; v_j}
    {\sum_{j \le n} \phi(q_n)^\top \phi(k_j)}
    = \frac{S_n^\top \phi(q_n)}{z_n^\top \phi(q_n)} \\
    S_n &= \sum_{j \le n} \phi(k_j)\, v_j^\top, \quad z_n = \sum_{j \le n} \phi(k_j)
    \end{aligned}
    $$

    Below stands the reason for doing this: $S$, a matrix of $D_k$ times $D_v$, and $z$ are
    all that has to be kept of the past, however long it is. As a loop:

    ```python
    S, z = zeros((Dk, Dv)), zeros(Dk)
    for n in range(N):
        S += np.outer(phi(K[n]), V[n])
        z += phi(K[n])
        H[n] = S.T @ phi(Q[n]) / (z @ phi(Q[n]))
    ```

    There is no division by $\sqrt{D_k}$ here. There may be batch axes in front. In queries far
    below zero all features underflow; where the denominator is zero, the read is zeros and not NaN.
    """


def _triple(rng, N, Dk, Dv, batch=(), scale=1.0):
    return {
        "Q": scale * rng.normal(size=(*batch, N, Dk)),
        "K": scale * rng.normal(size=(*batch, N, Dk)),
        "V": rng.normal(size=(*batch, N, Dv)),
    }


@linear_attention.case("three different sizes")
def _(rng):
    return _triple(rng, N=5, Dk=3, Dv=4)


@linear_attention.case("a batch")
def _(rng):
    return _triple(rng, N=5, Dk=3, Dv=4, batch=(2,))


@linear_attention.case("sequences and heads")
def _(rng):
    return _triple(rng, N=4, Dk=3, Dv=5, batch=(2, 3))


@linear_attention.case("as many places as features")
def _(rng):
    return _triple(rng, N=4, Dk=4, Dv=4)


@linear_attention.case("one feature")
def _(rng):
    return _triple(rng, N=5, Dk=1, Dv=2)


@linear_attention.case("all queries and keys zero")
def _(rng):
    return _triple(rng, N=5, Dk=3, Dv=4, scale=0.0)


@linear_attention.case("large queries and keys")
def _(rng):
    arguments = _triple(rng, N=5, Dk=3, Dv=4)
    return arguments | {name: 1000 * np.abs(arguments[name]) for name in ("Q", "K")}


@linear_attention.case("a query whose features underflow")
def _(rng):
    arguments = _triple(rng, N=5, Dk=3, Dv=4)
    arguments["Q"][2] = -1000
    return arguments


@linear_attention.case("one place")
def _(rng):
    return _triple(rng, N=1, Dk=3, Dv=4)


@linear_attention.case("single precision")
def _(rng):
    return in_single_precision(_triple(rng, N=5, Dk=3, Dv=4))


@linear_attention.case("rows of memory that are not contiguous")
def _(rng):
    arguments = _triple(rng, N=5, Dk=3, Dv=4)
    return {name: np.asfortranarray(array) for name, array in arguments.items()}


def _phi(X):
    return np.where(X > 0, X + 1, np.exp(np.minimum(X, 0)))


def _linear(Q, K, V, ask=_phi, asked=_phi, see=np.tril, divide=True):
    """All weights at once, with any step replaced by a wrong one."""
    weights = see(ask(Q) @ asked(K).mT)
    if divide:
        total = weights.sum(axis=-1, keepdims=True)
        weights = weights / np.where(total == 0, 1, total)
    return weights @ V


def _wrong_sum(name, *, hint, **wrong):
    """The mistake of getting one step of linear attention wrong in this way."""

    @linear_attention.misconception(name, hint=hint)
    def _(Q, K, V):
        return _linear(Q, K, V, **wrong)


def _elu(X):
    return _phi(X) - 1


def _rectified(X):
    return np.maximum(X, 0)


def _exponential(X):
    return np.exp(X)


def _as_it_is(X):
    return X


def _softmax_of_rows(weights):
    return masked_softmax(weights, np.tri(weights.shape[-1], dtype=bool))


def _all_of_it(weights):
    return weights


def _without_itself(weights):
    return np.tril(weights, k=-1)


def _backwards(weights):
    return np.triu(weights)


_wrong_sum(
    "does not divide",
    hint="What you return grows from place to place. The weights have to add to one: divide by "
    "z · φ(q).",
    divide=False,
)
_wrong_sum(
    "sees everything, later places too",
    hint="Read n comes from the sums up to place n. If you add up all places first, every read "
    "knows the future.",
    see=_all_of_it,
)
_wrong_sum(
    "sees what comes later instead of what came before",
    hint="np.triu keeps j ≥ n. Place n sees the places up to itself: np.tril, or sums that grow "
    "from the front.",
    see=_backwards,
)
_wrong_sum(
    "reads before its own place has been added",
    hint="Place n sees itself, too: first add its key and value to the sums, then read.",
    see=_without_itself,
)
_wrong_sum(
    "leaves out the + 1",
    hint="elu goes down to minus one: some weights are negative, and their sum may be close to "
    "zero. With one added every feature is positive.",
    ask=_elu,
    asked=_elu,
)
_wrong_sum(
    "cuts the features off at zero",
    hint="Where all features of a query are cut off, nothing is left to weigh with. Below zero "
    "the features here are exp(x).",
    ask=_rectified,
    asked=_rectified,
)
_wrong_sum(
    "takes exponentials as features",
    hint="Above zero the features grow linearly here: x + 1. (np.exp(1000) is infinite.)",
    ask=_exponential,
    asked=_exponential,
)
_wrong_sum(
    "makes features of the keys only",
    hint="Queries have features as well: φ(q) · φ(k).",
    ask=_as_it_is,
)
_wrong_sum(
    "makes features of the queries only",
    hint="Keys have features as well: φ(q) · φ(k).",
    asked=_as_it_is,
)
_wrong_sum(
    "puts a softmax on top",
    hint="The products of features are the weights already, up to their sum. Divide by the sum; no "
    "exponential is left to take.",
    see=_softmax_of_rows,
)


@linear_attention.misconception(
    "returns softmax attention",
    hint="Linear attention is another function, not a faster way to the same numbers: the weights "
    "are products of features.",
)
def _(Q, K, V):
    return _softmax_of_rows(Q @ K.mT / K.shape[-1] ** 0.5) @ V


@linear_attention.misconception(
    "divides queries and keys by the fourth root of Dk first",
    hint="In softmax attention the scale keeps the softmax from saturating. Here there is none, "
    "and none is asked for.",
)
def _(Q, K, V):
    scale = K.shape[-1] ** 0.25
    return _linear(Q / scale, K / scale, V)


@linear_attention.misconception(
    "divides by the number of places",
    hint="That is the mean of the weighted values. The weights add to z · φ(q), not to n.",
)
def _(Q, K, V):
    read = _linear(Q, K, V, divide=False)
    return read / np.arange(1, Q.shape[-2] + 1, dtype=read.dtype)[:, None]


@linear_attention.misconception(
    "divides by the sum over all places",
    hint="Numerator and denominator have to see the same places: z_n adds up to place n, as S_n "
    "does.",
)
def _(Q, K, V):
    total = (_phi(Q) @ _phi(K).mT).sum(axis=-1, keepdims=True)
    return _linear(Q, K, V, divide=False) / np.where(total > 0, total, 1)


@linear_attention.misconception(
    "leaves the query out of the denominator",
    hint="The weights are φ(q) · φ(k), and their sum is φ(q) · z. The sum of z alone does not know "
    "who asks.",
)
def _(Q, K, V):
    total = np.cumsum(_phi(K), axis=-2).sum(axis=-1, keepdims=True)
    return _linear(Q, K, V, divide=False) / np.where(total > 0, total, 1)


@linear_attention.misconception(
    "does not expect a batch",
    hint="Right without a batch. Count axes from the end, K[..., n, :], and write the outer "
    "product as k[..., :, None] * v[..., None, :]; np.outer makes one long row of a batch.",
)
def _(Q, K, V):
    S, z, reads = np.zeros((K.shape[-1], V.shape[-1])), np.zeros(K.shape[-1]), np.zeros(V.shape)
    for n in range(len(Q)):
        S = S + np.outer(_phi(K[n]), V[n])
        z = z + _phi(K[n])
        total = z @ _phi(Q[n])
        reads[n] = S.T @ _phi(Q[n]) / (total if total > 0 else 1)
    return reads


@linear_attention.misconception(
    "keeps the sums from one member of the batch to the next",
    hint="Right without a batch. Every sequence starts with sums of its own, at zero.",
)
def _(Q, K, V):
    S, z = np.zeros((K.shape[-1], V.shape[-1]), V.dtype), np.zeros(K.shape[-1], K.dtype)
    reads = np.zeros((*Q.shape[:-1], V.shape[-1]), V.dtype)
    for place in np.ndindex(Q.shape[:-1]):
        S, z = S + np.outer(_phi(K[place]), V[place]), z + _phi(K[place])
        total = z @ _phi(Q[place])
        reads[place] = _phi(Q[place]) @ S / (total if total > 0 else 1)
    return reads


@linear_attention.misconception(
    "divides zero by zero",
    hint="A query whose features are all zero gives no weight to anything. Treat a denominator of "
    "zero by itself: the read is zeros.",
)
def _(Q, K, V):
    weights = np.tril(_phi(Q) @ _phi(K).mT)
    return weights @ V / weights.sum(axis=-1, keepdims=True)


@linear_attention.misconception(
    "adds a small number to the denominator",
    hint="It keeps a denominator of zero from failing and makes every other read too small. Treat "
    "zero by itself.",
)
def _(Q, K, V):
    weights = np.tril(_phi(Q) @ _phi(K).mT)
    return weights @ V / (weights.sum(axis=-1, keepdims=True) + Q.dtype.type(1e-6))


@linear_attention.right_answer("torch's elu, all weights at once")
def _(Q, K, V):
    import torch

    Q, K, V = map(torch.tensor, (Q, K, V))
    weights = ((torch.nn.functional.elu(Q) + 1) @ (torch.nn.functional.elu(K) + 1).mT).tril()
    total = weights.sum(-1, keepdim=True)
    return weights / total.masked_fill(total == 0, 1) @ V


@linear_attention.right_answer("cumulative sums")
def _(Q, K, V):
    phi_q, phi_k = np.exp(np.minimum(Q, 0)) + np.maximum(Q, 0), np.where(K > 0, K, 0)
    phi_k = phi_k + np.exp(np.where(K > 0, 0, K))
    S = np.cumsum(phi_k[..., :, None] * V[..., None, :], axis=-3)
    z = np.cumsum(phi_k, axis=-2)
    total = np.einsum("...nd,...nd->...n", phi_q, z)[..., None]
    read = np.einsum("...nd,...ndv->...nv", phi_q, S)
    return np.divide(read, total, out=np.zeros_like(read), where=total > 0)


@linear_attention.right_answer("one sequence, one place after the other")
def _(Q, K, V):
    reads = np.zeros((*Q.shape[:-1], V.shape[-1]), V.dtype)
    for member in np.ndindex(Q.shape[:-2]):
        S, z = 0, 0
        for n, (q, k, v) in enumerate(zip(Q[member], K[member], V[member], strict=True)):
            q, k = np.where(q > 0, q + 1, np.exp(q)), np.where(k > 0, k + 1, np.exp(k))
            S, z = S + np.outer(k, v), z + k
            if q @ z > 0:
                reads[member][n] = q @ S / (q @ z)
    return reads


# --------------------------------------------------------------------------- 10.5

_previous = {"part": lambda output: output[0]}
_induction = {"part": lambda output: output[1]}


def _a_head_that_copies(answer, arguments):
    """A head with all its weight behind the last occurrence has the score one."""
    weights, period = arguments["weights"], arguments["period"]
    perfect = np.zeros_like(weights)
    for i in range(weights.shape[-1]):
        perfect[..., i, max(i - period + 1, 0)] = 1
    scores = answer(**{**arguments, "weights": perfect})[1]
    return scores, np.ones_like(scores)


@exercise(
    reference=reference.head_scores,
    number="10.5",
    title="Which head does what?",
    section=("transformer-induction", "Induction heads"),
    points=4,
    minutes=20,
    difficulty=1,
    parts=("previous", "induction"),
    contract="weights (..., h, N, N), one row a query; period from 1 to N - 1 -> the tuple "
    "(previous (..., h), induction (..., h))",
    laws=[
        laws.items_permuted("weights", axis=-3, output_axis=-1, **_previous),
        laws.items_permuted("weights", axis=-3, output_axis=-1, **_induction),
        laws.agrees(
            "a head that always looks behind the last occurrence has one", _a_head_that_copies
        ),
    ],
    hints=(
        "Write `A B C A B C` with the places 0 to 5 under it. The head stands on place 4, the "
        "second B. Where did B stand before, and which place is behind that?",
        "Both scores are means of single weights that stand on a line parallel to the diagonal: "
        "place i looks at i - 1, or at i - T + 1. Which is the first i that belongs to each mean?",
        "`i = np.arange(1, N)`; `previous = weights[..., i, i - 1].mean(-1)`; "
        "`i = np.arange(period, N)`; `induction = weights[..., i, i - period + 1].mean(-1)`.",
    ),
)
def head_scores(weights, period):
    r"""Score each head twice: does it look at the place before, and behind the last occurrence?

    The weights come from a model that has read a sequence of $N$ tokens which repeats itself after
    $T$ = `period` of them, such as A B C A B C with $T = 3$. `weights[i, j]` is how much place $i$
    looks at place $j$, both from 0.

    A *previous-token head* looks at place $i - 1$. An *induction head* looks for the last
    occurrence of the token it stands on, $T$ places back, and attends to what came *behind* it, at
    $i - T + 1$: there stands the token that should come next. The score of a head is its mean
    weight there, over all places that have such a place to look at:

    $$
    \begin{aligned}
    \mathrm{previous} &= \frac{1}{N - 1} \sum_{i=1}^{N-1} \alpha_{i,\, i-1} \\
    \mathrm{induction} &= \frac{1}{N - T} \sum_{i=T}^{N-1} \alpha_{i,\, i-T+1}
    \end{aligned}
    $$

    The second mean begins with place $T$: before it no token has occurred a second time. In a
    loop, for one head:

    ```python
    before = [weights[i, i - 1] for i in range(1, N)]
    behind = [weights[i, i - T + 1] for i in range(T, N)]
    scores = sum(before) / (N - 1), sum(behind) / (N - T)
    ```

    Return the tuple `(previous, induction)`, each with one number for each head; there may be batch
    axes in front of the heads. $N$ need not be twice $T$.
    """


def _looks(rng, h, N, period, batch=(), causal=True):
    scores = 2 * rng.normal(size=(*batch, h, N, N))
    mask = _causal(N) if causal else np.ones((N, N), bool)
    return {"weights": masked_softmax(scores, mask), "period": period}


@head_scores.case("two heads, a string of four repeated once")
def _(rng):
    return _looks(rng, h=2, N=8, period=4)


@head_scores.case("a batch")
def _(rng):
    return _looks(rng, h=3, N=10, period=5, batch=(2,))


@head_scores.case("a string of three repeated twice and a bit")
def _(rng):
    return _looks(rng, h=2, N=11, period=3)


@head_scores.case("a string of which only the beginning is repeated")
def _(rng):
    return _looks(rng, h=2, N=9, period=6)


@head_scores.case("weights that see everything")
def _(rng):
    return _looks(rng, h=2, N=8, period=4, causal=False)


@head_scores.case("a head that looks before it and one that looks behind")
def _(rng):
    weights = _looks(rng, h=2, N=8, period=4)["weights"] / 10
    i = np.arange(8)
    weights[0, i, np.maximum(i - 1, 0)] += 0.9
    weights[1, i, np.maximum(i - 3, 0)] += 0.9
    return {"weights": weights, "period": 4}


@head_scores.case("as many heads as places")
def _(rng):
    return _looks(rng, h=6, N=6, period=3)


@head_scores.case("one head")
def _(rng):
    return _looks(rng, h=1, N=7, period=3)


@head_scores.case("only the last place repeats")
def _(rng):
    return _looks(rng, h=2, N=5, period=4)


@head_scores.case("one token again and again")
def _(rng):
    return _looks(rng, h=2, N=5, period=1)


@head_scores.case("single precision")
def _(rng):
    return in_single_precision(_looks(rng, h=2, N=8, period=4))


@head_scores.case("rows of memory that are not contiguous")
def _(rng):
    arguments = _looks(rng, h=2, N=8, period=4)
    return arguments | {"weights": np.asfortranarray(arguments["weights"])}


def _mean_at(weights, i, j):
    return weights[..., i, j].mean(axis=-1)


def _both(weights, period):
    N = weights.shape[-1]
    i, late = np.arange(1, N), np.arange(period, N)
    return _mean_at(weights, i, i - 1), _mean_at(weights, late, late - period + 1)


@head_scores.misconception(
    "looks at the last occurrence itself",
    hint="i - T is where the token stood before. An induction head looks one place *behind* that, "
    "at i - T + 1: there stands what comes next.",
)
def _(weights, period):
    late = np.arange(period, weights.shape[-1])
    return _both(weights, period)[0], _mean_at(weights, late, late - period)


@head_scores.misconception(
    "looks in front of the last occurrence",
    hint="i - T - 1 is the place *before* the last occurrence. What comes next stands behind it, "
    "at i - T + 1.",
)
def _(weights, period):
    late = np.arange(period + 1, weights.shape[-1])
    if not late.size:
        return _both(weights, period)[0], np.full(weights.shape[:-2], np.nan)
    return _both(weights, period)[0], _mean_at(weights, late, late - period - 1)


@head_scores.misconception(
    "counts the last place of the first string as well",
    hint="The whole line parallel to the diagonal is one too long: place T - 1 has not occurred "
    "before, it merely can look at place 0. Begin with place T.",
)
def _(weights, period):
    late = np.arange(period - 1, weights.shape[-1])
    return _both(weights, period)[0], _mean_at(weights, late, late - period + 1)


@head_scores.misconception(
    "begins one place too late",
    hint="Place T is the first whose token has occurred before: it stood at place 0, and behind "
    "that comes place 1. Begin with place T, not with T + 1.",
)
def _(weights, period):
    late = np.arange(period + 1, weights.shape[-1])
    if not late.size:
        return _both(weights, period)[0], np.full(weights.shape[:-2], np.nan)
    return _both(weights, period)[0], _mean_at(weights, late, late - period + 1)


@head_scores.misconception(
    "divides by all places",
    hint="Not every place has one to look at: there are N - 1 places behind another, and N - T "
    "whose token has occurred before.",
)
def _(weights, period):
    N = weights.shape[-1]
    previous, induction = _both(weights, period)
    share = weights.dtype.type(1 / N)
    return previous * (N - 1) * share, induction * (N - period) * share


@head_scores.misconception(
    "lets the first places look round the corner",
    hint="weights[0, -1] is the *last* column: numpy counts negative places from the end. Begin "
    "with the first place that has one to look at.",
)
def _(weights, period):
    i = np.arange(weights.shape[-1])
    return _mean_at(weights, i, i - 1), _mean_at(weights, i, i - period + 1)


@head_scores.misconception(
    "takes rows for columns",
    hint="A row is what one place looks at: weights[i, j] is place i looking at place j. You read "
    "them the other way round, so that places look forward.",
)
def _(weights, period):
    return _both(weights.mT, period)


@head_scores.misconception(
    "takes the mean over the heads as well",
    hint="Each head has scores of its own, and one strong head is lost in the mean of many.",
)
def _(weights, period):
    return tuple(scores.mean(axis=-1) for scores in _both(weights, period))


@head_scores.misconception(
    "takes the largest weight instead of the mean",
    hint="A head that looks there once is not a head that does so always: take the mean.",
)
def _(weights, period):
    N = weights.shape[-1]
    i, late = np.arange(1, N), np.arange(period, N)
    return weights[..., i, i - 1].max(axis=-1), weights[..., late, late - period + 1].max(axis=-1)


@head_scores.misconception(
    "adds the weights up",
    hint="A score of one should mean: always all of the weight. Divide by the number of places.",
)
def _(weights, period):
    N = weights.shape[-1]
    previous, induction = _both(weights, period)
    return previous * (N - 1), induction * (N - period)


@head_scores.misconception(
    "counts how often the largest weight is there",
    hint="That is a share of hits. Asked is the mean *weight*: a head may look there with half of "
    "its weight all the time.",
)
def _(weights, period):
    N = weights.shape[-1]
    i, late, looked = np.arange(1, N), np.arange(period, N), weights.argmax(axis=-1)
    hits = looked[..., i] == i - 1, looked[..., late] == late - period + 1
    return tuple(hit.mean(axis=-1).astype(weights.dtype) for hit in hits)


@head_scores.misconception(
    "returns induction first",
    hint="Both scores are right; the tuple is (previous, induction).",
)
def _(weights, period):
    return _both(weights, period)[::-1]


@head_scores.misconception(
    "takes the first half and the second half for the two strings",
    hint="Right where N is twice T. Otherwise the repetition begins at place T, not in the middle.",
)
def _(weights, period):
    N = weights.shape[-1]
    late = np.arange(N // 2, N)
    return _both(weights, period)[0], _mean_at(weights, late, late - N // 2 + 1)


@head_scores.misconception(
    "looks at the place itself",
    hint="The diagonal holds what each place gives itself. The place before is one column to the "
    "left: i - 1.",
)
def _(weights, period):
    i = np.arange(weights.shape[-1])
    return _mean_at(weights, i, i), _both(weights, period)[1]


@head_scores.right_answer("diagonals")
def _(weights, period):
    previous = np.diagonal(weights, offset=-1, axis1=-2, axis2=-1)
    behind = np.diagonal(weights, offset=1 - period, axis1=-2, axis2=-1)[..., 1:]
    return previous.mean(axis=-1), behind.mean(axis=-1)


@head_scores.right_answer("a table of who should look where")
def _(weights, period):
    i, j = np.indices(weights.shape[-2:])
    tables = (j == i - 1), (j == i - period + 1) & (i >= period)
    return tuple((weights * table).sum(axis=(-2, -1)) / table.sum() for table in tables)


@head_scores.right_answer("torch, place by place")
def _(weights, period):
    import torch

    weights, N = torch.tensor(weights), weights.shape[-1]
    before = torch.stack([weights[..., i, i - 1] for i in range(1, N)])
    behind = torch.stack([weights[..., i, i - period + 1] for i in range(period, N)])
    return before.mean(0), behind.mean(0)


# --------------------------------------------------------------------------- written

circuit_in_words = Question(
    name="circuit_in_words",
    title="Why copying takes two layers",
    points=4,
    prompt=r"""A model with two layers of one attention head each has learned to continue a repeated
random string: after A B C D A B it writes C. A model with one layer, trained in the same way, has
not learned it. In five to seven sentences: say what the head of the first layer and what the
head of the second layer do when the second B is read, and what the one hands to the other along
which path; say why one layer cannot do the same; describe an experiment on the *trained* model that
shows that it needs both heads, and say what you would conclude if, in a model with *two* heads in
each layer, taking away any single head changed nothing.""",
    answer=r"""The head of the first layer looks at the place before: at C it reads B and adds "B
came before me" to what stands at C, on the residual path. The head of the second layer stands on
the second B and asks for a place that says "B came before me"; its key was written by the first
layer, so it finds C, reads it, and C is written next. In one layer, keys are made of the tokens
themselves and of their places: the key at C can say "I am C, at place 3", but not what came before
it, because no attention has happened yet; so the query B finds only the other B, or a fixed
distance, and the length of the string changes. To show that both heads are needed, I would set the
output of one of them to zero, leave everything else, and measure the accuracy on the second half of
fresh strings; then the same with the other head; each alone should end the copying. If in a model
with two heads in each layer no single head is missed, the conclusion is not that heads are useless:
two heads of a layer may do the same work, and I would take away both of a layer together before I
conclude anything.""",
    scheme="""- 1 point: previous-token head in the first layer, matching head in the second, with
  the right place (behind the last occurrence).
- 1 point: what is handed over stands on the residual path and becomes the second head's key.
- 1 point: one layer has no key that knows what came before (places alone do not help when the
  length changes).
- 1 point: an ablation on fresh strings, head by head, and redundancy as the explanation when a
  single head is not missed.""",
)
