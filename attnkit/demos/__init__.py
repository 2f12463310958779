"""The demos: widgets whose mathematics is in their JavaScript, so that they move on a static page.

Each chapter has a package of its own here; what they share stands in this one: the kit of parts in
JavaScript, one stylesheet, and the numbers that a demo keeps.
"""

import base64
import re
from pathlib import Path

import anywidget
import numpy as np
import traitlets

FOLDER = Path(__file__).parent


def module(path):
    """A demo's JavaScript with what it imports from the kit in front, as one module."""
    kit = re.sub(r"^export ", "", (FOLDER / "kit.js").read_text("utf-8"), flags=re.M)
    demo = path.read_text("utf-8")
    return kit + re.sub(r'^import \{[^}]*\} from "\.\./kit\.js";\n', "", demo, flags=re.M)


def packed(model):
    """The weights of a torch module in half precision, as they travel to the page.

    JSON: ``{name: {"shape": [...], "float16": base64 of little-endian numbers}}``; ``parameters``
    of the kit reads it.
    """
    return {
        name: {
            "shape": list(tensor.shape),
            "float16": base64.b64encode(tensor.numpy().astype("<f2").tobytes()).decode(),
        }
        for name, tensor in model.state_dict().items()
    }


class Demo(anywidget.AnyWidget):
    """A widget with the look of the book; a subclass adds its ``_esm`` and what it remembers.

    ``_heights`` are rem that a page keeps free for it, on a desk and on a phone, so that nothing
    jumps when the demo is drawn there.
    """

    _css = FOLDER / "kit.css"
    _heights = traitlets.Tuple((46.5, 66.5)).tag(sync=True)


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


class Wholes(Reals):
    """Whole numbers within limits."""

    def contains(self, array):
        """Within the limits, and whole."""
        return super().contains(array) & (array % 1 == 0)

    def info(self):
        """What the trait takes, for the error that names it."""
        return super().info() + ", whole numbers"
