"""The demos of the chapter on self-attention.

>>> demo = Masks(mask="both", side="start")
>>> demo.mask, demo.words, demo.padding
('both', 4, 2)
"""

from pathlib import Path

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
    _heights = traitlets.Tuple((50.0, 80.0)).tag(sync=True)
    mask = traitlets.Enum(["none", "padding", "causal", "both", "strict", "inverted"], "none").tag(
        sync=True
    )
    fill = traitlets.Enum(["infinity", "number", "zeros"], "infinity").tag(sync=True)
    words = traitlets.Int(4, min=2, max=5).tag(sync=True)
    padding = traitlets.Int(2, min=0, max=3).tag(sync=True)
    side = traitlets.Enum(["end", "start"], "end").tag(sync=True)
    shown = traitlets.Enum(["weights", "scores"], "weights").tag(sync=True)
    seed = traitlets.Int(1, min=0, max=2**31 - 1).tag(sync=True)
