"""The checks of the arguments of collectives, and their form for the wire."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np

from minitorch_dist.distributed import groups
from minitorch_dist.distributed.groups import Group
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


def check_length(name: str, tensors: Sequence[object], group: Group) -> None:
    if len(tensors) != group.size():
        raise RuntimeError(f"invalid {name} list at index 0 (expected length {group.size()}, got {len(tensors)})")


def check_shapes(name: str, tensors: Sequence[TensorBase], tensor: TensorBase, only: int | None = None) -> None:
    """Those of the list (or only that of one rank) must have the shape of `tensor`."""
    for rank, other in enumerate(tensors):
        if only in (None, rank) and other.array.shape != tensor.array.shape:
            raise RuntimeError(
                f"{name}: invalid tensor size at index {rank} (expected "
                f"{_size(tensor.array.shape)}, got {_size(other.array.shape)})"
            )


def parts_at_root(
    operation: str, side: str, tensor: TensorBase, parts: Sequence[TensorBase] | None, group: Group, root: int
) -> Sequence[TensorBase]:
    """The list that the root gives, one tensor like `tensor` for each rank; empty on the other ranks.

    `side`: which end of the messages the root is, the "source" or the "destination".
    """
    if group.rank() != root:
        if parts:
            raise ValueError(f"Argument ``{operation}_list`` must NOT be specified on non-{side} ranks.")
        return ()
    if not parts:
        raise ValueError(f"Argument ``{operation}_list`` must be specified on {side} rank.")
    check_length("input tensor" if side == "source" else "output tensor", parts, group)
    check_shapes(operation, parts, tensor)
    return parts


def _size(shape: tuple[int, ...]) -> str:
    return f"({', '.join(map(str, shape))})"


def check_own(inputs: Sequence[Array], outputs: Sequence[Array], rank: int) -> None:
    """A rank's own part must fit where it goes."""
    given, taken = inputs[rank].size, outputs[rank].size
    if given != taken:
        raise RuntimeError(
            f"input and output tensors must have the same size: rank {rank} has {given} elements "
            f"for itself, and room for {taken}"
        )


def root_of(group: Group, rank: int | None, group_rank: int | None) -> int:
    """The root as a group rank; torch's errors."""
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
    if large.dtype is not small.dtype:
        raise RuntimeError(f"{name}: invalid tensor type: {large.dtype} is not {small.dtype}")
    if large.array.size != small.array.size * size:
        raise RuntimeError(
            f"{name} tensor size must be equal to world_size times the other's: {large.array.size} "
            f"elements are not {size} times {small.array.size}"
        )


def split(array: Array, sizes: Sequence[int] | None, group: Group, name: str) -> list[Array]:
    """The parts of an array for each rank, by rows; even ones if no sizes are given."""
    length = len(array)
    if not sizes:
        if length % group.size():
            raise RuntimeError(
                f"Tensor's dim 0 does not divide equally across group size: {name} has {length} rows "
                f"for {group.size()} ranks; pass {name}_split_sizes"
            )
        sizes = [length // group.size()] * group.size()
    if len(sizes) != group.size():
        raise RuntimeError(
            f"Number of tensor splits not equal to group size: {name}_split_sizes has {len(sizes)} "
            f"entries for {group.size()} ranks"
        )
    if sum(sizes) != length:
        raise RuntimeError(
            f"Split sizes doesn't match total dim 0 size: {name}_split_sizes adds up to "
            f"{sum(sizes)}, but there are {length} rows"
        )
    ends = np.cumsum([0, *sizes])
    return [array[start:stop] for start, stop in pairwise(ends)]
