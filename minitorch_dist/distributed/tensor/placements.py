"""How a tensor lies on the ranks of one axis of a mesh: cut, copied, or in summands.

    Shard(0)     rank 0 │ rows 0-2 │   Replicate()   │ all │ all │    Partial()   │ a │ b │  a+b is meant
                 rank 1 │ rows 3-4 │

Cuts are those of `chunk`: equal pieces rounded up, the last ones smaller or empty. Pure arithmetic.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class Placement:
    """Base of the three."""

    def is_shard(self, dim: int | None = None) -> bool:
        return False

    def is_replicate(self) -> bool:
        return False

    def is_partial(self) -> bool:
        return False


@dataclass(frozen=True)
class Shard(Placement):
    """Cut along dimension `dim`.

    Args:
        dim: The dimension of the tensor.

    Example:
        >>> dist.tensor.Shard(0).dim
        0
    """

    dim: int

    def is_shard(self, dim: int | None = None) -> bool:
        return dim is None or dim == self.dim


class StridedShard(Shard):
    """Cut along `dim` when all other axes of the mesh have cut already: what a layer that was cut before
    gets from FSDP.

        Shard(0), Shard(0)         rank (0, 0) │ 0 │ (0, 1) │ 1 │ (1, 0) │ 2 │ (1, 1) │ 3 │
        StridedShard(0), Shard(0)  rank (0, 0) │ 0 │ (0, 1) │ 2 │ (1, 0) │ 1 │ (1, 1) │ 3 │
    """


@dataclass(frozen=True)
class Replicate(Placement):
    """The whole on every rank.

    Example:
        >>> dist.tensor.Replicate() == dist.tensor.Replicate()
        True
    """

    def is_replicate(self) -> bool:
        return True


@dataclass(frozen=True)
class Partial(Placement):
    """Every rank has a summand of the same shape.

    Args:
        reduce_op: How they combine: "sum".

    Example:
        >>> from minitorch_dist.distributed.tensor import DTensor, Partial
        >>> def program():
        ...     mesh = dist.device_mesh.init_device_mesh("cpu", (2,))
        ...     return DTensor.from_local(torch.ones(1), mesh, [Partial()]).full_tensor().item()
        >>> sim.run(program, 2).results
        [2.0, 2.0]
    """

    reduce_op: str = "sum"

    def __post_init__(self) -> None:
        if self.reduce_op != "sum":
            raise NotImplementedError(f"Partial({self.reduce_op!r}) is not offered, only sums. PyTorch has others")

    def is_partial(self) -> bool:
        return True

    def __repr__(self) -> str:
        return f"Partial({self.reduce_op})"


class Range(NamedTuple):
    """Which indices along one dimension."""

    start: int
    stop: int


def cut(length: int, pieces: int, number: int) -> Range:
    """The `number`-th of `pieces` parts of `length`, as `chunk` cuts."""
    size = -(-length // pieces) if length else 0
    return Range(min(number * size, length), min((number + 1) * size, length))


def in_order(placements: tuple[Placement, ...]) -> list[int]:
    """The axes of a mesh as they cut, one after the other."""
    return sorted(range(len(placements)), key=lambda axis: isinstance(placements[axis], StridedShard))


def local_ranges(
    shape: tuple[int, ...], sizes: tuple[int, ...], coordinate: tuple[int, ...], placements: tuple[Placement, ...]
) -> list[Range]:
    """For each dimension of the tensor what the rank at `coordinate` of a mesh of `sizes` has."""
    ranges = [Range(0, n) for n in shape]
    for axis in in_order(placements):
        size, at, placement = sizes[axis], coordinate[axis], placements[axis]
        if isinstance(placement, Shard):
            dim = placement.dim % len(shape) if shape else 0
            if not shape:
                raise ValueError("a tensor without dimensions cannot be cut")
            start, stop = ranges[dim]
            part = cut(stop - start, size, at)
            ranges[dim] = Range(start + part.start, start + part.stop)
    return ranges
