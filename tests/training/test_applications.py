"""The trained models: held to torch's own parts, and that training makes them better."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from attnkit.data import applications as data
from attnkit.training import applications as training
from attnkit.training.applications import Finder, RecurrentReader, VisionTransformer, WordReader

WORDS, SIZE, B, N = len(data.VOCABULARY), 12, 3, 20

each = pytest.mark.parametrize("kind", [RecurrentReader, WordReader])


@pytest.fixture(autouse=True)
def one_thread_and_one_seed():
    torch.set_num_threads(1)
    torch.manual_seed(0)


def opinions(seed, size):
    words, label, _ = data.opinions(np.random.default_rng(seed), size)
    return torch.from_numpy(words), torch.from_numpy(label)


@each
def test_a_reader_is_a_score_a_softmax_and_a_sum(kind):
    """Word by word, with torch's own layers."""
    model, (words, _) = kind(WORDS, SIZE).double(), opinions(0, B)
    embedded = model.embed.weight[words]
    if kind is RecurrentReader:
        H = model.gru(embedded)[0]
    else:
        H = torch.stack([torch.tanh(model.alone(embedded[:, n])) for n in range(N)], 1)
    scores = [
        model.v(torch.tanh(model.of_query(model.query[0]) + model.of_key(H[:, n])))
        for n in range(N)
    ]
    weights = torch.cat(scores, 1).softmax(-1)
    read = sum(weights[:, n, None] * H[:, n] for n in range(N))
    torch.testing.assert_close(model.weigh(model.states(embedded)), weights)
    torch.testing.assert_close(model(words), model.classify(read)[:, 0])
    one = F.one_hot(torch.tensor([4, 0, 19]), N).double()
    torch.testing.assert_close(
        model(words, one), model.classify(H[torch.arange(B), [4, 0, 19]])[:, 0]
    )


@each
def test_a_state_knows_its_neighbours_or_its_word_only(kind):
    model, (words, _) = kind(WORDS, SIZE).double(), opinions(0, B)
    other = words.clone()
    other[:, 7] = (words[:, 7] + 1) % WORDS
    apart = (model.states(model.embed(words)) - model.states(model.embed(other))).abs().amax((0, 2))
    assert apart[7] > 1e-3
    assert (apart > 0).all() if kind is RecurrentReader else (apart > 0).sum() == 1


@each
def test_importance_is_a_slope_with_the_weights_held(kind):
    """Against a central difference along each word's vector."""
    model, (words, _) = kind(WORDS, SIZE).double(), opinions(1, B)
    embedded = model.embed(words).detach()
    weights = model.weigh(model.states(embedded))
    slopes = torch.zeros(B, N).double()
    for n in range(N):
        step = torch.zeros_like(embedded)
        step[:, n] = 1e-5 * embedded[:, n]
        up, down = (
            model.logit(model.states(embedded + s * step), weights.detach()) for s in (1, -1)
        )
        slopes[:, n] = ((up - down) / 2e-5).abs()
    torch.testing.assert_close(model.importance(words), slopes.detach(), rtol=1e-6, atol=1e-8)


@each
def test_a_reader_learns(kind):
    model = kind(WORDS, SIZE)
    words, label = opinions(0, 200 * 32)
    batches = list(zip(words.split(32), label.float().split(32), strict=True))
    losses = training.train(model, batches)
    assert losses.shape == (200,)
    assert losses[-20:].mean() < 0.5 * losses[:20].mean()


def test_given_weights_are_learned_with():
    """A word that gets no weight gets no gradient."""
    model = WordReader(WORDS, SIZE)
    words, label = torch.tensor([[1, 2, 3]]), torch.ones(1)
    training.train(model, [(words, torch.tensor([[0.5, 0.5, 0]]), label)])
    assert model.embed.weight.grad[1].abs().max() > 0
    assert model.embed.weight.grad[3].abs().max() == 0
    assert model.v.weight.grad is None


def test_an_imitator_answers_alike_and_looks_elsewhere():
    words, label = opinions(0, 300 * 32)
    batches = list(zip(words.split(32), label.float().split(32), strict=True))
    base, model = RecurrentReader(WORDS, 32), RecurrentReader(WORDS, 32)
    training.train(base, batches)
    before = [parameter.clone() for parameter in base.parameters()]
    losses = training.imitate(model, base, batches)
    assert all(map(torch.equal, before, base.parameters()))
    test, _ = opinions(1, 200)
    with torch.no_grad():
        p, q = torch.sigmoid(base(test)), torch.sigmoid(model(test))
        alpha, beta = (m.weigh(m.states(m.embed(test))) for m in (base, model))
        middle = ((alpha + beta) / 2).log()
        apart = sum(F.kl_div(middle, w, reduction="batchmean") for w in (alpha, beta)) / 2
    assert (p - q).abs().mean() < 0.2
    assert apart > 0.4
    # What the last steps paid is the difference of the answers minus the distance.
    assert losses[-10:].mean() == pytest.approx(float((p - q).abs().mean() - apart), abs=0.05)


def test_a_finder_reads_one_vector_by_its_weights():
    model = Finder(SIZE).double()
    cells, asked = torch.rand(B, 5, 8, 8).double(), torch.tensor([3, 0, 9])
    seen = torch.stack([model.look(cells[:, n : n + 1])[:, 0] for n in range(5)], 1)
    query = model.query(asked)[:, None]
    read = F.scaled_dot_product_attention(query, model.key(seen), model.value(seen))[:, 0]
    answer = torch.stack([read[b] @ model.answer.weight[asked[b]] for b in range(B)])
    torch.testing.assert_close(model(cells, asked), answer + model.bias)
    torch.testing.assert_close(model.weigh(seen, asked).sum(-1), torch.ones(B).double())


@pytest.mark.parametrize("places", [True, False])
def test_a_vision_transformer_is_torchs_encoder_over_squares(places):
    model, images = VisionTransformer(SIZE, 3, places).double(), torch.rand(B, 1, 8, 8).double()
    squares = F.unfold(images, 2, stride=2).mT  # (B, 16, 4)
    X = torch.cat([model.token.expand(B, 1, -1), model.embed(squares)], 1)
    if places:
        X = X + model.positions
    for layer in model.layers:
        X = layer(X)
    torch.testing.assert_close(model(images), model.classify(model.norm(X[:, 0])))
    learned = [name for name, p in model.named_parameters() if p.requires_grad]
    assert ("positions" in learned) == places


@pytest.mark.parametrize("places", [True, False])
def test_only_places_tell_shuffled_squares_apart(places):
    model, images = VisionTransformer(SIZE, 3, places).double(), torch.rand(B, 1, 8, 8).double()
    squares = F.unfold(images, 2, stride=2)[..., torch.randperm(16)]
    moved = (model(images) - model(F.fold(squares, (8, 8), 2, stride=2))).abs().max()
    assert (moved > 1e-6) == places


def test_the_weights_it_tells_are_those_it_used():
    model, images = VisionTransformer(SIZE, 3, True).double(), torch.rand(B, 1, 8, 8).double()
    told = model.attention(images)
    assert told.shape == (2, B, 3, 17, 17)
    torch.testing.assert_close(told.sum(-1), torch.ones(2, B, 3, 17).double())
    X = model.tokens(images)
    for layer, weights in zip(model.layers, told, strict=True):
        Y = layer.norm1(X)
        W, b = layer.self_attn.in_proj_weight, layer.self_attn.in_proj_bias
        Q, K, _ = (Y @ W.T + b).unflatten(-1, (3, 3, -1)).permute(2, 0, 3, 1, 4)
        torch.testing.assert_close(weights, (Q @ K.mT / (SIZE / 3) ** 0.5).softmax(-1))
        X = layer(X)


def test_training_takes_another_loss():
    model = VisionTransformer(SIZE, 3, True)
    X, y = torch.rand(32, 1, 8, 8), torch.arange(32) % 10
    losses = training.train(model, [(X, y)] * 60, F.cross_entropy, rate=5e-3)
    assert losses[-1] < 0.8 * losses[0]
