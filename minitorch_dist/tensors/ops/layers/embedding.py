"""Embedding: rows of a table, picked by number; and bags of them, summed, averaged or maximised.

The gradient of a row is the sum over all places where it was picked. Adding one by one
(`np.add.at`) is slow; the places are sorted by row instead, so that each row's gradients lie next to
each other and `np.add.reduceat` adds them up.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minitorch_dist.tensors import dtypes
from minitorch_dist.tensors.autograd.joint import record_joint, wants
from minitorch_dist.tensors.core.base import Array, T, TensorBase
from minitorch_dist.tensors.core.graph import Gradient, record, same_device
from minitorch_dist.tensors.core.views import bump
from minitorch_dist.tensors.dtypes import type_name
from minitorch_dist.tensors.shape_arrays.array import NumbersNeeded, has_numbers


def embedding(
    input: TensorBase, weight: T, padding_idx: int | None = None, max_norm: float | None = None,
    norm_type: float = 2.0, scale_grad_by_freq: bool = False, sparse: bool = False,
) -> T:  # fmt: skip
    """The rows of `weight` that the integers in `input` name.

    The row `padding_idx` gets no gradient. With `max_norm`, picked rows that are longer are first
    shortened to it, in place. `scale_grad_by_freq` divides a row's gradient by how often it was picked.
    """
    _check("embedding", input, weight, sparse)
    same_device(weight, input)
    table, rows = weight.array, len(weight.array)
    if padding_idx is not None:
        assert -rows <= padding_idx < rows, "Padding_idx must be within num_embeddings"
        padding_idx %= rows
    index = input.array
    _check_range(index, rows, IndexError("index out of range in self"))
    if max_norm is not None:
        _shorten(weight, index, max_norm, norm_type)
    shape = table.shape

    def vjp(g: Array) -> Array:
        flat = index.reshape(index.size)
        g = g.reshape(index.size, shape[1])
        if padding_idx is not None and index.size and has_numbers(index):
            kept = flat != padding_idx
            flat, g = flat[kept], g[kept]
        return _add_rows(flat, g, shape, scale_grad_by_freq)

    out = table[index] if index.ndim else table[index[None]][0]
    return record(out, "EmbeddingBackward0", (weight, vjp, input))


def embedding_bag(
    input: TensorBase, weight: T, offsets: TensorBase | None = None, max_norm: float | None = None,
    norm_type: float = 2, scale_grad_by_freq: bool = False, mode: str = "mean", sparse: bool = False,
    per_sample_weights: T | None = None, include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> T:  # fmt: skip
    """One row per bag: the sum, mean or maximum of the rows of `weight` that it names.

    A row of a 2-d `input` is a bag; a 1-d input is cut where `offsets` says. Entries equal to
    `padding_idx` are not in any bag; empty bags give zeros.
    """
    _check("embedding_bag", input, weight, sparse)
    same_device(weight, input, offsets, per_sample_weights)
    cuts = _bags(input, offsets, include_last_offset)
    scales = per_sample_weights
    _check_bags(input, weight, mode, scale_grad_by_freq, scales, padding_idx)
    table, rows = weight.array, len(weight.array)
    index = input.array.reshape(input.array.size)
    wrong = RuntimeError(f"Index of input is not in the valid range [0, {rows})")
    _check_range(index, rows, wrong)
    if max_norm is not None:
        _shorten(weight, index, max_norm, norm_type)

    if not has_numbers(index):
        raise NumbersNeeded("embedding_bag()")
    bag = np.repeat(np.arange(len(cuts) - 1), np.diff(cuts))  # of each entry, the bag it is in
    kept = slice(None) if padding_idx is None else index != padding_idx % rows
    index, bag = index[kept], bag[kept]
    counts = np.bincount(bag, minlength=len(cuts) - 1)
    starts, full = _runs(bag)
    share: Array | None = None  # what each entry is multiplied with
    if mode == "mean":
        share = (1 / counts[bag]).astype(table.dtype)[:, None]
    elif scales is not None:
        share = scales.array.reshape(scales.array.size)[kept][:, None]
    picked = table[index]
    if share is not None:
        picked = picked * share
    out = np.zeros((len(counts), table.shape[1]), table.dtype, like=table)
    if len(index):
        add = np.maximum if mode == "max" else np.add
        out[full] = add.reduceat(picked, starts, axis=0)
    wanted = wants(weight, scales)
    factors = None if scales is None else scales.array

    def backward(g: Array) -> list[Gradient]:
        dw = ds = None
        if wanted[0] and mode == "max":
            dw = _max_gradient(g, table[index], out, index, bag, starts, table.shape)
        elif wanted[0]:
            each = g[bag] if share is None else g[bag] * share
            dw = _add_rows(index, each, table.shape, scale_grad_by_freq)
        if wanted[1] and factors is not None:
            whole = np.zeros(factors.size, factors.dtype, like=factors)
            whole[kept] = np.einsum("ed,ed->e", table[index], g[bag])
            ds = whole.reshape(factors.shape)
        return [dw] if factors is None else [dw, ds]

    inputs = [weight] if scales is None else [weight, scales]
    reads: list[TensorBase] = [input]
    if mode == "max" or scales is not None:
        reads += inputs
    return record_joint(out, "EmbeddingBagBackward0", inputs, backward, reads, owns=True)


# ------------------------------------------------------------------------------------------ gradients


def _runs(keys: Array) -> tuple[Array, Array]:
    """Where runs of equal keys start, and the key of each run."""
    if not len(keys):
        return np.zeros(0, np.int64), keys
    starts = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]]))
    return starts, keys[starts]


def _add_rows(index: Array, rows: Array, shape: tuple[int, ...], by_frequency: bool) -> Array:
    """A table of `shape` whose row i is the sum of `rows` over all places where index is i."""
    out = np.zeros(shape, rows.dtype, like=rows)
    if not len(index) or not has_numbers(out):
        return out
    order = np.argsort(index, kind="stable")
    starts, keys = _runs(index[order])
    rows = rows[order]
    if rows.dtype in dtypes.HALVES:  # add up in float32, round once
        rows = rows.astype(np.float32)
    sums = np.add.reduceat(rows, starts, axis=0)
    if by_frequency:
        sums /= np.diff(starts, append=len(index)).astype(sums.dtype)[:, None]
    out[keys] = sums
    return out


def _max_gradient(
    g: Array, picked: Array, out: Array, index: Array, bag: Array, starts: Array,
    shape: tuple[int, ...],
) -> Array:  # fmt: skip
    """To the first entry of each bag that has the maximum, feature by feature."""
    dw = np.zeros(shape, g.dtype, like=g)
    if len(index):
        number = np.arange(len(index))[:, None]
        first = np.minimum.reduceat(
            np.where(picked == out[bag], number, len(index)), starts, axis=0
        )
        found = first < len(index)
        first = np.minimum(first, len(index) - 1)
        columns = np.broadcast_to(np.arange(shape[1]), first.shape)
        np.add.at(dw, (index[first][found], columns[found]), g[bag[starts]][found])
    return dw


def _shorten(weight: TensorBase, index: Array, max_norm: float, norm_type: float) -> None:
    if not has_numbers(index):
        return
    rows = np.unique(index)
    norms = np.linalg.norm(weight.array[rows].astype(np.float64), norm_type, axis=1)
    long = norms > max_norm
    scale = (max_norm / (norms[long] + 1e-7)).astype(weight.array.dtype)
    weight.array[rows[long]] *= scale[:, None]
    bump(weight)


# --------------------------------------------------------------------------------------------- checks


def _check(name: str, input: Any, weight: TensorBase, sparse: bool) -> None:
    if not isinstance(input, TensorBase):
        raise TypeError(f"{name}(): argument 'indices' must be Tensor, not {type(input).__name__}")
    if input.array.dtype not in (np.int64, np.int32):
        raise RuntimeError(
            "Expected tensor for argument #1 'indices' to have one of the following scalar types: "
            f"Long, Int; but got {type_name(input.array)} instead (while checking arguments for {name})"
        )
    if weight.array.ndim != 2:
        raise RuntimeError("'weight' must be 2-D")
    if sparse:
        raise NotImplementedError(
            f"{name}(sparse=True): sparse gradients are not offered; leave it out for a dense one"
        )


def _check_range(index: Array, rows: int, error: Exception) -> None:
    if index.size and has_numbers(index) and (index.min() < 0 or index.max() >= rows):
        raise error


def _bags(input: TensorBase, offsets: TensorBase | None, include_last: bool) -> Array:
    """Where the bags begin, and the end of the last one."""
    shape = input.array.shape
    if len(shape) == 2:
        if offsets is not None:
            raise ValueError(
                "if input is 2D, then offsets has to be None, as input is treated is a mini-batch of "
                f"fixed length sequences. However, found offsets of type {type(offsets)}"
            )
        even: Array = np.arange(shape[0] + 1) * shape[1]
        return even
    if len(shape) != 1:
        raise ValueError(
            f"input has to be 1D or 2D Tensor, but got Tensor of dimension {len(shape)}"
        )
    if not isinstance(offsets, TensorBase):
        raise ValueError(f"offsets has to be a 1D Tensor but got {type(offsets).__name__}")
    if offsets.array.ndim != 1:
        raise ValueError("offsets has to be a 1D Tensor")
    cuts: Array = offsets.array.astype(np.int64)
    if not has_numbers(cuts):
        raise NumbersNeeded("the offsets of an embedding_bag")
    if len(cuts) and cuts[0] != 0:
        raise RuntimeError(
            "offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from "
            f"position 0. However, got {cuts[0]}"
        )
    if len(cuts) and cuts[-1] > shape[0]:
        raise RuntimeError(
            f"offsets[-1] can not be greater than input's length {shape[0]} but got offsets[-1] of "
            f"{cuts[-1]}"
        )
    if (np.diff(cuts) < 0).any():
        raise RuntimeError(f"offsets must not decrease, but got {cuts.tolist()}")
    return np.asanyarray(cuts if include_last else np.append(cuts, shape[0]))


def _check_bags(
    input: TensorBase, weight: TensorBase, mode: str, by_frequency: bool,
    scales: TensorBase | None, padding_idx: int | None,
) -> None:  # fmt: skip
    if mode not in ("sum", "mean", "max"):
        raise ValueError("mode has to be one of sum, mean or max")
    if mode == "max" and by_frequency:
        raise ValueError("max mode does not support scaling the gradient by the frequency")
    if scales is not None:
        if scales.array.shape != input.array.shape:
            raise ValueError(
                f"embedding_bag: If per_sample_weights (torch.Size({list(scales.array.shape)})) is "
                "not None, then it must have the same shape as the input "
                f"(torch.Size({list(input.array.shape)}))"
            )
        if mode != "sum":
            raise NotImplementedError(
                "embedding_bag: per_sample_weights was not None. per_sample_weights is only "
                f"supported for mode='sum' (got mode='{mode}')."
            )
        if scales.array.dtype != weight.array.dtype:
            raise RuntimeError(
                "Expected weight to have the same type as per_sample_weights; but type "
                f"{type_name(weight.array)} does not equal {type_name(scales.array)}"
            )
    rows = len(weight.array)
    if padding_idx is not None and not -rows <= padding_idx < rows:
        raise RuntimeError(
            f"padding_idx must be within the number of embeddings, -{rows} through {rows - 1}, but "
            f"got {padding_idx}"
        )
