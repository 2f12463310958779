"""A decoder of pre-norm blocks, with or without feed-forward networks, and the loop that trains it.

One model serves the whole chapter: without feed-forward networks it is the attention-only model in
which induction heads appear, with them it is the language model. Shapes: tokens ``(B, M)``; what
it has cached are keys and values ``(B, h, N, D / h)``, a pair a layer.
"""

import torch
from torch import nn

from attnkit.multi_head_attention import merge_heads, split_heads
from attnkit.self_attention import masked_softmax
from attnkit.training import fit


class Block(nn.Module):
    """``X + attention(norm(X))`` and, if there are ``hidden`` features, the same with a network."""

    def __init__(self, size, heads, hidden):
        super().__init__()
        self.heads = heads
        self.norm = nn.LayerNorm(size)
        self.of_query = nn.Linear(size, size, bias=False)
        self.of_key = nn.Linear(size, size, bias=False)
        self.of_value = nn.Linear(size, size, bias=False)
        self.mix = nn.Linear(size, size, bias=False)
        if hidden:
            self.feed_forward = nn.Sequential(
                nn.LayerNorm(size), nn.Linear(size, hidden), nn.ReLU(), nn.Linear(hidden, size)
            )
        else:
            self.feed_forward = None

    def forward(self, X, cache, keep):
        """New vectors ``(B, M, D)``, weights ``(B, h, M, N)``, and the cache with M more places."""
        Z = self.norm(X)
        Q, K, V = (
            split_heads(project(Z), self.heads)  # (B, h, M, D / h)
            for project in (self.of_query, self.of_key, self.of_value)
        )
        if cache is not None:
            K, V = torch.cat([cache[0], K], -2), torch.cat([cache[1], V], -2)  # (B, h, N, D / h)
        M, N = Q.shape[-2], K.shape[-2]
        causal = torch.ones(M, N, dtype=torch.bool).tril(N - M)  # the last query sees everything
        weights = masked_softmax(Q @ K.mT / Q.shape[-1] ** 0.5, causal)
        X = X + self.mix(merge_heads(weights @ V * keep[:, None, None]))
        if self.feed_forward is not None:
            X = X + self.feed_forward(X)
        return X, weights, (K, V)


class Decoder(nn.Module):
    """Embeddings of tokens and of places, blocks, a last norm, and a score for each next token.

    ``longest`` is the number of places; without ``hidden`` features the blocks are attention only.
    """

    def __init__(self, n_tokens, size, layers, heads, longest, hidden=0):
        super().__init__()
        self.embed = nn.Embedding(n_tokens, size)
        self.places = nn.Embedding(longest, size)
        self.blocks = nn.ModuleList(Block(size, heads, hidden) for _ in range(layers))
        self.norm = nn.LayerNorm(size)
        self.output = nn.Linear(size, n_tokens)

    def forward(self, tokens, caches=None, keep=None):
        """Scores ``(B, M, n_tokens)``, weights ``(B, layers, h, M, N)``, and caches, one a block.

        ``caches`` hold the places before these ``tokens``; ``keep (layers, h)`` has a zero for
        each head that is taken away.
        """
        layers = len(self.blocks)
        caches = [None] * layers if caches is None else caches
        keep = torch.ones(layers, self.blocks[0].heads) if keep is None else keep
        before = 0 if caches[0] is None else caches[0][0].shape[-2]
        places = torch.arange(before, before + tokens.shape[1])
        X = self.embed(tokens) + self.places(places)  # (B, M, D)
        all_weights, grown = [], []
        for block, cache, kept in zip(self.blocks, caches, keep, strict=True):
            X, weights, cache = block(X, cache, kept)
            all_weights.append(weights)
            grown.append(cache)
        return self.output(self.norm(X)), torch.stack(all_weights, 1), grown

    @torch.no_grad()
    def write(self, tokens, steps, temperature=1.0):
        """``tokens (1, M)`` continued by ``steps`` drawn ones, each from its row and the caches."""
        scores, _, caches = self(tokens)
        for _ in range(steps):
            p = (scores[:, -1] / temperature).softmax(-1)
            drawn = torch.multinomial(p, 1)  # (1, 1)
            tokens = torch.cat([tokens, drawn], 1)
            scores, _, caches = self(drawn, caches)
        return tokens


def train(model, batches, rate=4e-3, clip=1.0):
    """Teacher forcing over a list of ``(tokens, first)``; returns the loss of every step.

    The loss counts the predictions of ``tokens[:, first:]``.
    """

    def loss(tokens, first):
        scores, _, _ = model(tokens[:, :-1])
        counted = scores[:, first - 1 :].flatten(0, 1)
        return nn.functional.cross_entropy(counted, tokens[:, first:].flatten())

    return fit(model, batches, loss, rate, clip)
