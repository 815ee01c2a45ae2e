"""Element-wise functions that networks put between their layers."""

from __future__ import annotations

import numpy as np

from minitorch_dist.tensors.base import T
from minitorch_dist.tensors.graph import record
from minitorch_dist.tensors.views import bump, check_writable, rebase


def relu(self: T) -> T:
    """max(self, 0)"""
    out = np.maximum(self.array, 0)
    return record(out, "ReluBackward0", (self, lambda g: g * (out > 0)), reads_result=True)


def relu_(self: T) -> T:
    """In-place relu. It keeps its result and not its input, so the input's memory is reused."""
    check_writable(self)
    x = self.array
    np.maximum(x, 0, out=x)
    bump(self)
    if self._requires_grad:
        out = record(x, "ReluBackward0", (self, lambda g: g * (x > 0), self))
        if out._grad_fn is not None:
            rebase(self, (out._grad_fn, 0))
    return self
