"""Locks, conditions, events, semaphores, barriers and queues of the standard library wait in virtual time."""

from __future__ import annotations

import os
import queue
import subprocess
import sys
import threading
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from threading import Lock as TakenOut
from typing import Any

import pytest

from minitorch_dist import distributed as dist, sim
from minitorch_dist.distributed import rpc
from minitorch_dist.launching import replacements
from transports.errors import Deadlock
from transports.virtual import standstill

ENGINES = ["threads", "greenlet"]
US = 10**6  # picoseconds
both = pytest.mark.parametrize("engine", ENGINES)


class Owner:
    shared = threading.Lock()

    def __init__(self, lock: Any) -> None:
        self.lock = lock


AT_MODULE, AGAIN = threading.Lock(), threading.RLock()
LISTED, NAMED = [threading.Lock() for _ in range(2)], {"a": threading.RLock()}
OWNER, CONDITION = Owner(threading.RLock()), threading.Condition()
PLACES: dict[str, Callable[[], Any]] = {
    "of the module": lambda: AT_MODULE,
    "for many times": lambda: AGAIN,
    "in a list": lambda: LISTED[1],
    "in a dictionary": lambda: NAMED["a"],
    "of a class": lambda: Owner.shared,
    "of an object": lambda: OWNER.lock,
    "of a condition": lambda: CONDITION,
}


def together(acts: list[Callable[[], Any]]) -> None:
    """Run them in threads of this rank."""
    threads = [sim.start(act, f"helper {at}") for at, act in enumerate(acts)]
    for thread in threads:
        thread.join()


def hold(lock: Any, seconds: str = "10us") -> None:
    with lock:
        sim.compute(seconds)


def served(where: str) -> float:
    hold(PLACES[where]())
    return sim.now()


def serve(where: str) -> float:
    rank, size = dist.get_rank(), dist.get_world_size()
    rpc.init_rpc(f"worker{rank}", rank=rank, world_size=size)
    found = 0.0 if rank == 0 else rpc.rpc_sync("worker0", served, (where,))
    rpc.shutdown()
    return found


@both
@pytest.mark.parametrize("where", PLACES)
def test_handlers_that_hold_a_lock_come_one_after_the_other(where: str, engine: str) -> None:
    before = PLACES[where]()
    state = dict(vars(before)) if where == "of a condition" else None
    net = sim.LogGP(0, 0, 0, 0)
    times = sim.run(serve, 4, [where], engine=engine, net=net).results[1:]
    steps = sorted(round((time - min(times)) * 1e6) for time in times)
    assert steps == [0, 10, 20]
    assert PLACES[where]() is before, "it is as it was"
    assert state is None or vars(before) == state


@both
@pytest.mark.parametrize("size", [1, 2, 3, 5, 8])
@pytest.mark.parametrize("make", [threading.Lock, threading.RLock, TakenOut, threading.Condition])
def test_a_lock_of_the_closure_is_shared_by_the_ranks(make: Any, size: int, engine: str) -> None:
    """As every object of this process is."""
    lock = make()
    report = sim.run(lambda: hold(lock), size, engine=engine)
    assert sorted(rank.time for rank in report.ranks) == [10 * US * (n + 1) for n in range(size)]


hidden_away = threading.RLock()


@dataclass
class Held:
    lock: Any = field(default_factory=threading.RLock)


KEYED: defaultdict[str, Any] = defaultdict(threading.RLock)
OF_THE_RUN: list[Any] = []
UNSEEN: dict[str, Callable[[], Any]] = {
    "of a module that no function names": lambda: globals()["hidden" + "_away"],
    "of a field": lambda: Held().lock,
    "of a dictionary": lambda: KEYED["new"],
}


@both
@pytest.mark.parametrize("size", [1, 2, 3, 5])
@pytest.mark.parametrize("where", UNSEEN)
def test_locks_to_which_no_function_leads(where: str, size: int, engine: str) -> None:
    """With greenlets all ranks are one thread of the system, by which a real RLock counts."""
    OF_THE_RUN.clear()
    KEYED.clear()

    def program() -> None:
        if dist.get_rank() == 0:
            OF_THE_RUN.append(UNSEEN[where]())
        dist.barrier()
        hold(OF_THE_RUN[0])

    before = hidden_away
    report = sim.run(program, size, engine=engine, net=sim.LogGP(0, 0, 0, 0))
    assert sorted(rank.time for rank in report.ranks) == [10 * US * (n + 1) for n in range(size)]
    assert hidden_away is before and KEYED.default_factory is threading.RLock


@both
def test_runs_that_last_at_the_same_time_share_the_locks_of_a_module(engine: str) -> None:
    """The one that ends first takes nothing from the other."""
    real, times = hidden_away, list[int]()
    begun, first_is_over = os.pipe(), os.pipe()

    def program() -> None:
        if dist.get_rank() == 0:
            os.write(begun[1], b"x")
            os.read(first_is_over[0], 1)  # in real time
        dist.barrier()
        hold(globals()["hidden" + "_away"])

    def second() -> None:
        report = sim.run(program, 3, engine=engine, net=sim.LogGP(0, 0, 0, 0))
        times.extend(sorted(rank.time for rank in report.ranks))

    thread = threading.Thread(target=second)
    with replacements.kept_out():
        thread.start()
        os.read(begun[0], 1)
    os.write(first_is_over[1], b"x")
    thread.join()
    assert times == [10 * US * n for n in (1, 2, 3)] and hidden_away is real
    for end in (*begun, *first_is_over):
        os.close(end)


@both
def test_locks_that_are_made_on_the_way(engine: str) -> None:
    def program() -> int:
        locks = [threading.Lock(), threading.RLock(), TakenOut(), threading.BoundedSemaphore(2)]
        before = sim.now()
        for lock in locks:
            together([partial(hold, lock)] * 4)
        return round((sim.now() - before) * 1e6)

    assert sim.run(program, 2, engine=engine).results == [40 + 40 + 40 + 20] * 2


@both
def test_acquire_waits_as_long_as_it_says(engine: str) -> None:
    def program() -> None:
        lock = threading.Lock()
        sim.start(partial(hold, lock), "holder")
        sim.compute("1us")
        assert lock.locked() and not lock.acquire(False) and not lock.acquire(timeout=0)
        assert not lock.acquire(timeout=5e-6) and round(sim.now() * 1e6) == 6
        assert lock.acquire(timeout=1) and round(sim.now() * 1e6) == 10
        lock.release()
        assert not lock.locked()
        with pytest.raises(RuntimeError, match="release unlocked lock"):
            lock.release()
        with pytest.raises(ValueError, match="non-blocking"):
            lock.acquire(False, 1)
        with pytest.raises(ValueError, match="timeout value must be"):
            lock.acquire(True, -2)
        with pytest.raises(OverflowError):
            lock.acquire(True, 1e100)

    sim.run(program, 1, engine=engine, net=sim.LogGP(0, 0, 0, 0))


@both
def test_an_rlock_belongs_to_one_thread(engine: str) -> None:
    """With greenlets all ranks are one thread of the system."""

    def program() -> None:
        lock, order = threading.RLock(), []

        def again() -> None:
            with lock:
                hold(lock)
                order.append(round(sim.now() * 1e6))

        def stranger() -> None:
            with pytest.raises(RuntimeError, match="un-acquired"):
                lock.release()

        together([again, again, again, stranger])
        assert order == [10, 20, 30]

    sim.run(program, 1, engine=engine)


@both
def test_events_barriers_semaphores_and_queues(engine: str) -> None:
    def program() -> None:
        event, barrier, slots = threading.Event(), threading.Barrier(3), threading.Semaphore(0)
        kinds = [queue.Queue, queue.LifoQueue, queue.PriorityQueue, queue.SimpleQueue]
        queues: list[Any] = [kind() for kind in kinds]
        seen: list[tuple[str, int]] = []

        def waits() -> None:
            assert not event.wait(2e-6) and not slots.acquire(timeout=1e-6)
            with pytest.raises(queue.Empty):
                queues[0].get(timeout=1e-6)
            seen.append(("in vain", round(sim.now() * 1e6)))
            assert event.wait() and slots.acquire()
            seen.append(("event", round(sim.now() * 1e6)))
            barrier.wait()
            seen.append(("all", round(sim.now() * 1e6)))
            for one in queues:
                assert one.get() == "here"

        def sets() -> None:
            sim.compute("10us")
            event.set()
            slots.release(2)
            sim.compute("10us")
            barrier.wait()
            for one in queues:
                sim.compute("1us")
                one.put("here")
                one.put("here")

        together([waits, waits, sets])
        assert seen == [("in vain", 4)] * 2 + [("event", 10)] * 2 + [("all", 20)] * 2
        assert round(sim.now() * 1e6) == 24
        small: queue.Queue[int] = queue.Queue(1)
        small.put(1)
        with pytest.raises(queue.Full):
            small.put(2, timeout=3e-6)
        assert round(sim.now() * 1e6) == 27

    sim.run(program, 1, engine=engine)


@both
def test_a_condition_between_ranks(engine: str) -> None:
    condition, ready = threading.Condition(), []

    def program() -> float:
        if dist.get_rank() == 0:
            sim.compute("7us")
            with condition:
                ready.append(1)
                condition.notify_all()
                sim.compute("2us")  # they have to wait for it still
        else:
            with condition:
                assert not condition.wait(timeout=1e-6)
                assert condition.wait_for(lambda: bool(ready))
        return round(sim.now() * 1e6)

    assert sim.run(program, 3, engine=engine, net=sim.LogGP(0, 0, 0, 0)).results == [9, 9, 9]


# ------------------------------------------------------------------------------- when nobody goes on


def crossed(order: tuple[int, int], locks: list[Any]) -> None:
    with locks[order[0]]:
        sim.compute("1us")
        with locks[order[1]]:
            sim.compute("1us")


@both
@pytest.mark.parametrize("size", [2, 3, 5])
def test_locks_in_two_orders_are_a_deadlock_that_says_so(size: int, engine: str) -> None:
    locks = [threading.Lock() for _ in range(size)]

    def program() -> None:
        rank = dist.get_rank()
        crossed((rank, (rank + 1) % size), locks)

    with pytest.raises(Deadlock) as caught:
        sim.run(program, size, engine=engine)
    said = str(caught.value)
    assert f"rank 0 waits for rank {1 % size} in a threading.Lock that it holds, taken at" in said
    assert "In a circle each waits for a lock that the next one holds: rank 0 → rank 1" in said
    assert "same order" in said and said.count("test_locks.py:") >= size
    sim.run(lambda: crossed((0, 1), locks), size, engine=engine)


@both
def test_threads_of_one_rank_are_named(engine: str) -> None:
    def program() -> None:
        locks = [threading.Lock(), threading.RLock()]
        together([partial(crossed, (0, 1), locks), partial(crossed, (1, 0), locks)])

    with pytest.raises(Deadlock, match="thread 'helper 0 of rank 0' of rank 0 → thread 'helper 1"):
        sim.run(program, 1, engine=engine)


@both
def test_a_lock_is_taken_twice(engine: str) -> None:
    def program() -> None:
        lock = threading.Lock()
        with lock, lock:
            pass

    with pytest.raises(Deadlock, match=r"Rank 0 waits for a lock that it holds itself\. Take an RLock"):
        sim.run(program, 2, engine=engine)


@both
def test_a_rank_ended_with_a_lock_in_its_hand(engine: str) -> None:
    lock = threading.Lock()

    def program() -> None:
        if dist.get_rank() == 1:
            sim.compute("1us")
        lock.acquire()

    with pytest.raises(Deadlock, match="lock that rank 0 did not give back"):
        sim.run(program, 2, engine=engine)
    assert lock.locked(), "as it would be in real time"


@both
def test_one_who_was_to_have_the_lock_is_stopped(engine: str) -> None:
    """The next one gets it."""

    def program() -> None:
        lock, done = threading.Lock(), []

        def wants(name: str) -> None:
            hold(lock)
            done.append(name)

        sim.start(partial(hold, lock), "holder")
        sim.start(lambda: wants("a"), "a")
        sim.start(lambda: wants("b"), "b")
        sim.compute("25us")
        assert done == ["a"]

    sim.run(program, 2, engine=engine)


# --------------------------------------------------------------------------------------- exploring


def turns() -> list[int]:
    lock, order = threading.Lock(), []

    def turn(number: int) -> None:
        with lock:
            sim.compute("1us")
            order.append(number)

    together([partial(turn, number) for number in range(4)])
    return order


@both
def test_a_seed_says_who_gets_a_lock(engine: str) -> None:
    assert sim.run(turns, 2, engine=engine).results == [[0, 1, 2, 3]] * 2
    found = [sim.run(turns, 2, engine=engine, seed=seed).results for seed in range(8)]
    again = [sim.run(turns, 2, engine=engine, seed=seed).results for seed in range(8)]
    assert found == again and len({tuple(order) for orders in found for order in orders}) > 3
    assert found[0] == sim.run(turns, 2, engine=ENGINES[engine == "threads"], seed=0).results


def test_exploring_spares_right_programs_and_finds_what_an_order_of_locks_does() -> None:
    locks = [threading.Lock(), threading.Lock()]

    def right() -> None:
        crossed((0, 1), locks)

    def wrong() -> None:
        sim.compute(f"{dist.get_rank() * 10}us")  # it goes well in a calm run
        dist.barrier()
        if dist.get_rank():
            sim.compute("3us")
        crossed((0, 1) if dist.get_rank() == 0 else (1, 0), locks)

    assert sim.explore(right, 3, 20) is None
    bug = sim.explore(wrong, 2, 60)
    assert bug is not None and "same order" in str(bug.error)


# ------------------------------------------------------------------------------ those who are no ranks


def test_threads_outside_exclude_ranks_and_the_other_way_round() -> None:
    lock, inside, seen = threading.Lock(), threading.Event(), []

    def outside() -> None:
        with lock:
            inside.set()
            released.wait()
            seen.append("outside")

    released = threading.Event()
    thread = threading.Thread(target=outside)
    thread.start()
    assert inside.wait(60)
    timer = threading.Timer(0.05, released.set)
    timer.start()

    def program() -> None:
        with lock:
            seen.append("rank")

    sim.run(program, 1)
    thread.join()
    timer.join()
    assert seen == ["outside", "rank"]


def test_names_and_locks_are_as_before() -> None:
    before = threading.Lock, threading.RLock, queue.SimpleQueue, [*LISTED], Owner.shared
    with pytest.raises(ZeroDivisionError):
        sim.run(lambda: hold(LISTED[0]) or hold(Owner.shared) or 1 / 0, 2)  # type: ignore[func-returns-value]
    assert before == (threading.Lock, threading.RLock, queue.SimpleQueue, [*LISTED], Owner.shared)


class Slotted:
    """Nobody finds what stands in here."""

    __slots__ = ("lock",)

    def __init__(self) -> None:
        self.lock = threading.Lock()


@pytest.mark.slow
@both
@pytest.mark.parametrize("words", ["with hidden.lock", "hidden.lock.acquire("])
def test_a_lock_that_was_not_found_is_named(words: str, engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(standstill, "PATIENCE", 1)
    hidden, ended = Slotted(), threading.Event()

    def program() -> None:
        try:
            if words.startswith("with"):
                with hidden.lock:
                    sim.compute("1us")
            else:
                hidden.lock.acquire()
                sim.compute("1us")
                hidden.lock.release()
        finally:
            ended.set()

    with pytest.raises(Deadlock) as caught:
        sim.run(program, 2, engine=engine)
    said = str(caught.value)
    assert "rank 1 stands still, at test_locks.py:" in said and words in said
    assert "Make this one within the function" in said
    hidden.lock.release()  # now those who were left behind end, by themselves
    assert ended.wait(60)
    for thread in threading.enumerate():
        if thread.name.startswith("rank"):
            thread.join(60)
            assert not thread.is_alive()


@pytest.mark.slow
def test_a_rank_that_waits_for_something_real_is_let_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(standstill, "PATIENCE", 1)

    def program() -> bytes:
        return subprocess.run(
            [sys.executable, "-c", "import time; time.sleep(3.5); print(7)"], capture_output=True, check=True
        ).stdout

    assert sim.run(program, 1).results == [b"7\n"]
