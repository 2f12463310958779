"""The exercises of the chapter on hard attention: a hard read, REINFORCE, straight-through."""

import inspect
from statistics import NormalDist

import numpy as np

from attnkit import hard_attention as reference
from attnkit import soft_attention
from attnkit.checking import Question, exercise, in_single_precision, laws

# Without its look at the arguments: a mistake may come to it with NaN.
softmax = inspect.unwrap(soft_attention.softmax)

# --------------------------------------------------------------------------- 4.1


def _read_is_that_item(answer, arguments):
    read, index = answer(**arguments)
    chosen = index[..., None] == np.arange(arguments["weights"].shape[-1])
    return chosen * 1.0 @ arguments["V"], read


def _as_often_as_the_weights_say(answer, arguments):
    if "u" not in arguments or arguments["weights"].ndim > 2:
        return None
    draws, weights = 400, arguments["weights"][:1]
    N = weights.shape[-1]
    many = {"weights": np.repeat(weights, draws, axis=0), "u": (np.arange(draws) + 0.5) / draws}
    _, index = answer(**arguments | many)
    often = (index[:, None] == np.arange(N)).mean(axis=0)
    return (np.abs(often - weights[0]) <= 1 / draws) * 1.0, np.ones(N)


@exercise(
    # The reference refuses u outside of [0, 1), and the check nudges what lies just below 1.
    reference=inspect.unwrap(reference.hard_read),
    number="4.1",
    title="Read one item",
    section=("hard-formula", "The formula, the loop, the line"),
    points=4,
    minutes=20,
    difficulty=1,
    parts=("read", "index"),
    contract="weights (..., M, N), V (..., N, Dv), u (..., M) or None -> the tuple (read "
    "(..., M, Dv), index (..., M))",
    laws=[
        laws.read_inside_hull("V", axis=-2, part=lambda output: output[0]),
        laws.agrees("the read is the value of the item that is named", _read_is_that_item),
        laws.agrees(
            "evenly spread u draw each item as often as its weight says",
            _as_often_as_the_weights_say,
        ),
    ],
    hints=(
        "Lay the weights of one query end to end: they fill the line from 0 to 1. A uniform number "
        "u is a place on that line. Whose piece does it fall in?",
        "The partial sums `weights.cumsum(-1)` are where the pieces end. The item drawn is the "
        "number of pieces that have ended at u or before. That can be N by a rounding error.",
        "`index = (weights.cumsum(-1) <= u[..., None]).sum(-1)`, held to at most N - 1; then "
        "`np.take_along_axis(V, index[..., None], axis=-2)` is the read.",
    ),
)
def hard_read(weights, V, u=None):
    r"""Read one item for each query: that of the largest weight, or one drawn at random.

    Row $m$ of `weights` is the attention distribution $\alpha_m$ of query $m$. Return the tuple
    `(read, index)`: which item is read, counted from 0, and its value

    $$o_m = v_{z_m}$$

    Without `u` (it is `None`) item $z_m$ is the one with the largest weight. With `u` it is a
    sample. For the check to know what is right, the chance comes in from outside: `u` holds one
    uniform number from 0 up to, but not including, 1 for each query. The item drawn is the *first*
    whose partial sum of weights is *larger* than `u`. As a loop:

    ```python
    for m in range(M):
        partial_sum = 0.0
        for n in range(N):
            partial_sum += weights[m, n]
            if partial_sum > u[m]:
                break
        index[m], read[m] = n, V[n]
    ```

    The weights add to one, but computed partial sums may end a little below it, and `u` may lie in
    between. Then the last item is drawn, as in the loop. An item of weight zero is never drawn
    otherwise. There may be batch axes in front of all arguments: `(B, M, N)`, `(B, N, Dv)` and
    `(B, M)`. No two largest weights of a row are equal.
    """


def _choices(rng, M, N, Dv, batch=(), drawn=True):
    arguments = {
        "weights": softmax(1.5 * rng.normal(size=(*batch, M, N))),
        "V": rng.normal(size=(*batch, N, Dv)),
    }
    return arguments | ({"u": rng.random((*batch, M))} if drawn else {})


@hard_read.case("the largest weight")
def _(rng):
    return _choices(rng, M=3, N=5, Dv=4, drawn=False)


@hard_read.case("one draw for each query")
def _(rng):
    return _choices(rng, M=3, N=5, Dv=4)


@hard_read.case("many draws from one distribution")
def _(rng):
    arguments = _choices(rng, M=16, N=4, Dv=2)
    return arguments | {"weights": np.repeat(arguments["weights"][:1], 16, axis=0)}


@hard_read.case("the largest weight, in a batch")
def _(rng):
    return _choices(rng, M=3, N=5, Dv=4, batch=(2,), drawn=False)


@hard_read.case("draws in a batch")
def _(rng):
    return _choices(rng, M=3, N=5, Dv=4, batch=(2,))


@hard_read.case("all sizes equal")
def _(rng):
    return _choices(rng, M=4, N=4, Dv=4)


@hard_read.case("one item")
def _(rng):
    return _choices(rng, M=3, N=1, Dv=2)


@hard_read.case("all the weight on one item")
def _(rng):
    return _choices(rng, M=4, N=4, Dv=3) | {"weights": np.eye(4)[rng.permutation(4)]}


@hard_read.case("u is zero and the first item has no weight")
def _(rng):
    weights = np.array([[0.0, 0.25, 0.75], [0.0, 0.0, 1.0]])
    return {"weights": weights, "V": rng.normal(size=(3, 2)), "u": np.zeros(2)}


@hard_read.case("u just below one")
def _(rng):
    # Ten times 0.1 adds to a little less than one.
    u = np.array([np.nextafter(1.0, 0.0), rng.random()])
    return {"weights": np.full((2, 10), 0.1), "V": rng.normal(size=(10, 2)), "u": u}


@hard_read.case("single precision")
def _(rng):
    return in_single_precision(_choices(rng, M=3, N=5, Dv=4))


@hard_read.case("rows of memory that are not contiguous")
def _(rng):
    drawn = _choices(rng, M=3, N=5, Dv=4)
    return drawn | {name: np.asfortranarray(drawn[name]) for name in ("weights", "V")}


def _item(V, index):
    return np.take_along_axis(V, index[..., None], axis=-2), index


def _drawn(weights, u):
    last = weights.shape[-1] - 1
    return (weights.cumsum(-1) <= u[..., None]).sum(-1).clip(max=last)


@hard_read.misconception(
    "looks for the largest weight among the queries instead of the items",
    hint="The items of one query lie along the last axis, and there is one index for each query.",
)
def _(weights, V, u=None):
    return _item(V, weights.argmax(-2)) if u is None else _item(V, _drawn(weights.mT, u))


@hard_read.misconception(
    "takes the largest value instead of the value of the largest weight",
    hint="Each feature of your read comes from another item. The weights choose one item, and all "
    "of its features are read.",
)
def _(weights, V, u=None):
    index = weights.argmax(-1) if u is None else _drawn(weights, u)
    return np.broadcast_to(V.max(-2, keepdims=True), (*index.shape, V.shape[-1])), index


@hard_read.misconception(
    "reads the average instead of one item",
    hint="Your read is the soft one, weights @ V. Here exactly one row of V comes out.",
)
def _(weights, V, u=None):
    return weights @ V, weights.argmax(-1) if u is None else _drawn(weights, u)


@hard_read.misconception(
    "takes the largest weight also when u is given",
    hint="The same item comes out whatever u is. With u an item of weight 0.2 has to come in one "
    "draw of five.",
)
def _(weights, V, u=None):
    return _item(V, weights.argmax(-1))


@hard_read.misconception(
    "draws all items equally often",
    hint="Your draw does not look at the weights. An item with twice the weight fills twice as "
    "much of the line from 0 to 1.",
)
def _(weights, V, u=None):
    return _item(
        V, weights.argmax(-1) if u is None else np.floor(u * weights.shape[-1]).astype(int)
    )


@hard_read.misconception(
    "uses the first uniform number for every query",
    hint="All your queries draw with the same luck. Each has a number of its own: u[..., None] "
    "beside partial sums of shape (..., M, N).",
)
def _(weights, V, u=None):
    return _item(
        V,
        weights.argmax(-1) if u is None else _drawn(weights, np.broadcast_to(u[..., :1], u.shape)),
    )


@hard_read.misconception(
    "does not let two queries draw the same item",
    hint="Queries draw independently: what one has read, another may read too. Do not set weights "
    "to zero between draws.",
)
def _(weights, V, u=None):
    if u is None:
        return _item(V, weights.argmax(-1))
    left, index = weights.copy(), np.zeros(u.shape, int)
    for m in range(u.shape[-1]):
        row = left[..., m, :]
        total = row.sum(-1, keepdims=True)
        row = np.where(total > 0, row / np.where(total > 0, total, 1), weights[..., m, :])
        index[..., m] = _drawn(row, u[..., m])
        taken = np.arange(row.shape[-1]) == index[..., m, None]
        left = np.where(taken[..., None, :], 0.0, left)
    return _item(V, index)


@hard_read.misconception(
    "takes a softmax of the weights before it draws",
    hint="The weights already are probabilities. A softmax of them is nearly flat.",
)
def _(weights, V, u=None):
    return _item(V, weights.argmax(-1) if u is None else _drawn(softmax(weights), u))


@hard_read.misconception(
    "compares u with the weights instead of their partial sums",
    hint="A piece of the line begins where the one before it ends: add the weights up first.",
)
def _(weights, V, u=None):
    return _item(V, weights.argmax(-1) if u is None else (weights > u[..., None]).argmax(-1))


@hard_read.misconception(
    "counts the pieces behind u instead of those before it",
    hint="With u near 0 the first item has to come out, with u near 1 the last.",
)
def _(weights, V, u=None):
    if u is None:
        return _item(V, weights.argmax(-1))
    behind = (weights.cumsum(-1) > u[..., None]).sum(-1)
    return _item(V, behind.clip(max=weights.shape[-1] - 1))


@hard_read.misconception(
    "stops at a partial sum that reaches u, without being larger",
    hint="With u = 0 and a first item of weight 0 you draw an item that can never be drawn. The "
    "partial sum has to be larger than u.",
)
def _(weights, V, u=None):
    if u is None:
        return _item(V, weights.argmax(-1))
    passed = (weights.cumsum(-1) < u[..., None]).sum(-1)
    return _item(V, passed.clip(max=weights.shape[-1] - 1))


@hard_read.misconception(
    "trusts the partial sums to reach one",
    hint="Add 0.1 ten times: the sum is a little below 1, and u can lie in between. Your index is "
    "then N, and there is no such item.",
)
def _(weights, V, u=None):
    return _item(
        V, weights.argmax(-1) if u is None else (weights.cumsum(-1) <= u[..., None]).sum(-1)
    )


@hard_read.misconception(
    "counts the items from 1",
    hint="The read is right. In code the first item is number 0, so that V[index] is what is read.",
)
def _(weights, V, u=None):
    read, index = reference.hard_read(weights, V, u)
    return read, index + 1


@hard_read.misconception(
    "returns the index before the read",
    hint="Both are right, in the other order: return read, index.",
)
def _(weights, V, u=None):
    return reference.hard_read(weights, V, u)[::-1]


@hard_read.misconception(
    "does not expect a batch",
    hint="Right without a batch. V[index] looks along the first axis, which is then the batch; "
    "np.take_along_axis(V, index[..., None], axis=-2) looks along the items.",
)
def _(weights, V, u=None):
    index = weights.argmax(-1) if u is None else _drawn(weights, u)
    return V[index], index


@hard_read.right_answer("a one-hot matrix times the values")
def _(weights, V, u=None):
    if u is None:
        chosen = weights == weights.max(axis=-1, keepdims=True)
    else:
        passed = weights.cumsum(axis=-1) <= u[..., None]
        passed[..., -1] = False
        before = np.concatenate([np.ones_like(passed[..., :1]), passed[..., :-1]], axis=-1)
        chosen = before & ~passed
    return chosen.astype(V.dtype) @ V, chosen.argmax(-1)


@hard_read.right_answer("numpy's searchsorted, query by query")
def _(weights, V, u=None):
    index = np.zeros(weights.shape[:-1], int)
    read = np.zeros((*index.shape, V.shape[-1]), V.dtype)
    for place in np.ndindex(*index.shape):
        row = weights[place]
        n = row.argmax() if u is None else np.searchsorted(row.cumsum(), u[place], side="right")
        index[place] = min(n, len(row) - 1)
        read[place] = V[place[:-1]][index[place]]
    return read, index


@hard_read.right_answer("torch's searchsorted and gather")
def _(weights, V, u=None):
    import torch

    weights, V = torch.tensor(weights), torch.tensor(V)
    if u is None:
        index = weights.argmax(-1)
    else:
        sums = weights.cumsum(-1)
        index = torch.searchsorted(sums, torch.tensor(u)[..., None], right=True)[..., 0]
        index = index.clamp(max=weights.shape[-1] - 1)
    return V.gather(-2, index[..., None].expand(*index.shape, V.shape[-1])), index


@hard_read.right_answer("the loop of the text")
def _(weights, V, u=None):
    if weights.ndim > 2:
        rows = [None] * len(weights) if u is None else u
        parts = [hard_read_by_loop(*member) for member in zip(weights, V, rows, strict=True)]
        return tuple(np.stack(part) for part in zip(*parts, strict=True))
    return hard_read_by_loop(weights, V, u)


def hard_read_by_loop(weights, V, u):
    index = np.zeros(len(weights), int)
    for m, row in enumerate(weights):
        partial_sum = 0.0
        for n in range(len(row)):
            index[m] = n
            partial_sum += row[n]
            if partial_sum > u[m] if u is not None else row[n] == max(row):
                break
    return V[index], index


# --------------------------------------------------------------------------- 4.2


def _one_by_one(answer, arguments):
    rows = range(len(arguments["losses"]))
    alone = [answer(**{name: array[i : i + 1] for name, array in arguments.items()}) for i in rows]
    return np.mean(alone, axis=0), answer(**arguments)


def _only_the_loss_is_left(answer, arguments):
    losses = arguments["losses"]
    return answer(**arguments | {"baseline": losses}), losses.mean()


@exercise(
    reference=reference.reinforce_surrogate,
    number="4.2",
    title="A number whose gradient is REINFORCE",
    section=("hard-surrogate", "One number to call backward on"),
    points=5,
    minutes=25,
    difficulty=3,
    backend="torch",
    gradients=("scores", "losses", "baseline"),
    equivalent_mutants={
        "-1  ->  1": "scores have two axes: the last one is number 1",
        "0  ->  -1": "gather leaves one column, which is the first and the last",
    },
    contract="tensors: scores (B, N), choice (B,) of integers, losses (B,), baseline (B,) -> a "
    "tensor without axes, with its graph",
    laws=[
        laws.shift_invariant("scores", along=lambda arguments: -1),
        laws.agrees("a batch gives the mean of its members", _one_by_one),
        laws.agrees("where the baseline equals the loss, the loss is left", _only_the_loss_is_left),
    ],
    hints=(
        "Three things stand in the second term: a loss, a baseline, a log-probability. Which of "
        "them is allowed to pass a gradient on? And what does `.detach()` do?",
        "`scores.log_softmax(-1)` gives the log-probabilities of all items without underflow; pick "
        "the chosen one of each row with `gather`. Detach the difference of loss and baseline as a "
        "whole, add the loss itself, then take the mean.",
        "`log_p = scores.log_softmax(-1).gather(-1, choice[:, None])[:, 0]`, and return "
        "`(losses + (losses - baseline).detach() * log_p).mean()`.",
    ),
)
def reinforce_surrogate(scores, choice, losses, baseline):
    r"""A number to call `backward` on: it trains the choice and what comes after the choice.

    For each of $B$ examples one item $z_i$ was drawn from $\alpha_i = \mathrm{softmax}(s_i)$, and
    reading it cost the loss $L_i$. Return

    $$\frac{1}{B} \sum_i \Big( L_i + [L_i - b_i]\, \ln \alpha_{i z_i} \Big)$$

    where the square brackets mean: *a constant to the gradient*. As a loop:

    ```python
    for i in range(B):
        surprise = (losses[i] - baseline[i]).detach()
        total = total + losses[i] + surprise * torch.log_softmax(scores[i], -1)[choice[i]]
    return total / B
    ```

    All arguments are torch tensors, and you return one. The check calls `backward` on it and looks
    at three gradients besides the number itself. By `scores` it is the mean of the REINFORCE
    estimates. By `losses` it is $1/B$, since the network behind the choice learns as always. By
    `baseline` it is zero. The scores can be in the thousands, and the drawn item can be one whose
    probability underflows to zero.
    """


def _drawn_batch(rng, B, N, **changed):
    scores = rng.normal(size=(B, N))
    return {
        "scores": scores,
        "choice": rng.integers(N, size=B),
        "losses": 1 + rng.random(B),
        "baseline": 1 + rng.random(B),
    } | changed


@reinforce_surrogate.case("three examples, five items")
def _(rng):
    return _drawn_batch(rng, B=3, N=5)


@reinforce_surrogate.case("one example")
def _(rng):
    return _drawn_batch(rng, B=1, N=4)


@reinforce_surrogate.case("as many examples as items")
def _(rng):
    return _drawn_batch(rng, B=4, N=4)


@reinforce_surrogate.case("one item: there is no choice")
def _(rng):
    return _drawn_batch(rng, B=3, N=1)


@reinforce_surrogate.case("a baseline of zero")
def _(rng):
    return _drawn_batch(rng, B=4, N=3, baseline=np.zeros(4))


@reinforce_surrogate.case("losses of both signs")
def _(rng):
    return _drawn_batch(rng, B=5, N=3, losses=rng.normal(size=5), baseline=rng.normal(size=5))


@reinforce_surrogate.case("scores in the thousands, the unlikely item drawn")
def _(rng):
    scores = 1000 * np.array([[1.0, -1.0, 0.5], [-2.0, 0.0, 1.0]]) + rng.normal(size=(2, 3))
    return _drawn_batch(rng, B=2, N=3, scores=scores, choice=np.array([1, 0]))


@reinforce_surrogate.case("single precision")
def _(rng):
    return in_single_precision(_drawn_batch(rng, B=3, N=5)) | {"choice": rng.integers(5, size=3)}


def _log_weights(scores, choice):
    return scores.log_softmax(-1).gather(-1, choice[:, None])[:, 0]


@reinforce_surrogate.misconception(
    "lets a gradient through the factor of the log-probability",
    hint="Look at the gradient by the losses: it should be 1/B each. The difference of loss and "
    "baseline only says how much to push: detach it.",
)
def _(scores, choice, losses, baseline):
    return (losses + (losses - baseline) * _log_weights(scores, choice)).mean()


@reinforce_surrogate.misconception(
    "detaches the loss in the factor but not the baseline",
    hint="Your baseline gets a gradient, so this number would train it to make surprises, not to "
    "predict. Detach the whole difference.",
)
def _(scores, choice, losses, baseline):
    return (losses + (losses.detach() - baseline) * _log_weights(scores, choice)).mean()


@reinforce_surrogate.misconception(
    "detaches the baseline in the factor but not the loss",
    hint="Look at the gradient by the losses: it should be 1/B each. Detach the whole difference.",
)
def _(scores, choice, losses, baseline):
    return (losses + (losses - baseline.detach()) * _log_weights(scores, choice)).mean()


@reinforce_surrogate.misconception(
    "detaches the losses in both places",
    hint="Nothing trains the network behind the choice any more. Its loss is the first term, and "
    "there it keeps its graph.",
)
def _(scores, choice, losses, baseline):
    losses = losses.detach()
    return (losses + (losses - baseline.detach()) * _log_weights(scores, choice)).mean()


@reinforce_surrogate.misconception(
    "detaches the log-probability",
    hint="The log-probability is the only way to the scores. Detach the factor in front of it.",
)
def _(scores, choice, losses, baseline):
    surprise = (losses - baseline).detach()
    return (losses + surprise * _log_weights(scores, choice).detach()).mean()


@reinforce_surrogate.misconception(
    "turns the sign of the second term",
    hint="With rewards one climbs, with losses one descends. A choice that cost more than the "
    "baseline has to become less likely when you walk *against* the gradient.",
)
def _(scores, choice, losses, baseline):
    surprise = (losses - baseline).detach()
    return (losses - surprise * _log_weights(scores, choice)).mean()


@reinforce_surrogate.misconception(
    "takes the score of the item instead of its log-probability",
    hint="Add a number to all scores of a row: no probability changes, but your number does. The "
    "other items have to lose what the chosen one gains.",
)
def _(scores, choice, losses, baseline):
    chosen = scores.gather(-1, choice[:, None])[:, 0]
    return (losses + (losses - baseline).detach() * chosen).mean()


@reinforce_surrogate.misconception(
    "takes the probability of the item instead of its logarithm",
    hint="The draw already brings in the probability: an item is drawn that often. What has to be "
    "differentiated is its logarithm.",
)
def _(scores, choice, losses, baseline):
    weights = scores.softmax(-1).gather(-1, choice[:, None])[:, 0]
    return (losses + (losses - baseline).detach() * weights).mean()


@reinforce_surrogate.misconception(
    "takes the logarithm of a softmax that underflows",
    hint="Right as long as no probability rounds to zero; the logarithm of zero is minus infinity. "
    "`log_softmax` never leaves the logarithms.",
)
def _(scores, choice, losses, baseline):
    log_weights = scores.softmax(-1).log().gather(-1, choice[:, None])[:, 0]
    return (losses + (losses - baseline).detach() * log_weights).mean()


@reinforce_surrogate.misconception(
    "sums over the batch instead of taking the mean",
    hint="With twice the examples your gradient is twice as long. The number is a mean over B.",
)
def _(scores, choice, losses, baseline):
    return (losses + (losses - baseline).detach() * _log_weights(scores, choice)).sum()


@reinforce_surrogate.misconception(
    "uses the mean loss of the batch as its baseline",
    hint="That mean contains the loss of the very draw it is subtracted from, so it depends on the "
    "draw: the estimate is biased. Use the baseline you are given.",
)
def _(scores, choice, losses, baseline):
    surprise = (losses - losses.mean()).detach()
    return (losses + surprise * _log_weights(scores, choice)).mean()


@reinforce_surrogate.misconception(
    "leaves the baseline out",
    hint="Right on average and needlessly noisy: subtract the baseline from the loss in the "
    "second term.",
)
def _(scores, choice, losses, baseline):
    return (losses + losses.detach() * _log_weights(scores, choice)).mean()


@reinforce_surrogate.misconception(
    "leaves out the loss itself",
    hint="The second term trains the scores only. Without the first term nothing trains the "
    "network that turned the item into a loss.",
)
def _(scores, choice, losses, baseline):
    return ((losses - baseline).detach() * _log_weights(scores, choice)).mean()


@reinforce_surrogate.misconception(
    "subtracts the baseline from the first term too",
    hint="The baseline belongs to the factor of the log-probability. Subtracted from the loss "
    "itself it only changes the number, and passes a gradient to the baseline.",
)
def _(scores, choice, losses, baseline):
    surprise = losses - baseline
    return (surprise + surprise.detach() * _log_weights(scores, choice)).mean()


@reinforce_surrogate.misconception(
    "adds up the log-probabilities of all items",
    hint="Only the item that was drawn is pushed: pick it out of each row with gather.",
)
def _(scores, choice, losses, baseline):
    return (losses + (losses - baseline).detach() * scores.log_softmax(-1).sum(-1)).mean()


@reinforce_surrogate.misconception(
    "normalises over the batch instead of over the items",
    hint="Each example has a softmax of its own, over the items: the last axis.",
)
def _(scores, choice, losses, baseline):
    chosen = scores.log_softmax(0).gather(-1, choice[:, None])[:, 0]
    return (losses + (losses - baseline).detach() * chosen).mean()


@reinforce_surrogate.misconception(
    "pairs every example with every choice",
    hint="`log_p[:, choice]` takes all the chosen columns from every row and has shape (B, B). "
    "`gather` takes one entry from each row.",
)
def _(scores, choice, losses, baseline):
    chosen = scores.log_softmax(-1)[:, choice]
    return (losses + (losses - baseline).detach() * chosen).mean()


@reinforce_surrogate.right_answer("the cross-entropy, which is minus the log-probability")
def _(scores, choice, losses, baseline):
    import torch

    cost = torch.nn.functional.cross_entropy(scores, choice, reduction="none")
    return torch.mean(losses - (losses - baseline).detach() * cost)


@reinforce_surrogate.right_answer("torch's Categorical")
def _(scores, choice, losses, baseline):
    import torch

    log_weights = torch.distributions.Categorical(logits=scores).log_prob(choice)
    with torch.no_grad():
        surprise = losses - baseline
    return losses.mean() + (surprise * log_weights).mean()


@reinforce_surrogate.right_answer("the loop of the text")
def _(scores, choice, losses, baseline):
    total = 0.0
    for i in range(len(scores)):
        surprise = (losses[i] - baseline[i]).detach()
        total = total + losses[i] + surprise * scores[i].log_softmax(-1)[choice[i]]
    return total / len(scores)


@reinforce_surrogate.right_answer("the score less the logarithm of the sum")
def _(scores, choice, losses, baseline):
    import torch

    rows = torch.arange(len(scores))
    log_weights = scores[rows, choice] - torch.logsumexp(scores, dim=1)
    return torch.dot(losses.detach() - baseline.detach(), log_weights) / len(scores) + losses.mean()


# --------------------------------------------------------------------------- 4.3

_weights = {"part": lambda output: output[1]}
_gradient = {"part": lambda output: output[2]}


def _of_largest_weight(answer, arguments):
    choice, weights, _ = answer(**arguments)
    return weights.argmax(-1), choice


def _as_often_as_the_softmax_says(answer, arguments):
    scores, draws = arguments["scores"], 4000
    if scores.shape[:-1] != (1,):
        return None  # one query tells enough
    N = scores.shape[-1]
    u = np.random.default_rng(0).uniform(1e-6, 1 - 1e-6, (draws, N)).astype(scores.dtype)
    upstream = np.repeat(arguments["upstream"], draws, axis=0)
    many = {"scores": np.repeat(scores, draws, axis=0), "u": u, "upstream": upstream}
    choice = answer(**arguments | many)[0]
    often = (choice[:, None] == np.arange(N)).mean(axis=0)
    # Six standard deviations of a frequency are less than 0.05.
    return (np.abs(often - softmax(scores[0])) < 0.05) * 1.0, np.ones(N)


@exercise(
    reference=reference.straight_through,
    number="4.3",
    title="Hard forward, soft backward",
    section=("hard-relaxed", "Gumbel-softmax and straight-through"),
    points=5,
    minutes=30,
    difficulty=3,
    parts=("choice", "weights", "gradient"),
    contract="scores (..., M, N), V (..., N, Dv), u (..., M, N), upstream (..., M, Dv), "
    "temperature -> the tuple (choice (..., M), weights (..., M, N), gradient (..., M, N))",
    given='''\
def softmax(scores):
    """Weights that add to one along the last axis, at any size of the scores."""
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)
''',
    laws=[
        laws.sums_to(1, along=lambda arguments: -1, **_weights),
        laws.not_negative(**_weights),
        laws.sums_to(0, along=lambda arguments: -1, **_gradient),
        laws.agrees("the item chosen is the one of the largest weight", _of_largest_weight),
        laws.agrees(
            "an item is chosen as often as the softmax of the scores says",
            _as_often_as_the_softmax_says,
        ),
        laws.batch_independent("scores", "V", "u", "upstream", rank=2, **_gradient),
    ],
    hints=(
        "Make the noisy scores first; everything else is made of them. Which of the three results "
        "depend on the temperature, and which does not?",
        "The noise is `-np.log(-np.log(u))`. The choice is the argmax of the noisy scores, the "
        "weights are the softmax of the noisy scores divided by the temperature. Write c for the "
        "dot products of the values with `upstream`, one number for each query and item: that is "
        "how the loss answers to each weight; then apply the Jacobian of the softmax, and do not "
        "forget the inner derivative of the division.",
        "`c = upstream @ np.swapaxes(V, -1, -2)`, then the gradient is "
        "`w * (c - (w * c).sum(axis=-1, keepdims=True)) / temperature`.",
    ),
)
def straight_through(scores, V, u, upstream, temperature=1.0):
    r"""A choice by Gumbel noise, its relaxation, and the gradient that straight-through passes on.

    Three things from one set of noisy scores $s + g$ with $g = -\ln(-\ln u)$. Return the tuple
    `(choice, weights, gradient)`:

    $$
    \begin{aligned}
    z &= \arg\max_n (s_n + g_n) \\
    w &= \mathrm{softmax}\!\left((s + g) / \tau\right) \\
    \text{gradient}_n &= \frac{\partial}{\partial s_n} \sum_j w_j\, v_j^\top h
    \end{aligned}
    $$

    The choice $z$, counted from 0, is what is read on the way forward: $v_z$. The loss behind it
    answers with its gradient by the read, $h$; that is `upstream`. Straight-through then passes
    back the gradient that the *soft* read $\sum_j w_j v_j$ would have had, with the noise and
    $h$ held fixed. For one query, with a Jacobian of exercise 3.5, it is:

    ```python
    for n in range(N):
        for j in range(N):
            jacobian = w[j] * ((n == j) - w[n])
            gradient[n] += jacobian / temperature * (V[j] @ h)
    ```

    `u` holds a number between 0 and 1 for each score. It can come very close to either end but is
    never 0 or 1: add nothing to it. `temperature` is $\tau$. `softmax(scores)` over the last axis
    is given. There may be batch axes in front of all arrays. Do it without autograd: the point is
    to see what it would do.
    """


def _noisy(rng, M, N, Dv, batch=(), **changed):
    return {
        "scores": rng.normal(size=(*batch, M, N)),
        "V": rng.normal(size=(*batch, N, Dv)),
        "u": rng.uniform(0.01, 0.99, (*batch, M, N)),
        "upstream": rng.normal(size=(*batch, M, Dv)),
    } | changed


@straight_through.case("four different sizes")
def _(rng):
    return _noisy(rng, M=3, N=5, Dv=4)


@straight_through.case("a temperature of 0.5")
def _(rng):
    return _noisy(rng, M=3, N=5, Dv=4, temperature=0.5)


@straight_through.case("a batch at a temperature of 2")
def _(rng):
    return _noisy(rng, M=3, N=5, Dv=4, batch=(2,), temperature=2.0)


@straight_through.case("all sizes equal")
def _(rng):
    return _noisy(rng, M=4, N=4, Dv=4, temperature=2.0)


@straight_through.case("one item")
def _(rng):
    return _noisy(rng, M=3, N=1, Dv=2)


@straight_through.case("one query")
def _(rng):
    return _noisy(rng, M=1, N=5, Dv=2, temperature=0.7)


@straight_through.case("equal scores: only the noise decides")
def _(rng):
    return _noisy(rng, M=3, N=5, Dv=2, scores=np.full((3, 5), rng.normal()))


@straight_through.case("scores in the thousands")
def _(rng):
    return _noisy(rng, M=3, N=5, Dv=2, scores=1000 + 1000 * rng.normal(size=(3, 5)))


@straight_through.case("a temperature of 0.01")
def _(rng):
    return _noisy(rng, M=2, N=4, Dv=3, temperature=0.01)


@straight_through.case("noise from the ends of its range")
def _(rng):
    u = rng.permutation([1e-200, 1 - 1e-5, 0.5, 1e-5])[None]
    return _noisy(rng, M=1, N=4, Dv=3, u=u)


@straight_through.case("single precision")
def _(rng):
    return in_single_precision(_noisy(rng, M=3, N=5, Dv=4, temperature=2.0))


@straight_through.case("rows of memory that are not contiguous")
def _(rng):
    arguments = _noisy(rng, M=3, N=5, Dv=4)
    return {name: np.asfortranarray(array) for name, array in arguments.items()}


def _three_parts(noisy, V, upstream, temperature, weights=None):
    weights = softmax(noisy / temperature) if weights is None else weights
    return noisy.argmax(-1), weights, _soft_gradient(weights, V, upstream) / temperature


def _soft_gradient(weights, V, upstream):
    slopes = upstream @ V.mT
    return weights * (slopes - (weights * slopes).sum(-1, keepdims=True))


def _noise(u):
    return -np.log(-np.log(u))


@straight_through.misconception(
    "adds Gaussian noise",
    hint="The largest of scores plus normal noise is no sample of the softmax: with scores 1, 0, "
    "-1 the first would come in 0.73 of the draws instead of 0.67. The noise is -log(-log(u)).",
)
def _(scores, V, u, upstream, temperature=1.0):
    normal = np.vectorize(NormalDist().inv_cdf)(u)
    return _three_parts(scores + normal, V, upstream, temperature)


@straight_through.misconception(
    "turns the sign of the noise",
    hint="Gumbel noise has its long tail upwards: -log(-log(u)), with two minus signs, is large "
    "for u near 1.",
)
def _(scores, V, u, upstream, temperature=1.0):
    return _three_parts(scores - _noise(u), V, upstream, temperature)


@straight_through.misconception(
    "loses the inner minus sign of the noise",
    hint="log(u) is negative, and a negative number has no logarithm. Both minus signs of "
    "-log(-log(u)) are needed.",
)
def _(scores, V, u, upstream, temperature=1.0):
    return _three_parts(scores - np.log(np.log(u)), V, upstream, temperature)


@straight_through.misconception(
    "adds the uniform numbers themselves as noise",
    hint="u is what the noise is made of: -log(-log(u)).",
)
def _(scores, V, u, upstream, temperature=1.0):
    return _three_parts(scores + u, V, upstream, temperature)


@straight_through.misconception(
    "adds a small number inside the logarithms",
    hint="The small number guards against log(0), which cannot come here: u is never 0 or 1. But "
    "it cuts off the noise of the smallest u.",
)
def _(scores, V, u, upstream, temperature=1.0):
    guard = 1e-20
    noise = -np.log(-np.log(u + guard) + guard)
    return _three_parts(scores + noise, V, upstream, temperature)


@straight_through.misconception(
    "uses one row of noise for all queries",
    hint="All your queries draw with the same luck. u has a number for every score of every query.",
)
def _(scores, V, u, upstream, temperature=1.0):
    return _three_parts(scores + _noise(u[..., :1, :]), V, upstream, temperature)


@straight_through.misconception(
    "adds the noise to the probabilities",
    hint="The noise belongs to the scores (or to the logarithms of the probabilities), before the "
    "softmax.",
)
def _(scores, V, u, upstream, temperature=1.0):
    return _three_parts(softmax(scores) + _noise(u), V, upstream, temperature)


@straight_through.misconception(
    "leaves the noise out",
    hint="Without noise the same item is chosen every time: an argmax, not a sample.",
)
def _(scores, V, u, upstream, temperature=1.0):
    return _three_parts(scores, V, upstream, temperature)


@straight_through.misconception(
    "leaves the noise out of the weights",
    hint="Choice and weights have to come from the same noisy scores, or the gradient speaks of "
    "another draw than the one that was made.",
)
def _(scores, V, u, upstream, temperature=1.0):
    return _three_parts(
        scores + _noise(u), V, upstream, temperature, weights=softmax(scores / temperature)
    )


@straight_through.misconception(
    "divides only the noise by the temperature",
    hint="The temperature divides the noisy scores as a whole: (s + g) / tau.",
)
def _(scores, V, u, upstream, temperature=1.0):
    noisy = scores + _noise(u) / temperature
    return noisy.argmax(-1), softmax(noisy), _soft_gradient(softmax(noisy), V, upstream)


@straight_through.misconception(
    "divides only the scores by the temperature",
    hint="The temperature divides the noisy scores as a whole: (s + g) / tau. And the choice does "
    "not depend on it at all.",
)
def _(scores, V, u, upstream, temperature=1.0):
    noisy = scores / temperature + _noise(u)
    weights = softmax(noisy)
    return noisy.argmax(-1), weights, _soft_gradient(weights, V, upstream) / temperature


@straight_through.misconception(
    "multiplies by the temperature",
    hint="A low temperature makes the weights sharp: divide by it.",
)
def _(scores, V, u, upstream, temperature=1.0):
    return _three_parts(scores + _noise(u), V, upstream, 1 / temperature)


@straight_through.misconception(
    "forgets the inner derivative of the division by the temperature",
    hint="Right at temperature 1. The softmax sees (s + g) / tau: the chain rule puts 1 / tau in "
    "front of its Jacobian.",
)
def _(scores, V, u, upstream, temperature=1.0):
    choice, weights, gradient = _three_parts(scores + _noise(u), V, upstream, temperature)
    return choice, weights, gradient * temperature


@straight_through.misconception(
    "passes back the gradient of the hard choice, which is zero",
    hint="The argmax is a step: its slope is zero. Straight-through takes the gradient of the soft "
    "read in its place.",
)
def _(scores, V, u, upstream, temperature=1.0):
    choice, weights, gradient = _three_parts(scores + _noise(u), V, upstream, temperature)
    return choice, weights, np.zeros_like(gradient)


@straight_through.misconception(
    "returns a one-hot row as the weights",
    hint="The choice already says which item is read. The weights are the soft ones, from which "
    "the gradient is taken.",
)
def _(scores, V, u, upstream, temperature=1.0):
    choice, weights, gradient = _three_parts(scores + _noise(u), V, upstream, temperature)
    return choice, (choice[..., None] == np.arange(weights.shape[-1])) * 1.0, gradient


@straight_through.misconception(
    "keeps only the diagonal of the Jacobian",
    hint="Raising one score lowers the other weights too. Your gradient does not add to zero over "
    "the items.",
)
def _(scores, V, u, upstream, temperature=1.0):
    choice, weights, _ = _three_parts(scores + _noise(u), V, upstream, temperature)
    return choice, weights, weights * (1 - weights) * (upstream @ V.mT) / temperature


@straight_through.misconception(
    "leaves out the mean that the Jacobian subtracts",
    hint="What counts is how much better an item is than the average under the weights: subtract "
    "the weighted mean of c. Your gradient does not add to zero over the items.",
)
def _(scores, V, u, upstream, temperature=1.0):
    choice, weights, _ = _three_parts(scores + _noise(u), V, upstream, temperature)
    return choice, weights, weights * (upstream @ V.mT) / temperature


@straight_through.misconception(
    "subtracts the slope of the chosen item instead of the weighted mean",
    hint="The gradient passed back is that of the soft read: the Jacobian subtracts the mean of c "
    "under the weights w. The choice enters only through h.",
)
def _(scores, V, u, upstream, temperature=1.0):
    choice, weights, _ = _three_parts(scores + _noise(u), V, upstream, temperature)
    slopes = upstream @ V.mT
    of_choice = np.take_along_axis(slopes, choice[..., None], axis=-1)
    return choice, weights, weights * (slopes - of_choice) / temperature


@straight_through.misconception(
    "subtracts the plain mean instead of the weighted one",
    hint="The Jacobian subtracts the mean of c under the weights w, not the mean over the items.",
)
def _(scores, V, u, upstream, temperature=1.0):
    choice, weights, _ = _three_parts(scores + _noise(u), V, upstream, temperature)
    slopes = upstream @ V.mT
    centred = slopes - slopes.mean(-1, keepdims=True)
    return choice, weights, weights * centred / temperature


@straight_through.misconception(
    "counts the items from 1",
    hint="In code the first item is number 0, so that V[choice] is what is read.",
)
def _(scores, V, u, upstream, temperature=1.0):
    choice, *rest = _three_parts(scores + _noise(u), V, upstream, temperature)
    return choice + 1, *rest


@straight_through.misconception(
    "does not expect a batch",
    hint="Right without a batch. `V.T` reverses every axis; `V.mT` or np.swapaxes(V, -1, -2) "
    "exchange only the last two.",
)
def _(scores, V, u, upstream, temperature=1.0):
    noisy = scores + _noise(u)
    weights = softmax(noisy / temperature)
    return noisy.argmax(-1), weights, _soft_gradient(weights, V.T.mT, upstream) / temperature


@straight_through.right_answer("autograd through hard + soft - soft.detach()")
def _(scores, V, u, upstream, temperature=1.0):
    import torch

    scores, V, u, upstream = map(torch.tensor, (scores, V, u, upstream))
    scores.requires_grad_()
    soft = torch.softmax((scores - torch.log(-torch.log(u))) / temperature, -1)
    hard = torch.nn.functional.one_hot(soft.argmax(-1), soft.shape[-1]).to(soft.dtype)
    through = hard + soft - soft.detach()
    (gradient,) = torch.autograd.grad((through @ V * upstream).sum(), scores)
    return through.argmax(-1), soft, gradient


@straight_through.right_answer("noise on the logarithms of the softmax, and an exponential")
def _(scores, V, u, upstream, temperature=1.0):
    logs = scores - scores.max(-1, keepdims=True)
    logs = logs - np.log(np.exp(logs).sum(-1, keepdims=True))
    noisy = logs - np.log(-np.log(u))
    weights = softmax(noisy / temperature)
    slopes = np.einsum("...nd,...md->...mn", V, upstream)
    mean = np.einsum("...mn,...mn->...m", weights, slopes)
    return noisy.argmax(-1), weights, weights * (slopes - mean[..., None]) / temperature


@straight_through.right_answer("whole Jacobians")
def _(scores, V, u, upstream, temperature=1.0):
    noisy = scores + _noise(u)
    w = softmax(noisy / temperature)
    J = w[..., :, None] * (np.eye(w.shape[-1]) - w[..., None, :]) / temperature
    slopes = (upstream[..., :, None, :] * V[..., None, :, :]).sum(-1)
    return np.argmax(noisy, axis=-1), w, (J @ slopes[..., None])[..., 0]


@straight_through.right_answer("the difference from the soft read")
def _(scores, V, u, upstream, temperature=1.0):
    noisy = scores + _noise(u)
    w = softmax(noisy / temperature)
    away = V[..., None, :, :] - (w @ V)[..., :, None, :]  # (..., M, N, Dv)
    gradient = w * (away @ upstream[..., None])[..., 0] / temperature
    return noisy.argmax(-1), w, gradient


# --------------------------------------------------------------------------- written

estimator_in_words = Question(
    name="estimator_in_words",
    title="Which gradient for which choice",
    points=4,
    prompt=r"""A model looks at one of 196 places of an image, drawn from its attention
distribution, and a large network turns that place into a loss. A colleague says: "A choice cannot
be differentiated, so we must use reinforcement learning." In five to seven sentences: say what is
right in this and what is wrong. Name two other ways to train the model, and say of each of the
three what it costs: in computation, in variance or in bias. Then say what a baseline changes, and
when it changes nothing.""",
    answer=r"""The item that comes out of a draw does not change smoothly with the scores, so the
gradient along that path is zero or undefined; in this the colleague is right. But the *expected*
loss is a sum over the 196 places, smooth in the scores, and its gradient is exact: the price is to
run the large network 196 times. REINFORCE runs it once and is right on average, at the price of a
high variance. Gumbel-softmax with straight-through also runs it once, but it needs a network that
can be differentiated. At a temperature that is not too low it has less variance, and it is biased,
because its gradient is that of a softened read; lower temperatures trade bias for variance. A
baseline that does not depend on the draw leaves the mean of REINFORCE as it is and removes the part
of the variance that comes from the mean loss. If the mean loss is zero there is nothing to
remove.""",
    scheme="""- 1 point: the sampled path has no gradient, but the expected loss has one.
- 1 point: the finite sum is exact and costs one run of the network for each item.
- 1 point: REINFORCE unbiased and noisy, Gumbel or straight-through biased and calmer (unless the
  temperature is low).
- 1 point: the baseline leaves the mean as it is, and removes only what the mean loss brings in.""",
)
