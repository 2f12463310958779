"""Hard attention's reads, gradients and estimators, held to torch and to sums over every choice."""

import itertools

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from attnkit import hard_attention as ha
from attnkit import soft_attention as sa
from attnkit.data import hard_attention as data
from tests.arrays import close

BATCH, M, N, DV = 2, 3, 5, 4  # all different, so that a wrong axis cannot hide
S = np.array([0.8, -0.6, 0.3, 0.0, -0.2, 0.5, -0.9, 0.1])
L = np.array([1.2, 1.5, 1.8, 1.9, 2.1, 2.2, 2.5, 2.8])


@pytest.fixture
def tensors():
    generator = torch.Generator().manual_seed(0)

    def draw(*shape):
        return torch.randn(shape, generator=generator, dtype=torch.float64)

    return draw


@pytest.fixture
def uniform(tensors):
    return lambda *shape: torch.special.ndtr(tensors(*shape))


def for_both(function, *tensors, **options):
    """The tensors of a result, after numpy arrays have given the same."""
    results = function(*tensors, **options)
    arrays = function(*(tensor.numpy() for tensor in tensors), **options)
    pairs = (results, arrays) if isinstance(results, tuple) else ((results,), (arrays,))
    for ours, numpys in zip(*pairs, strict=True):
        assert isinstance(numpys, np.ndarray | np.generic)
        close(ours, numpys)
    return results


# ------------------------------------------------------------------ the read


def test_the_largest_weight_is_read(tensors):
    weights, V = tensors(BATCH, M, N).softmax(-1), tensors(BATCH, N, DV)
    read, index = for_both(ha.hard_read, weights, V)
    for b, m in itertools.product(range(BATCH), range(M)):
        close(index[b, m], torch.argmax(weights[b, m]))
        close(read[b, m], V[b, torch.argmax(weights[b, m])])


def test_soft_attention_becomes_hard_as_the_temperature_goes_to_zero(tensors):
    Q, K, V = tensors(BATCH, M, 6), tensors(BATCH, N, 6), tensors(BATCH, N, DV)
    read, weights = sa.soft_attention(Q, K, V, temperature=1e-3)
    close(read, ha.hard_read(weights, V)[0])


def test_a_draw_inverts_the_distribution_as_numpy_does(tensors, uniform):
    weights, V, u = tensors(BATCH, M, N).softmax(-1), tensors(BATCH, N, DV), uniform(BATCH, M)
    read, index = for_both(ha.hard_read, weights, V, u)
    for b, m in itertools.product(range(BATCH), range(M)):
        z = np.searchsorted(np.cumsum(weights[b, m].numpy()), u[b, m].item(), side="right")
        close(index[b, m], z)
        close(read[b, m], V[b, z])


def test_draws_come_as_often_as_the_weights_say():
    weights = np.array([0.5, 0.0, 0.2, 0.3])
    u = (np.arange(1000) + 0.5) / 1000
    _, index = ha.hard_read(np.tile(weights, (1000, 1)), np.zeros((4, 1)), u)
    close(np.bincount(index, minlength=4) / 1000, weights)


@pytest.mark.parametrize(
    ("weights", "u", "item"),
    [
        ([0.0, 0.4, 0.6], 0.0, 1),  # what has no weight is never drawn
        ([0.1] * 10, np.nextafter(1.0, 0.0), 9),  # the partial sums end below one
        ([1.0], 0.7, 0),
        ([0.25, 0.75], 0.25, 1),
    ],
)
def test_a_draw_at_the_extremes(weights, u, item):
    V = np.arange(float(len(weights)))[:, None]
    read, index = ha.hard_read(np.array([weights]), V, np.array([u]))
    assert index == item
    assert read == item


def test_the_value_that_is_read_gets_its_gradient_and_the_weights_get_none(tensors):
    weights = tensors(M, N).softmax(-1).requires_grad_()
    V = tensors(N, DV).requires_grad_()
    read, index = ha.hard_read(weights, V)
    read.sum().backward()
    assert weights.grad is None
    close(V.grad, F.one_hot(index, N).sum(0)[:, None].expand(N, DV))


# ------------------------------------------------------------------ the exact gradient


def test_the_expected_loss_has_the_gradient_that_autograd_finds(tensors):
    scores, losses = tensors(BATCH, N).requires_grad_(), tensors(BATCH, N)
    (scores.softmax(-1) * losses).sum().backward()
    close(for_both(ha.expected_loss_gradient, scores.detach(), losses), scores.grad)


@pytest.mark.parametrize("scores", [[1000.0, -1000.0, 0.0], [-1e6, -1e6, -1e6]])
def test_the_exact_gradient_is_finite_at_the_extremes(scores):
    gradient = ha.expected_loss_gradient(np.array(scores), np.array([3.0, -2.0, 1e4]))
    assert np.isfinite(gradient).all()
    close(gradient.sum(), 0)


# ------------------------------------------------------------------ REINFORCE


def moments(losses, baseline):
    """Mean and total variance of the estimate, by summing over every choice."""
    weights, every = sa.softmax(S), np.arange(len(S))
    row = np.full(len(S), float(baseline))
    gradients = ha.reinforce_gradient(np.tile(S, (len(S), 1)), every, losses, row)
    mean = weights @ gradients
    return mean, weights @ ((gradients - mean) ** 2).sum(-1)


@pytest.mark.parametrize("baseline", [0.0, 1.9, -7.0, sa.softmax(S) @ L])
def test_reinforce_is_right_on_average_with_any_baseline(baseline):
    close(moments(L, baseline)[0], ha.expected_loss_gradient(S, L))


def test_the_baseline_takes_away_what_the_mean_contributes():
    mean = sa.softmax(S) @ L
    assert moments(L, 0)[1] / moments(L, mean)[1] >= 10
    ratios = []
    for shift in (0.0, 0.5, 1.0, 2.0, 4.0):
        moved = L - mean + shift
        ratios.append(moments(moved, 0)[1] / moments(moved, shift)[1])
    close(ratios[0], 1)
    assert ratios == sorted(ratios)


def test_the_gradient_of_the_surrogate_is_the_estimate(tensors):
    scores, choice = tensors(BATCH, N).requires_grad_(), torch.tensor([4, 1])
    losses, baseline = tensors(BATCH).requires_grad_(), tensors(BATCH).requires_grad_()
    value = ha.reinforce_surrogate(scores, choice, losses, baseline)
    value.backward()
    plain = [x.detach() for x in (scores, losses, baseline)]
    estimate = ha.reinforce_gradient(plain[0], choice, *plain[1:])
    close(scores.grad, estimate / BATCH)
    numpys = ha.reinforce_gradient(
        plain[0].numpy(), choice.numpy(), plain[1].numpy(), plain[2].numpy()
    )
    close(numpys, estimate)
    close(losses.grad, torch.full((BATCH,), 1 / BATCH))
    assert baseline.grad is None


def test_the_surrogate_of_every_choice_adds_up_to_the_expected_gradient(tensors):
    scores, head = tensors(1, N), tensors(N)

    def gradients(loss_of_scores_and_head):
        leaves = scores.clone().requires_grad_(), head.clone().requires_grad_()
        return torch.autograd.grad(loss_of_scores_and_head(*leaves), leaves)

    exact = gradients(lambda s, h: (s.softmax(-1)[0] * h**2).sum())
    mean = [torch.zeros_like(g) for g in exact]
    for n in range(N):
        found = gradients(
            lambda s, h, n=n: ha.reinforce_surrogate(
                s, torch.tensor([n]), h[n : n + 1] ** 2, torch.full((1,), 3.0).double()
            )
        )
        mean = [m + scores.softmax(-1)[0, n] * g for m, g in zip(mean, found, strict=True)]
    for ours, oracle in zip(mean, exact, strict=True):
        close(ours, oracle)


def test_the_surrogate_is_finite_where_a_weight_underflows():
    scores = torch.tensor([[1000.0, -1000.0]]).double().requires_grad_()
    one = torch.ones(1).double()
    ha.reinforce_surrogate(scores, torch.tensor([1]), 2 * one, one).backward()
    assert torch.isfinite(scores.grad).all()


# ------------------------------------------------------------------ Gumbel


def test_gumbel_scores_have_the_noise_of_torch(tensors):
    scores, seed = tensors(M, N), 3
    exponential = torch.empty_like(scores)
    exponential.exponential_(generator=torch.manual_seed(seed))
    noisy = for_both(ha.gumbel_scores, scores, torch.exp(-exponential))
    for temperature in (0.3, 1.0, 4.0):
        torch.manual_seed(seed)
        oracle = F.gumbel_softmax(scores, tau=temperature)
        close(sa.softmax(noisy / temperature), oracle)


def test_the_largest_gumbel_score_is_a_sample():
    scores, draws = np.array([1.0, 0.0, -1.0]), 40_000
    u = np.random.default_rng(0).random((draws, 3))
    choice = ha.gumbel_scores(np.tile(scores, (draws, 1)), u).argmax(-1)
    weights = sa.softmax(scores)
    error = np.sqrt(weights * (1 - weights) / draws)
    assert np.all(np.abs(np.bincount(choice) / draws - weights) < 4 * error)


@pytest.mark.parametrize("temperature", [0.2, 1.0, 3.0])
def test_straight_through_is_torchs(tensors, temperature):
    scores, V, upstream = tensors(BATCH, M, N), tensors(BATCH, N, DV), tensors(BATCH, M, DV)
    seed = 4
    exponential = torch.empty_like(scores)
    exponential.exponential_(generator=torch.manual_seed(seed))
    choice, weights, gradient = for_both(
        ha.straight_through,
        scores,
        V,
        torch.exp(-exponential),
        upstream,
        temperature=temperature,
    )
    leaf = scores.clone().requires_grad_()
    torch.manual_seed(seed)
    hard = F.gumbel_softmax(leaf, tau=temperature, hard=True)
    (upstream * (hard @ V)).sum().backward()
    close(F.one_hot(choice, N), hard.detach())
    torch.manual_seed(seed)
    close(weights, F.gumbel_softmax(scores, tau=temperature))
    close(gradient, leaf.grad)


def test_straight_through_at_the_extremes():
    scores = np.array([[1000.0, 999.0, -1000.0]])
    u = np.array([[1e-300, 1 - 1e-16, 0.5]])
    parts = ha.straight_through(scores, np.eye(3), u, np.ones((1, 3)), 1e-3)
    assert all(np.isfinite(part).all() for part in parts)
    choice, weights, gradient = ha.straight_through(
        np.zeros((1, 1)), np.ones((1, 2)), np.full((1, 1), 0.3), np.ones((1, 2))
    )
    assert (choice.item(), weights.item(), gradient.item()) == (0, 1, 0)


# ------------------------------------------------------------------ what all keep to


def test_arguments_stay_as_they_were_and_need_not_be_contiguous(tensors, uniform):
    weights, V, u = tensors(N, M).softmax(0).T, tensors(DV, N).T, uniform(M)
    scores, noise, upstream = tensors(N, M).T, uniform(N, M).T, tensors(DV, M).T
    for function, arguments in [
        (ha.hard_read, (weights, V, u)),
        (ha.straight_through, (scores, V, noise, upstream)),
        (ha.expected_loss_gradient, (scores, noise)),
    ]:
        before = [argument.clone() for argument in arguments]
        close(
            function(*arguments)[0],
            function(*(argument.contiguous() for argument in arguments))[0],
        )
        for argument, copy in zip(arguments, before, strict=True):
            close(argument, copy)


half, one = np.full((2, 3), 0.5), np.ones((3, 4))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: ha.hard_read(half, one[:2]), ValueError, "V has shape .* so N = 2"),
        (lambda: ha.hard_read(half, one, np.array([0.5, 1.0])), ValueError, r"outside of \[0, 1\)"),
        (lambda: ha.hard_read([[1.0]], one), TypeError, "weights is a list"),
        (lambda: ha.gumbel_scores(half, 0 * half), ValueError, r"inside of \(0, 1\)"),
        (
            lambda: ha.reinforce_gradient(half, np.array([0, 3]), half[:, 0], half[:, 0]),
            ValueError,
            "choice names an item that is not there; it takes 0 to 2",
        ),
        (
            lambda: ha.reinforce_gradient(half, half[:, 0], half[:, 0], half[:, 0]),
            TypeError,
            r"choice takes integers of shape \(2,\)",
        ),
        (
            lambda: ha.straight_through(half, one, half, np.ones((2, 4)), temperature=0),
            ValueError,
            "temperature is 0",
        ),
    ],
)
def test_wrong_arguments_are_named(call, error, message):
    with pytest.raises(error, match=message):
        call()


# ------------------------------------------------------------------ the data


def test_a_table_to_fetch_from():
    tables = data.fetch(np.random.default_rng(0), 500)
    row = np.arange(500)
    assert {name: array.shape for name, array in tables.items()} == {
        "keys": (500, 8),
        "classes": (500, 8),
        "query": (500,),
        "slot": (500,),
        "target": (500,),
    }
    assert all(len(set(keys)) == 8 for keys in tables["keys"])
    assert np.array_equal(tables["keys"][row, tables["slot"]], tables["query"])
    assert np.array_equal(tables["classes"][row, tables["slot"]], tables["target"])
    for name, size in [("keys", 16), ("classes", 4), ("slot", 8)]:
        assert set(np.unique(tables[name])) == set(range(size))
    again = data.fetch(np.random.default_rng(0), 500)
    assert all(np.array_equal(tables[name], again[name]) for name in tables)


def test_canvases_of_real_digits():
    pytest.importorskip("sklearn")
    train, test = data.digits()
    assert [len(images) for images, _ in (train, test)] == [1400, 397]
    shown = {image.tobytes() for image in train[0]}
    assert sum(image.tobytes() in shown for image in test[0]) == 0
    drawn = data.canvases(np.random.default_rng(0), 300, *train)
    row = np.arange(300)
    assert drawn["cells"].shape == (300, 9, 9, 8)
    assert 0 <= drawn["cells"].min() < drawn["cells"].max() == 1
    bits = drawn["cells"][:, :, 0]
    assert all(len(np.unique(rows, axis=0)) == 9 for rows in bits)
    assert np.array_equal(bits[row, drawn["cell"]], drawn["query"])
    label = {image.tobytes(): label for image, label in zip(*train, strict=True)}
    asked = np.ascontiguousarray(drawn["cells"][row, drawn["cell"], 1:])
    assert [label[image.tobytes()] for image in asked] == drawn["target"].tolist()
    again = data.canvases(np.random.default_rng(0), 300, *train)
    assert all(np.array_equal(drawn[name], again[name]) for name in drawn)


def test_without_scikit_learn_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "sklearn.datasets", None)
    with pytest.raises(ModuleNotFoundError, match="pip install scikit-learn"):
        data.digits()
