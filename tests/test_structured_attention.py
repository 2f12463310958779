"""The reference implementations of structured attention, held to brute force, autograd, torch."""

import itertools

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from attnkit import structured_attention as structured
from attnkit.checking import laws
from attnkit.data import structured_attention as data
from tests.arrays import close

BATCH, N, S = 2, 5, 3  # all different, so that a wrong axis cannot hide


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def brute_force(unary, transition):
    """Log Z and the marginals by going through every chain."""
    N, S = unary.shape
    chains = np.array(list(itertools.product(range(S), repeat=N)))
    scores = unary[np.arange(N), chains].sum(1)
    scores = scores + transition[chains[:, :-1], chains[:, 1:]].sum(1)
    log_z = torch.logsumexp(torch.tensor(scores), 0).item()
    probabilities = np.exp(scores - log_z)
    marginals = [[probabilities[chains[:, n] == s].sum() for s in range(S)] for n in range(N)]
    return log_z, np.array(marginals)


# ------------------------------------------------------------------ the chain


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 7), st.integers(1, 4), st.sampled_from([0.1, 1.0, 30.0]), st.integers(0, 99))
def test_the_chain_is_the_sum_over_all_chains(N, S, scale, seed):
    rng = np.random.default_rng(seed)
    unary, transition = scale * rng.normal(size=(N, S)), scale * rng.normal(size=(S, S))
    log_z, marginals = brute_force(unary, transition)
    close(structured.log_partition(unary, transition), log_z)
    close(structured.chain_marginals(unary, transition), marginals)


def test_marginals_are_the_gradient_of_log_z(rng):
    unary = torch.tensor(rng.normal(size=(BATCH, 9, S)), requires_grad=True)
    transition = torch.tensor(rng.normal(size=(S, S)))
    (gradient,) = torch.autograd.grad(structured.log_partition(unary, transition).sum(), unary)
    close(gradient, structured.chain_marginals(unary, transition).detach())


def test_the_gradient_in_the_transition_counts_steps(rng):
    unary = torch.tensor(rng.normal(size=(N, S)))
    transition = torch.tensor(rng.normal(size=(S, S)), requires_grad=True)
    (steps,) = torch.autograd.grad(structured.log_partition(unary, transition), transition)
    marginals = structured.chain_marginals(unary, transition).detach()
    close(steps.sum(1), marginals[:-1].sum(0))  # leaving each state
    close(steps.sum(0), marginals[1:].sum(0))  # entering it


@pytest.mark.parametrize("scale", [300.0, 1000.0])
def test_the_chain_at_the_extremes_follows_the_best_chain(rng, scale):
    unary, transition = scale * rng.normal(size=(6, S)), scale * rng.normal(size=(S, S))
    chains = np.array(list(itertools.product(range(S), repeat=6)))
    scores = unary[np.arange(6), chains].sum(1) + transition[chains[:, :-1], chains[:, 1:]].sum(1)
    assert np.diff(np.sort(scores))[-1] > 30  # one chain has all the weight
    best = chains[scores.argmax()]
    close(structured.chain_marginals(unary, transition), np.eye(S)[best])
    close(structured.log_partition(unary, transition), scores.max(), 1e-8 * scale)


def test_a_chain_of_a_thousand_positions(rng):
    unary, transition = rng.normal(size=(1000, 2)) - 20, rng.normal(size=(2, 2))
    marginals = structured.chain_marginals(unary, transition)
    close(marginals.sum(-1), np.ones(1000))
    assert np.isfinite(structured.log_partition(unary, transition))


@pytest.mark.parametrize(
    "law",
    [
        laws.sums_to(1, along=lambda arguments: -1),
        laws.not_negative(),
        laws.shift_invariant("unary", along=lambda arguments: -1),
        laws.batch_independent("unary", rank=2),
        laws.finite_gradients("unary", "transition"),
    ],
    ids=lambda law: law.sentence,
)
@pytest.mark.parametrize("scale", [1.0, 1000.0])
def test_laws_of_the_marginals(rng, law, scale):
    arguments = {
        "unary": scale * rng.normal(size=(BATCH, N, S)),
        "transition": scale * rng.normal(size=(S, S)),
    }
    close = laws.within(1e-12 * scale)
    assert law.broken_by(structured.chain_marginals, arguments, close=close) is None


def test_weights_without_transitions_are_sigmoids(rng):
    scores = 5 * rng.normal(size=(BATCH, N))
    for shared in (0.0, -3.0):  # a transition equal for all steps is none
        close(
            structured.chain_weights(scores, np.full((2, 2), shared)),
            torch.sigmoid(torch.tensor(scores)),
        )


def test_weights_are_the_marginals_of_yes(rng):
    scores, transition = rng.normal(size=N), rng.normal(size=(2, 2))
    unary = np.stack([np.zeros(N), scores], axis=-1)
    close(structured.chain_weights(scores, transition), brute_force(unary, transition)[1][:, 1])


def test_only_one_number_of_the_transition_is_new(rng):
    """Inside a chain, t(0,0) + t(1,1) - t(0,1) - t(1,0) is all that scores cannot take over."""
    scores = rng.normal(size=N)
    a, b, c, d = rng.normal(size=4)
    # Into the scores goes what leaving and entering state 1 costs; the ends have one side only.
    leaving, entering = np.full(N, c - a), np.full(N, b - a)
    leaving[-1] = entering[0] = 0
    bond = np.array([[0.0, 0.0], [0.0, a + d - b - c]])
    close(
        structured.chain_weights(scores + leaving + entering, bond),
        structured.chain_weights(scores, np.array([[a, b], [c, d]])),
    )


# ------------------------------------------------------------------ the hierarchy

L, WORDS, D, H, G = 3, 5, 4, 6, 7


@pytest.fixture
def document(rng):
    return {
        "X": rng.normal(size=(BATCH, L, WORDS, D)),
        "W_word": rng.normal(size=(H, D)),
        "q_word": rng.normal(size=H),
        "W_sentence": rng.normal(size=(G, D)),
        "q_sentence": rng.normal(size=G),
        "word_mask": rng.random((BATCH, L, WORDS)) > 0.3,
        "sentence_mask": np.ones((BATCH, L), bool),
    }


def pool(items, W, q, mask):
    """Torch's own attention, with the key made by a hidden layer and one query for all."""
    keys = torch.tanh(items @ W.T)
    read = torch.nn.functional.scaled_dot_product_attention(
        q.expand(*items.shape[:-2], 1, -1), keys, items, attn_mask=mask[..., None, :], scale=1.0
    )
    return read[..., 0, :]


def test_the_hierarchy_is_torchs_attention_twice(document):
    document["word_mask"][..., 0] = True
    document["sentence_mask"][0, -1] = False
    X, W_w, q_w, W_s, q_s, words, sentences = map(torch.tensor, document.values())
    expected = pool(pool(X, W_w, q_w, words), W_s, q_s, sentences)
    close(structured.hierarchical_attention(**document)[0], expected)


def test_what_is_hidden_has_no_weight_and_the_rest_adds_to_one(document):
    document["word_mask"][0, 1] = False
    document["sentence_mask"][1, 0] = False
    _, words, sentences = structured.hierarchical_attention(**document)
    assert np.all(words[~document["word_mask"]] == 0)
    assert sentences[0, 1] == sentences[1, 0] == 0
    close(words.sum(-1), document["word_mask"].any(-1))
    close(sentences.sum(-1), [1, 1])


def test_an_empty_document_gives_zeros_and_finite_gradients(document):
    document["word_mask"][0] = False
    leaves = {k: torch.tensor(v) for k, v in document.items()}
    for name in ("X", "W_word", "q_word", "W_sentence", "q_sentence"):
        leaves[name].requires_grad_()
    read, words, sentences = structured.hierarchical_attention(**leaves)
    close(read[0].detach(), np.zeros(D))
    close(words[0].detach(), np.zeros((L, WORDS)))
    close(sentences[0].detach(), np.zeros(L))
    read.sum().backward()
    assert all(torch.isfinite(leaf.grad).all() for leaf in leaves.values() if leaf.requires_grad)


def test_huge_hidden_scores_do_not_reach_the_rest(document):
    document["q_word"] = 1e4 * document["q_word"]
    shown = structured.hierarchical_attention(**document)
    hidden = ~document["word_mask"]
    document["X"] = np.where(hidden[..., None], -50.0, document["X"])
    for one, other in zip(shown, structured.hierarchical_attention(**document), strict=True):
        close(one, other)


def test_one_sentence_of_one_word_is_the_word(rng):
    X, one = rng.normal(size=(1, 1, D)), np.ones((1, 1), bool)
    read, words, sentences = structured.hierarchical_attention(
        X, np.ones((H, D)), np.ones(H), np.ones((G, D)), np.ones(G), one, one[0]
    )
    close(read, X[0, 0])
    assert words == sentences == 1


@pytest.mark.parametrize(
    ("name", "value", "error", "message"),
    [
        ("word_mask", np.ones((BATCH, L, WORDS)), TypeError, "word_mask is not .* Booleans"),
        ("sentence_mask", [True] * L, TypeError, "sentence_mask is not"),
        ("word_mask", np.ones((L, WORDS), bool), ValueError, r"it takes \(2, 3, 5\)"),
        ("sentence_mask", np.ones((BATCH, L, 1), bool), ValueError, r"it takes \(2, 3\)"),
        ("q_word", np.ones(H + 1), ValueError, "H"),
    ],
)
def test_wrong_arguments_are_named(document, name, value, error, message):
    with pytest.raises(error, match=message):
        structured.hierarchical_attention(**{**document, name: value})


def test_a_transition_has_to_be_square(rng):
    with pytest.raises(ValueError, match="transition has shape"):
        structured.chain_marginals(rng.normal(size=(N, S)), rng.normal(size=(S, S + 1)))
    with pytest.raises(ValueError, match=r"no and yes take \(2, 2\)"):
        structured.chain_weights(rng.normal(size=N), rng.normal(size=(3, 3)))


# ------------------------------------------------------------------ both libraries, no side effects


def calls(rng, document):
    unary, transition = rng.normal(size=(BATCH, N, S)), rng.normal(size=(S, S))
    return [
        (structured.log_partition, (unary, transition)),
        (structured.chain_marginals, (unary, transition)),
        (structured.chain_weights, (unary[..., 0], transition[:2, :2])),
        (structured.hierarchical_attention, tuple(document.values())),
    ]


def all_close(ours, oracle):
    pairs = zip(ours, oracle, strict=True) if isinstance(ours, tuple) else [(ours, oracle)]
    for one, other in pairs:
        close(one, other)


def test_numpy_and_torch_agree_and_inputs_stay(rng, document):
    for function, arguments in calls(rng, document):
        before = [a.copy() for a in arguments]
        all_close(function(*arguments), function(*map(torch.tensor, arguments)))
        assert all(np.array_equal(a, b) for a, b in zip(arguments, before, strict=True))


def test_memory_layout_does_not_matter(rng, document):
    for function, (first, *rest) in calls(rng, document):
        strided = np.swapaxes(np.swapaxes(first, -1, -2).copy(), -1, -2)
        assert not strided.flags.c_contiguous
        all_close(function(strided, *rest), function(first, *rest))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_dtype_stays(document, dtype):
    unary, transition = np.ones((N, S), dtype), np.ones((S, S), dtype)
    assert structured.chain_marginals(unary, transition).dtype == dtype
    assert structured.log_partition(unary, transition).dtype == dtype
    document = {k: v if v.dtype == bool else v.astype(dtype) for k, v in document.items()}
    assert {part.dtype for part in structured.hierarchical_attention(**document)} == {
        np.dtype(dtype)
    }


# ------------------------------------------------------------------ toy data


def test_segments_are_what_they_say():
    evidence, values, inside, target = data.segments(2000, seed=1)
    assert evidence.shape == values.shape == inside.shape == (2000, 16)
    edges = np.diff(np.pad(inside.astype(int), ((0, 0), (1, 1))), axis=1)
    assert np.all((edges == 1).sum(1) == 1)  # one stretch
    assert set(inside.sum(1)) == {4, 5, 6, 7, 8}
    close(target, [v[z].sum() for v, z in zip(values, inside, strict=True)])
    noise = evidence - np.where(inside, 1, -1)
    assert abs(noise.std() - 1.5) < 0.05
    assert abs(noise.mean()) < 0.05


def test_all_segments_are_those_that_are_drawn():
    every, probabilities = data.all_segments()
    assert len(np.unique(every, axis=0)) == len(every) == 13 + 12 + 11 + 10 + 9
    close(probabilities.sum(), 1)
    _, _, inside, _ = data.segments(20_000, seed=2)
    close(inside.mean(0), probabilities @ every, 0.02)


@pytest.mark.parametrize("decoys", [True, False])
def test_documents_have_one_key_sentence(decoys):
    words, word_mask, sentence_mask, key, label = data.documents(500, seed=1, decoys=decoys)
    assert words.shape == word_mask.shape == (500, 12, 12)
    assert np.array_equal(word_mask.any(-1), sentence_mask)
    assert word_mask.sum(-1)[sentence_mask].min() == 6
    assert sentence_mask.sum(-1).min() == 8
    cue = (words == data.VOCABULARY.index(data.CUE)) & word_mask
    opinion = (words < len(data.OPINIONS)) & word_mask
    review = np.arange(500)
    assert np.all(cue.sum((1, 2)) == 1)
    assert np.all(cue[review, key].sum(-1) == 1)
    assert np.all(opinion.sum(-1) == (sentence_mask if decoys else cue.any(-1)))
    said = np.where(opinion[review, key], words[review, key], 0).sum(-1)
    assert np.array_equal(said, label)
    assert set(label) == set(range(len(data.OPINIONS)))


@pytest.mark.parametrize("draw", [data.segments, data.documents])
def test_same_seed_same_data(draw):
    for one, other in zip(draw(7, seed=3), draw(7, seed=3), strict=True):
        assert np.array_equal(one, other)
    assert not np.array_equal(draw(7, seed=3)[0], draw(7, seed=4)[0])
