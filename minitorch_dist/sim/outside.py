"""What would come from outside of a simulated run: clocks, randomness without a seed, real threads.

One run shall be the same each time it is made. So while a simulation runs, and for its ranks alone,

    time.time, monotonic, perf_counter, sleep …    tell virtual time, and wait in it
    random.random(), numpy.random.rand() …         draw from a generator of the rank's own, which is
                                                   what a process has; unseeded it follows the run's seed
    os.urandom, secrets, uuid4, default_rng()      follow the run's seed, too
    threading.Thread(…).start(), Condition.wait    are an error that names the call, and what to use

Other threads of the process see the real things. They are replaced in their modules, so what was
taken out of them before (`from time import sleep`) stays what it was; for `random` and
`numpy.random` that is noticed afterwards and warned of. `datetime.now()` cannot be replaced.
"""

from __future__ import annotations

import functools
import os
import random  # noqa: TID251 - to be replaced
import sys
import threading  # noqa: TID251 - to be replaced
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import mtrand

from minitorch_dist.distributed import world
from transports.clock import PICO
from transports.errors import DistError
from transports.virtual.clock import VirtualClock

EPOCH = 946_684_800  # the year 2000, at which virtual time begins for time.time()
_LIBRARIES = (str(Path(os.__file__).parent) + os.sep, str(Path(__file__).parent.parent) + os.sep)
_guard = threading.Lock()
_depth = 0
_replaced: list[tuple[Any, str, Any]] = []
_starting: set[int] = set()  # threads that start a strand


class Outside(DistError):
    """Something was called that a simulated rank cannot use."""


def _place() -> world.Place | None:
    """The caller's, if it is a rank of a simulation."""
    here = world.place()
    return here if isinstance(here.clock, VirtualClock) else None


@contextmanager
def kept_out() -> Iterator[None]:
    """Within the block, what comes from outside is replaced for simulated ranks."""
    global _depth
    with _guard:
        _depth += 1
        if _depth == 1:
            _replace_all()
    before = _states()
    try:
        yield
    finally:
        after = _states()
        with _guard:
            _depth -= 1
            if _depth == 0:
                while _replaced:
                    owner, name, original = _replaced.pop()
                    setattr(owner, name, original)
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
    for name in ("monotonic", "perf_counter", "process_time", "thread_time"):
        _replace(time, name, lambda: _now() / PICO)
        _replace(time, f"{name}_ns", lambda: _now() // 1000)
    _replace(time, "time", lambda: EPOCH + _now() / PICO)
    _replace(time, "time_ns", lambda: EPOCH * 10**9 + _now() // 1000)
    _replace(time, "sleep", lambda seconds: world.place().clock.sleep(seconds))
    _replace(os, "urandom", _octets)
    _replace(random, "_urandom", _octets)
    for name, found in list(vars(random).items()):
        if getattr(found, "__self__", None) is random._inst:
            _replace(random, name, functools.partial(_draw, "random", name))
    for name, found in list(vars(np.random).items()):
        if getattr(found, "__self__", None) is mtrand._rand:
            _replace(np.random, name, functools.partial(_draw, "numpy.random", name))
    _replace(np.random, "seed", functools.partial(_draw, "numpy.random", "seed"))
    _replace_start()
    _replace_wait()


def _replace(owner: Any, name: str, ours: Callable[..., Any]) -> None:
    original = getattr(owner, name)

    @functools.wraps(original)
    def replacement(*args: Any, **kwargs: Any) -> Any:
        return (original if _place() is None else ours)(*args, **kwargs)

    _replaced.append((owner, name, original))
    setattr(owner, name, replacement)


def _replace_start() -> None:
    original = threading.Thread.start

    def start(thread: threading.Thread) -> None:
        if _place() is None:
            return original(thread)
        owner = getattr(getattr(thread, "_target", None), "__self__", None)
        if not type(owner).__module__.startswith("transports."):
            raise _error(
                "threading.Thread.start()",
                "a real thread has no place in virtual time. Use sim.start(function), async_op=True "
                "or rpc; they work in real time as well",
            )
        me = threading.get_ident()
        _starting.add(me)
        try:
            return original(thread)
        finally:
            _starting.discard(me)

    _replaced.append((threading.Thread, "start", original))
    setattr(threading.Thread, "start", start)  # noqa: B010 - it is replaced, not overridden


def _replace_wait() -> None:
    original = threading.Condition.wait

    def wait(condition: threading.Condition, timeout: float | None = None) -> bool:
        blocks = timeout is None or timeout > 0
        if blocks and _place() is not None and threading.get_ident() not in _starting:
            raise _error(
                "threading.Condition.wait() (Event, Queue, Future and others are made of it)",
                "it would stop all ranks, of which one runs at a time. Use messages, the store, or "
                "futures of this package, which wait in virtual time",
            )
        return original(condition, timeout)

    _replaced.append((threading.Condition, "wait", original))
    setattr(threading.Condition, "wait", wait)  # noqa: B010


def _error(call: str, why: str) -> Outside:
    rank = world.place().given.get("rank", "?")
    return Outside(f"rank {rank} called {call} at {_site()} in a simulated run: {why}")


def _site() -> str:
    """The innermost line that is neither ours nor the standard library's."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_LIBRARIES):
        if frame.f_globals.get("PROGRAM", False):
            break
        frame = frame.f_back
    return f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}"


def _now() -> int:
    return world.place().clock.now()


def _seed(what: str) -> int:
    """A number that belongs to this run, this rank and this purpose."""
    here = world.place()
    stage = here.clock.extras.get("stage") if isinstance(here.clock, VirtualClock) else None
    seed = 0 if stage is None else stage.hardship.seed
    key = f"{seed} {here.given.get('rank')} {what}".encode()
    return int.from_bytes(blake2b(key, digest_size=8).digest(), "big")


def _octets(count: int) -> bytes:
    drawn = _generator("urandom", lambda: random.Random(_seed("urandom")))
    return drawn.randbytes(count)  # type: ignore[no-any-return]


def _draw(module: str, name: str, /, *args: Any, **kwargs: Any) -> Any:
    """Call the method of this rank's own generator."""
    make = random.Random if module == "random" else np.random.RandomState
    own = _generator(module, lambda: make(_seed(module) % 2**32))
    return getattr(own, name)(*args, **kwargs)


def _generator(name: str, make: Callable[[], Any]) -> Any:
    given = world.place().given
    found = given.get(f"generator of {name}")
    if found is None:
        found = given[f"generator of {name}"] = make()
    return found


def _states() -> tuple[Any, Any]:
    """Of the process's own generators."""
    state: Any = mtrand._rand.get_state()
    return random.getstate(), (state[1].tobytes(), *state[2:])
