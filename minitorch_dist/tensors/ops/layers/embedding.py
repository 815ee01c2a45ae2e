"""Embedding: rows of a table, picked by number; bags of them, summed or averaged; and one-hot rows.

The gradient of a row is the sum over all places where it was picked.
"""

from __future__ import annotations

import math

import numpy as np

from minitorch_dist.tensors.core.base import Array, T, TensorBase
from minitorch_dist.tensors.core.graph import record, result, same_device
from minitorch_dist.tensors.ops.accumulation import sum_groups
from minitorch_dist.tensors.shape_arrays.array import has_numbers


def embedding(input: TensorBase, weight: T, padding_idx: int | None = None) -> T:
    """The rows of `weight` that the integers in `input` name. The row `padding_idx` gets no gradient."""
    _check("embedding", input, weight)
    same_device(weight, input)
    table, index, rows = weight.array, input.array, len(weight.array)
    if padding_idx is not None:
        assert -rows <= padding_idx < rows, "Padding_idx must be within num_embeddings"
        padding_idx %= rows
    shape = table.shape

    def vjp(g: Array) -> Array:
        flat, g = index.reshape(index.size), g.reshape(index.size, shape[1])
        if padding_idx is not None and has_numbers(index):
            kept = flat != padding_idx
            flat, g = flat[kept], g[kept]
        return _of_rows(flat, g, shape)

    out = table[index] if index.ndim else table[index[None]][0]
    return record(out, "EmbeddingBackward0", (weight, vjp, input))


def embedding_bag(input: TensorBase, weight: T, offsets: TensorBase | None = None, *, mode: str = "mean") -> T:
    """One row per bag: the sum or mean of the rows of `weight` that it names.

    A row of a 2-d `input` is a bag; a 1-d input is cut where `offsets` says. Empty bags give zeros.
    """
    _check("embedding_bag", input, weight)
    same_device(weight, input, offsets)
    if mode not in ("sum", "mean"):
        raise ValueError(f"mode has to be sum or mean, not {mode}")
    table, index = weight.array, input.array.reshape(input.array.size)
    counts = _counts(input, offsets)
    shape = table.shape
    if not has_numbers(index):  # then neither has the result
        empty = np.zeros((len(counts), shape[1]), table.dtype, like=index)
        return record(empty, "EmbeddingBagBackward0", (weight, lambda g: np.zeros(shape, g.dtype, like=g)))
    bag = np.repeat(np.arange(len(counts)), counts)  # of each entry, the bag it is in
    share = np.ones(len(counts), table.dtype)
    if mode == "mean":
        share = (1 / np.maximum(counts, 1)).astype(table.dtype)
    out = _of_rows(bag, table[index] * share[bag, None], (len(counts), shape[1]))

    def vjp(g: Array) -> Array:
        return _of_rows(index, g[bag] * share[bag, None], shape)

    return record(out, "EmbeddingBagBackward0", (weight, vjp, input))


def _of_rows(index: Array, gradients: Array, shape: tuple[int, ...]) -> Array:
    """A table of this shape, whose row i is the sum of the gradients of all places where the index is i."""
    whole = np.zeros(shape, gradients.dtype, like=gradients)
    if has_numbers(whole):
        rows, sums = sum_groups(index, gradients)
        whole[rows] = sums
    return whole


def _check(name: str, input: TensorBase, weight: TensorBase) -> None:
    if not isinstance(input, TensorBase):
        raise TypeError(f"{name}(): argument 'indices' must be Tensor, not {type(input).__name__}")
    index, table = input.array, weight.array
    if index.dtype not in (np.int64, np.int32) or table.ndim != 2:
        raise RuntimeError(f"{name} takes int64 or int32 and a matrix, but got {index.dtype} and {list(table.shape)}")
    if index.size and has_numbers(index) and (index.min() < 0 or index.max() >= len(table)):
        raise IndexError(f"index out of range in self: {index.min()} … {index.max()} for {len(table)} rows")


def _counts(input: TensorBase, offsets: TensorBase | None) -> Array:
    """How many entries each bag has."""
    shape = input.array.shape
    if len(shape) == 2 and offsets is None:
        return np.full(shape[0], shape[1])
    if len(shape) != 1 or offsets is None or offsets.array.ndim != 1:
        raise ValueError(f"embedding_bag takes a matrix, or a vector with a vector of offsets, but got {list(shape)}")
    if not has_numbers(offsets.array):
        return offsets.array
    counts: Array = np.diff(offsets.array, append=shape[0])
    if (offsets.array[:1] != 0).any() or (counts < 0).any():
        raise RuntimeError(f"offsets go up from 0 to {shape[0]} at most, but they are {offsets.array.tolist()}")
    return counts


def one_hot(tensor: T, num_classes: int = -1) -> T:
    """For each class number a row of zeros with a one in that place."""
    x = tensor.array
    if x.dtype != np.int64:
        raise RuntimeError(f"one_hot is only applicable to index tensor of type LongTensor, not {tensor.dtype}.")
    if num_classes <= 0 and not x.size:
        raise RuntimeError("Can not infer total number of classes from empty tensor.")
    if not x.size or (not has_numbers(x) and num_classes > 0):
        return result(tensor, np.zeros((*x.shape, num_classes), np.int64, like=x))
    count = int(x.max()) + 1 if num_classes == -1 else num_classes
    if x.min() < 0 or x.max() >= count:
        raise RuntimeError(f"Class values must be from 0 to {count - 1}, but are from {x.min()} to {x.max()}")
    out = np.zeros((math.prod(x.shape), count), np.int64)
    out[np.arange(len(out)), x.reshape(-1)] = 1
    return result(tensor, out.reshape(*x.shape, count))
