"""The reference implementations of soft attention, held to oracles that others wrote."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from attnkit import soft_attention as sa
from attnkit.checking import laws
from tests.arrays import alike_in_any_layout, alike_in_numpy_and_torch, close

FINITE = st.floats(-1e3, 1e3, width=64)
SCORES = arrays.arrays(
    float, arrays.array_shapes(min_dims=1, max_dims=3, max_side=5), elements=FINITE
)
BATCH, M, N, D, DV = 2, 3, 5, 4, 6  # all different, so that a wrong axis cannot hide


# ------------------------------------------------------------------ softmax


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -2])
def test_softmax_is_torchs_along_any_axis(tensors, axis):
    scores = tensors(BATCH, M, N)
    close(sa.softmax(scores, axis), torch.softmax(scores, axis))
    close(sa.softmax(scores.numpy(), axis), torch.softmax(scores, axis))


@pytest.mark.parametrize(
    "scores",
    [
        [[1000.0, 999.0, -1000.0], [-1000.0, -1001.0, -1002.0]],
        [[0.0, 0.0, 0.0], [-1e6, -1e6, -1e6]],
        [[8e307, -8e307, 0.0], [1e-308, 0.0, 0.0]],
        [[3.0], [-2000.0]],
    ],
)
def test_softmax_at_the_extremes(scores):
    close(
        sa.softmax(np.array(scores)), torch.softmax(torch.tensor(scores, dtype=torch.float64), -1)
    )


def items(arguments):
    return -1


@pytest.mark.parametrize(
    ("function", "law"),
    [
        (sa.softmax, laws.sums_to(1, along=items)),
        (sa.softmax, laws.not_negative()),
        (sa.softmax, laws.shift_invariant("scores", along=items)),
        (sa.softmax, laws.items_permuted("scores", axis=-1, output_axis=-1)),
        (sa.softmax_jacobian, laws.symmetric()),
        (sa.softmax_jacobian, laws.sums_to(0, along=items)),
        (sa.softmax_jacobian, laws.shift_invariant("scores", along=items)),
    ],
)
@given(scores=SCORES)
def test_laws_of_the_softmax(function, law, scores):
    assert law.broken_by(function, {"scores": scores}) is None


# ------------------------------------------------------------------ scores


def test_dot_scores(tensors):
    Q, K = tensors(BATCH, M, D), tensors(BATCH, N, D)
    close(sa.dot_scores(Q, K), torch.einsum("bmd,bnd->bmn", Q, K))
    close(sa.scaled_dot_scores(Q, K), torch.einsum("bmd,bnd->bmn", Q, K) / D**0.5)


def test_bilinear_scores_are_those_of_torch(tensors):
    Q, K, W = tensors(M, D), tensors(N, DV), tensors(DV, D)
    pairs = F.bilinear(K.repeat(M, 1), Q.repeat_interleave(N, 0), W[None]).reshape(M, N)
    close(sa.bilinear_scores(Q, K, W), pairs)
    close(sa.multiplicative_scores(Q, K, W, scaled=True), pairs / DV**0.5)


def test_bilinear_scores_of_a_product_compare_two_projections(tensors):
    Q, K = tensors(M, D), tensors(N, DV)
    W_k, W_q = tensors(2, DV), tensors(2, D)
    close(sa.bilinear_scores(Q, K, W_k.mT @ W_q), sa.dot_scores(Q @ W_q.mT, K @ W_k.mT))


def test_additive_scores_are_those_of_two_linear_layers(tensors):
    Q, K = tensors(BATCH, M, D), tensors(BATCH, N, DV)
    of_query = torch.nn.Linear(D, 7, bias=False, dtype=torch.float64)
    of_key = torch.nn.Linear(DV, 7, bias=False, dtype=torch.float64)
    v = tensors(7)
    expected = torch.tanh(of_key(K)[:, None] + of_query(Q)[:, :, None]) @ v
    ours = sa.additive_scores(Q, K, of_query.weight.detach(), of_key.weight.detach(), v)
    close(ours, expected.detach())


def test_gaussian_scores_are_squared_distances(tensors):
    Q, K = tensors(BATCH, M, D), tensors(BATCH, N, D)
    close(sa.gaussian_scores(Q, K, 0.7), -(torch.cdist(Q, K) ** 2) / (2 * 0.7**2))


def test_on_keys_of_equal_length_the_gaussian_weights_are_those_of_the_dot_product(tensors):
    Q, K = tensors(M, D), F.normalize(tensors(N, D), dim=-1)
    h = 0.6
    close(
        sa.attention_weights(sa.gaussian_scores(Q, K, h)),
        sa.attention_weights(sa.dot_scores(Q, K), temperature=h**2),
    )


# ------------------------------------------------------------------ weights and read


@pytest.mark.parametrize("temperature", [0.1, 1.0, 2.0])
def test_soft_attention_is_torchs(tensors, temperature):
    Q, K, V = tensors(BATCH, M, D), tensors(BATCH, N, D), tensors(BATCH, N, DV)
    read, weights = sa.soft_attention(Q, K, V, temperature)
    close(read, F.scaled_dot_product_attention(Q, K, V, scale=1 / temperature))
    close(weights, torch.softmax(Q @ K.mT / temperature, -1))


def test_the_parts_make_the_whole(tensors):
    Q, K, V = tensors(BATCH, M, D), tensors(BATCH, N, D), tensors(BATCH, N, DV)
    weights = sa.attention_weights(sa.dot_scores(Q, K), temperature=2.0)
    close(sa.soft_read(weights, V), sa.soft_attention(Q, K, V, 2.0)[0])


def test_the_limits_of_the_temperature(tensors):
    scores = tensors(M, N)
    hard = F.one_hot(scores.argmax(-1), N).double()
    close(sa.attention_weights(scores, temperature=1e-6), hard)
    close(sa.attention_weights(scores, temperature=1e12), torch.full((M, N), 1 / N).double())


@pytest.mark.parametrize(
    "law",
    [
        laws.read_inside_hull("V", axis=-2),
        laws.items_permuted("K", "V", axis=-2),
        laws.batch_independent("Q", "K", "V", rank=2),
        laws.finite_gradients("Q", "K", "V"),
    ],
    ids=lambda law: law.sentence,
)
@pytest.mark.parametrize("scale", [1.0, 1000.0])
def test_laws_of_the_read(tensors, law, scale):
    shapes = {"Q": (BATCH, M, D), "K": (BATCH, N, D), "V": (BATCH, N, DV)}
    arguments = {name: scale * tensors(*shape).numpy() for name, shape in shapes.items()}
    close = laws.within(1e-12 * scale)
    assert (
        law.broken_by(lambda Q, K, V: sa.soft_attention(Q, K, V)[0], arguments, close=close) is None
    )


def test_nadaraya_watson_is_the_kernel_average_of_the_papers():
    rng = np.random.default_rng(0)
    keys, values, x, h = rng.normal(size=N), rng.normal(size=N), rng.normal(size=M), 0.4
    kernel = np.exp(-((x[:, None] - keys) ** 2) / (2 * h**2))
    close(sa.nadaraya_watson(x, keys, values, h), kernel @ values / kernel.sum(1))


# ------------------------------------------------------------------ Jacobian, entropy


def test_the_jacobian_is_the_one_autograd_finds(tensors):
    scores = tensors(BATCH, N)
    for ours, row in zip(sa.softmax_jacobian(scores), scores, strict=True):
        close(ours, torch.autograd.functional.jacobian(lambda s: torch.softmax(s, -1), row))


def test_entropy_is_that_of_torch(tensors):
    weights = torch.softmax(tensors(M, N), -1)
    close(sa.entropy(weights), torch.distributions.Categorical(weights).entropy())
    close(sa.entropy(np.eye(N)), np.zeros(N))


# ------------------------------------------------------------------ both libraries, no side effects

CALLS = {
    "softmax": lambda Q, K, V, W, H: sa.softmax(Q, axis=1),
    "dot": lambda Q, K, V, W, H: sa.dot_scores(Q, K),
    "bilinear": lambda Q, K, V, W, H: sa.bilinear_scores(Q, K, W),
    "additive": lambda Q, K, V, W, H: sa.additive_scores(Q, K, H, 2 * H, H[:, 0]),
    "gaussian": lambda Q, K, V, W, H: sa.gaussian_scores(Q, K, 2.0),
    "attention": lambda Q, K, V, W, H: sa.soft_attention(Q, K, V, 2.0)[0],
    "kernel": lambda Q, K, V, W, H: sa.nadaraya_watson(Q[..., 0], K[..., 0], V[..., 0]),
    "jacobian": lambda Q, K, V, W, H: sa.softmax_jacobian(Q),
    "entropy": lambda Q, K, V, W, H: sa.entropy(sa.softmax(Q)),
}


@pytest.fixture
def inputs(tensors):
    return [
        tensors(BATCH, M, D),
        tensors(BATCH, N, D),
        tensors(BATCH, N, DV),
        tensors(D, D),
        tensors(7, D),
    ]


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_numpy_and_torch_agree_and_inputs_stay(call, inputs):
    alike_in_numpy_and_torch(call, inputs)


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_memory_layout_does_not_matter(call, inputs):
    alike_in_any_layout(call, inputs)


@pytest.mark.parametrize("scale", [1.0, 1000.0])
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_gradients_are_finite(call, inputs, scale):
    inputs = [(scale * x).requires_grad_() for x in inputs]
    call(*inputs).sum().backward()
    gradients = [x.grad for x in inputs if x.grad is not None]
    assert gradients
    assert all(torch.isfinite(g).all() for g in gradients)


@settings(max_examples=20)
@given(st.sampled_from([np.float32, np.float64]))
def test_the_dtype_stays(dtype):
    Q, K, V = (np.ones(shape, dtype) for shape in [(M, D), (N, D), (N, DV)])
    assert sa.soft_attention(Q, K, V)[0].dtype == dtype
    assert sa.softmax_jacobian(Q).dtype == dtype
    assert sa.gaussian_scores(Q, K, 0.5).dtype == dtype
