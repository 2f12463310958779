"""The demo of the chapter on encoder and decoder: a trained model that writes in the page."""

from pathlib import Path

import traitlets

from attnkit.demos import Demo, module, packed

FOLDER = Path(__file__).parent


class Trained(traitlets.TraitType):
    """A trained `Seq2Seq` that reads what the trait is called; its weights, in half precision."""

    def validate(self, obj, value):
        """A model, or weights that another demo has kept."""
        if getattr(value, "reads", None) == self.name:
            return packed(value)
        if isinstance(value, dict) and value.keys() >= {"v.weight", "output.weight"}:
            return value
        got = f"a model that reads {value.reads}" if hasattr(value, "reads") else repr(value)[:60]
        raise traitlets.TraitError(
            f"{self.name} must be a trained Seq2Seq that reads {self.name}; got {got}"
        )


class Digits(traitlets.TraitType):
    """One to twelve digits as text."""

    def validate(self, obj, value):
        """Text, so that a zero in front counts."""
        if isinstance(value, str) and 1 <= len(value) <= 12 and set(value) <= set("0123456789"):
            return value
        raise traitlets.TraitError(
            f"{self.name} must be 1 to 12 digits as text, such as '31415'; got {value!r}"
        )


class StepThroughATranslation(Demo):
    """Two models that write digits backwards, step by step, and where they look.

    Traits: `digits` to write backwards; `step`, how many are written; `values`, which of the models
    is seen, `states` or `embeddings`; `states` and `embeddings`, the two trained models.
    """

    _esm = module(FOLDER / "step_through_a_translation.js")
    _heights = traitlets.Tuple((54.0, 87.0)).tag(sync=True)
    digits = Digits("31415926").tag(sync=True)
    step = traitlets.Int(1, min=0, max=12).tag(sync=True)
    values = traitlets.Enum(["states", "embeddings"], "states").tag(sync=True)
    states = Trained().tag(sync=True)
    embeddings = Trained().tag(sync=True)

    def __init__(self, *, states, embeddings, **traits):
        """Both models are needed: the demo lets the reader compare them."""
        super().__init__(states=states, embeddings=embeddings, **traits)
