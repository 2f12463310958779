"""The demos of the chapter on attention in the mind.

>>> demo = FromMeanToMax(beta=2)
>>> demo.beta
2.0
"""

from pathlib import Path

import traitlets

from attnkit.demos import Demo, Reals, module

FOLDER = Path(__file__).parent


class OddOneOut(Demo):
    """Twelve searches for one bar: the reader's times beside the visits of the saliency model.

    Traits: `seed` of the displays; `times`, the seconds each search took so far, and `right`,
    whether the answer to it was.
    """

    _esm = module(FOLDER / "odd_one_out.js")
    _heights = traitlets.Tuple((56.5, 82.0)).tag(sync=True)
    seed = traitlets.Int(1, min=0, max=2**31 - 1).tag(sync=True)
    times = traitlets.List(traitlets.Float(min=0), maxlen=12).tag(sync=True)
    right = traitlets.List(traitlets.Bool(), maxlen=12).tag(sync=True)


class FromMeanToMax(Demo):
    """Four cells of three channels, pooled by a softmax of their own values.

    Traits: `x` (4, 3), the values of the cells, from -2 to 2; `beta`, from -50 to 100.
    """

    _esm = module(FOLDER / "from_mean_to_max.js")
    _heights = traitlets.Tuple((47.5, 63.5)).tag(sync=True)
    x = Reals((4, 3), -2, 2, [[1.6, -0.4, 0.2], [0.3, 1.2, -1.1], [-0.8, 1.0, 0.1], [-1.4, 0, 1.3]])
    beta = Reals((), -50, 100, 0.0)
