"""A pointer network that sorts, with and without a mask, and the loop that trains it.

Slot 0 is the gate: what the decoder reads there says GO, and to point at it is to STOP. Shapes:
numbers ``(B, N)``; the slots that are pointed at ``(B, M)``, from 0 to ``N``.
"""

import torch
from torch import nn

from attnkit.pointer_network import log_distribution, unvisited
from attnkit.soft_attention import additive_scores
from attnkit.training import fit


class PointerNetwork(nn.Module):
    """An LSTM reads the numbers, another one writes; its additive scores of the states point.

    ``masked`` hides from each step what the sequence has pointed at, in training and in writing.
    """

    def __init__(self, size, masked):
        super().__init__()
        self.masked = masked
        self.embed = nn.Linear(1, size // 3)
        self.encoder = nn.LSTM(size // 3, size, batch_first=True)
        self.decoder = nn.LSTM(size // 3, size, batch_first=True)
        self.go = nn.Parameter(torch.zeros(size // 3))  # what the decoder reads first
        self.stop = nn.Parameter(torch.zeros(size))  # the state that it points at in the end
        self.of_query = nn.Linear(size, size, bias=False)
        self.of_key = nn.Linear(size, size, bias=False)
        self.v = nn.Linear(size, 1, bias=False)

    def encode(self, numbers):
        """Inputs ``(B, S, D)`` and states ``(B, S, size)`` of all slots, and the last state."""
        inputs = self.embed(numbers[..., None])  # (B, N, D)
        states, last = self.encoder(inputs)
        go, stop = (gate.expand(len(numbers), 1, -1) for gate in (self.go, self.stop))
        return torch.cat([go, inputs], 1), torch.cat([stop, states], 1), last

    def scores(self, queries, states):
        """The additive score of each step with each slot ``(B, M, S)``."""
        learned = (self.of_query.weight, self.of_key.weight, self.v.weight[0])
        return additive_scores(queries, states, *learned)

    def forward(self, numbers, chosen):
        """The logarithm of each step's distribution ``(B, M, S)``, told what was ``chosen``."""
        inputs, states, last = self.encode(numbers)
        before = torch.cat([torch.zeros_like(chosen[:, :1]), chosen[:, :-1]], 1)
        queries, _ = self.decoder(inputs.take_along_dim(before[..., None], 1), last)
        scores = self.scores(queries, states)
        everything = torch.ones_like(scores, dtype=torch.bool)
        return log_distribution(
            scores, unvisited(chosen, scores.shape[-1]) if self.masked else everything
        )

    @torch.no_grad()
    def write(self, numbers, masked=None):
        """The greedy search: slots ``(B, N + 1)`` and the logarithms it chose by ``(B, N + 1, S)``.

        After STOP only the gate is left. ``masked`` may differ from the training, to see what
        happens.
        """
        masked = self.masked if masked is None else masked
        inputs, states, carried = self.encode(numbers)
        slots = torch.arange(inputs.shape[1])
        visible = torch.ones(inputs.shape[:2], dtype=torch.bool)
        slot = torch.zeros_like(visible[:, :1], dtype=torch.long)
        chosen, logs = [], []
        for _ in slots:
            queries, carried = self.decoder(inputs.take_along_dim(slot[..., None], 1), carried)
            log_p = log_distribution(self.scores(queries, states)[:, 0], visible)  # (B, S)
            slot = log_p.argmax(-1, keepdim=True)
            if masked:
                visible = visible & (slots != slot)
            visible = visible & (slot != 0) | (slots == 0)
            chosen.append(slot)
            logs.append(log_p)
        return torch.cat(chosen, 1), torch.stack(logs, 1)


def train(model, batches, rate=4e-3, clip=2.0):
    """Teacher forcing over a list of ``(numbers, chosen)``; returns the loss of every step."""

    def loss(numbers, chosen):
        return -model(numbers, chosen).take_along_dim(chosen[..., None], -1).mean()

    return fit(model, batches, loss, rate, clip)
