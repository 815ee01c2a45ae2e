"""Torch's reduce operations as ours: SUM, AVG, PREMUL_SUM, MAX and others, for the dtypes for which each makes sense."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

import torch
import torch.distributed as torch_dist
from torch._C import _distributed_c10d as c10d

from minitorch_dist.distributed.reduce_op import RedOpType, ReduceOp, reduction_of
from minitorch_dist.distributed.reductions import SUM, ReduceStep
from minitorch_dist.pytorch.tensors_as_arrays import WriteBack, divide, has_numbers, in_turn, to_send

_KINDS: Final = {theirs: RedOpType[name] for name, theirs in c10d.ReduceOp.RedOpType.__members__.items()}


def step_of(
    op: Any, tensor: torch.Tensor, array: Any, written: WriteBack | None, what: str, size: int
) -> tuple[ReduceStep, WriteBack | None]:
    """Torch's reduce op in our terms, and what is left to do when the array of this tensor was written."""
    is_whole = array.dtype.kind in "iu" and has_numbers(tensor)
    if op.op == torch_dist.ReduceOp.AVG and is_whole:
        return SUM, in_turn([partial(divide, array, size), written])
    return _step(op, tensor, array, what), written


def _step(op: Any, tensor: torch.Tensor, array: Any, what: str) -> ReduceStep:
    """Errors where it makes no sense for the tensor's dtype."""
    if not has_numbers(tensor):
        raise RuntimeError(
            f"{what} cannot add up {tensor.dtype}: convert the tensor first, for example to torch.float32"
        )
    kind = _KINDS[op.op]
    if kind is RedOpType.SUM:
        return SUM
    factor = op.__getstate__()[1] if kind is RedOpType.PREMUL_SUM else None
    if isinstance(factor, torch.Tensor):
        factor = to_send(factor)
    return reduction_of(ReduceOp(kind, factor), array.dtype, what)
