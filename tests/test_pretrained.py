"""The trained encoder: what can be tested without it, and with it, if it is installed."""

import json

import pytest
import torch
from torch import nn

from attnkit import pretrained

installed = pytest.mark.skipif(pretrained.folder() is None, reason=pretrained.INSTALL)
TEXT = "The animal didn't cross the street because it was too tired."


def test_without_the_package_there_is_none(monkeypatch):
    monkeypatch.setattr(pretrained, "PACKAGE", "no_such_package")
    assert pretrained.encoder() is None


def test_tensors_come_out_as_they_went_in(tmp_path):
    """A file written by hand after the published layout."""
    numbers = torch.randn(3, 5)
    raw = b"\x01" * 8 + numbers.numpy().tobytes()
    header = {
        "__metadata__": {"format": "pt"},
        "places": {"dtype": "I64", "shape": [1], "data_offsets": [0, 8]},
        "table": {"dtype": "F32", "shape": [3, 5], "data_offsets": [8, 68]},
    }
    head = json.dumps(header).encode()
    path = tmp_path / "some.safetensors"
    path.write_bytes(len(head).to_bytes(8, "little") + head + raw)
    found = pretrained.tensors(path)
    assert found.keys() == {"table"}
    assert torch.equal(found["table"], numbers)


def test_a_word_without_pieces_is_unknown():
    assert pretrained.pieces_of("attend!", {"attend"}) == ["[UNK]"]
    assert pretrained.pieces_of("attends", {"attend", "s"}) == ["[UNK]"]


@pytest.fixture(scope="module")
def encoder():
    return pretrained.encoder()


@installed
def test_tokens_are_those_of_the_published_tokenizer(encoder):
    seen = "[CLS] the animal didn ' t cross the street because it was too tired . [SEP]"
    assert " ".join(encoder.tokens(TEXT)) == seen
    assert encoder.tokens("Tokenizers") == ["[CLS]", "token", "##izer", "##s", "[SEP]"]


@installed
def test_weights_are_those_of_the_published_model(encoder):
    """The share of all weight on [CLS] by layer, as the library of its authors gives it."""
    states = encoder.states(encoder.tokens(TEXT))
    alpha = [
        layer.self_attn(X, X, X, average_attn_weights=False)[1][0]
        for layer, X in zip(encoder.layers, states, strict=False)
    ]
    on_first = torch.stack([weights[..., 0].mean() for weights in alpha])
    expected = torch.tensor([0.21, 0.54, 0.58, 0.49, 0.60, 0.37])
    torch.testing.assert_close(on_first, expected, atol=0.006, rtol=0)
    before = alpha[0].diagonal(-1, 1, 2).mean(-1)
    assert before.argmax() == 2
    assert before[2] > 0.999


@installed
def test_like_sentences_have_like_vectors(encoder):
    def vector(text):
        return nn.functional.normalize(encoder.states(encoder.tokens(text))[-1][0].mean(0), dim=0)

    meal, food = vector("A man is eating a meal."), vector("A man is eating food.")
    assert meal @ food > 0.8
    assert (meal @ vector("The stock market fell today.")).abs() < 0.2
