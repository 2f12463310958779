"""The reference implementations of the applications, held to oracles that others wrote."""

from itertools import pairwise, product

import numpy as np
import pytest
import scipy.optimize
import scipy.spatial.distance
import scipy.special
import scipy.stats
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from attnkit import applications as ap
from tests.arrays import alike_in_numpy_and_torch, close

BATCH, M, N, D, DV, HEADS, LAYERS = 2, 3, 5, 7, 6, 4, 3  # all different, to tell axes apart


def distributions(tensors, *shape):
    return torch.softmax(2 * tensors(*shape), -1)


# ------------------------------------------------------------------ a text and its prediction


def test_prediction_is_torchs_layer_on_the_read(tensors):
    weights, H, w = distributions(tensors, BATCH, N), tensors(BATCH, N, D), tensors(D)
    read = torch.bmm(weights[:, None], H)[:, 0]
    close(ap.prediction(weights, H, w), torch.sigmoid(F.linear(read, w[None])[:, 0]))


def test_one_text_is_read_with_many_weights(tensors):
    weights, H, w = distributions(tensors, M, N), tensors(N, D), tensors(D)
    each = [torch.sigmoid(weights[m] @ H @ w) for m in range(M)]
    close(ap.prediction(weights, H, w), each)


def test_prediction_at_the_extremes(tensors):
    H, w = torch.tensor([[1000.0], [-1000.0], [0.0]]).double(), torch.ones(1).double()
    with np.errstate(all="raise"):
        close(ap.prediction(np.eye(3), H.numpy(), w.numpy()), [1, 0, 0.5])
    weights = torch.eye(3).double().requires_grad_()
    ap.prediction(weights, H, w).sum().backward()
    assert torch.isfinite(weights.grad).all()


# ------------------------------------------------------------------ Jensen-Shannon


def test_jensen_shannon_is_scipys(tensors):
    p, q = distributions(tensors, BATCH, N).numpy(), distributions(tensors, BATCH, N).numpy()
    p[0, 1] = 0
    p[0] /= p[0].sum()
    close(ap.jensen_shannon(p, q), scipy.spatial.distance.jensenshannon(p, q, axis=-1) ** 2)
    many = ap.jensen_shannon(p[0], q)
    close(many, [scipy.spatial.distance.jensenshannon(p[0], row) ** 2 for row in q])


def test_jensen_shannon_from_nothing_to_ln_2():
    corners = np.eye(N)
    apart = ap.jensen_shannon(corners[:, None], corners)
    close(apart, np.log(2) * (1 - np.eye(N)))


@settings(deadline=None)
@given(scores=arrays.arrays(float, (2, N), elements=st.floats(-800, 800, width=32)))
def test_jensen_shannon_is_symmetric_and_bounded(scores):
    p, q = scipy.special.softmax(scores, axis=-1)
    apart = ap.jensen_shannon(p, q)
    assert -1e-12 <= apart <= np.log(2) + 1e-12
    close(apart, ap.jensen_shannon(q, p))


# ------------------------------------------------------------------ Kendall

REAL = np.array([[1, 1, 1, 0, 1], [0, 1, 1, 1, 1]], bool)


def test_kendall_is_scipys_on_the_real_tokens(tensors):
    a, b = tensors(BATCH, N).numpy(), tensors(BATCH, N).numpy()
    taus = ap.kendall_tau(a, b, REAL)
    for i in range(BATCH):
        close(taus[i], scipy.stats.kendalltau(a[i, REAL[i]], b[i, REAL[i]]).statistic)


@settings(deadline=None, max_examples=200)
@given(
    ranks=arrays.arrays(int, (2, N), elements=st.integers(0, 3)),
    real=arrays.arrays(bool, N).filter(lambda real: real.sum() > 1),
)
def test_kendall_with_ties_is_scipys(ranks, real):
    a, b = ranks.astype(float)
    theirs = scipy.stats.kendalltau(a[real], b[real]).statistic
    close(ap.kendall_tau(a, b, real), np.nan_to_num(theirs))  # ours is 0 where all are tied


def test_kendall_of_one_token_is_zero():
    assert ap.kendall_tau(np.ones(1), np.ones(1), np.array([True])) == 0


# ------------------------------------------------------------------ the four tests


def a_text(tensors, scale=1.0):
    real = torch.tensor([True, False, True, True, True, False, True])
    orders = torch.arange(7).repeat(M, 1)
    places = torch.arange(7)[real]
    orders[:, real] = torch.stack([places.roll(1), places.flip(0), places[[2, 0, 1, 4, 3]]])
    return {
        "H": scale * tensors(7, D),
        "query": tensors(D),
        "w": tensors(D),
        "real": real,
        "orders": orders,
        "rivals": tensors(60, 7),
    }


@pytest.mark.parametrize("scale", [0.1, 1.0, 10.0])
def test_explanation_tests_by_torch_and_scipy(tensors, scale):
    text = a_text(tensors, scale)
    H, w, real = text["H"].clone().requires_grad_(), text["w"], text["real"]
    scores = text["H"] @ text["query"]
    weights = torch.zeros(7).double()
    weights[real] = torch.softmax(scores[real], 0)

    def p(weights):
        return torch.sigmoid(w @ (weights @ H))

    # The logit, whose gradient ranks the tokens as that of the probability does.
    (w @ (weights @ H)).backward()
    importance = (H.grad * H.detach()).sum(-1).abs()
    H = H.detach()
    tau = scipy.stats.kendalltau(weights[real], importance[real]).statistic
    changes = [abs(p(weights[order]) - p(weights)) for order in text["orders"]]
    rival = [0.0]
    for row in text["rivals"]:
        other = torch.zeros(7).double()
        other[real] = torch.softmax(row[real], 0)
        if abs(p(other) - p(weights)) <= 0.05:
            rival.append(scipy.spatial.distance.jensenshannon(weights, other) ** 2)
    ours = ap.explanation_tests(**text)
    close(ours[0], tau)
    close(ours[1], np.median(changes))
    close(ours[2], abs(p(real.double() / real.sum()) - p(weights)))
    close(ours[3], max(rival))
    assert max(rival) > 0


def test_the_median_of_an_even_number_is_the_middle_of_two(tensors):
    text = a_text(tensors)
    text["orders"] = text["orders"][:2]
    one, two = (ap.explanation_tests(**{**text, "orders": o[None]})[1] for o in text["orders"])
    close(ap.explanation_tests(**text)[1], (one + two) / 2)


def test_tolerance_decides_which_rival_counts(tensors):
    text = a_text(tensors)
    found = [float(ap.explanation_tests(**text, tolerance=t)[3]) for t in (1e-9, 0.01, 1.0)]
    assert found[0] == 0
    assert 0 < found[1] < found[2]


# ------------------------------------------------------------------ the furthest weights


def furthest_by_climbing(weights, H, w, tolerance, starts=40):
    """The largest divergence that scipy's optimiser finds from many starts."""
    p = ap.prediction(weights, H, w)
    rng = np.random.default_rng(0)
    found = [0.0]
    for start in rng.dirichlet(np.full(len(weights), 0.3), size=starts):
        end = scipy.optimize.minimize(
            lambda beta: -(scipy.spatial.distance.jensenshannon(weights, np.abs(beta)) ** 2),
            start,
            method="SLSQP",
            bounds=[(0, 1)] * len(weights),
            constraints=[
                {"type": "eq", "fun": lambda beta: beta.sum() - 1},
                {
                    "type": "ineq",
                    "fun": lambda beta: tolerance - abs(ap.prediction(beta, H, w) - p),
                },
            ],
        )
        if end.success:
            found.append(-end.fun)
    return max(found)


@pytest.mark.parametrize("tolerance", [0.01, 0.05, 0.3])
def test_adversarial_weights_are_at_least_as_far_as_an_optimiser_gets(tensors, tolerance):
    weights, H, w = (
        distributions(tensors, 4).numpy(),
        tensors(4, D).numpy(),
        tensors(D).numpy(),
    )
    ours = ap.adversarial_weights(weights, H, w, tolerance)
    assert (ours >= 0).all()
    assert abs(ours.sum() - 1) < 1e-12
    change = abs(ap.prediction(ours, H, w) - ap.prediction(weights, H, w))
    assert change <= tolerance * (1 + 1e-8)
    theirs = furthest_by_climbing(weights, H, w, tolerance)
    assert theirs - 1e-5 <= ap.jensen_shannon(weights, ours) <= theirs + 1e-3


def test_adversarial_weights_beat_a_fine_grid_on_three_tokens(tensors):
    weights, H, w = distributions(tensors, 3).numpy(), tensors(3, D).numpy(), tensors(D).numpy()
    ours = ap.jensen_shannon(weights, ap.adversarial_weights(weights, H, w))
    steps = np.linspace(0, 1, 301)
    grid = np.array([(x, y, 1 - x - y) for x, y in product(steps, steps) if x + y <= 1]).clip(0)
    kept = abs(ap.prediction(grid, H, w) - ap.prediction(weights, H, w)) <= 0.05
    best = ap.jensen_shannon(weights, grid[kept]).max()
    assert best - 1e-12 <= ours <= best + 0.02


def test_adversarial_weights_of_a_batch_are_those_of_its_members(tensors):
    weights, H, w = distributions(tensors, BATCH, M, N), tensors(BATCH, M, N, D), tensors(D)
    many = ap.adversarial_weights(weights, H, w)
    for index in np.ndindex(BATCH, M):
        close(many[index], ap.adversarial_weights(weights[index], H[index], w))


def test_adversarial_weights_in_single_precision_are_the_same(tensors):
    weights, H, w = distributions(tensors, BATCH, N), tensors(BATCH, N, D), tensors(D)
    singles = ap.adversarial_weights(weights.float(), H.float(), w.float())
    np.testing.assert_allclose(singles, ap.adversarial_weights(weights, H, w), atol=1e-4)


def test_a_prediction_at_its_limit_lets_the_weights_go_anywhere():
    """Beyond a probability of 1 there is no bound: the furthest token takes all."""
    weights, H, w = np.array([0.9, 0.1, 0.0]), np.array([[60.0], [50.0], [40.0]]), np.ones(1)
    close(ap.adversarial_weights(weights, H, w), [0, 0, 1])
    close(ap.adversarial_weights(weights, -H, w), [0, 0, 1])


def test_tokens_that_say_the_same_may_all_be_looked_at():
    weights, H, w = np.array([0.5, 0.3, 0.2]), np.ones((3, 2)), np.ones(2)
    close(ap.adversarial_weights(weights, H, w), [0, 0, 1])


# ------------------------------------------------------------------ contributions


def test_contributions_are_the_lengths_of_the_pieces(tensors):
    weights, V = distributions(tensors, BATCH, M, N), tensors(BATCH, N, DV)
    ours = ap.contributions(weights, V)
    for b, m, n in np.ndindex(BATCH, M, N):
        close(ours[b, m, n], torch.linalg.norm(weights[b, m, n] * V[b, n]))
    close(ap.contributions(weights, V[0])[1], ap.contributions(weights[1], V[0]))


# ------------------------------------------------------------------ rollout


def by_paths(weights):
    """Each path from output to input, one token a layer, with its share, added up."""
    total = np.zeros((N, N))
    for path in product(range(N), repeat=len(weights) + 1):  # output first, input last
        share = 1.0
        for layer, (m, n) in zip(weights[::-1], pairwise(path), strict=True):
            row = layer[:, m].mean(axis=0) + np.eye(N)[m]
            share *= row[n] / row.sum()
        total[path[0], path[-1]] += share
    return total


def test_rollout_adds_up_all_paths(tensors):
    weights = distributions(tensors, LAYERS, HEADS, N, N).numpy()
    close(ap.rollout(weights), by_paths(weights))
    weights[1, :, 2] = 0  # this token sees nothing in the second layer
    close(ap.rollout(weights), by_paths(weights))


def test_rollout_of_a_batch_is_that_of_its_members(tensors):
    weights = distributions(tensors, LAYERS, BATCH, HEADS, N, N)
    ours = ap.rollout(weights)
    for b in range(BATCH):
        close(ours[b], by_paths(weights[:, b].numpy()))
    close(ours.sum(-1), np.ones((BATCH, N)))


def test_rollout_of_planted_weights():
    """Layer one hands token 0 to token 1, layer two hands token 1 to token 2."""
    first, second = np.eye(3), np.eye(3)
    first[1] = [1, 0, 0]
    second[2] = [0, 1, 0]
    ours = ap.rollout(np.stack([first, second])[:, None])
    close(ours, [[1, 0, 0], [0.5, 0.5, 0], [0.25, 0.25, 0.5]])


# ------------------------------------------------------------------ patches and class token


def test_patches_are_torchs_unfold(tensors):
    images = tensors(BATCH, 3, 8, 12)
    close(ap.patches(images, 4), F.unfold(images, 4, stride=4).mT)
    close(ap.patches(images[:, None], 2)[1, 0], F.unfold(images, 2, stride=2).mT[1])
    close(ap.patches(images, 1), images.flatten(2).mT)


def test_what_fills_no_patch_is_left_out_as_by_unfold(tensors):
    images = tensors(BATCH, 3, 8, 13)
    close(ap.patches(images, 5), F.unfold(images, 5, stride=5).mT)


def test_embedded_patches_are_a_convolution_with_large_steps(tensors):
    images, W = tensors(BATCH, 3, 8, 12), tensors(D, 3, 4, 4)
    convolved = F.conv2d(images, W, stride=4).flatten(2).mT
    close(ap.patches(images, 4) @ W.flatten(1).T, convolved)


def test_the_class_token_stands_first_with_the_first_position(tensors):
    patches, token, positions = tensors(BATCH, M, N, D), tensors(D), tensors(N + 1, D)
    ours = ap.with_class_token(patches, token, positions)
    tokens = torch.cat([token.expand(BATCH, M, 1, D), patches], dim=-2)
    for place in range(N + 1):
        close(ours[..., place, :], tokens[..., place, :] + positions[place])


def test_image_tokens_and_what_torch_learns(tensors):
    images, W, token = tensors(BATCH, 3, 8, 13), tensors(D, 3, 4, 4), tensors(D).requires_grad_()
    positions, upstream = tensors(7, D), tensors(BATCH, 7, D)
    embedded = F.conv2d(images, W, stride=4).flatten(2).mT
    expected = torch.cat([token.expand(BATCH, 1, D), embedded], dim=1) + positions
    expected.backward(upstream)
    with torch.no_grad():
        Z, gradient = ap.image_tokens(images, 4, W.flatten(1), token, positions, upstream)
        close(Z, expected)
    close(gradient, token.grad)


# ------------------------------------------------------------------ both libraries, no side effects


def share(scores):
    """Weights of these scores, in the library that they come from."""
    return (
        torch.softmax(scores, -1) if torch.is_tensor(scores) else scipy.special.softmax(scores, -1)
    )


def the_tests(H, w, scores, real):
    orders = [[1, 2, 4, 3, 0], [4, 1, 0, 3, 2]]  # place 3 is padding
    orders = torch.tensor(orders) if torch.is_tensor(H) else np.array(orders)
    return ap.explanation_tests(H[0], H[1, 0], w, real[0], orders, scores, 1.0)


def the_image(H, w, scores, real):
    places = H[:, [0, 1, 2, 3, 4, 1, 2]]  # (B, 7, D), for 2 x 3 patches and the class token
    W_e = H[:, :4].mT.reshape(-1, 4)[:D]
    return ap.image_tokens(H[:, None], 2, W_e, w, places[0], places)


CALLS = {
    "prediction": lambda H, w, scores, real: ap.prediction(share(scores), H, w),
    "divergence": lambda H, w, scores, real: ap.jensen_shannon(share(scores), share(-scores)),
    "kendall": lambda H, w, scores, real: ap.kendall_tau(scores, H[..., 0], real) * scores.sum(),
    "agreement": lambda *inputs: the_tests(*inputs)[0] * inputs[1].sum(),
    "permuted": lambda *inputs: the_tests(*inputs)[1],
    "uniform": lambda *inputs: the_tests(*inputs)[2],
    "rival": lambda *inputs: the_tests(*inputs)[3],
    "adversarial": lambda H, w, scores, real: ap.adversarial_weights(share(scores), H, w),
    "contributions": lambda H, w, scores, real: ap.contributions(share(scores)[:, None], H),
    "rollout": lambda H, w, scores, real: ap.rollout(share(H[:, None, :, :N])),
    "patches": lambda H, w, scores, real: ap.patches(H[:, None, :4, :6], 2),
    "image": lambda *inputs: the_image(*inputs)[0],
    "class token's gradient": lambda *inputs: the_image(*inputs)[1],
    "class token": lambda H, w, scores, real: ap.with_class_token(H[:, 1:], w, H[0]),
}


@pytest.fixture
def inputs(tensors):
    return [tensors(BATCH, N, D), tensors(D), tensors(BATCH, N), torch.tensor(REAL)]


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_numpy_and_torch_agree_and_inputs_stay(call, inputs):
    alike_in_numpy_and_torch(call, inputs)


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_memory_layout_does_not_matter(call, inputs):
    H, w, scores, real = inputs
    strided = [H.mT.contiguous().mT, w.repeat(2)[::2] * 0 + w, scores.T.contiguous().T, real]
    assert not strided[0].is_contiguous()
    close(call(*strided), call(*inputs))


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_dtype_stays(call, inputs, dtype):
    *arrays_, real = (x.numpy() for x in inputs)
    assert call(*[x.astype(dtype) for x in arrays_], real).dtype == dtype
    tensors = [torch.tensor(x.astype(dtype)) for x in arrays_]
    assert call(*tensors, torch.tensor(real)).numpy().dtype == dtype


# The furthest weights are found by trying; nobody trains through that.
TRAINED = {name: call for name, call in CALLS.items() if name != "adversarial"}


@pytest.mark.parametrize("call", TRAINED.values(), ids=TRAINED)
@pytest.mark.parametrize("scale", [1.0, 1000.0])
def test_gradients_are_finite(call, inputs, scale):
    *arrays_, real = inputs
    leaves = [(scale * x).requires_grad_() for x in arrays_]
    call(*leaves, real).sum().backward()
    gradients = [x.grad for x in leaves if x.grad is not None]
    assert gradients
    assert all(torch.isfinite(g).all() for g in gradients)


def image(**changed):
    arguments = {"W_e": np.ones((5, 12)), "positions": np.ones((7, 5))}
    arguments |= {"upstream": np.ones((2, 7, 5))} | changed
    return ap.image_tokens(np.ones((2, 3, 4, 6)), 2, token=np.ones(5), **arguments)


ONE, TWO = np.ones(1), np.ones((2, 2))
TEXT = [np.ones((3, 2)), np.ones(2), np.ones(2), np.array([True, True, False])]
WRONG = [
    (lambda: ap.prediction(np.ones(3), TWO, ONE), "H has shape .* N = 2, but weights has N = 3"),
    (lambda: ap.kendall_tau(ONE, ONE, ONE), "real has dtype float64.*booleans"),
    (
        lambda: ap.explanation_tests(*TEXT, np.array([[0, 0, 2]]), np.ones((1, 3))),
        "orders has a row that is not an order of 0 to 2",
    ),
    (
        lambda: ap.explanation_tests(*TEXT, np.array([[0, 2, 1]]), np.ones((1, 3))),
        "orders moves a place where real is False",
    ),
    (
        lambda: ap.adversarial_weights(np.ones(2), TWO, np.ones(2), tolerance=0),
        "tolerance is 0; it takes a finite number greater than 0",
    ),
    (lambda: ap.rollout(np.ones((4, 2, 2))), "weights has shape .* layers, then heads"),
    (lambda: ap.patches(np.ones((1, 4, 6)), 5), "size is 5; no such patch fits"),
    (lambda: ap.patches(np.ones((1, 4, 6)), 2.0), "size is 2.0 of type float"),
    (
        lambda: ap.with_class_token(TWO, np.ones(2), TWO),
        r"positions has shape \(2, 2\); 2 patches and the class token take \(3, 2\)",
    ),
    (lambda: image(W_e=np.ones((5, 4))), r"W_e has shape .* has 12 numbers, so it takes \(D, 12"),
    (lambda: image(upstream=np.ones((2, 6, 5))), "upstream has shape .* T = 6, but positions"),
    (
        lambda: image(positions=np.ones((6, 5)), upstream=np.ones((2, 6, 5))),
        "upstream has shape .* class token are 7 places",
    ),
]


@pytest.mark.parametrize(("call", "message"), WRONG)
def test_wrong_arguments_are_named(call, message):
    with pytest.raises((TypeError, ValueError), match=message):
        call()
