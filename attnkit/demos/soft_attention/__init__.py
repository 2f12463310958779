"""The demos of the chapter on soft attention.

>>> demo = QueryInThePlane(score="distance")
>>> demo.query = [2, 1]
>>> demo.query
[2.0, 1.0]
"""

from pathlib import Path

import numpy as np
import traitlets

from attnkit.demos import Demo, Reals, module

FOLDER = Path(__file__).parent


class QueryInThePlane(Demo):
    """Items and a query to drag; the weights and the read follow.

    Traits: `query` (2,) and `items` (N, 2) within -4 to 4, N from 1 to 8; `score`, one of `dot`,
    `scaled_dot`, `bilinear`, `distance`; `temperature`; `matrix` (2, 2), the W of the bilinear
    score `k . W q`.
    """

    _esm = module(FOLDER / "query_in_the_plane.js")
    query = Reals((2,), -4, 4, [1.6, 0.4])
    items = Reals(
        ((1, 8), 2), -4, 4, [[1.1, 1.3], [3.2, 2.6], [-2.4, 1.8], [-1.6, -2.2], [2.3, -1.5]]
    )
    score = traitlets.Enum(["dot", "scaled_dot", "bilinear", "distance"], "dot").tag(sync=True)
    temperature = Reals((), 0.05, 50, 1.0)
    matrix = Reals((2, 2), -4, 4, [[0.0, -1.5], [1.5, 0.0]])


class DimensionAndSaturation(Demo):
    """Sixteen random keys and a query; what their dimension does to the weights.

    Traits: `dimension`, a power of two from 1 to 1024; `scaled`, whether the scores are divided by
    its root; `aligned`, whether the query is one of the keys plus noise; `seed` of the draw.
    """

    _esm = module(FOLDER / "dimension_and_saturation.js")
    dimension = traitlets.Enum([2**n for n in range(11)], 4).tag(sync=True)
    scaled = traitlets.Bool(False).tag(sync=True)
    aligned = traitlets.Bool(False).tag(sync=True)
    seed = traitlets.Int(32, min=0, max=2**31 - 1).tag(sync=True)


class CurveFromItsPoints(Demo):
    """Kernel regression as soft attention: points, a bandwidth, and where to ask.

    Traits: `points` (N, 2) with x from 0 to 10 and y from -2 to 2, N from 1 to 12; `bandwidth`;
    `asked`, the x at which the weights are shown.
    """

    _esm = module(FOLDER / "curve_from_its_points.js")
    points = Reals(
        ((1, 12), 2),
        [0, -2],
        [10, 2],
        np.column_stack(
            [
                [0.6, 1.7, 2.6, 3.6, 4.6, 5.5, 6.6, 7.8, 9.2],
                [0.3, 1.2, 1.4, 0.5, -0.7, -1.3, -0.6, 0.8, 1.3],
            ]
        ).tolist(),
    )
    bandwidth = Reals((), 0.1, 10, 0.5)
    asked = Reals((), 0, 10, 3.0)
