"""The trained models: their steps, what they may see, and that training makes them better."""

import numpy as np
import pytest
import torch

from attnkit import seq2seq
from attnkit.training.seq2seq import READS, Encoder, Seq2Seq, train

ATTENDING = [reads for reads in READS if reads != "summary"]
B, N, M, SYMBOLS, SIZE = 3, 5, 4, 7, 12

each = pytest.mark.parametrize("reads", READS)
attending = pytest.mark.parametrize("reads", ATTENDING)


@pytest.fixture(autouse=True)
def one_thread_and_one_seed():
    torch.set_num_threads(1)
    torch.manual_seed(0)


def model_of(reads):
    return Seq2Seq(SYMBOLS, SYMBOLS, SIZE, reads).double()


def some(lengths=(N, 2, 4)):
    source = torch.randint(SYMBOLS, (B, N))
    return source, torch.arange(N) < torch.tensor(lengths)[:, None]


@each
def test_shapes(reads):
    logits, weights = model_of(reads)(*some(), M)
    assert logits.shape == (B, M, SYMBOLS)
    assert weights is None if reads == "summary" else weights.shape == (B, M, N)


@each
def test_padding_changes_nothing(reads):
    model, (source, mask) = model_of(reads), some()
    other = torch.where(mask, source, (source + 1) % SYMBOLS)
    assert not torch.equal(source, other)
    for one, two in zip(model(source, mask, M), model(other, mask, M), strict=True):
        torch.testing.assert_close(one, two, rtol=0, atol=1e-12)
    alone, _ = model(source[1:2, :2], mask[1:2, :2], M)
    torch.testing.assert_close(model(source, mask, M)[0][1:2], alone, rtol=0, atol=1e-12)


def test_encoder_reads_in_both_directions():
    """One GRU in each direction, each as torch runs it alone."""
    encoder = Encoder(SYMBOLS, SIZE).double()
    source = torch.randint(SYMBOLS, (1, N))
    embedded, states, summary = encoder(source, torch.ones(1, N, dtype=bool))
    half = SIZE // 2
    for suffix, inputs, part in (
        ("", embedded, states[..., :half]),
        ("_reverse", embedded.flip(1), states[..., half:].flip(1)),
    ):
        alone = torch.nn.GRU(half, half, batch_first=True).double()
        for name, parameter in alone.named_parameters():
            parameter.data = getattr(encoder.gru, name + suffix).data
        torch.testing.assert_close(alone(inputs)[0], part)
    assert torch.equal(summary, torch.cat([states[:, -1, :half], states[:, 0, half:]], -1))


@attending
def test_the_first_step_is_bahdanaus(reads):
    """Weights and context are those of the reference, asked by the state before the step."""
    model, (source, mask) = model_of(reads), some()
    embedded, h, summary = model.encoder(source, mask)
    state = torch.tanh(model.first(summary))
    learned = (model.of_query.weight, model.of_key.weight, model.v.weight[0])
    W = torch.zeros(SIZE, SIZE + 2 + SIZE).double()
    given = [x.detach() for x in (state, torch.zeros(B, 2).double(), h)]
    _, context, weights = seq2seq.bahdanau_step(*given, mask, *(p.detach() for p in learned), W)
    logits, ours = model(source, mask, 1)
    torch.testing.assert_close(ours[:, 0], weights)
    if reads == "embeddings":
        context = torch.einsum("bn,bnd->bd", weights, embedded)
    start = model.embed(torch.full((B,), SYMBOLS))
    new = model.cell(torch.cat([start, context], -1), state)
    torch.testing.assert_close(logits[:, 0], model.output(torch.cat([new, context], -1)))


@each
def test_without_a_teacher_it_is_told_what_it_wrote(reads):
    model, (source, mask) = model_of(reads), some()
    logits, _ = model(source, mask, M)
    told, _ = model(source, mask, M, target=logits.argmax(-1))
    assert torch.equal(logits, told)
    other, _ = model(source, mask, M, target=(logits.argmax(-1) + 1) % SYMBOLS)
    assert torch.equal(logits[:, 0], other[:, 0])
    assert not torch.allclose(logits[:, 1:], other[:, 1:])


@each
def test_training_makes_it_better_and_repeats_itself(reads):
    rng = np.random.default_rng(0)
    source = [torch.from_numpy(rng.integers(SYMBOLS, size=(32, 3))) for _ in range(60)]
    batches = [(s, torch.ones_like(s, dtype=torch.bool), s.flip(1)) for s in source]
    runs = []
    for _ in range(2):
        torch.manual_seed(0)
        runs.append(train(Seq2Seq(SYMBOLS, SYMBOLS, SIZE, reads), batches))
    assert runs[0].shape == (60,)
    assert np.array_equal(*runs)
    assert runs[0][-10:].mean() < 0.8 * runs[0][:10].mean()


def test_what_a_model_can_read_is_named():
    with pytest.raises(ValueError, match="reads is 'words'; it takes one of summary, states, emb"):
        Seq2Seq(SYMBOLS, SYMBOLS, SIZE, "words")
