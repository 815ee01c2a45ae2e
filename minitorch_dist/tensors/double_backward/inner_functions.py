"""Functions that gradients call, each as one step: the steps inside of them have no rules.

A gradient's function calls them by their name. `closures` puts these in their place.
"""

from __future__ import annotations

import math
from operator import methodcaller
from typing import Any

import numpy as np

from minitorch_dist.tensors.double_backward.recording_array import NotDifferentiable, RecordingArray
from minitorch_dist.tensors.double_backward.rules import add_at, made, zeros
from minitorch_dist.tensors.ops import complex_numbers
from minitorch_dist.tensors.ops.elementwise import error_function, rounding
from minitorch_dist.tensors.ops.images import columns as windows_of_images
from minitorch_dist.tensors.ops.images.sliding import Axis
from minitorch_dist.tensors.ops.linear_algebra import contraction, solving


def add_rows(places: Any, rows: Any, shape: Any, by_frequency: bool) -> Any:
    """The gradient of a table of which `rows` were read."""
    if by_frequency:
        raise NotDifferentiable("scale_grad_by_freq=True")
    whole = zeros(shape, rows.dtype)
    add_at(whole, places, rows)
    return whole


def normal_cdf(x: Any) -> Any:
    """The share of a normal distribution that lies below x."""
    if not isinstance(x, RecordingArray):
        return error_function.normal_cdf(x)
    return made(lambda t: ((t * math.sqrt(0.5)).erf() + 1) * 0.5, (x,))


def from_the_end(function: np.ufunc, x: Any, along: int) -> Any:
    """Running sums that begin at the last."""
    if function is not np.add:
        raise NotDifferentiable(f"numpy's {function.__name__}.accumulate")
    return made(lambda t: t.flip(along).cumsum(along).flip(along), (x,))


def contract(operands: Any, out: Any, sizes: Any) -> Any:
    """The sum of products of arrays whose axes have labels. The result may be repeated along one that none has."""
    there = {label for each in operands for label in each[1]}
    fresh = tuple(label for label in out if label not in there)
    if fresh:
        ones = np.ones([sizes[label] for label in fresh], operands[0][0].dtype)
        operands = [*operands, (ones, fresh)]
    labels = [each[1] for each in operands]
    return made(
        lambda *t: contraction.sum_of_products(t, labels, out), [each[0] for each in operands]
    )


def _sizes(rows: Axis, columns: Axis) -> dict[str, Any]:
    """How the windows move, as `unfold` and `fold` are told."""
    return {name: (getattr(rows, name), getattr(columns, name)) for name in ("dilation", "padding", "stride")}  # fmt: skip


def im2col(images: Any, rows: Axis, columns: Axis) -> Any:
    kernel = rows.kernel, columns.kernel
    shape = (*images.shape[:2], *kernel, rows.out, columns.out)
    return made(
        lambda t: windows_of_images.unfold(t, kernel, **_sizes(rows, columns)).reshape(shape),
        (images,),
    )


def col2im(cols: Any, rows: Axis, columns: Axis) -> Any:
    count, channels, *kernel = cols.shape[:4]
    flat = (count, channels * kernel[0] * kernel[1], rows.out * columns.out)
    whole, sizes = (rows.size, columns.size), _sizes(rows, columns)
    return made(
        lambda t: windows_of_images.fold(t.reshape(flat), whole, tuple(kernel), **sizes), (cols,)
    )


def substituted(a: Any, b: Any, upper: bool) -> Any:
    """The solution of equations whose matrix is a triangle."""
    return made(lambda a, b: solving.solve_triangular(a, b, upper=upper), (a, b))


def signs(x: Any) -> Any:
    """The direction of complex numbers; that of a real number is a step."""
    is_complex = isinstance(x, RecordingArray) and x.dtype.kind == "c"
    return made(methodcaller("sgn"), (x,)) if is_complex else rounding.signs(x)


def pairs(x: Any) -> Any:
    return made(complex_numbers.view_as_real, (x,)) if x.dtype.kind == "c" else x


def joined(x: Any, dtype: Any) -> Any:
    def together(t: Any) -> Any:
        return complex_numbers.view_as_complex(t.contiguous())

    return made(together, (x,)) if dtype.kind == "c" else x


INNER = {
    "signs": signs,
    "pairs": pairs,
    "joined": joined,
    "add_at": add_at,
    "_add_rows": add_rows,
    "normal_cdf": normal_cdf,
    "_from_the_end": from_the_end,
    "contract": contract,
    "im2col": im2col,
    "col2im": col2im,
    "_substituted": substituted,
    "_exp": lambda x: made(methodcaller("matrix_exp"), (x,)),
    "digamma_values": lambda x: made(methodcaller("digamma"), (x,)),
}
