"""Random tensors: uniform, normal, integers and permutations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from minitorch_dist.tensors import devices, distributions, dtypes
from minitorch_dist.tensors.core.base import TensorBase
from minitorch_dist.tensors.generator import Generator, current
from minitorch_dist.tensors.limits import range_of
from minitorch_dist.tensors.names import named
from minitorch_dist.tensors.ops.making.creation import Device, Dtype, empty, like, made, numpy_dtype, sizes, zeros_like
from minitorch_dist.tensors.ops.making.literals import as_dtype
from minitorch_dist.tensors.promotion import not_implemented, one_number

if TYPE_CHECKING:
    from minitorch_dist.tensors.tensor import Tensor


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
        raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
    kind = dtypes.FROM_NUMPY[dtype]
    least, largest = range_of(kind)
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
) -> Tensor:
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
