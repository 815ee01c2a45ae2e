"""Complex numbers: two parts, angles and conjugates. `real`, `imag` and the `view_as_…` share memory.

A gradient of a complex tensor is torch's: its parts are the derivatives by the real and by the imaginary part. So it
is the conjugate of ∂L/∂z, and the gradient of a window on the parts is the same window on the gradient. The other
operations need no rule: their functions multiply ∂L/∂z with a derivative, and `Node.run_complex`
conjugates before and after. This holds here for the functions that read values (`polar`, `sgn`), too.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from minitorch_dist.tensors import dtypes
from minitorch_dist.tensors.core.base import Array, T
from minitorch_dist.tensors.core.graph import record
from minitorch_dist.tensors.core.operations import compute, sum_to
from minitorch_dist.tensors.core.view_geometry import joined, pairs
from minitorch_dist.tensors.core.views import view_of
from minitorch_dist.tensors.core.without_warnings import without_warnings
from minitorch_dist.tensors.dtypes import type_name
from minitorch_dist.tensors.promotion import floating

COMPLEX_OF: Final = {np.dtype(np.float32): np.complex64, np.dtype(np.float64): np.complex128}


def is_complex(x: Array) -> bool:
    return bool(x.dtype.kind == "c")


# ------------------------------------------------------------------------------------- views of parts


def real(input: T) -> T:
    """The real parts, in the same memory; of a real tensor, the tensor itself."""
    if not is_complex(input.array):
        return input
    return view_of(input, input.array.real, "SelectBackward0", _with_zeros)


def _with_zeros(grad: Array) -> Array:
    return grad + np.zeros((), COMPLEX_OF[grad.dtype])


def imag(input: T) -> T:
    """The imaginary parts, in the same memory."""
    if not is_complex(input.array):
        raise RuntimeError("imag is not implemented for tensors with non-complex dtypes.")
    return view_of(input, input.array.imag, "SelectBackward0", lambda g: _with_zeros(g) * 1j)


def view_as_real(input: T) -> T:
    """The same memory as pairs of real numbers: the shape gets a last dimension of 2."""
    if not is_complex(input.array):
        raise RuntimeError("view_as_real is only supported for complex tensors")
    kind = input.array.dtype
    return view_of(input, pairs(input.array), "ViewAsRealBackward0", lambda g: joined(g, kind))


def view_as_complex(input: T) -> T:
    """The same memory as complex numbers: the last dimension, of size 2, has the parts."""
    x = input.array
    if x.dtype not in COMPLEX_OF:
        if x.dtype == np.float16:
            raise NotImplementedError("complex32 is not offered: use float(), and complex64")
        raise RuntimeError(
            "view_as_complex is only supported for half, float and double tensors, but got a "
            f"tensor of scalar type: {type_name(x)[6:-6]}"
        )
    if not x.ndim:
        raise RuntimeError("Input tensor must have one or more dimensions")
    if x.shape[-1] != 2:
        raise RuntimeError("Tensor must have a last dimension of size 2")
    if x.size and x.strides[-1] != x.itemsize:
        raise RuntimeError("Tensor must have a last dimension with stride 1")
    if x.size and any(s % (2 * x.itemsize) for s in x.strides[:-1]):
        raise RuntimeError("Tensor must have a stride divisible by 2 for all but last dimension")
    out: Array = x.view(COMPLEX_OF[x.dtype])[..., 0]
    return view_of(input, out, "ViewAsComplexBackward0", pairs)


# ---------------------------------------------------------------------------------- two real tensors


def _two_parts(name: str, first: T, second: T) -> None:
    kinds = [type_name(t.array)[6:-6] for t in (first, second)]
    if any(t.array.dtype.kind in "iubc" or t.dtype is dtypes.bfloat16 for t in (first, second)):
        raise RuntimeError(
            f"Expected both inputs to be Half, Float or Double tensors but got {' and '.join(kinds)}"
        )
    if kinds[0] != kinds[1]:
        raise RuntimeError(
            f"Expected object of scalar type {kinds[0]} but got scalar type {kinds[1]} for second "
            "argument"
        )
    if first.array.dtype not in COMPLEX_OF:
        raise NotImplementedError(f"{name}: complex32 is not offered: use float(), and complex64")


def complex(real: T, imag: T) -> T:
    """real + i imag"""
    _two_parts("complex", real, imag)
    x, y = real.array, imag.array

    def together(x: Array, y: Array) -> Array:
        out: Array = np.empty(np.broadcast_shapes(x.shape, y.shape), COMPLEX_OF[x.dtype], like=x)
        out.real[...], out.imag[...] = x, y
        return out

    a, b = x.shape, y.shape
    return record(
        compute(together, x, y),
        "ComplexBackward0",
        (real, lambda g: sum_to(g.real, a)),
        (imag, lambda g: sum_to(g.imag, b)),
    )


def polar(abs: T, angle: T) -> T:
    """abs · (cos angle + i sin angle)"""
    _two_parts("polar", abs, angle)
    r, phi = abs.array, angle.array

    def turned(r: Array, phi: Array) -> Array:
        out: Array = np.empty(np.broadcast_shapes(r.shape, phi.shape), COMPLEX_OF[r.dtype], like=r)
        np.multiply(r, np.cos(phi), out.real)
        np.multiply(r, np.sin(phi), out.imag)
        return out

    out = compute(turned, r, phi)
    return record(
        out,
        "PolarBackward0",
        (abs, lambda g: sum_to((g * turned(np.ones_like(phi), phi)).real, r.shape), abs, angle),
        (angle, lambda g: sum_to(-(g * out).imag, phi.shape), abs, angle),
        reads_result=True,
    )


# --------------------------------------------------------------------------- conjugates, angles, signs


def conj(input: T) -> T:
    """The complex conjugate, computed at once; of a real tensor, the tensor itself."""
    if not is_complex(input.array):
        return input
    return record(input.array.conj(), "ConjBackward0", (input, lambda g: g.conj()))


def angle(input: T) -> T:
    """The angle of each number as a point of the plane; of real numbers 0 or π"""
    x = floating(input)
    z = x.array
    if not is_complex(z):
        half_turn = np.where(z < 0, z.dtype.type(np.pi), z.dtype.type(0))
        out = np.where(np.isnan(z), z, half_turn)
        return record(out, "AngleBackward0", (x, np.zeros_like))

    def slope(g: Array) -> Any:
        square = z.real * z.real + z.imag * z.imag
        return np.where(square == 0, 0, z * 1j * (g / square)).astype(z.dtype)

    return record(np.angle(z), "AngleBackward0", (x, slope, x))


def directions(z: Array) -> Any:
    """z / |z|, and 0 for 0"""
    size = np.abs(z)
    return np.where(size == 0, z.dtype.type(0), z / size)


def sgn_of_complex(input: T) -> T:
    """The number of magnitude 1 with the same angle"""
    z = input.array
    out = without_warnings(directions, z)

    def slope(g: Array) -> Any:
        each = (g - (g * out).real * out.conj()) / np.abs(z)
        return np.where(z == 0, z.dtype.type(0), each)

    return record(out, "SgnBackward0", (input, slope, input), reads_result=True)
