"""The exercises of the chapter on encoder and decoder: one step of a decoder, and its pointing."""

import numpy as np

from attnkit import seq2seq as reference
from attnkit.checking import Question, exercise, in_single_precision, laws
from attnkit.exercises.self_attention import OF_EMPTY_ROWS, hidden_too_late, shares
from attnkit.self_attention import masked_softmax
from attnkit.soft_attention import additive_scores, softmax

# --------------------------------------------------------------------------- 2.1

_state = {"part": lambda output: output[0]}
_context = {"part": lambda output: output[1]}
_weights = {"part": lambda output: output[2]}


def _other_padding(answer, arguments):
    """The step as it is, and with other numbers in the padding."""
    h, mask = arguments["h"], arguments["mask"]
    other = np.where(mask[..., None], h, -3 * h + 1).astype(h.dtype)
    before, after = answer(**arguments), answer(**{**arguments, "h": other})
    return np.concatenate(before, axis=-1), np.concatenate(after, axis=-1)


@exercise(
    reference=reference.bahdanau_step,
    number="2.1",
    title="One step of the decoder",
    section=("seq2seq-formula", "The formula, the loop, the line"),
    points=6,
    minutes=30,
    difficulty=2,
    parts=("s", "context", "weights"),
    contract="s_prev (B, Ds), y_prev (B, Dy), h (B, N, Dh), mask (B, N) True = may attend, "
    "W_q (H, Ds), W_k (H, Dh), v (H,), W (Ds, Ds + Dy + Dh) -> the tuple (s (B, Ds), context "
    "(B, Dh), weights (B, N))",
    laws=[
        laws.not_negative(**_weights),
        laws.hidden_keys_get_nothing("mask", **_weights),
        laws.items_permuted("h", "mask", axis=1, output_axis=1, **_weights),
        laws.items_permuted("h", "mask", axis=1, **_context),
        laws.batch_independent("s_prev", "y_prev", "h", "mask", rank=1, **_state),
        laws.agrees("what stands in the padding changes nothing", _other_padding),
    ],
    hints=(
        "Write the shape beside each of the four lines. Which state can the query be, if the new "
        "one needs the context first?",
        "The hidden layer has shape (B, N, H): `(W_q s)` gets an axis of size one for the "
        "positions. A score of minus infinity gives a weight of zero. Subtract the largest "
        "*visible* score of each row, or 0 where nothing is visible (minus infinity minus itself "
        "is NaN), and divide by one there.",
        "`scores = np.tanh(h @ W_k.T + (s_prev @ W_q.T)[:, None]) @ v`, then "
        "`scores = np.where(mask, scores, -np.inf)`; for the softmax "
        "`top = np.where(mask.any(-1, keepdims=True), scores.max(-1, keepdims=True), 0)`, "
        "`e = np.exp(scores - top)`, `total = e.sum(-1, keepdims=True)` and "
        "`weights = e / np.where(total > 0, total, 1)`; then "
        "`context = np.einsum('bn,bnd->bd', weights, h)`, and "
        "`s = np.tanh(np.concatenate([s_prev, y_prev, context], axis=-1) @ W.T)`.",
    ),
    equivalent_mutants=OF_EMPTY_ROWS
    | {
        "0  ->  -1": OF_EMPTY_ROWS["0  ->  -1"] + "; and the first of an axis of one is its last",
        "-1  ->  1": "of two axes number one is the last",
    },
)
def bahdanau_step(s_prev, y_prev, h, mask, W_q, W_k, v, W):
    r"""One step of Bahdanau's decoder: weigh the annotations, read the context, move on.

    The *previous* state `s_prev` asks the annotations `h` where to look; the answer, the context,
    is needed to make the new state:

    $$
    \begin{aligned}
    e_n &= v^\top \tanh(W_q\, s_{t-1} + W_k\, h_n) && \text{score} \\
    \alpha_n &= \frac{\exp(e_n)}{\sum_{j \text{ visible}} \exp(e_j)},
      \quad 0 \text{ if hidden} && \text{normalise} \\
    c_t &= \sum_n \alpha_n h_n && \text{read} \\
    s_t &= \tanh(W\, [s_{t-1}; y_{t-1}; c_t]) && \text{move on}
    \end{aligned}
    $$

    The square brackets join three vectors end to end, in this order; `y_prev` is the embedding of
    the symbol written before. As a loop over the sentences of a batch:

    ```python
    for b in range(B):
        e = [v @ np.tanh(W_q @ s_prev[b] + W_k @ h[b, n]) for n in range(N)]
        weights[b] = softmax of e over the n with mask[b, n], 0 for the others
        context[b] = sum(weights[b, n] * h[b, n] for n in range(N))
        s[b] = np.tanh(W @ np.concatenate([s_prev[b], y_prev[b], context[b]]))
    ```

    The mask is True where a position may be attended and False where it is padding. What stands
    in the padding must change nothing, even if its score is thousands above the others. If a
    sentence has no visible position at all, its weights and its context are zeros. The softmax has
    to be safe for scores of any size. Return the tuple `(s, context, weights)`.
    """


def _step(rng, B, N, Ds, Dy, Dh, H, lengths, v=1.0):
    return {
        "s_prev": np.tanh(rng.normal(size=(B, Ds))),
        "y_prev": rng.normal(size=(B, Dy)),
        "h": rng.normal(size=(B, N, Dh)),
        "mask": np.arange(N) < np.array(lengths)[:, None],
        "W_q": rng.normal(size=(H, Ds)),
        "W_k": rng.normal(size=(H, Dh)),
        "v": v * rng.normal(size=H),
        "W": rng.normal(size=(Ds, Ds + Dy + Dh)) / 3,
    }


@bahdanau_step.case("no padding")
def _(rng):
    return _step(rng, B=2, N=5, Ds=3, Dy=4, Dh=6, H=7, lengths=[5, 5])


@bahdanau_step.case("sentences of different length")
def _(rng):
    return _step(rng, B=3, N=5, Ds=4, Dy=2, Dh=6, H=7, lengths=[5, 2, 3])


@bahdanau_step.case("all sizes equal")
def _(rng):
    return _step(rng, B=4, N=4, Ds=4, Dy=4, Dh=4, H=4, lengths=[4, 1, 3, 2])


@bahdanau_step.case("padding on the left and in the middle")
def _(rng):
    mask = np.array([[False, True, True, True, True], [True, False, True, False, True]])
    return _step(rng, B=2, N=5, Ds=3, Dy=4, Dh=6, H=7, lengths=[5, 5]) | {"mask": mask}


@bahdanau_step.case("scores in the thousands")
def _(rng):
    return _step(rng, B=3, N=5, Ds=3, Dy=4, Dh=6, H=7, lengths=[5, 3, 4], v=1000.0)


@bahdanau_step.case("padding that scores thousands above the rest")
def _(rng):
    arguments = _step(rng, B=2, N=5, Ds=3, Dy=4, Dh=6, H=1, lengths=[3, 4])
    arguments["W_k"] = np.abs(arguments["W_k"])
    arguments["v"] = np.array([3000.0])
    # The hidden layer saturates: at one in the padding, at minus one elsewhere.
    signs = np.where(arguments["mask"], -1.0, 1.0)[..., None]
    arguments["h"] = signs * (20 + np.abs(arguments["h"]))
    return arguments


@bahdanau_step.case("a sentence of nothing but padding")
def _(rng):
    return _step(rng, B=3, N=5, Ds=3, Dy=4, Dh=6, H=7, lengths=[2, 0, 5])


@bahdanau_step.case("one position, one sentence")
def _(rng):
    return _step(rng, B=1, N=1, Ds=3, Dy=4, Dh=6, H=7, lengths=[1])


@bahdanau_step.case("single precision")
def _(rng):
    return in_single_precision(_step(rng, B=2, N=5, Ds=3, Dy=4, Dh=6, H=7, lengths=[5, 3]))


@bahdanau_step.case("rows of memory that are not contiguous")
def _(rng):
    arguments = _step(rng, B=2, N=5, Ds=3, Dy=4, Dh=6, H=7, lengths=[4, 5])
    return {name: array.T.copy().T for name, array in arguments.items()}


def _read_and_move(weights, s_prev, y_prev, h, W):
    """What follows from the weights."""
    context = np.einsum("bn,bnd->bd", weights, h)
    s = np.tanh(np.concatenate([s_prev, y_prev, context], axis=-1) @ W.T)
    return s, context, weights


def _energies(s, h, W_q, W_k, v):
    return additive_scores(s[:, None], h, W_q, W_k, v)[:, 0]


@bahdanau_step.misconception(
    "asks with the new state instead of the previous one",
    hint="That is Luong's timing: first the state, then the look. Here the new state *needs* the "
    "context, so the query has to be the state before it.",
)
def _(s_prev, y_prev, h, mask, W_q, W_k, v, W):
    # Without a context the new state can only be made of what there is.
    known = np.concatenate([s_prev, y_prev], axis=-1)
    s = np.tanh(known @ W[:, : known.shape[-1]].T)
    weights = masked_softmax(_energies(s, h, W_q, W_k, v), mask)
    return s, np.einsum("bn,bnd->bd", weights, h), weights


@bahdanau_step.misconception(
    "returns the state it was given",
    hint="The step has three results: after the context comes the new state, made of the old one, "
    "the previous symbol and the context.",
)
def _(s_prev, y_prev, h, mask, W_q, W_k, v, W):
    _, context, weights = reference.bahdanau_step(s_prev, y_prev, h, mask, W_q, W_k, v, W)
    return s_prev.copy(), context, weights


@bahdanau_step.misconception(
    "leaves the padding visible",
    hint="Your weights on the padding are above zero: what stands there leaks into the context. "
    "Where does `mask` enter?",
)
def _(s_prev, y_prev, h, mask, W_q, W_k, v, W):
    weights = softmax(_energies(s_prev, h, W_q, W_k, v))
    return _read_and_move(weights, s_prev, y_prev, h, W)


@bahdanau_step.misconception(
    "reads the mask the wrong way round",
    hint="True means *may attend*. Your weights lie on the padding.",
)
def _(s_prev, y_prev, h, mask, W_q, W_k, v, W):
    return reference.bahdanau_step(s_prev, y_prev, h, ~mask, W_q, W_k, v, W)


@bahdanau_step.misconception(
    "zeroes the hidden weights after the softmax and leaves it at that",
    hint="Add up a row with padding: it is less than one. The hidden positions have to be out "
    "before the softmax divides.",
)
def _(s_prev, y_prev, h, mask, W_q, W_k, v, W):
    weights = softmax(_energies(s_prev, h, W_q, W_k, v)) * mask
    return _read_and_move(weights, s_prev, y_prev, h, W)


@bahdanau_step.misconception(
    "sets the hidden scores to zero",
    hint="A score of zero is a score like any other: exp(0) is one. Which score has the "
    "exponential zero?",
)
def _(s_prev, y_prev, h, mask, W_q, W_k, v, W):
    weights = softmax(_energies(s_prev, h, W_q, W_k, v) * mask)
    return _read_and_move(weights, s_prev, y_prev, h, W)


@bahdanau_step.misconception(
    "fills the hidden scores with a large negative number",
    hint="Right as long as something is visible. In a sentence of nothing but padding all scores "
    "are then equal, and the padding shares the weight.",
)
def _(s_prev, y_prev, h, mask, W_q, W_k, v, W):
    scores = np.where(mask, _energies(s_prev, h, W_q, W_k, v), h.dtype.type(-1e9))
    return _read_and_move(softmax(scores), s_prev, y_prev, h, W)


@bahdanau_step.misconception(
    "adds a small number to the sum, to be safe from zero",
    hint="Every row of weights then adds to a little less than one. Only a row in which nothing is "
    "visible needs help: divide that one by 1, and all others by their sum.",
)
def _(s_prev, y_prev, h, mask, W_q, W_k, v, W):
    scores = np.where(mask, _energies(s_prev, h, W_q, W_k, v), -np.inf)
    top = np.where(mask.any(-1, keepdims=True), scores.max(-1, keepdims=True), 0)
    powers = np.exp(scores - top)
    return _read_and_move(powers / (powers.sum(-1, keepdims=True) + 1e-9), s_prev, y_prev, h, W)


@bahdanau_step.misconception(
    "bends the query and the annotations one by one before adding them",
    hint="The two are added first and bent together: one tanh around the sum.",
)
def _(s_prev, y_prev, h, mask, W_q, W_k, v, W):
    scores = (np.tanh(h @ W_k.T) + np.tanh(s_prev @ W_q.T)[:, None]) @ v
    return _read_and_move(masked_softmax(scores, mask), s_prev, y_prev, h, W)


@bahdanau_step.misconception(
    "divides zero by zero where nothing is visible",
    hint="In a sentence of nothing but padding the largest score is minus infinity, and minus "
    "itself that is NaN; once this is repaired, the sum of the exponentials is zero, and zero by "
    "zero is NaN, too. Subtract 0 there, and divide by 1.",
)
def _(s_prev, y_prev, h, mask, W_q, W_k, v, W):
    scores = np.where(mask, _energies(s_prev, h, W_q, W_k, v), -np.inf)
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights = exponentials / exponentials.sum(axis=-1, keepdims=True)
    return _read_and_move(weights, s_prev, y_prev, h, W)


@bahdanau_step.misconception(
    "subtracts the largest score without asking whether it is visible",
    hint="If a hidden score lies thousands above the visible ones, they all underflow to zero. "
    "Put minus infinity in the place of the hidden scores first, and then subtract the largest of "
    "each row, or 0 where nothing is visible.",
)
def _(s_prev, y_prev, h, mask, W_q, W_k, v, W):
    scores = _energies(s_prev, h, W_q, W_k, v)
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True)) * mask
    weights = shares(exponentials)
    return _read_and_move(weights, s_prev, y_prev, h, W)


@bahdanau_step.misconception(
    "multiplies the exponentials by the mask, infinite ones included",
    hint="The exponential of a hidden score far above the visible ones is infinite, and infinity "
    "times zero is NaN. Hide before the exponential: np.where(mask, scores, -np.inf).",
)
def _(s_prev, y_prev, h, mask, W_q, W_k, v, W):
    scores = _energies(s_prev, h, W_q, W_k, v)
    weights = hidden_too_late(scores, mask)
    return _read_and_move(weights, s_prev, y_prev, h, W)


@bahdanau_step.misconception(
    "takes the exponential of the raw scores",
    hint="np.exp(1000) is infinite. Subtract each row's largest visible score first.",
)
def _(s_prev, y_prev, h, mask, W_q, W_k, v, W):
    exponentials = np.where(mask, np.exp(_energies(s_prev, h, W_q, W_k, v)), 0)
    weights = shares(exponentials)
    return _read_and_move(weights, s_prev, y_prev, h, W)


@bahdanau_step.misconception(
    "takes the softmax over the batch",
    hint="Add up the weights of one sentence over its positions. The sentences of a batch have "
    "nothing to share out among each other.",
)
def _(s_prev, y_prev, h, mask, W_q, W_k, v, W):
    scores = _energies(s_prev, h, W_q, W_k, v)
    weights = masked_softmax(scores.T, mask.T).T
    return _read_and_move(weights, s_prev, y_prev, h, W)


@bahdanau_step.misconception(
    "reads the same context whatever the state asks",
    hint="A plain average of the visible annotations does not depend on `s_prev`. That is the "
    "fixed summary which attention is to replace.",
)
def _(s_prev, y_prev, h, mask, W_q, W_k, v, W):
    weights = masked_softmax(np.zeros_like(h[..., 0]), mask)
    return _read_and_move(weights, s_prev, y_prev, h, W)


@bahdanau_step.misconception(
    "reads the keys W_k h instead of the annotations",
    hint="`W_k h` serves the score only. What is averaged is `h` itself, so the context has the "
    "size of an annotation.",
)
def _(s_prev, y_prev, h, mask, W_q, W_k, v, W):
    weights = masked_softmax(_energies(s_prev, h, W_q, W_k, v), mask)
    context = np.einsum("bn,bna->ba", weights, h @ W_k.T)
    # The cell does not take a context of this size, unless the sizes happen to agree.
    joined = np.concatenate([s_prev, y_prev, context], axis=-1)
    s = np.tanh(joined @ W.T) if joined.shape[-1] == W.shape[-1] else s_prev.copy()
    return s, context, weights


@bahdanau_step.misconception(
    "adds the query without an axis for the positions",
    hint="Shapes line up from the right: (B, N, H) plus (B, H) takes the query's sentences for "
    "positions. Give the query an axis of size one: `[:, None]`.",
)
def _(s_prev, y_prev, h, mask, W_q, W_k, v, W):
    scores = np.tanh(h @ W_k.T + s_prev @ W_q.T) @ v
    return _read_and_move(masked_softmax(scores, mask), s_prev, y_prev, h, W)


@bahdanau_step.misconception(
    "leaves out the tanh of the score",
    hint="Without the tanh the query adds the same number to every score, and the softmax does "
    "not see it: your weights do not depend on `s_prev`.",
)
def _(s_prev, y_prev, h, mask, W_q, W_k, v, W):
    scores = (h @ W_k.T + (s_prev @ W_q.T)[:, None]) @ v
    return _read_and_move(masked_softmax(scores, mask), s_prev, y_prev, h, W)


@bahdanau_step.misconception(
    "leaves out the tanh of the new state",
    hint="The state is squashed: s = tanh(W [s; y; c]).",
)
def _(s_prev, y_prev, h, mask, W_q, W_k, v, W):
    _, context, weights = reference.bahdanau_step(s_prev, y_prev, h, mask, W_q, W_k, v, W)
    return np.concatenate([s_prev, y_prev, context], axis=-1) @ W.T, context, weights


@bahdanau_step.misconception(
    "joins state, symbol and context in another order",
    hint="The columns of W belong to the state first, then the symbol, then the context.",
)
def _(s_prev, y_prev, h, mask, W_q, W_k, v, W):
    _, context, weights = reference.bahdanau_step(s_prev, y_prev, h, mask, W_q, W_k, v, W)
    return np.tanh(np.concatenate([context, s_prev, y_prev], axis=-1) @ W.T), context, weights


@bahdanau_step.misconception(
    "returns context and weights without the state",
    hint="Three arrays are asked for: (s, context, weights).",
)
def _(s_prev, y_prev, h, mask, W_q, W_k, v, W):
    return reference.bahdanau_step(s_prev, y_prev, h, mask, W_q, W_k, v, W)[1:]


@bahdanau_step.right_answer("torch")
def _(s_prev, y_prev, h, mask, W_q, W_k, v, W):
    import torch

    s_prev, y_prev, h, mask, W_q, W_k, v, W = map(
        torch.tensor, (s_prev, y_prev, h, mask, W_q, W_k, v, W)
    )
    hidden = torch.tanh(torch.einsum("bnd,ad->bna", h, W_k) + (s_prev @ W_q.T).unsqueeze(1))
    scores = (hidden @ v).masked_fill(~mask, float("-inf"))
    weights = scores.softmax(-1).nan_to_num(0)
    context = (weights.unsqueeze(-1) * h).sum(1)
    return torch.tanh(torch.cat([s_prev, y_prev, context], -1) @ W.T), context, weights


@bahdanau_step.right_answer("a loop over sentences and their visible positions")
def _(s_prev, y_prev, h, mask, W_q, W_k, v, W):
    s, context, weights = s_prev.copy(), np.zeros_like(h[:, 0]), np.zeros_like(h[..., 0])
    for b in range(len(h)):
        seen = np.flatnonzero(mask[b])
        if len(seen):
            e = np.array([v @ np.tanh(W_q @ s_prev[b] + W_k @ h[b, n]) for n in seen])
            powers = np.exp(e - e.max())
            weights[b, seen] = powers / powers.sum()
        for n in range(h.shape[1]):
            context[b] += weights[b, n] * h[b, n]
        s[b] = np.tanh(W @ np.concatenate([s_prev[b], y_prev[b], context[b]]))
    return s, context, weights


@bahdanau_step.right_answer("one matrix on the joined vectors, and W in three parts")
def _(s_prev, y_prev, h, mask, W_q, W_k, v, W):
    query = np.broadcast_to(s_prev[:, None], (*h.shape[:2], s_prev.shape[-1]))
    both = np.concatenate([query, h], axis=-1) @ np.concatenate([W_q, W_k], axis=-1).T
    scores = np.where(mask, np.einsum("bna,a->bn", np.tanh(both), v), -np.inf)
    top = np.where(mask.any(-1, keepdims=True), scores.max(-1, keepdims=True), 0)
    powers = np.exp(scores - top)
    weights = powers / np.maximum(powers.sum(-1, keepdims=True), 1)
    context = np.sum(weights[..., None] * h, axis=1)
    of_s, of_y, of_c = np.split(W, [s_prev.shape[-1], W.shape[-1] - h.shape[-1]], axis=-1)
    return np.tanh(s_prev @ of_s.T + y_prev @ of_y.T + context @ of_c.T), context, weights


# --------------------------------------------------------------------------- 2.2

_share = {"part": lambda output: output[0]}


def _padding_changed(answer, arguments):
    """The scores as they are, and with other numbers in the steps that do not count."""
    weights, aligned, steps = (arguments[name] for name in ("weights", "aligned", "steps"))
    other = {
        "weights": np.where(steps[..., None], weights, np.flip(weights, -1)),
        "aligned": np.where(steps, aligned, 0),
    }
    return np.stack(answer(**arguments)), np.stack(answer(**{**arguments, **other}))


@exercise(
    reference=reference.alignment_score,
    number="2.2",
    title="Does the model point where it should?",
    section=("seq2seq-where", "Where does step 3 look?"),
    points=4,
    minutes=20,
    difficulty=2,
    parts=("share", "error"),
    right_anyway={"transposed": "a number has no axes"},
    contract="weights (B, M, N), aligned (B, M) integers from 0, steps (B, M) True = a step that "
    "counts -> the tuple (share, error), two numbers",
    laws=[
        laws.not_negative(**_share),
        laws.items_permuted("weights", "aligned", "steps", axis=0, **_share),
        laws.items_permuted("weights", "aligned", "steps", axis=1, **_share),
        laws.agrees("steps that do not count change nothing", _padding_changed),
    ],
    hints=(
        "Each step has one row of weights. Which axis holds the source positions, and how many "
        "steps are there to count?",
        "A hit is a step that counts *and* whose largest weight lies on the true position. Add up "
        "over the whole batch, and divide once at the end by the number of steps that count.",
        "`hits = (weights.argmax(-1) == aligned) & steps` and, for the mass of each step, "
        "`np.where(aligned[..., None] == np.arange(N), weights, 0).sum(-1) * steps`; add up both "
        "over the batch and divide by `steps.sum()`.",
    ),
)
def alignment_score(weights, aligned, steps):
    r"""How well attention points: the share of hits and the soft alignment error rate.

    Step $t$ of a sentence should look at the source position $n^*_t$, which is `aligned[b, t]`.
    Over all steps that count, of all sentences together:

    $$
    \text{share} = \frac{\text{number of steps with } \arg\max_n \alpha_{tn} = n^*_t}
                        {\text{number of steps}}, \qquad
    \text{error} = 1 - \frac{\sum_t \alpha_{t n^*_t}}{\text{number of steps}}
    $$

    The first asks where the largest weight lies; the second how much of the weight lies where it
    should, and subtracts it from one. As a loop:

    ```python
    for b in range(B):
        for t in range(M):
            if steps[b, t]:
                count += 1
                hits += np.argmax(weights[b, t]) == aligned[b, t]
                mass += weights[b, t, aligned[b, t]]
    share, error = hits / count, 1 - mass / count
    ```

    Where `steps` is False the step is padding: it does not count, and its number in `aligned`
    means nothing; it need not even be a position of the source. At least one step counts. Return
    the tuple `(share, error)`.
    """


def _weights_of(rng, B, M, N, lengths):
    weights = softmax(2 * rng.normal(size=(B, M, N)))
    steps = np.arange(M) < np.array(lengths)[:, None]
    # Half of the steps point right, so that hits and misses both occur.
    guessed = np.where(rng.random((B, M)) < 0.5, weights.argmax(-1), rng.integers(N, size=(B, M)))
    return {"weights": weights, "aligned": np.where(steps, guessed, -1), "steps": steps}


@alignment_score.case("by hand: two steps, three positions")
def _(rng):
    return {
        "weights": np.array([[[0.1, 0.7, 0.2], [0.6, 0.3, 0.1]]]),
        "aligned": np.array([[1, 1]]),
        "steps": np.array([[True, True]]),
    }


@alignment_score.case("three sentences of one length")
def _(rng):
    return _weights_of(rng, B=3, M=4, N=6, lengths=[4, 4, 4])


@alignment_score.case("sentences of different length")
def _(rng):
    return _weights_of(rng, B=4, M=7, N=5, lengths=[7, 1, 4, 2])


@alignment_score.case("digits to reverse")
def _(rng):
    lengths = np.array([5, 3, 2])
    t = np.arange(5)
    steps = t < lengths[:, None]
    aligned = np.where(steps, lengths[:, None] - 1 - t, -1)
    weights = softmax(2 * rng.normal(size=(3, 5, 5)) + 3 * (aligned[..., None] == t))
    return {"weights": weights, "aligned": aligned, "steps": steps}


@alignment_score.case("more steps than positions, many sentences")
def _(rng):
    return _weights_of(rng, B=12, M=8, N=3, lengths=rng.integers(1, 9, size=12))


@alignment_score.case("a sentence in which no step counts")
def _(rng):
    return _weights_of(rng, B=3, M=4, N=6, lengths=[4, 0, 2])


@alignment_score.case("one position")
def _(rng):
    return {
        "weights": np.ones((2, 3, 1)),
        "aligned": np.zeros((2, 3), int),
        "steps": np.array([[True, True, False], [True, False, False]]),
    }


@alignment_score.case("single precision")
def _(rng):
    return in_single_precision(_weights_of(rng, B=3, M=4, N=6, lengths=[4, 3, 1]))


@alignment_score.case("rows of memory that are not contiguous")
def _(rng):
    arguments = _weights_of(rng, B=3, M=4, N=6, lengths=[2, 4, 3])
    return {name: array.T.copy().T for name, array in arguments.items()}


def _mass(weights, aligned):
    """The weight on the true position of each step; 0 where there is no such position."""
    return np.where(aligned[..., None] == np.arange(weights.shape[-1]), weights, 0).sum(-1)


@alignment_score.misconception(
    "takes the largest weight over the steps instead of the positions",
    hint="Each *step* asks where it looks most: the largest weight among the source positions, "
    "the last axis.",
)
def _(weights, aligned, steps):
    best = weights.argmax(axis=1)  # (B, N): a step for each position
    width = min(best.shape[-1], steps.shape[-1])
    hits = (best[:, :width] == aligned[:, :width]) & steps[:, :width]
    return hits.sum() / steps.sum(), reference.alignment_score(weights, aligned, steps)[1]


@alignment_score.misconception(
    "counts the padding steps too",
    hint="Where `steps` is False there is no word. Neither the hits nor the mass nor the number "
    "you divide by may count it.",
)
def _(weights, aligned, steps):
    # As the loop without its `if`: where `aligned` is -1 it reads the last position.
    mass = np.take_along_axis(weights, aligned[..., None], axis=-1)
    return (weights.argmax(-1) == aligned).mean(), 1 - mass.mean()


@alignment_score.misconception(
    "divides by all steps, padding included",
    hint="You leave the padding out of the hits but not out of the number of steps.",
)
def _(weights, aligned, steps):
    hits = (weights.argmax(-1) == aligned) & steps
    return hits.mean(), 1 - (_mass(weights, aligned) * steps).mean()


@alignment_score.misconception(
    "compares with the number of the step instead of `aligned`",
    hint="Step t need not look at position t; when digits are reversed it looks at the other end. "
    "`aligned` says where.",
)
def _(weights, aligned, steps):
    diagonal = np.broadcast_to(np.arange(steps.shape[-1]), steps.shape)
    return reference.alignment_score(weights, diagonal, steps)


@alignment_score.misconception(
    "takes the positions to count from one",
    hint="`aligned` counts from zero, as indices in code do.",
)
def _(weights, aligned, steps):
    return reference.alignment_score(weights, aligned - 1, steps)


@alignment_score.misconception(
    "averages each sentence first and then the sentences",
    hint="A sentence of one step would then count as much as one of seven. Add up over all steps "
    "and divide once.",
)
def _(weights, aligned, steps):
    hits = (weights.argmax(-1) == aligned) & steps
    counts = steps.sum(-1)
    some = counts > 0
    share = (hits.sum(-1)[some] / counts[some]).mean()
    mass = ((_mass(weights, aligned) * steps).sum(-1)[some] / counts[some]).mean()
    return share, 1 - mass


@alignment_score.misconception(
    "counts a step as a hit if it looks one place off",
    hint="A hit lies on the true position itself. One place off is just what this number is to "
    "find out.",
)
def _(weights, aligned, steps):
    near = np.abs(weights.argmax(-1) - aligned) <= 1
    error = reference.alignment_score(weights, aligned, steps)[1]
    return (near & steps).sum() / steps.sum(), error


@alignment_score.misconception(
    "counts a step as a hit if more than half of its weight lies there",
    hint="The largest weight need not be more than a half. Compare the place of the maximum with "
    "`aligned`.",
)
def _(weights, aligned, steps):
    error = reference.alignment_score(weights, aligned, steps)[1]
    return ((_mass(weights, aligned) > 0.5) & steps).sum() / steps.sum(), error


@alignment_score.misconception(
    "counts the mass instead of hits",
    hint="The share is a count: a step either has its largest weight on the true position or it "
    "has not.",
)
def _(weights, aligned, steps):
    error = reference.alignment_score(weights, aligned, steps)[1]
    return 1 - error, error


@alignment_score.misconception(
    "makes the error from the hits instead of the mass",
    hint="The error is soft: it adds up the *weights* on the true positions, hit or not.",
)
def _(weights, aligned, steps):
    share = reference.alignment_score(weights, aligned, steps)[0]
    return share, 1 - share


@alignment_score.misconception(
    "takes the mass of the largest weight instead of the true position",
    hint="The largest weight says how sure the model looks, not whether it looks at the right "
    "place.",
)
def _(weights, aligned, steps):
    share = reference.alignment_score(weights, aligned, steps)[0]
    return share, 1 - weights.max(-1)[steps].mean()


@alignment_score.misconception(
    "returns the mass instead of the error",
    hint="An error is zero when everything is right: subtract the mean mass from one.",
)
def _(weights, aligned, steps):
    share, error = reference.alignment_score(weights, aligned, steps)
    return share, 1 - error


@alignment_score.misconception(
    "returns the error before the share",
    hint="Both numbers are there; the share comes first.",
)
def _(weights, aligned, steps):
    return reference.alignment_score(weights, aligned, steps)[::-1]


@alignment_score.right_answer("the loop")
def _(weights, aligned, steps):
    hits, mass, count = 0, 0.0, 0
    for b, t in zip(*np.nonzero(steps), strict=True):
        count += 1
        hits += np.argmax(weights[b, t]) == aligned[b, t]
        mass += float(weights[b, t, aligned[b, t]])
    return np.float64(hits / count), np.float64(1 - mass / count)


@alignment_score.right_answer("pick the steps first")
def _(weights, aligned, steps):
    rows, true = weights[steps], aligned[steps]  # (steps, N), (steps,)
    mass = np.take_along_axis(rows, true[:, None], axis=-1)
    return (rows.argmax(-1) == true).mean(), 1 - mass.mean()


@alignment_score.right_answer("one-hot rows and an einsum")
def _(weights, aligned, steps):
    N = weights.shape[-1]
    wanted = np.eye(N)[aligned % N] * steps[..., None]
    chosen = np.eye(N)[weights.argmax(-1)]
    return (
        np.einsum("btn,btn->", chosen, wanted) / steps.sum(),
        1 - np.einsum("btn,btn->", weights, wanted) / steps.sum(),
    )


# --------------------------------------------------------------------------- written

two_problems_two_cures = Question(
    name="two_problems_two_cures",
    title="One problem, two cures",
    points=4,
    prompt="""An encoder-decoder squeezes its source into one vector $C$. People complain that $C$
is too small for a long source, and that every output gets the same $C$. In four to six sentences:
say why the two complaints can be called one, name two different cures and say what each of them
gives, and say which one helps when sources become ten times as long, and why.""",
    answer="""Both complaints are about one design: everything that the decoder learns of the
source passes through one vector whose size does not depend on the source. One cure is a larger $C$:
it gives room. The other is a context $c_t$ for each step, a weighted average of encoder states that
are all kept: it gives an address, so that each output reads what it needs. When sources become ten
times as long, a $C$ of any fixed size is ten times as crowded, whereas the number of kept states
grows with the source by itself; so the context a step helps, and a larger $C$ only moves the limit.
What it costs is that every step has to score all states.""",
    scheme="""- 1 point: both come from the one fixed vector between encoder and decoder.
- 1 point: room (a larger summary) and address (a context a step) are told apart.
- 1 point: the context a step, since what is kept grows with the source.
- 1 point: a fixed size, however large, only moves the limit (not "attention is better").""",
)

right_but_pointing_elsewhere = Question(
    name="right_but_pointing_elsewhere",
    title="Right, and pointing elsewhere",
    points=4,
    prompt="""A team has trained a translator with attention whose values are the encoder's states.
It translates almost without a mistake. In the report they show an attention map whose peaks lie
one word beside the words that a linguist would link, and they conclude: "The attention is broken;
the model translates by luck." In four to six sentences: say why the peaks can lie there without
anything being broken, name one change to what is stored that would test your explanation, and say
what an attention map of this kind can and cannot show.""",
    answer="""A state of a recurrent encoder is no word: it has read its neighbours as well, so the
state beside a word can tell what the word is. The decoder learns to fetch what it needs from
whichever state offers it best, and nothing in the training asks it to fetch it from the linked
position. A good output with shifted peaks is therefore no sign of luck. To test this, leave the
keys as they are and make the values the bare embeddings, which know nothing of their neighbours:
if the explanation is right, the accuracy stays and the peaks move onto the linked words. The map
shows from which *positions* the decoder read; it does not show which *word's* information it got
there, and so it is neither proof nor disproof of an alignment.""",
    scheme="""- 1 point: a state knows its neighbours, so the word can be read off another position.
- 1 point: training rewards the output only, not the pointing.
- 1 point: a test that changes the values to something that holds one word only (embeddings).
- 1 point: weights show positions read from, not whose information was read.""",
)
