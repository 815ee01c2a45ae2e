"""Where a faster form of a function may stand in for it.

A module's text is the simple form. `@replaceable` above a function says that the package `ops.fast` may have
another one, which computes the same values in less time:

    @replaceable
    def correlate(x, w, …): …              the simple form: read this one

    @instead_of(simple.correlate)          in `ops/fast`: it takes the same arguments
    def correlate(x, w, …): …

The fast forms are imported at the first call of a replaceable function. With the variable MINITORCH_DIST_SIMPLE=1 in the
environment they never are, and every function is its text. Arrays without numbers stay with the text, too. Sums may be added up in another order, so the last bits can differ.
"""

from __future__ import annotations

import functools
import importlib
import os
from collections.abc import Callable
from typing import Any, TypeVar

from minitorch_dist.tensors.shape_arrays.array import has_numbers

F = TypeVar("F", bound=Callable[..., Any])

ROOM = "minitorch_dist.tensors.ops.fast"
_fast: dict[Callable[..., Any], Callable[..., Any]] = {}
_waiting = [ROOM] if os.environ.get("MINITORCH_DIST_SIMPLE") != "1" else []


def replaceable(simple: F) -> F:
    """A function in whose place its fast form is called, where there is one."""

    @functools.wraps(simple)
    def chosen(*args: Any, **options: Any) -> Any:
        if _waiting:
            importlib.import_module(ROOM)  # a thread that comes meanwhile waits for it in here
            _waiting.clear()
        form = _fast.get(simple, simple) if has_numbers(args[0]) else simple
        return form(*args, **options)

    chosen.simple = simple  # type: ignore[attr-defined]
    return chosen  # type: ignore[return-value]


def instead_of(function: Callable[..., Any]) -> Callable[[F], F]:
    """Register the function beneath as the fast form of a replaceable one."""

    def register(fast: F) -> F:
        _fast[function.simple] = fast  # type: ignore[attr-defined]
        return fast

    return register
