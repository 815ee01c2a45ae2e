"""That all ranks hold the same model: its shapes are compared, its values taken from one rank."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from minitorch_dist.distributed import collectives
from minitorch_dist.distributed.ddp import buckets
from minitorch_dist.distributed.groups import ProcessGroup
from minitorch_dist.distributed.reductions import ReduceStep
from minitorch_dist.distributed.torch_api.object_collectives import all_gather_object, broadcast_object_list
from minitorch_dist.distributed.torch_api.tensor_collectives import broadcast
from minitorch_dist.tensors.core import base
from minitorch_dist.tensors.core.base import TensorBase
from minitorch_dist.tensors.tensor import Tensor

TOGETHER: Final = 250 * 1024 * 1024  # bytes that are broadcast in one piece


def check_shapes(group: ProcessGroup, names: Sequence[str], parameters: Sequence[TensorBase]) -> None:
    """Raise on every rank if a parameter differs in number, shape or type from that of rank 0.

    Each rank compares its own model with rank 0's. Objects of all ranks go to all ranks only where
    one of them has found a difference: P ranks else read P² models.
    """
    mine = [(name, list(p.array.shape), str(p.dtype)) for name, p in zip(names, parameters, strict=True)]
    told: list[Any] = [mine]
    broadcast_object_list(told, group=group, group_src=0)
    complaint = _difference(group.rank(), mine, told[0])
    found = np.array([complaint is not None], np.int32)
    collectives.all_reduce(group, found, ReduceStep("max"))
    if found[0]:
        every: list[Any] = [None] * group.size()
        all_gather_object(every, complaint, group=group)
        raise RuntimeError(min(filter(None, every), key=lambda each: each[0])[1])


def _difference(rank: int, mine: Sequence[Any], first: Sequence[Any]) -> tuple[int, str] | None:
    """How a rank's model differs from rank 0's: how deep the difference goes, and the words."""
    if len(mine) != len(first):
        text = (
            f"DDP expects same model across all ranks, but Rank 0 has {len(first)} params, "
            f"while rank {rank} has inconsistent {len(mine)} params."
        )
        return 0, text
    for number, (own, other) in enumerate(zip(mine, first, strict=True)):
        if tuple(own) != tuple(other):
            text = (
                f"[{rank}]: params[{number}] in this process with sizes {own[1]} ({own[2]}) appears not to "
                f"match sizes of the same param in process 0. It is {own[0]!r} on rank {rank}, and {other[0]!r} with "
                f"sizes {other[1]} ({other[2]}) on rank 0; build the same model on every rank"
            )
            return 1, text
    return None


def broadcast_from(
    group: ProcessGroup, tensors: Sequence[TensorBase], src: int = 0, count_as_write: bool = True
) -> None:
    """Let all ranks' tensors hold the values of group rank `src`'s.

    Without `count_as_write` a graph that has read the old values does not mind.
    """
    if group.size() == 1:
        return
    for numbers in buckets.assign(tensors, [TOGETHER], range(len(tensors))):
        part = [tensors[number] for number in numbers]
        flat = np.concatenate([tensor.array.reshape(-1) for tensor in part])
        broadcast(base.new(Tensor, flat), group=group, group_src=src)
        if group.rank() == src:
            continue
        for tensor, values in buckets.windows(flat, part):
            tensor.array[...] = values
            tensor.storage.version += count_as_write
