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
DIGITS: Final = {
    d.numpy: n for d, n in ((dtypes.float64, 53), (dtypes.float32, 24), (dtypes.float16, 11), (dtypes.bfloat16, 8))
}


def draw(
    shape: tuple[int, ...], dtype: np.dtype[Any], source: Generator, of: Transform, like: Array | None = None
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
