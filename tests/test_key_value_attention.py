"""The reference implementations of key-value attention and memory, held to what others wrote."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from attnkit import key_value_attention as kv
from attnkit import soft_attention as sa
from attnkit.checking import laws
from attnkit.data import key_value_attention as data
from tests.arrays import alike_in_any_layout, alike_in_numpy_and_torch, close

BATCH, M, N, D, DV = 2, 3, 5, 4, 6  # all different, so that a wrong axis cannot hide


@pytest.fixture
def tensors():
    generator = torch.Generator().manual_seed(0)

    def draw(*shape):
        return torch.randn(shape, generator=generator, dtype=torch.float64)

    return draw


# ------------------------------------------------------------------ read


@pytest.mark.parametrize("scale", [1.0, 1000.0])
def test_key_value_attention_is_torchs(tensors, scale):
    Q, K, V = scale * tensors(BATCH, M, D), tensors(BATCH, N, D), tensors(BATCH, N, DV)
    read, weights = kv.key_value_attention(Q, K, V)
    close(read, F.scaled_dot_product_attention(Q, K, V))
    close(weights, torch.softmax(Q @ K.mT / D**0.5, -1))


def test_without_values_the_keys_are_read(tensors):
    Q, K = tensors(M, D), tensors(N, D)
    close(kv.key_value_attention(Q, K)[0], F.scaled_dot_product_attention(Q, K, K))


def test_one_entry_is_read_whatever_is_asked(tensors):
    read, weights = kv.key_value_attention(tensors(M, D), tensors(1, D), tensors(1, DV))
    assert torch.all(weights == 1)
    assert read.shape == (M, DV)


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
def test_laws_of_the_read(tensors, law):
    shapes = {"Q": (BATCH, M, D), "K": (BATCH, N, D), "V": (BATCH, N, DV)}
    arguments = {name: tensors(*shape).numpy() for name, shape in shapes.items()}
    answer = lambda Q, K, V: kv.key_value_attention(Q, K, V)[0]  # noqa: E731
    assert law.broken_by(answer, arguments) is None


# ------------------------------------------------------------------ cosine


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1000.0])
def test_cosine_scores_are_torchs(tensors, scale):
    Q, K = scale * tensors(BATCH, M, D), tensors(BATCH, N, D)
    close(kv.cosine_scores(Q, K), F.cosine_similarity(Q[:, :, None], K[:, None], dim=-1))


def test_a_zero_vector_resembles_nothing_and_has_a_finite_gradient(tensors):
    Q, K = tensors(M, D), tensors(N, D)
    Q[1], K[2] = 0, 0
    Q.requires_grad_()
    K.requires_grad_()
    scores = kv.cosine_scores(Q, K)
    assert torch.all(scores[1] == 0)
    assert torch.all(scores[:, 2] == 0)
    others = scores[[0, 2]][:, [0, 1, 3, 4]]
    close(
        others.detach(),
        F.cosine_similarity(Q[[0, 2], None], K[None, [0, 1, 3, 4]], dim=-1).detach(),
    )
    scores.sum().backward()
    assert torch.isfinite(Q.grad).all()
    assert torch.isfinite(K.grad).all()


# ------------------------------------------------------------------ write


def by_loop(memory, weights, erase, add):
    """The two equations of the paper, number by number."""
    after = memory.copy()
    for n in range(memory.shape[0]):
        for d in range(memory.shape[1]):
            erased = memory[n, d] * (1 - weights[n] * erase[d])
            after[n, d] = erased + weights[n] * add[d]
    return after


def test_erase_add_is_the_two_equations(tensors):
    memory, add = tensors(BATCH, N, D), tensors(BATCH, D)
    weights, erase = torch.softmax(tensors(BATCH, N), -1), torch.sigmoid(tensors(BATCH, D))
    ours = kv.erase_add(memory, weights, erase, add)
    for one in range(BATCH):
        arguments = [x[one].numpy() for x in (memory, weights, erase, add)]
        close(ours[one], by_loop(*arguments))


def test_erasing_all_and_adding_at_one_place_replaces_what_is_there(tensors):
    memory, add = tensors(N, D), tensors(D)
    after = kv.erase_add(memory, torch.eye(N).double()[2], torch.ones(D).double(), add)
    close(after[2], add)
    close(after[[0, 1, 3, 4]], memory[[0, 1, 3, 4]])


@pytest.mark.parametrize("strength", [0.1, 3.0, 1000.0])
def test_write_by_content_addresses_by_cosine(tensors, strength):
    memory, query, add = tensors(BATCH, N, D), tensors(BATCH, D), tensors(BATCH, D)
    erase = torch.sigmoid(tensors(BATCH, D))
    written, weights = kv.write_by_content(memory, query, strength, erase, add)
    cosines = F.cosine_similarity(query[:, None], memory, dim=-1)
    close(weights, torch.softmax(strength * cosines, -1))
    close(written, kv.erase_add(memory, weights, erase, add))


def test_a_memory_of_one_place_and_an_empty_memory_can_be_written(tensors):
    query, erase, add = tensors(D), torch.ones(D).double(), tensors(D)
    written, weights = kv.write_by_content(tensors(1, D), query, 2.0, erase, add)
    close(weights, [1])
    close(written[0], add)
    written, weights = kv.write_by_content(torch.zeros(N, D).double(), query, 2.0, erase, add)
    close(weights, np.full(N, 1 / N))
    close(written, add.expand(N, D) / N)


# ------------------------------------------------------------------ hops


def test_hops_are_reads_one_after_another(tensors):
    query, K, V = tensors(BATCH, D), tensors(BATCH, N, D), tensors(BATCH, N, D)
    read, weights = kv.read_in_hops(query, K, V, hops=3, strength=0.7)
    for hop in range(3):
        query = F.scaled_dot_product_attention(query[:, None], K, V, scale=0.7)[:, 0]
        assert weights[:, hop].shape == (BATCH, N)
    close(read, query)
    close(weights[:, 2].sum(-1), [1, 1])


# ------------------------------------------------------------------ both libraries, no side effects

CALLS = {
    "attention": lambda Q, K, V, w, e, a: kv.key_value_attention(Q, K, V)[0],
    "cosine": lambda Q, K, V, w, e, a: kv.cosine_scores(Q, K),
    "erase and add": lambda Q, K, V, w, e, a: kv.erase_add(K, w, e, a),
    "write": lambda Q, K, V, w, e, a: kv.write_by_content(K, a, 5.0, e, a)[0],
    "hops": lambda Q, K, V, w, e, a: kv.read_in_hops(a, K, K, hops=2)[0],
}
every_call = pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)


@pytest.fixture
def inputs(tensors):
    shapes = [(BATCH, M, D), (BATCH, N, D), (BATCH, N, DV), (BATCH, N), (BATCH, D), (BATCH, D)]
    return [tensors(*shape) for shape in shapes]


@every_call
def test_numpy_and_torch_agree_and_inputs_stay(call, inputs):
    alike_in_numpy_and_torch(call, inputs)


@every_call
def test_memory_layout_does_not_matter(call, inputs):
    alike_in_any_layout(call, inputs)


@pytest.mark.parametrize("scale", [1.0, 1000.0])
@every_call
def test_gradients_are_finite(call, inputs, scale):
    inputs = [(scale * x).requires_grad_() for x in inputs]
    call(*inputs).sum().backward()
    gradients = [x.grad for x in inputs if x.grad is not None]
    assert gradients
    assert all(torch.isfinite(g).all() for g in gradients)


@every_call
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_dtype_stays(call, inputs, dtype):
    assert call(*[x.numpy().astype(dtype) for x in inputs]).dtype == dtype


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: kv.key_value_attention(x(3, 4), x(5, 4), x(6, 2)), r"V has shape .* N = 6"),
        (lambda x: kv.cosine_scores(x(3, 4), x(5, 3)), r"K has shape .* D = 3"),
        (lambda x: kv.erase_add(x(5, 4), x(4), x(4), x(4)), r"weights has shape .* N = 4"),
        (lambda x: kv.write_by_content(x(5, 4), x(4), 0, x(4), x(4)), "strength is 0"),
        (lambda x: kv.read_in_hops(x(4), x(5, 4), x(5, 3), hops=1), r"V has shape .* D = 3"),
        (lambda x: kv.read_in_hops(x(4), x(5, 4), x(5, 4), hops=0), "hops is 0"),
    ],
)
def test_wrong_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call(lambda *shape: np.ones(shape))


# ------------------------------------------------------------------ data


def test_tables_ask_for_a_key_they_hold():
    keys, values, asked, answer = data.tables(500, entries=4, keys=9, values=5, seed=0)
    assert {*keys.ravel()} == {*range(9)}
    assert {*values.ravel()} == {*range(5)}
    assert all(len({*row}) == 4 for row in keys)
    found = keys == asked[:, None]
    assert np.all(found.sum(axis=1) == 1)
    assert np.array_equal(values[found], answer)
    assert len({*found.argmax(axis=1)}) == 4


def test_rewrites_ask_for_the_latest_value():
    keys, values, asked, answer, times = data.rewrites(500, writes=6, keys=4, values=5, seed=0)
    assert {*keys.ravel()} == {*range(4)}
    assert {*values.ravel()} == {*range(5)}
    for row in range(500):
        latest = {}
        for key, value in zip(keys[row], values[row], strict=True):
            latest[key] = value
        assert answer[row] == latest[asked[row]]
        assert times[row] == list(keys[row]).count(asked[row])
    assert {1, 2, 3} <= {*times}


@pytest.mark.parametrize(
    "draw",
    [
        lambda seed: data.tables(7, entries=3, keys=4, values=5, seed=seed),
        lambda seed: data.rewrites(7, writes=3, keys=4, values=5, seed=seed),
    ],
)
def test_a_seed_gives_the_same_data_again(draw):
    assert all(map(np.array_equal, draw(1), draw(1)))
    assert not all(map(np.array_equal, draw(1), draw(2)))


def test_soft_lookup_becomes_a_dictionary(tensors):
    """The limit that the chapter names: sharp enough, the key itself finds its value."""
    K, V = tensors(N, D), tensors(N, DV)
    weights = sa.attention_weights(kv.cosine_scores(K, K), temperature=1e-3)
    close(sa.soft_read(weights, V), V)
