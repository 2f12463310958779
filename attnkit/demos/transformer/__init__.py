"""The demos of the chapter on the Transformer.

>>> demo = SoftmaxInBlocks(block=3, lift=1000)
>>> demo.step, demo.rule
(1, 'running')
"""

from pathlib import Path

import traitlets

from attnkit.demos import Demo, Reals, Wholes, module, packed

FOLDER = Path(__file__).parent
SYMBOLS = "abcdefghijklmnopqrstuvwxyz012345"  # one for each token
LONGEST = 14  # texts that the picture has room for


class Trained(traitlets.TraitType):
    """A trained attention-only `Decoder` with two layers of one head; its weights, packed."""

    def validate(self, obj, value):
        """A model, or weights that another demo has kept."""
        if hasattr(value, "blocks") and all(block.heads == 1 for block in value.blocks):
            value = packed(value)
        if isinstance(value, dict) and self.fits(value):
            return value
        raise traitlets.TraitError(
            f"{self.name} must be a trained Decoder of {len(SYMBOLS)} tokens, {LONGEST} places or "
            f"more, and two layers of one head without feed-forward; got {repr(value)[:60]}"
        )

    def fits(self, weights):
        """Whether the page can run them."""
        layers = {name.split(".")[1] for name in weights if name.startswith("blocks.")}
        return (
            layers == {"0", "1"}
            and not any("feed_forward" in name for name in weights)
            and weights["embed.weight"]["shape"][0] == len(SYMBOLS)
            and weights["places.weight"]["shape"][0] >= LONGEST
        )


class Letters(traitlets.TraitType):
    """A short text of the symbols that the tokens have."""

    def validate(self, obj, value):
        """Text, at least one symbol."""
        if isinstance(value, str) and 1 <= len(value) <= LONGEST and set(value) <= set(SYMBOLS):
            return value
        raise traitlets.TraitError(
            f"{self.name} must be 1 to {LONGEST} letters from a to z or digits from 0 to 5; "
            f"got {value!r}"
        )


class InductionHead(Demo):
    """A trained decoder that copies what repeats itself, and where its two heads look.

    Traits: `text` that it has read; `place` that asks, counted from 0, or the last if there are
    fewer; `heads` at work, `both`, only the one of the `first` or of the `second` layer, or `none`;
    `decoder`, the trained model.
    """

    _esm = module(FOLDER / "induction_head.js")
    _heights = traitlets.Tuple((49.0, 70.5)).tag(sync=True)
    text = Letters("kqzmtb").tag(sync=True)
    place = traitlets.Int(LONGEST - 1, min=0, max=LONGEST - 1).tag(sync=True)
    heads = traitlets.Enum(["both", "first", "second", "none"], "both").tag(sync=True)
    decoder = Trained().tag(sync=True)

    def __init__(self, *, decoder, **traits):
        """The decoder is needed: the demo is its own forward pass."""
        super().__init__(decoder=decoder, **traits)


class SoftmaxInBlocks(Demo):
    """Ten scores read block by block, and what is kept of them until the softmax is done.

    Traits: `scores` within -4 to 4; `values`, whole numbers from 0 to 9; `block`, how many scores
    are read at once, 1, 2, 3, 5 or 10; `lift`, what is added to the scores of the last block, 0, 1,
    3, 10, 100 or 1000; `rule`, `running` for a maximum that rescales what is kept, `forgetful` for
    one that does not, `raw` for none; `step`, how many blocks have been read.
    """

    _esm = module(FOLDER / "softmax_in_blocks.js")
    _heights = traitlets.Tuple((54.0, 89.5)).tag(sync=True)
    scores = Reals((10,), -4, 4, [0.5, 1.2, -0.8, 0.3, 2.4, 1.0, -1.5, 0.6, 1.9, 3.1])
    values = Wholes((10,), 0, 9, [7, 9, 2, 5, 6, 8, 3, 1, 4, 2])
    block = traitlets.Enum([1, 2, 3, 5, 10], 2).tag(sync=True)
    lift = traitlets.Enum([0, 1, 3, 10, 100, 1000], 0).tag(sync=True)
    rule = traitlets.Enum(["running", "forgetful", "raw"], "running").tag(sync=True)
    step = traitlets.Int(1, min=0, max=10).tag(sync=True)


class CostOfLength(Demo):
    """Multiplications and memory of attention in four ways, as the text grows.

    Traits: `length` from 16 to 65536; `width` of the model, a power of two from 64 to 4096, and its
    `heads`, one from 1 to 32; `task`, whether the text is `read` at once or `written`; `counted`,
    `attention` alone or the `layer` with its projections.
    """

    _esm = module(FOLDER / "cost_of_length.js")
    _heights = traitlets.Tuple((54.5, 85.5)).tag(sync=True)
    length = traitlets.Int(128, min=16, max=65536).tag(sync=True)
    width = traitlets.Enum([64, 128, 256, 512, 1024, 2048, 4096], 512).tag(sync=True)
    heads = traitlets.Enum([1, 2, 4, 8, 16, 32], 8).tag(sync=True)
    task = traitlets.Enum(["read", "written"], "read").tag(sync=True)
    counted = traitlets.Enum(["attention", "layer"], "attention").tag(sync=True)
