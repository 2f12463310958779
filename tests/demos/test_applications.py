"""The two readers of opinions answer in the page as they do in torch, whatever the weights."""

import numpy as np
import pytest
import torch
from traitlets import TraitError

from attnkit.applications import adversarial_weights, jensen_shannon
from attnkit.data.applications import VOCABULARY, opinions
from attnkit.demos import applications as demos
from attnkit.training.applications import RecurrentReader, WordReader, train

from .node import close, node

TRAITS = ("texts", "recurrent", "per_word", "text", "encoder", "kind", "shuffle", "yours")
READERS = {"recurrent": RecurrentReader, "per_word": WordReader}
ONE = np.ones(1)


@pytest.fixture(scope="module")
def words():
    return torch.from_numpy(opinions(np.random.default_rng(1), 3)[0])


@pytest.fixture(scope="module")
def readers():
    """Both models, trained for a moment so that they differ from chance."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    models = {}
    for name, kind in READERS.items():
        models[name] = kind(len(VOCABULARY), 8).double()
        drawn = [map(torch.from_numpy, opinions(rng, 16)[:2]) for _ in range(60)]
        train(models[name], [(words, label.double()) for words, label in drawn])
    return models


@torch.no_grad()
def reading(model, words):
    """The weights of all texts, and their values."""
    states = model.states(model.embed(words))
    return torch.stack([model.weigh(states), model.classify(states)[..., 0]]).numpy()


@pytest.fixture
def demo(readers, words):
    texts = [[VOCABULARY[word] for word in text] for text in words]
    return demos.IsThisAnExplanation(
        texts=texts, **{name: reading(model, words) for name, model in readers.items()}
    )


def state(demo, **other):
    return {name: getattr(demo, name) for name in TRAITS} | other


@torch.no_grad()
def good(model, words, weights):
    """The probability that torch gives, from the states themselves."""
    states = model.states(model.embed(words))
    return torch.sigmoid(model.logit(states, torch.tensor(weights)[None]))[0].item()


@pytest.mark.parametrize("encoder", READERS)
@pytest.mark.parametrize("kind", ["own", "equal", "shuffled", "adversary", "yours"])
def test_the_page_answers_as_torch_does(demo, readers, words, encoder, kind):
    rng = np.random.default_rng(2)
    yours = rng.dirichlet(np.ones(words.shape[1]), size=len(words))
    calls = [
        ("compute", state(demo, encoder=encoder, kind=kind, text=text, yours=yours[text].tolist()))
        for text in range(len(words))
    ]
    for text, result in enumerate(node(demo, *calls)):
        model, read = readers[encoder], words[text : text + 1]
        own, values = reading(model, read)[:, 0]
        weights = np.array(result["weights"], float)
        close(result["p"], good(model, read, weights))
        close(result["pOwn"], torch.sigmoid(model(read)).item())
        close(result["own"], own)
        close(result["contributions"], weights * values)
        close(result["score"], (weights * values).sum())
        close(result["distance"], jensen_shannon(own, weights))
        assert np.isclose(weights.sum(), 1)
        wanted = {"own": own, "equal": np.full(len(own), 1 / len(own)), "yours": yours[text]}
        if kind in wanted:
            close(weights, wanted[kind])


def test_a_shuffle_keeps_the_weights_and_changes_their_order(demo, readers, words):
    calls = [("compute", state(demo, kind="shuffled", shuffle=k)) for k in range(1, 101)]
    results = node(demo, *calls)
    own = np.array(results[0]["own"])
    rows = np.array([result["weights"] for result in results])
    close(np.sort(rows), np.tile(np.sort(own), (100, 1)))
    assert len(np.unique(rows, axis=0)) == 100
    answers = [good(readers["recurrent"], words[:1], row) for row in rows]
    close([result["p"] for result in results], answers)
    close(results[0]["shuffles"], answers)
    before = results[0]["pOwn"]
    close(results[0]["median"], np.median(np.abs(np.array(answers) - before)))
    assert results[0]["turned"] == sum((p > 0.5) != (before > 0.5) for p in answers)


def test_every_place_gets_every_weight():
    """Over the hundred shuffles the largest weight stands everywhere about as often."""
    weights = np.zeros((2, 1, 4))
    weights[0, :, 0] = 1
    demo = demos.IsThisAnExplanation(texts=[list("abcd")], recurrent=weights, per_word=weights)
    calls = [("compute", state(demo, kind="shuffled", shuffle=k)) for k in range(1, 101)]
    places = [np.argmax(result["weights"]) for result in node(demo, *calls)]
    assert np.bincount(places, minlength=4).min() >= 13  # 25 expected, deviation 4.3


@pytest.mark.parametrize("scale", [0.1, 1, 8])
def test_the_adversary_is_the_chapters(scale):
    rng = np.random.default_rng(3)
    own = rng.dirichlet(np.ones(7), size=4)
    values = scale * rng.standard_normal((4, 7))
    calls = [("adversary", *pair) for pair in zip(own.tolist(), values.tolist(), strict=True)]
    close(node(demos.IsThisAnExplanation, *calls), adversarial_weights(own, values[..., None], ONE))


def test_the_others_share_what_is_left(demo):
    got = node(
        demo,
        ("moved", [0.5, 0.3, 0.2], 0, 0.0),
        ("moved", [0.5, 0.3, 0.2], 2, 0.6),
        ("moved", [0.0, 1.0, 0.0], 1, 0.4),
        ("moved", [0.0, 1.0, 0.0], 0, 1),
    )
    close(got, [[0, 0.6, 0.4], [0.25, 0.15, 0.6], [0.3, 0.4, 0.3], [1, 0, 0]])


def test_a_hand_starts_from_equal_weights(demo):
    close(demo.yours, np.full(20, 0.05))


WRONG = [
    ("recurrent", np.ones((2, 3, 20)), "recurrent must be weights and values, .* add to one"),
    ("per_word", np.full((2, 3, 4), 0.25), r"each word .*; got shape \(3, 4\), .* \(3, 20\)"),
    ("per_word", np.full((2, 2, 20), 0.05), "per_word must have a number"),
    ("per_word", np.full((2, 3, 20), np.nan), "per_word must be"),
    ("recurrent", "no", "recurrent must be"),
    ("yours", np.full(20, 0.1), "yours must be .* that add to one"),
    ("yours", [0.5, 0.5], "yours must have a number for each word"),
    ("text", 3, "text must be less than 3"),
    ("encoder", "LSTM", "encoder"),
    ("kind", "random", "kind"),
    ("shuffle", 101, "shuffle"),
]


@pytest.mark.parametrize(("name", "value", "message"), WRONG)
def test_wrong_traits_are_named(demo, name, value, message):
    before = getattr(demo, name)
    with pytest.raises(TraitError, match=message):
        setattr(demo, name, value)
    assert getattr(demo, name) == before


def test_texts_are_of_one_length():
    texts, weights = [["a", "b"], ["a", "b", "c"]], [[[0.5, 0.5]] * 2] * 2
    with pytest.raises(TraitError, match=r"they take \(.*2,?\) and \(.*3,?\)"):
        demos.IsThisAnExplanation(texts=texts, recurrent=weights, per_word=weights)
