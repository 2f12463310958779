"""The reference implementations of multi-head attention, held to oracles that others wrote."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from attnkit import multi_head_attention as mh
from attnkit import soft_attention as sa
from attnkit.checking import laws
from attnkit.data import multi_head_attention as data
from tests.arrays import alike_in_any_layout, alike_in_numpy_and_torch, close

BATCH, M, N, D, HEADS = 3, 4, 5, 6, 2  # all different, so that a wrong axis cannot hide


@pytest.fixture
def tensors():
    generator = torch.Generator().manual_seed(0)

    def draw(*shape):
        return torch.randn(shape, generator=generator, dtype=torch.float64)

    return draw


@pytest.fixture
def layer(tensors):
    """torch's layer with biases that are not zero, as they are when it is made."""
    made = nn.MultiheadAttention(D, HEADS, batch_first=True, dtype=torch.float64)
    for parameter in made.parameters():
        parameter.data = tensors(*parameter.shape)
    return made


def parameters(layer):
    weights = (layer.in_proj_weight, layer.in_proj_bias, layer.out_proj.weight, layer.out_proj.bias)
    return [weight.detach() for weight in weights]


# ------------------------------------------------------------------ split and merge


def test_a_head_owns_a_block_of_features(tensors):
    X = tensors(BATCH, N, D)
    blocks = mh.split_heads(X, 3)
    assert blocks.shape == (BATCH, 3, N, 2)
    for i in range(3):
        close(blocks[:, i], X[..., 2 * i : 2 * i + 2])
    close(blocks, X.unflatten(-1, (3, 2)).transpose(1, 2))
    close(mh.merge_heads(blocks), X)


@pytest.mark.parametrize("heads", [1, 2, 3, 6])
def test_splitting_after_the_projection_is_a_matrix_a_head(tensors, heads):
    X, W = tensors(N, 7), tensors(D, 7)
    per_head = torch.stack([X @ block.mT for block in W.chunk(heads)])
    close(mh.split_heads(X @ W.mT, heads), per_head)


def test_the_read_of_each_head_stands_in_its_block(tensors):
    weights, V = torch.softmax(tensors(BATCH, HEADS, M, N), -1), tensors(BATCH, N, D)
    wanted = [w @ v for w, v in zip(weights.unbind(1), V.chunk(HEADS, -1), strict=True)]
    close(mh.multi_head_read(weights, V), torch.cat(wanted, -1))


# ------------------------------------------------------------------ the layer


def test_without_a_mask_it_is_torchs(tensors, layer):
    X, C = tensors(BATCH, M, D), tensors(BATCH, N, D)
    output, weights = mh.multi_head_attention(X, C, *parameters(layer), HEADS)
    wanted, per_head = layer(X, C, C, average_attn_weights=False)
    close(output, wanted.detach())
    close(weights, per_head.detach())
    close(weights.mean(1), layer(X, C, C)[1].detach())  # what torch returns if not told otherwise


def test_with_a_mask_it_is_torchs_whose_true_means_hidden(tensors, layer):
    X, C = tensors(BATCH, M, D), tensors(BATCH, N, D)
    mask = tensors(M, N) > 0
    mask[:, 2] = True  # no row is empty: on that torch's ways differ
    output, weights = mh.multi_head_attention(X, C, *parameters(layer), HEADS, mask)
    wanted, per_head = layer(X, C, C, attn_mask=~mask, average_attn_weights=False)
    close(output, wanted.detach())
    close(weights, per_head.detach())
    padding = torch.tensor([[1, 1, 0, 0, 0], [1, 1, 1, 1, 1], [1, 1, 1, 1, 0]], dtype=torch.bool)
    output, _ = mh.multi_head_attention(
        X, C, *parameters(layer), HEADS, padding[:, None].expand(-1, M, -1)
    )
    close(output, layer(X, C, C, key_padding_mask=~padding)[0].detach())


@pytest.mark.parametrize("scale", [1.0, 1000.0])
def test_empty_rows_are_those_of_torchs_scaled_dot_product_attention(tensors, scale):
    X, C = scale * tensors(BATCH, M, D), scale * tensors(BATCH, N, D)
    W = [tensors(3 * D, D), tensors(3 * D), torch.eye(D).double(), torch.zeros(D).double()]
    mask = tensors(BATCH, M, N) > 0
    mask[1, 2] = False
    output, weights = mh.multi_head_attention(X, C, *W, HEADS, mask)
    projected = [
        mh.split_heads(F.linear(x, w, b), HEADS)
        for x, w, b in zip((X, C, C), W[0].chunk(3), W[1].chunk(3), strict=True)
    ]
    oracle = F.scaled_dot_product_attention(*projected, attn_mask=mask[:, None])
    np.testing.assert_allclose(output, mh.merge_heads(oracle), rtol=1e-12, atol=1e-8)
    assert not weights[1, :, 2].any()
    assert not output[1, 2].any()


def test_one_head_is_scaled_dot_product_attention(tensors):
    X, C = tensors(M, D), tensors(N, D)
    identity, zero = torch.eye(D).double(), torch.zeros(D).double()
    arguments = (identity.repeat(3, 1), zero.repeat(3), identity, zero)
    output, weights = mh.multi_head_attention(X, C, *arguments, heads=1)
    read, rows = sa.soft_attention(X, C, C, temperature=D**0.5)
    close(output, read)
    close(weights[0], rows)


@pytest.mark.parametrize(
    "law",
    [
        laws.items_permuted("C", axis=-2, part=lambda pair: pair[0]),
        laws.items_permuted("C", axis=-2, output_axis=-1, part=lambda pair: pair[1]),
        laws.items_permuted("X", axis=-2, output_axis=-2, part=lambda pair: pair[0]),
        laws.batch_independent("X", "C", rank=2, part=lambda pair: pair[0]),
        laws.sums_to(1, along=lambda arguments: -1, part=lambda pair: pair[1]),
        laws.inputs_unchanged(),
        laws.finite_gradients("X", "C", part=lambda pair: pair[0]),
    ],
    ids=lambda law: law.sentence,
)
@pytest.mark.parametrize("scale", [1.0, 1000.0])
def test_laws_of_the_layer(tensors, law, scale):
    arguments = {
        "X": scale * tensors(BATCH, M, D).numpy(),
        "C": scale * tensors(BATCH, N, D).numpy(),
        "W_in": tensors(3 * D, D).numpy(),
        "b_in": tensors(3 * D).numpy(),
        "W_out": tensors(D, D).numpy(),
        "b_out": tensors(D).numpy(),
        "heads": HEADS,
    }
    close = laws.within(1e-12 * scale)
    assert law.broken_by(mh.multi_head_attention, arguments, close=close) is None


def test_a_mask_hides_and_gradients_stay_finite_even_in_an_empty_row(tensors, layer):
    mask = torch.ones(M, N, dtype=torch.bool)
    mask[1] = False
    mask[2, 3] = False
    X, C = tensors(M, D).requires_grad_(), tensors(N, D).requires_grad_()
    output, weights = mh.multi_head_attention(X, C, *parameters(layer), HEADS, mask)
    assert not weights[:, ~mask].any()
    output.sum().backward()
    assert torch.isfinite(X.grad).all()
    assert torch.isfinite(C.grad).all()
    assert not X.grad[1].any()


# ------------------------------------------------------------------ ablation


def test_ablation_is_what_an_output_layer_gives_with_one_block_of_columns_zero(tensors):
    B, heads, d, A = 40, 3, 2, 4
    reads, answers = tensors(B, heads, d), torch.arange(B) % A
    out = nn.Linear(heads * d, A, dtype=torch.float64)

    def accuracy(weight):
        logits = F.linear(reads.flatten(1), weight, out.bias)
        return (logits.argmax(-1) == answers).double().mean()

    wanted = []
    for i in range(heads):
        weight = out.weight.detach().clone()
        weight[:, i * d : (i + 1) * d] = 0
        wanted.append(accuracy(out.weight) - accuracy(weight))
    ours = mh.head_ablation(reads, out.weight.detach(), out.bias.detach(), answers)
    close(ours, torch.stack(wanted).detach())


def test_ablation_finds_what_was_planted():
    planted = data.planted_heads(5000, np.random.default_rng(0))
    alone, copy, other_copy, harm = mh.head_ablation(**planted)
    assert abs(alone - 0.4 * 2 / 3) < 0.03  # the bias guesses a third of them
    assert copy == other_copy == 0
    assert harm == pytest.approx(-0.2)
    both = planted["reads"] * np.array([1, 0, 0, 1])[:, None]
    merged = both.reshape(5000, -1) @ planted["W"].T + planted["b"]
    assert abs((merged.argmax(1) == planted["answers"]).mean() - 0.4 - 0.4 / 3) < 0.03


# ------------------------------------------------------------------ both libraries, no side effects

CALLS = {
    "split": lambda X, C, A, W: mh.split_heads(X, 3),
    "merge": lambda X, C, A, W: mh.merge_heads(A),
    "read": lambda X, C, A, W: mh.multi_head_read(A, C),
    "layer": lambda X, C, A, W: mh.multi_head_attention(
        X, C, W, W[:, 0], W[:D], W[0], HEADS, mask=A[:, 0] > 0
    )[0],
}


@pytest.fixture
def inputs(tensors):
    shapes = [(BATCH, M, D), (BATCH, N, D), (BATCH, HEADS, M, N), (3 * D, D)]
    return [tensors(*shape) for shape in shapes]


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_numpy_and_torch_agree_and_inputs_stay(call, inputs):
    alike_in_numpy_and_torch(call, inputs)


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_memory_layout_and_dtype_do_not_matter(call, inputs):
    alike_in_any_layout(call, inputs)
    assert call(*[x.float().numpy() for x in inputs]).dtype == np.float32


def test_ablation_in_numpy_is_ablation_in_torch():
    planted = data.planted_heads(50, np.random.default_rng(1))
    in_torch = {name: torch.from_numpy(array) for name, array in planted.items()}
    close(mh.head_ablation(**in_torch), mh.head_ablation(**planted))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda one: mh.split_heads(one((3, 4)), 3), "heads is 3, but X has 4 features"),
        (lambda one: mh.split_heads(one((3, 4)), 0), "heads is 0"),
        (lambda one: mh.split_heads(one((3, 4)), 2.0), "heads is 2.0; it takes one integer"),
        (lambda one: mh.split_heads(one((3, 4)), True), "heads is True; it takes one integer"),
        (lambda one: mh.multi_head_read(one((3, 2, 5)), one((5, 4))), "weights has 3 heads"),
        (
            lambda one: mh.multi_head_attention(
                one((2, 4)), one((5, 4)), one((4, 4)), one(4), one((4, 4)), one(4), 2
            ),
            "W_in has shape .4, 4., but X has 4 features; it takes 12 rows",
        ),
        (
            lambda one: mh.head_ablation(one((5, 2, 3)), one((4, 5)), one(4), np.arange(5)),
            "W has 5 columns, but reads has 2 heads of 3 features; it takes 6",
        ),
        (
            lambda one: mh.head_ablation(one((5, 2, 3)), one((4, 6)), one(4), one(5)),
            "answers has dtype float64; it takes integers",
        ),
    ],
)
def test_wrong_arguments_are_named(call, message):
    with pytest.raises((TypeError, ValueError), match=message):
        call(np.ones)


# ------------------------------------------------------------------ data


def test_two_slots_are_two_and_their_words_stand_there():
    rows, asked, answers = data.two_slots(500, np.random.default_rng(0), slots=5, words=3)
    assert rows.shape == (500, 5)
    assert asked.shape == answers.shape == (500, 2)
    assert set(rows.ravel()) == set(range(3))
    assert set(asked.ravel()) == set(range(5))
    assert (asked[:, 0] != asked[:, 1]).all()
    for row, places, words in zip(rows, asked, answers, strict=True):
        assert [row[place] for place in places] == list(words)


def test_the_same_seed_gives_the_same_data():
    for generate in (data.two_slots, lambda n, rng: data.planted_heads(n, rng).values()):
        one, other = (generate(20, np.random.default_rng(3)) for _ in range(2))
        assert all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))
