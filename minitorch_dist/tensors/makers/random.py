"""Random tensors: uniform, normal, integers and permutations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from minitorch_dist.tensors import distributions, dtypes
from minitorch_dist.tensors.generator import Generator
from minitorch_dist.tensors.limits import range_of
from minitorch_dist.tensors.makers.creation import empty, zeros_like
from minitorch_dist.tensors.names import named
from minitorch_dist.tensors.ops.making.chance import bounded, check_floating, check_spread, source
from minitorch_dist.tensors.ops.making.literals import as_dtype
from minitorch_dist.tensors.ops.making.new_arrays import Device, Dtype, like, made, numpy_dtype, sizes
from minitorch_dist.tensors.promotion import one_number
from minitorch_dist.tensors.tensor import Tensor

# ------------------------------------------------------------------------------- uniform and normal


DRAWING = """{words}

Args:
    *args: The shape, as numbers or as one sequence.
    size: The shape, by name.
    generator: Where the numbers come from; by default the one that `manual_seed` seeds.
    dtype: The type of its elements.
    device: The simulated device that holds it, the CPU by default.
    requires_grad: Whether autograd records operations on it.

Returns:
    The tensor.

Example:
    >>> torch.{name}(2, 3).shape
    torch.Size([2, 3])
"""


def _drawer(of: Any, kernel: str, name: str, words: str) -> Callable[..., Tensor]:
    """A function that draws tensors of a given size. `of`: what makes numbers of this type from random words."""

    def drawer(
        *args: Any,
        size: Any = None,
        generator: Generator | None = None,
        dtype: Dtype = None,
        device: Device = None,
        requires_grad: bool = False,
    ) -> Any:
        kind, shape = numpy_dtype(dtype), sizes(name, args, size)
        check_floating(kind, kernel)
        where = source(generator, device)
        array = distributions.draw(shape, kind, where, of(kind), like(device))
        return made(array, device, requires_grad)

    return named(drawer, name, DRAWING.format(words=words, name=name))


def _drawer_like(drawer: Any, in_place: str, name: str, words: str) -> Callable[..., Tensor]:
    """A function that draws tensors of the shape of another one."""

    def drawer_like(
        input: Any, *, dtype: Dtype = None, device: Device = None, memory_format: Any = None, **options: Any
    ) -> Any:
        if input.is_part:  # a part of what is drawn for the whole tensor
            blank = getattr(zeros_like(input, dtype=dtype), in_place)()
            return blank.requires_grad_(options.get("requires_grad", False))
        kind = input.dtype if dtype is None else dtype
        place = input.storage.device if device is None else device
        return drawer(input.array.shape, dtype=kind, device=place, **options)

    return named(drawer_like, name, words)


def _normal(_: np.dtype[Any]) -> distributions.Transform:
    return distributions.normal


rand = _drawer(distributions.unit, "check_uniform_bounds", "rand", "Uniform on [0, 1).")
randn = _drawer(_normal, "normal_kernel_cpu", "randn", "Standard normal.")
rand_like = _drawer_like(rand, "uniform_", "rand_like", "Uniform on [0, 1), of the shape, dtype and device of `input`.")
randn_like = _drawer_like(randn, "normal_", "randn_like", "Standard normal, of the shape, dtype and device of `input`.")


def normal(
    mean: float = 0.0,
    std: float = 1.0,
    size: Sequence[int] | None = None,
    *,
    generator: Generator | None = None,
    dtype: Dtype = None,
    device: Device = None,
    requires_grad: bool = False,
) -> Tensor:
    """Normal with a mean and a standard deviation."""
    one_number("normal", "mean", mean)
    one_number("normal", "std", std)
    check_spread(std)
    kind, shape = numpy_dtype(dtype), sizes("normal", (), size)
    check_floating(kind, "normal_kernel_cpu")
    array = distributions.draw(
        shape, kind, source(generator, device), lambda w: distributions.normal(w) * std + mean, like(device)
    )
    return made(array, device, requires_grad)


# --------------------------------------------------------------------------------------- whole numbers


def randint(
    *args: Any,
    low: int = 0,
    high: int | None = None,
    size: Sequence[int] | None = None,
    generator: Generator | None = None,
    dtype: Dtype = dtypes.int64,
    device: Device = None,
    requires_grad: bool = False,
) -> Tensor:
    """Integers from low (inclusive) to high (exclusive): `randint(high, size)`, `randint(low, high, size)`."""
    given = list(args)
    if size is None:
        size = given.pop() if given else None
    if high is None:
        high = given.pop() if given else None
    low, *more = given or [low]
    if more or not isinstance(size, Sequence) or not all(isinstance(n, (int, np.integer)) for n in (low, high)):
        raise TypeError(
            f"randint() takes (high, size) or (low, high, size), ints and a sequence of ints, but got {args}"
        )
    kind = numpy_dtype(dtype)
    assert high is not None
    array = distributions.draw(
        sizes("randint", (size,)), kind, source(generator, device), bounded(int(low), int(high), kind), like(device)
    )
    return made(array, device, requires_grad)


def randperm(
    n: int,
    *,
    generator: Generator | None = None,
    dtype: Dtype = dtypes.int64,
    device: Device = None,
    requires_grad: bool = False,
) -> Tensor:
    """0 … n-1 in random order: the order of n random words."""
    if isinstance(n, bool) or not hasattr(n, "__index__"):
        raise TypeError(f"randperm(): argument 'n' must be int, not {type(n).__name__}")
    if n < 0:
        raise RuntimeError(f"Trying to create tensor with negative dimension {n}: [{n}]")
    kind = as_dtype(dtype)
    if n > range_of(kind)[1]:
        raise RuntimeError(f"value cannot be converted to type {kind.name} without overflow: {n}")
    if like(device) is not None:
        return empty(n, dtype=dtype, device=device, requires_grad=requires_grad)
    order = np.argsort(source(generator, device).words(int(n)), kind="stable")
    return made(order.astype(kind.numpy, copy=False), device, requires_grad)
