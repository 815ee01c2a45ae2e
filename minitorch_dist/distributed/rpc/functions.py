"""Functions that peers call: which ones they may call, and which of them are asynchronous.

pickle is allowed    any function and class that can be imported, and any method of an object. (A peer
                     may then run what it likes in any case: a pickle does.)
it is not            what was registered: functions, classes, and the methods written in these
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from minitorch_dist.distributed.codec import UnknownName, register as register, registry, trust
from minitorch_dist.distributed.codec.registry import T as F

MARK: Final = "_wrapped_async_rpc_function"  # torch's name for it


def async_execution(fn: F) -> F:
    """Mark a function that returns a Future. Its caller gets the value of the Future; no thread waits.

    It works above and below `@staticmethod` and `@classmethod`.
    """
    setattr(fn.__func__ if isinstance(fn, staticmethod | classmethod) else fn, MARK, True)
    return fn


def is_async(function: Callable[..., Any]) -> bool:
    return hasattr(function, MARK)


def check_may_be_called(function: Any) -> None:
    """Raise UnknownName if a peer may name this, but may not call it."""
    if not (trust.of_peers().may_pickle or registry.may_call(function)):
        raise UnknownName(f"{name_of(function)} was not registered to be called by peers")


def method(value: Any, name: str) -> Callable[..., Any]:
    """The method of an object that a peer calls by its name. UnknownName if it may not call that."""
    if not trust.of_peers().may_pickle:
        return registry.method(value, name)
    getattr(type(value), name)  # as in torch: what only the instance has does not count
    found: Callable[..., Any] = getattr(value, name)
    return found


def name_of(function: Any) -> str:
    """The name of a function in errors. Words stand for themselves."""
    return str(getattr(function, "__qualname__", None) or getattr(function, "__name__", None) or function)
