"""Nothing comes into a simulated run from outside: not the time, not chance, not a thread."""

from __future__ import annotations

import datetime
import io
import logging
import logging.handlers
import os
import pickle
import queue
import random
import secrets
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import uuid
import warnings
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime as by_name
from importlib.machinery import ExtensionFileLoader
from pathlib import Path
from random import random as taken_out
from time import monotonic as taken_clock, sleep as taken_sleep
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from rich.console import Console
from rich.progress import Progress

import minitorch_dist as torch
from minitorch_dist import distributed as dist, launch, sim


@pytest.mark.parametrize("engine", ["threads", "auto"])
def test_clocks_tell_virtual_time(engine: str) -> None:
    def program() -> list[float]:
        begun = time.time(), time.monotonic(), time.perf_counter(), time.time_ns()
        time.sleep(3600)
        sim.compute("400s")
        return [
            time.time() - begun[0],
            time.monotonic() - begun[1],
            time.perf_counter() - begun[2],
            (time.time_ns() - begun[3]) / 1e9,
            sim.now(),
            time.time(),
        ]

    report = sim.run(program, 3, engine=engine)
    assert report.results == [[4000.0] * 5 + [946_688_800.0]] * 3
    assert report.ranks[0].busy == 4000 * 10**12
    assert time.time() > 1.6e9


def wall() -> list[str]:
    time.sleep(3600)
    now = datetime.datetime.now(UTC)
    assert isinstance(now, by_name) and isinstance(now, date) and type(now).__name__ == "datetime"
    assert issubclass(by_name, date) and not isinstance(date.today(), by_name)
    assert pickle.loads(pickle.dumps([now, date.today()])) == [now, datetime.date.today()]
    assert by_name(2020, 1, 2, tzinfo=UTC) < now - datetime.timedelta(-(10**4))
    return [
        f"{now}",
        f"{by_name.now(UTC)}",
        f"{by_name.utcnow()}",
        f"{date.today().year}",
        time.strftime("%Y", time.gmtime()),
        f"{time.localtime().tm_year}",
        time.ctime()[-4:],
    ]


@pytest.mark.filterwarnings("ignore:.*utcnow:DeprecationWarning")
def test_the_clock_on_the_wall_does_too() -> None:
    before = datetime.datetime.now()
    now = "2000-01-01 01:00:00"
    told = [f"{now}+00:00", f"{now}+00:00", now, "2000", "2000", "2000", "2000"]
    assert launch(wall, 3, "sim://") == [told] * 3
    after = datetime.datetime.now()
    assert before <= after and type(after) is by_name and pickle.loads(pickle.dumps(after)) == after


def test_so_do_names_that_were_taken_out_of_their_modules() -> None:
    def program() -> list[Any]:
        taken_sleep(3600)
        return [taken_clock(), taken_out()]

    first, again = (sim.run(program, 2, seed=3).results for _ in range(2))
    assert first == again and [clock for clock, _ in first] == [3600.0, 3600.0]
    assert taken_sleep is time.sleep and taken_out is random.random


def test_what_is_installed_keeps_what_it_took(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, bool] = {}
    for name, folder in {"theirs": Path(pytest.__file__).parent, "users": Path("/home")}.items():
        module = ModuleType(name)
        module.__dict__.update(__file__=f"{folder / name}.py", clock=time.monotonic)
        monkeypatch.setitem(sys.modules, name, module)
    real = time.monotonic

    def program() -> None:
        seen.update({name: sys.modules[name].clock is real for name in ("theirs", "users")})  # type: ignore[attr-defined]

    launch(program, 1, "sim://")
    assert seen == {"theirs": True, "users": False} and sys.modules["users"].clock is real  # type: ignore[attr-defined]


@pytest.mark.parametrize("transport", ["queue://", "sim://"])
def test_launch_keeps_them_out_as_well(transport: str) -> None:
    """Over `sim://` only: threads in real time are in real time."""

    def program() -> list[Any]:
        time.sleep(0.001 if transport == "queue://" else 3600)
        return [time.monotonic(), random.random(), os.urandom(4)]

    results = [launch(program, 2, transport) for _ in range(2)]
    assert (results[0] == results[1]) == (transport == "sim://")


def draws() -> list[Any]:
    x = [
        random.random(), random.randint(0, 10**9), np.random.rand(), np.random.randint(10**9),
        os.urandom(8).hex(), secrets.token_hex(8), f"{uuid.uuid4()}", np.random.default_rng().random(),
        random.SystemRandom().random(), np.random.RandomState().rand(),
        random.Random().random(), os.getrandom(8).hex(),
        next(tempfile._get_candidate_names()), Path(tempfile.mktemp()).name,  # type: ignore[attr-defined]
        random.Random(None).random(),
    ]  # fmt: skip
    random.seed()
    np.random.seed()
    x += [random.random(), np.random.rand()]
    random.seed(7)
    np.random.seed(7)
    return [x, [random.random(), np.random.rand(), random.gauss(0, 1)]]


def test_what_has_no_seed_follows_that_of_the_run() -> None:
    ours = random.getstate(), np.random.get_state()[1].tobytes()  # type: ignore[union-attr]
    first, again, other = (sim.run(draws, 3, seed=seed).results for seed in (1, 1, 2))
    assert first == again
    seen = [value for results in (first, other) for x, _ in results for value in x]
    assert len(set(seen)) == len(seen)  # each rank, each seed, each draw
    random.seed(7)
    np.random.seed(7)
    expected = [random.random(), np.random.rand(), random.gauss(0, 1)]
    assert all(seeded == expected for _, seeded in first)  # as each of several processes has it
    random.setstate(ours[0])
    assert random.getstate() == ours[0]


def test_what_was_taken_out_before_is_noticed() -> None:
    held = [taken_out]  # a name of a module would be replaced
    with pytest.warns(RuntimeWarning, match="the generator of random was drawn from"):
        sim.run(lambda: held[0](), 2)


@pytest.mark.parametrize("engine", ["threads", "auto"])
@pytest.mark.parametrize(
    ("act", "call"),
    [
        (lambda: threading.Thread(target=print).start(), r"threading.Thread.start\(\)"),
        (lambda: ThreadPoolExecutor(1).submit(print), r"threading.Thread.start\(\)"),
        (lambda: threading.Timer(1, print).start(), r"threading.Thread.start\(\)"),
    ],
)
def test_real_threads_are_an_error_that_says_what_to_use(act: Any, call: str, engine: str) -> None:
    def program() -> None:
        if dist.get_rank() == 1:
            act()
        dist.barrier()

    with pytest.raises(dist.DistError, match=rf"rank 1 called {call}.* at test_outside.py:\d+ in a"):
        sim.run(program, 2, engine=engine)
    with pytest.raises(dist.DistError, match=rf"rank 1 called {call}"):
        launch(program, 2, "sim://")
    assert act.__code__.co_filename == __file__


class Stream(io.TextIOBase):
    """As a notebook's: a thread of its own takes the text, and `flush` waits for it."""

    def __init__(self) -> None:
        self.text = ""
        self._work: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        for act in iter(self._work.get, None):
            act()

    def write(self, text: str) -> int:
        self._work.put(lambda: setattr(self, "text", self.text + text))
        return len(text)

    def flush(self) -> None:
        if self._thread.is_alive():
            done = threading.Event()
            self._work.put(done.set)
            assert done.wait(60)

    def close(self) -> None:
        self._work.put(None)
        self._thread.join()


class Plain:
    """A stream that is no `io` class, upon another one."""

    def __init__(self, below: Stream) -> None:
        self.write, self._below = below.write, below

    def flush(self) -> None:
        done = threading.Event()
        self._below._work.put(done.set)
        assert done.wait(60)


ENGINES = ["threads", "greenlet", "lockstep", "closed", "auto"]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_ranks_print_and_log_to_streams_with_threads_of_their_own(
    engine: str, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream, listened = Stream(), Stream()
    monkeypatch.setattr(sys, "stdout", stream)
    monkeypatch.setattr(sys, "stderr", Plain(stream))
    log = logging.Logger("of a program")
    log.addHandler(logging.StreamHandler(stream))
    log.addHandler(logging.handlers.MemoryHandler(1, target=logging.StreamHandler(stream)))
    between: queue.Queue[Any] = queue.Queue()
    log.addHandler(logging.handlers.QueueHandler(between))
    listener = logging.handlers.QueueListener(between, logging.StreamHandler(listened))

    def program() -> None:
        rank = dist.get_rank()
        if rank == 0:
            listener.start()  # its thread is no rank
        dist.barrier()
        print("rank", rank, flush=True)
        log.warning("log %d", rank)
        warnings.warn(f"warning {rank}", stacklevel=1)
        print("to stderr", rank, file=sys.stderr, flush=True)
        for done in range(3):
            sys.stderr.write(f"\rbar {rank}: {done}")
            sys.stderr.flush()
        try:
            raise KeyError(f"pear {rank}")
        except KeyError:
            traceback.print_exc()
            log.exception("logged")
        Console(file=stream).print(f"rich {rank}")
        dist.all_reduce(torch.ones(1))

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        monkeypatch.setattr(warnings, "showwarning", lambda message, *rest: print(message, file=sys.stderr))
        sim.run(program, size, engine=engine)
    listener.stop()
    stream.flush()
    listened.flush()
    for rank in range(size):
        for said, times in {
            f"rank {rank}\n": 1,
            f"log {rank}\n": 2,
            f"warning {rank}\n": 1,
            f"to stderr {rank}\n": 1,
            f"\rbar {rank}: 2": 1,
            f"KeyError: 'pear {rank}'": 3,
            f"rich {rank}": 1,
        }.items():
            assert stream.text.count(said) == times, said
        assert f"log {rank}\n" in listened.text
    stream.close()
    listened.close()


@pytest.mark.parametrize("engine", ENGINES)
def test_packages_that_are_installed_may_have_threads_in_the_background(engine: str) -> None:
    """A progress bar has one that draws."""
    stream = Stream()

    def program() -> None:
        with Progress(console=Console(file=stream, force_terminal=True, width=60)) as bar:
            for _ in bar.track(range(3), description=f"rank {dist.get_rank()}"):
                dist.barrier()

    before = set(threading.enumerate())
    sim.run(program, 2, engine=engine)
    for drawing in set(threading.enumerate()) - before:
        drawing.join()  # a bar tells its thread to end, and does not wait for it
    stream.flush()
    assert "rank 0" in stream.text and "rank 1" in stream.text
    stream.close()


@pytest.mark.parametrize("transport", ["sim://", "queue://"])
def test_what_to_use_instead(transport: str) -> None:
    def program() -> list[str]:
        seen = []
        helper = sim.start(lambda: seen.append(f"{dist.get_rank()}"), "helper")
        helper.join()
        work: Any = dist.all_reduce(torch.ones(1), async_op=True)
        work.wait()
        return seen

    assert launch(program, 3, transport) == [["0"], ["1"], ["2"]]


def test_everything_is_as_it_was_before() -> None:
    before = time.sleep, random.random, os.urandom, threading.Thread.start, np.random.rand
    sim.run(draws, 2)
    with pytest.raises(ZeroDivisionError):
        sim.run(lambda: 1 / 0, 2)
    assert before == (time.sleep, random.random, os.urandom, threading.Thread.start, np.random.rand)


def test_others_see_the_real_things() -> None:
    seen: list[float] = []
    stop = threading.Event()

    def watch() -> None:
        while not stop.wait(0.001):
            seen.append(time.time())

    thread = threading.Thread(target=watch)
    thread.start()
    sim.run(lambda: [time.sleep(1) for _ in range(500)], 3)
    while not seen:
        time.sleep(0.001)
    stop.set()
    thread.join()
    assert min(seen) > 1.6e9


def test_modules_in_c_find_the_real_dates(monkeypatch: pytest.MonkeyPatch) -> None:
    """pandas reads their fields from C, where a class that stands in for them has others."""
    real, seen = (datetime.datetime, datetime.date), []

    def load(self: Any, *args: Any) -> None:
        seen.append((datetime.datetime, datetime.date))

    monkeypatch.setattr(ExtensionFileLoader, "exec_module", load)

    def program() -> bool:
        before = datetime.datetime, datetime.date
        ExtensionFileLoader("module", "module.so").exec_module(ModuleType("module"))
        return before == (datetime.datetime, datetime.date) and before[0] is not real[0]

    assert sim.run(program, 2).results == [True, True]
    assert seen == [real] * 2 and datetime.datetime is real[0]


@pytest.mark.parity
def test_pandas_is_imported_by_a_rank() -> None:
    pytest.importorskip("pandas")
    script = "import sys; from minitorch_dist import sim; print(sim.run(lambda: str(__import__('pandas').Timestamp('2020-01-01')), 2).results)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.count("2020-01-01 00:00:00") == 2
