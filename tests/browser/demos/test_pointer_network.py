"""The sorter on the built page: every step is the trained network's own."""

import numpy as np
import pytest
import torch

from attnkit.training.pointer_network import PointerNetwork

from .hand import box, carried, numbers

PAGE = "chapters/pointer_network"
TYPED = "2 to 12 numbers up to 999"


@pytest.fixture
def demo(page):
    return box(page, "The sorter")


@pytest.fixture
def network(page):
    """The network as torch runs it, made of the weights that came with the page."""
    weights = carried(page, "network")
    loaded = PointerNetwork(len(weights["stop"]), masked=True)
    loaded.load_state_dict(weights)
    return loaded


def is_right(demo, network, given, masked=True):
    """The weights of the table are torch's; returns the places that are pointed at."""
    chosen, logs = network.write(torch.tensor([given]) / 1000, masked)
    (table,) = numbers(demo).values()
    slots = [name.split(": ")[1] for name in table]
    wanted = [str(slot) if slot else "gate" for slot in chosen[0].tolist()][: len(slots)]
    assert slots == wanted
    weights = logs[0, : len(slots)].exp().roll(-1, dims=-1)  # the gate stands last on the page
    np.testing.assert_allclose(list(table.values()), weights, atol=1e-3)
    return slots


def shown(demo):
    """The places that stand at the left of the picture."""
    return "".join(demo.locator(".attn-value + .attn-letter").all_text_contents())


def test_steps_by_mouse(demo, network):
    """With the mask it sorts and stops; without, it points where it has pointed before."""
    assert is_right(demo, network, [5, 20, 10]) == ["2", "3", "1", "gate"]
    assert shown(demo) == "2"
    status = demo.locator(".attn-status")
    assert "place 2, the number 20" in status.inner_text()
    assert "That is right" in status.inner_text()
    forward = demo.get_by_role("button", name="Step forward")
    for written in ("23", "231", "231■", "231■"):
        forward.click()
        assert shown(demo) == written
    assert "STOP. All numbers are written, in order" in status.inner_text()
    demo.get_by_label("visible (mask off)").check()
    assert is_right(demo, network, [5, 20, 10], masked=False)[:2] == ["2", "2"]
    assert shown(demo) == "2222"
    demo.get_by_role("button", name="Step back").click()
    assert "it has pointed there before" in status.inner_text()
    demo.get_by_role("button", name="Reset").click()
    assert demo.get_by_label("hidden (mask on)").is_checked()
    assert shown(demo) == "2"


def test_steps_by_keyboard(demo, network):
    """Arrow keys step to both ends and no further."""
    back = demo.get_by_role("button", name="Step back")
    forward = demo.get_by_role("button", name="Step forward")
    for _ in range(3):
        back.press("ArrowLeft")
    assert shown(demo) == ""
    assert "Step 1 should point at place 2" in demo.locator(".attn-status").inner_text()
    for _ in range(9):
        forward.press("ArrowRight")
    assert shown(demo) == "231■"
    back.press("Enter")
    assert shown(demo) == "231"
    demo.get_by_label("hidden (mask on)").press("ArrowRight")
    is_right(demo, network, [5, 20, 10], masked=False)


def test_typed_numbers(demo, network):
    """What does not fit is left alone, and the steps never outnumber what there is to write."""
    field = demo.get_by_label(TYPED)
    many = [310, 41, 59, 265, 358, 979, 323, 846, 264, 338, 327, 950]
    field.fill(", ".join(map(str, many)))
    is_right(demo, network, many)
    forward = demo.get_by_role("button", name="Step forward")
    for _ in range(12):
        forward.click()
    field.fill("7 7 5")
    assert len(is_right(demo, network, [7, 7, 5])) == len(shown(demo))
    for unfit in ("", "4", "1000 3", " ".join(["1"] * 13), "a b"):
        field.fill(unfit)
        is_right(demo, network, [7, 7, 5])
    field.blur()
    assert field.input_value() == "7 7 5"
    demo.get_by_role("button", name="Another example").click()
    assert shown(demo) == ""
    is_right(demo, network, [int(number) for number in field.input_value().split()])
