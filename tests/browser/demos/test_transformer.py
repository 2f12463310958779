"""The Transformer's demos on the built page: by mouse, key and finger they do what attnkit does."""

import numpy as np
import pytest
import torch
from scipy.special import softmax

from attnkit.demos.transformer import SYMBOLS
from attnkit.training.transformer import Decoder

from .hand import box, carried, drag, finger, number, numbers

PAGE = "chapters/transformer"
BLOCKS, COST, INDUCTION = (
    "Softmax without seeing it all",
    "The cost of length",
    "An induction head at work",
)


def status(demo):
    return demo.locator(".attn-status").inner_text()


# ---- softmax in blocks ---------------------------------------------------------------------


def blocks_are_right(demo, size):
    """Rescaled, each step is the softmax of what was read; returns the steps and the reads."""
    found = numbers(demo)
    table = np.array(list(found["Items"].values()))
    scores, V, so_far, whole = table.T
    np.testing.assert_allclose(whole, softmax(scores), atol=6e-5)
    steps = np.array(list(found["After each block"].values())).reshape(-1, 5)
    for n, (top, _, total, _, read) in enumerate(steps, start=1):
        seen = scores[: n * size]
        assert top == pytest.approx(seen.max(), abs=6e-5)
        assert total == pytest.approx(np.exp(seen - top).sum(), rel=1e-3)
        assert read == pytest.approx(softmax(seen) @ V[: len(seen)], abs=6e-5)
    seen = scores[: len(steps) * size]
    np.testing.assert_allclose(so_far[: len(seen)], softmax(seen), atol=6e-5)
    assert not so_far[len(seen) :].any()
    return len(steps), steps[:, 4].tolist()


def test_blocks_by_mouse(page):
    """Steps end in the softmax of all; a lifted block needs the rescaling, and a maximum at all."""
    demo = box(page, BLOCKS)
    assert blocks_are_right(demo, 2)[0] == 1
    forward = demo.get_by_role("button", name="Read next block")
    forward.click()
    assert "no larger score" in status(demo)
    forward.click()
    assert "a larger score, 2.40" in status(demo)
    for _ in range(4):
        forward.click()
    steps, before = blocks_are_right(demo, 2)
    assert steps == 5
    assert "as all at once" in status(demo)
    drag(page, demo.get_by_role("slider", name="Score 1", exact=True), 0, -60)
    assert blocks_are_right(demo, 2)[1][-1] != before[-1]
    lift = demo.get_by_label("Added to the last block")
    track = lift.bounding_box()
    page.mouse.click(track["x"] + 0.6 * track["width"], track["y"] + track["height"] / 2)
    assert lift.get_attribute("aria-valuetext").startswith("10 added")
    blocks_are_right(demo, 2)
    demo.get_by_label("running, nothing is rescaled").check()
    assert "still counts from the old maximum" in status(demo)
    assert "; all at once it is" in status(demo)
    demo.get_by_label("not subtracted").check()
    assert "as all at once" in status(demo)
    page.mouse.click(track["x"] + track["width"] - 3, track["y"] + track["height"] / 2)
    assert "the read is NaN" in status(demo)
    demo.get_by_role("button", name="Reset").click()
    assert blocks_are_right(demo, 2)[0] == 1


def test_blocks_by_keyboard(page):
    """Blocks of any size, also a shorter last one, end in the same read."""
    demo = box(page, BLOCKS)
    forward = demo.get_by_role("button", name="Read next block")
    for _ in range(9):
        forward.press("ArrowRight")
    size = demo.get_by_label("Scores in a block")
    size.press("Home")
    ends = []
    for block in (1, 2, 3, 5, 10):
        assert size.get_attribute("aria-valuetext") == f"{block} scores in a block"
        for _ in range(10):
            forward.press("ArrowRight")
        steps, reads = blocks_are_right(demo, block)
        assert steps == -(-10 // block)
        ends.append(reads[-1])
        size.press("ArrowRight")
    assert len(set(ends)) == 1
    score = demo.get_by_role("slider", name="Score 10")
    score.press("Shift+ArrowDown")
    assert score.get_attribute("aria-valuetext") == "2.60"
    assert blocks_are_right(demo, 10)[1] != reads
    for _ in range(3):
        forward.press("ArrowLeft")
    assert status(demo).startswith("Nothing is read yet")
    demo.get_by_role("button", name="Another example").press("Enter")
    forward.press("ArrowRight")
    assert blocks_are_right(demo, 10)[1] != reads


def test_blocks_by_finger(page):
    demo = box(page, BLOCKS)
    before = blocks_are_right(demo, 2)
    finger(page, demo.get_by_role("slider", name="Score 2"), (0, 30), (0, 50))
    assert blocks_are_right(demo, 2) != before


# ---- the cost of length --------------------------------------------------------------------


def spent(demo):
    """Multiplications and numbers held, by method, and the single numbers."""
    found = numbers(demo)
    single = {name: value for name, (value,) in found["Single numbers"].items()}
    return found["Cost at this length"], single


def test_cost_by_mouse(page):
    """Twice the length costs fourfold the naive way, twice with linear attention."""
    demo = box(page, COST)
    before, single = spent(demo)
    (N, D, h) = (single[name] for name in ("Length N", "Width of the model D", "Heads"))
    assert (N, D, h) == (128, 512, 8)
    assert before["naive"] == [2 * N**2 * D, h * N**2]
    assert before["linear"] == [N * D * (2 * D / h + 1), D * (D / h + 1)]
    grip = demo.get_by_role("slider", name="Length N")
    for _ in range(4):
        grip.press("ArrowRight")
    assert grip.get_attribute("aria-valuetext") == "length 256"
    after, _ = spent(demo)
    assert after["naive"] == [4 * cost for cost in before["naive"]]
    assert after["linear"] == [2 * before["linear"][0], before["linear"][1]]
    drag(page, grip, 80, 0)
    dragged, single = spent(demo)
    assert single["Length N"] > 1000
    assert dragged["naive"][0] > after["naive"][0]
    demo.get_by_label("written letter by letter").check()
    written, _ = spent(demo)
    assert written["linear"][0] < written["cached"][0] < written["naive"][0]
    assert written["cached"][0] < dragged["naive"][0]
    demo.get_by_label("the layer with its projections").check()
    layer, later = spent(demo)
    n = later["Length N"]
    assert layer["cached"][0] == written["cached"][0] + 4 * n * D**2
    assert "length 2306 on" in status(demo)
    demo.get_by_role("button", name="Reset").click()
    assert spent(demo)[0] == before


def test_cost_by_keyboard(page):
    """Where linear attention wins follows the width of a head."""
    demo = box(page, COST)
    heads = demo.get_by_role("slider", name="Heads")
    for wide, key in [(64, "Home"), (512, "End"), (16, "ArrowLeft")]:
        assert spent(demo)[1]["fewer multiplications from"] == wide + 1
        assert f"heads {wide} wide" in status(demo)
        heads.press(key)
    demo.get_by_role("slider", name="Width").press("Home")
    assert "heads 4 wide" in status(demo)
    demo.get_by_role("slider", name="Length N").press("Shift+ArrowLeft")
    assert spent(demo)[1]["Length N"] == 54
    demo.get_by_label("read at once").press("ArrowDown")
    assert spent(demo)[1]["fewer multiplications from"] == 9
    demo.get_by_role("button", name="Another example").press("Enter")
    spent(demo)


def test_cost_by_finger(page):
    demo = box(page, COST)
    finger(page, demo.get_by_role("slider", name="Length N"), (-20, 0), (-60, 10))
    assert spent(demo)[1]["Length N"] < 64


# ---- the induction head --------------------------------------------------------------------

KEEP = {"both": (1, 1), "only layer 2": (0, 1), "only layer 1": (1, 0), "none": (0, 0)}


@pytest.fixture
def decoder(page):
    """The model as torch runs it, made of the weights that came with the page."""
    weights = carried(page, "decoder")
    loaded = Decoder(32, weights["norm.bias"].shape[0], 2, 1, len(weights["places.weight"]))
    loaded.load_state_dict(weights)
    return loaded


def head_is_right(demo, decoder, heads="both"):
    """Weights and probabilities of the tables are torch's; returns what the model says next."""
    found = numbers(demo)
    text = [name.split()[1] for name in found["Layer 1: weights"]]
    tokens = torch.tensor([[SYMBOLS.index(symbol) for symbol in text]])
    with torch.no_grad():
        scores, weights, _ = decoder(tokens, keep=torch.tensor(KEEP[heads]).float()[:, None])
    for layer in (0, 1):
        shown = list(found[f"Layer {layer + 1}: weights"].values())
        np.testing.assert_allclose(shown, weights[0, layer, 0], atol=1e-3)
    ((place, chances),) = found["Probability of each next letter"].items()
    wanted = scores[0, int(place.split()[0]) - 1].softmax(-1)
    np.testing.assert_allclose(chances, wanted, atol=1e-3)
    return SYMBOLS[int(wanted.argmax())]


def typed(demo):
    return demo.get_by_label("1 to 14 letters").input_value()


def test_induction_by_mouse(page, decoder):
    """It copies the string to its end; without either head it does not."""
    demo = box(page, INDUCTION)
    assert "has not been there before" in status(demo)
    demo.get_by_label("1 to 14 letters").fill("kqzmtbk")
    assert head_is_right(demo, decoder) == "q"
    assert "k stood at place 1, and q followed" in status(demo)
    forward = demo.get_by_role("button", name="Write next letter")
    for _ in range(9):
        forward.click()
    assert typed(demo) == "kqzmtbkqzmtbkq"
    head_is_right(demo, decoder)
    assert "At 8 of 8 such places" in status(demo)
    for heads in ("only layer 2", "only layer 1", "none"):
        demo.get_by_label(heads, exact=True).check()
        says = head_is_right(demo, decoder, heads)
        right = number(status(demo).split(" of 8 such places")[0].split()[-1])
        assert right <= 6
        if heads == "only layer 1":
            assert says == "k"  # the letter before, as the answer tells
    assert demo.locator(".attn-arc").count() == 0
    demo.get_by_role("button", name="Reset").click()
    assert typed(demo) == "kqzmtb"


def test_induction_by_keyboard(page, decoder):
    """Arrows move the place that asks, and write and take back; what is typed is read."""
    demo = box(page, INDUCTION)
    asks = demo.get_by_role("slider", name="Place that asks")
    demo.get_by_label("1 to 14 letters").fill("kqzmtbk")
    assert asks.get_attribute("aria-valuetext") == "place 7, k"
    asks.press("ArrowRight")
    assert asks.get_attribute("aria-valuetext") == "place 7, k"
    asks.press("ArrowLeft")
    assert asks.get_attribute("aria-valuetext") == "place 6, b"
    assert "has not been there before" in status(demo)
    head_is_right(demo, decoder)
    back = demo.get_by_role("button", name="Take back")
    back.press("ArrowRight")
    assert typed(demo) == "kqzmtbkq"
    for _ in range(9):
        back.press("ArrowLeft")
    assert typed(demo) == "k"
    field = demo.get_by_label("1 to 14 letters")
    field.fill("Ab9c d5ab")
    assert typed(demo) == "abcd5ab"
    assert head_is_right(demo, decoder) == "c"
    field.fill("")
    field.blur()
    assert typed(demo) == "abcd5ab"
    demo.get_by_role("button", name="Another example").press("Enter")
    assert typed(demo) != "abcd5ab"
    head_is_right(demo, decoder)
    assert "stood at place" in status(demo)


def test_induction_by_finger(page, decoder):
    """A finger drags the place that asks along the text."""
    demo = box(page, INDUCTION)
    asks = demo.get_by_role("slider", name="Place that asks")
    finger(page, asks, (-30, 0), (-60, 0))
    assert asks.get_attribute("aria-valuenow") in ("2", "3")
    head_is_right(demo, decoder)
