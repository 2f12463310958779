"""The demos of the chapter on multi-head attention.

>>> demo = HeadsSideBySide(asked=[0, 6])
>>> demo.off = [True, False, False, False]
>>> demo.asked, demo.heads
([0, 6], [2])
"""

from pathlib import Path

import numpy as np
import traitlets

from attnkit.demos import Demo, Reals, module

FOLDER = Path(__file__).parent
PLACES, VOCABULARY, WIDTH, MOST_HEADS = 8, 6, 16, 4
LAYERS = (1, 4)  # so many layers may be compared


def _weights(*shape, default):
    return Reals((LAYERS, *shape), -100, 100, default[None].tolist())


def _by_hand():
    """A layer with two heads, made of zeros and a few other entries.

    The first eight features of an item say where it stands, the next six which word it is. Of a
    question the first eight say which place is asked for first, the last eight which second. Head 1
    compares places with the first half of the question, head 2 with the second half; both read the
    word.
    """
    place, word = np.eye(WIDTH)[:PLACES], np.eye(WIDTH)[PLACES : PLACES + VOCABULARY]
    asks = np.stack([np.eye(WIDTH)[:PLACES], np.eye(WIDTH)[PLACES:]])
    only_place = np.vstack([place, place])
    only_word = np.zeros((WIDTH, WIDTH))
    only_word[:VOCABULARY], only_word[PLACES : PLACES + VOCABULARY] = word, word
    sharp = 16 * np.eye(WIDTH)
    return {
        "places": place,
        "words": word,
        "asks": asks,
        "W_in": np.vstack([sharp, only_place, only_word]),
        "b_in": np.zeros(3 * WIDTH),
        "W_read": 8 * np.vstack([np.eye(WIDTH)[:VOCABULARY], word]),
        "b_read": np.zeros(2 * VOCABULARY),
    }


_BY_HAND = _by_hand()


class HeadsSideBySide(Demo):
    """One query asks for two places of a row of words; each head's weights, and the two answers.

    Traits: `row` of 8 words, each 0 to 5; `asked`, two different places, 0 to 7; `shown`, which of
    the layers; `off` for each of up to four heads. The layers to compare, each array with an axis
    for them in front: `heads`; `places` (8, 16), `words` (6, 16) and `asks` (2, 8, 16), whose sums
    are the items and the query; `W_in` (48, 16) and `b_in` (48,) as `multi_head_attention` takes
    them; `W_read` (12, 16) and `b_read` (12,), which make six scores for each of the two answers of
    the heads' reads. If none is given, it is one layer with two heads, made by hand.
    """

    _esm = module(FOLDER / "heads_side_by_side.js")
    _heights = traitlets.Tuple((42.5, 65.5)).tag(sync=True)
    row = traitlets.List(
        traitlets.Int(min=0, max=VOCABULARY - 1),
        [0, 1, 2, 3, 4, 5, 1, 3],
        minlen=PLACES,
        maxlen=PLACES,
    ).tag(sync=True)
    asked = traitlets.List(traitlets.Int(min=0, max=PLACES - 1), [2, 5], minlen=2, maxlen=2).tag(
        sync=True
    )
    shown = traitlets.Int(0, min=0).tag(sync=True)
    off = traitlets.List(
        traitlets.Bool(), [False] * MOST_HEADS, minlen=MOST_HEADS, maxlen=MOST_HEADS
    ).tag(sync=True)
    heads = traitlets.List(traitlets.Enum([1, 2, 4]), [2], minlen=LAYERS[0], maxlen=LAYERS[1]).tag(
        sync=True
    )
    places = _weights(PLACES, WIDTH, default=_BY_HAND["places"])
    words = _weights(VOCABULARY, WIDTH, default=_BY_HAND["words"])
    asks = _weights(2, PLACES, WIDTH, default=_BY_HAND["asks"])
    W_in = _weights(3 * WIDTH, WIDTH, default=_BY_HAND["W_in"])
    b_in = _weights(3 * WIDTH, default=_BY_HAND["b_in"])
    W_read = _weights(2 * VOCABULARY, WIDTH, default=_BY_HAND["W_read"])
    b_read = _weights(2 * VOCABULARY, default=_BY_HAND["b_read"])

    @traitlets.validate("asked")
    def _two_places(self, proposal):
        first, second = proposal.value
        if first == second:
            raise traitlets.TraitError(f"asked must be two different places; got {proposal.value}")
        return proposal.value

    @traitlets.validate("shown")
    def _a_layer_that_exists(self, proposal):
        if proposal.value >= len(self.heads):
            raise traitlets.TraitError(
                f"shown must be less than {len(self.heads)}, the number of layers; "
                f"got {proposal.value}"
            )
        return proposal.value
