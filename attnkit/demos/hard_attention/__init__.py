"""The demos of the chapter on hard attention.

>>> demo = ThreeWaysToAGradient(way="straight_through")
>>> demo.samples = 1000
>>> demo.temperature
1.0
"""

from pathlib import Path

import traitlets

from attnkit.demos import Demo, Reals, module

FOLDER = Path(__file__).parent


class ThreeWaysToAGradient(Demo):
    """One of three items is drawn and costs a loss; three estimates of the gradient by the scores.

    Traits: `scores` (3,) within -3 to 3; `items` (3,), their values, and `target`, within -2 to 2:
    reading an item costs one plus its squared distance from the target; `way`, one of `reinforce`,
    `gumbel`, `straight_through`; `samples`, a power of ten from 1 to 10000; `baseline`, whether
    REINFORCE subtracts the expected loss; `temperature` of the other two; `seed` of the draws.
    """

    _heights = traitlets.Tuple((49, 73.5)).tag(sync=True)
    _esm = module(FOLDER / "three_ways_to_a_gradient.js")
    scores = Reals((3,), -3, 3, [0.6, 0.0, -0.3])
    items = Reals((3,), -2, 2, [-0.5, 0.5, 1.5])
    target = Reals((), -2, 2, 0.8)
    way = traitlets.Enum(["reinforce", "gumbel", "straight_through"], "reinforce").tag(sync=True)
    samples = traitlets.Enum([10**n for n in range(5)], 10).tag(sync=True)
    baseline = traitlets.Bool(False).tag(sync=True)
    temperature = Reals((), 0.05, 10, 1.0)
    seed = traitlets.Int(0, min=0, max=2**31 - 1).tag(sync=True)
