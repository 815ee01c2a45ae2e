"""Real time beside a simulation: which calls of a rank are refused, and which waits stay real.

an event loop of asyncio      would count virtual seconds, which stand still while it waits
a process, or a fork          is a copy of all ranks, or lives by another clock than they do
subprocess.run, os.system     may be used: all ranks wait in real time until the command has ended,
                              and no virtual time passes
DataLoader(num_workers=…)     may start its workers where they are no copies (by "spawn")
"""

from __future__ import annotations

import _thread
import asyncio
import multiprocessing
import os
import subprocess
import time
import uuid
from collections.abc import Callable, Iterator
from multiprocessing import connection
from multiprocessing.process import BaseProcess
from types import SimpleNamespace
from typing import Any, NamedTuple

from minitorch_dist.launching.callers import LIBRARY

_LOADER = f"{LIBRARY}utils{os.sep}data{os.sep}"
THREAD = (
    "a real thread has no place in virtual time. Use sim.start(function), async_op=True or rpc; they work in real "
    "time as well"
)
_LOOP = (
    "an event loop waits in real time, and its clock is the virtual one, so it would not end. Use time.sleep, "
    "sim.compute, sim.start, async_op=True or rpc; or run the program in real time, over queue:// or tcp://"
)
_PROCESS = (
    "the process would run in real time, and a rank that waits for it stops all others. Use sim.start or rpc; "
    "or run the program in real time, over queue:// or tcp://. subprocess.run may be used for a command. "
    "If the process is to be a rank: the run has started all ranks, so call its function with this rank. A DataLoader may have num_workers=0 or multiprocessing_context='spawn'"
)
_FORK = (
    "the child would be a copy of all ranks, in the middle of what they do. Use sim.start or rpc, and "
    "subprocess.run for a command"
)

_HOST = "it tells of this machine, and each run shall be the same. uuid.uuid4() follows the seed of the run"


class RefusedCall(NamedTuple):
    owner: Any
    name: str
    call: str
    why: str
    is_allowed: Callable[[str, tuple[Any, ...]], bool] = lambda file, args: False  # by this file


def _is_loaders(file: str, args: tuple[Any, ...]) -> bool:
    """Whether a DataLoader starts a worker that is no copy of this process."""
    method = args[0]._start_method or multiprocessing.get_start_method()
    return file.startswith(_LOADER) and method != "fork"


def refused() -> Iterator[RefusedCall]:
    """The calls that are an error for simulated ranks."""
    yield RefusedCall(BaseProcess, "start", "multiprocessing.Process.start()", _PROCESS, _is_loaders)
    yield RefusedCall(_thread, "start_new_thread", "_thread.start_new_thread()", THREAD)
    yield RefusedCall(asyncio, "run", "asyncio.run()", _LOOP)
    for name in ("__enter__", "run", "get_loop"):
        yield RefusedCall(asyncio.Runner, name, "asyncio.Runner()", _LOOP)
    for name in ("run_forever", "run_until_complete"):
        yield RefusedCall(asyncio.BaseEventLoop, name, f"{name}() of an event loop", _LOOP)
    for name in ("uuid1", "getnode"):
        yield RefusedCall(uuid, name, f"uuid.{name}()", _HOST)
    for name in ("fork", "forkpty"):
        if hasattr(os, name):
            yield RefusedCall(os, name, f"os.{name}()", _FORK)


def kept() -> Iterator[tuple[Any, Any]]:
    """Modules that wait for processes do so in real time: each with a copy of the module `time` as it is. (A sleep
    of virtual time between two looks at a process would move the clock by chance.)"""
    for module in (subprocess, connection):
        yield module, SimpleNamespace(**vars(time))
