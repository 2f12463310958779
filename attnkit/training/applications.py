"""The networks that the chapter on applications trains.

Two readers of opinions differ in one thing: whether the words meet before they are weighed. A
finder looks for a digit in a scene, a vision transformer names one.
"""

import torch
import torch.nn.functional as F
from torch import nn

from attnkit.applications import jensen_shannon, patches, with_class_token
from attnkit.soft_attention import additive_scores, scaled_dot_scores, softmax
from attnkit.training import fit


def train(model, batches, loss=F.binary_cross_entropy_with_logits, rate=1e-2, clip=1.0):
    """Over a list of tuples, the model's inputs and then what is right; the loss of every step."""

    def of_batch(*batch):
        *inputs, right = batch
        return loss(model(*inputs), right)

    return fit(model, batches, of_batch, rate, clip)


# ------------------------------------------------------------------------- readers of opinions


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
        """The score for good ``(B,)``: what the classifier finds in the weighted average."""
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
        """One state a word ``(B, N, D)`` of embedded words ``(B, N, D)``."""
        return self.gru(embedded)[0]


class WordReader(Reader):
    """A network with one hidden layer sees each word alone: a state knows of its word only."""

    def __init__(self, n_words, size):
        super().__init__(n_words, size)
        self.alone = nn.Linear(size, size)

    def states(self, embedded):
        """One state a word ``(B, N, D)`` of embedded words ``(B, N, D)``."""
        return torch.tanh(self.alone(embedded))


def imitate(model, base, batches, rate=1e-2, clip=1.0):
    """Train a reader to answer as ``base`` does and to look elsewhere; the loss of every step.

    The loss is the difference of the two probabilities minus the Jensen-Shannon divergence of the
    weights. Over a list of ``(words, ...)``; what else stands in a batch is not used.

    Source: Wiegreffe and Pinter (2019), section 4, with another divergence.
    """

    def loss(words, *_):
        with torch.no_grad():
            states = base.states(base.embed(words))
            weights = base.weigh(states)
            p = torch.sigmoid(base.logit(states, weights))
        states = model.states(model.embed(words))
        others = model.weigh(states)
        q = torch.sigmoid(model.logit(states, others))
        return ((p - q).abs() - jensen_shannon(weights, others)).mean()

    return fit(model, batches, loss, rate, clip)


# ------------------------------------------------------------------------- pictures


class Finder(nn.Module):
    """Is this digit in the scene? The question weighs the cells of the scene, and reads one vector.

    Shapes: cells ``(B, N, 8, 8)``, the digits asked for ``(B,)``.
    """

    def __init__(self, size):
        super().__init__()
        self.look = nn.Sequential(
            nn.Flatten(2), nn.Linear(64, 2 * size), nn.ReLU(), nn.Linear(2 * size, size)
        )
        self.key = nn.Linear(size, size, bias=False)
        self.value = nn.Linear(size, size, bias=False)
        self.query = nn.Embedding(10, size)
        self.answer = nn.Embedding(10, size)
        self.bias = nn.Parameter(torch.zeros(()))

    def weigh(self, seen, asked):
        """The weight of each cell ``(B, N)``, of cells that have been looked at."""
        return softmax(scaled_dot_scores(self.query(asked)[:, None], self.key(seen))[:, 0])

    def forward(self, cells, asked):
        """The score for yes ``(B,)``."""
        seen = self.look(cells)  # (B, N, size)
        read = (self.weigh(seen, asked)[:, None] @ self.value(seen))[:, 0]
        return (read * self.answer(asked)).sum(-1) + self.bias


class VisionTransformer(nn.Module):
    """A transformer over the patches of digits of 8 x 8 pixels, with or without their places.

    Images ``(B, 1, 8, 8)``; the class token's last state is classified.
    """

    SIDE, N = 2, 16  # of a patch in pixels, and how many there are

    def __init__(self, width, heads, places):
        super().__init__()
        self.embed = nn.Linear(self.SIDE**2, width)
        self.token = nn.Parameter(0.02 * torch.randn(width))
        start = 0.02 * torch.randn(self.N + 1, width)
        self.positions = nn.Parameter(start * places, requires_grad=places)
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(
                width, heads, 2 * width, dropout=0, batch_first=True, norm_first=True
            )
            for _ in range(2)
        )
        self.norm = nn.LayerNorm(width)
        self.classify = nn.Linear(width, 10)

    def tokens(self, images):
        """What enters the first layer ``(B, N + 1, width)``."""
        return with_class_token(self.embed(patches(images, self.SIDE)), self.token, self.positions)

    def forward(self, images):
        """Scores of the ten digits ``(B, 10)``."""
        X = self.tokens(images)
        for layer in self.layers:
            X = layer(X)
        return self.classify(self.norm(X[:, 0]))

    @torch.no_grad()
    def attention(self, images):
        """The weights of every layer and head ``(layers, B, heads, N + 1, N + 1)``."""
        X, found = self.tokens(images), []
        for layer in self.layers:
            Y = layer.norm1(X)
            found.append(layer.self_attn(Y, Y, Y, average_attn_weights=False)[1])
            X = layer(X)
        return torch.stack(found)
