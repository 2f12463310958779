"""The figures of the chapter on applications."""

import numpy as np

rng = np.random.default_rng(0)
WEIGHTS = np.full(16, 0.004)
WEIGHTS[5] = 0.94
CELLS = rng.random((16, 8, 8))
MAPS = rng.random((2, 4, 4))

# Name, arguments, and the words that have to stand in the figure.
FIGURES = {
    "found": (
        ([(7, CELLS, WEIGHTS, 5), (5, CELLS, np.full(16, 1 / 16), None)],),
        ["where is the 7?", "5: not there"],
    ),
    "heard": (
        (
            rng.random((9, 24)),
            "ban",
            {name: rng.dirichlet(np.ones(9), 3) for name in ("content", "content and place")},
        ),
        ["the sound", "band", "frame", "letter", "weights by content", "b", "a", "n"],
    ),
    "sequence": ((rng.random((8, 8)), 2), ["image", "patches", "class token", "0", "1", "16"]),
    "looks": (
        (
            ["a", "superb", "plot"],
            np.array([False, True, False]),
            {"recurrent": [0.1, 0.8, 0.1], "adversary": [0.5, 0, 0.5]},
        ),
        ["a", "superb", "plot", "recurrent", "adversary"],
    ),
    "changes": (
        ({"recurrent": rng.random(30) / 5, "words alone": rng.random(30)},),
        [
            "median change of the answer when the weights are shuffled",
            "share of texts",
            "recurrent",
            "words alone",
        ],
    ),
    "pieces": (
        (["[SEP]", "good", "film"], [0.7, 0.2, 0.1], [0.1, 0.7, 0.2]),
        ["[SEP]", "good", "weight", "share of the read"],
    ),
    "maps": (
        (rng.random((2, 8, 8)), {"row": MAPS, "rollout": MAPS}),
        ["digit", "last layer", "rollout"],
    ),
    "erasing": (
        ([0, 2, 4], {name: [1, 0.8, 0.5] for name in ("rollout", "last layer", "ink", "lot")}),
        ["patches erased", "share answered right", "rollout", "lot"],
    ),
}
