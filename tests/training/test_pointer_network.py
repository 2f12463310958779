"""The trained pointer network: its steps, its gate, its mask, and that training makes it better."""

import numpy as np
import pytest
import torch

from attnkit import pointer_network as pn
from attnkit.data.pointer_network import to_sort
from attnkit.training.pointer_network import PointerNetwork, train

B, N, SIZE = 4, 5, 12

each = pytest.mark.parametrize("masked", [True, False])


@pytest.fixture(autouse=True)
def one_thread_and_one_seed():
    torch.set_num_threads(1)
    torch.manual_seed(0)


def model_of(masked):
    model = PointerNetwork(SIZE, masked).double()
    torch.nn.init.normal_(model.stop)
    torch.nn.init.normal_(model.v.weight, std=3)
    return model


def some():
    return map(torch.from_numpy, to_sort(np.random.default_rng(1), B, N))


@each
def test_the_distributions_are_over_what_may_be_pointed_at(masked):
    numbers, chosen = some()
    log_p = model_of(masked)(numbers, chosen)
    assert log_p.shape == (B, N + 1, N + 1)
    torch.testing.assert_close(log_p.exp().sum(-1), torch.ones(B, N + 1).double())
    visible = pn.unvisited(chosen, N + 1) if masked else torch.ones_like(log_p, dtype=torch.bool)
    assert torch.equal(log_p > -torch.inf, visible)


@each
def test_the_last_step_is_an_lstm_cell_and_a_score(masked):
    """Step by step with torch's cell, scored by a loop over the slots."""
    model, (numbers, chosen) = model_of(masked), some()
    log_p = model(numbers, chosen)
    inputs, states, (h, c) = model.encode(numbers)
    cell = torch.nn.LSTMCell(SIZE // 3, SIZE).double()
    cell.load_state_dict({k.removesuffix("_l0"): v for k, v in model.decoder.state_dict().items()})
    state, read = (h[0], c[0]), model.go.expand(B, -1)
    for m in range(N + 1):
        state = cell(read, state)
        query = model.of_query(state[0])
        scores = [model.v(torch.tanh(query + model.of_key(states[:, n]))) for n in range(N + 1)]
        scores = torch.cat(scores, -1)
        if masked:
            for earlier in range(m):
                scores = scores.scatter(-1, chosen[:, earlier, None], -torch.inf)
        torch.testing.assert_close(log_p[:, m], scores.log_softmax(-1))
        read = inputs[torch.arange(B), chosen[:, m]]


@each
def test_what_it_writes_it_would_have_written_if_told(masked):
    model, (numbers, _) = model_of(masked), some()
    chosen, logs = model.write(numbers)
    told = model(numbers, chosen)
    for row, one, two in zip(chosen, logs, told, strict=True):
        end = (row == 0).nonzero()[0, 0] + 1 if (row == 0).any() else len(row)
        assert not row[end:].any()
        torch.testing.assert_close(one[:end], two[:end])
        assert torch.equal(one[:end].argmax(-1), row[:end])
        assert torch.equal(one[end:].exp(), torch.eye(N + 1).double()[0].expand(N + 1 - end, -1))


def test_the_states_are_an_lstms_behind_the_gate():
    model, (numbers, _) = model_of(True), some()
    torch.nn.init.normal_(model.go)
    inputs, states, (last, _) = model.encode(numbers)
    assert torch.equal(inputs[:, 0], model.go.expand(B, -1))
    assert torch.equal(states[:, 0], model.stop.expand(B, -1))
    for n in range(N):
        torch.testing.assert_close(
            inputs[:, n + 1], numbers[:, n, None] * model.embed.weight[:, 0] + model.embed.bias
        )
    torch.testing.assert_close(states[:, 1:], model.encoder(inputs[:, 1:])[0])
    assert torch.equal(states[:, -1], last[0])


@each
def test_after_stop_only_the_gate_is_left(masked):
    model, (numbers, _) = model_of(masked), some()
    # The gate's hidden layer has the signs of v, so that no score is higher.
    model.of_key.weight.data = 10 * torch.eye(SIZE).double()
    model.stop.data = 10 * model.v.weight[0].detach().sign()
    chosen, logs = model.write(numbers)
    assert not chosen.any()
    assert (logs[:, 0] > -torch.inf).all()
    assert torch.equal(logs[:, 1:].exp(), torch.eye(N + 1).double()[0].expand(B, N, -1))


def test_the_mask_can_be_put_on_and_taken_off():
    model, (numbers, _) = model_of(True), some()
    model.stop.data -= 100  # so that it hardly ever stops by itself
    with_mask, _ = model.write(numbers)
    without, _ = model.write(numbers, masked=False)
    assert all(len(set(row.tolist())) == (row > 0).sum() + 1 for row in with_mask)
    assert any(len(set(row.tolist())) < N for row in without)


def test_states_are_pointed_at_not_inputs():
    """Two equal numbers have states of their own, and so scores of their own."""
    model = model_of(False)
    log_p = model(torch.tensor([[0.3, 0.7, 0.7]]).double(), torch.tensor([[2, 3, 1, 0]]))
    assert (log_p[0, :, 2] - log_p[0, :, 3]).abs().min() > 1e-6


@each
def test_training_makes_it_better_and_repeats_itself(masked):
    runs = []
    for _ in range(2):
        torch.manual_seed(0)
        rng = np.random.default_rng(0)
        batches = [
            (torch.from_numpy(x).float(), torch.from_numpy(c))
            for x, c in (to_sort(rng, 32, 3) for _ in range(120))
        ]
        runs.append(train(PointerNetwork(SIZE, masked), batches))
    assert runs[0].shape == (120,)
    assert np.array_equal(*runs)
    assert runs[0][-10:].mean() < 0.8 * runs[0][:10].mean()
