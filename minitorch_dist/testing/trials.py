"""One run of a collective under test: what each rank calls, and what numpy says must come of it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

import minitorch_dist.distributed as dist
from minitorch_dist.distributed.reduce_op import ReduceOp
from minitorch_dist.distributed.schedules.schedule import ROOTED
from minitorch_dist.tensors.core import base
from minitorch_dist.tensors.core.base import Array
from minitorch_dist.tensors.tensor import Tensor
from minitorch_dist.testing.verdict import ReplayCase

OPS: dict[str, tuple[Any, Callable[..., Any]]] = {
    "sum": (ReduceOp.SUM, np.add.reduce),
    "max": (ReduceOp.MAX, np.maximum.reduce),
    "min": (ReduceOp.MIN, np.minimum.reduce),
    "product": (ReduceOp.PRODUCT, np.multiply.reduce),
}


def program(subject: Callable[..., Any], case: ReplayCase, given: Array, device: str = "") -> Array:
    """The program of every rank."""
    rank = dist.get_rank()
    tensor = _tensor(given[rank].copy(), device, rank)
    arguments: dict[str, Any] = {}
    parameters = inspect.signature(subject).parameters
    if "op" in parameters:
        arguments["op"] = OPS[case.op][0]
    for name in ("src", "dst", "root"):
        if name in parameters and case.collective in ROOTED:
            arguments[name] = root_of(case)
    if case.collective in ("all_reduce", "broadcast", "reduce"):
        result = subject(tensor, **arguments)
        return _numbers(tensor if result is None else result)
    length = {"all_gather": case.size, "reduce_scatter": 1, "all_to_all": case.size}[case.collective]
    output = _tensor(np.zeros(length * case.count, given.dtype), device, rank)
    result = subject(output, tensor, **arguments)
    return _numbers(output if result is None else result)


def _numbers(result: Any) -> Array:
    if not isinstance(result, Tensor):
        raise TypeError(f"it returned {result!r}, which is not a tensor; what works in place returns nothing")
    copied: Array = result.array.copy()
    return copied


def _tensor(array: Array, device: str, rank: int) -> Tensor:
    made = base.new(Tensor, array)
    return made.to(f"{device}:{rank}") if device else made


def root_of(case: ReplayCase) -> int:
    return case.size - 1


def length_of(case: ReplayCase) -> int:
    """Elements of what a rank gives."""
    parts = case.size if case.collective in ("reduce_scatter", "all_to_all") else 1
    return parts * case.count


def wanted_of(case: ReplayCase, given: Array) -> list[Array | None]:
    """The result of numpy. None: nobody may ask."""
    size, count, root = case.size, case.count, root_of(case)
    total = OPS[case.op][1](given, axis=0)
    if case.collective == "broadcast":
        return [given[root]] * size
    if case.collective == "reduce":
        return [total if rank == root else None for rank in range(size)]
    if case.collective == "all_gather":
        return [given.reshape(-1)] * size
    parts = [slice(rank * count, (rank + 1) * count) for rank in range(size)]
    if case.collective == "reduce_scatter":
        return [total[part] for part in parts]
    if case.collective == "all_to_all":
        return [given[:, part].reshape(-1) for part in parts]
    return [total] * size


def unlike(found: Array, wanted: Array, rank: int) -> str:
    if found.shape != wanted.shape:
        return f"rank {rank} has {list(found.shape)} elements, expected {list(wanted.shape)}"
    at = np.flatnonzero(found != wanted)
    if not len(at):
        return ""
    return f"rank {rank}, element {at[0]}: {found[at[0]]:g}, expected {wanted[at[0]]:g}"
