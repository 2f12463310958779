"""The demo of the chapter on structured attention.

>>> demo = EvidenceAndNeighbours(transition=1.5)
>>> demo.evidence = [0, 1, 2]
>>> demo.evidence
[0.0, 1.0, 2.0]
"""

from pathlib import Path

import traitlets

from attnkit.demos import Demo, Reals, module

FOLDER = Path(__file__).parent


class EvidenceAndNeighbours(Demo):
    """Evidence to drag, and the weights that softmax, sigmoids and a chain make of it.

    Traits: `evidence` (N,) within -4 to 4, N from 1 to 10; `transition`, what two neighbours of
    one state score, from -2 to 4.
    """

    _esm = module(FOLDER / "evidence_and_neighbours.js")
    _heights = traitlets.Tuple((55, 66)).tag(sync=True)
    evidence = Reals(((1, 10),), -4, 4, [-1.8, -2.2, 2.6, -2.0, -1.8, 1.8, 2.2, -0.6, 1.6, 2.0])
    transition = Reals((), -2, 4, 0.0)
