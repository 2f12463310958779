"""The demo of explanations on the built page: every answer is that of the chapter's functions."""

import numpy as np
import pytest

from attnkit import applications

from .hand import arrived, box, drag, number, numbers

PAGE = "chapters/applications"
TITLE = "Is this an explanation?"
READERS = {"recurrent": "recurrent", "per_word": "word"}
ENCODERS = {"recurrent": "a recurrent encoder (BiGRU)", "per_word": "its word alone (MLP)"}
SHUFFLES = 100


@pytest.fixture
def demo(page):
    return box(page, TITLE)


@pytest.fixture
def came(page):
    """What came with the page: the texts, and what each reader makes of them."""
    return arrived(page, "per_word")


def good(weights, values):
    """The probability of good that the chapter's function gives."""
    return applications.prediction(np.asarray(weights), np.asarray(values)[:, None], np.ones(1))


def shown(demo):
    """The table of both models, by the first cell of its rows."""
    rows = demo.locator(".attn-readings tbody tr").all()
    cells = [row.locator("th, td").all_text_contents() for row in rows]
    return {name: [number(cell) for cell in others] for name, *others in cells}


def is_right(demo, came, encoder, text=0):
    """All that is shown is what attnkit makes of the weights; returns these and the answer."""
    own, values = np.array(came[encoder])[:, text]
    found = numbers(demo)
    words = found[f"Words, {READERS[encoder]} reader"]
    assert [name.split()[1] for name in words] == came["texts"][text]
    columns = np.array(list(words.values())).T
    weights = columns[1]
    np.testing.assert_allclose(columns[0], own, atol=6e-5)
    np.testing.assert_allclose(columns[2], values, atol=6e-5)
    np.testing.assert_allclose(columns[3], weights * values, atol=2e-3)
    readings, model = shown(demo), list(READERS).index(encoder)
    p, before = good(weights, values), good(own, values)
    np.testing.assert_allclose(readings["by these weights"][model], p, atol=0.01)
    np.testing.assert_allclose(readings["by its own weights"][model], before, atol=0.01)
    apart = applications.jensen_shannon(own, weights / weights.sum())
    np.testing.assert_allclose(readings["distance of both (JSD)"][model], apart, atol=0.01)
    shuffled = np.array([row[model] for row in found["Good, by each shuffle"].values()])
    assert len(shuffled) == SHUFFLES
    median = readings["shuffled: median change"][model]
    np.testing.assert_allclose(median, np.median(np.abs(shuffled - before)), atol=0.01)
    turned = readings["shuffled: turned, of 100"][model]
    assert turned == ((shuffled > 0.5) != (before > 0.5)).sum()
    assert ("turns to" in status(demo)) == ((p > 0.5) != (before > 0.5))
    return weights, p


def status(demo):
    return demo.locator(".attn-status").inner_text()


def choose(demo, label):
    demo.get_by_label(label, exact=True).check()


def test_every_kind_of_weights(demo, came):
    """For both models, on the first two texts."""
    n = len(came["texts"][0])
    for text in range(2):
        for encoder, label in ENCODERS.items():
            own, values = np.array(came[encoder])[:, text]
            choose(demo, label)
            choose(demo, "equal")
            weights, _ = is_right(demo, came, encoder, text)
            np.testing.assert_allclose(weights, 1 / n, atol=6e-5)
            choose(demo, "shuffled")
            weights, p = is_right(demo, came, encoder, text)
            np.testing.assert_allclose(np.sort(weights), np.sort(own), atol=6e-5)
            first = numbers(demo)["Good, by each shuffle"]["1"][list(READERS).index(encoder)]
            np.testing.assert_allclose(first, p, atol=0.01)
            choose(demo, "adversarial")
            weights, p = is_right(demo, came, encoder, text)
            rival = applications.adversarial_weights(own, values[:, None], np.ones(1))
            np.testing.assert_allclose(weights, rival, atol=6e-5)
        demo.get_by_role("button", name="Another example").click()


def test_weights_matter_where_words_do_not_mix(demo, came):
    """The answer under the demo holds for the texts that came with it."""
    turned = {}
    for encoder in READERS:
        own, values = np.array(came[encoder])
        before = np.array([good(*pair) for pair in zip(own, values, strict=True)])
        equal = np.array([good(np.full(len(row), 1 / len(row)), row) for row in values])
        turned[encoder] = ((equal > 0.5) != (before > 0.5)).mean()
        rivals = applications.adversarial_weights(own, values[..., None], np.ones(1))
        assert np.median(applications.jensen_shannon(own, rivals)) > 0.5
    assert turned["recurrent"] < turned["per_word"]


def test_by_mouse(page, demo, came):
    """A weight that is dragged takes from the others, and Reset brings attention's own back."""
    assert demo.get_by_label("attention’s own").is_checked()
    assert "recurrent reader says" in status(demo)
    first, _ = is_right(demo, came, "recurrent")
    word = int(first.argmin())
    grip = demo.get_by_role("slider", name=f"Weight of word {word + 1},")
    drag(page, grip, 60, 0)
    assert demo.get_by_label("yours").is_checked()
    weights, _ = is_right(demo, came, "recurrent")
    assert weights[word] > first[word] + 0.3
    others = np.arange(len(first)) != word
    np.testing.assert_allclose(
        weights[others] / weights[others].sum(), first[others] / first[others].sum(), atol=2e-3
    )
    demo.get_by_role("button", name="Reset").click()
    weights, _ = is_right(demo, came, "recurrent")
    assert weights.tolist() == first.tolist()


def test_by_keyboard(demo, came):
    """Arrow keys move a weight between none and all, choose another kind, and another shuffle."""
    grip = demo.get_by_role("slider", name="Weight of word 3,")
    for _ in range(6):
        grip.press("Shift+ArrowRight")
    assert grip.get_attribute("aria-valuetext") == "1.00"
    weights, p = is_right(demo, came, "recurrent")
    assert weights[2] == 1
    assert np.isclose(p, good([1.0], [came["recurrent"][1][0][2]]))
    grip.press("ArrowLeft")
    weights, _ = is_right(demo, came, "recurrent")
    np.testing.assert_allclose(weights[[0, 2]], [0.05 / (len(weights) - 1), 0.95], atol=6e-5)
    demo.get_by_label("yours").press("ArrowLeft")
    assert demo.get_by_label("adversarial").is_checked()
    shuffle = demo.get_by_label("Which shuffle")
    shuffle.press("ArrowRight")
    assert shuffle.get_attribute("aria-valuetext") == "shuffle 2 of 100"
    assert demo.get_by_label("shuffled").is_checked()
    _, p = is_right(demo, came, "recurrent")
    np.testing.assert_allclose(numbers(demo)["Good, by each shuffle"]["2"][0], p, atol=0.01)
