"""That all ranks hold the same model: its shapes are compared, its values taken from one rank."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from minitorch_dist.distributed.face.object_collectives import all_gather_object
from minitorch_dist.distributed.face.process_group import ProcessGroup
from minitorch_dist.distributed.face.tensor_collectives import broadcast
from minitorch_dist.tensors import base
from minitorch_dist.tensors.base import TensorBase
from minitorch_dist.tensors.tensor import Tensor

TOGETHER: Final = 250 * 1024 * 1024  # bytes that are broadcast in one piece


def check_shapes(
    group: ProcessGroup, names: Sequence[str], parameters: Sequence[TensorBase]
) -> None:
    """Raise on every rank if a parameter differs in number, shape or type from that of rank 0."""
    mine = [
        (name, list(p.array.shape), str(p.dtype)) for name, p in zip(names, parameters, strict=True)
    ]
    all_models: list[Any] = [None] * group.size()
    all_gather_object(all_models, mine, group=group)
    first = all_models[0]
    for rank, model in enumerate(all_models):
        if len(model) != len(first):
            raise RuntimeError(
                f"DDP expects same model across all ranks, but Rank 0 has {len(first)} params, "
                f"while rank {rank} has inconsistent {len(model)} params."
            )
    for rank, model in enumerate(all_models):
        for number, (own, other) in enumerate(zip(model, first, strict=True)):
            if own[1] != other[1]:
                raise RuntimeError(
                    f"[{rank}]: params[{number}] in this process with sizes {own[1]} appears not to "
                    f"match sizes of the same param in process 0. It is {own[0]!r} on rank {rank}, "
                    f"and {other[0]!r} with sizes {other[1]} on rank 0; build the same model on "
                    "every rank"
                )
            if own[2] != other[2]:
                raise RuntimeError(
                    f"[{rank}]: params[{number}] ({own[0]!r}) is {own[2]}, but {other[2]} on rank 0; "
                    "build the same model on every rank"
                )


def take_from(
    group: ProcessGroup, tensors: Sequence[TensorBase], src: int = 0, count_as_write: bool = True
) -> None:
    """Let all ranks' tensors hold the values of group rank `src`'s.

    Without `count_as_write` a graph that has read the old values does not mind.
    """
    if group.size() == 1:
        return
    for part in _together(tensors):
        flat = np.concatenate([tensor.array.reshape(-1) for tensor in part])
        broadcast(base.new(Tensor, flat), group=group, group_src=src)
        if group.rank() == src:
            continue
        stop = 0
        for tensor in part:
            start, stop = stop, stop + tensor.array.size
            tensor.array[...] = flat[start:stop].reshape(tensor.array.shape)
            if count_as_write:
                tensor.storage.version += 1


def _together(tensors: Sequence[TensorBase]) -> list[list[TensorBase]]:
    """Tensors of one dtype that are sent in one piece."""
    found: list[list[TensorBase]] = []
    latest: dict[Any, list[TensorBase]] = {}
    sizes: dict[Any, int] = {}
    for tensor in tensors:
        dtype = tensor.array.dtype
        if dtype not in latest or sizes[dtype] + tensor.array.nbytes > TOGETHER:
            latest[dtype], sizes[dtype] = [], 0
            found.append(latest[dtype])
        latest[dtype].append(tensor)
        sizes[dtype] += tensor.array.nbytes
    return found
