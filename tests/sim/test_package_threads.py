"""Threads that an installed package starts on a simulated rank: its pools and loaders work in virtual time, others are named."""

from __future__ import annotations

import importlib
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

import minitorch_dist as torch
import minitorch_dist.distributed as dist
from minitorch_dist import sim
from minitorch_dist.distributed import world
from transports.errors import Deadlock

ENGINES = ["threads", "auto"]
PACKAGE = '''
import queue
import threading
import time
import time
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.pool import ThreadPool


def late(number):
    time.sleep(1)
    if number < 0:
        raise ValueError(f"no {number}")
    return number * number


def pooled(numbers):
    with ThreadPoolExecutor(4) as pool:
        return list(pool.map(late, numbers))


def of_multiprocessing(numbers):
    with ThreadPool(4) as pool:
        return pool.map(late, numbers, chunksize=1)


class Ahead(threading.Thread):
    """A loader that is some records ahead."""

    def __init__(self, numbers):
        super().__init__(daemon=True)
        self.numbers, self.records = numbers, queue.Queue(2)
        self.start()

    def run(self):
        for number in self.numbers:
            self.records.put(late(number))

    def __iter__(self):
        return (self.records.get() for _ in self.numbers)


def ahead(numbers):
    return list(Ahead(numbers))


def joined(numbers):
    found = []
    thread = threading.Thread(target=lambda: found.extend(map(late, numbers)), name="reader")
    thread.start()
    assert thread.is_alive()
    thread.join()
    assert not thread.is_alive()
    return found


def waits_for_a_daemon(stop):
    event = threading.Event()
    def work():
        stop.wait(60)
        event.set()
    threading.Thread(target=work, name="in the background", daemon=True).start()
    event.wait()
'''


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    folder = tmp_path_factory.mktemp("environment") / "site-packages"
    folder.mkdir()
    (folder / "records_ahead.py").write_text(PACKAGE)
    sys.path.insert(0, str(folder))
    try:
        yield importlib.import_module("records_ahead")
    finally:
        sys.path.remove(str(folder))
        del sys.modules["records_ahead"]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("way", "seconds"), [("pooled", 2), ("ahead", 8), ("joined", 8)])
def test_a_rank_waits_for_them_in_virtual_time(package: Any, way: str, seconds: float, engine: str) -> None:
    def program() -> tuple[list[int], float]:
        found = getattr(package, way)(range(8))
        total = torch.tensor(float(sum(found)))
        dist.all_reduce(total)
        return found, total.item()

    report = sim.run(program, 3, engine=engine)
    assert report.results == [([n * n for n in range(8)], 3 * 140.0)] * 3
    assert report.time == pytest.approx(seconds * 10**12, rel=0.01)


def test_a_pool_that_waits_for_a_pipe_is_refused_with_its_line(package: Any) -> None:
    words = r"threading.Thread.start\(\) at records_ahead.py:\d+ in a simulated run: a real thread"
    with pytest.raises(dist.DistError, match=words):
        sim.run(lambda: package.of_multiprocessing([1]), 2)


def test_an_error_in_one_comes_to_the_rank(package: Any) -> None:
    with pytest.raises(ValueError, match="no -2"):
        sim.run(lambda: package.pooled([1, -2, 3]), 2)


@pytest.mark.parametrize("size", [1, 2, 5])
def test_a_thread_that_cannot_wake_its_rank_is_named_with_its_line(package: Any, size: int) -> None:
    stop = threading.Event()
    line = 1 + PACKAGE[: PACKAGE.index('name="in the background"')].count("\n")
    try:
        with pytest.raises(Deadlock) as caught:
            sim.run(lambda: package.waits_for_a_daemon(stop), size)
    finally:
        stop.set()
    said = str(caught.value)
    words = f"thread 'in the background', started, at records_ahead.py:{line}, runs in real time"
    assert said.count(words) == size


@pytest.mark.parametrize("engine", ENGINES)
def test_an_event_of_the_network_may_ask_for_its_thread(engine: str) -> None:
    """As logging does, where a message arrives for which nobody waits."""
    names: list[str] = []

    def program() -> None:
        clock: Any = world.place().clock
        clock.at(10**9, lambda: names.append(threading.current_thread().name))
        time.sleep(1)

    sim.run(program, 1, engine=engine)
    assert len(names) == 1
