"""Functions and classes by their qualified name: `package.module:Class.method`.

The sender looks whether the name leads to the very object it sends. So a lambda or a function made
inside another is refused where it is sent, and not where it arrives. The receiver finds names that were
registered (`registry`). If the sender is trusted in full, it finds anything that can be imported.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

from minitorch_dist.distributed.codec import registry
from minitorch_dist.distributed.codec.errors import UnknownName, Unsendable
from minitorch_dist.distributed.codec.trust import Trust

checked: dict[Any, str] = {}  # objects that were sent, and are found by their names
MOST = 4096  # of them, before they are cleared


def name_of(thing: Any, trust: Trust) -> str:
    """The name under which a peer finds this very function or class; Unsendable if there is none."""
    name = registry.full_name(thing)
    kind = "a class" if isinstance(thing, type) else "a function"
    if "<lambda>" in name:
        raise Unsendable("a lambda cannot be sent; use a module-level function")
    if "<locals>" in name:
        raise Unsendable(
            f"{name.replace(':', '.')} is {kind} made inside a function and cannot be sent; define "
            "it at the top level of a module"
        )
    if registry.find(name) != thing:
        if not trust.may_pickle:
            raise Unsendable(
                f"{name.replace(':', '.')} cannot be sent: it was not registered, and {trust.value}. "
                "Register it with rpc.functions.register, or send a text that stands for it"
            )
        _check_that_it_leads_to(thing, name)
    if len(checked) >= MOST:
        checked.clear()
    checked[thing] = name
    return name


def _check_that_it_leads_to(thing: Any, name: str) -> None:
    try:
        there = _import(name)
    except (ImportError, AttributeError, ValueError) as error:
        raise Unsendable(f"{thing!r} cannot be sent: its name does not lead to it ({error})") from None
    if there != thing:
        raise Unsendable(
            f"{thing!r} cannot be sent: {name.replace(':', '.')} is another object, "
            f"{there!r} (was it decorated, or replaced?)"
        )


def find(name: str, trust: Trust) -> Any:
    """The object that a peer has named; UnknownName if it is not here, or may not be had."""
    thing = registry.find(name)
    if thing is not None:
        return thing
    if not trust.may_pickle:
        raise UnknownName(
            f"{name[:200].replace(':', '.')} was not registered on this worker, and {trust.value}; "
            "register it with rpc.functions.register"
        )
    try:
        thing = _import(name)
    except (ImportError, AttributeError, ValueError) as error:
        raise UnknownName(
            f"{error}. Default RPC pickler does not serialize function code. Ensure that UDFs are "
            f"defined on both caller and callee modules. ({name.replace(':', '.')} was asked for)"
        ) from error
    if not callable(thing):
        raise UnknownName(f"{name.replace(':', '.')} is {type(thing).__name__}, not a function")
    return thing


def _import(name: str) -> Any:
    module, _, path = name.partition(":")
    there = sys.modules.get(module)
    found: Any = import_module(module) if there is None else there
    for part in path.split("."):
        found = getattr(found, part)
    return found
