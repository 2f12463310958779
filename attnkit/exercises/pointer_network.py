"""The exercises of the chapter on pointer networks: how probable a sequence is, and decoding."""

import numpy as np

from attnkit import pointer_network as reference
from attnkit.checking import Question, exercise, in_single_precision, laws
from attnkit.soft_attention import additive_scores

# --------------------------------------------------------------------------- 8.1

_log_p = {"part": lambda output: output[0]}
_total = {"part": lambda output: output[1]}
_NAMES = ("x", "e", "d_0", "chosen", "mask", "steps")


def _renamed(answer, arguments):
    """The same items in another order, and the numbers of the slots changed with them."""
    slots = arguments["x"].shape[1]
    order = np.concatenate([[0], np.arange(slots - 1, 0, -1)])  # where each new slot was before
    other = {
        "x": arguments["x"][:, order],
        "e": arguments["e"][:, order],
        "mask": arguments["mask"][:, :, order],
        "chosen": np.argsort(order)[arguments["chosen"]],
    }
    return answer(**arguments)[0], answer(**{**arguments, **other})[0]


def _all_first_steps(answer, arguments):
    """What the probabilities of everything that step 1 may point at add to, and one."""
    mask, counts = arguments["mask"][:, 0], arguments["steps"][:, 0]
    added = np.zeros(len(mask))
    for slot in range(mask.shape[-1]):
        chosen = arguments["chosen"].copy()
        chosen[:, 0] = np.where(mask[:, slot], slot, chosen[:, 0])
        first = np.exp(answer(**{**arguments, "chosen": chosen})[0][:, 0])
        added += np.where(mask[:, slot], first, 0)
    return np.where(counts, added, 1), np.ones(len(mask))


@exercise(
    reference=reference.log_likelihood,
    number="8.1",
    title="How probable is this sequence?",
    section=("pointer-formula", "The formula, the loop, the line"),
    points=6,
    minutes=35,
    difficulty=2,
    parts=("log_p", "total"),
    contract="x (B, S, D), e (B, S, De), d_0 (B, Dd), chosen (B, M) slots from 0 to S - 1, "
    "mask (B, M, S) True = may be pointed at, steps (B, M) True = a step that counts, "
    "W (Dd, Dd + D), W_q (H, Dd), W_k (H, De), v (H,) -> the tuple (log_p (B, M), total (B,))",
    laws=[
        laws.batch_independent(*_NAMES, rank=1, **_total),
        laws.agrees("numbering the items in another order changes nothing", _renamed),
        laws.agrees("the probabilities of all that step 1 may do add to one", _all_first_steps),
    ],
    hints=(
        "Follow one sequence: what does the decoder read before step 1, and what before step 2? "
        "Which vectors are compared with its state, and which slots share out the probability?",
        "Carry two things from step to step: the state `d`, and the *input* of the slot chosen "
        "last, GO at first. The logarithm of a softmax is a score minus the logarithm of a sum of "
        "exponentials: subtract the largest visible score before, and never take the logarithm "
        "of a probability.",
        "Per step: `d = np.tanh(np.concatenate([d, previous], axis=-1) @ W.T)`, "
        "`s = np.tanh(e @ W_k.T + (d @ W_q.T)[:, None]) @ v`, hide with `np.where(mask[:, m], s, "
        "-np.inf)`, take `s[rows, chosen[:, m]]` minus `np.logaddexp.reduce(s, axis=-1)` where the "
        "step counts, and `previous = x[rows, chosen[:, m]]`, with `rows = np.arange(B)`.",
    ),
    equivalent_mutants={
        "np.min(scores, axis=-1, keepdims=True)  ->  np.min(scores, keepdims=True)": "any finite "
        "number that is not above the visible scores will do",
        "-1  ->  1": "of two axes number one is the last",
        "(..., m, None)  ->  (..., None, m)": "the same axis of one, put in before or after",
        "1  ->  2": "only a row in which nothing is visible is divided by it, and that is padding",
        "1  ->  0": "as above",
        "0  ->  1": "the largest exponential is one, so the sum is one or more, and ln 1 is zero",
        "0  ->  -1": "nothing is visible only where a step is padding; of an axis of one the first "
        "is the last",
    },
)
def log_likelihood(x, e, d_0, chosen, mask, steps, W, W_q, W_k, v):
    r"""The log-likelihood of a sequence that a pointer network is told while it writes.

    Slot 0 is the gate: its input says GO, and to point at it is to STOP. Slots 1 to $N$ are the
    items, so there are $S = N + 1$ slots, with inputs $x_n$ (`x[b, n]`) and encoder states $e_n$
    (`e[b, n]`). Step $m$ should point at slot $c_m$; that is `chosen[b, 0]` for step 1. Before the
    first step the decoder reads the gate's input, GO; before every other step the input of the
    slot that the sequence *should* have pointed at one step earlier (teacher forcing). With
    $c_0 = 0$:

    $$
    \begin{aligned}
    d_m &= \tanh(W\, [d_{m-1}; x_{c_{m-1}}]) && \text{read the slot chosen last} \\
    s_{mn} &= v^\top \tanh(W_q\, d_m + W_k\, e_n) && \text{score every slot} \\
    \ln p(c_m \mid \dots) &= s_{m c_m} - \ln \sum_{j \text{ visible}} \exp(s_{mj})
      && \text{normalise, and that is the output}
    \end{aligned}
    $$

    The brackets join two vectors end to end. `mask[b, m]` says which slots step `m` may point at;
    the hidden ones have probability zero and no share in the sum. As a loop:

    ```python
    for b in range(B):
        d, previous = d_0[b], x[b, 0]
        for m in range(M):
            d = np.tanh(W @ np.concatenate([d, previous]))
            s = [v @ np.tanh(W_q @ d + W_k @ e[b, n]) for n in range(S)]
            p = softmax of s over the n with mask[b, m, n]
            if steps[b, m]:
                log_p[b, m] = log(p[chosen[b, m]])
            previous = x[b, chosen[b, m]]
        total[b] = sum(log_p[b])
    ```

    A step that counts always points at a visible slot. Where `steps` is False the step is padding
    behind the end: its `log_p` is zero, whatever stands in `mask`, where perhaps nothing is
    visible. Scores may be of any size, in the thousands as well, and a hidden one may lie far above
    the visible ones. Return the tuple `(log_p, total)`; `total` is the sum of a row of `log_p`.
    """


def _sequence(rng, B, N, M, D, De, Dd, H, lengths, v=1.0):
    """Sequences without repetition; those shorter than M end with STOP, and padding follows."""
    S = N + 1
    # Only a full sequence may end without the gate.
    items = np.stack([rng.permutation(N) + 1 for _ in range(B)])
    items = np.pad(items, [(0, 0), (0, max(0, M - N))])[:, :M]
    steps = np.arange(M) < np.array(lengths)[:, None]
    last = np.arange(M) == np.array(lengths)[:, None] - 1
    chosen = np.where(steps & ~last, items, 0)
    return {
        "x": rng.normal(size=(B, S, D)),
        "e": np.tanh(rng.normal(size=(B, S, De))),
        "d_0": np.tanh(rng.normal(size=(B, Dd))),
        "chosen": chosen,
        "mask": reference.unvisited(chosen, S),
        "steps": steps,
        "W": rng.normal(size=(Dd, Dd + D)) / 2,
        "W_q": rng.normal(size=(H, Dd)),
        "W_k": rng.normal(size=(H, De)),
        "v": v * rng.normal(size=H),
    }


@log_likelihood.case("one step, everything visible")
def _(rng):
    arguments = _sequence(rng, B=2, N=4, M=1, D=3, De=6, Dd=7, H=8, lengths=[1, 1])
    return arguments | {"chosen": np.array([[2], [4]])}


@log_likelihood.case("three sequences, nothing hidden")
def _(rng):
    arguments = _sequence(rng, B=3, N=5, M=4, D=2, De=6, Dd=7, H=8, lengths=[4, 4, 4])
    return arguments | {"mask": np.ones((3, 4, 6), bool)}


@log_likelihood.case("no slot twice")
def _(rng):
    return _sequence(rng, B=3, N=5, M=6, D=2, De=4, Dd=7, H=8, lengths=[6, 6, 6])


@log_likelihood.case("sequences of different length")
def _(rng):
    return _sequence(rng, B=4, N=5, M=6, D=3, De=4, Dd=7, H=8, lengths=[6, 2, 4, 1])


@log_likelihood.case("all sizes equal")
def _(rng):
    return _sequence(rng, B=4, N=3, M=4, D=4, De=4, Dd=4, H=4, lengths=[4, 2, 3, 4])


@log_likelihood.case("the same input twice, with states of their own")
def _(rng):
    arguments = _sequence(rng, B=2, N=5, M=5, D=3, De=3, Dd=7, H=8, lengths=[5, 4])
    arguments["x"][:, 2] = arguments["x"][:, 1]
    return arguments


@log_likelihood.case("padding at which nothing is visible")
def _(rng):
    arguments = _sequence(rng, B=3, N=4, M=5, D=2, De=6, Dd=7, H=8, lengths=[5, 2, 3])
    arguments["mask"] &= arguments["steps"][..., None]
    return arguments


@log_likelihood.case("padding that names any slot")
def _(rng):
    arguments = _sequence(rng, B=3, N=4, M=5, D=2, De=6, Dd=7, H=8, lengths=[3, 2, 4])
    other = rng.integers(1, 5, size=(3, 5))
    return arguments | {"chosen": np.where(arguments["steps"], arguments["chosen"], other)}


@log_likelihood.case("scores in the thousands")
def _(rng):
    return _sequence(rng, B=3, N=5, M=5, D=2, De=6, Dd=7, H=8, lengths=[5, 3, 4], v=1000.0)


@log_likelihood.case("hidden slots that score thousands above the rest")
def _(rng):
    arguments = _sequence(rng, B=2, N=5, M=4, D=2, De=3, Dd=4, H=1, lengths=[4, 3])
    arguments["W_k"] = 20 + np.abs(arguments["W_k"])
    arguments["v"] = np.array([3000.0])
    # The hidden layer saturates: at one for what is never visible, at minus one elsewhere.
    never = np.arange(6) == 5
    arguments["e"] = np.where(never, 1.0, -1.0)[:, None] * (1 + np.abs(arguments["e"]))
    arguments["chosen"] = np.array([[2, 1, 4, 0], [3, 4, 0, 0]])
    arguments["mask"] = reference.unvisited(arguments["chosen"], 6) & ~never
    return arguments


@log_likelihood.case("one item, one sequence")
def _(rng):
    return _sequence(rng, B=1, N=1, M=2, D=3, De=4, Dd=5, H=6, lengths=[2])


@log_likelihood.case("single precision")
def _(rng):
    return in_single_precision(
        _sequence(rng, B=3, N=4, M=5, D=2, De=6, Dd=7, H=8, lengths=[5, 3, 2])
    )


@log_likelihood.case("rows of memory that are not contiguous")
def _(rng):
    arguments = _sequence(rng, B=3, N=4, M=5, D=2, De=6, Dd=7, H=8, lengths=[4, 5, 2])
    return {name: array.T.copy().T for name, array in arguments.items()}


def _written(x, e, d_0, chosen, mask, steps, W, W_q, W_k, v, log=None, feed=None):
    """The logarithm of each step's probability; what can be got wrong is passed in.

    ``log(scores, mask)`` normalises; ``feed(m, logs)`` is what step ``m`` reads, where the
    step before it had the logarithms ``logs``.
    """
    rows, d, logs = np.arange(len(x)), d_0, None
    log = log or reference.log_distribution
    feed = feed or (lambda m, logs: x[rows, chosen[:, m - 1]] if m else x[:, 0])
    log_p = np.zeros(chosen.shape, x.dtype)
    for m in range(chosen.shape[1]):
        d = np.tanh(np.concatenate([d, feed(m, logs)], axis=-1) @ W.T)
        logs = log(additive_scores(d[:, None], e, W_q, W_k, v)[:, 0], mask[:, m])
        log_p[:, m] = np.where(steps[:, m], logs[rows, chosen[:, m]], 0)
    return log_p, log_p.sum(-1)


@log_likelihood.misconception(
    "scores the raw inputs instead of the encoder's states",
    hint="Two equal inputs would always get equal scores, so the pointer could not tell them "
    "apart. A state has read what stands before it: score `e`, and read `x`.",
)
def _(x, e, d_0, chosen, mask, steps, W, W_q, W_k, v):
    return _written(x, x @ W_k.T @ np.linalg.pinv(W_k).T, d_0, chosen, mask, steps, W, W_q, W_k, v)


@log_likelihood.misconception(
    "feeds the decoder the state of the chosen slot instead of its input",
    hint="The decoder reads the *input* x of the slot chosen last. States are what the pointer "
    "points at.",
)
def _(x, e, d_0, chosen, mask, steps, W, W_q, W_k, v):
    if x.shape[-1] != e.shape[-1]:
        raise ValueError("shapes do not line up")

    def feed(m, logs):
        return e[np.arange(len(e)), chosen[:, m - 1]] if m else e[:, 0]

    return _written(x, e, d_0, chosen, mask, steps, W, W_q, W_k, v, feed=feed)


@log_likelihood.misconception(
    "feeds the weighted average of the inputs instead of the chosen one",
    hint="That is the context of a translator. A pointer network reads no average: the weights are "
    "its output, and what the decoder sees next is the one input that was pointed at.",
)
def _(x, e, d_0, chosen, mask, steps, W, W_q, W_k, v):
    def feed(m, logs):
        return np.einsum("bn,bnd->bd", np.exp(logs), x) if m else x[:, 0]

    return _written(x, e, d_0, chosen, mask, steps, W, W_q, W_k, v, feed=feed)


@log_likelihood.misconception(
    "feeds the slot of this step instead of the one before",
    hint="Before step m the decoder knows what was chosen at step m - 1. If it reads the answer of "
    "the step it is about to take, there is nothing left to predict.",
)
def _(x, e, d_0, chosen, mask, steps, W, W_q, W_k, v):
    def feed(m, logs):
        return x[np.arange(len(x)), chosen[:, m]]

    return _written(x, e, d_0, chosen, mask, steps, W, W_q, W_k, v, feed=feed)


@log_likelihood.misconception(
    "feeds GO at every step",
    hint="GO is read before the first step only. Afterwards the decoder reads the input of the "
    "slot that the sequence pointed at one step earlier.",
)
def _(x, e, d_0, chosen, mask, steps, W, W_q, W_k, v):
    def feed(m, logs):
        return x[:, 0]

    return _written(x, e, d_0, chosen, mask, steps, W, W_q, W_k, v, feed=feed)


@log_likelihood.misconception(
    "reads zeros before the first step instead of GO",
    hint="Before step 1 the decoder reads the input of the gate, `x[:, 0]`. It is learned like any "
    "other input.",
)
def _(x, e, d_0, chosen, mask, steps, W, W_q, W_k, v):
    def feed(m, logs):
        return x[np.arange(len(x)), chosen[:, m - 1]] if m else np.zeros_like(x[:, 0])

    return _written(x, e, d_0, chosen, mask, steps, W, W_q, W_k, v, feed=feed)


@log_likelihood.misconception(
    "joins the input and the state the other way round",
    hint="`W` meets `[d; x]`: first the state, then the input. The other order has the same shape, "
    "so nothing complains.",
)
def _(x, e, d_0, chosen, mask, steps, W, W_q, W_k, v):
    D = x.shape[-1]
    turned = np.concatenate([W[:, D:], W[:, :D]], axis=-1)
    return _written(x, e, d_0, chosen, mask, steps, turned, W_q, W_k, v)


@log_likelihood.misconception(
    "does not move the decoder's state",
    hint="Every step starts from the state of the step before, not from `d_0`.",
)
def _(x, e, d_0, chosen, mask, steps, W, W_q, W_k, v):
    log_p = np.zeros(chosen.shape, x.dtype)
    for m in range(chosen.shape[1]):  # each step as if it were the first
        read = x[np.arange(len(x)), chosen[:, m - 1] if m else 0]
        now = chosen[:, m:], mask[:, m:], steps[:, m:]
        first, _ = _written(x, e, d_0, *now, W, W_q, W_k, v, feed=lambda m, logs, read=read: read)
        log_p[:, m] = first[:, 0]
    return log_p, log_p.sum(-1)


@log_likelihood.misconception(
    "scores with the state before it has read",
    hint="That is Bahdanau's order. Here step m first reads the slot chosen last and then points: "
    "d_m asks, not d_{m-1}.",
)
def _(x, e, d_0, chosen, mask, steps, W, W_q, W_k, v):
    rows, d, previous = np.arange(len(x)), d_0, x[:, 0]
    log_p = np.zeros(chosen.shape, x.dtype)
    for m in range(chosen.shape[1]):
        scores = additive_scores(d[:, None], e, W_q, W_k, v)[:, 0]
        logs = reference.log_distribution(scores, mask[:, m])
        log_p[:, m] = np.where(steps[:, m], logs[rows, chosen[:, m]], 0)
        d = np.tanh(np.concatenate([d, previous], axis=-1) @ W.T)
        previous = x[rows, chosen[:, m]]
    return log_p, log_p.sum(-1)


@log_likelihood.misconception(
    "takes the softmax over the steps instead of the slots",
    hint="Fix a step: its probabilities over all *slots* add to one. Over the steps of one slot "
    "nothing has to add up.",
)
def _(x, e, d_0, chosen, mask, steps, W, W_q, W_k, v):
    scores = []

    def log(s, visible):
        scores.append(np.where(visible, s, -np.inf))
        return np.zeros_like(s)

    _written(x, e, d_0, chosen, mask, steps, W, W_q, W_k, v, log=log)
    scores = np.stack(scores, axis=1)  # (B, M, S)
    with np.errstate(invalid="ignore"):
        logs = scores - np.logaddexp.reduce(scores, axis=1, keepdims=True)
    log_p = np.take_along_axis(logs, chosen[..., None], axis=-1)[..., 0]
    log_p = np.where(steps, log_p, 0)
    return log_p, log_p.sum(-1)


@log_likelihood.misconception(
    "takes the items to count from zero",
    hint="Slot 0 is the gate, item 1 has slot 1: `chosen` is an index into the slots as it stands, "
    "nothing is to be subtracted.",
)
def _(x, e, d_0, chosen, mask, steps, W, W_q, W_k, v):
    return _written(x, e, d_0, chosen - 1, mask, steps, W, W_q, W_k, v)


@log_likelihood.misconception(
    "leaves the gate out of the softmax",
    hint="STOP is one of the answers at every step, so slot 0 takes part in every softmax. Without "
    "it the network cannot end.",
)
def _(x, e, d_0, chosen, mask, steps, W, W_q, W_k, v):
    def log(scores, visible):
        without = visible & (np.arange(scores.shape[-1]) > 0)
        return reference.log_distribution(scores, without)

    return _written(x, e, d_0, chosen, mask, steps, W, W_q, W_k, v, log=log)


@log_likelihood.misconception(
    "leaves the hidden slots in the sum",
    hint="What may not be pointed at has probability zero, so its exponential has no place in the "
    "denominator. Where does `mask` enter?",
)
def _(x, e, d_0, chosen, mask, steps, W, W_q, W_k, v):
    return _written(x, e, d_0, chosen, np.ones_like(mask), steps, W, W_q, W_k, v)


@log_likelihood.misconception(
    "makes a mask of its own from what was chosen",
    hint="`mask` says what each step may point at, and it need not be what the sequence has left: "
    "in some tasks one may point twice, and in some a slot is never open.",
)
def _(x, e, d_0, chosen, mask, steps, W, W_q, W_k, v):
    mask = reference.unvisited(chosen, x.shape[1])
    return _written(x, e, d_0, chosen, mask, steps, W, W_q, W_k, v)


@log_likelihood.misconception(
    "reads the mask the wrong way round",
    hint="True means *may be pointed at*.",
)
def _(x, e, d_0, chosen, mask, steps, W, W_q, W_k, v):
    return _written(x, e, d_0, chosen, ~mask, steps, W, W_q, W_k, v)


@log_likelihood.misconception(
    "sets the hidden scores to zero",
    hint="exp(0) is one: a score of zero is a score like any other. Which score has an exponential "
    "of zero?",
)
def _(x, e, d_0, chosen, mask, steps, W, W_q, W_k, v):
    def log(scores, visible):
        return reference.log_distribution(scores * visible, np.ones_like(visible))

    return _written(x, e, d_0, chosen, mask, steps, W, W_q, W_k, v, log=log)


@log_likelihood.misconception(
    "fills the hidden scores with -100",
    hint="A score of the network may lie below any number you pick, and then the hidden slots win. "
    "Minus infinity cannot be beaten.",
)
def _(x, e, d_0, chosen, mask, steps, W, W_q, W_k, v):
    def log(scores, visible):
        filled = np.where(visible, scores, scores.dtype.type(-100))
        return reference.log_distribution(filled, np.ones_like(visible))

    return _written(x, e, d_0, chosen, mask, steps, W, W_q, W_k, v, log=log)


@log_likelihood.misconception(
    "takes the logarithm of a probability",
    hint="A probability that underflows to zero has the logarithm minus infinity. Stay with "
    "logarithms: the score, minus the logarithm of the sum of the exponentials.",
)
def _(x, e, d_0, chosen, mask, steps, W, W_q, W_k, v):
    def log(scores, visible):
        with np.errstate(divide="ignore"):
            return np.log(np.exp(reference.log_distribution(scores, visible)))

    return _written(x, e, d_0, chosen, mask, steps, W, W_q, W_k, v, log=log)


@log_likelihood.misconception(
    "takes the exponential of the raw scores",
    hint="np.exp(1000) is infinite. Subtract the largest visible score first; the logarithm of the "
    "softmax stays the same.",
)
def _(x, e, d_0, chosen, mask, steps, W, W_q, W_k, v):
    def log(scores, visible):
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            return scores - np.log(np.where(visible, np.exp(scores), 0).sum(-1, keepdims=True))

    return _written(x, e, d_0, chosen, mask, steps, W, W_q, W_k, v, log=log)


@log_likelihood.misconception(
    "subtracts the largest score without asking whether it is visible",
    hint="If a hidden score lies thousands above the visible ones, all of these underflow to "
    "zero. Subtract the largest score among the visible.",
)
def _(x, e, d_0, chosen, mask, steps, W, W_q, W_k, v):
    def log(scores, visible):
        shifted = scores - scores.max(axis=-1, keepdims=True)
        total = np.where(visible, np.exp(shifted), 0).sum(-1, keepdims=True)
        with np.errstate(divide="ignore"):
            return shifted - np.log(total)

    return _written(x, e, d_0, chosen, mask, steps, W, W_q, W_k, v, log=log)


@log_likelihood.misconception(
    "counts the padding steps",
    hint="Where `steps` is False the sequence has ended already. Its logarithm there is zero: "
    "nothing was to be predicted.",
)
def _(x, e, d_0, chosen, mask, steps, W, W_q, W_k, v):
    return _written(x, e, d_0, chosen, mask, np.ones_like(steps), W, W_q, W_k, v)


@log_likelihood.misconception(
    "multiplies the padding by zero",
    hint="Where nothing is visible the logarithm is NaN or minus infinity, and zero times that is "
    "NaN. Choose with `np.where`, do not multiply.",
)
def _(x, e, d_0, chosen, mask, steps, W, W_q, W_k, v):
    def log(scores, visible):
        hidden = np.where(visible, scores, -np.inf)
        return hidden - np.logaddexp.reduce(hidden, axis=-1, keepdims=True)

    with np.errstate(invalid="ignore"):
        every = np.ones_like(steps)
        log_p, _ = _written(x, e, d_0, chosen, mask, every, W, W_q, W_k, v, log=log)
        log_p = log_p * steps
    return log_p, log_p.sum(-1)


@log_likelihood.misconception(
    "does not count STOP",
    hint="To stop is a choice of the network like any other, and it may be an improbable one: the "
    "step that points at the gate counts if `steps` says so.",
)
def _(x, e, d_0, chosen, mask, steps, W, W_q, W_k, v):
    return _written(x, e, d_0, chosen, mask, steps & (chosen != 0), W, W_q, W_k, v)


@log_likelihood.misconception(
    "averages over the steps that count",
    hint="An average is a fine thing to train with. Asked for is the logarithm of the probability "
    "of the whole sequence: the sum.",
)
def _(x, e, d_0, chosen, mask, steps, W, W_q, W_k, v):
    log_p, total = reference.log_likelihood(x, e, d_0, chosen, mask, steps, W, W_q, W_k, v)
    return log_p, total / steps.sum(-1, dtype=x.dtype)


@log_likelihood.misconception(
    "averages over the steps instead of adding them up",
    hint="The probability of a sequence is a product over its steps, so its logarithm is a sum. An "
    "average over M counts the padding, too.",
)
def _(x, e, d_0, chosen, mask, steps, W, W_q, W_k, v):
    log_p, _ = reference.log_likelihood(x, e, d_0, chosen, mask, steps, W, W_q, W_k, v)
    return log_p, log_p.mean(-1)


@log_likelihood.misconception(
    "returns the loss, with the sign turned",
    hint="A loss is minus the log-likelihood. Logarithms of probabilities are never above zero.",
)
def _(x, e, d_0, chosen, mask, steps, W, W_q, W_k, v):
    log_p, total = reference.log_likelihood(x, e, d_0, chosen, mask, steps, W, W_q, W_k, v)
    return -log_p, -total


@log_likelihood.misconception(
    "returns the scores of the chosen slots",
    hint="A score says little by itself: it has to be compared with those of all visible slots. "
    "Subtract the logarithm of the sum of their exponentials.",
)
def _(x, e, d_0, chosen, mask, steps, W, W_q, W_k, v):
    return _written(
        x, e, d_0, chosen, mask, steps, W, W_q, W_k, v, log=lambda scores, visible: scores
    )


@log_likelihood.misconception(
    "adds up over the batch",
    hint="`total` has one number for each sequence: add up over its steps, the last axis.",
)
def _(x, e, d_0, chosen, mask, steps, W, W_q, W_k, v):
    log_p, _ = reference.log_likelihood(x, e, d_0, chosen, mask, steps, W, W_q, W_k, v)
    return log_p, log_p.sum(0)


@log_likelihood.right_answer("torch's log_softmax and gather")
def _(x, e, d_0, chosen, mask, steps, W, W_q, W_k, v):
    import torch

    x, e, d, chosen, mask, steps, W, W_q, W_k, v = map(
        torch.tensor, (x, e, d_0, chosen, mask, steps, W, W_q, W_k, v)
    )
    before = torch.cat([torch.zeros_like(chosen[:, :1]), chosen[:, :-1]], dim=1)
    read = torch.take_along_dim(x, before[..., None], 1)  # (B, M, D)
    states = []
    for m in range(chosen.shape[1]):
        d = torch.tanh(torch.cat([d, read[:, m]], -1) @ W.T)
        states.append(d)
    queries = torch.stack(states, 1) @ W_q.T  # (B, M, H)
    scores = torch.tanh(queries[:, :, None] + (e @ W_k.T)[:, None]) @ v  # (B, M, S)
    logs = torch.log_softmax(scores.masked_fill(~mask, float("-inf")), -1)
    log_p = logs.gather(-1, chosen[..., None])[..., 0].masked_fill(~steps, 0)
    return log_p, log_p.sum(-1)


@log_likelihood.right_answer("the loop over sequences, steps and visible slots")
def _(x, e, d_0, chosen, mask, steps, W, W_q, W_k, v):
    log_p = np.zeros(chosen.shape, x.dtype)
    for b in range(len(x)):
        d, previous = d_0[b], x[b, 0]
        for m in range(chosen.shape[1]):
            if not steps[b, m]:
                break
            d = np.tanh(W @ np.concatenate([d, previous]))
            s = {n: v @ np.tanh(W_q @ d + W_k @ e[b, n]) for n in np.flatnonzero(mask[b, m])}
            top = max(s.values())
            total = sum(np.exp(score - top) for score in s.values())
            log_p[b, m] = s[chosen[b, m]] - top - np.log(total)
            previous = x[b, chosen[b, m]]
    return log_p, log_p.sum(-1)


@log_likelihood.right_answer("logaddexp over the visible slots")
def _(x, e, d_0, chosen, mask, steps, W, W_q, W_k, v):
    def log(scores, visible):
        hidden = np.where(visible, scores, -np.inf)
        with np.errstate(invalid="ignore"):
            return hidden - np.logaddexp.reduce(hidden, axis=-1, keepdims=True)

    return _written(x, e, d_0, chosen, mask, steps, W, W_q, W_k, v, log=log)


# --------------------------------------------------------------------------- 8.2

_chosen = {"part": lambda output: output[0]}


def _points_twice(answer, arguments):
    """How often each sequence points at an item a second time, and zero."""
    chosen = np.asarray(answer(**arguments)[0])
    again = [len(row[row > 0]) - len(set(row[row > 0])) for row in chosen]
    return np.array(again, float), np.zeros(len(chosen))


def _writes_after_stop(answer, arguments):
    """How many items each sequence points at after the gate, and zero."""
    chosen = np.asarray(answer(**arguments)[0])
    stopped = np.cumsum(chosen == 0, axis=-1) > 0
    return (stopped & (chosen != 0)).sum(-1).astype(float), np.zeros(len(chosen))


def _shifted(answer, arguments):
    """The sum of the logarithms as it is, and with a number added to all scores of a step."""
    scores = arguments["scores"]
    shift = np.arange(scores.shape[1], dtype=scores.dtype)[:, None]
    return answer(**arguments)[1], answer(**{**arguments, "scores": scores + shift})[1]


@exercise(
    reference=reference.decode,
    number="8.2",
    title="Decode without repetition",
    section=("pointer-decode", "The mask when it writes"),
    points=6,
    minutes=40,
    difficulty=3,
    parts=("chosen", "total"),
    groups={"the greedy search": 3, "the beam": 3},
    contract="scores (B, M, S), width -> the tuple (chosen (B, M) slots from 0 to S - 1, total "
    "(B,) the logarithm of the probability of each sequence)",
    laws=[
        laws.batch_independent("scores", rank=2, **_total),
        laws.batch_independent("scores", rank=2, **_chosen),
        laws.agrees("no item is pointed at twice", _points_twice),
        laws.agrees("after STOP comes nothing but STOP", _writes_after_stop),
        laws.agrees("adding one number to all scores of a step changes nothing", _shifted),
    ],
    hints=(
        "What must the third step know of the first two? Begin with `width=1`: which slots are "
        "left for a sequence that has pointed at 2, and which for one that has pointed at 0?",
        "Keep a mask for every beginning, all True at first. Each step: hide, take the logarithm "
        "of the softmax over what is left, add it to the beginning's sum. All pairs of a beginning "
        "and a slot compete; keep the `width` best, each with a *copy* of its parent's mask.",
        "For one sequence: `beams = [(0.0, [], np.ones(S, bool))]`; per step make `(total + "
        "log_p[n], path + [n], after)` for every beam and visible `n`, where `after` is the mask "
        "without `n`, or the gate alone if `n == 0`; then `beams = sorted(candidates, key=lambda "
        "c: -c[0])[:width]`.",
    ),
    equivalent_mutants={
        "np.zeros((B, 1, 0), dtype=slots.dtype)  ->  np.zeros((B, 1, 0))": "whole numbers, kept as "
        "floats, index nothing and compare as equal",
        "np.zeros((B, 1), dtype=scores.dtype)  ->  np.zeros((B, 1))": "more precise, not less",
        "np.min(scores, axis=-1, keepdims=True)  ->  np.min(scores, keepdims=True)": "any finite "
        "number that is not above the visible scores will do",
        "np.take_along_axis(candidates, best, axis=-1)  ->  np.take_along_axis(candidates, best)": (
            "the last axis is where numpy looks"
        ),
        "np.argsort(-candidates, axis=-1)  ->  np.argsort(-candidates)": "as above",
        "(:, None, step)  ->  (:, step, None)": "the same axis of one, put in before or after",
        "-1  ->  1": "of two axes number one is the last",
        "1  ->  2": "the sum is never zero, since the gate or an item is left; an array without "
        "entries has no beginnings to count; any negative length is counted by numpy",
        "1  ->  0": "as above",
        "0  ->  1": "the largest exponential is one, so the sum is one or more, and ln 1 is zero",
        "0  ->  -1": "the sum is never zero, since the gate or an item is left",
    },
)
def decode(scores, width=1):
    r"""Point without repetition: the greedy search, and the beam search.

    Slot 0 is the gate, to point at it is to STOP; slots 1 to $N$ are the items. `scores[b, m, n]`
    is what step `m` of sequence `b` gives to slot `n`. (In a network the scores would depend on
    what has been chosen; here they are fixed, so that you can follow every number.) Two rules say
    what a step may point at:

    - an item that the sequence has pointed at is hidden from then on; the gate never is;
    - after STOP only the gate is left.

    The distribution of a step is the softmax over what is left, so hidden slots have probability
    zero and the others add to one. After STOP, then, the gate has probability 1, and the sequence
    is filled up with zeros at no cost. The probability of a sequence is the product over its `M`
    steps; `total` is its logarithm,

    $$\mathrm{total} = \sum_{m=1}^{M} \ln \mathrm{softmax}(s_m)_{c_m} ,$$

    with $s_m$ the scores of step $m$ at the slots that are left and $c_m$ the slot that it points
    at. As a loop, for one sequence of the batch:

    ```python
    beams = [(0, no slots)]
    for m in range(M):
        candidates = []
        for total, path in beams:
            log_p = log of the softmax of scores[b, m] over what path leaves visible
            candidates += [(total + log_p[n], path + [n]) for every visible n]
        beams = those with the largest totals, as many as width says or all there are
    chosen[b], total[b] = the best of the beams
    ```

    With `width=1` this is the *greedy* search: the most probable slot at each step. With more it is
    a *beam* search. Sequences that have stopped compete with the others, by their totals as they
    are. Scores may be of any size. No two totals are equal. Return the tuple `(chosen, total)`:
    integers, and one number for each sequence of the batch.
    """


def _scores(rng, B, M, S, size=1.5, gate=0.0):
    scores = size * rng.normal(size=(B, M, S))
    scores[..., 0] += gate
    return scores


@decode.case("one sequence, by hand", group="the greedy search")
def _(rng):
    return {"scores": np.log([[[0.1, 0.6, 0.3], [0.05, 0.8, 0.15], [0.2, 0.4, 0.4]]])}


@decode.case("a few sequences", group="the greedy search")
def _(rng):
    return {"scores": _scores(rng, B=3, M=4, S=7)}


@decode.case("everyone wants the same item", group="the greedy search")
def _(rng):
    scores = _scores(rng, B=3, M=4, S=6, gate=-3)
    scores[..., 2] += 8
    return {"scores": scores}


@decode.case("as many sequences as steps and slots", group="the greedy search")
def _(rng):
    return {"scores": _scores(rng, B=5, M=5, S=5, gate=-2)}


@decode.case("some stop early", group="the greedy search")
def _(rng):
    scores = _scores(rng, B=6, M=5, S=6, gate=-2)
    scores[[0, 1, 2], [0, 1, 3], 0] += 9
    return {"scores": scores}


@decode.case("more steps than items", group="the greedy search")
def _(rng):
    return {"scores": _scores(rng, B=4, M=6, S=4, gate=-4)}


@decode.case("the visible scores are far below zero", group="the greedy search")
def _(rng):
    scores = _scores(rng, B=3, M=4, S=6)
    scores[..., 2] += 9
    return {"scores": scores - 1e5}


@decode.case("scores in the tens of thousands", group="the greedy search")
def _(rng):
    return {"scores": _scores(rng, B=3, M=4, S=6, size=20_000)}


@decode.case("one item, one step", group="the greedy search")
def _(rng):
    return {"scores": _scores(rng, B=1, M=1, S=2)}


@decode.case("single precision", group="the greedy search")
def _(rng):
    return in_single_precision({"scores": _scores(rng, B=3, M=4, S=6)})


@decode.case("rows of memory that are not contiguous", group="the greedy search")
def _(rng):
    return {"scores": _scores(rng, B=6, M=4, S=3).T.copy().T}


@decode.case("the greedy search is led astray", group="the beam")
def _(rng):
    # Item 1 looks best at first, but is worth most at the second step.
    scores = np.log([[[0.02, 0.52, 0.46], [0.02, 0.97, 0.01], [0.4, 0.3, 0.3]]])
    return {"scores": np.concatenate([scores, _scores(rng, B=2, M=3, S=3)]), "width": 2}


@decode.case("a beam of three, many sequences", group="the beam")
def _(rng):
    return {"scores": _scores(rng, B=12, M=4, S=6, size=0.8, gate=-1), "width": 3}


@decode.case("sequences that stop compete with those that go on", group="the beam")
def _(rng):
    return {"scores": _scores(rng, B=12, M=5, S=5, size=0.7), "width": 2}


@decode.case("a sequence that has stopped loses its place", group="the beam")
def _(rng):
    # STOP is second best at first. Two beginnings then push it out, and end up below it.
    start, middle = [0.2, 0.65, 0.05, 0.05, 0.05], [0.01, 0.01, 0.49, 0.48, 0.01]
    scores = np.log([[start, middle, [0.2] * 5]])
    return {"scores": scores + 0.02 * rng.normal(size=(3, 3, 5)), "width": 2}


@decode.case("a beam wider than there are sequences", group="the beam")
def _(rng):
    return {"scores": _scores(rng, B=3, M=4, S=3), "width": 40}


@decode.case("a beam, and scores far below zero", group="the beam")
def _(rng):
    return {"scores": _scores(rng, B=5, M=4, S=6, size=0.8, gate=-1) - 1e5, "width": 3}


def _search(
    scores,
    width,
    log=reference.log_distribution,
    hide=lambda mask, n: mask & (np.arange(len(mask)) != n),
    end=lambda mask, n: np.arange(len(mask)) == 0 if n == 0 else mask,
    best=lambda candidates, width: sorted(candidates, key=lambda c: -c[0])[:width],
):
    """The loop of the text; what can be got wrong is passed in."""
    B, M, S = scores.shape
    chosen, totals = np.zeros((B, M), int), np.zeros(B, scores.dtype)
    for b in range(B):
        beams = [(scores.dtype.type(0), [], np.ones(S, bool))]
        for m in range(M):
            candidates = []
            for total, path, mask in beams:
                log_p = log(scores[b, m], mask)
                for n in range(S):
                    if log_p[n] != -np.inf:
                        after = end(hide(mask, n) if n else mask, n)
                        candidates.append((total + log_p[n], [*path, n], after))
            beams = best(candidates, width)
        totals[b], chosen[b], _ = max(beams, key=lambda beam: beam[0])
    return chosen, totals


@decode.misconception(
    "masks nothing: points again at what it has pointed at",
    hint="A network that was trained with the mask knows nothing of repetition: the mask did that "
    "for it. Without the mask it repeats itself when it writes.",
)
def _(scores, width=1):
    return _search(scores, width, hide=lambda mask, n: mask)


@decode.misconception(
    "hides the slot for one step only",
    hint="Your third step no longer knows what the first one chose. The mask is carried on and "
    "gets smaller from step to step.",
)
def _(scores, width=1):
    return _search(scores, width, hide=lambda mask, n: np.arange(len(mask)) != n)


@decode.misconception(
    "sets probabilities to zero after the softmax and leaves it at that",
    hint="What is left adds to less than one, so your totals are too small. Hide first, then "
    "normalise.",
)
def _(scores, width=1):
    def log(row, mask):
        return np.where(mask, reference.log_distribution(row, np.ones_like(mask)), -np.inf)

    return _search(scores, width, log=log)


@decode.misconception(
    "leaves the hidden slots in the sum",
    hint="You never choose what is hidden, yet it keeps its share of the probability, and your "
    "totals are too small. Hide first, then normalise.",
)
def _(scores, width=1):
    def log(row, mask):
        if mask.dtype == int:  # it has stopped, which the sum does not know
            return np.where(mask, row.dtype.type(0), -np.inf)
        return np.where(mask, reference.log_distribution(row, np.ones_like(mask)), -np.inf)

    def end(mask, n):
        return mask if n else np.eye(1, len(mask), dtype=int)[0]

    return _search(scores, width, log=log, end=end)


@decode.misconception(
    "shares one mask among the sequences of the batch",
    hint="What the first sequence has pointed at is hidden from the second in your answer. Every "
    "sequence needs a mask of its own.",
)
def _(scores, width=1):
    used = set()

    def log(row, mask):
        shared = mask & np.array([n == 0 or n not in used for n in range(len(mask))])
        return reference.log_distribution(row, shared)

    def hide(mask, n):
        return mask & (np.arange(len(mask)) != n)

    def best(candidates, width):
        kept = sorted(candidates, key=lambda c: -c[0])[:width]
        used.update(path[-1] for _, path, _ in kept)
        return kept

    return _search(scores, width, log=log, hide=hide, best=best)


@decode.misconception(
    "hides the gate as well once it was pointed at",
    hint="After STOP you go on with an item. The gate is the one slot that never disappears; after "
    "STOP it is the only one.",
)
def _(scores, width=1):
    def end(mask, n):
        return mask & (np.arange(len(mask)) != 0) if n == 0 else mask

    def log(row, mask):  # of a mask that leaves nothing, the gate
        return reference.log_distribution(row, mask if mask.any() else np.arange(len(row)) == 0)

    return _search(scores, width, log=log, end=end)


@decode.misconception(
    "never points at the gate while an item is left",
    hint="STOP is an answer like any other, and the network may give it early. Only items are "
    "hidden, and only after they were pointed at.",
)
def _(scores, width=1):
    def log(row, mask):
        items = mask & (np.arange(len(mask)) > 0)
        return reference.log_distribution(row, items if items.any() else mask)

    return _search(scores, width, log=log)


@decode.misconception(
    "goes on after STOP",
    hint="STOP ends the sequence: the gate alone is left, at no cost, and the rest is zeros.",
)
def _(scores, width=1):
    return _search(scores, width, end=lambda mask, n: mask)


@decode.misconception(
    "pays for every step after STOP",
    hint="After STOP the gate is all that is left, so its probability is 1 and its logarithm 0. "
    "Your totals go on falling.",
)
def _(scores, width=1):
    def log(row, mask):
        if mask.sum() == 1 and mask[0]:
            everything = reference.log_distribution(row, np.ones_like(mask))
            return np.where(mask, everything, -np.inf)
        return reference.log_distribution(row, mask)

    return _search(scores, width, log=log)


@decode.misconception(
    "hides with -10000",
    hint="Scores of -100000 exist, and then the hidden slots win. Minus infinity cannot be beaten.",
)
def _(scores, width=1):
    def log(row, mask):
        return reference.log_distribution(np.where(mask, row, -1e4), np.ones_like(mask))

    return _search(scores, width, log=log)


@decode.misconception(
    "subtracts the largest score without asking whether it is left",
    hint="If what was pointed at lies thousands above the rest, all exponentials underflow to "
    "zero. Subtract the largest score among those that are left.",
)
def _(scores, width=1):
    def log(row, mask):
        shifted = row - row.max()
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(mask, shifted - np.log(np.exp(shifted)[mask].sum()), -np.inf)

    return _search(scores, width, log=log)


@decode.misconception(
    "hides step m instead of slot m",
    hint="The chosen number is a *slot*, an index of the last axis of `scores`. You hide along the "
    "axis of the steps.",
)
def _(scores, width=1):
    def hidden(chosen, b):
        rows = scores[b].copy()
        rows[[n for n in chosen if 0 < n < len(rows)]] = 0
        return rows

    B, M, _ = scores.shape
    chosen, totals = np.zeros((B, M), int), np.zeros(B, scores.dtype)
    for b in range(B):
        path = []
        for m in range(M):
            log_p = reference.log_distribution(
                hidden(path, b)[m], np.ones(scores.shape[-1], dtype=bool)
            )
            path.append(int(log_p.argmax()))
            totals[b] += log_p[path[-1]]
            if path[-1] == 0:
                break
        chosen[b, : len(path)] = path
    return chosen, totals


@decode.misconception(
    "is greedy whatever the width",
    hint="For `width=2` two beginnings are kept. Look at the case where item 1 is tempting at "
    "first: the better sequence begins with the second best slot.",
)
def _(scores, width=1):
    return reference.decode(scores)


@decode.misconception(
    "keeps the best slot of each beginning instead of the best of all",
    hint="All pairs of a beginning and a slot compete for the `width` places: two of the best may "
    "come from the same beginning.",
)
def _(scores, width=1):
    def best(candidates, width):
        first = {}
        for candidate in sorted(candidates, key=lambda c: -c[0]):
            before = tuple(candidate[1][:-1])
            if len(candidate[1]) == 1 or before not in first:
                first[(*before, candidate[1][-1]) if len(candidate[1]) == 1 else before] = candidate
        return list(first.values())[:width]

    return _search(scores, width, best=best)


@decode.misconception(
    "keeps all beginnings, whatever the width",
    hint="That finds the most probable sequence of all, at a price that grows with every step. A "
    "beam keeps `width` beginnings and may miss it; with `width=1` it has to be greedy.",
)
def _(scores, width=1):
    return _search(scores, width, best=lambda candidates, width: candidates)


@decode.misconception(
    "compares sequences by their average over the steps",
    hint="That favours long sequences, and some translators want it so. Here sequences compete by "
    "their totals as they are.",
)
def _(scores, width=1):
    def best(candidates, width):
        def average(candidate):
            total, path, _ = candidate
            return total / (path.index(0) + 1 if 0 in path else len(path))

        full = len(candidates[0][1]) == scores.shape[1]
        return sorted(candidates, key=lambda c: -average(c))[: 1 if full else width]

    return _search(scores, width, best=best)


@decode.misconception(
    "sets sequences that have stopped aside",
    hint="A sequence that has stopped competes for one of the `width` places at every step and may "
    "lose it. In your search it is safe, and makes room for another.",
)
def _(scores, width=1):
    M, aside, steps = scores.shape[1], [], []

    def best(candidates, width):
        step = len(steps) % M
        steps.append(step)
        if step == 0:
            aside.clear()
        kept = sorted(candidates, key=lambda c: -c[0])[:width]
        aside.extend(one for one in kept if one[1][-1] == 0)
        going = [one for one in kept if one[1][-1] != 0]
        if step < M - 1:
            return going
        return [(total, np.pad(path, (0, M - len(path))), 0) for total, path, _ in aside + going]

    return _search(scores, width, best=best)


@decode.misconception(
    "compares the last step only, not the whole beginning",
    hint="A beginning is as good as its sum of logarithms. You keep those whose newest step is "
    "the most probable.",
)
def _(scores, width=1):
    before = {}

    def best(candidates, width):
        def newest(candidate):
            total, path, _ = candidate
            return total - before.get(tuple(path[:-1]), 0.0) if len(path) > 1 else total

        kept = sorted(candidates, key=lambda c: -newest(c))[:width]
        before.clear()
        before.update({tuple(path): total for total, path, _ in kept})
        return kept

    return _search(scores, width, best=best)


@decode.misconception(
    "adds probabilities instead of logarithms",
    hint="The probability of a sequence is a product. Its logarithm is the sum of the logarithms; "
    "a sum of probabilities means nothing.",
)
def _(scores, width=1):
    def log(row, mask):
        return np.where(mask, np.exp(reference.log_distribution(row, mask)), -np.inf)

    return _search(scores, width, log=log)


@decode.misconception(
    "returns the probability instead of its logarithm",
    hint="`total` is a logarithm, never above zero.",
)
def _(scores, width=1):
    chosen, total = reference.decode(scores, width)
    return chosen, np.exp(total)


@decode.misconception(
    "numbers the items from zero",
    hint="Slot 0 is the gate; item 1 is slot 1. Return slots as they index `scores`.",
)
def _(scores, width=1):
    chosen, total = reference.decode(scores, width)
    return chosen - 1, total


@decode.right_answer("the loop with a list of beams")
def _(scores, width=1):
    return _search(scores, width)


@decode.right_answer("greedy in one go, a beam of a heap")
def _(scores, width=1):
    import heapq

    B, M, S = scores.shape
    chosen, totals = np.zeros((B, M), int), np.zeros(B, scores.dtype)
    for b in range(B):
        beams = [(0.0, ())]
        for m in range(M):
            candidates = []
            for total, path in beams:
                left = [0] if 0 in path else [n for n in range(S) if n == 0 or n not in path]
                row = scores[b, m, left]
                norm = np.logaddexp.reduce(row)
                candidates += [
                    (total + float(s - norm), (*path, n)) for s, n in zip(row, left, strict=True)
                ]
            beams = heapq.nlargest(width, candidates)
        totals[b], chosen[b] = beams[0]
    return chosen, totals


@decode.right_answer("torch, all beams at once")
def _(scores, width=1):
    import torch

    scores = torch.tensor(scores)
    B, M, S = scores.shape
    chosen = torch.zeros(B, 1, 0, dtype=torch.long)
    total = torch.zeros(B, 1, dtype=scores.dtype)
    hidden = torch.zeros(B, 1, S, dtype=torch.bool)
    for m in range(M):
        log_p = scores[:, None, m].masked_fill(hidden, float("-inf")).log_softmax(-1)
        candidates = (total[..., None] + log_p).flatten(1)
        total, index = candidates.topk(min(width, candidates.shape[1]), dim=-1)
        parent, slot = index // S, index % S
        chosen = torch.cat(
            [chosen.gather(1, parent[..., None].expand(-1, -1, m)), slot[..., None]], dim=-1
        )
        hidden = hidden.gather(1, parent[..., None].expand(-1, -1, S)).scatter(
            -1, slot[..., None], True
        )
        hidden = hidden | (slot == 0)[..., None]
        hidden[..., 0] = False
    return chosen[:, 0], total[:, 0]


# --------------------------------------------------------------------------- written

the_example_that_cannot_tell = Question(
    name="the_example_that_cannot_tell",
    title="The example that cannot tell",
    points=4,
    prompt="""A colleague tests a sorting pointer network on one input, 20, 5, 10. The wanted output
is the items' numbers from the largest item to the smallest, and the network writes 1, 3, 2. "It
works," says the colleague. In four to six sentences: say what else the output 1, 3, 2 could mean,
why this input cannot tell the two apart, and give an input of three numbers that can, with what
each of the two readings would write for it. Then say what a test set needs to have so that nobody
falls into this trap.""",
    answer="""The output could be the *ranks*: item 1 is the largest, item 2 the third, item 3 the
second, which is also 1, 3, 2. The list of item numbers in sorted order (argsort) and the list of
ranks are inverse permutations of each other, and 1, 3, 2 is its own inverse, so both readings give
the same. The input 5, 20, 10 can tell: argsort gives 2, 3, 1, the ranks are 3, 1, 2. Any
permutation of three that only swaps two items, or none, is its own inverse and does not help. A
test set needs many inputs, with lengths and orders drawn at random, so that permutations which are
not their own inverse occur and are compared item by item with the wanted ones.""",
    scheme="""- 1 point: the ranks as the other reading.
- 1 point: argsort and ranks are inverse permutations, and 1, 3, 2 is its own inverse.
- 1 point: an input that is cycled, such as 5, 20, 10, with both outputs right.
- 1 point: many random permutations (not just "more examples" of the same kind).""",
)

the_mask_is_part_of_the_model = Question(
    name="the_mask_is_part_of_the_model",
    title="A model that cannot do without",
    points=4,
    prompt="""A pointer network was trained with a mask that hides what has been pointed at. A
teammate puts it into production, finds the mask inconvenient and drops it: "The network has seen a
million sequences without a repetition; surely it has learned not to repeat." In four to six
sentences: say what will happen and why, say what the mask has made of the task that the network
was trained on, and name one advantage and one cost of training with it.""",
    answer="""It will point at the same item again and again. While it was trained, the items that
had been pointed at were out of the softmax, so whatever score it gave them changed neither the loss
nor the gradient: nothing has ever taught it to score them low. The mask has turned "write the next
item in order" into "point at the largest of those that are left", for which the network does not
need to remember what it has written. That is an easier task, which is why it works on sequences
longer than those of the training, and a repetition is impossible. The cost is that the mask is now
part of the model and has to be there whenever it writes; and the constraint must be true of the
task: where an item may be wanted twice, a masked network cannot say so.""",
    scheme="""- 1 point: it repeats itself.
- 1 point: hidden slots get no gradient, so low scores for them were never learned.
- 1 point: the task has become "the best of those that are left", with no memory needed.
- 1 point: one advantage (no repetition, longer sequences) and one cost (has to be there when
  writing; no item twice).""",
)
