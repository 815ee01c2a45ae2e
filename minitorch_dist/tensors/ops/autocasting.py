"""Mixed precision: inside `autocast`, products are computed in a lower type, and sums of many terms are not.

    products (linear, conv, matmul, attention, …)     lower        bfloat16 on the CPU, float16 on devices
    losses, inverses, quantiles, distances            float32
    everything else                                   the type that comes in

An operation says at its definition to which row it belongs (`lower`, `full`); outside of a block that costs one look
at a context variable. These are operations of several numpy steps, so numpy gives no warning in them. Casts are
recorded like any other operation, so gradients arrive in the type of what was cast; float64 is left alone. A parameter
is cast once per block, not once per use (`cache`). So its gradients from several uses are added up in the lower type,
as in torch.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final, NamedTuple, TypeVar, cast

from minitorch_dist.tensors import dtypes
from minitorch_dist.tensors.core.base import TensorBase
from minitorch_dist.tensors.core.without_warnings import enter_silence, leave_silence
from minitorch_dist.tensors.ops.elementwise.conversion import move

F = TypeVar("F", bound=Callable[..., Any])

DEFAULTS: Final = {"cpu": dtypes.bfloat16, "cuda": dtypes.float16}


class Casting(NamedTuple):
    """The current settings, by type of device."""

    types: Mapping[str, dtypes.dtype]  # absent: off
    cache: dict[int, tuple[TensorBase, TensorBase]] | None  # by id: a parameter, and its cast
    named: Mapping[str, dtypes.dtype] = DEFAULTS  # also by blocks that are off


present: ContextVar[Casting | None] = ContextVar("autocast", default=None)


@contextmanager
def as_of(asked: Casting | None) -> Iterator[None]:
    """Use the settings of an earlier time, with a cache of its own: for a function that runs once more."""
    if asked is not None:
        asked = asked._replace(cache=None if asked.cache is None else {})
    token = present.set(asked)
    try:
        yield
    finally:
        present.reset(token)


def lower(function: F) -> F:
    """A product: in the lower type within `autocast`."""
    return _casting(function, _lowered)


def full(function: F) -> F:
    """An operation that needs all digits of float32 within `autocast`."""
    return _casting(function, _full)


def _casting(function: F, convert: Callable[[Any, Casting], Any]) -> F:
    @functools.wraps(function)
    def casting(*args: Any, **kwargs: Any) -> Any:
        asked = present.get()
        if asked is not None:
            args = tuple([convert(one, asked) for one in args])
            kwargs = {name: convert(one, asked) for name, one in kwargs.items()}
        before = enter_silence()
        try:
            return function(*args, **kwargs)
        finally:
            leave_silence(before)

    return cast(F, casting)


def _lowered(value: Any, asked: Casting) -> Any:
    if not isinstance(value, TensorBase):
        return _each(value, asked, _lowered)
    dtype = asked.types.get(value.storage.device.type)
    if dtype is None or not is_castable(value) or value.array.dtype == dtype.numpy:
        return value
    keeps = asked.cache is not None and value._requires_grad and value._grad_fn is None
    if not keeps or value.array.dtype != dtypes.float32.numpy:
        return move(value, dtype, value.storage.device)
    assert asked.cache is not None
    kept = asked.cache.get(id(value))
    if kept is None or not kept[1]._requires_grad:
        made = move(value, dtype, value.storage.device)
        if made._requires_grad:  # made under no_grad it would be wrong for what is recorded later
            asked.cache[id(value)] = value, made
        return made
    return kept[1]


def _full(value: Any, asked: Casting) -> Any:
    if not isinstance(value, TensorBase):
        return _each(value, asked, _full)
    if value.storage.device.type not in asked.types or not is_castable(value):
        return value
    return move(value, dtypes.float32, value.storage.device)


def _each(value: Any, asked: Casting, convert: Callable[[Any, Casting], Any]) -> Any:
    if isinstance(value, (list, tuple)) and any(isinstance(one, TensorBase) for one in value):
        return type(value)([convert(one, asked) for one in value])
    return value


def is_castable(value: TensorBase) -> bool:
    """Whether the rows above concern it: floats, but not float64."""
    dtype = value.array.dtype
    return dtype == dtypes.float32.numpy or dtype in dtypes.HALVES
