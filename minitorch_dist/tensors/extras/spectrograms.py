"""Fourier transforms of pieces of a signal, their inverse, and the windows that fade a piece in and out.

stft    frames, each times the window ─► fft of each
istft   ifft of each, times the window ─► added where they overlap, divided by the sum of squared windows
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from minitorch_dist.tensors.core.graph import result
from minitorch_dist.tensors.extras.linear_algebra.fourier import fft, ifft, irfft, rfft
from minitorch_dist.tensors.ops.complex_numbers import view_as_real
from minitorch_dist.tensors.ops.images.padding import pad
from minitorch_dist.tensors.ops.making import creation
from minitorch_dist.tensors.shape_arrays.array import has_numbers


def _window(window: Any, like: Any, length: int, n_fft: int, name: str) -> Any:
    """The window in the middle of n_fft numbers; ones if there is none."""
    if not 0 < length <= n_fft:
        raise RuntimeError(f"{name}: expected 0 < win_length <= n_fft, but got win_length={length}")
    if window is None:
        kind = like.array.real.dtype
        window = result(like, np.ones(length, kind, like=like.array))
    elif window.array.shape != (length,):
        raise RuntimeError(
            f"{name}: expected a 1D window tensor of size equal to win_length={length}, but got window with "
            f"size {list(window.array.shape)}"
        )
    left = (n_fft - length) // 2
    return pad(window, (left, n_fft - length - left)) if length < n_fft else window


def stft(
    input: Any, n_fft: int, hop_length: int | None = None, win_length: int | None = None,
    window: Any = None, center: bool = True, pad_mode: str = "reflect", normalized: bool = False,
    onesided: bool | None = None, return_complex: bool | None = None,
    align_to_window: bool | None = None,
) -> Any:  # fmt: skip
    """The transforms of frames of a signal (L) or of signals (B, L): (B, frequencies, frames)."""
    if align_to_window is not None:
        if center:
            raise RuntimeError("stft only supports align_to_window for center = False.")
        raise NotImplementedError("stft: align_to_window is not offered; pad the signal with zeros")
    hop = n_fft // 4 if hop_length is None else hop_length
    is_complex = input.array.dtype.kind == "c" or (window is not None and window.array.dtype.kind == "c")  # fmt: skip
    if return_complex is None and not is_complex:
        raise RuntimeError("stft requires the return_complex parameter be given for real inputs, and will further require that return_complex=True in a future PyTorch release.")  # fmt: skip
    if input.array.ndim not in (1, 2):
        raise RuntimeError(f"stft: expected a 1D or 2D tensor, but got {list(input.array.shape)}")
    faded = _window(window, input, n_fft if win_length is None else win_length, n_fft, "stft")
    if onesided is None:
        onesided = not is_complex
    if onesided and is_complex:
        raise RuntimeError("Cannot have onesided output if window or input is complex")
    x = input
    if center:
        x = pad(x[None], (n_fft // 2, n_fft // 2), pad_mode)[0]
    if hop <= 0 or not 0 < n_fft <= x.array.shape[-1]:
        raise RuntimeError(
            f"stft: expected hop_length > 0 and 0 < n_fft < {x.array.shape[-1]}, but got hop_length={hop}, "
            f"n_fft={n_fft}"
        )
    frames, norm = x.unfold(-1, n_fft, hop) * faded, "ortho" if normalized else "backward"
    found: Any = (rfft if onesided else fft)(frames, n_fft, -1, norm)
    found = found.transpose(-1, -2)
    return view_as_real(found) if return_complex is False else found


def istft(
    input: Any, n_fft: int, hop_length: int | None = None, win_length: int | None = None,
    window: Any = None, center: bool = True, normalized: bool = False, onesided: bool | None = None,
    length: int | None = None, return_complex: bool = False,
) -> Any:  # fmt: skip
    """The signals whose `stft` this is, of (frequencies, frames) or (B, frequencies, frames)."""
    if input.array.dtype.kind != "c":
        raise RuntimeError(
            "istft requires a complex-valued input tensor matching the output from stft with "
            "return_complex=True."
        )
    hop = n_fft // 4 if hop_length is None else hop_length
    own, frames = input.array.shape[-2:]
    is_half = own != n_fft if onesided is None else onesided
    if own != (n_fft // 2 + 1 if is_half else n_fft):
        raise RuntimeError(
            f"istft: expected the frequency dimension (3rd to the last) of the input tensor to match n_fft / 2 + 1 "
            f"when onesided=True, but got {own}"
        )
    faded = _window(window, input, n_fft if win_length is None else win_length, n_fft, "istft")
    if return_complex and is_half:
        raise RuntimeError("cannot have onesided output if window or input is complex")
    z, norm = input.transpose(-1, -2), "ortho" if normalized else "backward"
    pieces: Any = (
        ifft(z, None, -1, norm)
        if return_complex
        else irfft(z[..., : n_fft // 2 + 1], n_fft, -1, norm)
    )
    pieces, whole = pieces * faded, n_fft + hop * (frames - 1)
    places = result(
        input, (np.arange(frames, like=input.array)[:, None] * hop + np.arange(n_fft)).reshape(-1)
    )
    total = pieces.new_zeros((*pieces.shape[:-2], whole)).index_add(-1, places, pieces.flatten(-2))
    weight = faded.new_zeros(whole).index_add(0, places, (faded * faded).repeat(frames))
    first = n_fft // 2 if center else 0
    last = first + length if length is not None else whole - (n_fft // 2 if center else 0)
    total, weight = total[..., first:last], weight[first:last]
    if has_numbers(weight.array) and abs(weight.array).min(initial=np.inf) < 1e-11:
        raise RuntimeError("window overlap add min: 1 [ CPUBoolType{} ]: expected a window that leaves no gaps between frames")  # fmt: skip
    out = total / weight
    if last > whole:
        warnings.warn("The length of signal is shorter than the length parameter. Result is being padded with zeros in the tail. Please check your center and hop_length settings.", stacklevel=2)  # fmt: skip
        out = pad(out, (0, last - whole))
    return out


# ------------------------------------------------------------------------------------------- windows


def _made(length: int, periodic: bool, shape: Any, options: dict[str, Any]) -> Any:
    """A window with `shape(t)`, where t runs from 0 to 1; a periodic one leaves the last place out."""
    if length < 0:
        raise RuntimeError(f"window_length must be non-negative, got {length}")
    count = length + 1 if periodic else length
    t = np.arange(length) / max(count - 1, 1)
    found = np.ones(length) if length == 1 else shape(t)
    kind = creation.numpy_dtype(options.pop("dtype", None))
    options.pop("layout", None)
    return creation.made(found.astype(kind), options.pop("device", None), **options)


def hann_window(window_length: int, periodic: bool = True, **options: Any) -> Any:
    """One wave of a cosine, from 0 to 1 and back. All windows take dtype, device and requires_grad."""
    return hamming_window(window_length, periodic, 0.5, 0.5, **options)


def hamming_window(
    window_length: int, periodic: bool = True, alpha: float = 0.54, beta: float = 0.46, **options: Any
) -> Any:  # fmt: skip
    """alpha - beta cos 2πt"""
    return _made(window_length, periodic, lambda t: alpha - beta * np.cos(2 * np.pi * t), options)


def bartlett_window(window_length: int, periodic: bool = True, **options: Any) -> Any:
    """A triangle"""
    return _made(window_length, periodic, lambda t: 1 - abs(2 * t - 1), options)


def blackman_window(window_length: int, periodic: bool = True, **options: Any) -> Any:
    """0.42 - 0.5 cos 2πt + 0.08 cos 4πt"""
    return _made(
        window_length, periodic, lambda t: 0.42 - 0.5 * np.cos(2 * np.pi * t) + 0.08 * np.cos(4 * np.pi * t), options
    )  # fmt: skip


def kaiser_window(
    window_length: int, periodic: bool = True, beta: float = 12.0, **options: Any
) -> Any:
    """I₀(β √(1 - (2t - 1)²)) / I₀(β)"""
    return _made(
        window_length, periodic, lambda t: np.i0(beta * np.sqrt(np.maximum(1 - (2 * t - 1) ** 2, 0))) / np.i0(beta), options
    )  # fmt: skip
