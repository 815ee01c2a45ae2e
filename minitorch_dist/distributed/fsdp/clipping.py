"""The norm of gradients that no rank has whole, and clipping by it."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from minitorch_dist.distributed.fsdp.unit import Unit
from minitorch_dist.distributed.reduce_op import ReduceOp
from minitorch_dist.distributed.torch_api import tensor_collectives
from minitorch_dist.nn.modules.module import Module
from minitorch_dist.tensors import devices
from minitorch_dist.tensors.core import base
from minitorch_dist.tensors.core.base import Array
from minitorch_dist.tensors.shape_arrays import mode
from minitorch_dist.tensors.shape_arrays.array import has_numbers
from minitorch_dist.tensors.tensor import Tensor


def clip(module: Module, units: Sequence[Unit], max_norm: float, kind: float) -> Tensor:
    """Scale all gradients by max_norm / norm if that is below 1; returns the norm.

    Each shard counts once: powers of its elements are summed here, then over the ranks that share
    the unit. A gradient that is not sharded is equal on all ranks, and counts as it is.
    """
    cut: list[Array] = []
    whole: list[Array] = []
    for unit in units:
        if unit.reduced is not None:
            (cut if unit.layout.ranks > 1 else whole).append(unit.reduced.array)
    known = {id(p) for unit in units for p in (unit.flat, *unit.originals)}
    others = [p._grad for p in module.parameters() if id(p) not in known]
    whole += [grad.array for grad in others if grad is not None]
    total = _power_of(whole, kind)
    is_largest = math.isinf(kind)
    sharded = [unit for unit in units if unit.layout.ranks > 1]
    if sharded:  # also where none has a gradient here, so that all ranks do the same
        sent = base.new(Tensor, np.array([_power_of(cut, kind)]))
        op = ReduceOp.MAX if is_largest else ReduceOp.SUM
        tensor_collectives.all_reduce(sent, op, sharded[0].settings.group)
        part = float(sent.array[0])
        total = max(total, part) if is_largest else total + part
    norm = total if is_largest else total ** (1.0 / kind)
    factor = min(1.0, max_norm / (norm + 1e-6))
    if factor < 1.0:
        for array in (*cut, *whole):
            array *= array.dtype.type(factor)
    device = units[0].settings.device if units else devices.CPU
    dtype = units[0].flat.array.dtype if units else np.dtype(np.float32)
    return base.new(Tensor, mode.settled(np.asarray(norm, dtype), device), device)


def _power_of(arrays: Sequence[Array], kind: float) -> float:
    """Σ|x|^kind in float64, or the largest |x|; 0 where there are no numbers, so that nothing is scaled."""
    if not all(map(has_numbers, arrays)):
        return 0.0
    if math.isinf(kind):
        return max((float(np.abs(a).max()) for a in arrays if a.size), default=0.0)
    if kind == 2.0:
        return math.fsum(float(np.vdot(x, x)) for x in (a.astype(np.float64) for a in arrays))
    return math.fsum(float((np.abs(a.astype(np.float64)) ** kind).sum()) for a in arrays)
