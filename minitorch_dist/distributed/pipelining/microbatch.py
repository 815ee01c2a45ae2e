"""A batch in parts, and the parts' results as one batch again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from minitorch_dist.tensors.ops.shapes import joining, pieces
from minitorch_dist.tensors.tensor import Tensor


class TensorChunkSpec:
    """Along which dimension a tensor is cut."""

    def __init__(self, split_dim: int) -> None:
        self.split_dim = split_dim

    @staticmethod
    def from_tuple(chunk_dims: tuple[int, ...]) -> tuple[TensorChunkSpec, ...]:
        return tuple(TensorChunkSpec(dim) for dim in chunk_dims)

    @staticmethod
    def from_dict(chunk_dims: dict[str, int]) -> dict[str, TensorChunkSpec]:
        return {name: TensorChunkSpec(dim) for name, dim in chunk_dims.items()}

    def __repr__(self) -> str:
        return f"TensorChunkSpec({self.split_dim})"


class _Replicate:
    """Every micro-batch gets the whole."""


class CustomReducer:
    """Joins the parts of an output that is not a batch: `reduce_fn(so_far, part)`."""

    def __init__(self, init_value: Any, reduce_fn: Callable[[Any, Any], Any]) -> None:
        self.init_value, self.reduce_fn = init_value, reduce_fn


FIRST = TensorChunkSpec(0)


def split_tensor(value: Any, spec: Any, chunks: int) -> list[Any]:
    """`chunks` parts of a tensor, of sizes that differ by at most one; other values are repeated."""
    if not isinstance(value, Tensor) or isinstance(spec, _Replicate):
        return [value] * chunks
    size = value.shape[spec.split_dim]
    if size < chunks:
        raise ValueError(
            f"a batch of {size} cannot be cut into {chunks} micro-batches along dimension "
            f"{spec.split_dim}: use at most {size}"
        )
    return list(pieces.tensor_split(value, chunks, spec.split_dim))


def split_args_kwargs_into_chunks(
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None,
    chunks: int,
    args_chunk_spec: tuple[Any, ...] | None = None,
    kwargs_chunk_spec: dict[str, Any] | None = None,
) -> tuple[list[tuple[Any, ...]], list[dict[str, Any]]]:
    """For each micro-batch its arguments. Tensors are cut along dimension 0 unless specs say else."""
    kwargs = kwargs or {}
    if args_chunk_spec is not None and len(args_chunk_spec) != len(args):
        raise ValueError(
            f"args_chunk_spec has {len(args_chunk_spec)} entries for {len(args)} arguments"
        )
    specs = args_chunk_spec or (FIRST,) * len(args)
    columns = [split_tensor(value, spec, chunks) for value, spec in zip(args, specs, strict=True)]
    named = {
        name: split_tensor(value, (kwargs_chunk_spec or {}).get(name, FIRST), chunks)
        for name, value in kwargs.items()
    }
    return (
        [tuple(column[number] for column in columns) for number in range(chunks)],
        [{name: column[number] for name, column in named.items()} for number in range(chunks)],
    )


def merge_chunks(chunks: Sequence[Any], chunk_spec: Any) -> Any:
    """The outputs of all micro-batches as those of the batch. `chunk_spec` has their structure, or
    is None: then tensors are joined along dimension 0."""
    first = chunks[0]
    if isinstance(chunk_spec, CustomReducer):
        value = chunk_spec.init_value
        for part in chunks:
            value = chunk_spec.reduce_fn(value, part)
        return value
    if isinstance(first, Tensor):
        dim = chunk_spec.split_dim if isinstance(chunk_spec, TensorChunkSpec) else 0
        return joining.cat(list(chunks), dim)
    if isinstance(first, dict):
        return {
            key: merge_chunks([part[key] for part in chunks], _of(chunk_spec, key)) for key in first
        }
    if isinstance(first, (list, tuple)):
        return type(first)(
            merge_chunks([part[number] for part in chunks], _of(chunk_spec, number))
            for number in range(len(first))
        )
    return first


def _of(spec: Any, key: Any) -> Any:
    return spec[key] if isinstance(spec, (dict, list, tuple)) else spec
