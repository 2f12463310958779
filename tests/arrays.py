"""What tests of array functions share: nearness to an oracle, and what holds of every function."""

import numpy as np
import torch


def close(ours, oracle, atol=1e-8):
    """Arrays or tensors that are equal but for rounding in double precision."""
    np.testing.assert_allclose(np.asarray(ours), np.asarray(oracle), rtol=0, atol=atol)


def alike_in_numpy_and_torch(call, inputs):
    """The same numbers from tensors and from arrays, each in kind, and the tensors as before."""
    before = [x.clone() for x in inputs]
    ours = call(*inputs)
    assert isinstance(ours, torch.Tensor)
    in_numpy = call(*[x.numpy() for x in inputs])
    assert isinstance(in_numpy, np.ndarray | np.generic)
    close(ours, in_numpy)
    assert all(torch.equal(x, y) for x, y in zip(inputs, before, strict=True))


def alike_in_any_layout(call, inputs):
    """The same numbers from tensors whose rows do not lie one behind the other in memory."""
    strided = [x.mT.contiguous().mT if x.ndim > 1 else x for x in inputs]
    assert not strided[0].is_contiguous()
    close(call(*strided), call(*inputs))
