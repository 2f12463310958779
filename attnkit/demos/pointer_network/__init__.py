"""The demo of the chapter on pointer networks: a trained network that sorts in the page."""

from pathlib import Path

import traitlets

from attnkit.demos import Demo, Wholes, module, packed

FOLDER = Path(__file__).parent
MOST = 12  # numbers that the picture has room for


class Trained(traitlets.TraitType):
    """A trained `PointerNetwork`; its weights, in half precision."""

    def validate(self, obj, value):
        """A model, or weights that another demo has kept."""
        if hasattr(value, "write"):
            return packed(value)
        if isinstance(value, dict) and value.keys() >= {"go", "stop", "v.weight"}:
            return value
        raise traitlets.TraitError(
            f"{self.name} must be a trained PointerNetwork; got {repr(value)[:60]}"
        )


class Sorter(Demo):
    """A pointer network that sorts numbers, step by step, with its mask or without.

    Traits: `numbers` to sort, 2 to 12 of them from 0 to 999, which the network is given as
    thousandths; `step`, how many steps it has taken; `masked`, whether what has been pointed at is
    hidden; `network`, the trained network.
    """

    _esm = module(FOLDER / "sorter.js")
    _heights = traitlets.Tuple((58.5, 88.0)).tag(sync=True)
    numbers = Wholes(((2, MOST),), 0, 999, [5, 20, 10])
    step = traitlets.Int(1, min=0, max=MOST + 1).tag(sync=True)
    masked = traitlets.Bool(True).tag(sync=True)
    network = Trained().tag(sync=True)

    def __init__(self, *, network, **traits):
        """The network is needed: the demo is its own forward pass."""
        super().__init__(network=network, **traits)
