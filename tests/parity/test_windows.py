"""What slides over an image equals torch's for sizes, kernels, strides, paddings and dilations that were drawn:
convolutions and their transposes, and pooling; forward and backward, on images small and large."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.parity.compare import same

pytestmark = pytest.mark.parity

CASES = 40  # of each kind and number of dimensions


class Draw:
    """The arguments of one call."""

    def __init__(self, seed: int, dims: int) -> None:
        self.random = pick = random.Random(seed)
        self.values = np.random.default_rng(seed)
        self.dtype = pick.choice(["float32", "float64"])
        self.large = pick.random() < 0.4
        self.size = self.each(dims, range(1, 35) if self.large else range(1, 9))
        self.kernel = self.each(dims, range(1, 5))
        self.stride = self.each(dims, range(1, 4))
        self.padding = self.each(dims, range(5))
        self.dilation = self.each(dims, [1, 1, 1, 2, 3])
        self.lead = [pick.choice([1, 2, 3])] if pick.random() < 0.9 else []

    def each(self, dims: int, among: Any) -> list[int]:
        """One for each dimension; half of the time the same."""
        found = [self.random.choice(among) for _ in range(dims)]
        return found[:1] * dims if self.random.random() < 0.5 else found

    def array(self, *shape: int) -> Any:
        return self.values.normal(size=shape).astype(self.dtype)

    def channels(self) -> tuple[int, int, int]:
        """Groups, and the channels in and out."""
        if self.large and self.random.random() < 0.5:  # where rows of kernels are multiplied as one
            return 1, self.random.choice([32, 48]), self.random.choice([32, 40])
        groups = self.random.choice([1, 1, 2, 3])
        return groups, groups * self.random.choice([1, 2, 8]), groups * self.random.choice([1, 3])


def convolution(d: Draw, dims: int) -> None:
    groups, inputs, outputs = d.channels()
    x, w = d.array(*d.lead, inputs, *d.size), d.array(outputs, inputs // groups, *d.kernel)
    agree(
        lambda t, x, w, b: getattr(t.nn.functional, f"conv{dims}d")(x, w, b, d.stride, d.padding, d.dilation, groups),
        d,
        x,
        w,
        d.array(outputs),
    )


def transposed(d: Draw, dims: int) -> None:
    groups, inputs, outputs = d.channels()
    x, w = d.array(*d.lead, inputs, *d.size), d.array(inputs, outputs // groups, *d.kernel)
    made = [
        (n - 1) * s - 2 * p + e * (k - 1) + 1
        for n, s, p, e, k in zip(d.size, d.stride, d.padding, d.dilation, d.kernel, strict=True)
    ]
    if min(made) < 1:
        return  # torch's libraries do not agree among themselves about empty outputs
    extra = [d.random.randrange(max(s, e)) for s, e in zip(d.stride, d.dilation, strict=True)]
    agree(
        lambda t, x, w, b: getattr(t.nn.functional, f"conv_transpose{dims}d")(
            x, w, b, d.stride, d.padding, extra, groups, d.dilation
        ),
        d,
        x,
        w,
        d.array(outputs),
    )


def largest(d: Draw, dims: int) -> None:
    x = d.array(*d.lead, 2, *d.size)
    if any((k - 1) * e - p >= n for k, e, p, n in zip(d.kernel, d.dilation, d.padding, d.size, strict=True)):
        return  # a window that sees nothing: torch names an index outside of the image
    options = (d.kernel, d.stride, d.padding, d.dilation)
    agree(lambda t, x: getattr(t.nn.functional, f"max_pool{dims}d")(x, *options), d, x)


def average(d: Draw, dims: int) -> None:
    x = d.array(*d.lead, 2, *d.size)
    options = (d.kernel, d.stride, d.padding)
    agree(lambda t, x: getattr(t.nn.functional, f"avg_pool{dims}d")(x, *options), d, x)


def adaptive(d: Draw, dims: int) -> None:
    x, out = d.array(*d.lead, 2, *d.size), d.each(dims, range(1, 9))
    agree(lambda t, x: getattr(t.nn.functional, f"adaptive_avg_pool{dims}d")(x, out), d, x)


def agree(expression: Callable[..., Any], d: Draw, *arrays: Any) -> None:
    tolerance = 3e-4 if d.dtype == "float32" else 1e-10
    same(expression, *arrays, rtol=tolerance, atol=tolerance * 30)


@pytest.mark.parametrize(
    ("kind", "dims"), [(convolution, 1), *((kind, 2) for kind in (convolution, transposed, largest, average, adaptive))]
)
def test_it_equals_torchs(kind: Callable[[Draw, int], None], dims: int) -> None:
    for seed in range(CASES):
        kind(Draw(seed, dims), dims)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("kernel", [1, 2, 3, 5])
@pytest.mark.parametrize("channels", [1, 64])
def test_strides_over_even_and_odd_sizes(channels: int, kernel: int, dtype: str) -> None:
    """A phase of a strided kernel that is one tap wide may have more inputs than outputs."""
    rng = np.random.default_rng(0)
    w = rng.normal(size=(8, channels, kernel, kernel)).astype(dtype)
    tolerance = 3e-3 if dtype == "float32" else 1e-10
    for size in (17, 18, 33, 34):
        x = rng.normal(size=(2, channels, size, size)).astype(dtype)
        for stride in (2, 3):
            for padding in (0, 1, 2):
                same(
                    lambda t, x, w, s=stride, p=padding: t.nn.functional.conv2d(x, w, None, s, p),
                    x,
                    w,
                    rtol=tolerance,
                    atol=tolerance,
                )
