"""Nothing comes into a simulated run from outside: not the time, not chance, not a thread."""

from __future__ import annotations

import datetime
import os
import pickle
import queue
import random
import secrets
import sys
import threading
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime as by_name
from pathlib import Path
from random import random as taken_out
from time import monotonic as taken_clock, sleep as taken_sleep
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import minitorch_dist as torch
from minitorch_dist import distributed as dist, launch, sim


@pytest.mark.parametrize("engine", ["threads", "auto"])
def test_clocks_tell_virtual_time(engine: str) -> None:
    def program() -> list[float]:
        begun = time.time(), time.monotonic(), time.perf_counter(), time.time_ns()
        time.sleep(3600)
        sim.compute("400s")
        return [
            time.time() - begun[0], time.monotonic() - begun[1], time.perf_counter() - begun[2],
            (time.time_ns() - begun[3]) / 1e9, sim.now(), time.time(),
        ]  # fmt: skip

    real = time.monotonic()
    report = sim.run(program, 3, engine=engine)
    assert report.results == [[4000.0] * 5 + [946_688_800.0]] * 3
    assert report.ranks[0].busy == 4000 * 10**12
    assert time.monotonic() - real < 60 and time.time() > 1.6e9


def wall() -> list[str]:
    time.sleep(3600)
    now = datetime.datetime.now(UTC)
    assert isinstance(now, by_name) and isinstance(now, date) and type(now).__name__ == "datetime"
    assert issubclass(by_name, date) and not isinstance(date.today(), by_name)
    assert pickle.loads(pickle.dumps([now, date.today()])) == [now, datetime.date.today()]
    assert by_name(2020, 1, 2, tzinfo=UTC) < now - datetime.timedelta(-(10**4))
    return [
        f"{now}", f"{by_name.now(UTC)}", f"{by_name.utcnow()}", f"{date.today().year}",
        time.strftime("%Y", time.gmtime()), f"{time.localtime().tm_year}", time.ctime()[-4:],
    ]  # fmt: skip


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

    real = time.monotonic()
    first, again = (sim.run(program, 2, seed=3).results for _ in range(2))
    assert first == again and [clock for clock, _ in first] == [3600.0, 3600.0]
    assert time.monotonic() - real < 60 and taken_sleep is time.sleep and taken_out is random.random


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
    ]  # fmt: skip
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
        (lambda: threading.Event().wait(1), r"threading.Condition.wait\(\)"),
        (lambda: queue.Queue().get(), r"threading.Condition.wait\(\)"),
    ],
)
def test_real_threads_are_an_error_that_says_what_to_use(act: Any, call: str, engine: str) -> None:
    def program() -> None:
        if dist.get_rank() == 1:
            act()
        dist.barrier()

    with pytest.raises(
        dist.DistError, match=rf"rank 1 called {call}.* at test_outside.py:\d+ in a"
    ):
        sim.run(program, 2, engine=engine)
    with pytest.raises(dist.DistError, match=rf"rank 1 called {call}"):
        launch(program, 2, "sim://")
    assert act.__code__.co_filename == __file__


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
