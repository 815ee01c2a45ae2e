"""From random words to random numbers: one function per distribution, exact arithmetic only.

Each maps an array of 64-bit words to as many float64 numbers. `draw` fills a shape with them block by
block, so that what is computed in between stays in the processor's cache.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

import numpy as np

from minitorch_dist.tensors import dtypes, portable_math
from minitorch_dist.tensors.core.base import Array
from minitorch_dist.tensors.generator import Generator
from minitorch_dist.tensors.shape_arrays.array import has_numbers

Transform: TypeAlias = Callable[[Array], Array]

BLOCK: Final = 1 << 14  # a multiple of 4: blocks join without a gap in the stream
DIGITS: Final = {d.numpy: n for d, n in ((dtypes.float64, 53), (dtypes.float32, 24),
                                         (dtypes.float16, 11), (dtypes.bfloat16, 8))}  # fmt: skip


def draw(
    shape: tuple[int, ...],
    dtype: np.dtype[Any],
    source: Generator,
    of: Transform,
    like: Array | None = None,
) -> Array:
    """An array of numbers `of(words)`, one word each, in C order. Nothing is drawn if `like` has no numbers."""
    out = np.empty(shape, dtype, like=like)
    if not has_numbers(out):
        return out
    flat = out.reshape(-1)
    for start in range(0, flat.size, BLOCK):
        part = flat[start : start + BLOCK]
        part[...] = of(source.words(part.size))
    return out


def unit(dtype: np.dtype[Any]) -> Transform:
    """Uniform on [0, 1): the multiples of 2⁻ⁿ, where n is the number of digits of `dtype`."""
    digits = DIGITS[dtype]
    shift, scale = np.uint64(64 - digits), 2.0**-digits
    return lambda words: (words >> shift).view(np.int64) * scale


def inside(words: Array) -> Array:
    """Uniform on (0, 1), without both ends: the odd multiples of 2⁻⁵³."""
    return ((words >> np.uint64(12)).view(np.int64) + 0.5) * 2.0**-52


def normal(words: Array) -> Array:
    """Standard normal."""
    return portable_math.normal_quantile(inside(words))


def exponential(words: Array) -> Array:
    """Exponential with rate 1."""
    return -portable_math.log(inside(words))


def integers(low: int, high: int) -> Transform:
    """Uniform on low … high-1. The remainder prefers no number by more than 2⁻⁶⁴ · (high - low)."""
    span = high - low

    def transform(words: Array) -> Array:
        if span < 2**64:
            words = words % np.uint64(span)
        return words.view(np.int64) + np.int64(low)  # wraps around where it has to

    return transform


def geometric(p: float) -> Transform:
    """The number of trials up to the first success."""
    scale = float(portable_math.log(np.array([1.0 - p]))[0])
    return lambda words: np.ceil(portable_math.log(inside(words)) / scale)


def keep(p: float, shape: tuple[int, ...], source: Generator, like: Array | None = None) -> Array:
    """A boolean array, each element true with probability p (to 2⁻³²). Two from each word."""
    count = int(np.prod(shape, dtype=np.int64))
    out = np.empty(-(-count // 2) * 2, np.bool_, like=like)
    if not has_numbers(out):
        pass
    elif p >= 1:
        out.fill(True)
    else:
        limit = np.uint32(round(p * 2**32)) if p < 1 - 2**-33 else np.uint32(2**32 - 1)
        for start in range(0, out.size, 2 * BLOCK):
            part = out[start : start + 2 * BLOCK]
            halves = source.words(part.size // 2).astype("<u8", copy=False).view("<u4")
            np.less(halves, limit, out=part)
    return out[:count].reshape(shape)


# ------------------------------------------------------------------------------------------ counting


def poisson(rates: Array, source: Generator) -> Array:
    """Poisson counts (float64) for an array of rates: by inversion, large rates by rejection."""
    out = np.zeros(rates.shape, like=rates)
    if not has_numbers(out):
        return out
    flat, rate = out.reshape(-1), rates.reshape(-1).astype(np.float64)
    small = np.flatnonzero((rate > 0) & (rate < 10))
    large = np.flatnonzero(rate >= 10)
    if small.size:
        flat[small] = _by_inversion(rate[small], source)
    if large.size:
        flat[large] = _by_rejection(rate[large], source)
    return out


def _by_inversion(rate: Array, source: Generator) -> Array:
    """Walk along k = 0, 1, 2 … until the probabilities add up to more than u."""
    u = inside(source.words(rate.size))
    count = np.zeros(rate.size)
    term = portable_math.exp(-rate)
    walking = np.flatnonzero(u > term)
    rest, u = rate[walking], u[walking] - term[walking]
    term = term[walking]
    k = 0
    while walking.size and k < 200:
        k += 1
        term = term * rest / k
        count[walking] = k
        more = u > term
        u, term = (u - term)[more], term[more]
        rest, walking = rest[more], walking[more]
    return count


def _log_factorial(k: Array) -> Array:
    """Stirling's series; its error at k = 10, after these terms, is 10⁻¹²."""
    n = k + 1.0
    square = 1.0 / (n * n)
    series = (1 / 12 - square * (1 / 360 - square * (1 / 1260 - square / 1680))) / n
    return (n - 0.5) * portable_math.log(n) - n + 0.9189385332046727 + series


def _by_rejection(rate: Array, source: Generator) -> Array:
    """Hörmann's PTRS (1993, doi:10.1016/0167-6687(93)90997-4): transformed rejection."""
    count = np.zeros(rate.size)
    log_rate, root = portable_math.log(rate), np.sqrt(rate)
    b = 0.931 + 2.53 * root
    a = -0.059 + 0.02483 * b
    per_alpha = 1.1239 + 1.1328 / (b - 3.4)
    v_r = 0.9277 - 3.6224 / (b - 2)
    open_ = np.arange(rate.size)
    while open_.size:
        words = source.words(2 * open_.size)
        u, v = inside(words[: open_.size]) - 0.5, inside(words[open_.size :])
        here = [x[open_] for x in (rate, log_rate, a, b, per_alpha, v_r)]
        lam, log_lam, a_, b_, per_alpha_, v_r_ = here
        us = 0.5 - np.abs(u)
        k = np.floor((2 * a_ / us + b_) * u + lam + 0.43)
        quick = (us >= 0.07) & (v <= v_r_)
        possible = (k >= 0) & ~((us < 0.013) & (v > us))
        height = (
            portable_math.log(v)
            + portable_math.log(per_alpha_)
            - portable_math.log(a_ / (us * us) + b_)
        )
        exactly = height <= k * log_lam - lam - _log_factorial(np.maximum(k, 0.0))
        taken = quick | (possible & exactly)
        count[open_[taken]] = k[taken]
        open_ = open_[~taken]
    return count
