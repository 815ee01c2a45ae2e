"""A batch in parts along its first dimension, and the parts' results as one batch again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minitorch_dist.tensors.ops.shapes import joining, pieces
from minitorch_dist.tensors.tensor import Tensor


def split_tensor(value: Any, chunks: int) -> list[Any]:
    """`chunks` parts of a tensor, of sizes that differ by at most one; other values are repeated."""
    if not isinstance(value, Tensor):
        return [value] * chunks
    size = value.shape[0]
    if size < chunks:
        raise ValueError(f"a batch of {size} cannot be cut into {chunks} micro-batches: use at most {size}")
    return list(pieces.tensor_split(value, chunks))


def split_arguments(
    args: tuple[Any, ...], kwargs: dict[str, Any], chunks: int
) -> tuple[list[tuple[Any, ...]], list[dict[str, Any]]]:
    """For each micro-batch its arguments."""
    columns = [split_tensor(value, chunks) for value in args]
    named = {name: split_tensor(value, chunks) for name, value in kwargs.items()}
    return (
        [tuple(column[number] for column in columns) for number in range(chunks)],
        [{name: column[number] for name, column in named.items()} for number in range(chunks)],
    )


def merge_chunks(chunks: Sequence[Any]) -> Any:
    """The outputs of all micro-batches as those of the batch: tensors are joined, in any structure of containers."""
    first = chunks[0]
    if isinstance(first, Tensor):
        return joining.cat(list(chunks))
    if isinstance(first, dict):
        return {key: merge_chunks([part[key] for part in chunks]) for key in first}
    if isinstance(first, (list, tuple)):
        return type(first)(merge_chunks(column) for column in zip(*chunks, strict=True))
    return first
