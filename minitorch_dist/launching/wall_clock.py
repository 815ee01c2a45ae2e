"""The clock on the wall, for simulated ranks: it hangs in virtual time, and begins with the year 2000.

`datetime` and `date` are classes that cannot be changed. Their stand-ins make objects of the real classes,
and say that these are their own instances. So a program sees no difference but the time.
"""

from __future__ import annotations

import datetime
import functools
import sys
import time
from collections.abc import Callable
from typing import Any, TypeAlias

from minitorch_dist.distributed import world
from transports.clock import PICO
from transports.virtual.clock import VirtualClock

EPOCH = 946_684_800  # the year 2000, at which virtual time begins for time.time()
REAL: TypeAlias = datetime.datetime
REAL_DATE: TypeAlias = datetime.date
_gmtime, _localtime, _strftime = time.gmtime, time.localtime, time.strftime


def is_simulated() -> bool:
    """Whether the caller is a rank of a simulation."""
    return isinstance(world.place().clock, VirtualClock)


def picos() -> int:
    here = world.place()
    if here.world is not None and here.world.trace is not None:
        here.world.trace.asks_time(sys._getframe(2))
    return here.clock.now()


def seconds() -> float:
    return EPOCH + picos() / PICO


def sleep(seconds: float) -> None:
    world.place().clock.sleep(seconds)


@functools.cache
def instead() -> dict[str, Callable[..., Any]]:
    """The stand-ins of the functions of `time`, by their names."""
    found: dict[str, Callable[..., Any]] = {
        "time": seconds,
        "time_ns": lambda: EPOCH * 10**9 + picos() // 1000,
        "sleep": sleep,
        "gmtime": lambda secs=None: _gmtime(seconds() if secs is None else secs),
        "localtime": lambda secs=None: _localtime(seconds() if secs is None else secs),
        "ctime": lambda secs=None: time.asctime(_localtime(seconds() if secs is None else secs)),
        "strftime": lambda form, t=None: _strftime(form, _localtime(seconds()) if t is None else t),
    }
    for name in ("monotonic", "perf_counter", "process_time", "thread_time"):
        found[name] = lambda: picos() / PICO
        found[f"{name}_ns"] = lambda: picos() // 1000
    return found


class _Likeness(type):
    """An instance (or a subclass) of the real class is one of this class, too."""

    real: type

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, cls.real)

    def __subclasscheck__(cls, kind: type) -> bool:
        return issubclass(kind, cls.real)


class Datetime(REAL, metaclass=_Likeness):
    real = REAL

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        return REAL(*args, **kwargs)

    @classmethod
    def now(cls, tz: datetime.tzinfo | None = None) -> Any:
        return REAL.fromtimestamp(seconds(), tz) if is_simulated() else REAL.now(tz)

    @classmethod
    def today(cls) -> Any:
        return cls.now()

    @classmethod
    def utcnow(cls) -> Any:
        return cls.now(datetime.UTC).replace(tzinfo=None)


def from_state(*state: Any) -> datetime.datetime:
    """A pickled one. (Their own way names their class, which for now has another by its name.)"""
    return REAL(*state)


def date_from_state(*state: Any) -> datetime.date:
    return REAL_DATE(*state)


REDUCERS: dict[type, Callable[[Any], Any]] = {
    REAL: lambda instant: (from_state, instant.__reduce__()[1]),
    REAL_DATE: lambda date: (date_from_state, date.__reduce__()[1]),
}


class Date(REAL_DATE, metaclass=_Likeness):
    real = REAL_DATE

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        return REAL_DATE(*args, **kwargs)

    @classmethod
    def today(cls) -> Any:
        return Datetime.now().date()
