"""Self-attention's demos hold to attnkit's numbers, and their traits to what a page can draw."""

from itertools import product

import numpy as np
import pytest

from attnkit import self_attention as sa
from attnkit.demos import self_attention as demos
from attnkit.soft_attention import softmax

from .node import close, node
from .traits import refuses

KINDS = ("none", "padding", "causal", "both", "strict", "inverted")


def visible(kind, real):
    """The table of who may see whom."""
    everything = np.ones((len(real), len(real)), bool)
    if kind == "none":
        return everything
    causal, padding = np.tril(everything), everything & real
    return {
        "padding": padding,
        "causal": causal,
        "both": causal & padding,
        "strict": np.tril(causal & padding, -1),
        "inverted": ~(causal & padding),
    }[kind]


STATES = [
    {"mask": mask, "fill": fill, "side": side, "words": words, "padding": padding, "seed": words}
    for mask, fill, side, (words, padding) in product(
        KINDS, ("infinity", "number", "zeros"), ("end", "start"), [(4, 2), (2, 0), (5, 3)]
    )
]


def test_masks():
    """Weights under every mask and fill, and what leaks to padding and to later places."""
    calls = [call for state in STATES for call in (("draw", state), ("compute", state))]
    found = node(demos.Masks, *calls)
    for state, drawn, result in zip(STATES, found[::2], found[1::2], strict=True):
        N = state["words"] + state["padding"]
        places = np.arange(N)
        end = state["side"] == "end"
        real = places < state["words"] if end else places >= state["padding"]
        scores = np.array(drawn)[:N, :N]
        mask = visible(state["mask"], real)
        weights = sa.masked_softmax(scores, mask)
        if state["fill"] == "infinity":
            weights[~mask.any(axis=1)] = np.nan
        if state["fill"] == "number":
            weights = softmax(np.where(mask, scores, -1e9))
        assert result["real"] == real.tolist()
        assert result["visible"] == mask.tolist()
        assert result["empty"] == np.flatnonzero(~mask.any(axis=1)).tolist()
        close(np.array(result["weights"], float), weights)  # JSON has no NaN: null
        shares = np.array([result["onPadding"], result["onLater"]], float)
        close(shares[0], weights[:, ~real].sum() / N)
        later = places[None, :] > places[:, None]
        close(shares[1], weights[later].sum() / N)


def test_the_answer_is_what_is_seen():
    """Padding at the start empties the first rows, and each fill answers in its own way."""
    base = {"mask": "both", "side": "start", "words": 4, "padding": 2, "seed": 1}
    fills = [{**base, "fill": fill} for fill in ("infinity", "number", "zeros")]
    nan, number, zeros = node(demos.Masks, *(("compute", state) for state in fills))
    assert nan["empty"] == number["empty"] == zeros["empty"] == [0, 1]
    assert nan["weights"][0] == [None] * 6
    close(number["weights"][0], [1 / 6] * 6)
    assert zeros["weights"][0] == [0] * 6
    ended = {**base, "side": "end", "fill": "zeros"}
    inverted = {**ended, "mask": "inverted"}
    ended, inverted = node(demos.Masks, ("compute", ended), ("compute", inverted))
    assert ended["empty"] == []
    assert ended["onPadding"] == ended["onLater"] == 0
    close(np.sum(inverted["weights"], axis=1), [1] * 6)


def stacked(X, positions, causal, layers):
    """Layers that add what a word reads to what it is."""
    N, D = X.shape
    X = X + sa.sinusoidal_positions(N, D) if positions else X
    mask = np.tril(np.ones((N, N), bool)) if causal else np.ones((N, N), bool)
    for _ in range(layers):
        X = X + sa.placed_attention(X, np.zeros_like(X), mask)
    return X


def test_shuffle_the_sentence():
    """Outputs by word and their differences, in any order and under every setting."""
    rng = np.random.default_rng(4)
    settings = product((False, True), (False, True), (1, 2))
    states = [
        {
            "order": rng.permutation(5).tolist(),
            "positions": positions,
            "causal": causal,
            "layers": layers,
            "seed": seed,
        }
        for seed, (positions, causal, layers) in enumerate([*settings] * 3)
    ]
    calls = [call for state in states for call in (("draw", state), ("compute", state))]
    found = node(demos.ShuffleTheSentence, *calls)
    for state, drawn, result in zip(states, found[::2], found[1::2], strict=True):
        X, order = np.array(drawn), state["order"]
        kind = state["positions"], state["causal"], state["layers"]
        before, moved = stacked(X, *kind), stacked(X[order], *kind)
        now = moved[np.argsort(order)]
        close(result["before"], before)
        close(result["now"], now)
        close(result["differences"], np.abs(now - before).max(axis=1))
        follows = not (state["positions"] or state["causal"])
        assert (max(result["differences"]) < 1e-12) == follows


def test_the_last_word_hears_of_the_order_in_the_second_layer():
    """Under a causal mask one layer's last output is that of a bag; two layers' is not."""
    base = {"order": [2, 0, 3, 1, 4], "positions": False, "causal": True, "seed": 1}
    one, two = node(demos.ShuffleTheSentence, *(("compute", {**base, "layers": n}) for n in (1, 2)))
    assert one["differences"][4] < 1e-12
    assert max(one["differences"]) > 0.01
    assert two["differences"][4] > 0.01


WRONG = [
    (demos.ShuffleTheSentence, "order", [0, 1, 2, 3, 3], "order must be the numbers 0 to 4"),
    (demos.ShuffleTheSentence, "order", "01234", "order must be the numbers 0 to 4"),
    (demos.ShuffleTheSentence, "layers", 3, "expected any of"),
    (demos.Masks, "mask", "upper", "expected any of.*inverted"),
    (demos.Masks, "fill", "-1e9", "expected any of.*zeros"),
    (demos.Masks, "words", 6, "greater than"),
    (demos.Masks, "padding", -1, "less than"),
]


@pytest.mark.parametrize(("widget", "name", "value", "message"), WRONG)
def test_wrong_traits_are_named(widget, name, value, message):
    refuses(widget(), name, value, message)
