"""The decoder: held to torch's layers, with its cache and without, and that training helps."""

import numpy as np
import pytest
import torch
from torch import nn

from attnkit import transformer as tf
from attnkit.data.transformer import repeated
from attnkit.training.transformer import Decoder, train

B, N, TOKENS, SIZE, LAYERS, HEADS, HIDDEN = 3, 7, 11, 12, 2, 3, 20

each = pytest.mark.parametrize("hidden", [0, HIDDEN], ids=["attention only", "with feed-forward"])


@pytest.fixture(autouse=True)
def one_thread_and_one_seed():
    torch.set_num_threads(1)
    torch.manual_seed(0)


def model_of(hidden, heads=HEADS):
    model = Decoder(TOKENS, SIZE, LAYERS, heads, longest=N + 2, hidden=hidden).double()
    for parameter in model.parameters():  # norms, too, that do something
        nn.init.normal_(parameter, std=0.5)
    return model.requires_grad_(False)


def some():
    return torch.randint(TOKENS, (B, N))


def torch_layer(block):
    """Torch's layer with the weights of the block."""
    hidden = HIDDEN if block.feed_forward else 1
    layer = nn.TransformerEncoderLayer(
        SIZE, block.heads, hidden, dropout=0.0, batch_first=True, norm_first=True
    )
    for parameter in layer.double().parameters():
        nn.init.zeros_(parameter)
    parts = (block.of_query, block.of_key, block.of_value)
    copies = {
        "self_attn.in_proj_weight": torch.cat([part.weight for part in parts]),
        "self_attn.out_proj.weight": block.mix.weight,
        "norm1.weight": block.norm.weight,
        "norm1.bias": block.norm.bias,
    }
    if block.feed_forward:
        norm, up, _, down = block.feed_forward
        for name, part in (("norm2", norm), ("linear1", up), ("linear2", down)):
            copies |= {f"{name}.weight": part.weight, f"{name}.bias": part.bias}
    layer.load_state_dict(layer.state_dict() | copies)
    return layer.requires_grad_(False)


@each
def test_it_is_torchs_layers_under_a_causal_mask(hidden):
    model, tokens = model_of(hidden), some()
    scores, weights, _ = model(tokens)
    X = model.embed.weight[tokens] + model.places.weight[:N]
    blocked = torch.ones(N, N).triu(1).bool()
    for layer, block in enumerate(model.blocks):
        oracle = torch_layer(block)
        Z = oracle.norm1(X)
        _, looks = oracle.self_attn(Z, Z, Z, attn_mask=blocked, average_attn_weights=False)
        torch.testing.assert_close(weights[:, layer], looks)
        X = oracle(X, src_mask=blocked)
    torch.testing.assert_close(scores, model.output(model.norm(X)))
    assert weights.shape == (B, LAYERS, HEADS, N, N)


@each
@pytest.mark.parametrize("cuts", [[1] * N, [4, 3], [3, 1, 3]])
def test_the_cache_changes_nothing(hidden, cuts):
    model, tokens = model_of(hidden), some()
    whole, _, kept = model(tokens)
    caches, parts = None, []
    for part in tokens.split(cuts, dim=1):
        scores, _, caches = model(part, caches)
        parts.append(scores)
    torch.testing.assert_close(torch.cat(parts, 1), whole)
    for one, two in zip(caches, kept, strict=True):
        for grown, at_once in zip(one, two, strict=True):
            assert grown.shape == (B, HEADS, N, SIZE // HEADS)
            torch.testing.assert_close(grown, at_once)


@each
def test_a_head_taken_away_reads_nothing(hidden):
    """As if its columns of the matrix that mixes the heads were zero."""
    model, tokens = model_of(hidden), some()
    keep = torch.ones(LAYERS, HEADS)
    keep[1, 2] = 0
    found, _, _ = model(tokens, keep=keep)
    assert (found - model(tokens)[0]).abs().max() > 1e-3
    model.blocks[1].mix.weight[:, 2 * SIZE // HEADS :] = 0
    torch.testing.assert_close(found, model(tokens)[0])


def test_what_it_writes_is_drawn_from_its_scores():
    model = model_of(HIDDEN)
    start = torch.zeros(4000, 1, dtype=torch.long)
    for temperature in (1.0, 0.5):
        written = model.write(start, 2, temperature)
        assert written.shape == (4000, 3)
        assert not written[:, 0].any()
        p = (model(start[:1])[0][0, -1] / temperature).softmax(-1)
        share = torch.bincount(written[:, 1], minlength=TOKENS) / 4000
        assert (share - p).abs().max() < 0.04


def test_nearly_no_temperature_is_the_largest_score():
    model, tokens = model_of(HIDDEN), some()
    written = model.write(tokens, 2, temperature=1e-6)
    for length in (N, N + 1):
        best = model(written[:, :length])[0][:, -1].argmax(-1)
        assert torch.equal(best, written[:, length])


@pytest.mark.parametrize("first", [1, 4, 6])
def test_only_what_comes_from_the_first_counts(first):
    model, tokens = Decoder(TOKENS, SIZE, LAYERS, HEADS, N), some()
    with torch.no_grad():
        log_p = model(tokens)[0].log_softmax(-1)
    told = [log_p[b, n - 1, tokens[b, n]].item() for b in range(B) for n in range(first, N)]
    assert train(model, [(tokens, first)] * 2)[0] == pytest.approx(-np.mean(told), abs=1e-5)


@each
def test_training_makes_it_better_and_repeats_itself(hidden):
    runs = []
    for _ in range(2):
        torch.manual_seed(0)
        rng = np.random.default_rng(0)
        batches = [(torch.from_numpy(repeated(rng, 16, 3, TOKENS)), 4)] * 60
        runs.append(train(Decoder(TOKENS, SIZE, 2, 1, 6, hidden), batches, rate=1e-2))
    assert runs[0].shape == (60,)
    assert np.array_equal(*runs)
    assert runs[0][-5:].mean() < 0.8 * runs[0][:5].mean()


def test_two_layers_learn_to_copy_with_the_two_heads():
    rng = np.random.default_rng(0)
    model = Decoder(12, 32, 2, 1, longest=12)
    train(model, [(torch.from_numpy(repeated(rng, 64, 6, 12)), 7) for _ in range(400)], rate=1e-2)
    tokens = torch.from_numpy(repeated(rng, 100, 6, 12))
    with torch.no_grad():
        scores, weights, _ = model(tokens[:, :-1])
    assert (scores[:, 6:].argmax(-1) == tokens[:, 7:]).double().mean() > 0.95
    assert tf.induction_scores(weights, 6).mean(0)[1, 0] > 0.7
