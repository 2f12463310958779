"""The pointer network's likelihood and its search, held to oracles that others wrote."""

import itertools

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from attnkit import pointer_network as pn
from tests.arrays import close

BATCH, N, M, D, DE, DD, H = 2, 5, 4, 3, 6, 7, 8  # all different: a wrong axis cannot hide
S = N + 1


# ------------------------------------------------------------------ the distribution


@settings(deadline=None)  # the first call imports what it needs
@given(data=st.data())
def test_the_distribution_is_torchs(data):
    shape = data.draw(arrays.array_shapes(min_dims=1, max_dims=3, max_side=5))
    scores = data.draw(arrays.arrays(float, shape, elements=st.floats(-1e3, 1e3)))
    mask = data.draw(arrays.arrays(bool, shape))
    hidden = torch.where(torch.tensor(mask), torch.tensor(scores), -torch.inf)
    oracle = torch.log_softmax(hidden, -1).nan_to_num(nan=-torch.inf, neginf=-torch.inf)
    close(pn.log_distribution(scores, mask), oracle)
    close(pn.log_distribution(torch.tensor(scores), torch.tensor(mask)), oracle)


@pytest.mark.parametrize(
    ("scores", "mask", "wanted"),
    [
        ([1000.0, 0.0, -1e6], [False, True, True], [-np.inf, 0, -1e6]),
        ([-1e5, -1e5, 0.0], [True, True, False], [-np.log(2), -np.log(2), -np.inf]),
        ([3.0, 1.0, 2.0], [False, False, False], [-np.inf] * 3),
        ([8e307, -8e307], [False, True], [-np.inf, 0]),
        ([-7.0], [True], [0]),
    ],
)
def test_the_distribution_at_the_extremes(scores, mask, wanted):
    close(pn.log_distribution(np.array(scores), np.array(mask)), wanted)


# ------------------------------------------------------------------ what may be pointed at


def test_unvisited_is_the_loop():
    rng = np.random.default_rng(0)
    chosen = rng.integers(S, size=(3, BATCH, 9))
    wanted = np.ones((*chosen.shape, S), bool)
    for *row, m in np.ndindex(chosen.shape):
        for earlier in chosen[(*row, slice(m))]:
            wanted[(*row, m, earlier)] = earlier == 0
    assert np.array_equal(pn.unvisited(chosen, S), wanted)
    assert np.array_equal(pn.unvisited(torch.tensor(chosen), S), wanted)


# ------------------------------------------------------------------ the likelihood


def sequences(tensors, lengths=(M, 2), v=1.0):
    chosen = torch.tensor([[3, 1, 5, 0], [2, 0, 0, 0]])
    return {
        "x": tensors(BATCH, S, D),
        "e": tensors(BATCH, S, DE),
        "d_0": tensors(BATCH, DD),
        "chosen": chosen,
        "mask": pn.unvisited(chosen, S),
        "steps": torch.arange(M) < torch.tensor(lengths)[:, None],
        "W": tensors(DD, DD + D),
        "W_q": tensors(H, DD),
        "W_k": tensors(H, DE),
        "v": v * tensors(H),
    }


def in_torch(x, e, d_0, chosen, mask, steps, W, W_q, W_k, v):
    """PyTorch's own cell and its log-softmax, all steps scored at once."""
    cell = torch.nn.RNN(D, DD, batch_first=True, bias=False).double()
    cell.weight_hh_l0.data, cell.weight_ih_l0.data = W[:, :DD].clone(), W[:, DD:].clone()
    before = torch.cat([torch.zeros_like(chosen[:, :1]), chosen[:, :-1]], 1)
    d, _ = cell(x[torch.arange(BATCH)[:, None], before], d_0[None].contiguous())
    hidden = torch.tanh((d @ W_q.T)[:, :, None] + (e @ W_k.T)[:, None])  # (B, M, S, H)
    scores = torch.einsum("bmna,a->bmn", hidden, v)
    logs = torch.log_softmax(scores.masked_fill(~mask, -torch.inf), -1)
    return logs.gather(-1, chosen[..., None])[..., 0].masked_fill(~steps, 0).detach()


@pytest.mark.parametrize("v", [1.0, 1000.0])
def test_the_likelihood_is_torchs(tensors, v):
    arguments = sequences(tensors, v=v)
    oracle = in_torch(**arguments)
    before = {name: value.clone() for name, value in arguments.items()}
    log_p, total = pn.log_likelihood(**arguments)
    close(log_p, oracle)
    close(total, oracle.sum(-1))
    assert all(torch.equal(before[name], value) for name, value in arguments.items())
    numpys = {name: value.numpy() for name, value in arguments.items()}
    turned = {name: array.T.copy().T for name, array in numpys.items()}
    close(pn.log_likelihood(**numpys)[0], oracle)
    close(pn.log_likelihood(**turned)[0], oracle)


def test_all_sequences_together_have_probability_one(tensors):
    """Brute force over everything that three items and a gate allow."""
    arguments = sequences(tensors)
    few = {name: arguments[name][:1, :4] for name in ("x", "e")} | {"d_0": arguments["d_0"][:1]}
    weights = {name: arguments[name] for name in ("W", "W_q", "W_k", "v")}
    whole = 0.0
    for count in range(4):
        for items in itertools.permutations((1, 2, 3), count):
            chosen = torch.tensor([[*items, 0]])
            steps = torch.ones_like(chosen, dtype=torch.bool)
            mask = pn.unvisited(chosen, 4)
            _, total = pn.log_likelihood(chosen=chosen, mask=mask, steps=steps, **few, **weights)
            whole += total.exp().item()
    assert whole == pytest.approx(1, abs=1e-9)


def test_gradients_are_finite_and_those_of_autograd(tensors):
    arguments = sequences(tensors)
    arguments["mask"] &= arguments["steps"][..., None]  # nothing is visible where padding is
    learned = {name: arguments[name].requires_grad_() for name in ("x", "e", "W", "W_q", "v")}
    pn.log_likelihood(**arguments)[1].sum().backward()
    for leaf in learned.values():
        assert torch.isfinite(leaf.grad).all()
        assert leaf.grad.abs().max() > 0

    def total(e, v):
        return pn.log_likelihood(**arguments | {"e": e, "v": v})[1]

    assert torch.autograd.gradcheck(total, (learned["e"], learned["v"]))


def test_equal_inputs_are_told_apart_by_their_states(tensors):
    arguments = sequences(tensors)
    arguments["x"][:, 2] = arguments["x"][:, 3]
    arguments["mask"] = torch.ones_like(arguments["mask"])
    first = [
        pn.log_likelihood(**arguments | {"chosen": torch.full((BATCH, M), slot)})[0][:, 0]
        for slot in (2, 3)
    ]
    assert (first[0] - first[1]).abs().min() > 1e-3


# ------------------------------------------------------------------ the search


def allowed(slots, steps):
    """All sequences without repetition, filled up with zeros after STOP."""
    for path in itertools.product(range(slots), repeat=steps):
        items = path[: path.index(0)] if 0 in path else path
        if len(set(items)) == len(items) and not any(path[len(items) :]):
            yield path


def worth(scores, path):
    """The logarithm of the probability of a path, through torch."""
    total, left = 0.0, list(range(scores.shape[-1]))
    for m, slot in enumerate(path):
        total += torch.log_softmax(torch.tensor(scores[m, left]), -1)[left.index(slot)].item()
        left = [n for n in left if n == 0 or n != slot] if slot else [0]
    return total


@pytest.mark.parametrize("seed", range(6))
def test_a_wide_beam_finds_the_best_of_all(seed):
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(2, 3, 4)) - np.array([1, 0, 0, 0])
    chosen, total = pn.decode(scores, width=100)
    for b in range(2):
        values = {path: worth(scores[b], path) for path in allowed(4, 3)}
        assert tuple(chosen[b]) == max(values, key=values.get)
        close(total[b], max(values.values()))
        assert sum(map(np.exp, values.values())) == pytest.approx(1, abs=1e-9)


@pytest.mark.parametrize("width", [1, 2, 3])
@pytest.mark.parametrize("shape", [(3, 4, 7), (4, 6, 3), (1, 1, 2), (2, 3, 1)])
def test_what_is_found_is_allowed_and_worth_what_it_says(width, shape):
    scores = np.random.default_rng(1).normal(size=shape)
    given = scores.copy()
    chosen, total = pn.decode(scores, width)
    assert np.array_equal(scores, given)
    everything = set(allowed(shape[2], shape[1]))
    for b in range(shape[0]):
        assert tuple(chosen[b]) in everything
        close(total[b], worth(scores[b], chosen[b]))
    in_torch, totals = pn.decode(torch.tensor(scores), width)
    assert np.array_equal(in_torch, chosen)
    close(totals, total)


def test_greedy_takes_the_largest_of_what_is_left():
    scores = np.random.default_rng(2).normal(size=(1, 5, 5)) - [4, 0, 0, 0, 0]
    left, wanted = set(range(5)), []
    for row in scores[0]:
        wanted.append(max(left, key=row.__getitem__))
        left = left - {wanted[-1]} | {0} if wanted[-1] else {0}
    assert pn.decode(scores)[0][0].tolist() == wanted


@pytest.mark.parametrize("offset", [-1e5, 1e5])
def test_the_size_of_the_scores_does_not_matter(offset):
    scores = np.random.default_rng(3).normal(size=(2, 4, 5))
    assert np.array_equal(pn.decode(scores + offset, 3)[0], pn.decode(scores, 3)[0])


# ------------------------------------------------------------------ wrong arguments


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: pn.log_distribution(np.zeros(3), np.ones(3)), TypeError, "mask has dtype float64"),
        (lambda: pn.unvisited(np.array([1.0]), 3), TypeError, "chosen has dtype float64"),
        (lambda: pn.unvisited(np.array([1]), 0), ValueError, "slots is 0; .* at least 1"),
        (lambda: pn.decode(np.zeros((2, 3))), ValueError, r"scores has shape \(2, 3\)"),
        (lambda: pn.decode(np.zeros((1, 2, 3)), 0), ValueError, "width is 0; .* at least 1"),
        (lambda: pn.decode(np.zeros((1, 2, 3)), 1.5), TypeError, "width is 1.5 of type float"),
        (lambda: pn.decode(np.zeros((1, 2, 3)), True), TypeError, "width is True of type bool"),
    ],
)
def test_wrong_arguments_are_named(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_the_likelihood_names_what_does_not_fit(tensors):
    arguments = sequences(tensors)
    with pytest.raises(ValueError, match=r"W has shape \(7, 9\); it takes .* \(7, 7 \+ 3\)"):
        pn.log_likelihood(**arguments | {"W": tensors(DD, 9)})
    with pytest.raises(ValueError, match="chosen holds numbers from 1 to 6; x has 6 slots"):
        pn.log_likelihood(**arguments | {"chosen": arguments["chosen"] + 1})
