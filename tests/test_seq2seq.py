"""The decoder's step and the alignment score, held to oracles that others wrote."""

import numpy as np
import pytest
import torch

from attnkit import seq2seq
from attnkit.checking import laws
from tests.arrays import close

BATCH, M, N, DS, DY, DH, H = 2, 3, 5, 4, 6, 8, 7  # all different: a wrong axis cannot hide


def torchs(scores, mask):
    """PyTorch's softmax of what is visible; an empty row, NaN there, is zeros here."""
    hidden = torch.where(mask, scores, -torch.inf)
    return torch.softmax(hidden, -1).nan_to_num(0)


# ------------------------------------------------------------------ the step of the decoder


def step_arguments(tensors, lengths=(5, 3)):
    return {
        "s_prev": tensors(BATCH, DS),
        "y_prev": tensors(BATCH, DY),
        "h": tensors(BATCH, N, DH),
        "mask": torch.arange(N) < torch.tensor(lengths)[:, None],
        "W_q": tensors(H, DS),
        "W_k": tensors(H, DH),
        "v": tensors(H),
        "W": tensors(DS, DS + DY + DH) / 4,
    }


def torch_step(s_prev, y_prev, h, mask, W_q, W_k, v, W):
    """The same from PyTorch's own parts: linear layers, attention with a bias, an RNN cell."""
    scores = torch.stack([torch.tanh(s_prev @ W_q.T + row @ W_k.T) @ v for row in h.unbind(1)], 1)
    weights = torchs(scores, mask)
    context = torch.bmm(weights[:, None], h)[:, 0]
    cell = torch.nn.RNNCell(DY + DH, DS, bias=False, dtype=torch.float64)
    with torch.no_grad():
        cell.weight_hh.copy_(W[:, :DS])
        cell.weight_ih.copy_(W[:, DS:])
    return cell(torch.cat([y_prev, context], -1), s_prev).detach(), context, weights


@pytest.mark.parametrize("lengths", [(5, 5), (5, 3), (1, 0)])
def test_step_is_that_of_torchs_parts(tensors, lengths):
    arguments = step_arguments(tensors, lengths)
    oracle = torch_step(**arguments)
    ours = seq2seq.bahdanau_step(**arguments)
    as_numpy = seq2seq.bahdanau_step(**{k: v.numpy() for k, v in arguments.items()})
    for mine, theirs, wanted in zip(ours, as_numpy, oracle, strict=True):
        close(mine, wanted)
        close(theirs, wanted)
        assert isinstance(theirs, np.ndarray)


def test_step_at_extreme_scores(tensors):
    arguments = step_arguments(tensors)
    arguments["v"] = 1000 * arguments["v"]
    for ours, wanted in zip(
        seq2seq.bahdanau_step(**arguments), torch_step(**arguments), strict=True
    ):
        close(ours, wanted)


def test_step_takes_views_and_leaves_its_arguments(tensors):
    arguments = {name: value.numpy() for name, value in step_arguments(tensors).items()}
    plain = seq2seq.bahdanau_step(**arguments)
    views = {name: value.T.copy().T for name, value in arguments.items()}
    for one, other in zip(seq2seq.bahdanau_step(**views), plain, strict=True):
        close(one, other)
    assert laws.inputs_unchanged().broken_by(seq2seq.bahdanau_step, arguments) is None


def test_gradients_of_a_step_are_finite(tensors):
    arguments = step_arguments(tensors, (3, 0))
    learned = [arguments[name].requires_grad_() for name in ("s_prev", "h", "W_q", "W_k", "v", "W")]
    sum(part.sum() for part in seq2seq.bahdanau_step(**arguments)).backward()
    assert all(torch.isfinite(leaf.grad).all() for leaf in learned)
    assert arguments["h"].grad[0, :3].abs().min() > 0


def test_a_cell_of_another_width_is_named(tensors):
    arguments = step_arguments(tensors)
    arguments["W"] = tensors(DS, DS + DH)
    with pytest.raises(ValueError, match=r"W has shape \(4, 12\).*\(4, 4 \+ 6 \+ 8\)"):
        seq2seq.bahdanau_step(**arguments)


# ------------------------------------------------------------------ the alignment score


def by_counting(weights, aligned, steps):
    hits, mass, count = 0, 0.0, 0
    for rows, where, counts in zip(weights, aligned, steps, strict=True):
        for row, true, counted in zip(rows, where, counts, strict=True):
            if counted:
                hits, mass, count = hits + (max(row) == row[true]), mass + row[true], count + 1
    return hits / count, 1 - mass / count


@pytest.mark.parametrize("seed", range(5))
def test_alignment_score_is_what_counting_gives(seed):
    rng = np.random.default_rng(seed)
    weights = rng.dirichlet(np.ones(N), size=(BATCH, M))
    steps = np.arange(M) < rng.integers(1, M + 1, size=(BATCH, 1))
    aligned = np.where(steps, rng.integers(N, size=(BATCH, M)), -1)
    wanted = by_counting(weights, aligned, steps)
    close(seq2seq.alignment_score(weights, aligned, steps), wanted)
    close(seq2seq.alignment_score(weights[::-1], aligned[::-1], steps[::-1]), wanted)
    tensors = map(torch.tensor, (weights, aligned, steps))
    close(seq2seq.alignment_score(*tensors), wanted, atol=1e-6)


def test_a_hard_alignment_has_an_error_of_one_minus_its_share():
    rng = np.random.default_rng(0)
    hard = np.eye(N)[rng.integers(N, size=(BATCH, M))]
    aligned, steps = rng.integers(N, size=(BATCH, M)), np.ones((BATCH, M), bool)
    share, error = seq2seq.alignment_score(hard, aligned, steps)
    close(share, 1 - error)


def test_something_has_to_count():
    nothing = np.zeros((BATCH, M), bool)
    with pytest.raises(ValueError, match="at least one step"):
        seq2seq.alignment_score(np.ones((BATCH, M, N)), nothing.astype(int), nothing)
