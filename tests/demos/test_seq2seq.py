"""The model in the page is the trained one, and its traits keep to what it can run."""

import numpy as np
import pytest
import torch
from traitlets import TraitError

from attnkit.data.seq2seq import reversals
from attnkit.demos import seq2seq as demos
from attnkit.training.seq2seq import Seq2Seq, train

from .node import close, node
from .traits import refuses

READS = ("states", "embeddings")


@pytest.fixture(scope="module")
def models():
    """Two models of the chapter's size, trained for a moment so that they differ from chance."""
    torch.set_num_threads(1)
    trained = {}
    for reads in READS:
        torch.manual_seed(0)
        rng = np.random.default_rng(0)
        trained[reads] = Seq2Seq(10, 10, 32, reads)
        pairs = [map(torch.from_numpy, reversals(rng, 32, 4)) for _ in range(150)]
        train(trained[reads], [(s, torch.ones_like(s, dtype=torch.bool), t) for s, t in pairs])
    return trained


@pytest.fixture
def demo(models):
    return demos.StepThroughATranslation(**models)


def in_torch(model, digits):
    """Symbols, weights and probabilities of a model in float64."""
    source = torch.tensor([[int(digit) for digit in digits]])
    with torch.no_grad():
        mask = torch.ones_like(source, dtype=torch.bool)
        logits, weights = model.double()(source, mask, len(digits))
    return logits[0].argmax(-1).numpy(), weights[0].numpy(), logits[0].softmax(-1).numpy()


def halved(model):
    """The model with its weights rounded as they travel."""
    copy = Seq2Seq(10, 10, 32, model.reads)
    copy.load_state_dict({k: v.half().double() for k, v in model.state_dict().items()})
    return copy


@pytest.mark.parametrize("reads", READS)
def test_the_page_runs_the_trained_model(models, demo, reads):
    """To nine digits with the rounded weights, to a thousandth with those of the training."""
    inputs = ["7", "31415926", "000000000000", "123456789012", "98"]
    packed = {name: getattr(demo, name) for name in READS}
    calls = [("compute", {"digits": d, "values": reads, **packed}) for d in inputs]
    for digits, result in zip(inputs, node(demos.StepThroughATranslation, *calls), strict=True):
        written, weights, probabilities = in_torch(halved(models[reads]), digits)
        steps = result["steps"]
        assert [step["written"] for step in steps] == written.tolist()
        close([step["weights"] for step in steps], weights)
        close([step["probabilities"] for step in steps], probabilities)
        full, _, _ = in_torch(models[reads], digits)
        if np.array_equal(full, written):  # a tie may fall the other way
            _, weights, probabilities = in_torch(models[reads], digits)
            found = np.array([step["weights"] for step in steps])
            np.testing.assert_allclose(found, weights, atol=1e-3)


def test_the_weights_stay_small(demo):
    kept = sum(len(tensor["float16"]) for name in READS for tensor in getattr(demo, name).values())
    assert kept < 300_000


def test_half_precision_is_read_exactly(models):
    """Zeros, the smallest and the largest numbers, both signs."""
    model = halved(models["states"])
    values = torch.tensor([0.0, -0.0, 2.0**-24, -(2.0**-14), 1.0, -1.5, 0.1, 65504.0, 3.25, -2.0])
    with torch.no_grad():
        model.output.bias.copy_(values)
        model.output.weight.zero_()
    demo = demos.StepThroughATranslation(states=model, embeddings=models["embeddings"])
    state = {"digits": "5", "values": "states", "states": demo.states, "embeddings": {}}
    (result,) = node(demos.StepThroughATranslation, ("compute", state))
    close(result["steps"][0]["probabilities"], values.half().double().softmax(-1))


def test_weights_of_one_demo_serve_another(demo):
    again = demos.StepThroughATranslation(states=demo.states, embeddings=demo.embeddings)
    assert again.states == demo.states


WRONG = [
    ("digits", "", "digits must be 1 to 12 digits as text, such as '31415'; got ''"),
    ("digits", "1234567890123", "digits must be"),
    ("digits", "12a", "got '12a'"),
    ("digits", 31415, "as text.*got 31415"),
    ("step", 13, "greater than 12"),
    ("values", "keys", "expected any of"),
    ("states", 3, "states must be a trained Seq2Seq that reads states; got 3"),
    ("states", {}, "states must be"),
]


@pytest.mark.parametrize(("name", "value", "message"), WRONG)
def test_wrong_traits_are_named(demo, name, value, message):
    refuses(demo, name, value, message)


def test_a_model_of_the_other_kind_is_refused(models):
    with pytest.raises(TraitError, match="got a model that reads embeddings"):
        demos.StepThroughATranslation(states=models["embeddings"], embeddings=models["embeddings"])
