"""The arguments of `sim.run`, looked at before a world is made of them. An error names the one that is wrong, and what it
should be."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta
from numbers import Real
from typing import Any, Final, SupportsIndex

from transports.virtual.fault_injector import Plan

NONE: Final = type(None)
KINDS: Final[Mapping[str, tuple[tuple[Any, ...], str]]] = {
    "world_size": ((SupportsIndex,), "a whole number of ranks"),
    "args": ((Iterable,), "a tuple of what fn is called with"),
    "kwargs": ((Mapping, NONE), "a dictionary of what fn is called with"),
    "with_": ((list, tuple), "a list of what attaches, like [sim.timelines()]"),
    "seed": ((SupportsIndex, NONE), "a whole number"),
    "timeout": ((Real, timedelta, NONE), "a number of seconds"),
    "endless": ((Real, NONE), "a number of seconds"),
    "limit": ((Real, NONE), "a number of seconds"),
    "events": ((Real, NONE), "a number of events"),
    "flops": ((Real, str, NONE), 'a number, or a text like "10T"'),
    "speeds": ((Mapping, NONE), "factors by rank, like {3: 0.5}"),
    "journal": ((str, os.PathLike, NONE), "the name of a file"),
    "faults": ((Iterable, Plan), "a list of faults"),
    "hardships": ((str,), "a text of letters"),
}


def check(fn: Callable[..., Any], given: Mapping[str, Any]) -> None:
    """TypeError for a value of a kind that cannot be meant, and ValueError for seconds that are no span."""
    if not callable(fn):
        raise TypeError(f"sim.run calls a function on every rank, but got {fn!r}")
    for name, value in given.items():
        kinds, words = KINDS[name]
        if isinstance(value, bool) or not isinstance(value, kinds):
            raise TypeError(f"sim.run's {name} is {words}, not {value!r}")
        if name in ("endless", "limit") and value is not None and not 0 <= value < math.inf:
            raise ValueError(f"sim.run's {name} is at least 0 seconds, or None for no end, not {value!r}")
    for rank, speed in (given["speeds"] or {}).items():
        if isinstance(speed, bool) or not isinstance(speed, Real):
            raise TypeError(
                f"sim.run's speeds are factors by rank, like {{3: 0.5}}: that of rank {rank!r} is {speed!r}"
            )
