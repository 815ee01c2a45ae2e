"""Event loops and processes live in real time: a simulated rank is refused them by name, or waits for them in real time."""

from __future__ import annotations

import _thread
import asyncio
import multiprocessing
import os
import subprocess
import sys
import warnings
from collections.abc import Callable
from typing import Any

import pytest

import minitorch_dist as torch
from minitorch_dist import sim
from minitorch_dist.launching.replacements import Outside
from minitorch_dist.utils.data import DataLoader, TensorDataset

both = pytest.mark.parametrize("engine", ["threads", "greenlet"])


async def nap() -> int:
    await asyncio.sleep(0)
    return 1


def by_loop() -> None:
    loop = asyncio.new_event_loop()
    try:
        loop.run_until_complete(nap())
    finally:
        loop.close()


def by_forever() -> None:
    loop = asyncio.new_event_loop()
    loop.call_soon(loop.stop)
    try:
        loop.run_forever()
    finally:
        loop.close()


def by_runner() -> None:
    with asyncio.Runner() as runner:
        runner.run(nap())


def by_process(method: str) -> None:
    multiprocessing.get_context(method).Process(target=int).start()  # type: ignore[attr-defined]


def by_fork() -> None:
    if os.fork() == 0:
        os._exit(0)


def by_loader() -> None:
    data = TensorDataset(torch.arange(4.0))
    for _ in DataLoader(data, num_workers=1, multiprocessing_context="fork"):
        pass


CALLS: dict[str, tuple[Callable[[], Any], str]] = {
    "run": (lambda: asyncio.run(nap()), r"asyncio\.run\(\)"),
    "loop": (by_loop, r"run_until_complete\(\) of an event loop"),
    "forever": (by_forever, r"run_forever\(\) of an event loop"),
    "runner": (by_runner, r"asyncio\.Runner\(\)"),
    "fork": (by_fork, r"os\.fork\(\)"),
    "process by fork": (lambda: by_process("fork"), r"multiprocessing\.Process\.start\(\)"),
    "process by spawn": (lambda: by_process("spawn"), r"multiprocessing\.Process\.start\(\)"),
    "workers": (by_loader, r"multiprocessing\.Process\.start\(\).*num_workers=0"),
    "thread": (lambda: _thread.start_new_thread(int, ()), r"_thread\.start_new_thread\(\)"),
}


@both
@pytest.mark.parametrize("which", CALLS)
def test_what_lives_in_real_time_is_refused_by_name(which: str, engine: str) -> None:
    act, call = CALLS[which]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(Outside, match=rf"rank 0 called {call}.*") as caught:
            sim.run(act, 2, engine=engine)
    assert "at test_real_time.py:" in str(caught.value) and ". Use " in str(caught.value)


@pytest.mark.parametrize("size", [1, 3, 5])
def test_the_caller_may_be_inside_an_event_loop(size: int) -> None:
    """As it is in a notebook, whose own loop goes on beside the run."""

    async def notebook() -> tuple[list[int], int]:
        ticks = asyncio.create_task(nap())
        results = sim.run(lambda: 7, size).results
        in_between = await asyncio.to_thread(lambda: sim.run(lambda: 8, size).results)
        return results + in_between, await ticks

    assert asyncio.run(notebook()) == ([7] * size + [8] * size, 1)


@both
@pytest.mark.parametrize("size", [1, 2, 3])
def test_a_command_may_be_run_and_takes_no_virtual_time(size: int, engine: str) -> None:
    """Also with a timeout, by which Python sleeps between two looks at the command."""

    def program() -> tuple[int, str, float]:
        waited = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
        with pytest.raises(subprocess.TimeoutExpired):
            waited.wait(0.05)
        waited.communicate(b"\n", timeout=60)
        done = subprocess.run(["echo", "words"], capture_output=True, text=True, timeout=60)
        return waited.wait(60), done.stdout, sim.now()

    assert sim.run(program, size, engine=engine).results == [(0, "words\n", 0.0)] * size
