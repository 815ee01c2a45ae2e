"""Discrete Fourier transforms, over numpy's.

    fft      y[k] = Σ_j x[j] exp(-2πi jk / n)         ifft    the other sign, and 1/n

`norm` says where the factor 1/n stands: "backward" (at the inverse), "forward" (at the transform), "ortho" (1/√n at
both). A transform is a matrix F. The gradient of x is its adjoint applied to that of y: the transform with the
other sign and the same factor. Of real input, `rfft` computes the first half of the numbers only: the
others are their conjugates. Transforms over several dimensions are transforms over one after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from minitorch_dist.tensors import dtypes
from minitorch_dist.tensors.core.base import Array, T
from minitorch_dist.tensors.core.graph import record
from minitorch_dist.tensors.core.operations import axis
from minitorch_dist.tensors.dtypes import type_name
from minitorch_dist.tensors.extras.complex_numbers import conj_physical
from minitorch_dist.tensors.ops.making import creation
from minitorch_dist.tensors.ops.shapes.rearranging import roll
from minitorch_dist.tensors.promotion import cast, floating

_OPPOSITE: Final[dict[str, Any]] = {"backward": "forward", "ortho": "ortho", "forward": "backward"}

Lengths = Sequence[int] | None
Dimensions = int | Sequence[int] | None


def _norm(given: str | None) -> Any:
    norm = "backward" if given is None else given
    if norm not in _OPPOSITE:
        raise RuntimeError(f'Invalid normalization mode: "{norm}"')
    return norm


def _length(n: int | None, own: int) -> int:
    n = own if n is None else n
    if n < 1:
        raise RuntimeError(f"Invalid number of data points ({n}) specified")
    return n


def fitted(x: Array, n: int, along: int) -> Array:
    """`x` with length n along one dimension: cut off, or continued with zeros."""
    front = (slice(None),) * along
    if x.shape[along] >= n:
        return x[(*front, slice(n))]
    out = np.zeros((*x.shape[:along], n, *x.shape[along + 1 :]), x.dtype, like=x)
    out[(*front, slice(x.shape[along]))] = x
    return out


def _wide(input: T) -> T:
    """Floats of a type that transforms have."""
    x = floating(input)
    if x.array.dtype.char not in "fdFD":
        raise RuntimeError(f"Unsupported dtype {type_name(x.array)[6:-6]}")
    return x


def _transform(
    input: T, n: int | None, dim: int, norm: str | None,
    forth: Callable[..., Any], back: Callable[..., Any],
) -> T:  # fmt: skip
    """`forth` along one dimension; `back` has the other sign."""
    where, x = _norm(norm), _wide(input)
    if not x.array.ndim:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    z = cast(x, dtypes.to_complex(x.dtype))
    along = axis(dim, z.array.ndim)
    own = z.array.shape[along]
    length = _length(n, own)
    return record(
        forth(z.array, length, along, where),
        "FftC2CBackward0",
        (z, lambda g: fitted(back(g, length, along, _OPPOSITE[where]), own, along)),
    )


def fft(input: T, n: int | None = None, dim: int = -1, norm: str | None = None) -> T:
    """The transform along one dimension, of length `n`"""
    return _transform(input, n, dim, norm, np.fft.fft, np.fft.ifft)


def ifft(input: T, n: int | None = None, dim: int = -1, norm: str | None = None) -> T:
    """The inverse of `fft`"""
    return _transform(input, n, dim, norm, np.fft.ifft, np.fft.fft)


def rfft(input: T, n: int | None = None, dim: int = -1, norm: str | None = None) -> T:
    """The first n // 2 + 1 numbers of the transform of real input"""
    if input.array.dtype.kind == "c":
        raise RuntimeError(
            f"rfft expects a real input tensor, but got {type_name(input.array)[6:-6]}"
        )
    where, x = _norm(norm), _wide(input)
    along = axis(dim, x.array.ndim)
    own = x.array.shape[along]
    length = _length(n, own)

    def back(g: Array) -> Array:
        whole = np.fft.ifft(fitted(g, length, along), length, along, _OPPOSITE[where])
        return fitted(whole.real, own, along)

    return record(np.fft.rfft(x.array, length, along, where), "FftR2CBackward0", (x, back))


def irfft(input: T, n: int | None = None, dim: int = -1, norm: str | None = None) -> T:
    """The inverse of `rfft`: n real numbers (2 (m - 1) of m numbers, if it is not said)"""
    where, x = _norm(norm), _wide(input)
    z = cast(x, dtypes.to_complex(x.dtype))
    along = axis(dim, z.array.ndim)
    own = z.array.shape[along]
    length = _length(n, 2 * (own - 1))

    def back(g: Array) -> Array:
        grad = np.fft.rfft(g, length, along, _OPPOSITE[where])
        stands_for_two = slice(1, (length + 1) // 2)  # it, and its conjugate that was left out
        grad[(slice(None),) * along + (stands_for_two,)] *= 2
        return fitted(grad, own, along)

    return record(np.fft.irfft(z.array, length, along, where), "FftC2RBackward0", (z, back))


# -------------------------------------------------------------------------------- several dimensions


def _plan(
    input: T, s: Lengths, dim: Dimensions, halved: bool = False
) -> list[tuple[int | None, int]]:
    """A length and a dimension for each transform."""
    ndim = input.array.ndim
    if dim is None:
        count = ndim if s is None else len(s)
        if count > ndim:
            raise RuntimeError(
                f"Got shape with {count} values but input tensor only has {ndim} dimensions."
            )
        dims = list(range(ndim - count, ndim))
    else:
        dims = [axis(d, ndim) for d in ([dim] if isinstance(dim, int) else dim)]
    if len(set(dims)) != len(dims):
        raise RuntimeError("FFT dims must be unique")
    if s is not None and len(s) != len(dims):
        raise RuntimeError("When given, dim and shape arguments must have the same length")
    if halved and not dims:
        raise RuntimeError("at least one dimension must be transformed")
    lengths: list[int | None] = [None if n == -1 else n for n in s] if s is not None else []
    return list(zip(lengths or [None] * len(dims), dims, strict=True))


def fftn(input: T, s: Lengths = None, dim: Dimensions = None, norm: str | None = None) -> T:
    """The transform along several dimensions, by default all"""
    out = cast(_wide(input), dtypes.to_complex(_wide(input).dtype))
    for n, d in _plan(input, s, dim):
        out = fft(out, n, d, norm)
    return out


def ifftn(input: T, s: Lengths = None, dim: Dimensions = None, norm: str | None = None) -> T:
    """The inverse of `fftn`"""
    out = cast(_wide(input), dtypes.to_complex(_wide(input).dtype))
    for n, d in _plan(input, s, dim):
        out = ifft(out, n, d, norm)
    return out


def rfftn(input: T, s: Lengths = None, dim: Dimensions = None, norm: str | None = None) -> T:
    """The transform of real input along several dimensions; the last of them is halved."""
    if input.array.dtype.kind == "c":
        kind = type_name(input.array)[6:-6]
        raise RuntimeError(f"rfftn expects a real-valued input tensor, but got {kind}")
    *others, (n, last) = _plan(input, s, dim, halved=True)
    out = rfft(input, n, last, norm)
    for n, d in others:
        out = fft(out, n, d, norm)
    return out


def irfftn(input: T, s: Lengths = None, dim: Dimensions = None, norm: str | None = None) -> T:
    """The inverse of `rfftn`"""
    *others, (n, last) = _plan(input, s, dim, halved=True)
    out = input
    for length, d in others:
        out = ifft(out, length, d, norm)
    return irfft(out, n, last, norm)


def fft2(input: T, s: Lengths = None, dim: Dimensions = (-2, -1), norm: str | None = None) -> T:
    """`fftn` over the last two dimensions"""
    return fftn(input, s, dim, norm)


def ifft2(input: T, s: Lengths = None, dim: Dimensions = (-2, -1), norm: str | None = None) -> T:
    """`ifftn` over the last two dimensions"""
    return ifftn(input, s, dim, norm)


def rfft2(input: T, s: Lengths = None, dim: Dimensions = (-2, -1), norm: str | None = None) -> T:
    """`rfftn` over the last two dimensions"""
    return rfftn(input, s, dim, norm)


def irfft2(input: T, s: Lengths = None, dim: Dimensions = (-2, -1), norm: str | None = None) -> T:
    """`irfftn` over the last two dimensions"""
    return irfftn(input, s, dim, norm)


# ------------------------------------------------------------------------- spectra that are real numbers


def hfft(input: T, n: int | None = None, dim: int = -1, norm: str | None = None) -> T:
    """The transform of a signal whose second half is the conjugate of its first: n real numbers"""
    return irfft(conj_physical(input), n, dim, _OPPOSITE[_norm(norm)])


def ihfft(input: T, n: int | None = None, dim: int = -1, norm: str | None = None) -> T:
    """The inverse of `hfft`"""
    return conj_physical(rfft(input, n, dim, _OPPOSITE[_norm(norm)]))


def hfftn(input: T, s: Lengths = None, dim: Dimensions = None, norm: str | None = None) -> T:
    """`hfft` along the last dimension, `fft` along the others"""
    return irfftn(conj_physical(input), s, dim, _OPPOSITE[_norm(norm)])


def ihfftn(input: T, s: Lengths = None, dim: Dimensions = None, norm: str | None = None) -> T:
    """The inverse of `hfftn`"""
    return conj_physical(rfftn(input, s, dim, _OPPOSITE[_norm(norm)]))


def hfft2(input: T, s: Lengths = None, dim: Dimensions = (-2, -1), norm: str | None = None) -> T:
    """`hfftn` over the last two dimensions"""
    return hfftn(input, s, dim, norm)


def ihfft2(input: T, s: Lengths = None, dim: Dimensions = (-2, -1), norm: str | None = None) -> T:
    """`ihfftn` over the last two dimensions"""
    return ihfftn(input, s, dim, norm)


# -------------------------------------------------------------------------------------- frequencies


def fftfreq(
    n: int, d: float = 1.0, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Any:
    """The frequencies that the n numbers of `fft` belong to, for samples that lie `d` apart"""
    found = np.fft.fftfreq(n, d).astype(creation.numpy_dtype(dtype))
    return creation.made(found, device, requires_grad)


def rfftfreq(
    n: int, d: float = 1.0, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Any:
    """The frequencies that the numbers of `rfft` belong to"""
    found = np.fft.rfftfreq(n, d).astype(creation.numpy_dtype(dtype))
    return creation.made(found, device, requires_grad)


def _shifted(input: T, dim: Dimensions, sign: int) -> T:
    shape = input.array.shape
    dims = list(range(len(shape))) if dim is None else [dim] if isinstance(dim, int) else list(dim)
    steps = [shape[d] // 2 if sign > 0 else -(shape[d] // 2) for d in dims]
    return roll(input, steps, dims) if dims else input


def fftshift(input: T, dim: Dimensions = None) -> T:
    """Frequency 0 in the middle"""
    return _shifted(input, dim, 1)


def ifftshift(input: T, dim: Dimensions = None) -> T:
    """The inverse of `fftshift`"""
    return _shifted(input, dim, -1)
