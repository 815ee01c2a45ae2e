"""Complex numbers and their two parts, which rotary positions need: views in the same memory, and `complex`, `polar`.

A gradient of a complex tensor is torch's: its parts are the derivatives by the real and by the imaginary part. So it
is the conjugate of ∂L/∂z, and the gradient of a window on the parts is the same window on the gradient. The other
operations need no rule: their functions multiply ∂L/∂z with a derivative, and `Node.run_complex`
conjugates before and after.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from minitorch_dist.tensors.core.base import Array, T
from minitorch_dist.tensors.core.graph import record
from minitorch_dist.tensors.core.operations import compute, sum_to
from minitorch_dist.tensors.core.view_geometry import joined, pairs
from minitorch_dist.tensors.core.views import view_of

COMPLEX_OF: Final = {np.dtype(np.float32): np.complex64, np.dtype(np.float64): np.complex128}


def view_as_real(input: T) -> T:
    """The same memory as pairs of real numbers: the shape gets a last dimension of 2."""
    kind = input.array.dtype
    if kind.kind != "c":
        raise RuntimeError("view_as_real is only supported for complex tensors")
    return view_of(input, pairs(input.array), "ViewAsRealBackward0", lambda g: joined(g, kind))


def view_as_complex(input: T) -> T:
    """The same memory as complex numbers: the last dimension, of size 2, has the parts."""
    x = input.array
    fits = x.dtype in COMPLEX_OF and x.shape[-1:] == (2,)
    if fits and x.size:
        fits = x.strides[-1] == x.itemsize and not any(s % (2 * x.itemsize) for s in x.strides[:-1])
    if not fits:
        raise RuntimeError(
            f"view_as_complex takes pairs of floats side by side, not {x.dtype}{list(x.shape)} of {x.strides}"
        )
    out: Array = x.view(COMPLEX_OF[x.dtype])[..., 0]
    return view_of(input, out, "ViewAsComplexBackward0", pairs)


def polar(abs: T, angle: T) -> T:
    """abs · (cos angle + i sin angle)"""
    r, phi = abs.array, angle.array
    if r.dtype not in COMPLEX_OF or r.dtype != phi.dtype:
        raise RuntimeError(f"polar takes two tensors of float32 or of float64, but got {abs.dtype} and {angle.dtype}")

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
