"""Which arrays a function keeps alive: those that its closure leads to.

A node's gradient functions hold what they will need: arrays, lists of them, other functions, small
objects. The ledger counts it all as soon as it is kept, and not only what tensors also hold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from types import FunctionType, MethodType
from typing import Any

import numpy as np

from minitorch_dist.tensors.core.base import Array

_OPERATIONS = __package__ + ".ops."  # objects of others lead anywhere, and hold tensors
_PLAIN = (str, bytes, int, float, type(None), type, np.dtype, np.generic)


def arrays_kept_by(*functions: Callable[..., Any] | None) -> Iterator[Array]:
    """All arrays that can be reached from the closures, each as often as it is met."""
    todo: list[Any] = list(functions)
    seen: set[int] = set()
    while todo:
        thing = todo.pop()
        if isinstance(thing, np.ndarray) and not getattr(thing, "is_scalar", False):
            yield thing
        elif id(thing) not in seen and not isinstance(thing, _PLAIN):
            seen.add(id(thing))
            todo.extend(_inside(thing))


def _inside(thing: Any) -> Iterator[Any]:
    if isinstance(thing, FunctionType):
        for cell in thing.__closure__ or ():
            try:
                yield cell.cell_contents
            except ValueError:  # not filled yet
                continue
        yield from thing.__defaults__ or ()
    elif isinstance(thing, MethodType):
        yield from (thing.__self__, thing.__func__)
    elif isinstance(thing, partial):
        yield from (thing.func, *thing.args, *thing.keywords.values())
    elif isinstance(thing, (list, tuple)):
        yield from thing
    elif isinstance(thing, dict):
        yield from thing.values()
    elif type(thing).__module__.startswith(_OPERATIONS):
        yield from getattr(thing, "__dict__", {}).values()
        for name in getattr(type(thing), "__slots__", ()):
            yield getattr(thing, name, None)
