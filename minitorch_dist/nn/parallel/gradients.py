"""A gradient on its way into a bucket, and its average on the way out.

It stands in the parameter's `.grad`; or, within a backward pass of distributed autograd, in its context.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minitorch_dist.tensors import base, devices, engine, ledger
from minitorch_dist.tensors.base import TensorBase
from minitorch_dist.tensors.tensor import Tensor


def of(p: TensorBase) -> Any:
    """The parameter's gradient, or None."""
    running = engine.outermost()
    return p._grad if running is None or running.kept is None else running.kept.get(p)


def keep(p: TensorBase, grad: Any) -> None:
    """Let this be the parameter's gradient; None: it has none."""
    running = engine.outermost()
    if running is None or running.kept is None:
        p._grad = grad
    elif grad is None:
        running.kept.pop(p, None)
    else:
        running.kept[p] = grad


def put(p: TensorBase, view: Tensor, divisor: int | None, as_views: bool) -> None:
    """Write a parameter's gradient (zeros if it has none) into its place, divided if asked for."""
    grad, into = of(p), view.array
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
    grad = of(p)
    if as_views and view.array.dtype == p.array.dtype:
        keep(p, view)
        view.storage.version += 1
    elif grad is None or grad.array.dtype != p.array.dtype:
        copy = base.new(Tensor, view.array.astype(p.array.dtype), p.storage.device)
        keep(p, copy)
        if p.storage.device is not devices.CPU:
            ledger.retag(copy.array, p.storage.device, "gradient")
    else:
        grad.array[...] = view.array
        grad.storage.version += 1
