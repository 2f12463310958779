"""The translating demo on the built page: every step is the trained model's own."""

import numpy as np
import pytest
import torch

from attnkit.training.seq2seq import Seq2Seq

from .hand import box, carried, numbers

PAGE = "chapters/seq2seq"
STEPS = "Step through a translation"


@pytest.fixture
def demo(page):
    return box(page, STEPS)


@pytest.fixture
def models(page):
    """The two models as torch runs them, made of the weights that came with the page."""
    loaded = {}
    for reads in ("states", "embeddings"):
        weights = carried(page, reads)
        loaded[reads] = Seq2Seq(10, 10, len(weights["first.bias"]), reads)
        loaded[reads].load_state_dict(weights)
    return loaded


def is_right(demo, model, digits):
    """Weights, digits and probabilities of the tables are torch's; returns what is written."""
    source = torch.tensor([[int(digit) for digit in digits]])
    with torch.no_grad():
        logits, weights = model(source, torch.ones_like(source, dtype=torch.bool), len(digits))
    found = numbers(demo)
    steps = found["Weights of all steps"]
    np.testing.assert_allclose(list(steps.values()), weights[0], atol=1e-3)
    probabilities = list(found["Probability of each digit"].values())
    np.testing.assert_allclose(probabilities, logits[0].softmax(-1), atol=1e-3)
    written = [name.split(": ")[1] for name in steps]
    assert written == [str(digit) for digit in logits[0].argmax(-1).tolist()]
    return "".join(written)


def shown(demo):
    """The digits that stand at the left of the picture."""
    return "".join(demo.locator(".attn-value + .attn-letter").all_text_contents())


def test_steps_by_mouse(demo, models):
    """Stepping forward writes the digits backwards; another value, another look."""
    assert is_right(demo, models["states"], "31415926") == "62951413"
    assert shown(demo) == "6"
    for written in ("62", "629"):
        demo.get_by_role("button", name="Step forward").click()
        assert shown(demo) == written
    status = demo.locator(".attn-status")
    assert "Step 3 writes 9" in status.inner_text()
    by_states = status.inner_text()
    demo.get_by_label("embeddings").check()
    assert is_right(demo, models["embeddings"], "31415926") == "62951413"
    assert status.inner_text() != by_states
    assert "looks most at position 6 (digit 9" in status.inner_text()
    demo.get_by_role("button", name="Step back").click()
    assert shown(demo) == "62"
    demo.get_by_role("button", name="Reset").click()
    assert demo.get_by_label("states").is_checked()


def test_steps_by_keyboard(page, demo, models):
    """Arrow keys step to both ends and no further."""
    back = demo.get_by_role("button", name="Step back")
    forward = demo.get_by_role("button", name="Step forward")
    for _ in range(3):
        back.press("ArrowLeft")
    assert shown(demo) == ""
    status = demo.locator(".attn-status").inner_text()
    assert "Step 1 has to write 6, which stands at position 8" in status
    for _ in range(12):
        forward.press("ArrowRight")
    assert shown(demo) == "62951413"
    back.press("Enter")
    assert shown(demo) == "6295141"
    demo.get_by_label("states").press("ArrowRight")
    is_right(demo, models["embeddings"], "31415926")


def test_typed_digits(page, demo, models):
    """What is no digit is left out, and the steps never outnumber the digits."""
    field = demo.get_by_label("Digits to write backwards")
    field.fill("7a4")
    assert field.input_value() == "74"
    assert is_right(demo, models["states"], "74") == "47"
    field.fill("123456789012345")
    assert field.input_value() == "123456789012"
    is_right(demo, models["states"], "123456789012")
    field.fill("")
    field.blur()
    assert field.input_value() == "123456789012"
    demo.get_by_role("button", name="Another example").click()
    assert shown(demo) == ""
    is_right(demo, models["states"], field.input_value())
