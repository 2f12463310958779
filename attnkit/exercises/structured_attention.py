"""The exercises of the chapter on structured attention: a chain's marginals, a hierarchy."""

import numpy as np

from attnkit import structured_attention as reference
from attnkit.checking import Question, exercise, in_single_precision, laws
from attnkit.exercises.self_attention import OF_EMPTY_ROWS, hidden_too_late, shares
from attnkit.self_attention import masked_softmax
from attnkit.soft_attention import softmax

# --------------------------------------------------------------------------- 7.1


def _states(arguments):
    return -1


def _without_transitions(answer, arguments):
    nothing = {"transition": np.zeros_like(arguments["transition"])}
    return answer(**{**arguments, **nothing}), softmax(arguments["unary"])


def _read_backwards(answer, arguments):
    turned = answer(
        unary=np.flip(arguments["unary"], axis=-2).copy(),
        transition=arguments["transition"].T.copy(),
    )
    return np.flip(turned, axis=-2), answer(**arguments)


@exercise(
    reference=reference.chain_marginals,
    number="7.1",
    title="Marginals of a chain",
    section=("structured-forward-backward", "Forward and backward"),
    points=6,
    minutes=40,
    difficulty=3,
    contract="unary (..., N, S), transition (S, S) from and to -> marginals (..., N, S), finite "
    "for any finite scores",
    groups={"the marginals": 4, "scores of any size": 1, "batches": 1},
    laws=[
        laws.sums_to(1, along=_states),
        laws.not_negative(),
        laws.shift_invariant("unary", along=_states),
        laws.batch_independent("unary", rank=2),
        laws.agrees("without transitions each position is a softmax", _without_transitions),
        laws.agrees(
            "reading the chain from its end, with the transition transposed, changes nothing",
            _read_backwards,
        ),
    ],
    equivalent_mutants={
        "0  ->  -1": "zeros of the shape of any position are the same zeros",
        "np.sum(exponentials, axis=axis, keepdims=True)  ->  "
        "np.mean(exponentials, axis=axis, keepdims=True)": "a number added to all states of a "
        "message goes away in the last softmax",
    },
    hints=(
        "Stand at position n. What do the positions before it say about its state, and what do "
        "those after it? Does either of the two messages hold the evidence of n itself, and can "
        "it be in both?",
        "Forward: f at the first position is its evidence; then add to the evidence the logsumexp, "
        "over the state one comes *from*, of f plus the transition. Backward: b at the last "
        "position is 0; then the logsumexp, over the state one goes *to*, of transition plus "
        "evidence plus b *of the next position*. At the end f + b, normalised over the states.",
        "With `lse(x, axis)` safe as in exercise 3.1 (`np.logaddexp.reduce(x, axis=axis)` is one): "
        "`f.append(unary[..., n, :] + lse(f[-1][..., :, None] + transition, -2))` for n from 1 to "
        "N - 1, and `b.append(lse(transition + (unary[..., n, :] + b[-1])[..., None, :], -1))` for "
        "n from N - 1 down to 1. The first b belongs to the last position: turn that list round, "
        "`b[::-1]`, before you add.",
    ),
)
def chain_marginals(unary, transition):
    r"""How probable each state is at each position of a chain.

    Position $n$ of a chain is in one of $S$ states, $z_n$. `unary[n, s]` is the evidence $u_n(s)$
    for state $s$ there; `transition[r, s]` is the score $t(r, s)$ of going *from* state $r$ *to*
    state $s$ at the next position, and need not be symmetric. A whole chain of states is as
    probable as

    $$p(z_1, \dots, z_N) \propto \exp\Big(\sum_{n=1}^{N} u_n(z_n) +
    \sum_{n=2}^{N} t(z_{n-1}, z_n)\Big)$$

    Return the marginals $p(z_n = s)$. As a loop, which takes $S^N$ steps:

    ```python
    for z in itertools.product(range(S), repeat=N):
        score = sum(unary[n, z[n]] for n in range(N))
        score += sum(transition[z[n - 1], z[n]] for n in range(1, N))
        for n in range(N):
            marginals[n, z[n]] += exp(score)
    marginals /= marginals.sum(axis=-1, keepdims=True)
    ```

    Yours has to take steps in proportion to $N S^2$, must work for any $S$ and $N$, one included,
    and for *any* finite scores: in the hundreds, far below zero, along a chain so long that the
    sum over all chains overflows. So keep to logarithms and subtract a maximum before `exp`.

    There may be batch axes in front of `unary`: `(B, N, S)` gives `(B, N, S)`. `transition` has
    none.
    """


def _chain(rng, N, S, batch=(), scale=1.0, shift=0.0):
    return {
        "unary": shift + scale * rng.normal(size=(*batch, N, S)),
        "transition": scale * rng.normal(size=(S, S)),
    }


@chain_marginals.case("two states", group="the marginals")
def _(rng):
    return _chain(rng, N=5, S=2)


@chain_marginals.case("three states", group="the marginals")
def _(rng):
    return _chain(rng, N=5, S=3)


@chain_marginals.case("as many states as positions", group="the marginals")
def _(rng):
    return _chain(rng, N=4, S=4)


@chain_marginals.case("two positions", group="the marginals")
def _(rng):
    return _chain(rng, N=2, S=3)


@chain_marginals.case("one position", group="the marginals")
def _(rng):
    return _chain(rng, N=1, S=4)


@chain_marginals.case("one state", group="the marginals")
def _(rng):
    return _chain(rng, N=3, S=1)


@chain_marginals.case("single precision", group="the marginals")
def _(rng):
    return in_single_precision(_chain(rng, N=5, S=3))


@chain_marginals.case("scores far below zero", group="scores of any size")
def _(rng):
    return _chain(rng, N=5, S=3, shift=-1000.0)


@chain_marginals.case("scores in the hundreds", group="scores of any size")
def _(rng):
    return _chain(rng, N=5, S=3, scale=300.0)


@chain_marginals.case("positions a thousand apart", group="scores of any size")
def _(rng):
    arguments = _chain(rng, N=5, S=3)
    arguments["unary"][1] -= 1000
    arguments["unary"][3] += 1000
    return arguments


@chain_marginals.case("evidence against the transitions", group="scores of any size")
def _(rng):
    arguments = _chain(rng, N=5, S=3)
    arguments["transition"][:, 1] -= 1000
    arguments["unary"][:, 1] += 1000
    return arguments


@chain_marginals.case("a chain whose sum underflows", group="scores of any size")
def _(rng):
    return _chain(rng, N=6, S=2, shift=-200.0)


@chain_marginals.case("a batch", group="batches")
def _(rng):
    return _chain(rng, N=5, S=3, batch=(2,))


@chain_marginals.case("a batch as long as the chain", group="batches")
def _(rng):
    return _chain(rng, N=4, S=4, batch=(4,))


@chain_marginals.case("two batch axes", group="batches")
def _(rng):
    return _chain(rng, N=4, S=3, batch=(2, 5))


@chain_marginals.case("a batch of chains a thousand apart", group="batches")
def _(rng):
    arguments = _chain(rng, N=5, S=3, batch=(2,))
    arguments["unary"][1] -= 1000
    return arguments


@chain_marginals.case("rows of memory that are not contiguous", group="batches")
def _(rng):
    arguments = _chain(rng, N=3, S=5, batch=(2,))
    return {
        "unary": np.swapaxes(arguments["unary"], -1, -2),
        "transition": rng.normal(size=(3, 3)).T,
    }


def _lse(x, axis):
    return np.logaddexp.reduce(x, axis=axis)


def _messages(unary, transition, ahead=None, total=_lse):
    """Forward and backward messages; ``ahead`` is the transition of the backward pass."""
    ahead = transition if ahead is None else ahead
    forward, backward = [unary[..., 0, :]], [np.zeros_like(unary[..., 0, :])]
    for n in range(1, unary.shape[-2]):
        steps = forward[-1][..., :, None] + transition
        forward.append(unary[..., n, :] + total(steps, axis=-2))
    for n in range(unary.shape[-2] - 1, 0, -1):
        steps = ahead + (unary[..., n, :] + backward[-1])[..., None, :]
        backward.append(total(steps, axis=-1))
    return np.stack(forward, axis=-2), np.stack(backward[::-1], axis=-2)


@chain_marginals.misconception(
    "leaves the transitions out",
    hint="Each of your positions looks at its own evidence only. What does its neighbour say?",
)
def _(unary, transition):
    return softmax(unary)


@chain_marginals.misconception(
    "listens to the positions before only",
    hint="Your last position is right and the others are not: what comes after a position speaks "
    "about it too. That is the backward message.",
)
def _(unary, transition):
    return softmax(_messages(unary, transition)[0])


@chain_marginals.misconception(
    "counts the evidence of each position twice",
    hint="f already holds the evidence of its own position. The backward message of n may hold "
    "that of n + 1 and later only.",
)
def _(unary, transition):
    forward, backward = _messages(unary, transition)
    return softmax(forward + unary + backward)


@chain_marginals.misconception(
    "counts the evidence of each position twice and divides by Z",
    hint="Some of your marginals are above 1. f already holds the evidence of its own position; "
    "the backward message of n may hold that of n + 1 and later only.",
)
def _(unary, transition):
    forward, backward = _messages(unary, transition)
    log_z = _lse(forward[..., -1, :], -1)[..., None, None]
    return np.exp(forward + unary + backward - log_z)


@chain_marginals.misconception(
    "starts the backward pass with the evidence of the last position",
    hint="After the last position nothing follows, so its backward message says nothing: zeros.",
)
def _(unary, transition):
    backward = [unary[..., -1, :]]
    for n in range(unary.shape[-2] - 1, 0, -1):
        steps = transition + (unary[..., n, :] + backward[-1])[..., None, :]
        backward.append(_lse(steps, -1))
    return softmax(_messages(unary, transition)[0] + np.stack(backward[::-1], axis=-2))


@chain_marginals.misconception(
    "takes the evidence of the position itself into its backward message",
    hint="b of n sums over the state at n + 1, so the evidence it adds is that of n + 1. You add "
    "that of n, and the last position's is never sent back.",
)
def _(unary, transition):
    backward = [np.zeros_like(unary[..., 0, :])]
    for n in range(unary.shape[-2] - 2, -1, -1):
        steps = transition + (unary[..., n, :] + backward[-1])[..., None, :]
        backward.append(_lse(steps, -1))
    return softmax(_messages(unary, transition)[0] + np.stack(backward[::-1], axis=-2))


@chain_marginals.misconception(
    "forgets the transition into the last position",
    hint="Look at a chain of two positions: there is one transition, and you leave it out.",
)
def _(unary, transition):
    N = unary.shape[-2]
    if N == 1:
        return softmax(unary)
    before = _messages(unary[..., :-1, :], transition)
    return softmax(np.concatenate([before[0] + before[1], unary[..., -1:, :]], axis=-2))


@chain_marginals.misconception(
    "transposes the transition",
    hint="Rows are where one comes from, columns where one goes to. In the forward pass the sum "
    "runs over the rows, axis -2.",
)
def _(unary, transition):
    return reference.chain_marginals(unary, np.ascontiguousarray(transition.T))


@chain_marginals.misconception(
    "transposes the transition in the backward pass only",
    hint="Forward you are right. Backward you stand at the state one comes from, the row, and sum "
    "over where one may go, axis -1.",
)
def _(unary, transition):
    forward, backward = _messages(unary, transition, ahead=transition.T)
    return softmax(forward + backward)


@chain_marginals.misconception(
    "sums over the wrong state",
    hint="You do so in both passes. Forward, f belongs to the state one comes from, and that one "
    "has to vanish in the sum: axis -2. Backward, the evidence and b belong to the state one goes "
    "to, and that one has to vanish: axis -1.",
)
def _(unary, transition):
    forward, backward = [unary[..., 0, :]], [np.zeros_like(unary[..., 0, :])]
    for n in range(1, unary.shape[-2]):
        forward.append(unary[..., n, :] + _lse(forward[-1][..., :, None] + transition, -1))
    for n in range(unary.shape[-2] - 1, 0, -1):
        steps = transition + (unary[..., n, :] + backward[-1])[..., None, :]
        backward.append(_lse(steps, -2))
    return softmax(np.stack(forward, axis=-2) + np.stack(backward[::-1], axis=-2))


@chain_marginals.misconception(
    "keeps the backward messages in the order they were made",
    hint="The first backward message you make belongs to the *last* position. Turn the list round "
    "before you add.",
)
def _(unary, transition):
    forward, backward = _messages(unary, transition)
    return softmax(forward + np.flip(backward, axis=-2))


@chain_marginals.misconception(
    "takes the maximum where it should sum",
    hint="That follows the single best chain (Viterbi). A marginal counts all chains: logsumexp "
    "instead of max.",
)
def _(unary, transition):
    forward, backward = _messages(unary, transition, total=np.max)
    return softmax(forward + backward)


@chain_marginals.misconception(
    "multiplies probabilities instead of adding logarithms",
    hint="exp(-1000) is 0 and a product of sixty small numbers too. Keep the messages in "
    "logarithms and leave them at the very end only.",
)
def _(unary, transition):
    evidence, step = np.exp(unary), np.exp(transition)
    forward, backward = [evidence[..., 0, :]], [np.ones_like(evidence[..., 0, :])]
    for n in range(1, unary.shape[-2]):
        forward.append(evidence[..., n, :] * (forward[-1] @ step))
    for n in range(unary.shape[-2] - 1, 0, -1):
        backward.append((evidence[..., n, :] * backward[-1]) @ step.T)
    product = np.stack(forward, axis=-2) * np.stack(backward[::-1], axis=-2)
    return product / product.sum(axis=-1, keepdims=True)


@chain_marginals.misconception(
    "keeps probabilities and makes them add to one at every step",
    hint="That keeps the sum over all chains from running away, but not one state against another: "
    "exp(-1000) of the largest is 0, and a later score may make up for it. Keep the messages in "
    "logarithms.",
)
def _(unary, transition):
    def share(numbers):
        return numbers / numbers.sum(axis=-1, keepdims=True)

    evidence = np.exp(unary - unary.max(axis=-1, keepdims=True))
    step = np.exp(transition - transition.max())
    forward, backward = [share(evidence[..., 0, :])], [np.ones_like(evidence[..., 0, :])]
    for n in range(1, unary.shape[-2]):
        forward.append(share(evidence[..., n, :] * (forward[-1] @ step)))
    for n in range(unary.shape[-2] - 1, 0, -1):
        backward.append(share((evidence[..., n, :] * backward[-1]) @ step.T))
    return share(np.stack(forward, axis=-2) * np.stack(backward[::-1], axis=-2))


@chain_marginals.misconception(
    "takes the exponential of raw scores in logsumexp",
    hint="You keep logarithms, but inside the sum stands exp of a number in the hundreds. Subtract "
    "the largest first and add it again after the log.",
)
def _(unary, transition):
    def total(x, axis):
        return np.log(np.exp(x).sum(axis=axis))

    forward, backward = _messages(unary, transition, total=total)
    log_z = total(forward[..., -1, :], -1)[..., None, None]
    return np.exp(forward + backward - log_z)


@chain_marginals.misconception(
    "subtracts one maximum for all sums in logsumexp",
    hint="A sum whose largest term lies a thousand below that maximum underflows to log 0. Each "
    "sum needs its own maximum, along the axis of the sum: with keepdims where it is subtracted, "
    "without that axis where it is added again (`top.squeeze(axis)`).",
)
def _(unary, transition):
    def total(x, axis):
        return np.log(np.exp(x - x.max()).sum(axis=axis)) + x.max()

    forward, backward = _messages(unary, transition, total=total)
    both = forward + backward
    exponentials = np.exp(both - both.max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


@chain_marginals.misconception(
    "normalises over the positions",
    hint="At each position the *states* share one: the last axis. Your numbers add to one along "
    "the chain.",
)
def _(unary, transition):
    forward, backward = _messages(unary, transition)
    return softmax(forward + backward, axis=-2)


@chain_marginals.misconception(
    "returns the logarithms of the marginals",
    hint="Your numbers are below zero. One exp is missing at the end.",
)
def _(unary, transition):
    forward, backward = _messages(unary, transition)
    both = forward + backward
    return both - _lse(both, -1)[..., None]


@chain_marginals.misconception(
    "returns the marginal of the last state only",
    hint="All S states of each position are asked for: (..., N, S).",
)
def _(unary, transition):
    return reference.chain_marginals(unary, transition)[..., -1]


@chain_marginals.misconception(
    "does not expect a batch",
    hint="Right for one chain. With a batch in front, `unary[n]` is a whole chain; "
    "`unary[..., n, :]` is position n of every chain.",
)
def _(unary, transition):
    forward, backward = [unary[0]], [np.zeros_like(unary[0])]
    for n in range(1, len(unary)):
        forward.append(unary[n] + _lse(forward[-1][:, None] + transition, 0))
    for n in range(len(unary) - 1, 0, -1):
        backward.append(_lse(transition + unary[n] + backward[-1], 1))
    return softmax(np.stack(forward) + np.stack(backward[::-1]))


@chain_marginals.right_answer("the gradient of log Z by torch")
def _(unary, transition):
    import torch

    unary = torch.tensor(unary, requires_grad=True)
    transition = torch.tensor(transition)
    forward = unary[..., 0, :]
    for n in range(1, unary.shape[-2]):
        steps = forward[..., :, None] + transition
        forward = unary[..., n, :] + torch.logsumexp(steps, dim=-2)
    (gradient,) = torch.autograd.grad(torch.logsumexp(forward, dim=-1).sum(), unary)
    return gradient


@chain_marginals.right_answer("each position held in each state, in turn")
def _(unary, transition):
    def log_z(unary):
        forward = unary[..., 0, :]
        for n in range(1, unary.shape[-2]):
            forward = unary[..., n, :] + _lse(forward[..., :, None] + transition, -2)
        return _lse(forward, -1)

    marginals = np.empty_like(unary)
    for n in range(unary.shape[-2]):
        for s in range(unary.shape[-1]):
            held = unary.copy()
            held[..., n, :] = -np.inf
            held[..., n, s] = unary[..., n, s]
            marginals[..., n, s] = log_z(held)
    return np.exp(marginals - _lse(marginals, -1)[..., None])


@chain_marginals.right_answer("messages normalised at every step")
def _(unary, transition):
    def normalised(logs):
        return logs - _lse(logs, -1)[..., None]

    positions = np.moveaxis(unary, -2, 0)
    forward = [normalised(positions[0])]
    for u in positions[1:]:
        forward.append(normalised(u + _lse(forward[-1][..., None] + transition, -2)))
    marginals = [forward.pop()]
    for f in reversed(forward):
        # From the later marginal back: how probable each earlier state is, given the later one.
        joint = f[..., None] + transition
        given = joint - _lse(joint, -2)[..., None, :]
        marginals.append(_lse(given + marginals[-1][..., None, :], -1))
    return np.exp(np.stack(marginals[::-1], axis=-2))


@chain_marginals.right_answer("loops over positions and pairs of states")
def _(unary, transition):
    N, S = unary.shape[-2:]
    marginals = []
    for u in unary.reshape(-1, N, S):
        f, b = np.zeros((N, S)), np.zeros((N, S))
        f[0] = u[0]
        for n in range(1, N):
            for s in range(S):
                f[n, s] = u[n, s] + _lse([f[n - 1, r] + transition[r, s] for r in range(S)], 0)
        for n in reversed(range(N - 1)):
            for r in range(S):
                ways = [transition[r, s] + u[n + 1, s] + b[n + 1, s] for s in range(S)]
                b[n, r] = _lse(ways, 0)
        marginals.append(softmax(f + b))
    return np.array(marginals).reshape(unary.shape)


# --------------------------------------------------------------------------- 7.2


def _read_part(output):
    return output[0]


def _word_part(output):
    return output[1]


def _sentence_part(output):
    return output[2]


def _document_alone(answer, arguments):
    if arguments["X"].ndim == 3:
        return None
    shared = ("W_word", "q_word", "W_sentence", "q_sentence")
    alone = {k: v if k in shared else v[:1] for k, v in arguments.items()}
    return answer(**alone)[2], answer(**arguments)[2][:1]


def _hidden_words_changed(answer, arguments):
    other = np.where(arguments["word_mask"][..., None], arguments["X"], 7.0)
    other = other.astype(arguments["X"].dtype)
    return answer(**{**arguments, "X": other})[0], answer(**arguments)[0]


def _sentences_reversed(answer, arguments):
    turned = {
        "X": np.flip(arguments["X"], axis=-3).copy(),
        "word_mask": np.flip(arguments["word_mask"], axis=-2).copy(),
        "sentence_mask": np.flip(arguments["sentence_mask"], axis=-1).copy(),
    }
    return answer(**{**arguments, **turned})[0], answer(**arguments)[0]


@exercise(
    reference=reference.hierarchical_attention,
    number="7.2",
    title="Words, then sentences",
    section=("structured-hierarchy", "Down a hierarchy: words, then sentences"),
    points=6,
    minutes=35,
    difficulty=2,
    contract="X (..., L, N, D), W_word (H, D), q_word (H,), W_sentence (G, D), q_sentence (G,), "
    "word_mask (..., L, N), sentence_mask (..., L) -> read (..., D), word weights (..., L, N), "
    "sentence weights (..., L)",
    parts=("the read", "the word weights", "the sentence weights"),
    groups={"two levels": 3, "masks": 2, "batches": 1},
    laws=[
        laws.hidden_keys_get_nothing("word_mask", part=_word_part),
        laws.hidden_keys_get_nothing("sentence_mask", part=_sentence_part),
        laws.not_negative(part=_sentence_part),
        laws.agrees("a document gets the same weights when it is alone", _document_alone),
        laws.agrees("what a hidden word holds does not matter", _hidden_words_changed),
        laws.agrees("reversing the sentences does not change the read", _sentences_reversed),
    ],
    equivalent_mutants=OF_EMPTY_ROWS,
    hints=(
        "Take one sentence. Which vector comes out of it, and of what size? And what is the item, "
        "what the score, one level up?",
        "The same three moves twice: a score `tanh(items @ W.T) @ q`, a softmax over what the mask "
        "shows, the weighted average of the *items themselves*. The reads of the first level are "
        "the items of the second. A softmax over nothing visible has to give zeros, and a sentence "
        "without a visible word is not visible.",
        "`S = (words[..., None] * X).sum(-2)` are the sentences. For the masked softmax: "
        "`e = np.where(mask, np.exp(scores - top), 0)` with the largest *visible* score as `top` "
        "(0 if there is none), divided by its sum or by 1 where that is 0. One level up the mask "
        "is `sentence_mask & word_mask.any(-1)`.",
    ),
)
def hierarchical_attention(X, W_word, q_word, W_sentence, q_sentence, word_mask, sentence_mask):
    r"""Attention over the words of each sentence, then over the sentences.

    A document `X` has $L$ sentences of $N$ words, each word a vector $x_{ln}$ of size $D$. Each
    level has a matrix and a learned query of its own:

    $$\begin{aligned}
    \alpha_{ln} &= \mathrm{softmax}_n\big(q_w^\top \tanh(W_w x_{ln})\big), \\
    s_l &= \sum_n \alpha_{ln} x_{ln}, \\
    \beta_l &= \mathrm{softmax}_l\big(q_s^\top \tanh(W_s s_l)\big), \\
    o &= \sum_l \beta_l s_l
    \end{aligned}$$

    In a loop, where `attend` is score, softmax and read over the rows that a mask shows:

    ```python
    for l in range(L):
        S[l], words[l] = attend(X[l], W_word, q_word, word_mask[l])
        seen[l] = sentence_mask[l] and word_mask[l].any()
    read, sentences = attend(S, W_sentence, q_sentence, seen)
    return read, words, sentences
    ```

    The masks are boolean, True = may attend. What is hidden gets a weight of exactly zero. A
    sentence with no visible word has word weights of zero, reads a vector of zeros, and gets no
    weight itself, whatever `sentence_mask` says; a document in which nothing is visible gives zeros
    everywhere. The word weights depend on `word_mask` alone. Scores may be in the thousands, and a
    hidden word may have the highest.

    There may be batch axes in front of `X` and of the masks, the same for all three. The matrices
    and queries have none. Return the tuple `(read, word weights, sentence weights)`.
    """


def _document(rng, L, N, D, H, G, batch=(), scale=1.0):
    return {
        "X": rng.normal(size=(*batch, L, N, D)),
        "W_word": rng.normal(size=(H, D)),
        "q_word": scale * rng.normal(size=H),
        "W_sentence": rng.normal(size=(G, D)),
        "q_sentence": scale * rng.normal(size=G),
        "word_mask": np.ones((*batch, L, N), bool),
        "sentence_mask": np.ones((*batch, L), bool),
    }


def _hide(arguments, rng):
    """Hide about a third of the words, never a sentence's first."""
    arguments["word_mask"][..., 1:] &= rng.random(arguments["word_mask"][..., 1:].shape) > 0.35
    arguments["word_mask"][..., 0, 1] = False
    return arguments


@hierarchical_attention.case("five different sizes, nothing hidden", group="two levels")
def _(rng):
    return _document(rng, L=3, N=5, D=4, H=6, G=7)


@hierarchical_attention.case("hidden layers of one size", group="two levels")
def _(rng):
    return _document(rng, L=3, N=5, D=4, H=6, G=6)


@hierarchical_attention.case("all sizes equal", group="two levels")
def _(rng):
    return _document(rng, L=4, N=4, D=4, H=4, G=4)


@hierarchical_attention.case("one sentence of one word", group="two levels")
def _(rng):
    return _document(rng, L=1, N=1, D=4, H=3, G=2)


@hierarchical_attention.case("single precision", group="two levels")
def _(rng):
    return in_single_precision(_document(rng, L=3, N=5, D=4, H=6, G=7))


@hierarchical_attention.case("words are hidden", group="masks")
def _(rng):
    return _hide(_document(rng, L=3, N=5, D=4, H=6, G=7), rng)


@hierarchical_attention.case("padding sentences at the end", group="masks")
def _(rng):
    arguments = _hide(_document(rng, L=5, N=4, D=3, H=6, G=7), rng)
    arguments["sentence_mask"][-2:] = False
    return arguments


@hierarchical_attention.case("a sentence without a visible word", group="masks")
def _(rng):
    arguments = _hide(_document(rng, L=4, N=5, D=3, H=6, G=7), rng)
    arguments["word_mask"][1] = False
    return arguments


@hierarchical_attention.case("nothing visible", group="masks")
def _(rng):
    arguments = _document(rng, L=3, N=5, D=4, H=6, G=7)
    arguments["word_mask"][:] = False
    return arguments


@hierarchical_attention.case("scores in the thousands, the highest hidden", group="masks")
def _(rng):
    arguments = _document(rng, L=3, N=5, D=4, H=6, G=7, scale=2000.0)
    scores = np.tanh(arguments["X"] @ arguments["W_word"].T) @ arguments["q_word"]
    arguments["word_mask"] = scores < np.median(scores, axis=-1, keepdims=True)
    return arguments


@hierarchical_attention.case("a batch", group="batches")
def _(rng):
    return _hide(_document(rng, L=3, N=5, D=4, H=6, G=7, batch=(2,)), rng)


@hierarchical_attention.case("a batch, one document empty", group="batches")
def _(rng):
    arguments = _hide(_document(rng, L=4, N=3, D=5, H=6, G=2, batch=(3,)), rng)
    arguments["sentence_mask"][1] = False
    return arguments


@hierarchical_attention.case("two batch axes", group="batches")
def _(rng):
    return _hide(_document(rng, L=3, N=4, D=5, H=6, G=7, batch=(2, 3)), rng)


def _levels(
    arguments,
    normalise=masked_softmax,
    score=lambda items, W, q: np.tanh(items @ W.T) @ q,
    seen=lambda words, sentences: sentences & words.any(axis=-1),
):
    """Two levels of attention, of which a mistake changes one part."""
    X, W_word, q_word, W_sentence, q_sentence, word_mask, sentence_mask = arguments
    words = normalise(score(X, W_word, q_word), word_mask)
    S = np.einsum("...ln,...lnd->...ld", words, X)
    sentences = normalise(score(S, W_sentence, q_sentence), seen(word_mask, sentence_mask))
    return np.einsum("...l,...ld->...d", sentences, S), words, sentences


@hierarchical_attention.misconception(
    "runs one softmax over all words of the document",
    hint="Add the word weights of one sentence up. Each sentence has a softmax of its own; how "
    "much a sentence counts is the second level's business.",
)
def _(*arguments):
    X, W_word, q_word, *_, word_mask, sentence_mask = arguments
    scores = np.tanh(X @ W_word.T) @ q_word
    flat = (*X.shape[:-3], -1)
    seen = word_mask & sentence_mask[..., None]
    weights = masked_softmax(scores.reshape(flat), seen.reshape(flat)).reshape(scores.shape)
    return np.einsum("...ln,...lnd->...d", weights, X), weights, weights.sum(axis=-1)


@hierarchical_attention.misconception(
    "lets padding sentences have weight",
    hint="A sentence that sentence_mask hides may still have visible words. Its weight has to be "
    "exactly zero.",
)
def _(*arguments):
    return _levels(arguments, seen=lambda words, sentences: words.any(axis=-1))


@hierarchical_attention.misconception(
    "lets a sentence without a visible word have weight",
    hint="It reads a vector of zeros, and tanh(0) gives it the score 0: not the lowest by far. "
    "A sentence is visible if its mask says so and a word of it is visible.",
)
def _(*arguments):
    return _levels(arguments, seen=lambda words, sentences: sentences)


@hierarchical_attention.misconception(
    "lets hidden words have weight",
    hint="word_mask is True where attention may look. Where it is False the weight has to be "
    "exactly zero.",
)
def _(*arguments):
    *others, word_mask, sentence_mask = arguments
    read, words, sentences = reference.hierarchical_attention(
        *others, np.ones_like(word_mask), sentence_mask
    )
    return read, words, sentences


@hierarchical_attention.misconception(
    "uses the words' query for the sentences too",
    hint="There are two queries: what makes a word count in its sentence is not what makes a "
    "sentence count in the document.",
)
def _(X, W_word, q_word, W_sentence, q_sentence, word_mask, sentence_mask):
    return reference.hierarchical_attention(
        X, W_word, q_word, W_sentence, q_word, word_mask, sentence_mask
    )


@hierarchical_attention.misconception(
    "uses the words' matrix for the sentences too",
    hint="There are two matrices, one for each level.",
)
def _(X, W_word, q_word, W_sentence, q_sentence, word_mask, sentence_mask):
    return reference.hierarchical_attention(
        X, W_word, q_word, W_word, q_sentence, word_mask, sentence_mask
    )


@hierarchical_attention.misconception(
    "leaves out the tanh",
    hint="Between the matrix and the query stands a tanh, at both levels.",
)
def _(*arguments):
    return _levels(arguments, score=lambda items, W, q: items @ W.T @ q)


@hierarchical_attention.misconception(
    "leaves out the tanh for the sentences",
    hint="The words have their tanh. Between the matrix and the query of the sentences stands one "
    "as well.",
)
def _(*arguments):
    def score(items, W, q):
        hidden = items @ W.T
        return (hidden if W is arguments[3] else np.tanh(hidden)) @ q

    return _levels(arguments, score=score)


@hierarchical_attention.misconception(
    "divides the scores by the square root of their size",
    hint="That belongs to the dot product of a query and a key. Here a layer with a tanh scores, "
    "and what it gives is taken as it is.",
)
def _(*arguments):
    return _levels(arguments, score=lambda items, W, q: np.tanh(items @ W.T) @ q / np.sqrt(q.size))


@hierarchical_attention.misconception(
    "hides the words of hidden sentences",
    hint="The word weights depend on `word_mask` alone. That a sentence is hidden is the second "
    "level's business: it gets no weight, whatever it reads.",
)
def _(*arguments):
    *others, word_mask, sentence_mask = arguments
    return reference.hierarchical_attention(
        *others, word_mask & sentence_mask[..., None], sentence_mask
    )


@hierarchical_attention.misconception(
    "averages the sentence weights over the batch",
    hint="Each document has weights of its own; a mean over the first axis mixes them.",
)
def _(*arguments):
    read, words, sentences = _levels(arguments)
    if sentences.ndim > 1:
        sentences = np.broadcast_to(sentences.mean(axis=0), sentences.shape).copy()
    return read, words, sentences


@hierarchical_attention.misconception(
    "reads the plain mean of the visible words",
    hint="You compute the word weights and do not use them: a sentence is its words *weighted*.",
)
def _(X, W_word, q_word, W_sentence, q_sentence, word_mask, sentence_mask):
    words = masked_softmax(np.tanh(X @ W_word.T) @ q_word, word_mask)
    equal = word_mask / np.maximum(word_mask.sum(axis=-1, keepdims=True), 1)
    S = np.einsum("...ln,...lnd->...ld", equal, X)
    seen = sentence_mask & word_mask.any(axis=-1)
    sentences = masked_softmax(np.tanh(S @ W_sentence.T) @ q_sentence, seen)
    return np.einsum("...l,...ld->...d", sentences, S), words, sentences


@hierarchical_attention.misconception(
    "reads the projected words instead of the words",
    hint="tanh(W x) serves the score only. What is averaged are the vectors x themselves, of "
    "size D.",
)
def _(X, W_word, q_word, W_sentence, q_sentence, word_mask, sentence_mask):
    hidden = np.tanh(X @ W_word.T)
    words = masked_softmax(hidden @ q_word, word_mask)
    S = np.einsum("...ln,...lnh->...lh", words, hidden)
    hidden = np.tanh(S @ W_sentence.T)
    seen = sentence_mask & word_mask.any(axis=-1)
    sentences = masked_softmax(hidden @ q_sentence, seen)
    return np.einsum("...l,...lg->...g", sentences, hidden), words, sentences


def _unmasked(scores):
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


@hierarchical_attention.misconception(
    "hides what may be attended",
    hint="True means *may* attend, in this book and in torch's scaled_dot_product_attention.",
)
def _(*arguments):
    return _levels(
        arguments,
        normalise=lambda scores, mask: masked_softmax(scores, ~mask),
    )


@hierarchical_attention.misconception(
    "multiplies the weights with the mask after the softmax",
    hint="The visible weights of a sentence no longer add to one: the hidden ones have taken their "
    "share. Hide before you normalise.",
)
def _(*arguments):
    return _levels(arguments, normalise=lambda scores, mask: _unmasked(scores) * mask)


@hierarchical_attention.misconception(
    "sets hidden scores to zero",
    hint="A score of zero is a score like any other: exp(0) = 1. Hidden means weight zero.",
)
def _(*arguments):
    return _levels(arguments, normalise=lambda scores, mask: _unmasked(np.where(mask, scores, 0)))


@hierarchical_attention.misconception(
    "fills hidden scores with a large negative number",
    hint="Where nothing is visible all scores are equal again, and the padding shares the weight "
    "evenly. Such a row has to be zeros.",
)
def _(*arguments):
    return _levels(
        arguments, normalise=lambda scores, mask: _unmasked(np.where(mask, scores, -1e9))
    )


@hierarchical_attention.misconception(
    "fills hidden scores with minus infinity and forgets the empty rows",
    hint="Such a row has to be zeros. Its largest score is minus infinity, and minus itself that "
    "is NaN: subtract 0 there. The sum of its exponentials is then zero: divide by 1 there.",
)
def _(*arguments):
    return _levels(
        arguments, normalise=lambda scores, mask: _unmasked(np.where(mask, scores, -np.inf))
    )


@hierarchical_attention.misconception(
    "adds a small number to the sum so as not to divide by zero",
    hint="The empty row reads zeros, but every other row adds to a little less than one. Divide by "
    "the sum where there is one: `np.where(total == 0, 1, total)`.",
)
def _(*arguments):
    def normalise(scores, mask):
        shown = np.where(mask, scores, -np.inf)
        top = shown.max(axis=-1, keepdims=True)
        exponentials = np.exp(shown - np.where(np.isfinite(top), top, 0))
        return exponentials / (exponentials.sum(axis=-1, keepdims=True) + 1e-8)

    return _levels(arguments, normalise=normalise)


@hierarchical_attention.misconception(
    "takes the exponential of the raw scores",
    hint="np.exp(1000) is infinite. Subtract the largest visible score of each row first.",
)
def _(*arguments):
    def normalise(scores, mask):
        exponentials = np.where(mask, np.exp(scores), 0)
        return shares(exponentials)

    return _levels(arguments, normalise=normalise)


@hierarchical_attention.misconception(
    "multiplies the exponentials by the mask, infinite ones included",
    hint="The exponential of a hidden score far above the visible ones is infinite, and infinity "
    "times zero is NaN. Hide before the exponential: np.where(mask, scores, -np.inf).",
)
def _(*arguments):
    return _levels(arguments, normalise=hidden_too_late)


@hierarchical_attention.misconception(
    "subtracts the largest score of all, hidden or not",
    hint="If a hidden score lies a thousand above the visible ones, they all underflow to zero. "
    "Take the maximum of what is visible.",
)
def _(*arguments):
    def normalise(scores, mask):
        exponentials = np.where(mask, np.exp(scores - scores.max(axis=-1, keepdims=True)), 0)
        return shares(exponentials)

    return _levels(arguments, normalise=normalise)


@hierarchical_attention.misconception(
    "multiplies the word weights by the sentence weights",
    hint="That product is the share of a word in the document, and a good thing to look at. Asked "
    "for are the weights of each level: those of the words add to one in each sentence.",
)
def _(*arguments):
    read, words, sentences = _levels(arguments)
    return read, words * sentences[..., None], sentences


@hierarchical_attention.misconception(
    "returns the read without the weights",
    hint="Three arrays are asked for: the read, the word weights, the sentence weights.",
)
def _(*arguments):
    return _levels(arguments)[0]


@hierarchical_attention.misconception(
    "does not expect a batch",
    hint="Right for one document. `...` stands for whatever axes come before: sentences are axis "
    "-3 of X, words axis -2.",
)
def _(X, W_word, q_word, W_sentence, q_sentence, word_mask, sentence_mask):
    words = masked_softmax(np.tanh(X @ W_word.T) @ q_word, word_mask)
    S = np.stack([weights @ sentence for weights, sentence in zip(words, X, strict=True)])
    seen = sentence_mask & word_mask.any(axis=-1)
    sentences = masked_softmax(np.tanh(S @ W_sentence.T) @ q_sentence, seen)
    return sentences @ S, words, sentences


@hierarchical_attention.right_answer("two torch modules")
def _(X, W_word, q_word, W_sentence, q_sentence, word_mask, sentence_mask):
    import torch

    class Pool(torch.nn.Module):
        def __init__(self, W, q):
            super().__init__()
            self.hidden = torch.nn.Linear(*W.shape[::-1], bias=False, dtype=torch.tensor(W).dtype)
            self.hidden.weight = torch.nn.Parameter(torch.tensor(W))
            self.query = torch.nn.Parameter(torch.tensor(q))

        def forward(self, items, mask):
            scores = torch.tanh(self.hidden(items)) @ self.query
            weights = torch.softmax(scores.masked_fill(~mask, -torch.inf), dim=-1).nan_to_num()
            return torch.einsum("...n,...nd->...d", weights, items), weights

    word_mask, sentence_mask = torch.tensor(word_mask), torch.tensor(sentence_mask)
    S, words = Pool(W_word, q_word)(torch.tensor(X), word_mask)
    read, sentences = Pool(W_sentence, q_sentence)(S, sentence_mask & word_mask.any(dim=-1))
    return read, words, sentences


@hierarchical_attention.right_answer("loops over documents, and only over what is visible")
def _(X, W_word, q_word, W_sentence, q_sentence, word_mask, sentence_mask):
    def attend(items, W, q, mask):
        weights = np.zeros(len(items), items.dtype)
        if mask.any():
            weights[mask] = softmax(np.tanh(items[mask] @ W.T) @ q)
        return weights @ items, weights

    def one(X, word_mask, sentence_mask):
        pairs = [attend(x, W_word, q_word, mask) for x, mask in zip(X, word_mask, strict=True)]
        S, words = map(np.array, zip(*pairs, strict=True))
        seen = sentence_mask & word_mask.any(axis=-1)
        read, sentences = attend(S, W_sentence, q_sentence, seen)
        return read, words, sentences

    batch, (L, N, D) = X.shape[:-3], X.shape[-3:]
    documents = zip(
        X.reshape(-1, L, N, D),
        word_mask.reshape(-1, L, N),
        sentence_mask.reshape(-1, L),
        strict=True,
    )
    outputs = zip(*(one(*document) for document in documents), strict=True)
    return tuple(np.array(part).reshape(*batch, *part[0].shape) for part in outputs)


@hierarchical_attention.right_answer("einsum, the maximum of the visible scores removed")
def _(X, W_word, q_word, W_sentence, q_sentence, word_mask, sentence_mask):
    def normalise(scores, mask):
        top = np.where(mask, scores, scores.min()).max(axis=-1, keepdims=True)
        exponentials = np.exp(np.where(mask, scores - top, 0)) * mask
        return exponentials / np.maximum(exponentials.sum(axis=-1, keepdims=True), 1)

    words = normalise(np.einsum("h,...lnh->...ln", q_word, np.tanh(X @ W_word.T)), word_mask)
    S = np.einsum("...ln,...lnd->...ld", words, X)
    seen = sentence_mask & word_mask.any(axis=-1)
    scores = np.einsum("g,...lg->...l", q_sentence, np.tanh(S @ W_sentence.T))
    sentences = normalise(scores, seen)
    return np.einsum("...l,...ld->...d", sentences, S), words, sentences


# --------------------------------------------------------------------------- written

neighbours_in_words = Question(
    name="neighbours_in_words",
    title="Who vouches for whom",
    points=4,
    prompt=r"""A colleague replaces the softmax of a reading layer by the marginals of a chain and
says: "Now the weights know their neighbours, so it can only get better." In five to seven
sentences: say what the marginals can express that neither a softmax nor independent sigmoids can;
say why they need no code of their own for the backward pass; name one input on which they make
things worse; and say what they cost. Use the words *transition*, *marginal* and *log Z*.""",
    answer=r"""A *marginal* is the probability that the chain says yes at a position, counted over
all ways to label the others, so through the *transition* scores the evidence of one position
reaches its neighbours: a weak position between strong ones gets a large weight, a strong one
alone among weak ones a small one. A softmax shares out one unit, and its weights know of each
other only through the sum; sigmoids know nothing of each other. The marginals are the gradient of
*log Z* in the scores, and everything in log Z is differentiable, so automatic differentiation
runs the backward pass by itself and can differentiate once more. If what counts is a single
position among others that do not (a lone key word), a chain that has learned to expect stretches
lowers its weight and raises that of its neighbours, and the read gets worse. The recursion goes
through the positions one after the other, N steps that cannot run side by side, so it is several
times slower than a softmax.""",
    scheme="""- 1 point: neighbours' evidence reaches a position through the transitions, and
  weights need not add to one (more than "it has more parameters").
- 1 point: the marginals are the gradient of log Z, so autograd does the work.
- 1 point: an input on which it hurts: a lone item that is right, or structure that the data do
  not have.
- 1 point: the cost is sequential, in N steps; or S squared for each step.""",
)
