"""The registered names: peers that are not trusted in full may name and call these only.

    a function   by its name
    a class      by its name, and the methods that are written in the class itself

A method of a parent counts if the parent is registered, too. Some names are never open: those that begin
with `_`, properties, types inside of a class, functions written in C, and the attributes of an instance.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType, MethodType
from typing import Any, TypeVar

from minitorch_dist.distributed.codec.errors import UnknownName

T = TypeVar("T", bound=Callable[..., Any])

_known: dict[str, Any] = {}  # what may be named
_open: dict[str, Any] = {}  # what may be called, too


def register(thing: T) -> T:
    """Let peers name this function or class, and call it, also where pickle is not allowed. A decorator."""
    name = full_name(thing)
    _known[name] = _open[name] = thing
    return thing


def register_name(kind: type[Any]) -> None:
    """Let peers name this class, and neither call it nor its methods: values are of it."""
    _known[full_name(kind)] = kind


def may_call(thing: Any) -> bool:
    """Whether a peer may call this function or class."""
    name = full_name(thing)
    return bool(_open.get(name) is thing or (name not in _known and find(name) == thing))


def full_name(thing: Any) -> str:
    """`package.module:Class.method`"""
    owner = getattr(thing, "__self__", None)
    if isinstance(thing, MethodType) and isinstance(owner, type):  # its function may be a parent's
        return f"{full_name(owner)}.{thing.__name__}"
    module = getattr(thing, "__module__", None) or "builtins"
    if module == "__mp_main__":  # multiprocessing's name for the script in its children
        module = "__main__"
    return f"{module}:{getattr(thing, '__qualname__', thing.__name__)}"


def find(name: str) -> Any:
    """The object that is registered under this name, or a method of one; None if there is none."""
    thing = _known.get(name)
    if thing is None:
        owner, _, method = name.rpartition(".")
        kind = _open.get(owner)
        if isinstance(kind, type) and _function(kind, method) is not None:
            return getattr(kind, method)
    return thing


def method(value: Any, name: str) -> Callable[..., Any]:
    """The method of a value that a peer may call by this name; UnknownName if there is none."""
    kind = type(value)
    function = _function(kind, name)
    if function is None:
        raise UnknownName(
            f"{name[:200]!r} of a {kind.__module__}.{kind.__qualname__} may not be called by name here. "
            "It has to be a method without `_` at the beginning, and the class in which it is written "
            "has to be registered (rpc.functions.register)"
        )
    found: Callable[..., Any] = getattr(value, name)
    if getattr(found, "__func__", found) is not function:
        raise UnknownName(f"{name!r} of this {kind.__qualname__} is no method of its class")
    return found


def _function(kind: type[Any], name: str) -> FunctionType | None:
    """The function of an open method: it stands in the first class that has the name, which is registered."""
    owner = next((each for each in kind.__mro__ if name in vars(each)), None)
    if owner is None or name.startswith("_") or _open.get(full_name(owner)) is not owner:
        return None
    found = vars(owner)[name]
    if isinstance(found, staticmethod | classmethod):
        found = found.__func__
    return found if isinstance(found, FunctionType) else None
