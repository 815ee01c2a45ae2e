"""What may be said of functions that peers call."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Final

from minitorch_dist.distributed.codec import register as register
from minitorch_dist.distributed.codec.names import T as F

MARK: Final = "_wrapped_async_rpc_function"  # torch's name for it


def async_execution(fn: F) -> F:
    """The function returns a Future, and the caller gets what that will hold: no thread waits for it.

    Works above and below `@staticmethod` and `@classmethod`.
    """
    if isinstance(fn, staticmethod | classmethod):
        return type(fn)(async_execution(fn.__func__))

    @functools.wraps(fn)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return fn(*args, **kwargs)

    setattr(wrapper, MARK, fn)
    return wrapper  # type: ignore[return-value]


def is_async(function: Callable[..., Any]) -> bool:
    return hasattr(function, MARK)


def name_of(function: Any) -> str:
    """How a function is called in errors."""
    return str(
        getattr(function, "__qualname__", None) or getattr(function, "__name__", None) or function
    )
