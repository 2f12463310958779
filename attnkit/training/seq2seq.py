"""An encoder and a decoder with and without attention, and the loop that trains them.

The one thing that differs between the models is what the decoder reads at a step: the same summary
of the source each time, or a context of its own. Shapes: source ``(B, N)`` and target ``(B, M)`` of
integers, mask ``(B, N)`` with True = may attend.
"""

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from attnkit.training import fit

READS = ("summary", "states", "embeddings")


class Encoder(nn.Module):
    """A GRU in each direction: annotations ``(B, N, H)`` and their summary ``(B, H)``."""

    def __init__(self, n_symbols, size):
        super().__init__()
        self.embed = nn.Embedding(n_symbols, size // 2)
        self.gru = nn.GRU(size // 2, size // 2, batch_first=True, bidirectional=True)

    def forward(self, source, mask):
        embedded = self.embed(source)  # (B, N, E)
        packed = pack_padded_sequence(embedded, mask.sum(-1), True, enforce_sorted=False)
        states, last = self.gru(packed)
        states, _ = pad_packed_sequence(states, batch_first=True)  # (B, N, H)
        return embedded, states, torch.cat([last[0], last[1]], dim=-1)


class Seq2Seq(nn.Module):
    """Encoder and decoder; ``reads`` says what the decoder reads at each step.

    - ``"summary"``: the last states of the encoder, the same at every step;
    - ``"states"``: a weighted average of the encoder's states;
    - ``"embeddings"``: an average, by weights found in the same way, of the bare embeddings.

    The weights come from the additive score of the previous decoder state with each annotation
    (Bahdanau et al. 2015, appendix A.1.2).
    """

    def __init__(self, n_source, n_target, size, reads):
        super().__init__()
        if reads not in READS:
            raise ValueError(f"reads is {reads!r}; it takes one of {', '.join(READS)}")
        self.reads = reads
        self.start = n_target  # one more symbol, which no target holds
        width = size // 2 if reads == "embeddings" else size
        self.encoder = Encoder(n_source, size)
        self.first = nn.Linear(size, size)
        self.embed = nn.Embedding(n_target + 1, size // 2)
        self.cell = nn.GRUCell(size // 2 + width, size)
        self.output = nn.Linear(size + width, n_target)
        if reads != "summary":
            self.of_query = nn.Linear(size, size, bias=False)
            self.of_key = nn.Linear(size, size, bias=False)
            self.v = nn.Linear(size, 1, bias=False)

    def forward(self, source, mask, steps, target=None):
        """Scores of the next symbol ``(B, M, n_target)`` and weights ``(B, M, N)`` or None.

        With ``target`` each step is told the true symbol before it (teacher forcing), without it
        the symbol that the step before chose.
        """
        embedded, states, summary = self.encoder(source, mask)
        state = torch.tanh(self.first(summary))  # (B, H)
        symbol = torch.full_like(source[:, 0], self.start)
        if self.reads != "summary":
            from_key = self.of_key(states)  # (B, N, H): the same at every step
            values = embedded if self.reads == "embeddings" else states
        logits, weights = [], []
        for step in range(steps):
            if self.reads == "summary":
                context = summary
            else:
                hidden = torch.tanh(from_key + self.of_query(state)[:, None])
                scores = self.v(hidden)[..., 0].masked_fill(~mask, -torch.inf)
                weight = scores.softmax(-1)  # (B, N); no source is empty
                context = (weight[:, None] @ values)[:, 0]  # (B, Dv)
                weights.append(weight)
            state = self.cell(torch.cat([self.embed(symbol), context], dim=-1), state)
            logits.append(self.output(torch.cat([state, context], dim=-1)))
            symbol = logits[-1].argmax(-1) if target is None else target[:, step]
        return torch.stack(logits, 1), torch.stack(weights, 1) if weights else None


def train(model, batches, rate=1e-2, clip=1.0):
    """Teacher forcing over a list of ``(source, mask, target)``; returns the loss of every step."""

    def loss(source, mask, target):
        logits, _ = model(source, mask, target.shape[1], target)
        return nn.functional.cross_entropy(logits.flatten(0, 1), target.flatten())

    return fit(model, batches, loss, rate, clip)
