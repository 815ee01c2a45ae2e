"""The checks of the arguments of collectives, and their form for the wire."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np

from minitorch_dist.distributed import groups
from minitorch_dist.distributed.groups import ProcessGroup
from minitorch_dist.distributed.mail.receives import Array
from minitorch_dist.distributed.overlaps import check_apart
from minitorch_dist.distributed.torch_api.tensor_arrays import to_write
from minitorch_dist.tensors.core.base import TensorBase


def check_same_dtype(*tensors: TensorBase) -> None:
    for tensor in tensors[1:]:
        if tensor.dtype is not tensors[0].dtype:
            raise ValueError(
                f"Invalid usage of tensors with different dtypesFound {tensors[0].dtype} and  {tensor.dtype}"
            )


def check_length(name: str, tensors: Sequence[object], group: ProcessGroup) -> None:
    if len(tensors) != group.size():
        raise RuntimeError(f"invalid {name} list (expected length {group.size()}, got {len(tensors)})")


def check_shapes(name: str, tensors: Sequence[TensorBase], tensor: TensorBase) -> None:
    for place, other in enumerate(tensors):
        if other.array.shape != tensor.array.shape:
            raise RuntimeError(
                f"{name}: invalid tensor size at index {place} (expected {tensor.array.shape}, got {other.array.shape})"
            )


def check_at_root(name: str, values: Sequence[object] | None, is_root: bool) -> None:
    """The root gives this list, and no other rank does."""
    if is_root and not values:
        raise ValueError(f"Argument ``{name}`` must be specified on the rank that is the root.")
    if values and not is_root:
        raise ValueError(f"Argument ``{name}`` must NOT be specified on ranks that are not the root.")


def parts_at_root(
    name: str, tensor: TensorBase, parts: Sequence[TensorBase] | None, group: ProcessGroup, root: int
) -> Sequence[TensorBase]:
    """The list that the root gives, one tensor like `tensor` for each rank; empty on the other ranks."""
    check_at_root(name, parts, group.rank() == root)
    if parts:
        check_length(name, parts, group)
        check_shapes(name, parts, tensor)
    return parts or ()


def check_own(inputs: Sequence[Array], outputs: Sequence[Array], rank: int) -> None:
    """A rank's own part must fit where it goes."""
    given, taken = inputs[rank].size, outputs[rank].size
    if given != taken:
        raise RuntimeError(
            f"input and output tensors must have the same size: rank {rank} has {given} elements "
            f"for itself, and room for {taken}"
        )


def root_of(group: ProcessGroup, rank: int | None, group_rank: int | None, default: int | None = None) -> int:
    """The root as a group rank; torch's errors."""
    if rank is None and group_rank is None:
        rank = default
    if group.ranks == tuple(range(group.world.world_size)):
        given = rank if group_rank is None else group_rank
        if given is not None and not 0 <= given < group.size() and None in (rank, group_rank):
            raise RuntimeError(f"invalid root rank: {given} (the group has {group.size()} ranks)")
    return groups.canonical_rank(group, rank, group_rank)


def all_to_write(tensors: Sequence[TensorBase], name: str) -> tuple[list[Array], Callable[[], None]]:
    """Arrays to be written for all of these, which must not overlap; call the function when they were. They are the
    argument `name`."""
    check_apart([tensor.array for tensor in tensors], lambda at: f"{name}[{at}]")
    pairs = [to_write(tensor) for tensor in tensors]

    def written() -> None:
        for _, one in pairs:
            one()

    return [array for array, _ in pairs], written


def check_pair(large: TensorBase, small: TensorBase, size: int, name: str) -> None:
    """One tensor must hold as much as `size` of the other, in the same type. torch's gloo backend looks
    at these two itself, so both errors are RuntimeErrors there."""
    if large.dtype is not small.dtype or large.array.size != small.array.size * size:
        raise RuntimeError(
            f"{name}: one tensor must have the other's dtype and {size} times as many elements, but they are "
            f"{large.dtype}[{large.array.size}] and {small.dtype}[{small.array.size}]"
        )


def split(array: Array, sizes: Sequence[int] | None, group: ProcessGroup, name: str) -> list[Array]:
    """The parts of an array for each rank, by rows; even ones if no sizes are given."""
    length, size = len(array), group.size()
    sizes = sizes or [length // size] * size
    if len(sizes) != size or sum(sizes) != length:
        raise RuntimeError(
            f"{name} has {length} rows for {size} ranks, and {list(sizes)} does not divide them equally, or as was asked. "
            f"{name}_split_sizes has a number of rows for each rank, which add up to all rows"
        )
    ends = np.cumsum([0, *sizes])
    return [array[start:stop] for start, stop in pairwise(ends)]
