"""A matrix of which only some numbers are stored: their rows, their columns and they themselves.

    x = SparseArray((3, 3), rows=[0, 2], columns=[1, 0], values=[5.0, 6.0])
    x.dot(dense)             what the whole matrix would give, in as many steps as numbers are stored

It is an array for numpy, so a tensor may hold it. numpy asks it before it computes. It answers products with dense
matrices, products with numbers and sums of two of its kind. Anything else is an error that says what to do.
Its memory holds one nan for all places, which nobody should see.
"""

from __future__ import annotations

import functools
from typing import Any, NoReturn

import numpy as np
from numpy.lib.stride_tricks import as_strided

Array = np.ndarray[Any, Any]


def refused(what: str) -> NotImplementedError:
    return NotImplementedError(
        f"{what} is not offered for sparse tensors. Products with dense matrices (`@`, mm, sparse.mm), products with "
        "numbers, sums of sparse tensors, sparse.sum and sparse.softmax are. For anything else: tensor.to_dense()."
    )


class SparseArray(np.ndarray[Any, Any]):
    """Rows, columns and values; a place that is named twice has the sum of both."""

    rows: Array
    columns: Array
    values: Array
    is_ordered = False  # known to be row by row, each place once

    def __new__(cls, shape: tuple[int, int], rows: Any, columns: Any, values: Any) -> SparseArray:
        kind = values.dtype
        marked = np.dtype(kind.str, metadata={"sparse": True})  # equal to `kind`, and not the same
        nothing = np.full(1, np.nan if kind.kind in "fc" else 0, kind)
        out = np.ndarray.view(as_strided(nothing, shape, (0, 0)).view(marked), cls)
        out.rows, out.columns, out.values = rows, columns, values
        return out

    def __array_finalize__(self, source: Any) -> None:
        if isinstance(source, SparseArray):  # numpy cuts a window of its own
            raise refused("this operation")

    def __reduce_ex__(self, _: Any) -> Any:
        return SparseArray, (self.shape, self.rows, self.columns, self.values)

    def __deepcopy__(self, _: Any) -> Any:
        return self.copy()

    def like(self, values: Array) -> SparseArray:
        """Other numbers at the same places."""
        out = SparseArray(self.shape, self.rows, self.columns, values)
        out.is_ordered = self.is_ordered
        return out

    @functools.cached_property
    def ordered(self) -> tuple[Array, Array, Array, Array]:
        """Row by row, each place once: which rows have numbers, where each begins, columns, and values."""
        place = self.rows * self.shape[1] + self.columns
        distinct, number = np.unique(place, return_inverse=True)
        values = np.zeros(len(distinct), self.values.dtype)
        np.add.at(values, number, self.values)
        rows, columns = np.divmod(distinct, max(self.shape[1], 1))
        filled, starts = np.unique(rows, return_index=True)
        return filled, starts, columns, values

    def coalesced(self) -> SparseArray:
        filled, starts, columns, values = self.ordered
        counts = np.diff(np.append(starts, len(values)))
        out = SparseArray(self.shape, np.repeat(filled, counts), columns, values)
        out.is_ordered = True
        return out

    def dense(self) -> Array:
        whole = np.zeros(self.shape, self.values.dtype)
        np.add.at(whole, (self.rows, self.columns), self.values)
        return whole

    # ------------------------------------------------------------------------------- arithmetic

    def dot(self, other: Any, out: Any = None) -> Any:
        """This matrix times a dense one: each row adds up the rows of `other` that its columns name."""
        if isinstance(other, SparseArray):
            raise refused("the product of two sparse matrices")
        filled, starts, columns, values = self.ordered
        result = np.zeros((self.shape[0], other.shape[1]), np.result_type(values, other))
        if len(values):
            result[filled] = np.add.reduceat(values[:, None] * other[columns], starts, axis=0)
        return result

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        if method == "__call__" and not options:
            if ufunc is np.matmul and inputs[0] is self and inputs[1].ndim == 2:
                return self.dot(inputs[1])
            if ufunc in (np.multiply, np.divide) and inputs[0] is self and np.ndim(inputs[1]) == 0:
                return self.like(ufunc(self.values, inputs[1]))
            if ufunc is np.multiply and inputs[1] is self and np.ndim(inputs[0]) == 0:
                return self.like(inputs[0] * self.values)
            if ufunc is np.negative:
                return self.like(-self.values)
            if ufunc in (np.add, np.subtract) and all(isinstance(x, SparseArray) for x in inputs):
                return _both(inputs[0], inputs[1] if ufunc is np.add else -inputs[1])
        raise refused(f"numpy's {ufunc.__name__}")

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        raise refused(f"numpy's {func.__name__}")

    # ------------------------------------------------------------------------------- its layout

    @property
    def T(self) -> SparseArray:
        return SparseArray(self.shape[::-1], self.columns, self.rows, self.values)

    def transpose(self, *axes: Any) -> Any:
        order = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes
        return self if tuple(order or ()) == (0, 1) else self.T

    def swapaxes(self, axis1: Any, axis2: Any) -> Any:
        return self if axis1 % 2 == axis2 % 2 else self.T

    def reshape(self, *shape: Any, **_: Any) -> Any:
        sides = shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape
        if tuple(sides) != self.shape:
            raise refused("reshape")
        return self

    def astype(self, dtype: Any, *_: Any, **__: Any) -> Any:
        return self.like(self.values.astype(dtype))

    def copy(self, *_: Any, **__: Any) -> Any:
        return self.like(self.values.copy())

    def __getitem__(self, key: Any) -> NoReturn:
        raise refused("indexing")

    def __setitem__(self, key: Any, value: Any) -> NoReturn:
        raise refused("writing")

    def _no(self, *_: Any, **__: Any) -> NoReturn:
        raise refused("this operation")

    take = item = tolist = tobytes = fill = argsort = sort = repeat = ravel = flatten = _no
    argmax = argmin = diagonal = nonzero = searchsorted = squeeze = view = _no


def _both(x: SparseArray, y: SparseArray) -> SparseArray:
    if x.shape != y.shape:
        raise RuntimeError(f"sparse tensors of shapes {x.shape} and {y.shape} cannot be added")
    parts = ((x.rows, y.rows), (x.columns, y.columns), (x.values, y.values))
    return SparseArray(x.shape, *(np.concatenate(each) for each in parts)).coalesced()
