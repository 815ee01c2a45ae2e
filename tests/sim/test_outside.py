"""Nothing comes into a simulated run from outside: not the time, not chance, not a thread."""

from __future__ import annotations

import os
import queue
import random
import secrets
import threading
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from random import random as taken_out
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
    with pytest.warns(RuntimeWarning, match="the generator of random was drawn from"):
        sim.run(taken_out, 2)


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
