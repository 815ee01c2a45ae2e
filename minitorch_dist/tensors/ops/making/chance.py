"""Shared by all random makers: where the numbers come from, and which ones a type can hold."""

from __future__ import annotations

from typing import Any

import numpy as np

from minitorch_dist.tensors import devices, distributions, dtypes
from minitorch_dist.tensors.generator import Generator, current
from minitorch_dist.tensors.limits import range_of
from minitorch_dist.tensors.ops.making.new_arrays import Device
from minitorch_dist.tensors.promotion import not_implemented


def source(generator: Generator | None, device: Device = None) -> Generator:
    """The generator to draw from; one that was named must be on the same kind of device."""
    if generator is None:
        return current()
    if not isinstance(generator, Generator):
        raise TypeError(f"argument 'generator' must be torch.Generator, not {type(generator).__name__}")
    expected = devices.resolve(device).type
    if generator.device.type != expected and expected != "meta":
        raise RuntimeError(f"Expected a '{expected}' device type for generator but found '{generator.device.type}'")
    return generator


def check_floating(dtype: np.dtype[Any], name: str) -> None:
    if dtype not in distributions.DIGITS:
        raise not_implemented(name, np.empty(0, dtype))


def check_spread(std: Any) -> None:
    if np.any(getattr(std, "array", std) < 0):
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std}")


def bounded(low: int, high: int, dtype: np.dtype[Any]) -> distributions.Transform:
    """Integers low … high-1, if there are any and `dtype` holds them."""
    if low >= high:
        raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
    kind = dtypes.FROM_NUMPY[dtype]
    least, largest = range_of(kind)
    for bound, text in ((low, "from"), (high - 1, "to - 1")):
        if not least <= bound <= largest:
            raise RuntimeError(f"{text} is out of bounds for {kind.name}: {bound}")
    return distributions.integers(low, high)
