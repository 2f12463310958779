"""The reference implementations of the Transformer, held to oracles that others wrote."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.attention.bias import causal_lower_right

from attnkit import transformer as tf
from attnkit.checking import laws
from tests.arrays import alike_in_any_layout, alike_in_numpy_and_torch, close

BATCH, M, N, D, HEADS, WIDE, DK, DV = 2, 3, 5, 6, 3, 8, 4, 7  # so that a wrong axis cannot hide


# ------------------------------------------------------------------ layer norm


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_layer_norm_is_torchs(tensors, scale):
    X, gain, bias = scale * tensors(BATCH, N, D) + 3 * scale, tensors(D), tensors(D)
    close(tf.layer_norm(X, gain, bias), F.layer_norm(X, (D,), gain, bias))
    close(tf.layer_norm(X, gain, bias, eps=0.1), F.layer_norm(X, (D,), gain, bias, eps=0.1))


def test_equal_features_become_the_bias(tensors):
    bias = tensors(D)
    close(tf.layer_norm(torch.full((N, D), 7.0).double(), tensors(D), bias), bias.expand(N, D))


# ------------------------------------------------------------------ the block


def torchs_layer(tensors, norm_first):
    """torch's layer, with parameters that are not the zeros and ones of a new one."""
    layer = nn.TransformerEncoderLayer(
        D, HEADS, WIDE, dropout=0.0, batch_first=True, norm_first=norm_first, dtype=torch.float64
    )
    for parameter in layer.parameters():
        parameter.data = tensors(*parameter.shape)
    return layer


def parameters(layer):
    """Those of torch's layer under our names."""
    names = {
        "W_in": layer.self_attn.in_proj_weight,
        "b_in": layer.self_attn.in_proj_bias,
        "W_out": layer.self_attn.out_proj.weight,
        "b_out": layer.self_attn.out_proj.bias,
        "gain_1": layer.norm1.weight,
        "bias_1": layer.norm1.bias,
        "W_1": layer.linear1.weight,
        "b_1": layer.linear1.bias,
        "W_2": layer.linear2.weight,
        "b_2": layer.linear2.bias,
        "gain_2": layer.norm2.weight,
        "bias_2": layer.norm2.bias,
    }
    return {name: parameter.detach() for name, parameter in names.items()}


@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 1000.0])
def test_the_block_is_torchs_encoder_layer(tensors, norm_first, scale):
    layer, X = torchs_layer(tensors, norm_first), scale * tensors(BATCH, N, D)
    ours = tf.transformer_block(X, **parameters(layer), heads=HEADS, norm_first=norm_first)
    close(ours, layer(X).detach())


@pytest.mark.parametrize("norm_first", [False, True])
def test_the_block_with_a_mask_is_torchs_whose_true_means_hidden(tensors, norm_first):
    layer, X = torchs_layer(tensors, norm_first), tensors(BATCH, N, D)
    block = {**parameters(layer), "heads": HEADS, "norm_first": norm_first}
    causal = torch.ones(N, N).tril().bool()
    close(tf.transformer_block(X, **block, mask=causal), layer(X, src_mask=~causal).detach())
    real = torch.tensor([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]]).bool()
    padded = tf.transformer_block(X, **block, mask=real[:, None].expand(-1, N, -1))
    close(padded, layer(X, src_key_padding_mask=~real).detach())


@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize(
    "law",
    [
        laws.items_permuted("X", axis=-2, output_axis=-2),
        laws.batch_independent("X", rank=2),
        laws.inputs_unchanged(),
        laws.finite_gradients("X", "W_in", "W_1", "gain_2"),
    ],
    ids=lambda law: law.sentence,
)
def test_laws_of_the_block(tensors, law, norm_first):
    weights = parameters(torchs_layer(tensors, norm_first))
    arguments = {name: array.numpy() for name, array in weights.items()}
    arguments |= {"heads": HEADS, "norm_first": norm_first}
    arguments["X"] = tensors(BATCH, N, D).numpy()
    assert law.broken_by(tf.transformer_block, arguments) is None


def test_a_causal_block_hides_what_comes_later(tensors):
    weights = parameters(torchs_layer(tensors, False))
    arguments = {name: array.numpy() for name, array in weights.items()}
    arguments |= {"X": tensors(N, D).numpy(), "heads": HEADS}
    law = laws.causal("X", axis=-2, output_axis=-2)
    assert law.broken_by(tf.transformer_block, arguments | {"mask": np.tri(N, dtype=bool)}) is None
    assert law.broken_by(tf.transformer_block, arguments)


# ------------------------------------------------------------------ softmax in blocks


@pytest.mark.parametrize("block", [1, 2, 3, N, 100])
@pytest.mark.parametrize("scale", [0.0, 1.0, 1000.0])
def test_blocks_give_the_softmax_read(tensors, block, scale):
    scores, V = scale * tensors(BATCH, M, N), tensors(BATCH, N, DV)
    close(tf.blockwise_attention(scores, V, block), torch.softmax(scores, -1) @ V)


@pytest.mark.parametrize("block", [1, 2, 3])
@pytest.mark.parametrize(
    "row",
    [
        [0.0, 1.0, 1000.0, 1001.0, 5000.0],
        [5000.0, 1001.0, 1000.0, 1.0, 0.0],
        [-1000.0, -1001.0, -1002.0, -999.0, -1000.0],
        [8e307, -8e307, 0.0, 8e307, 1.0],
        [0.0] * N,
    ],
)
def test_blocks_at_the_extremes(tensors, row, block):
    scores, V = torch.tensor([row] * M, dtype=torch.float64).requires_grad_(), tensors(N, DV)
    read = tf.blockwise_attention(scores, V, block)
    close(read.detach(), torch.softmax(scores.detach(), -1) @ V)
    read.sum().backward()
    assert torch.isfinite(scores.grad).all()


def test_blocks_share_values_over_a_batch(tensors):
    scores, V = tensors(BATCH, 4, M, N), tensors(BATCH, 1, N, DV)
    close(tf.blockwise_attention(scores, V, 2), torch.softmax(scores, -1) @ V)


# ------------------------------------------------------------------ the cache


def written(Q, K, V, sizes):
    """The reads of all places, given so many at a time, and the cache at the end."""
    reads, keys, values = [], None, None
    for q, k, v in zip(*(A.split(sizes, -2) for A in (Q, K, V)), strict=True):
        read, keys, values = tf.attend_with_cache(q, k, v, keys, values)
        reads.append(read)
    return torch.cat(reads, -2), keys, values


@pytest.mark.parametrize("sizes", [[N], [1] * N, [2, 3], [3, 1, 1], [1, 4]])
@pytest.mark.parametrize("scale", [1.0, 1000.0])
def test_with_a_cache_the_reads_are_those_of_causal_attention(tensors, sizes, scale):
    Q, K, V = scale * tensors(BATCH, N, DK), tensors(BATCH, N, DK), tensors(BATCH, N, DV)
    reads, keys, values = written(Q, K, V, sizes)
    close(reads, F.scaled_dot_product_attention(Q, K, V, is_causal=True))
    assert torch.equal(keys, K)
    assert torch.equal(values, V)


def test_the_triangle_of_the_new_places_ends_in_the_last_corner(tensors):
    """And torch's flag of the same name, with fewer queries than keys, starts in the first."""
    Q, K, V = tensors(N, DK), tensors(N, DK), tensors(N, DV)
    read, _, _ = tf.attend_with_cache(Q[3:], K[3:], V[3:], K[:3], V[:3])
    ours = causal_lower_right(2, N)
    args = Q[None, None, 3:], K[None, None], V[None, None]
    close(read, F.scaled_dot_product_attention(*args, attn_mask=ours)[0, 0])
    flag = F.scaled_dot_product_attention(*args, is_causal=True)[0, 0]
    close(flag[0], V[0])
    assert (read - flag).abs().max() > 0.1


def test_heads_may_share_one_cache(tensors):
    Q, K, V = tensors(BATCH, HEADS, N, DK), tensors(BATCH, 1, N, DK), tensors(BATCH, 1, N, DV)
    reads, keys, _ = written(Q, K, V, [4, 1])
    assert keys.shape == (BATCH, 1, N, DK)
    grouped = {"is_causal": True, "enable_gqa": True}
    close(reads, F.scaled_dot_product_attention(Q, K, V, **grouped))


# ------------------------------------------------------------------ linear attention


def masked_matrix_form(Q, K, V):
    """All weights at once, from torch's elu, as the definition has them."""
    weights = ((F.elu(Q) + 1) @ (F.elu(K) + 1).mT).tril()
    return weights / weights.sum(-1, keepdim=True) @ V


@pytest.mark.parametrize("scale", [0.0, 1.0])
def test_linear_attention_is_its_masked_matrix_form(tensors, scale):
    Q, K, V = scale * tensors(BATCH, N, DK), scale * tensors(BATCH, N, DK), tensors(BATCH, N, DV)
    close(tf.linear_attention(Q, K, V), masked_matrix_form(Q, K, V))
    close(tf.positive_features(Q), F.elu(Q) + 1)


def in_logarithms(Q, K, V):
    """The same without small numbers: torch's elu loses those below its rounding of -1."""
    Q, K = (torch.where(A > 0, A.clamp(0).log1p(), A) for A in (Q, K))
    logs = (Q[..., :, None, :] + K[..., None, :, :]).logsumexp(-1)
    hidden = torch.ones(N, N).triu(1).bool()
    return torch.softmax(logs.masked_fill(hidden, -torch.inf), -1) @ V


@pytest.mark.parametrize("scale", [1.0, 50.0])
def test_small_features_count_in_full(tensors, scale):
    Q, K, V = scale * tensors(BATCH, N, DK), scale * tensors(BATCH, N, DK), tensors(BATCH, N, DV)
    close(tf.linear_attention(Q, K, V), in_logarithms(Q, K, V))


def test_linear_attention_is_another_function_than_softmax_attention(tensors):
    Q, K, V = tensors(BATCH, N, DK), tensors(BATCH, N, DK), tensors(BATCH, N, DV)
    softmax = F.scaled_dot_product_attention(Q, K, V, is_causal=True)
    assert (tf.linear_attention(Q, K, V) - softmax).norm() / softmax.norm() > 0.1


def test_nothing_flows_backwards(tensors):
    shapes = {"Q": (N, DK), "K": (N, DK), "V": (N, DV)}
    arguments = {name: tensors(*shape).numpy() for name, shape in shapes.items()}
    law = laws.causal("Q", "K", "V", axis=-2, output_axis=-2)
    assert law.broken_by(tf.linear_attention, arguments) is None
    law = laws.read_inside_hull("V", axis=-2)
    assert law.broken_by(tf.linear_attention, arguments) is None


def test_where_all_features_vanish_the_read_is_zero(tensors):
    Q, K, V = torch.full((N, DK), -1000.0).double(), tensors(N, DK), tensors(N, DV)
    assert not tf.linear_attention(Q, K, V).any()


# ------------------------------------------------------------------ what heads look at


def planted(period, heads, share):
    """For each head the share of its weight that looks behind the token's last occurrence."""
    places = 2 * period
    weights = torch.rand(heads, places, places, generator=torch.Generator().manual_seed(1)).double()
    for i in range(period, places):
        weights[:, i, i - period + 1] = 0
        weights[:, i] *= ((1 - share) / weights[:, i].sum(-1))[:, None]
        weights[:, i, i - period + 1] = share
    return weights


def test_induction_is_found_where_it_was_planted():
    share = torch.tensor([0.1, 0.9, 0.4]).double()
    close(tf.induction_scores(planted(4, 3, share), 4), share)
    close(tf.induction_scores(planted(1, 3, share), 1), share)


@pytest.mark.parametrize("period", [1, 3, 6, 9])
def test_scores_are_means_of_single_weights(tensors, period):
    weights = torch.softmax(tensors(BATCH, HEADS, 10, 10), -1)
    previous, induction = tf.head_scores(weights, period)
    close(previous, torch.stack([weights[..., i, i - 1] for i in range(1, 10)]).mean(0))
    looked = [weights[..., i, i - period + 1] for i in range(period, 10)]
    close(induction, torch.stack(looked).mean(0))


# ------------------------------------------------------------------ both libraries, no side effects

CALLS = {
    "norm": lambda Q, K, V, W: tf.layer_norm(Q, W[0], W[1]),
    "block": lambda Q, K, V, W: tf.transformer_block(
        Q,
        **{"W_in": W, "b_in": W[:, 0], "W_out": W[:DK], "b_out": W[0]},
        **{"W_1": W[:7], "b_1": W[:7, 1], "W_2": W[:7].mT, "b_2": W[1]},
        **{"gain_1": W[2], "bias_1": W[3], "gain_2": W[4], "bias_2": W[5]},
        heads=2,
    ),
    "in blocks": lambda Q, K, V, W: tf.blockwise_attention(Q @ K.mT, V, 2),
    "cache": lambda Q, K, V, W: tf.attend_with_cache(Q, K, V, 2 * K, 2 * V)[0],
    "features": lambda Q, K, V, W: tf.positive_features(Q),
    "linear": lambda Q, K, V, W: tf.linear_attention(Q, K, V),
    "previous": lambda Q, K, V, W: tf.previous_token_scores(Q @ K.mT),
    "induction": lambda Q, K, V, W: tf.induction_scores(Q @ K.mT, 3),
}


@pytest.fixture
def inputs(tensors):
    shapes = [(BATCH, N, DK), (BATCH, N, DK), (BATCH, N, DV), (3 * DK, DK)]
    return [tensors(*shape) for shape in shapes]


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_numpy_and_torch_agree_and_inputs_stay(call, inputs):
    alike_in_numpy_and_torch(call, inputs)


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_memory_layout_and_dtype_do_not_matter(call, inputs):
    alike_in_any_layout(call, inputs)
    assert call(*[x.float().numpy() for x in inputs]).dtype == np.float32


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize("scale", [1.0, 1000.0])
def test_gradients_are_finite(call, inputs, scale):
    leaves = [(scale * x).requires_grad_() for x in inputs]
    call(*leaves).sum().backward()
    gradients = [x.grad for x in leaves if x.grad is not None]
    assert gradients
    assert all(torch.isfinite(g).all() for g in gradients)


WRONG = [
    (lambda one: tf.layer_norm(one((3, 4)), one(5), one(4)), "gain has shape .5,., so D = 5"),
    (lambda one: tf.layer_norm(one(4), one(4), one(4), eps=0), "eps is 0"),
    (lambda one: tf.blockwise_attention(one((3, 5)), one((5, 4)), 0), "block is 0"),
    (lambda one: tf.blockwise_attention(one((3, 5)), one((6, 4)), 2), "V has shape.*N = 6"),
    (
        lambda one: tf.attend_with_cache(*one((3, 1, 4)), keys=one((5, 4))),
        "the cache is keys and values together",
    ),
    (
        lambda one: tf.attend_with_cache(*one((3, 1, 4)), one((5, 3)), one((5, 4))),
        "keys has shape .5, 3., so Dk = 3, but q has Dk = 4",
    ),
    (lambda one: tf.linear_attention(*one((2, 5, 4)), one((6, 4))), "V has shape.*N = 6"),
    (lambda one: tf.previous_token_scores(one((2, 1, 1))), "weights has one place"),
    (lambda one: tf.induction_scores(one((6, 6)), 6), "period is 6, but weights has 6 places"),
    (lambda one: tf.induction_scores(one((6, 6)), 0), "period is 0; it takes a whole number"),
    (lambda one: tf.induction_scores(one((6, 5)), 2), "weights has shape"),
]


@pytest.mark.parametrize(("call", "message"), WRONG)
def test_wrong_arguments_are_named(call, message):
    with pytest.raises((TypeError, ValueError), match=message):
        call(np.ones)
