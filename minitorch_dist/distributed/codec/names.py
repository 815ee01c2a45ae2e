"""Functions and classes by their qualified name: `package.module:Class.method`.

The sender looks whether the name leads to the very object it sends, so a lambda or a function made
inside another is refused where it is sent and not where it arrives. The receiver finds what was
registered; and anything that can be imported, as long as pickle is allowed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any, TypeVar

from minitorch_dist.distributed.codec import trust
from minitorch_dist.distributed.codec.errors import UnknownName, Unsendable

T = TypeVar("T", bound=Callable[..., Any])

_registered: dict[str, Any] = {}
_found: dict[str, tuple[str, Any, Any]] = {}  # by name: its module's name, the module, and it
_named: dict[Any, str] = {}  # what was sent, and is what its name says
MOST = 4096  # entries of either before it is cleared


def register(thing: T) -> T:
    """Let this function or class be named by peers, also where pickle is not allowed. A decorator."""
    _registered[_name(thing)] = thing
    return thing


def _name(thing: Any) -> str:
    module = getattr(thing, "__module__", None) or "builtins"
    if module == "__mp_main__":  # what multiprocessing calls the script in its children
        module = "__main__"
    return f"{module}:{getattr(thing, '__qualname__', thing.__name__)}"


def name_of(thing: Any) -> str:
    """The name under which a peer finds this function or class; Unsendable if there is none."""
    try:
        known = _named.get(thing)
    except TypeError:  # a method of something that cannot be hashed
        known = None
    if known is not None:
        return known
    name = _name(thing)
    kind = "a class" if isinstance(thing, type) else "a function"
    if "<lambda>" in name:
        raise Unsendable("a lambda cannot be sent; use a module-level function")
    if "<locals>" in name:
        raise Unsendable(
            f"{name.replace(':', '.')} is {kind} made inside a function and cannot be sent; define "
            "it at the top level of a module"
        )
    if _registered.get(name) is not thing:
        try:
            there = _import(name)
        except (ImportError, AttributeError, ValueError) as error:
            raise Unsendable(
                f"{thing!r} cannot be sent: its name does not lead to it ({error})"
            ) from None
        if there is not thing:
            raise Unsendable(
                f"{thing!r} cannot be sent: {name.replace(':', '.')} is another object, "
                f"{there!r} (was it decorated, or replaced?)"
            )
    if len(_named) >= MOST:
        _named.clear()
    _named[thing] = name
    return name


def find(name: str) -> Any:
    """What a peer has named; UnknownName if that is not here, or may not be had."""
    thing = _registered.get(name)
    if thing is not None:
        return thing
    if not trust.is_pickle_allowed():
        raise UnknownName(
            f"{name.replace(':', '.')} was not registered on this worker, and {trust.VARIABLE}=0 "
            "forbids to import it; register it with rpc.functions.register"
        )
    known = _found.get(name)
    if known is not None and sys.modules.get(known[0]) is known[1]:  # not loaded anew since
        return known[2]
    try:
        thing = _import(name)
    except (ImportError, AttributeError, ValueError) as error:
        raise UnknownName(
            f"{error}. Default RPC pickler does not serialize function code. Ensure that UDFs are "
            f"defined on both caller and callee modules. ({name.replace(':', '.')} was asked for)"
        ) from error
    if not callable(thing):
        raise UnknownName(f"{name.replace(':', '.')} is {type(thing).__name__}, not a function")
    if len(_found) >= MOST:
        _found.clear()
    module = name.partition(":")[0]
    if module != "__main__":  # a notebook may define it again
        _found[name] = module, sys.modules.get(module), thing
    return thing


def _import(name: str) -> Any:
    module, _, path = name.partition(":")
    there = sys.modules.get(module)
    found: Any = import_module(module) if there is None else there
    for part in path.split("."):
        found = getattr(found, part)
    return found
