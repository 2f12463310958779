"""Data for the Transformer: random strings that repeat themselves.

>>> repeated(np.random.default_rng(0), batch=2, length=3, n_symbols=9)
array([[4, 5, 2, 4, 5, 2],
       [2, 8, 3, 2, 8, 3]])
"""

import numpy as np


def repeated(rng, batch, length, n_symbols):
    """Strings of ``length`` distinct symbols, each written twice ``(batch, 2 * length)``."""
    once = rng.permuted(np.tile(np.arange(n_symbols), (batch, 1)), axis=1)[:, :length]
    return np.tile(once, (1, 2))
