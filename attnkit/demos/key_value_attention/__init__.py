"""The demo of the chapter on key-value attention.

>>> demo = SoftDictionary(strength=20)
>>> demo.query = [0, 1]
>>> demo.query
[0.0, 1.0]
"""

from pathlib import Path

import traitlets

from attnkit.demos import Demo, Reals, module

FOLDER = Path(__file__).parent


class SoftDictionary(Demo):
    """Four colours stored at places of the plane: ask anywhere, write and erase by weight.

    Traits: `places` (4, 2), the keys, and `query` (2,), within -4 to 4; `colours` (4, 3), the
    values, red, green and blue, from 0 to 1 at first, more when colours are added; `strength`;
    `paint`, the colour to write, one of `violet`, `turquoise`, `white`.
    """

    _esm = module(FOLDER / "soft_dictionary.js")
    _heights = traitlets.Tuple((46.5, 73)).tag(sync=True)
    places = Reals((4, 2), -4, 4, [[-2.4, 2.2], [2.2, 2.4], [-2.2, -2.2], [2.6, -1.8]])
    colours = Reals(
        (4, 3), 0, 99, [[0.9, 0.1, 0.1], [1.0, 0.9, 0.2], [0.1, 0.5, 0.2], [0.3, 0.6, 1]]
    )
    query = Reals((2,), -4, 4, [-0.1, 1.2])
    strength = Reals((), 0.02, 20, 0.2)
    paint = traitlets.Enum(["violet", "turquoise", "white"], "violet").tag(sync=True)
