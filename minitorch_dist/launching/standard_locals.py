"""`threading.local` for simulated ranks: attributes belong to a rank, or to a thread of one, whichever engine runs them.

    made during the run         `threading.local` is `VirtualLocal`, also as a base class
    made before                 those that a run finds are replaced by one (`standard_locks`)
    a class made before         gets our ways to attributes, while the run lasts (`adapted`)

Threads that are no ranks go past all of this, and have the attributes that they would have.
"""

from __future__ import annotations

import functools
import sys
import weakref
from _thread import _local
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any

from minitorch_dist.distributed import world
from minitorch_dist.launching.callers import refusal
from transports.virtual.clock import VirtualClock

_WAYS = ("__new__", "__getattribute__", "__setattr__", "__delattr__")
_MISSING = object()


class _Record:
    """How one object was made, and its attributes by their owners."""

    def __init__(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], real: _local | None = None
    ) -> None:
        self.args, self.kwargs, self.real = args, kwargs, real
        self.of: weakref.WeakKeyDictionary[Any, dict[str, Any]] = weakref.WeakKeyDictionary()


_records: dict[int, _Record] = {}  # by the identity of the object, as long as it lives


def _begin(made: _local, record: _Record) -> _Record:
    _records[id(made)] = record
    weakref.finalize(made, _records.pop, id(made), None).atexit = False
    return record


def _owner() -> Any:
    """The simulated thread that runs; its clock while events happen; None for a thread that is no rank."""
    clock = world.place().clock
    if not isinstance(clock, VirtualClock):
        return None
    return clock.current() or clock


def _mine(local: _local) -> dict[str, Any] | None:
    """The caller's attributes. They begin with those that `__init__` sets, as with the real ones."""
    me = _owner()
    if me is None:
        return None
    record = _records.get(id(local)) or _begin(local, _made_before(type(local)))
    found = record.of.get(me)
    if found is None:
        found = record.of[me] = {}
        kind = type(local)
        if kind.__init__ is not object.__init__:
            try:
                kind.__init__(local, *record.args, **record.kwargs)
            except BaseException:
                del record.of[me]
                raise
    return found


def _made_before(kind: type) -> _Record:
    """Of an object that the run did not make. Python does not tell what its `__init__` was called with."""
    init: Any = kind.__init__  # type: ignore[misc]
    if init is not object.__init__:
        code = init.__code__ if isinstance(init, FunctionType) else None
        if code is None or code.co_argcount + code.co_kwonlyargcount > 1 or code.co_flags & 0x0C:
            raise refusal(
                f"an object of {kind.__qualname__}, a threading.local",
                "it was made before the run, and each rank would have to call __init__ with arguments that "
                "are not known any more. Make it within the function that is simulated",
                "used",
            )
    return _Record((), {})


def _of_class(kind: type, name: str) -> Any:
    for base in kind.__mro__:
        if name in vars(base):
            return vars(base)[name]
    return _MISSING


def _real(local: _local) -> _local:
    record = _records.get(id(local))
    return local if record is None or record.real is None else record.real


def _get(local: _local, name: str) -> Any:
    mine = _mine(local)
    if mine is None:
        return _local.__getattribute__(_real(local), name)
    if name == "__dict__":
        return mine
    kind = type(local)
    found = _of_class(kind, name)
    how = type(found)
    if hasattr(how, "__get__") and (hasattr(how, "__set__") or hasattr(how, "__delete__")):
        return how.__get__(found, local, kind)
    if name in mine:
        return mine[name]
    if found is _MISSING:
        words = f"{kind.__name__!r} object has no attribute {name!r}"
        raise AttributeError(words, name=name, obj=local)
    return how.__get__(found, local, kind) if hasattr(how, "__get__") else found


def _set(local: _local, name: str, value: Any) -> None:
    mine = _mine(local)
    if mine is None:
        return _local.__setattr__(_real(local), name, value)
    found = _of_class(type(local), name)
    if name == "__dict__":
        raise AttributeError(f"{type(local).__name__!r} object attribute '__dict__' is read-only")
    if hasattr(type(found), "__set__"):
        return type(found).__set__(found, local, value)  # type: ignore[no-any-return]
    mine[name] = value
    return None


def _delete(local: _local, name: str) -> None:
    mine = _mine(local)
    if mine is None:
        return _local.__delattr__(_real(local), name)
    found = _of_class(type(local), name)
    if hasattr(type(found), "__delete__"):
        return type(found).__delete__(found, local)  # type: ignore[no-any-return]
    if name not in mine:
        raise AttributeError(name, name=name, obj=local)
    del mine[name]
    return None


def _make(kind: type, /, *args: Any, **kwargs: Any) -> Any:
    made: Any = _local.__new__(kind, *args, **kwargs)
    record = _begin(made, _Record(args, kwargs))
    if (me := _owner()) is not None:
        record.of[me] = {}  # `__init__` follows
    return made


class VirtualLocal(_local):
    """A `threading.local`; its instances outlive the run, and are then as the real ones."""

    def __new__(cls, /, *args: Any, **kwargs: Any) -> Any:
        if cls is VirtualLocal and _owner() is None:
            return _local(*args, **kwargs)
        return _make(cls, *args, **kwargs)

    __getattribute__ = _get
    __setattr__ = _set
    __delattr__ = _delete


def stand_in(real: _local) -> Any:
    """For an object that was made before, and has no class of its own."""
    made: Any = _local.__new__(VirtualLocal)
    _begin(made, _Record((), {}, real))
    return made


# --------------------------------------------------------------------------- classes made before


def adapted(is_users: Callable[[str], bool]) -> Iterator[Callable[[], None]]:
    """Let the user's classes that derive from `threading.local` do as `VirtualLocal` does. The functions that undo it."""
    for kind in _local.__subclasses__():
        module = sys.modules.get(kind.__module__)
        file = getattr(module, "__file__", "<frozen" if kind.__module__ != "__main__" else "")
        if kind is VirtualLocal or not is_users(file or "<frozen"):
            continue
        is_plain = all(getattr(kind, name) is getattr(_local, name) for name in _WAYS)
        ours = (_make, _get, _set, _delete) if is_plain else _refusals(kind)
        for name, way in zip(_WAYS, ours, strict=True):
            before = vars(kind).get(name, _MISSING)
            setattr(kind, name, way)
            yield functools.partial(_put_back, kind, name, before)


def _put_back(kind: type, name: str, before: Any) -> None:
    if before is _MISSING:
        delattr(kind, name)
    else:
        setattr(kind, name, before)


def _refusals(kind: type) -> list[Callable[..., Any]]:
    return [_refusing(kind, getattr(kind, name)) for name in _WAYS]


def _refusing(kind: type, original: Callable[..., Any]) -> Callable[..., Any]:
    def refuse(*args: Any, **kwargs: Any) -> Any:
        if _owner() is None:
            return original(*args, **kwargs)
        raise refusal(
            f"{kind.__qualname__}, a threading.local",
            "a class with its own ways to make objects or to reach attributes, which was made before the run, "
            "cannot give each rank its own. Make the class within the function that is simulated",
            "used",
        )

    return refuse
