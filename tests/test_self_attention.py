"""The reference implementations of self-attention, held to oracles that others wrote."""

from itertools import permutations

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from attnkit import self_attention as sa
from attnkit.checking import laws
from attnkit.notation import attention_cols
from tests.arrays import alike_in_any_layout, alike_in_numpy_and_torch, close

BATCH, M, N, D, DK, DV = 2, 3, 5, 7, 4, 6  # all different, so that a wrong axis cannot hide


def one_by_one(scores, mask):
    """The softmax of the visible scores alone, put back in their places."""
    mask = torch.broadcast_to(mask, scores.shape)
    weights = torch.zeros_like(scores)
    for index in np.ndindex(scores.shape[:-1]):
        if mask[index].any():
            weights[index][mask[index]] = torch.softmax(scores[index][mask[index]], -1)
    return weights


# ------------------------------------------------------------------ masked softmax

MASK = torch.tensor([[1, 1, 0, 1, 0], [0, 0, 0, 0, 0], [0, 0, 1, 0, 0]]).bool()


def test_masked_softmax_is_the_softmax_of_what_is_visible(tensors):
    scores = tensors(BATCH, M, N)
    close(sa.masked_softmax(scores, MASK), one_by_one(scores, MASK))
    close(sa.masked_softmax(scores, MASK[0]), one_by_one(scores, MASK[0]))
    close(sa.masked_softmax(scores, torch.ones(N).bool()), torch.softmax(scores, -1))


def test_masked_softmax_is_that_of_torchs_attention(tensors):
    """Reading the identity gives torch's weights, zeros in the empty row included."""
    scores = tensors(M, N)
    ours = sa.masked_softmax(scores, MASK)
    read = F.scaled_dot_product_attention(
        scores, torch.eye(N).double(), torch.eye(N).double(), attn_mask=MASK, scale=1.0
    )
    close(ours, read)
    assert ours[1].tolist() == [0.0] * N
    assert not ours[~MASK].any()


@pytest.mark.parametrize(
    "scores",
    [
        [1000.0, 999.0, -1000.0, 998.0, 0.0],
        [-1000.0, -1001.0, 1000.0, -1002.0, 1e300],
        [8e307, -8e307, 0.0, 8e307, 0.0],
    ],
)
def test_masked_softmax_at_the_extremes(scores):
    scores = torch.tensor([scores] * M, dtype=torch.float64)
    close(sa.masked_softmax(scores, MASK), one_by_one(scores, MASK))


def items(arguments):
    return -1


@pytest.mark.parametrize(
    "law",
    [
        laws.hidden_keys_get_nothing("mask"),
        laws.not_negative(),
        laws.shift_invariant("scores", along=items),
        laws.items_permuted("scores", "mask", axis=-1, output_axis=-1),
    ],
    ids=lambda law: law.sentence,
)
@settings(deadline=None)
@given(
    scores=arrays.arrays(float, (M, N), elements=st.floats(-1e3, 1e3, width=64)),
    mask=arrays.arrays(bool, (M, N)),
)
def test_laws_of_the_masked_softmax(law, scores, mask):
    assert law.broken_by(sa.masked_softmax, {"scores": scores, "mask": mask}) is None
    sums = sa.masked_softmax(scores, mask).sum(axis=-1)
    close(sums, mask.any(axis=-1))


@pytest.mark.parametrize("scale", [1.0, 1000.0])
def test_gradients_are_finite_and_hidden_scores_get_none(tensors, scale):
    scores = (scale * tensors(M, N)).requires_grad_()
    (sa.masked_softmax(scores, MASK) * tensors(M, N)).sum().backward()
    assert torch.isfinite(scores.grad).all()
    assert not scores.grad[~MASK].any()
    assert scores.grad[0][MASK[0]].any() == (scale == 1)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_the_dtype_stays_even_in_half_precision(dtype):
    weights = sa.masked_softmax(np.zeros((3, 5), dtype), MASK.numpy())
    assert weights.dtype == dtype
    assert weights[1].tolist() == [0] * N
    assert sa.masked_softmax(torch.zeros(3, 5).half(), MASK).dtype == torch.float16


# ------------------------------------------------------------------ self-attention


def test_self_attention_is_torchs_layer_with_one_head(tensors):
    X = tensors(BATCH, N, DK)
    layer = torch.nn.MultiheadAttention(DK, 1, bias=False, batch_first=True, dtype=torch.float64)
    W_q, W_k, W_v = layer.in_proj_weight.detach().chunk(3)
    with torch.no_grad():
        layer.out_proj.weight.copy_(torch.eye(DK))
        expected, weights = layer(X, X, X)
    ours = sa.self_attention(X, W_q, W_k, W_v)
    close(ours[0], expected)
    close(ours[1], weights)


def test_self_attention_of_unequal_sizes(tensors):
    X, W_q, W_k, W_v = tensors(BATCH, N, D), tensors(DK, D), tensors(DK, D), tensors(DV, D)
    Q, K, V = X @ W_q.T, X @ W_k.T, X @ W_v.T
    H, weights = sa.self_attention(X, W_q, W_k, W_v)
    close(H, F.scaled_dot_product_attention(Q, K, V))
    close(H, attention_cols(Q.mT, K.mT, V.mT).mT)
    assert weights.shape == (BATCH, N, N)


def test_self_attention_follows_its_items(tensors):
    arguments = {"X": tensors(N, D).numpy()}
    weights = [tensors(size, D).numpy() for size in (DK, DK, DV)]

    def outputs(X):
        return sa.self_attention(X, *weights)[0]

    law = laws.items_permuted("X", axis=-2, output_axis=-2)
    assert law.broken_by(outputs, arguments) is None
    assert laws.causal("X", axis=-2, output_axis=-2).broken_by(outputs, arguments)


# ------------------------------------------------------------------ causal and padded

REAL = torch.tensor([[0, 1, 1, 1, 1], [1, 1, 1, 0, 0]]).bool()


@pytest.mark.parametrize("causal", [False, True])
def test_masked_attention_is_torchs(tensors, causal):
    Q, K, V = tensors(BATCH, N, DK), tensors(BATCH, N, DK), tensors(BATCH, N, DV)
    mask = REAL[:, None, :] & (torch.ones(N, N).tril().bool() if causal else True)
    read, weights = sa.masked_attention(Q, K, V, REAL, causal)
    close(read, F.scaled_dot_product_attention(Q, K, V, attn_mask=mask))
    close(weights, one_by_one(Q @ K.mT / DK**0.5, mask))
    assert weights[0, 0].any() != causal  # the first query sees only itself, and that is padding


def test_masked_attention_is_torchs_own_causality(tensors):
    Q, K, V = tensors(BATCH, N, DK), tensors(BATCH, N, DK), tensors(BATCH, N, DV)
    everything = torch.ones(BATCH, N).bool()
    read, _ = sa.masked_attention(Q, K, V, everything, causal=True)
    close(read, F.scaled_dot_product_attention(Q, K, V, is_causal=True))


def test_masked_attention_is_the_layer_with_a_key_padding_mask(tensors):
    X = tensors(BATCH, N, DK)
    layer = torch.nn.MultiheadAttention(DK, 1, bias=False, batch_first=True, dtype=torch.float64)
    with torch.no_grad():
        layer.in_proj_weight.copy_(torch.eye(DK).repeat(3, 1))
        layer.out_proj.weight.copy_(torch.eye(DK))
        expected, _ = layer(X, X, X, key_padding_mask=~REAL)  # there True is blocked
    close(sa.masked_attention(X, X, X, REAL)[0], expected)


@pytest.mark.parametrize("causal", [False, True])
def test_padding_changes_nothing_of_what_is_real(tensors, causal):
    """The outputs of the real tokens are those of the sequence without padding."""
    Q, K, V = tensors(BATCH, N, DK), tensors(BATCH, N, DK), tensors(BATCH, N, DV)
    read, _ = sa.masked_attention(Q, K, V, REAL, causal)
    for b in range(BATCH):
        q, k, v = (array[b][REAL[b]] for array in (Q, K, V))
        alone, _ = sa.masked_attention(q, k, v, torch.ones(len(q)).bool(), causal)
        close(read[b][REAL[b]], alone)


def test_nothing_flows_backwards(tensors):
    arguments = {
        "Q": tensors(N, DK).numpy(),
        "K": tensors(N, DK).numpy(),
        "V": tensors(N, DV).numpy(),
        "real": REAL[0].numpy(),
        "causal": True,
    }
    law = laws.causal("Q", "K", "V", axis=-2, output_axis=-2, part=lambda output: output[0])
    assert law.broken_by(sa.masked_attention, arguments) is None


def test_gradients_stay_finite_where_a_row_is_empty(tensors):
    inputs = [tensors(N, DK), tensors(N, DK), tensors(N, DV)]
    Q, K, V = (tensor.requires_grad_() for tensor in inputs)
    sa.masked_attention(Q, K, V, REAL[0], causal=True)[0].sum().backward()
    assert all(torch.isfinite(tensor.grad).all() for tensor in inputs)
    assert not K.grad[0].any()
    assert V.grad[1:].any()


# ------------------------------------------------------------------ positions


@pytest.mark.parametrize(("size", "width"), [(5, 4), (12, 64), (6, 5), (1, 1), (40, 2)])
def test_positions_are_waves_by_the_letter(size, width):
    ours = sa.sinusoidal_positions(size, width)
    assert ours.shape == (size, width)
    for t in range(size):
        for column in range(width):
            angle = t / 10000 ** ((column - column % 2) / width)
            wave = np.cos if column % 2 else np.sin
            assert abs(ours[t, column] - wave(angle)) < 1e-12


def test_positions_of_the_paper_have_one_length_and_a_toeplitz_gram_matrix():
    table = sa.sinusoidal_positions(50, 32)
    close((table**2).sum(-1), np.full(50, 16.0))
    gram = table @ table.T
    close(gram[1:, 1:], gram[:-1, :-1])
    assert np.unique(gram[0].round(6)).size > 40


# ------------------------------------------------------------------ equivariance


def naive_error(X, positions, mask):
    """The definition by a torch layer, one order after the other."""
    X, positions, mask = (torch.as_tensor(array) for array in (X, positions, mask))

    def layer(X):
        return F.scaled_dot_product_attention(*[X + positions] * 3, attn_mask=mask)

    return max(
        (layer(X[list(order)]) - layer(X)[list(order)]).abs().max().item()
        for order in permutations(range(len(X)))
    )


@pytest.mark.parametrize("kind", ["none", "positions", "causal", "ring", "same everywhere"])
def test_equivariance_error_is_its_definition(tensors, kind):
    X, positions = tensors(4, D), torch.zeros(4, D).double()
    mask = torch.ones(4, 4).bool()
    if kind == "positions":
        positions = tensors(4, D)
    if kind == "same everywhere":
        positions = tensors(1, D).expand(4, D)
    if kind == "causal":
        mask = mask.tril()
    if kind == "ring":  # each sees itself and its neighbours: flips and rolls pass
        mask = (
            torch.eye(4).bool() | torch.eye(4).roll(1, 0).bool() | torch.eye(4).roll(-1, 0).bool()
        )
    error = sa.equivariance_error(X, positions, mask)
    close(error, naive_error(X, positions, mask))
    assert (error < 1e-12) == (kind in ("none", "same everywhere"))


# ------------------------------------------------------------------ both libraries, no side effects

CALLS = {
    "softmax": lambda Q, K, V, W, real: sa.masked_softmax(Q, real[..., :1, None] | (Q > 0)),
    "self": lambda Q, K, V, W, real: sa.self_attention(Q, W, 2 * W, W[:3])[0],
    "masked": lambda Q, K, V, W, real: sa.masked_attention(Q, K, V, real, True)[0],
    "placed": lambda Q, K, V, W, real: sa.placed_attention(Q[0], K[0], Q[0] @ K[0].mT > 0),
    "error": lambda Q, K, V, W, real: sa.equivariance_error(Q[0], K[0], Q[0] @ K[0].mT > -9),
}


@pytest.fixture
def inputs(tensors):
    arrays = [tensors(BATCH, N, DK), tensors(BATCH, N, DK), tensors(BATCH, N, DV), tensors(DV, DK)]
    return [*arrays, REAL]


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_numpy_and_torch_agree_and_inputs_stay(call, inputs):
    alike_in_numpy_and_torch(call, inputs)


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_memory_layout_does_not_matter(call, inputs):
    alike_in_any_layout(call, inputs)


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize("scale", [1.0, 1000.0])
def test_gradients_are_finite(call, inputs, scale):
    *arrays, real = inputs
    leaves = [(scale * x).requires_grad_() for x in arrays]
    call(*leaves, real).sum().backward()
    gradients = [x.grad for x in leaves if x.grad is not None]
    assert gradients
    assert all(torch.isfinite(g).all() for g in gradients)


def test_one_item_sees_itself(tensors):
    Q, V = tensors(1, DK), tensors(1, DV)
    close(sa.masked_attention(Q, Q, V, torch.tensor([True]), causal=True)[0], V)
    assert float(sa.equivariance_error(Q, Q, torch.tensor([[True]]))) == 0


WRONG = [
    (lambda: sa.masked_softmax(np.zeros((2, 3)), np.ones((2, 3))), "mask has dtype float64.*bool"),
    (lambda: sa.masked_softmax(np.zeros((2, 3)), np.ones(2, bool)), "N = 2, but scores has N = 3"),
    (lambda: sa.masked_softmax(np.full(3, -np.inf), np.ones(3, bool)), "scores holds NaN or inf"),
    (lambda: sa.sinusoidal_positions(4, 0), "D is 0; it takes a whole number from 1"),
    (lambda: sa.sinusoidal_positions(4.0, 8), "N is 4.0 of type float; it takes one whole number"),
    (
        lambda: sa.masked_attention(*np.zeros((3, 4, 2)), np.ones(3, bool)),
        "real has shape.*N = 3, but Q has N = 4",
    ),
]


@pytest.mark.parametrize(("call", "message"), WRONG)
def test_wrong_arguments_are_named(call, message):
    with pytest.raises((TypeError, ValueError), match=message):
        call()
