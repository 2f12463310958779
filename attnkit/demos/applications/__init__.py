"""The demo of the chapter on applications: weights to change, and whether the answer does.

>>> texts = [["a", "superb", "plot"], ["an", "awful", "plot"]]
>>> weights = [[0.1, 0.8, 0.1], [0.2, 0.7, 0.1]]
>>> alone, mixed = [[0.0, 9.0, 0.0], [0.0, -9.0, 0.0]], [[6.0, 8.0, 6.0], [-6.0, -8.0, -6.0]]
>>> demo = IsThisAnExplanation(
...     texts=texts, recurrent=[weights, mixed], per_word=[weights, alone], kind="equal"
... )
>>> demo.encoder, demo.kind
('recurrent', 'equal')
"""

from pathlib import Path

import numpy as np
import traitlets

from attnkit.demos import Demo, Reals, module

FOLDER = Path(__file__).parent
MOST = 24  # words that the picture has room for


class Weights(Reals):
    """Weights of words, which add to one."""

    def contains(self, array):
        """Within the limits, and adding to one."""
        return super().contains(array) & np.isclose(array.sum(-1, keepdims=True), 1, atol=1e-5)

    def info(self):
        """What the trait takes, for the error that names it."""
        return super().info() + " that add to one"


class Reading(Reals):
    """What a model makes of texts: first the weight of each word, then its value."""

    def __init__(self):
        super().__init__((2, (1, 50), (2, MOST)), [[[0]], [[-100]]], [[[1]], [[100]]], None)

    def contains(self, array):
        """Weights that add to one, and values within the limits."""
        return super().contains(array) & np.isclose(array[0].sum(-1), 1, atol=1e-5)[..., None]

    def info(self):
        """What the trait takes, for the error that names it."""
        return (
            "weights and values, both of shape (1 to 50 by 2 to 24): the weights of each text "
            "add to one, the values are from -100 to 100"
        )


class IsThisAnExplanation(Demo):
    """The weights of two models to change, and their answers.

    Traits: `texts` of equally many words; `recurrent` and `per_word`, for each model the weights
    ``(T, N)`` of its attention and the values ``(T, N)``, what its classifier makes of the state of
    each word: the answer is the sigmoid of their weighted average. `text`, which one is seen;
    `encoder`, of which model; `kind` of weights: `own`, `equal`, `shuffled`, `adversary`, `yours`;
    `shuffle`, which of the hundred; `yours` (N,), weights that a hand has set.
    """

    _esm = module(FOLDER / "is_this_an_explanation.js")
    _heights = traitlets.Tuple((61.5, 91.0)).tag(sync=True)
    texts = traitlets.List(traitlets.List(traitlets.Unicode()), minlen=1).tag(sync=True)
    recurrent = Reading()
    per_word = Reading()
    text = traitlets.Int(0, min=0).tag(sync=True)
    encoder = traitlets.Enum(["recurrent", "per_word"], "recurrent").tag(sync=True)
    kind = traitlets.Enum(["own", "equal", "shuffled", "adversary", "yours"], "own").tag(sync=True)
    shuffle = traitlets.Int(1, min=1, max=100).tag(sync=True)
    yours = Weights(((2, MOST),), 0, 1, None)

    def __init__(self, *, texts, recurrent, per_word, **traits):
        """Texts and both models are needed: the demo lets the reader compare them."""
        traits.setdefault("yours", np.full(len(texts[0]), 1 / len(texts[0])))
        super().__init__(texts=texts, recurrent=recurrent, per_word=per_word, **traits)

    @traitlets.validate("recurrent", "per_word", "yours")
    def _a_number_for_each_word(self, proposal):
        shape = np.shape(proposal.value)[-2:]
        wanted = {(len(self.texts), len(text))[-len(shape) :] for text in self.texts}
        if wanted != {shape}:
            raise traitlets.TraitError(
                f"{proposal.trait.name} must have a number for each word of the texts; "
                f"got shape {shape}, they take {' and '.join(map(str, sorted(wanted)))}"
            )
        return proposal.value

    @traitlets.validate("text")
    def _a_text_that_exists(self, proposal):
        if proposal.value >= len(self.texts):
            raise traitlets.TraitError(
                f"text must be less than {len(self.texts)}, the number of texts; "
                f"got {proposal.value}"
            )
        return proposal.value
