"""The things that would come from outside of a simulated run: clocks, randomness without a seed, real
threads.

One run shall be the same each time it is made. So while a simulation runs, and for its ranks alone,

    time.time, monotonic, sleep, datetime.now …    tell virtual time, and wait in it (`wall_clock`)
    random.random(), numpy.random.rand() …         draw from a generator of the rank's own, which is
                                                   what a process has; unseeded it follows the run's
                                                   seed (`chance`)
    os.urandom, secrets, uuid, Random(), tempfile  follow the run's seed, too
    torch.rand() …                                 begins as the caller's generator stands, if it was
                                                   seeded; else each rank's follows the run's seed
    threading.Lock(), Event, Queue …               wait in virtual time (`standard_locks`)
    threading.local                                belongs to a rank, or a thread of one (`standard_locals`)
    threading.Thread(…).start()                    is an error that names the call, and what to use;
                                                   not where output waits for its own thread (`output`),
                                                   or a package starts it (`package_threads`)
    asyncio, multiprocessing, os.fork              are such an error, too (`real_time`)

Other threads of the process see the real things. They are replaced in their own modules, and in the
user's modules where they were taken out of those before (`from time import sleep`); not in packages
that are installed. For `random` and `numpy.random` what remains is noticed afterwards and warned of.
"""

from __future__ import annotations

import copyreg
import datetime
import functools
import operator
import os
import random  # noqa: TID251 - to be replaced
import sys
import tempfile
import threading  # noqa: TID251 - to be replaced
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from importlib.machinery import ExtensionFileLoader
from types import CoroutineType, ModuleType
from typing import Any

import numpy as np
from numpy.random import mtrand

from minitorch_dist.launching import (
    chance,
    output,
    package_threads,
    real_time,
    standard_locals,
    standard_locks,
    wall_clock,
)
from minitorch_dist.launching.callers import Outside as Outside, caller, is_users, refusal
from minitorch_dist.launching.wall_clock import is_simulated

_guard = threading.Lock()
_depth = 0
_replaced: list[tuple[Any, str, Any]] = []
_undo: list[Callable[[], None]] = []  # for locks, and objects of `threading.local`
_instead: dict[int, Any] = {}  # by the identity of what is replaced
_known_modules: list[Any] = []  # all modules, at the last run
_users: list[Any] = []  # those of them that are the user's
_passed_over: dict[int, Any] = {}  # modules of the user's that need no look, by their identity


@contextmanager
def kept_out() -> Iterator[None]:
    """Within the block, functions that reach outside the simulation are replaced for simulated ranks."""
    global _depth
    with _guard:
        _depth += 1
        if _depth == 1:
            _replace_all()
    before = chance.states()
    try:
        yield
    finally:
        after = chance.states()
        with _guard:
            _depth -= 1
            if _depth == 0:
                _put_back()
    for module, was, now in zip(("random", "numpy.random"), before, after, strict=True):
        if was != now:
            warnings.warn(
                f"the generator of {module} was drawn from during the run, through a name that was "
                f"imported from it: the run may not be the same again. Call {module}.… by its full "
                "name, or give each rank a generator with a seed",
                RuntimeWarning,
                stacklevel=3,
            )


def _replace_all() -> None:
    for module, its_time in real_time.kept():
        _replaced.append((module, "time", module.time))  # there alone
        module.time = its_time
    _refuse(real_time.refused())
    _put(threading, "local", standard_locals.VirtualLocal)
    _undo.extend(standard_locals.refused(is_users))
    for name, ours in wall_clock.instead().items():
        _replace(time, name, ours)
    _replace(os, "urandom", chance.octets)
    _replace(random, "_urandom", chance.octets)
    if hasattr(os, "getrandom"):
        _replace(os, "getrandom", chance.getrandom)
    _replace(tempfile, "_get_candidate_names", chance.candidate_names)
    _replace_seeding()
    for name, found in list(vars(random).items()):
        if getattr(found, "__self__", None) is random._inst:
            _replace(random, name, _drawn("random", name))
    for name, found in list(vars(np.random).items()):
        if getattr(found, "__self__", None) is mtrand._rand:
            _replace(np.random, name, _drawn("numpy.random", name))
    _replace(np.random, "seed", _drawn("numpy.random", "seed"))
    for owner, name, ours in standard_locks.instead():
        _replace(owner, name, ours)
    _put(datetime, "datetime", wall_clock.Datetime)
    _put(datetime, "date", wall_clock.Date)
    copyreg.dispatch_table.update(wall_clock.REDUCERS)
    for name in ("create_module", "exec_module"):
        _put(ExtensionFileLoader, name, _with_real_dates(getattr(ExtensionFileLoader, name)))
    _replace_taken_out()
    _replace_start()


def _replace(owner: ModuleType, name: str, ours: Callable[..., Any]) -> None:
    _put(owner, name, _in_simulations(getattr(owner, name), ours))


@functools.cache  # one for all runs: a program may make thousands of small ones
def _in_simulations(original: Callable[..., Any], ours: Callable[..., Any]) -> Callable[..., Any]:
    """A function that calls `ours` for simulated ranks, and the original for everybody else."""

    @functools.wraps(original)
    def replacement(*args: Any, **kwargs: Any) -> Any:
        return (ours if is_simulated() else original)(*args, **kwargs)

    return replacement


@functools.cache
def _with_real_dates(original: Callable[..., Any]) -> Callable[..., Any]:
    """A module in C, such as pandas has, reads the fields of the real classes, so it is to find these while a rank imports it."""

    @functools.wraps(original)
    def load(*args: Any) -> Any:
        stand_ins = datetime.datetime, datetime.date
        datetime.datetime, datetime.date = wall_clock.REAL, wall_clock.REAL_DATE  # type: ignore[misc]
        try:
            return original(*args)
        finally:
            datetime.datetime, datetime.date = stand_ins  # type: ignore[misc]

    return load


def _refuse(calls: Iterable[real_time.RefusedCall]) -> None:
    for refused in calls:
        original = getattr(refused.owner, refused.name)
        _put(refused.owner, refused.name, _refusing(original, refused))


@functools.cache
def _refusing(original: Callable[..., Any], refused: real_time.RefusedCall) -> Callable[..., Any]:
    """The original for everybody but simulated ranks, which get an error in words."""

    @functools.wraps(original)
    def replacement(*args: Any, **kwargs: Any) -> Any:
        if not is_simulated() or refused.is_allowed(sys._getframe(1).f_code.co_filename, args):
            return original(*args, **kwargs)
        for arg in args:
            if isinstance(arg, CoroutineType):
                arg.close()  # else Python warns that nobody awaited it
        raise refusal(refused.call, refused.why)

    return replacement


@functools.cache
def _drawn(module: str, name: str) -> Callable[..., Any]:
    return functools.partial(chance.draw, module, name)


def _replace_seeding() -> None:
    """A `random.Random()` without a seed asks the operating system for one, from within C."""
    original = random.Random.seed

    @functools.wraps(original)
    def seed(generator: random.Random, a: Any = None, version: int = 2) -> None:
        if a is None and is_simulated():
            return chance.reseed(generator)
        return original(generator, a, version)

    _put(random.Random, "seed", seed)


def _put(owner: Any, name: str, what: Any) -> None:
    original = getattr(owner, name)
    _instead[id(original)] = what
    _replaced.append((owner, name, original))
    setattr(owner, name, what)


def _put_back() -> None:
    while _undo:
        _undo.pop()()
    standard_locks.forget()
    while _replaced:
        owner, name, original = _replaced.pop()
        setattr(owner, name, original)
    _instead.clear()
    for kind in wall_clock.REDUCERS:
        copyreg.dispatch_table.pop(kind, None)


def _replace_taken_out() -> None:
    """Where the user's modules have them by name; and the locks that stand in these modules."""
    for module in _users_modules():
        names = module.__dict__
        if not standard_locks.KINDS.isdisjoint(map(type, names.values())):
            _undo.extend(standard_locks.found_in(names))
        if _instead.keys().isdisjoint(map(id, names.values())):
            continue
        for name in [name for name, value in names.items() if id(value) in _instead]:
            _replaced.append((module, name, names[name]))
            names[name] = _instead[id(names[name])]


def _users_modules() -> list[Any]:
    """Those that are neither the library's, nor installed, nor ours. Each run comes by, and there are two
    thousand modules: as long as they are the same ones, the answer is."""
    global _known_modules, _users
    modules = list(sys.modules.values())
    if len(modules) != len(_known_modules) or not all(map(operator.is_, modules, _known_modules)):
        _known_modules, _users = modules, [one for one in modules if _is_users(one)]
    return [one for one in _users if id(one) not in _passed_over]


def pass_over(module: ModuleType) -> None:
    """Promise that this module has none of the names by themselves: no run looks through it."""
    _passed_over[id(module)] = module


def _is_users(module: Any) -> bool:
    names = getattr(module, "__dict__", None)
    if names is None:
        return False
    file = names.get("__file__")
    if file is None:
        return bool(names.get("__name__") == "__main__")
    return is_users(file)


def _replace_start() -> None:
    original, made = threading.Thread.start, threading.Thread.__init__

    def init(thread: threading.Thread, *args: Any, daemon: bool | None = None, **kwargs: Any) -> None:
        """A rank's own thread is a daemon. Those that its program starts are not, unless it says so."""
        made(thread, *args, daemon=False if daemon is None and is_simulated() else daemon, **kwargs)

    def start(thread: threading.Thread) -> None:
        if not is_simulated():
            return original(thread)
        if not (_is_strand(thread) or output.is_calling()):
            if is_users(caller().f_code.co_filename) or package_threads.is_of_pool(thread):
                raise refusal("threading.Thread.start()", real_time.THREAD)
            if package_threads.belongs_to_rank(thread):
                return package_threads.start(thread)
            package_threads.note(thread, caller())
        thread.daemon = True
        me = threading.get_ident()
        standard_locks.starting.add(me)
        try:
            return original(thread)
        finally:
            standard_locks.starting.discard(me)

    _put(threading.Thread, "start", start)
    _put(threading.Thread, "__init__", init)
    _replace(threading, "current_thread", package_threads.current)


def _is_strand(thread: threading.Thread) -> bool:
    owner = getattr(getattr(thread, "_target", None), "__self__", None)
    return type(owner).__module__.startswith("transports.")
