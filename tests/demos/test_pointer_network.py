"""The network in the page is the trained one, and its traits keep to what it can run."""

import numpy as np
import pytest
import torch

from attnkit.data.pointer_network import order, to_sort
from attnkit.demos import pointer_network as demos
from attnkit.training.pointer_network import PointerNetwork, train

from .node import close, node
from .traits import refuses

SIZE = 48
LISTS = [[5, 20, 10], [0, 99], [7, 7, 7, 3], list(range(0, 996, 83)), [42, 13, 999, 0, 640, 211, 8]]


@pytest.fixture(scope="module")
def network():
    """A network of the chapter's size, trained for a moment so that it differs from chance."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    model = PointerNetwork(SIZE, masked=True)
    pairs = [map(torch.from_numpy, to_sort(rng, 32, 4)) for _ in range(150)]
    train(model, [(numbers.float(), chosen) for numbers, chosen in pairs])
    return model


@pytest.fixture
def demo(network):
    return demos.Sorter(network=network)


def halved(network):
    """The network with its weights rounded as they travel, in double precision."""
    copy = PointerNetwork(SIZE, masked=True).double()
    copy.load_state_dict({k: v.half().double() for k, v in network.state_dict().items()})
    return copy


def in_torch(network, numbers, masked):
    """The slots up to STOP, and the weights by which they were chosen."""
    dtype = network.go.dtype
    chosen, logs = network.write(torch.tensor([numbers], dtype=dtype) / 1000, masked)
    slots = chosen[0].tolist()
    steps = slots.index(0) + 1 if 0 in slots else len(slots)
    return slots[:steps], logs[0, :steps].exp().numpy()


@pytest.mark.parametrize("masked", [True, False])
def test_the_page_runs_the_trained_network(network, demo, masked):
    """To nine digits with the rounded weights, to a thousandth with those of the training."""
    calls = [
        ("compute", {"numbers": numbers, "masked": masked, "network": demo.network})
        for numbers in LISTS
    ]
    for numbers, result in zip(LISTS, node(demos.Sorter, *calls), strict=True):
        slots, weights = in_torch(halved(network), numbers, masked)
        steps = result["steps"]
        assert [step["slot"] for step in steps] == slots
        close([step["weights"] for step in steps], weights)
        full, weights = in_torch(network, numbers, masked)
        if full == slots:  # where two weights are nearly equal, rounding may turn the choice
            found = np.array([step["weights"] for step in steps])
            np.testing.assert_allclose(found, weights, atol=1e-3)


def test_it_marks_what_the_mask_hides(demo):
    state = {"numbers": [5, 20, 10], "masked": True, "network": demo.network}
    masked, free = node(demos.Sorter, ("compute", state), ("compute", {**state, "masked": False}))
    before = []
    for step in masked["steps"]:
        assert [slot for slot, hidden in enumerate(step["hidden"]) if hidden] == sorted(before)
        before.append(step["slot"])
    assert not any(any(step["hidden"]) for step in free["steps"])


def test_it_knows_where_to_point():
    calls = [("targets", numbers, []) for numbers in LISTS]
    for numbers, slots in zip(LISTS, node(demos.Sorter, *calls), strict=True):
        assert slots == order(numbers).tolist()


def test_the_largest_that_is_left_is_the_target():
    calls = [("targets", [7, 3, 7], chosen) for chosen in ([3, 1, 2, 0], [3, 3], [2, 1], [0])]
    assert node(demos.Sorter, *calls) == [[3, 1, 2, 0], [3, 1, 1, 2], [1, 1, 3, 0], [1, 1, 3, 2]]


def test_the_weights_stay_small(demo):
    assert sum(len(tensor["float16"]) for tensor in demo.network.values()) < 300_000


def test_weights_of_one_demo_serve_another(demo):
    assert demos.Sorter(network=demo.network).network == demo.network


WRONG = [
    ("numbers", [5], r"numbers must be .* \(2 to 12\) .* from 0 to 999, whole numbers; got \[5\]"),
    ("numbers", [1] * 13, "numbers must be"),
    ("numbers", [1.5, 2], "whole numbers"),
    ("numbers", [1, 1000], "from 0 to 999"),
    ("numbers", "5 20 10", "numbers must be"),
    ("step", 14, "greater than 13"),
    ("masked", "yes", "boolean"),
    ("network", 3, "network must be a trained PointerNetwork; got 3"),
    ("network", {}, "network must be"),
]


@pytest.mark.parametrize(("name", "value", "message"), WRONG)
def test_wrong_traits_are_named(demo, name, value, message):
    refuses(demo, name, value, message)
