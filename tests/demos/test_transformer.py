"""The Transformer's demos hold to attnkit, to torch and to what real products cost."""

from itertools import product

import numpy as np
import pytest
import torch
from scipy.special import softmax

from attnkit import transformer as tr
from attnkit.data.transformer import repeated
from attnkit.demos import transformer as demos
from attnkit.training.transformer import Decoder, train

from .node import close, node
from .traits import refuses

# ---- softmax in blocks ---------------------------------------------------------------------

BLOCKS = ("scores", "values", "lift", "block", "rule")


def in_blocks(**changes):
    """What is kept after each block, and the softmax of all; the demo's defaults but for these."""
    first = demos.SoftmaxInBlocks()
    state = {name: getattr(first, name) for name in BLOCKS} | changes
    (found,) = node(demos.SoftmaxInBlocks, ("compute", state))
    return found


def test_blocks_of_any_size_end_in_the_softmax_of_all():
    rng = np.random.default_rng(1)
    states = [
        {
            "scores": rng.uniform(-4, 4, 10).tolist(),
            "values": rng.integers(0, 10, 10).tolist(),
            "lift": lift,
            "block": block,
            "rule": "running",
        }
        for lift, block in product([0, 1, 3, 10, 100, 1000], [1, 2, 3, 5, 10])
    ]
    found = node(demos.SoftmaxInBlocks, *(("compute", state) for state in states))
    for state, result in zip(states, found, strict=True):
        scores, V = np.array(state["scores"]), np.array(state["values"], float)
        scores[(9 // state["block"]) * state["block"] :] += state["lift"]
        close(result["scores"], scores)
        close(result["whole"]["weights"], softmax(scores))
        close(result["whole"]["read"], softmax(scores) @ V)
        last = result["steps"][-1]
        for name in ("maximum", "denominator", "total", "read"):
            close(last[name], result["whole"][name])
        read = tr.blockwise_attention(scores[None], V[:, None], state["block"])
        close(last["read"], read[0, 0])
        for n, step in enumerate(result["steps"], start=1):
            seen = scores[: n * state["block"]]  # what is kept is the softmax of what was read
            close(step["maximum"], seen.max())
            close(step["denominator"], np.exp(seen - seen.max()).sum())
            close(np.array(step["powers"]) / step["denominator"], softmax(seen))


def test_without_rescaling_a_later_maximum_comes_too_late():
    forgetful = in_blocks(rule="forgetful", lift=3)
    last, whole = forgetful["steps"][-1], forgetful["whole"]
    assert abs(last["read"] - whole["read"]) > 0.5
    falling = sorted(demos.SoftmaxInBlocks().scores, reverse=True)
    harmless = in_blocks(rule="forgetful", scores=falling)
    close(harmless["steps"][-1]["read"], harmless["whole"]["read"])


def test_without_a_maximum_small_scores_do_and_large_ones_overflow():
    small, large = in_blocks(rule="raw"), in_blocks(rule="raw", lift=1000)
    close(small["steps"][-1]["read"], small["whole"]["read"])
    assert large["steps"][-1]["read"] is None  # as JSON has no NaN
    assert large["whole"]["read"] is not None


def test_the_opening_scores_raise_the_maximum_in_some_blocks_only():
    factors = [step["factor"] for step in in_blocks()["steps"]]
    assert [factor == 1 for factor in factors[1:]] == [True, False, True, False]


# ---- the cost of length --------------------------------------------------------------------


class Counted:
    """Counts the multiplications of the products that go through it."""

    def __init__(self):
        self.count = 0

    def __call__(self, A, B):
        self.count += A.size * B.shape[-1]
        return A @ B


def read_naive(times, Q, K, V):
    """All at once; also what it holds."""
    table = times(Q, K.T)
    return times(softmax(table, axis=-1), V), table.size


def read_in_blocks(times, Q, K, V, block=128):
    """Keys in blocks; what is held are a block of weights, a maximum and a denominator each."""
    top, total, read = np.full((len(Q), 1), -np.inf), 0, np.zeros((len(Q), V.shape[-1]))
    for start in range(0, len(K), block):
        scores = times(Q, K[start : start + block].T)
        higher = np.maximum(top, scores.max(axis=-1, keepdims=True))
        shrink, powers = np.exp(top - higher), np.exp(scores - higher)
        total = shrink * total + powers.sum(axis=-1, keepdims=True)
        times.count += read.size  # rescaled
        read = shrink * read + times(powers, V[start : start + block])
        top = higher
    return read / total, len(Q) * block + top.size + total.size


def linear(times, Q, K, V):
    """Place by place, with running sums."""
    asking, asked = tr.positive_features(Q), tr.positive_features(K)
    S, z, reads = np.zeros((K.shape[1], V.shape[1])), np.zeros((K.shape[1], 1)), []
    for q, k, v in zip(asking, asked, V, strict=True):
        S, z = S + times(k[:, None], v[None]), z + k[:, None]
        reads.append(times(q[None], S) / times(q[None], z))
    return np.concatenate(reads), S.size + z.size


def write_naive(times, Q, K, V):
    """Each place computes all before it again."""
    for n in range(1, len(Q) + 1):
        read, held = read_naive(times, Q[:n], K[:n], V[:n])
    return read[-1:], held


def write_cached(times, Q, K, V):
    """Each place asks the keys and values that are kept; the last row of weights is held too."""
    for n in range(1, len(Q) + 1):
        row = times(Q[n - 1 : n], K[:n].T)
        read = times(softmax(row, axis=-1), V[:n])
    return read, K.size + V.size + row.size


WAYS = {
    "read": {"naive": read_naive, "online": read_in_blocks, "linear": linear},
    "written": {"naive": write_naive, "cached": write_cached, "linear": linear},
}


@pytest.mark.parametrize(("task", "length"), [("read", 37), ("read", 300), ("written", 23)])
@pytest.mark.parametrize("counted", ["attention", "layer"])
def test_costs_are_those_of_running_it(task, length, counted):
    """Each way is run and its products counted, head by head; all but linear read the same."""
    width, heads, rng = 24, 3, np.random.default_rng(2)
    state = {"length": length, "width": width, "heads": heads, "task": task, "counted": counted}
    (found,) = node(demos.CostOfLength, ("costs", state))
    assert found.keys() == WAYS[task].keys()
    Q, K, V = rng.normal(size=(3, length, width // heads))
    for name, way in WAYS[task].items():
        times = Counted()
        read, held = way(times, Q, K, V)
        if name != "linear":
            np.testing.assert_allclose(read[-1], softmax(K @ Q[-1]) @ V)
        products = heads * times.count
        if counted == "layer":
            X, W = rng.normal(size=(length, width)), rng.normal(size=(width, width))
            again = task == "written" and name == "naive"
            for n in range(1, length + 1) if again else [length]:
                for _ in range(4):
                    projected = Counted()
                    projected(X[:n], W)
                    products += projected.count
        assert found[name] == {"operations": products, "memory": heads * held}, name


def test_where_linear_attention_wins():
    """The lengths that the answer speaks of: heads' width, twice that, twice and four times D."""
    sizes = [(64, 1), (512, 8), (4096, 32)]
    for width, heads in sizes:
        d = width // heads
        state = {"length": 16, "width": width, "heads": heads}
        read, written, layer, last = node(
            demos.CostOfLength,
            *(
                ("compute", {**state, "task": task, "counted": counted})
                for counted in ("attention", "layer")
                for task in ("read", "written")
            ),
        )
        assert read["wins"] == {"operations": d + 1, "memory": d + 1}
        assert written["wins"]["operations"] == 2 * d + 1
        assert written["wins"]["memory"] <= d
        assert read["halves"] == 2 * d + 2
        assert layer["wins"] == read["wins"]
        assert layer["halves"] == 2 * width + 2 * d + 2
        assert last["halves"] == 4 * width + 4 * d + 2


# ---- the induction head --------------------------------------------------------------------

TEXTS = ["kqzmtbk", "a", "abcdabcdabcdab", "zz", "k012345k012345"]
HEADS = {"both": (1, 1), "first": (1, 0), "second": (0, 1), "none": (0, 0)}


@pytest.fixture(scope="module")
def decoder():
    """A model of the chapter's size, trained for a moment so that it differs from chance."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    model = Decoder(32, 64, layers=2, heads=1, longest=32)
    train(model, [(torch.from_numpy(repeated(rng, 32, 6, 32)), 7) for _ in range(60)])
    return model


@pytest.fixture
def demo(decoder):
    return demos.InductionHead(decoder=decoder)


def halved(decoder):
    """The model with its weights rounded as they travel, in double precision."""
    copy = Decoder(32, 64, layers=2, heads=1, longest=32).double()
    copy.load_state_dict({k: v.half().double() for k, v in decoder.state_dict().items()})
    return copy


def in_torch(decoder, text, heads):
    """Weights of both layers and probabilities of the next symbol."""
    tokens = torch.tensor([[demos.SYMBOLS.index(symbol) for symbol in text]])
    keep = torch.tensor(HEADS[heads], dtype=decoder.output.weight.dtype)[:, None]
    with torch.no_grad():
        scores, weights, _ = decoder(tokens, keep=keep)
    return weights[0, :, 0].numpy(), scores[0].softmax(-1).numpy()


@pytest.mark.parametrize("heads", HEADS)
def test_the_page_runs_the_trained_decoder(decoder, demo, heads):
    """To nine digits with the rounded weights, to a thousandth with those of the training."""
    calls = [("compute", {"text": t, "heads": heads, "decoder": demo.decoder}) for t in TEXTS]
    for text, result in zip(TEXTS, node(demos.InductionHead, *calls), strict=True):
        weights, probabilities = in_torch(halved(decoder), text, heads)
        close(result["weights"], weights)
        close(result["probabilities"], probabilities)
        weights, probabilities = in_torch(decoder, text, heads)
        np.testing.assert_allclose(result["weights"], weights, atol=1e-3)
        np.testing.assert_allclose(result["probabilities"], probabilities, atol=1e-3)


def test_it_knows_what_followed():
    wanted = {"kqzmtbk": [-1] * 6 + [1], "a": [-1], "abab": [-1, -1, 1, 2], "aaa": [-1, 1, 2]}
    found = node(demos.InductionHead, *(("behind", text) for text in wanted))
    assert found == list(wanted.values())


def test_the_weights_stay_small(demo):
    assert sum(len(tensor["float16"]) for tensor in demo.decoder.values()) < 300_000


def test_weights_of_one_demo_serve_another(demo):
    assert demos.InductionHead(decoder=demo.decoder).decoder == demo.decoder


# ---- traits --------------------------------------------------------------------------------

WRONG = [
    (demos.SoftmaxInBlocks, "scores", [0.0] * 9, r"scores must be an array of shape \(10\)"),
    (demos.SoftmaxInBlocks, "scores", [5.0] * 10, "from -4 to 4"),
    (demos.SoftmaxInBlocks, "values", [10] * 10, "values must be .* from 0 to 9, whole numbers"),
    (demos.SoftmaxInBlocks, "values", [0.5] * 10, "whole numbers"),
    (demos.SoftmaxInBlocks, "block", 4, "expected any of"),
    (demos.SoftmaxInBlocks, "lift", -1, "expected any of"),
    (demos.SoftmaxInBlocks, "rule", "safe", "expected any of.*forgetful"),
    (demos.SoftmaxInBlocks, "step", 11, "greater than 10"),
    (demos.CostOfLength, "length", 8, "less than 16"),
    (demos.CostOfLength, "width", 100, "expected any of"),
    (demos.CostOfLength, "heads", 64, "expected any of"),
    (demos.CostOfLength, "task", "write", "expected any of"),
    (demos.CostOfLength, "counted", "all", "expected any of"),
]


@pytest.mark.parametrize(("widget", "name", "value", "message"), WRONG)
def test_wrong_traits_are_named(widget, name, value, message):
    refuses(widget(), name, value, message)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("text", "", "text must be 1 to 14 letters from a to z or digits from 0 to 5; got ''"),
        ("text", "a" * 15, "text must be"),
        ("text", "Ab", "got 'Ab'"),
        ("text", ["a"], "text must be"),
        ("place", 14, "greater than 13"),
        ("heads", "third", "expected any of"),
        ("decoder", 3, "decoder must be a trained Decoder of 32 tokens, .* got 3"),
        ("decoder", {}, "decoder must be"),
        ("decoder", Decoder(32, 8, layers=1, heads=1, longest=32), "two layers of one head"),
        ("decoder", Decoder(32, 8, layers=2, heads=2, longest=32), "two layers of one head"),
        ("decoder", Decoder(32, 8, 2, 1, longest=32, hidden=8), "without feed-forward"),
        ("decoder", Decoder(32, 8, layers=2, heads=1, longest=13), "14 places or more"),
        ("decoder", Decoder(26, 8, layers=2, heads=1, longest=32), "32 tokens"),
    ],
)
def test_wrong_traits_of_the_induction_head_are_named(demo, name, value, message):
    refuses(demo, name, value, message)
