"""`threading.local` for simulated ranks: attributes belong to a rank, or to a thread of one, whichever engine runs them.

made during the run         `threading.local` is `VirtualLocal`, also as a base class
made before                 those that a run finds are replaced by one (`standard_locks`)
of a class made before      is refused by name: each rank would have to call its `__init__` anew
"""

from __future__ import annotations

import functools
import sys
import threading  # noqa: TID251 - asks which thread this is
import weakref
from _thread import _local
from collections.abc import Callable, Iterator
from inspect import getattr_static, isdatadescriptor
from typing import Any

from minitorch_dist.distributed import world
from minitorch_dist.launching.callers import refusal
from transports.virtual.clock import VirtualClock


def _simulated() -> Any:
    """The simulated thread that runs; its clock while events happen; None for a thread that is no rank."""
    clock = world.place().clock
    return clock.current() or clock if isinstance(clock, VirtualClock) else None


class VirtualLocal:
    """A `threading.local`, which outlives the run. `_made`: how it was made, the object that it stands for, and its attributes
    by their owners."""

    __slots__ = ("__weakref__", "_made")

    def __new__(cls, /, *args: Any, **kwargs: Any) -> Any:
        if (args or kwargs) and cls.__init__ is object.__init__:
            raise TypeError("Initialization arguments are not supported")
        made = object.__new__(cls)
        of: weakref.WeakKeyDictionary[Any, dict[str, Any]] = weakref.WeakKeyDictionary()
        object.__setattr__(made, "_made", (args, kwargs, None, of))
        of[_simulated() or threading.current_thread()] = {}  # `__init__` follows
        return made

    def __getattribute__(self, name: str) -> Any:
        mine = _mine(self)
        if name == "__dict__":
            return mine
        is_own = name in mine and not _is_of_class(self, name)
        return mine[name] if is_own else object.__getattribute__(self, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if _is_of_class(self, name):
            object.__setattr__(self, name, value)
        else:
            _mine(self)[name] = value

    def __delattr__(self, name: str) -> None:
        if _is_of_class(self, name):
            object.__delattr__(self, name)
        elif _mine(self).pop(name, _mine) is _mine:
            raise AttributeError(name)


def _is_of_class(local: VirtualLocal, name: str) -> bool:
    """Whether its class keeps this attribute, such as a property."""
    return isdatadescriptor(getattr_static(type(local), name, None))


def _mine(local: VirtualLocal) -> dict[str, Any]:
    """The caller's attributes. They begin with those that `__init__` sets, as with the real ones."""
    args, kwargs, real, of = object.__getattribute__(local, "_made")
    me = _simulated()
    if me is None and real is not None:
        return real.__dict__  # type: ignore[no-any-return]
    me = me or threading.current_thread()
    if me not in of:
        of[me] = {}
        try:
            type(local).__init__(local, *args, **kwargs)
        except BaseException:
            del of[me]
            raise
    return of[me]  # type: ignore[no-any-return]


def stand_in(real: _local) -> Any:
    """For an object that was made before, and has no class of its own."""
    made = VirtualLocal()
    object.__setattr__(made, "_made", ((), {}, real, weakref.WeakKeyDictionary()))
    return made


# --------------------------------------------------------------------------- classes made before


def refused(is_users: Callable[[str], bool]) -> Iterator[Callable[[], None]]:
    """Let the user's classes that derive from `threading.local` refuse simulated ranks. The functions that undo it."""
    for kind in _local.__subclasses__():
        module = sys.modules.get(kind.__module__)
        file = getattr(module, "__file__", "<frozen" if kind.__module__ != "__main__" else "")
        if not is_users(file or "<frozen"):
            continue
        for name in ("__new__", "__getattribute__", "__setattr__", "__delattr__"):
            before = vars(kind).get(name)
            setattr(kind, name, _refusing(kind, getattr(kind, name)))
            yield (functools.partial(setattr, kind, name, before) if before else functools.partial(delattr, kind, name))


def _refusing(kind: type, original: Callable[..., Any]) -> Callable[..., Any]:
    def refuse(*args: Any, **kwargs: Any) -> Any:
        if _simulated() is None:
            return original(*args, **kwargs)
        raise refusal(
            f"{kind.__qualname__}, a threading.local",
            "a class that was made before the run cannot give each rank attributes of its own. Make the class within the "
            "function that is simulated, or use a plain threading.local",
            "used",
        )

    return refuse
