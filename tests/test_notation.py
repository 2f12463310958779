"""The column convention, held to torch and to the row convention."""

import torch
import torch.nn.functional as F

from attnkit.notation import attention_cols
from attnkit.soft_attention import soft_attention


def test_columns_are_the_transpose_of_torchs_rows():
    Q, K, V = (torch.randn(2, *shape, dtype=torch.float64) for shape in [(3, 4), (5, 4), (5, 6)])
    ours = attention_cols(Q.mT, K.mT, V.mT)
    torch.testing.assert_close(ours.mT, F.scaled_dot_product_attention(Q, K, V))
    torch.testing.assert_close(ours.mT, soft_attention(Q, K, V, 4**0.5)[0])
