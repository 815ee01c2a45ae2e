"""Random tensors: uniform, normal, integers and permutations."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from minitorch_dist.tensors import devices, distributions, dtypes
from minitorch_dist.tensors.autograd.joint import record_joint
from minitorch_dist.tensors.core.base import Array, TensorBase
from minitorch_dist.tensors.core.view_geometry import joined
from minitorch_dist.tensors.dtypes import type_name
from minitorch_dist.tensors.generator import Generator, current
from minitorch_dist.tensors.limits import finfo
from minitorch_dist.tensors.ops.making.creation import (
    Device,
    Dtype,
    empty,
    like,
    made,
    numpy_dtype,
    sizes,
    zeros_like,
)
from minitorch_dist.tensors.ops.making.literals import as_dtype


def source(generator: Generator | None, device: Device = None) -> Generator:
    """The generator to draw from; one that was named must be on the same kind of device."""
    if generator is None:
        return current()
    if not isinstance(generator, Generator):
        raise TypeError(
            f"argument 'generator' must be torch.Generator, not {type(generator).__name__}"
        )
    expected = devices.resolve(device).type
    if generator.device.type != expected and expected != "meta":
        raise RuntimeError(
            f"Expected a '{expected}' device type for generator but found '{generator.device.type}'"
        )
    return generator


def check_floating(array_dtype: np.dtype[Any], name: str) -> None:
    if array_dtype not in distributions.DIGITS:
        kind = type_name(np.empty(0, array_dtype))[6:-6]
        raise NotImplementedError(f"\"{name}\" not implemented for '{kind}'")


def _draw_parts(
    shape: tuple[int, ...], kind: np.dtype[Any], generator: Generator, name: str, like: Array | None
) -> Array:
    """Complex numbers: both parts uniform; or normal, and together of variance 1."""
    parts = np.dtype(np.float32 if kind == np.complex64 else np.float64)
    if kind.kind != "c":
        check_floating(kind, name)
    if like is not None:
        return np.empty(shape, kind, like=like)
    if name == "normal_kernel_cpu":
        drawn = distributions.draw((*shape, 2), parts, generator, distributions.normal)
        drawn *= parts.type(math.sqrt(0.5))
    else:
        drawn = distributions.draw((*shape, 2), parts, generator, distributions.unit(parts))
    return joined(drawn, kind)


def _size(name: str, args: tuple[Any, ...], size: Any) -> tuple[int, ...]:
    if size is not None:
        args = (size,)
    elif not args:
        raise TypeError(f"{name}() received no size: pass ints, or one sequence of ints")
    return sizes(name, args)


# ------------------------------------------------------------------------------- uniform and normal


def rand(
    *args: Any,
    size: Any = None,
    generator: Generator | None = None,
    dtype: Dtype = None,
    device: Device = None,
    requires_grad: bool = False,
) -> Any:
    """Uniform on [0, 1)."""
    kind = numpy_dtype(dtype)
    shape = _size("rand", args, size)
    if kind not in distributions.DIGITS:
        array = _draw_parts(
            shape, kind, source(generator, device), "check_uniform_bounds", like(device)
        )
    else:
        array = distributions.draw(
            shape, kind, source(generator, device), distributions.unit(kind), like(device)
        )
    return made(array, device, requires_grad)


def randn(
    *args: Any,
    size: Any = None,
    generator: Generator | None = None,
    dtype: Dtype = None,
    device: Device = None,
    requires_grad: bool = False,
) -> Any:
    """Standard normal."""
    kind = numpy_dtype(dtype)
    shape = _size("randn", args, size)
    if kind not in distributions.DIGITS:
        array = _draw_parts(
            shape, kind, source(generator, device), "normal_kernel_cpu", like(device)
        )
    else:
        array = distributions.draw(
            shape, kind, source(generator, device), distributions.normal, like(device)
        )
    return made(array, device, requires_grad)


def _drawn_beside(
    input: Any, name: str, numbers: tuple[Any, ...], dtype: Dtype, requires_grad: bool
) -> Any:
    """A part of what `name` draws for the whole tensor; `input` is such a part, and says which."""
    blank = zeros_like(input, dtype=dtype)
    return getattr(blank, name)(*numbers).requires_grad_(requires_grad)


def rand_like(
    input: TensorBase,
    *,
    generator: Generator | None = None,
    dtype: Dtype = None,
    device: Device = None,
    requires_grad: bool = False,
    memory_format: Any = None,
) -> Any:
    """Uniform on [0, 1), of the shape, dtype and device of `input`."""
    if input.is_part:
        return _drawn_beside(input, "uniform_", (), dtype, requires_grad)
    return rand(
        input.array.shape,
        generator=generator,
        dtype=input.dtype if dtype is None else dtype,
        device=input.storage.device if device is None else device,
        requires_grad=requires_grad,
    )


def randn_like(
    input: TensorBase,
    *,
    generator: Generator | None = None,
    dtype: Dtype = None,
    device: Device = None,
    requires_grad: bool = False,
    memory_format: Any = None,
) -> Any:
    """Standard normal, of the shape, dtype and device of `input`."""
    if input.is_part:
        return _drawn_beside(input, "normal_", (), dtype, requires_grad)
    return randn(
        input.array.shape,
        generator=generator,
        dtype=input.dtype if dtype is None else dtype,
        device=input.storage.device if device is None else device,
        requires_grad=requires_grad,
    )


def normal(
    mean: TensorBase | float = 0.0,
    std: TensorBase | float = 1.0,
    size: Sequence[int] | None = None,
    *,
    generator: Generator | None = None,
    dtype: Dtype = None,
    device: Device = None,
    requires_grad: bool = False,
) -> Any:
    """Normal with a mean and a standard deviation; either may be a tensor, else give a size."""
    tensors = [t for t in (mean, std) if isinstance(t, TensorBase)]
    if not tensors:
        if size is None:
            raise TypeError("normal() needs a size where mean and std are numbers")
        check_spread(std)
        kind = numpy_dtype(dtype)
        check_floating(kind, "normal_kernel_cpu")
        shape = sizes("normal", (size,))
        m, s = float(mean), float(std)  # type: ignore[arg-type]
        array = distributions.draw(
            shape,
            kind,
            source(generator, device),
            lambda w: distributions.normal(w) * s + m,
            like(device),
        )
        return made(array, device, requires_grad)
    if size is not None:
        raise TypeError("normal() takes a size only where mean and std are numbers")
    for t in tensors:
        check_floating(t.array.dtype, "normal_kernel_cpu")
    check_spread(std)
    m, s = (t.array if isinstance(t, TensorBase) else np.float64(t) for t in (mean, std))  # type: ignore[assignment]
    shape = np.broadcast_shapes(np.shape(m), np.shape(s))
    z = distributions.draw(
        shape,
        np.dtype(np.float64),
        source(generator, tensors[0].storage.device),
        distributions.normal,
        like(tensors[0].storage.device),
    )
    out = (z * s + m).astype(tensors[0].array.dtype)
    shapes = [(t.array.shape, t.array.dtype) for t in tensors]
    return record_joint(
        out, "NormalBackward0", tensors, lambda g: [np.zeros(n, d, like=g) for n, d in shapes]
    )


def check_spread(std: Any) -> None:
    if isinstance(std, TensorBase):
        if (std.array < 0).any():
            raise RuntimeError("normal expects all elements of std >= 0.0")
    elif std < 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std}")


# --------------------------------------------------------------------------------------- whole numbers


def bounded(low: int, high: int, dtype: np.dtype[Any]) -> distributions.Transform:
    """Integers low … high-1, if there are any and `dtype` holds them."""
    if low >= high:
        raise RuntimeError(
            f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}"
        )
    kind = dtypes.FROM_NUMPY[dtype]
    if kind.is_floating_point:
        largest = int(finfo(kind).max)
        least = -largest
    elif kind is dtypes.bool_:
        least, largest = 0, 1
    else:
        limits = np.iinfo(dtype)
        least, largest = int(limits.min), int(limits.max)
    for bound, text in ((low, "from"), (high - 1, "to - 1")):
        if not least <= bound <= largest:
            raise RuntimeError(f"{text} is out of bounds for {kind.name}: {bound}")
    return distributions.integers(low, high)


def randint(
    *args: Any,
    low: int = 0,
    high: int | None = None,
    size: Sequence[int] | None = None,
    generator: Generator | None = None,
    dtype: Dtype = dtypes.int64,
    device: Device = None,
    requires_grad: bool = False,
) -> Any:
    """Integers from low (inclusive) to high (exclusive): `randint(high, size)`, `randint(low, high, size)`."""
    given = list(args)
    if size is None:
        if not given or not isinstance(given[-1], Sequence):
            raise TypeError("randint() needs a size: a sequence of ints")
        size = given.pop()
    if given and high is None:
        high = given.pop()
    if given:
        low = given.pop(0)
    if given or high is None:
        raise TypeError("randint() takes (high, size) or (low, high, size)")
    if not (isinstance(low, (int, np.integer)) and isinstance(high, (int, np.integer))):
        raise TypeError(f"randint() bounds must be ints, not {low!r} and {high!r}")
    kind = numpy_dtype(dtype)
    assert size is not None
    array = distributions.draw(
        sizes("randint", (size,)),
        kind,
        source(generator, device),
        bounded(int(low), int(high), kind),
        like(device),
    )
    return made(array, device, requires_grad)


def randint_like(
    input: TensorBase,
    *bounds: int,
    low: int = 0,
    high: int | None = None,
    generator: Generator | None = None,
    dtype: Dtype = None,
    device: Device = None,
    requires_grad: bool = False,
    memory_format: Any = None,
) -> Any:
    """Integers from low to high-1, of the shape, dtype and device of `input`."""
    if input.is_part:
        found = (*bounds, *(() if high is None else (high,)))
        ends = found if len(found) == 2 else (low, *found)
        return _drawn_beside(input, "random_", ends, dtype, requires_grad)
    return randint(
        *bounds,
        low=low,
        high=high,
        size=input.array.shape,
        generator=generator,
        dtype=input.dtype if dtype is None else dtype,
        device=input.storage.device if device is None else device,
        requires_grad=requires_grad,
    )


def randperm(
    n: int,
    *,
    generator: Generator | None = None,
    dtype: Dtype = dtypes.int64,
    device: Device = None,
    requires_grad: bool = False,
) -> Any:
    """0 … n-1 in random order: the order of n random words."""
    if isinstance(n, bool) or not hasattr(n, "__index__"):
        raise TypeError(f"randperm(): argument 'n' must be int, not {type(n).__name__}")
    if n < 0:
        raise RuntimeError(f"Trying to create tensor with negative dimension {n}: [{n}]")
    kind = as_dtype(dtype)
    holds = int(finfo(kind).max) if kind.is_floating_point else None
    if holds is None and kind is not dtypes.bool_:
        holds = int(np.iinfo(kind.numpy).max)
    if n > (holds or 1):
        raise RuntimeError(f"value cannot be converted to type {kind.name} without overflow: {n}")
    if like(device) is not None:
        return empty(n, dtype=dtype, device=device, requires_grad=requires_grad)
    order = np.argsort(source(generator, device).words(int(n)), kind="stable")
    return made(order.astype(kind.numpy, copy=False), device, requires_grad)
