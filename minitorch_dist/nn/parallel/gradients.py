"""A gradient on its way into a bucket, and its average on the way out."""

from __future__ import annotations

import numpy as np

from minitorch_dist.tensors import base, devices, ledger
from minitorch_dist.tensors.base import TensorBase
from minitorch_dist.tensors.tensor import Tensor


def put(p: TensorBase, view: Tensor, divisor: int | None, as_views: bool) -> None:
    """Write a parameter's gradient (zeros if it has none) into its place, divided if asked for."""
    grad, into = p._grad, view.array
    if grad is None:
        into[...] = 0
        return
    if divisor is not None and grad.array.dtype == into.dtype:
        np.divide(grad.array, into.dtype.type(divisor), out=into)
    else:
        if grad is not view:
            into[...] = grad.array
        if divisor is not None:
            np.divide(into, into.dtype.type(divisor), out=into)
    if as_views and grad is not view:
        give(p, view, as_views)


def give(p: TensorBase, view: Tensor, as_views: bool) -> None:
    """Let the parameter's gradient be what stands in the bucket: the window itself, or a copy."""
    grad = p._grad
    if as_views and view.array.dtype == p.array.dtype:
        p._grad = view
        view.storage.version += 1
    elif grad is None or grad.array.dtype != p.array.dtype:
        p._grad = base.new(Tensor, view.array.astype(p.array.dtype), p.storage.device)
        if p.storage.device is not devices.CPU:
            ledger.retag(p._grad.array, p.storage.device, "gradient")
    else:
        grad.array[...] = view.array
        grad.storage.version += 1
