"""The exercises of the chapter on key-value attention: the soft dictionary, the memory."""

import numpy as np

from attnkit import key_value_attention as reference
from attnkit.checking import Question, exercise, in_single_precision, laws

SOFTMAX = '''\
def softmax(scores):
    """Weights that add to one along the last axis: the answer to exercise 3.1."""
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)
'''


def _softmax(scores):
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


def _safe_unit(vectors):
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return vectors / np.where(lengths > 0, lengths, 1)


_first = {"part": lambda output: output[0]}
_second = {"part": lambda output: output[1]}


def _items(arguments):
    return -1


# --------------------------------------------------------------------------- 5.1


def _with_values(formulation):
    """A law's formulation for the cases that have values."""
    return lambda answer, arguments: (
        None if arguments.get("V") is None else formulation(answer, arguments)
    )


def _reversed(arguments):
    return {name: arguments[name][..., ::-1, :] for name in ("K", "V")}


@exercise(
    reference=reference.key_value_attention,
    number="5.1",
    title="Look up by the key, return the value",
    section=("kv-formula", "The formula, the loop, the line"),
    points=4,
    minutes=15,
    difficulty=1,
    parts=("read", "weights"),
    contract="Q (..., M, Dk), K (..., N, Dk), V (..., N, Dv) or None -> the tuple (read "
    "(..., M, Dv), weights (..., M, N)); without V the keys are read",
    given=SOFTMAX,
    laws=[
        laws.sums_to(1, along=_items, **_second),
        laws.not_negative(**_second),
        laws.agrees(
            "turning the entries round, each key with its value, changes no read",
            _with_values(
                lambda answer, arguments: (
                    answer(**{**arguments, **_reversed(arguments)})[0],
                    answer(**arguments)[0],
                )
            ),
        ),
        laws.agrees(
            "other values change no weight",
            _with_values(
                lambda answer, arguments: (
                    answer(**{**arguments, "V": 1 - 2 * arguments["V"]})[1],
                    answer(**arguments)[1],
                )
            ),
        ),
    ],
    hints=(
        "Which two of the three matrices decide the weights, and which one is averaged? Write "
        "the shape under each: where may the size Dv appear?",
        "Queries meet keys: the scores have shape (M, N), and the length of the dot product is "
        "Dk. The weights then meet the rows of V, whose size nobody has asked for until now.",
        "`weights = softmax(Q @ np.swapaxes(K, -1, -2) / np.sqrt(K.shape[-1]))`, then return "
        "`weights @ V, weights`; before that, `V = K` if V is None.",
    ),
)
def key_value_attention(Q, K, V=None):
    r"""A soft dictionary: keys decide how much each entry counts, values are returned.

    $$s_{mn} = \frac{k_n^\top q_m}{\sqrt{D_k}}, \qquad
    \alpha_m = \mathrm{softmax}(s_m), \qquad
    o_m = \sum_n \alpha_{mn} v_n$$

    $s_m$ and $\alpha_m$ are the rows of query $m$, and $D_k$ is the size of a key. A value may have
    any other size $D_v$. If `V` is left out, the keys are read: that is attention over one set of
    vectors. Return the tuple `(read, weights)`. In a loop:

    ```python
    for m in range(M):
        scores = np.array([K[n] @ Q[m] for n in range(N)])
        weights[m] = softmax(scores / np.sqrt(Dk))
        read[m] = sum(weights[m, n] * V[n] for n in range(N))
    ```

    `softmax(scores)` is given and works along the last axis. There may be batch axes in front of
    all three arrays.
    """


def _entries(rng, M, N, Dk, Dv, batch=()):
    return {
        "Q": rng.normal(size=(*batch, M, Dk)),
        "K": rng.normal(size=(*batch, N, Dk)),
        "V": rng.normal(size=(*batch, N, Dv)),
    }


@key_value_attention.case("four different sizes")
def _(rng):
    return _entries(rng, M=3, N=5, Dk=4, Dv=6)


@key_value_attention.case("values shorter than keys")
def _(rng):
    return _entries(rng, M=2, N=4, Dk=5, Dv=1)


@key_value_attention.case("keys as long as values")
def _(rng):
    return _entries(rng, M=3, N=5, Dk=4, Dv=4)


@key_value_attention.case("no values given")
def _(rng):
    return _entries(rng, M=3, N=5, Dk=4, Dv=1) | {"V": None}


@key_value_attention.case("a batch")
def _(rng):
    return _entries(rng, M=3, N=5, Dk=4, Dv=6, batch=(2,))


@key_value_attention.case("all sizes equal")
def _(rng):
    return _entries(rng, M=4, N=4, Dk=4, Dv=4)


@key_value_attention.case("one entry")
def _(rng):
    return _entries(rng, M=3, N=1, Dk=4, Dv=2)


@key_value_attention.case("scores in the thousands")
def _(rng):
    arguments = _entries(rng, M=3, N=5, Dk=4, Dv=2)
    return arguments | {"Q": 1000 * arguments["Q"]}


@key_value_attention.case("single precision")
def _(rng):
    return in_single_precision(_entries(rng, M=3, N=5, Dk=4, Dv=6))


@key_value_attention.case("rows of memory that are not contiguous")
def _(rng):
    return {
        "Q": rng.normal(size=(4, 3)).T,
        "K": rng.normal(size=(4, 5)).T,
        "V": rng.normal(size=(6, 5)).T,
    }


def _weights(Q, K, scale=None):
    return _softmax(Q @ K.mT / (K.shape[-1] if scale is None else scale) ** 0.5)


@key_value_attention.misconception(
    "returns the keys instead of the values",
    hint="Your weights are right, and then they average K. A dictionary looks at the keys and "
    "hands out what is stored under them.",
)
def _(Q, K, V=None):
    weights = _weights(Q, K)
    return weights @ K, weights


@key_value_attention.misconception(
    "compares the queries with the values",
    hint="With other values your weights change. Who is found may depend on the keys only.",
)
def _(Q, K, V=None):
    V = K if V is None else V
    weights = _weights(Q, V)
    return weights @ V, weights


@key_value_attention.misconception(
    "expects values to be as long as keys",
    hint="You put the read into an array of the shape of Q. A read is an average of values: its "
    "size is Dv.",
)
def _(Q, K, V=None):
    V = K if V is None else V
    weights = _weights(Q, K)
    read = np.zeros_like(Q)
    read[:] = weights @ V
    return read, weights


@key_value_attention.misconception(
    "divides by the square root of the size of a value",
    hint="The scale tames the dot product of a query and a key. How many terms does that sum have?",
)
def _(Q, K, V=None):
    V = K if V is None else V
    weights = _weights(Q, K, V.shape[-1])
    return weights @ V, weights


@key_value_attention.misconception(
    "divides by the square root of the number of entries",
    hint="The scale tames the dot product of a query and a key. How many terms does that sum have?",
)
def _(Q, K, V=None):
    V = K if V is None else V
    weights = _weights(Q, K, K.shape[-2])
    return weights @ V, weights


@key_value_attention.misconception(
    "divides by the size of a key instead of its square root",
    hint="The variance of a dot product grows like Dk. How does its typical size grow?",
)
def _(Q, K, V=None):
    V = K if V is None else V
    weights = _weights(Q, K, K.shape[-1] ** 2)
    return weights @ V, weights


@key_value_attention.misconception(
    "leaves out the division by the square root of the size of a key",
    hint="The formula divides the scores before the softmax. By what?",
)
def _(Q, K, V=None):
    V = K if V is None else V
    weights = _weights(Q, K, 1)
    return weights @ V, weights


@key_value_attention.misconception(
    "compares by the cosine",
    hint="The score is the dot product itself, divided by the square root of Dk. The lengths of "
    "query and key stay in it.",
)
def _(Q, K, V=None):
    V = K if V is None else V
    weights = _weights(_safe_unit(Q), _safe_unit(K), 1)
    return weights @ V, weights


@key_value_attention.misconception(
    "sorts the scores, so that weights and values no longer belong together",
    hint="Weight n belongs to value n. Once you put the scores in order, the largest weight meets "
    "whatever value stands last.",
)
def _(Q, K, V=None):
    V = K if V is None else V
    weights = _softmax(np.sort(Q @ K.mT / K.shape[-1] ** 0.5, axis=-1))
    return weights @ V, weights


@key_value_attention.misconception(
    "returns key and value joined",
    hint="Your read is Dk longer than it should be. The keys have done their work once the "
    "weights are there.",
)
def _(Q, K, V=None):
    weights = _weights(Q, K)
    return weights @ (K if V is None else np.concatenate([K, V], axis=-1)), weights


@key_value_attention.misconception(
    "takes the softmax over the queries instead of the entries",
    hint="Add up one row of your weights: one query shares out a weight of one among the entries.",
)
def _(Q, K, V=None):
    V = K if V is None else V
    weights = _softmax((Q @ K.mT).mT / K.shape[-1] ** 0.5).mT
    return weights @ V, weights


@key_value_attention.misconception(
    "returns the value of the best key only",
    hint="A Python dictionary does that. The soft one mixes all values, each by its weight.",
)
def _(Q, K, V=None):
    V = K if V is None else V
    best = np.argmax(Q @ K.mT, axis=-1)
    weights = np.eye(K.shape[-2], dtype=Q.dtype)[best]
    return weights @ V, weights


@key_value_attention.misconception(
    "does not expect the values to be left out",
    hint="`V` may be None. What is read when one set of vectors is both key and value?",
)
def _(Q, K, V=None):
    weights = _weights(Q, K)
    return weights @ V, weights


@key_value_attention.misconception(
    "does not expect a batch",
    hint="Right for one set of entries. `K.T` reverses every axis; `K.mT` or "
    "np.swapaxes(K, -1, -2) exchange only the last two, and `@` then does the rest.",
)
def _(Q, K, V=None):
    V = K if V is None else V
    weights = _softmax(Q @ K.T / K.shape[-1] ** 0.5)
    return weights @ V, weights


@key_value_attention.misconception(
    "returns the read without the weights",
    hint="Two arrays are asked for: `return weights @ V, weights`.",
)
def _(Q, K, V=None):
    return reference.key_value_attention(Q, K, V)[0]


@key_value_attention.misconception(
    "returns the weights before the read",
    hint="Both arrays are there; the read comes first.",
)
def _(Q, K, V=None):
    return reference.key_value_attention(Q, K, V)[::-1]


@key_value_attention.right_answer("torch's scaled_dot_product_attention")
def _(Q, K, V=None):
    import torch

    Q, K, V = map(torch.tensor, (Q, K, K if V is None else V))
    read = torch.nn.functional.scaled_dot_product_attention(Q, K, V)
    return read, torch.softmax(Q @ K.mT / K.shape[-1] ** 0.5, dim=-1)


@key_value_attention.right_answer("einsum")
def _(Q, K, V=None):
    V = K if V is None else V
    weights = _softmax(np.einsum("...md,...nd->...mn", Q, K) / K.shape[-1] ** 0.5)
    return np.einsum("...mn,...ne->...me", weights, V), weights


@key_value_attention.right_answer("a loop over queries, the query scaled")
def _(Q, K, V=None):
    V = K if V is None else V
    if Q.ndim > 2:
        pairs = [reference.key_value_attention(*one) for one in zip(Q, K, V, strict=True)]
        return tuple(np.stack(parts) for parts in zip(*pairs, strict=True))
    weights = np.stack([_softmax(K @ (q / K.shape[-1] ** 0.5)) for q in Q])
    return np.stack([row @ V for row in weights]), weights


# --------------------------------------------------------------------------- 5.2


@exercise(
    reference=reference.write_by_content,
    number="5.2",
    title="Find a place by its content and write there",
    section=("kv-write", "Written by weight: erase, then add"),
    points=6,
    minutes=30,
    difficulty=3,
    parts=("written", "weights"),
    equivalent_mutants={
        "0  ->  -1": "the axis of one query has one member, the first and the last",
        "(..., :, None)  ->  (..., None, :)": "of the query's squares, an axis of one against one",
    },
    contract="memory (..., N, D), query (..., D), strength > 0, erase (..., D), add (..., D) -> "
    "the tuple (written (..., N, D), weights (..., N)); finite also for vectors of zeros",
    given=SOFTMAX,
    laws=[
        laws.sums_to(1, along=_items, **_second),
        laws.not_negative(**_second),
        laws.agrees(
            "the length of what is stored does not matter for finding it",
            lambda answer, arguments: (
                answer(**{**arguments, "memory": 8 * arguments["memory"]})[1],
                answer(**arguments)[1],
            ),
        ),
        laws.agrees(
            "with nothing to erase and nothing to add, the memory stays",
            lambda answer, arguments: (
                answer(
                    **{
                        **arguments,
                        "erase": np.zeros_like(arguments["erase"]),
                        "add": np.zeros_like(arguments["add"]),
                    }
                )[0],
                arguments["memory"],
            ),
        ),
        laws.batch_independent("memory", "query", "erase", "add", rank=1, **_first),
    ],
    hints=(
        "Two steps: find, then write. Which arrays does each need? And if one place takes the "
        "whole weight and everything is erased, what should stand there afterwards?",
        "The cosine is a dot product divided by both lengths; where a length is zero, divide by "
        "one instead. For writing, `weights` stand in a column and `erase` and `add` in a row, so "
        "that every place meets every component. What is old is reduced before the new arrives.",
        "`products = (memory @ query[..., None])[..., 0]`; the lengths of the places times that of "
        "the query are `lengths = np.linalg.norm(memory, axis=-1) * np.linalg.norm(query, axis=-1, "
        "keepdims=True)`; "
        "`cosines = np.where(lengths > 0, products, 0) / np.where(lengths > 0, lengths, 1)` and "
        "`weights = softmax(strength * cosines)`; then "
        "`memory * (1 - weights[..., None] * erase[..., None, :]) + weights[..., None] * "
        "add[..., None, :]`.",
    ),
)
def write_by_content(memory, query, strength, erase, add):
    r"""One write of a memory that is addressed by its content.

    A memory has $N$ places, row $n$ holds $m_n$. First find the places whose content resembles
    the query $q$. The score is the cosine $c_n$, sharpened by the strength $\beta$:

    $$c_n = \frac{m_n^\top q}{\lVert m_n \rVert\, \lVert q \rVert}, \qquad
    w = \mathrm{softmax}(\beta c)$$

    If $m_n$ or $q$ is zero, $c_n$ is 0. Add nothing to the lengths: a very short vector
    points somewhere too. Then write there. Erase first, then add:

    $$m_n' = m_n \odot (1 - w_n e) + w_n a$$

    where $\odot$ multiplies component by component. The shares $e$ in `erase` lie between 0 and 1.
    Return the tuple `(written, weights)`. In a loop:

    ```python
    cosines = np.array([cosine(memory[n], query) for n in range(N)])
    weights = softmax(strength * cosines)
    for n in range(N):
        for d in range(D):
            kept = memory[n, d] * (1 - weights[n] * erase[d])
            written[n, d] = kept + weights[n] * add[d]
    ```

    `softmax(scores)` is given and works along the last axis. There may be batch axes in front of
    all arrays. Leave the memory you are given as it is, and return a new one.
    """


def _memory(rng, N, D, batch=(), strength=3.0):
    return {
        "memory": rng.normal(size=(*batch, N, D)),
        "query": rng.normal(size=(*batch, D)),
        "strength": strength,
        "erase": rng.uniform(0.2, 0.9, size=(*batch, D)),
        "add": rng.normal(size=(*batch, D)),
    }


@write_by_content.case("five places of four numbers")
def _(rng):
    return _memory(rng, N=5, D=4)


@write_by_content.case("one place much longer than the others")
def _(rng):
    arguments = _memory(rng, N=5, D=4)
    arguments["memory"][2] *= 10
    return arguments


@write_by_content.case("a place that holds zeros")
def _(rng):
    arguments = _memory(rng, N=5, D=4)
    arguments["memory"][1] = 0
    return arguments


@write_by_content.case("a query of zeros")
def _(rng):
    return _memory(rng, N=5, D=4) | {"query": np.zeros(4)}


@write_by_content.case("very short vectors")
def _(rng):
    arguments = _memory(rng, N=5, D=4)
    return arguments | {"memory": 1e-5 * arguments["memory"], "query": 1e-5 * arguments["query"]}


@write_by_content.case("great strength")
def _(rng):
    return _memory(rng, N=4, D=3, strength=2000.0)


@write_by_content.case("little strength")
def _(rng):
    return _memory(rng, N=4, D=3, strength=0.25)


@write_by_content.case("everything erased")
def _(rng):
    return _memory(rng, N=5, D=3) | {"erase": np.ones(3)}


@write_by_content.case("nothing erased")
def _(rng):
    return _memory(rng, N=5, D=3) | {"erase": np.zeros(3)}


@write_by_content.case("as many places as numbers")
def _(rng):
    return _memory(rng, N=4, D=4)


@write_by_content.case("a batch")
def _(rng):
    return _memory(rng, N=5, D=3, batch=(2,))


@write_by_content.case("one place")
def _(rng):
    return _memory(rng, N=1, D=4)


@write_by_content.case("single precision")
def _(rng):
    return in_single_precision(_memory(rng, N=5, D=4))


@write_by_content.case("rows of memory that are not contiguous")
def _(rng):
    arguments = _memory(rng, N=5, D=4)
    return arguments | {"memory": np.asfortranarray(arguments["memory"])}


def _cosines(memory, query):
    return (_safe_unit(memory) @ _safe_unit(query)[..., None])[..., 0]


def _find(memory, query, strength):
    return _softmax(strength * _cosines(memory, query))


def _write(memory, weights, erase, add):
    share = weights[..., None]
    return memory * (1 - share * erase[..., None, :]) + share * add[..., None, :], weights


@write_by_content.misconception(
    "compares by the dot product",
    hint="Make one place ten times as long: it must not be found more easily. Divide by both "
    "lengths.",
)
def _(memory, query, strength, erase, add):
    weights = _softmax(strength * (memory @ query[..., None])[..., 0])
    return _write(memory, weights, erase, add)


@write_by_content.misconception(
    "divides by the lengths of the places but not by that of the query",
    hint="Half of a cosine. A query twice as long would act like twice the strength.",
)
def _(memory, query, strength, erase, add):
    weights = _softmax(strength * (_safe_unit(memory) @ query[..., None])[..., 0])
    return _write(memory, weights, erase, add)


@write_by_content.misconception(
    "divides by the length of the query but not by those of the places",
    hint="Half of a cosine. Make one place ten times as long: it must not be found more easily.",
)
def _(memory, query, strength, erase, add):
    weights = _softmax(strength * (memory @ _safe_unit(query)[..., None])[..., 0])
    return _write(memory, weights, erase, add)


@write_by_content.misconception(
    "measures the lengths along the places instead of along the numbers of a place",
    hint="A length belongs to one place: one number for each row of the memory.",
)
def _(memory, query, strength, erase, add):
    lengths = np.linalg.norm(memory, axis=-2, keepdims=True)
    units = memory / np.where(lengths > 0, lengths, 1)
    weights = _softmax(strength * (units @ _safe_unit(query)[..., None])[..., 0])
    return _write(memory, weights, erase, add)


@write_by_content.misconception(
    "multiplies by the strength after the softmax",
    hint="Your weights add to the strength. It belongs to the scores.",
)
def _(memory, query, strength, erase, add):
    return _write(memory, strength * _find(memory, query, 1), erase, add)


@write_by_content.misconception(
    "divides by the strength",
    hint="A greater strength should make the choice sharper. Yours makes it flatter.",
)
def _(memory, query, strength, erase, add):
    return _write(memory, _find(memory, query, 1 / strength), erase, add)


@write_by_content.misconception(
    "leaves the strength out",
    hint="Cosines lie between -1 and 1, so without the strength the weights are never sharp.",
)
def _(memory, query, strength, erase, add):
    return _write(memory, _find(memory, query, 1), erase, add)


@write_by_content.misconception(
    "takes the softmax over an axis of one",
    hint="All your weights are 1. Scores of shape (N, 1) have one number along the last axis: "
    "make them (N,) before the softmax.",
)
def _(memory, query, strength, erase, add):
    return _write(memory, np.ones_like(memory[..., 0]), erase, add)


@write_by_content.misconception(
    "adds first and erases afterwards",
    hint="Erase everything and look: what you have just added is gone as well. The old has to go "
    "before the new comes.",
)
def _(memory, query, strength, erase, add):
    weights = _find(memory, query, strength)
    share = weights[..., None]
    added = memory + share * add[..., None, :]
    return added * (1 - share * erase[..., None, :]), weights


@write_by_content.misconception(
    "subtracts the erase vector",
    hint="To erase is to multiply: a share of what stands there goes. Subtracting takes the same "
    "amount from a large number, a small one and a zero.",
)
def _(memory, query, strength, erase, add):
    weights = _find(memory, query, strength)
    return memory + weights[..., None] * (add - erase)[..., None, :], weights


@write_by_content.misconception(
    "divides by zero when a vector is zero",
    hint="0 / 0 is NaN, and one NaN score spoils all weights. What should the cosine be when there "
    "is no direction?",
)
def _(memory, query, strength, erase, add):
    lengths = np.linalg.norm(memory, axis=-1) * np.linalg.norm(query, axis=-1, keepdims=True)
    weights = _softmax(strength * (memory @ query[..., None])[..., 0] / lengths)
    return _write(memory, weights, erase, add)


@write_by_content.misconception(
    "adds a small number to the lengths",
    hint="Against a division by zero it helps, but for a very short vector the small number is "
    "not small. Choose: where the length is 0, divide by 1.",
)
def _(memory, query, strength, erase, add):
    lengths = np.linalg.norm(memory, axis=-1) * np.linalg.norm(query, axis=-1, keepdims=True)
    cosines = (memory @ query[..., None])[..., 0] / (lengths + 1e-8)
    return _write(memory, _softmax(strength * cosines), erase, add)


@write_by_content.misconception(
    "writes into the vectors divided by their lengths",
    hint="The lengths are for finding only. What is not erased has to stay as it was.",
)
def _(memory, query, strength, erase, add):
    return _write(_safe_unit(memory), _find(memory, query, strength), erase, add)


@write_by_content.misconception(
    "erases at every place",
    hint="A place of weight 0 must keep all it has. What should the erase vector be multiplied by?",
)
def _(memory, query, strength, erase, add):
    weights = _find(memory, query, strength)
    return memory * (1 - erase[..., None, :]) + weights[..., None] * add[..., None, :], weights


@write_by_content.misconception(
    "adds at every place",
    hint="A place of weight 0 must take nothing in. What should the add vector be multiplied by?",
)
def _(memory, query, strength, erase, add):
    weights = _find(memory, query, strength)
    kept = memory * (1 - weights[..., None] * erase[..., None, :])
    return kept + add[..., None, :], weights


@write_by_content.misconception(
    "erases everything where it writes, whatever `erase` says",
    hint="`erase` says for each component what share of the old goes. With zeros there, the new "
    "is added to the old.",
)
def _(memory, query, strength, erase, add):
    return _write(memory, _find(memory, query, strength), np.ones_like(erase), add)


@write_by_content.misconception(
    "adds only as far as it erases",
    hint="Your add vector is multiplied by `erase` as well. The two are independent: with nothing "
    "to erase, the new is added in full, by the weight of the place.",
)
def _(memory, query, strength, erase, add):
    return _write(memory, _find(memory, query, strength), erase, erase * add)


@write_by_content.misconception(
    "erases nothing",
    hint="Where does `erase` stand in the formula?",
)
def _(memory, query, strength, erase, add):
    return _write(memory, _find(memory, query, strength), np.zeros_like(erase), add)


@write_by_content.misconception(
    "looks for the place again after erasing",
    hint="One write has one set of weights, from the memory as it was. After the erasing, the "
    "place no longer resembles the query as it did.",
)
def _(memory, query, strength, erase, add):
    weights = _find(memory, query, strength)
    erased = memory * (1 - weights[..., None] * erase[..., None, :])
    again = _find(erased, query, strength)
    return erased + again[..., None] * add[..., None, :], weights


@write_by_content.misconception(
    "lets places meet numbers the wrong way round",
    hint="Weights belong to rows, erase and add to columns: weights[..., None] stands in a column "
    "and erase[..., None, :] in a row. With N = D the mistake does not even raise an error.",
)
def _(memory, query, strength, erase, add):
    weights = _find(memory, query, strength)
    share = weights[..., None, :]
    return memory * (1 - share * erase[..., None]) + share * add[..., None], weights


@write_by_content.misconception(
    "writes at the best place only",
    hint="Every place takes part by its weight; only a great strength makes it one place.",
)
def _(memory, query, strength, erase, add):
    best = _cosines(memory, query).argmax(axis=-1)
    return _write(memory, np.eye(memory.shape[-2], dtype=memory.dtype)[best], erase, add)


@write_by_content.misconception(
    "does not expect a batch",
    hint="Right for one memory. Count axes from the end: `weights[..., None]`, "
    "`erase[..., None, :]`, and `(memory @ query[..., None])[..., 0]` for the dot products.",
)
def _(memory, query, strength, erase, add):
    units = _safe_unit(memory)
    weights = _softmax(strength * (units @ _safe_unit(query)))
    return memory * (1 - np.outer(weights, erase)) + np.outer(weights, add), weights


@write_by_content.misconception(
    "changes the memory it is given",
    hint="`*=` and `+=` write into the caller's array. Make a new one: memory * (...) + ....",
)
def _(memory, query, strength, erase, add):
    weights = _find(memory, query, strength)
    memory *= 1 - weights[..., None] * erase[..., None, :]
    memory += weights[..., None] * add[..., None, :]
    return memory.copy(), weights


@write_by_content.misconception(
    "returns the memory without the weights",
    hint="Two arrays are asked for: the memory afterwards and the weights.",
)
def _(memory, query, strength, erase, add):
    return reference.write_by_content(memory, query, strength, erase, add)[0]


@write_by_content.misconception(
    "returns the weights before the memory",
    hint="Both arrays are there; the memory comes first.",
)
def _(memory, query, strength, erase, add):
    return reference.write_by_content(memory, query, strength, erase, add)[::-1]


@write_by_content.right_answer("torch's cosine_similarity")
def _(memory, query, strength, erase, add):
    import torch

    memory, query, erase, add = map(torch.tensor, (memory, query, erase, add))
    # Its guard against zero would notice vectors as short as these.
    cosines = torch.cosine_similarity(1e3 * memory, 1e3 * query[..., None, :], dim=-1)
    share = torch.softmax(strength * cosines, dim=-1)[..., None]
    return memory - memory * share * erase[..., None, :] + share * add[..., None, :], share[..., 0]


@write_by_content.right_answer("einsum and np.divide")
def _(memory, query, strength, erase, add):
    products = np.einsum("...nd,...d->...n", memory, query)
    squares = np.einsum("...nd,...nd->...n", memory, memory) * (query**2).sum(-1)[..., None]
    cosines = np.divide(products, np.sqrt(squares), np.zeros_like(products), where=squares > 0)
    weights = _softmax(strength * cosines)
    kept = memory * (1 - np.einsum("...n,...d->...nd", weights, erase))
    return kept + np.einsum("...n,...d->...nd", weights, add), weights


@write_by_content.right_answer("a loop over places and numbers")
def _(memory, query, strength, erase, add):
    if memory.ndim > 2:
        members = zip(memory, query, erase, add, strict=True)
        pairs = [reference.write_by_content(m, q, strength, e, a) for m, q, e, a in members]
        return tuple(np.stack(parts) for parts in zip(*pairs, strict=True))

    def cosine(m):
        length = np.linalg.norm(m) * np.linalg.norm(query)
        return m @ query / length if length > 0 else 0.0

    weights = _softmax(np.array([strength * cosine(m) for m in memory], memory.dtype))
    written = memory.copy()
    for n, d in np.ndindex(*memory.shape):
        written[n, d] = memory[n, d] * (1 - weights[n] * erase[d]) + weights[n] * add[d]
    return written, weights


@write_by_content.right_answer("old and new mixed component by component")
def _(memory, query, strength, erase, add):
    weights = _find(memory, query, strength)
    change = add[..., None, :] - memory * erase[..., None, :]
    return memory + weights[..., None] * change, weights


# --------------------------------------------------------------------------- written

keys_apart_from_values = Question(
    name="keys_apart_from_values",
    title="Why two vectors for one entry",
    points=4,
    prompt=r"""A colleague says: "Keys and values have to be different vectors, since with one
vector for both a network cannot look anything up." In four to six sentences: say what the
experiment with the tables shows about this, and give two good reasons, other than accuracy, for
keys apart from values. Then say what a soft dictionary returns when the query lies half way between
two keys, and name one kind of value for which that is useful and one for which it is not.""",
    answer=r"""The experiment contradicts the colleague: with one vector, the sum of a key part and
a value part, tables were read without a mistake once the vector was wide enough or the training
long enough. What cannot work is to read the keys themselves, since these do not hold the value. One
good reason for the split is *freedom of dimension*: a key needs only as many numbers as it takes to
tell the entries apart, a value as many as there is to say. Another is *independence*: a value can
be rewritten without moving the place where it is found, and the weights stay readable, since what
is stored does not leak into who is found. Half way between two keys the read is the average of
their values (if other keys are far away), which may be something stored nowhere. For colours,
positions or embeddings, where a point between two has a meaning, that is useful; for telephone
numbers, names or file addresses it is not.""",
    scheme="""- 1 point: one vector for both can look up (K = V was right in the tables); what fails
is reading the keys.
- 1 point: two of: freedom of dimension, values can change without changing who is found, readable
weights, a place for prior knowledge (half a point each).
- 1 point: half way, the read is a mixture that is stored nowhere.
- 1 point: one kind of value for which a mixture makes sense and one for which it does not.""",
)
