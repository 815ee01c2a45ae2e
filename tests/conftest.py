"""What every test stands on: one Hypothesis profile, and a check that nothing is left behind."""

from __future__ import annotations

import asyncio
import datetime
import gc
import multiprocessing
import os
import queue
import random
import signal
import threading
import time
import uuid
from collections.abc import Iterator
from multiprocessing import forkserver, resource_tracker
from pathlib import Path

import hypothesis
import numpy as np
import pytest

hypothesis.settings.register_profile("ci", derandomize=True, deadline=None, max_examples=50, print_blob=True)
hypothesis.settings.register_profile("deep", deadline=None, max_examples=2000)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))

WARM = ["minitorch_dist.sim", "minitorch_dist.testing", "transports.conformance", "pytest"]

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as a shell leaves it in the background
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_finish(session: pytest.Session) -> None:
    """A simulated run looks for `sleep` and its kin in all modules of its user. Here these are all tests,
    six hundred files, which took longer than most runs. Only those that have such a name are looked at."""
    from minitorch_dist.launching import replacements, standard_locks

    owners = (time, random, np.random, uuid)
    taken = {id(found) for owner in owners for found in vars(owner).values() if callable(found)}
    taken |= {id(datetime.datetime), id(datetime.date), id(os.urandom)}
    taken |= {id(threading.Lock), id(threading.RLock), id(queue.SimpleQueue), id(threading.local)}
    taken |= {id(os.fork), id(asyncio.run)}
    for module in {item.module for item in session.items if isinstance(item, pytest.Function)}:
        held = vars(module).values()
        if taken.isdisjoint(map(id, held)) and standard_locks.KINDS.isdisjoint(map(type, held)):
            replacements.pass_over(module)


def pytest_sessionfinish() -> None:
    forkserver._forkserver._stop()  # type: ignore[attr-defined]


def _start_method(method: str) -> None:
    """Of the processes that `launch` and the kit of transports start from now on."""
    from minitorch_dist.launching import processes
    from transports.conformance import launchers

    processes.START_METHOD = launchers.START_METHOD = method


@pytest.fixture(autouse=True)
def warm_processes(request: pytest.FixtureRequest) -> Iterator[None]:
    """Ranks come from a fork server that has imported the library: they begin in a tenth of the time.

    A test that is marked `spawn` has them as users have, from a fresh interpreter. So has one that reads what
    they print: a fork server keeps the files of its own beginning."""
    is_cold = request.node.get_closest_marker("spawn") or "capfd" in request.fixturenames
    multiprocessing.set_forkserver_preload(WARM)
    _start_method("spawn" if is_cold else "forkserver")
    yield
    _start_method("spawn")


def _open_files() -> dict[str, str]:
    """File descriptors of this process and what they point at (Linux; elsewhere nothing)."""
    folder = Path("/proc/self/fd")
    found: dict[str, str] = {}
    if folder.is_dir():
        for entry in os.scandir(folder):
            try:
                target = os.readlink(entry.path)  # noqa: PTH115 - sockets are no paths
            except OSError:
                continue
            if entry.name == str(forkserver._forkserver._forkserver_alive_fd):
                continue  # Python's own helper, which stays
            if target.startswith(("socket:", "pipe:")) or (
                target.startswith("/") and not target.startswith(("/dev/", "/proc/"))
            ):
                found[entry.name] = target
    return found


@pytest.fixture(autouse=True)
def nothing_left_behind() -> Iterator[None]:
    """Fail a test that leaves a thread, a process, a socket or a file open."""
    resource_tracker.ensure_running()  # Python's own helper process: no test is blamed for its pipe
    threads, files = set(threading.enumerate()), _open_files()
    yield
    left = _leftovers(threads, files)
    if left:  # give finalizers their chance before judging
        gc.collect()
        left = _leftovers(threads, files)
    assert not left, "the test left behind: " + "; ".join(left)


def _leftovers(threads: set[threading.Thread], files: dict[str, str]) -> list[str]:
    left = [f"thread {t.name}" for t in threading.enumerate() if t not in threads]
    left += [f"process {p.name} (pid {p.pid})" for p in multiprocessing.active_children()]
    now = _open_files()
    left += [f"fd {n} -> {t}" for n, t in now.items() if files.get(n) != t]
    return left


@pytest.fixture(autouse=True)
def same_seed() -> None:
    """Each test draws the same numbers, alone or in company."""
    try:
        from minitorch_dist import manual_seed
    except ImportError:
        return
    manual_seed(0)
