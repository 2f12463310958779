"""The networks that the chapter on applications trains.

Two readers of opinions differ in one thing: whether the words meet before they are weighed.
"""

import torch
import torch.nn.functional as F
from torch import nn

from attnkit.soft_attention import additive_scores, softmax
from attnkit.training import fit


class Reader(nn.Module):
    """Additive attention over the states of a text's words, and one logistic output.

    A kind of reader says in ``states`` how the embedded words become states. Shapes: words
    ``(B, N)``, states ``(B, N, D)``, weights ``(B, N)``.
    """

    def __init__(self, n_words, size):
        super().__init__()
        self.embed = nn.Embedding(n_words, size)
        self.query = nn.Parameter(torch.randn(1, size))
        self.of_query = nn.Linear(size, size, bias=False)
        self.of_key = nn.Linear(size, size, bias=False)
        self.v = nn.Linear(size, 1, bias=False)
        self.classify = nn.Linear(size, 1, bias=False)

    def weigh(self, states):
        """The model's own weights of the words."""
        learned = (self.of_query.weight, self.of_key.weight, self.v.weight[0])
        return softmax(additive_scores(self.query, states, *learned)[:, 0])

    def logit(self, states, weights):
        """The score for good ``(B,)``, read from states that stay as they are."""
        read = (weights[:, None] @ states)[:, 0]  # (B, D)
        return self.classify(read)[:, 0]

    def forward(self, words, weights=None):
        """The score for good ``(B,)``, with the model's own weights or with given ones."""
        states = self.states(self.embed(words))
        return self.logit(states, self.weigh(states) if weights is None else weights)

    def importance(self, words):
        """Gradient times input: how the score for good answers to each word ``(B, N)``.

        The weights are held fixed, as in Jain and Wallace (2019): the question is what the states
        do, and the weights shall not answer for themselves.
        """
        embedded = self.embed(words).detach().requires_grad_()
        states = self.states(embedded)
        score = self.logit(states, self.weigh(states).detach())
        (gradient,) = torch.autograd.grad(score.sum(), embedded)
        return (gradient * embedded).sum(-1).abs().detach()


class RecurrentReader(Reader):
    """A GRU reads in both directions: a state knows of all the words around it."""

    def __init__(self, n_words, size):
        super().__init__(n_words, size)
        self.gru = nn.GRU(size, size // 2, batch_first=True, bidirectional=True)

    def states(self, embedded):
        return self.gru(embedded)[0]


class WordReader(Reader):
    """A network with one hidden layer sees each word alone: a state knows of its word only."""

    def __init__(self, n_words, size):
        super().__init__(n_words, size)
        self.alone = nn.Linear(size, size)

    def states(self, embedded):
        return torch.tanh(self.alone(embedded))


def train(model, batches, rate=1e-2, clip=1.0):
    """Over a list of ``(words, label)`` or ``(words, label, weights)``; the loss of every step."""

    def loss(words, label, weights=None):
        return F.binary_cross_entropy_with_logits(model(words, weights), label)

    return fit(model, batches, loss, rate, clip)
