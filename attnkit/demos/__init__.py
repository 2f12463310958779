"""The demos: widgets whose mathematics is in their JavaScript, so that they move on a static page.

>>> demo = QueryInThePlane(score="distance")
>>> demo.query = [2, 1]
>>> demo.query
[2.0, 1.0]
"""

import re
from pathlib import Path

import anywidget
import numpy as np
import traitlets

__all__ = ["CurveFromItsPoints", "DimensionAndSaturation", "QueryInThePlane"]

FOLDER = Path(__file__).parent


def module(name):
    """The demo's JavaScript with what it imports from the kit in front, as one module."""
    kit = re.sub(r"^export ", "", (FOLDER / "kit.js").read_text("utf-8"), flags=re.M)
    demo = (FOLDER / f"{name}.js").read_text("utf-8")
    return kit + re.sub(r'^import \{[^}]*\} from "\./kit\.js";\n', "", demo, flags=re.M)


class Reals(traitlets.TraitType):
    """Finite numbers of a given shape within limits, kept as lists because they travel as JSON.

    A pair in the shape gives the smallest and the largest length of that axis.
    """

    def __init__(self, shape, low, high, default):
        self.shape, self.low, self.high = shape, np.asarray(low), np.asarray(high)
        super().__init__(default_value=default)
        self.tag(sync=True)

    def validate(self, obj, value):
        """Plain lists or a float; arrays are welcome."""
        try:
            array = np.asarray(value, dtype=float)
        except (TypeError, ValueError):
            array = None
        if array is None or not self.fits(array.shape) or not np.all(self.contains(array)):
            raise traitlets.TraitError(f"{self.name} must be {self.info()}; got {value!r}")
        return array.tolist()

    def fits(self, shape):
        """Whether an array of this shape is what the demo can draw."""
        ranges = [(size, size) if isinstance(size, int) else size for size in self.shape]
        return len(shape) == len(ranges) and all(
            low <= size <= high for size, (low, high) in zip(shape, ranges, strict=True)
        )

    def contains(self, array):
        """Entry by entry, whether it lies within the limits; NaN does not."""
        return (self.low <= array) & (array <= self.high)

    def info(self):
        """What the trait takes, for the error that names it."""
        sizes = [str(n) if isinstance(n, int) else f"{n[0]} to {n[1]}" for n in self.shape]
        kind = f"an array of shape ({' by '.join(sizes)}) with entries" if sizes else "a number"
        return f"{kind} from {self.low.tolist()} to {self.high.tolist()}"


class QueryInThePlane(anywidget.AnyWidget):
    """Items and a query to drag; the weights and the read follow.

    Traits: `query` (2,) and `items` (N, 2) within -4 to 4, N from 1 to 8; `score`, one of `dot`,
    `scaled_dot`, `bilinear`, `distance`; `temperature`; `matrix` (2, 2), the W of the bilinear
    score `k . W q`.
    """

    _esm = module("query_in_the_plane")
    _css = FOLDER / "kit.css"
    query = Reals((2,), -4, 4, [1.6, 0.4])
    items = Reals(
        ((1, 8), 2), -4, 4, [[1.1, 1.3], [3.2, 2.6], [-2.4, 1.8], [-1.6, -2.2], [2.3, -1.5]]
    )
    score = traitlets.Enum(["dot", "scaled_dot", "bilinear", "distance"], "dot").tag(sync=True)
    temperature = Reals((), 0.05, 50, 1.0)
    matrix = Reals((2, 2), -4, 4, [[0.0, -1.5], [1.5, 0.0]])


class DimensionAndSaturation(anywidget.AnyWidget):
    """Sixteen random keys and a query; what their dimension does to the weights.

    Traits: `dimension`, a power of two from 1 to 1024; `scaled`, whether the scores are divided by
    its root; `aligned`, whether the query is one of the keys plus noise; `seed` of the draw.
    """

    _esm = module("dimension_and_saturation")
    _css = FOLDER / "kit.css"
    dimension = traitlets.Enum([2**n for n in range(11)], 4).tag(sync=True)
    scaled = traitlets.Bool(False).tag(sync=True)
    aligned = traitlets.Bool(False).tag(sync=True)
    seed = traitlets.Int(32, min=0, max=2**31 - 1).tag(sync=True)


class CurveFromItsPoints(anywidget.AnyWidget):
    """Kernel regression as soft attention: points, a bandwidth, and where to ask.

    Traits: `points` (N, 2) with x from 0 to 10 and y from -2 to 2, N from 1 to 12; `bandwidth`;
    `asked`, the x at which the weights are shown.
    """

    _esm = module("curve_from_its_points")
    _css = FOLDER / "kit.css"
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
