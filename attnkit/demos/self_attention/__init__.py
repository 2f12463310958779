"""The demos of the chapter on self-attention.

>>> demo = Masks(mask="both", side="start")
>>> demo.mask, demo.words, demo.padding
('both', 4, 2)
"""

from pathlib import Path

import numpy as np
import traitlets

from attnkit.demos import Demo, module

FOLDER = Path(__file__).parent


class Masks(Demo):
    """A sentence that attends to itself under a mask, and what hidden scores are filled with.

    Traits: `mask`, one of `none`, `padding`, `causal`, `both`, `strict`, `inverted`; `fill`, one of
    `infinity`, `number`, `zeros`; `words` from 2 to 5 and `padding` from 0 to 3; `side`, where the
    padding stands, `end` or `start`; `shown`, `weights` or `scores`; `seed` of the scores.
    """

    _esm = module(FOLDER / "masks.js")
    _heights = traitlets.Tuple((55.0, 80.0)).tag(sync=True)
    mask = traitlets.Enum(["none", "padding", "causal", "both", "strict", "inverted"], "none").tag(
        sync=True
    )
    fill = traitlets.Enum(["infinity", "number", "zeros"], "infinity").tag(sync=True)
    words = traitlets.Int(4, min=2, max=5).tag(sync=True)
    padding = traitlets.Int(2, min=0, max=3).tag(sync=True)
    side = traitlets.Enum(["end", "start"], "end").tag(sync=True)
    shown = traitlets.Enum(["weights", "scores"], "weights").tag(sync=True)
    seed = traitlets.Int(1, min=0, max=2**31 - 1).tag(sync=True)


class Order(traitlets.TraitType):
    """The numbers 0 to 4, each once, in any order."""

    def validate(self, obj, value):
        """A list, a tuple or an array; kept as a list."""
        order = value.tolist() if isinstance(value, np.ndarray) else value
        if isinstance(order, list | tuple) and sorted(order) == list(range(5)):
            return list(order)
        raise traitlets.TraitError(
            f"{self.name} must be the numbers 0 to 4, each once, such as [1, 0, 2, 3, 4]; "
            f"got {value!r}"
        )


class ShuffleTheSentence(Demo):
    """Five words to drag into another order, and what that does to each word's output.

    Traits: `order`, which word stands at each place; `positions`, whether waves are added;
    `causal`, whether later words are hidden; `layers`, 1 or 2; `seed` of the words' vectors.
    """

    _esm = module(FOLDER / "shuffle_the_sentence.js")
    _heights = traitlets.Tuple((42.0, 58.0)).tag(sync=True)
    order = Order([0, 1, 2, 3, 4]).tag(sync=True)
    positions = traitlets.Bool(False).tag(sync=True)
    causal = traitlets.Bool(False).tag(sync=True)
    layers = traitlets.Enum([1, 2], 1).tag(sync=True)
    seed = traitlets.Int(1, min=0, max=2**31 - 1).tag(sync=True)
