"""All pairs, all choices, side by side: tensors put together from several vectors or blocks."""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from minitorch_dist.tensors import dtypes
from minitorch_dist.tensors.core.base import Array, T, TensorBase
from minitorch_dist.tensors.core.graph import record, result
from minitorch_dist.tensors.ops.accumulation import add_at
from minitorch_dist.tensors.ops.making.creation import made
from minitorch_dist.tensors.ops.shapes import broadcasting, reshaping
from minitorch_dist.tensors.promotion import cast
from minitorch_dist.tensors.shape_arrays.array import has_numbers


def _listed(tensors: tuple[Any, ...]) -> list[Any]:
    return (
        list(tensors[0]) if len(tensors) == 1 and isinstance(tensors[0], Sequence) else [*tensors]
    )


def meshgrid(*tensors: Any, indexing: str | None = None) -> tuple[Any, ...]:
    """One grid per vector, each showing its own coordinate. Views; "xy" swaps the first two axes."""
    if indexing is None:
        warnings.warn(
            "torch.meshgrid: in an upcoming release, it will be required to pass the indexing "
            "argument.",
            UserWarning,
            stacklevel=2,
        )
        indexing = "ij"
    if indexing not in ("ij", "xy"):
        raise RuntimeError(
            f'torch.meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}'
        )
    given = _listed(tensors)
    if not given:
        raise RuntimeError("meshgrid expects a non-empty TensorList")
    for t in given:
        if t.array.ndim > 1:
            raise RuntimeError(
                "torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: "
                f"{list(t.array.shape)}"
            )
        if t.array.dtype != given[0].array.dtype:
            raise RuntimeError("meshgrid expects all tensors to have the same dtype")
    swap = indexing == "xy" and len(given) > 1
    if swap:
        given[:2] = given[1::-1]
    shape = tuple(t.array.size for t in given)
    grids = []
    for number, t in enumerate(given):
        lone = tuple(n if i == number else 1 for i, n in enumerate(shape))
        grids.append(broadcasting.expand(reshaping.reshape(t, lone), shape))
    if swap:
        grids[:2] = grids[1::-1]
    return tuple(grids)


def cartesian_prod(*tensors: T) -> T:
    """Every way to take one element of each vector, one way a row."""
    for t in tensors:
        if t.array.ndim != 1:
            raise RuntimeError(f"Expect a 1D vector, but got shape {list(t.array.shape)}")
        if t.array.dtype != tensors[0].array.dtype:
            raise RuntimeError("meshgrid expects all tensors to have the same dtype")
    if len(tensors) == 1:
        return tensors[0]
    shape = tuple(t.array.size for t in tensors)
    grids = np.meshgrid(*(t.array for t in tensors), indexing="ij")

    def vjp(k: int) -> Callable[[Array], Array]:
        others = tuple(i for i in range(len(shape)) if i != k)
        return lambda g: g[:, k].reshape(shape).sum(others, dtype=g.dtype)

    inputs: list[Any] = [(t, vjp(k)) for k, t in enumerate(tensors)]
    out: T = record(
        np.stack([grid.reshape(-1) for grid in grids], 1), "StackBackward0", inputs[0], *inputs[1:]
    )
    return out


def combinations(input: T, r: int = 2, with_replacement: bool = False) -> T:
    """Every choice of r elements of a vector, one choice a row, in order."""
    x = input.array
    if x.ndim != 1:
        raise RuntimeError(f"Expect a 1D vector, but got shape {list(x.shape)}")
    if r < 0:
        raise RuntimeError(f"Expect a non-negative number, but got {r}")
    if r == 0:
        return result(input, np.empty(0, x.dtype, like=x))
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    flat = np.fromiter(itertools.chain.from_iterable(choose(range(x.size), r)), np.int64)
    index = flat.reshape(-1, r)
    size = x.size

    def gradient(g: Array) -> Array:
        whole = np.zeros(size, g.dtype, like=g)
        add_at(whole, (index,), g)
        return whole

    return record(x[index], "IndexBackward0", (input, gradient))


def block_diag(*tensors: Any) -> Any:
    """The matrices along the diagonal of a larger one, zeros around them."""
    given = _listed(tensors)
    if not given:
        return made(np.empty((1, 0), dtypes.get_default_dtype().numpy))
    kind = given[0].dtype
    for number, t in enumerate(given):
        kind = dtypes.promote_types(kind, t.dtype)
        if t.array.ndim > 2:
            raise RuntimeError(
                "torch.block_diag: Input tensors must have 2 or fewer dimensions. Input "
                f"{number} has {t.array.ndim} dimensions"
            )
    given = [cast(t, kind) for t in given]
    blocks = [np.atleast_2d(t.array) for t in given]
    sides = tuple(sum(sizes) for sizes in zip(*[b.shape for b in blocks], strict=True))
    out = np.zeros(sides, kind.numpy, like=blocks[0])
    inputs: list[Any] = []
    top = left = 0
    for t, block in zip(given, blocks, strict=True):
        place = slice(top, top + block.shape[0]), slice(left, left + block.shape[1])
        out[place] = block
        inputs.append((t, lambda g, at=place, shape=t.array.shape: g[at].reshape(shape)))
        top, left = place[0].stop, place[1].stop
    return record(out, "BlockDiagBackward0", inputs[0], *inputs[1:])


def vander(x: T, N: int | None = None, increasing: bool = False) -> T:
    """Columns of powers: xᴺ⁻¹ … x¹ x⁰, or the other way round."""
    v = x.array
    if v.ndim != 1:
        raise RuntimeError(f"x must be a one-dimensional tensor, got shape {list(v.shape)}.")
    count = v.size if N is None else N
    if count < 0:
        raise RuntimeError(f"N must be non-negative, got {count}.")
    return _powers(x, np.arange(count) if increasing else np.arange(count)[::-1])


def linalg_vander(x: T, *, N: int | None = None) -> T:
    """Rows of powers x⁰ x¹ … xᴺ⁻¹, for every element along the last axis."""
    if not x.array.ndim:
        raise RuntimeError("linalg.vander: x must have at least one dimension")
    count = x.array.shape[-1] if N is None else N
    if count <= 1:
        raise RuntimeError(f"linalg.vander: N must be greater than 1, got {count}.")
    return _powers(x, np.arange(count))


def _powers(x: T, powers: Array) -> T:
    v = x.array
    out = (v[..., None] ** powers).astype(np.int64 if v.dtype.kind in "iub" else v.dtype)

    def gradient(g: Array) -> Array:
        slopes = powers * v[..., None] ** np.maximum(powers - 1, 0)
        return np.asanyarray((g * slopes).sum(-1)).astype(g.dtype)  # type: ignore[no-any-return]

    return record(out, "VanderBackward0", (x, gradient, x))


def one_hot(tensor: TensorBase, num_classes: int = -1) -> Any:
    """For each class number a row of zeros with a one in that place."""
    x = tensor.array
    if x.dtype != np.int64:
        raise RuntimeError(
            f"one_hot is only applicable to index tensor of type LongTensor, not {tensor.dtype}."
        )
    if not x.size:
        if num_classes <= 0:
            raise RuntimeError("Can not infer total number of classes from empty tensor.")
        return result(tensor, np.empty((*x.shape, num_classes), np.int64, like=x))
    if not has_numbers(x) and num_classes > 0:
        return result(tensor, np.empty((*x.shape, num_classes), np.int64, like=x))
    if x.min() < 0:
        raise RuntimeError(f"Class values must be non-negative, got {x.min()}.")
    if num_classes == -1:
        num_classes = int(x.max()) + 1
    elif x.max() >= num_classes:
        raise RuntimeError(
            f"Class values must be smaller than num_classes: {x.max()} in {num_classes} classes."
        )
    out = np.zeros((math.prod(x.shape), num_classes), np.int64)
    out[np.arange(len(out)), x.reshape(-1)] = 1
    return result(tensor, out.reshape(*x.shape, num_classes))
