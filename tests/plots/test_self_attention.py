"""The figures of the chapter on self-attention."""

import numpy as np

from attnkit import self_attention

rng = np.random.default_rng(0)
EVERYTHING = np.ones((5, 5), bool)
CAUSAL = np.tril(EVERYTHING)
PADDING = EVERYTHING & np.array([True, True, True, False, False])
TABLE = np.array([[0.1, 0.8, 0.1], [0.49, 0.02, 0.49], [0.1, 0.8, 0.1]])

# Name, arguments, and the words that have to stand in the figure.
FIGURES = {
    "weights": (
        (TABLE, ["dog", "bites", "man"]),
        ["dog", "bites", "man", "0.49", "0.80", "who asks", "who is asked"],
    ),
    "connections": (
        (rng.normal(size=(4, 4)), [np.eye(4), np.full((4, 4), 0.25)]),
        ["fully connected,", "any input", "self-attention,", "input 1", "input 2"],
    ),
    "masks": (
        (
            {
                "everything": EVERYTHING,
                "causal": CAUSAL,
                "strict": np.tril(EVERYTHING, -1),
                "padding": PADDING,
                "both": CAUSAL & PADDING[:, ::-1],
                "window": CAUSAL & CAUSAL.T,
            },
        ),
        ["everything", "causal", "strictly causal", "padding", "causal and padding", "empty"],
    ),
    "long_range": (
        (
            {
                name: np.geomspace(1, 1e-9, 10)
                for name in ("tanh", "GRU", "LSTM", "open LSTM", "self-attention")
            },
        ),
        ["steps back from the last input", "gradient, relative to the last input", "GRU"],
    ),
    "positions": (
        (self_attention.sinusoidal_positions(40, 16),),
        ["four columns", "place", "column 12", "products of rows", "product with place 20"],
    ),
}
