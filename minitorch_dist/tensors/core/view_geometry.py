"""Where a view lies in its base, as plain numpy: the geometry behind gradients of in-place writes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

Array = np.ndarray[Any, Any]


class Window:
    """The region of `base` that `view` looks at, applied to gradients of the base's shape."""

    def __init__(self, base: Array, view: Array) -> None:
        self.dtype, self.itemsize = base.dtype, base.itemsize
        self.shape, self.strides = base.shape, base.strides
        self.view_shape, self.view_strides = view.shape, view.strides
        self.offset = (address(view) - address(base)) // base.itemsize

    def _frame(self, grad: Array, copied: bool) -> tuple[Array, Array, Array]:
        """A copy of `grad` (or zeros like it) with the base's strides, its memory, and the window."""
        reach = [s // self.itemsize * (n - 1) for n, s in zip(self.shape, self.strides, strict=True)]
        start = -sum(min(0, r) for r in reach)
        memory = np.zeros(start + sum(max(0, r) for r in reach) + 1, self.dtype, like=grad)
        whole = as_strided(memory[start:], self.shape, self.strides, subok=True)
        if copied:
            whole[...] = grad
        seen = memory[start + self.offset :]
        return whole, seen, as_strided(seen, self.view_shape, self.view_strides, subok=True)

    def widen(self, grad: Array) -> Array:
        """The base's gradient if only this region was used: zeros around `grad`."""
        whole, seen, part = self._frame(grad, False)
        for axis, stride in enumerate(self.view_strides):
            if stride == 0 and grad.shape[axis] > 1:  # an expanded axis: one place, seen often
                grad = grad.sum(axis, keepdims=True)
                part = part[(slice(None),) * axis + (slice(1),)]
        if overlaps(part.shape, part.strides):  # the windows of `unfold`
            numbers = np.arange(len(seen), dtype=np.intp, like=grad)
            steps = [s // self.itemsize * numbers.itemsize for s in part.strides]
            np.add.at(seen, as_strided(numbers, part.shape, steps, subok=True), grad)
        else:
            part[...] = grad
        return whole

    def cut(self, grad: Array) -> Array:
        """The region's part of the base's gradient."""
        return self._frame(grad, True)[2].copy()

    def blank(self, grad: Array) -> Array:
        """The base's gradient without the region, which was overwritten."""
        whole, _, part = self._frame(grad, True)
        part[...] = 0
        return whole


def window_of(base: Array, view: Array) -> Window:
    """The window that a view is, which shows elements of the base."""
    if base.dtype != view.dtype:
        raise NotImplementedError(f"{base.dtype} is seen as {view.dtype} here: write to a clone() of it")
    return Window(base, view)


def pairs(x: Array) -> Array:
    """The same memory with a last axis for the two parts, if `x` is complex; else `x` itself."""
    if x.dtype.kind != "c":
        return x
    return as_strided(x.real, (*x.shape, 2), (*x.strides, x.itemsize // 2), subok=True)


def joined(x: Array, dtype: np.dtype[Any]) -> Array:
    """The opposite of `pairs`, if `dtype` is complex; it copies where the pairs do not lie together."""
    return np.ascontiguousarray(x, like=x).view(dtype)[..., 0] if dtype.kind == "c" else x


def overlaps(shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    """Whether two elements can lie at one place (some dimension steps less far than the others reach)."""
    reach = 0
    for stride, side in sorted(zip(strides, shape, strict=True)):
        if side > 1:
            if stride <= reach:
                return True
            reach += stride * (side - 1)
    return False


def address(array: Array) -> int:
    """Where its first element lies."""
    return int(array.__array_interface__["data"][0])


def dense(x: Array) -> Array:
    """A copy with the strides of `x`, if its elements lie densely; else row by row."""
    if 0 in x.strides and x.size > 1:  # expanded: numpy would keep an odd order
        return x.copy(order="C")
    return x.copy(order="K")
