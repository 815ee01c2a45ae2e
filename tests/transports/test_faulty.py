"""Wrappers are transports themselves, and faults befall what they should."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from transports import conformance
from transports.clock import SYSTEM, Clock, SystemClock, picoseconds
from transports.conformance.bench import Tray
from transports.contract import Transport
from transports.errors import PeerLost
from transports.faults import plans
from transports.faults.faulty import FaultyTransport
from transports.faults.rules import CUT, DROP, Faults, FaultyMessage, late, overtaken
from transports.queue import QueueTransport
from transports.stores.store import HashStore


@pytest.mark.parametrize("world_size", [1, 2, 3])
def test_without_faults_it_keeps_the_contract(world_size: int) -> None:
    def make(rank: int, size: int, folder: str) -> Transport:
        return FaultyTransport(QueueTransport(rank, size), Faults())

    conformance.check(conformance.in_threads(make), [world_size])


class World:
    """Ranks in one thread: over queues a send is delivered when it returns."""

    def __init__(
        self, size: int, wrap: Callable[[Transport], Transport], clock: Clock = SYSTEM
    ) -> None:
        store, self.trays = HashStore(), [Tray(lambda n: False) for _ in range(size)]
        self.ends = [wrap(QueueTransport(rank, size, clock=clock)) for rank in range(size)]
        threads = [
            threading.Thread(target=self.ends[r].connect, args=(store, self.trays[r], 300))
            for r in range(size)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for end in self.ends:  # the threads that connected have ended; this one is the ranks
            queue: Any = end.inner  # type: ignore[attr-defined]
            queue._owner = threading.current_thread()

    def send(self, src: int, dst: int, *texts: str) -> None:
        for text in texts:
            self.ends[src].send(dst, text.encode(), b"x" * len(text))

    def got(self, dst: int, src: int, timeout: float = 0) -> list[str]:
        self.ends[dst].progress(timeout)
        return [header.decode() for header, _ in self.trays[dst].messages.get(src, [])]

    def __enter__(self) -> World:
        return self

    def __exit__(self, *error: object) -> None:
        for end in self.ends:
            end.close()
        assert not any(tray.complaints for tray in self.trays)


class HandClock(SystemClock):
    """Its time is set by hand."""

    seconds = 0.0

    def now(self) -> int:
        return picoseconds(self.seconds)


def faulty(size: int, seed: int = 0, clock: Clock = SYSTEM) -> tuple[World, Faults]:
    plan = Faults(seed)
    return World(size, lambda inner: FaultyTransport(inner, plan), clock), plan


def test_rules_decide_in_order_and_leave_with_their_guard() -> None:
    world, plan = faulty(2)
    with world:
        with plan.install(lambda m: DROP if m.header == b"a" else None):
            plan.install(plans.duplicate(src=0))
            world.send(0, 1, "a", "b")
            assert world.got(1, 0) == ["b", "b"]
        world.send(0, 1, "a")
        world.send(1, 0, "c")
        assert world.got(1, 0) == ["b", "b", "a", "a"] and world.got(0, 1) == ["c"]


def test_a_slow_link_keeps_the_order_and_reordering_does_not() -> None:
    clock = HandClock()
    world, plan = faulty(2, clock=clock)
    with world:
        plan.install(lambda m: late(0.02) if m.header == b"slow" else None)
        plan.install(lambda m: overtaken(0.02) if m.header == b"overtaken" else None)
        world.send(0, 1, "slow", "next")
        assert world.got(1, 0) == []
        clock.seconds += 0.02
        assert world.got(1, 0) == ["slow", "next"]
        world.send(0, 1, "overtaken", "last")
        assert world.got(1, 0)[2:] == ["last"]
        clock.seconds += 0.02
        assert world.got(1, 0)[2:] == ["last", "overtaken"]


def test_what_is_late_wakes_who_waits_for_it() -> None:
    world, plan = faulty(2)
    with world:
        plan.install(lambda m: late(0.02))
        world.send(0, 1, "slow", "next")
        while len(got := world.got(1, 0, timeout=None)) < 2:  # type: ignore[arg-type]
            pass
        assert got == ["slow", "next"]


def test_partition_and_heal_hold_and_release() -> None:
    world, plan = faulty(3)
    with world:
        plan.partition({0, 1}, {2})
        world.send(0, 2, "gone")
        world.send(2, 1, "gone")
        world.send(0, 1, "near")
        plan.heal()
        world.send(0, 2, "back")
        assert world.got(2, 0) == ["back"] and world.got(1, 2) == [] and world.got(1, 0) == ["near"]
        plan.hold(0, 2)
        world.send(0, 2, "1", "2")
        world.send(1, 2, "other")
        assert world.got(2, 0) == ["back"] and world.got(2, 1) == ["other"]
        plan.release()
        assert world.got(2, 0) == ["back", "1", "2"]
        assert repr(plan) == "<Faults seed 0, 0 rules, 0 partitions, 0 holds>"


def test_release_wakes_who_waits() -> None:
    world, plan = faulty(2)
    with world:
        plan.hold()
        world.send(0, 1, "kept")
        came = world.trays[1].messages
        waiter = threading.Thread(
            target=lambda: [world.ends[1].progress(None, lambda: bool(came)) for _ in range(1)]
        )
        waiter.start()
        plan.release()
        waiter.join(300)
        assert not waiter.is_alive() and list(came) == [0]


def test_what_is_held_comes_before_the_news_that_its_sender_is_lost() -> None:
    world, plan = faulty(2)
    with world:
        plan.hold()
        world.send(0, 1, "last words")
        world.ends[0].close()
        assert world.got(1, 0) == [] and world.trays[1].lost_ranks == []
        plan.release()
        assert world.got(1, 0) == ["last words"] and world.trays[1].lost_ranks == [0]


def test_a_cut_is_seen_on_both_sides() -> None:
    world, plan = faulty(3)
    with world:
        plan.install(lambda m: CUT if m.header == b"cut" else None)
        world.send(0, 1, "before", "cut", "after")
        assert world.got(1, 0) == ["before"] and world.trays[1].lost_ranks == [0]
        world.ends[0].progress(0)
        assert world.trays[0].lost_ranks == [1]
        for one, other in ((0, 1), (1, 0)):
            with pytest.raises(PeerLost, match="cut"):
                world.send(one, other, "x")
        world.send(2, 1, "others go on")
        assert world.got(1, 2) == ["others go on"]


def test_chance_is_keyed() -> None:
    def struck(plan: Faults, rules: list[Any]) -> list[int]:
        for rule in rules:
            plan.install(rule)
        messages = [FaultyMessage(0, 1, number, b"", 0) for number in range(2000)]
        return [m.number for m in messages if plan.judge(m) == DROP]

    alone = struck(Faults(1), [plans.drop(0.1)])
    assert alone == struck(Faults(1), [plans.drop(0.1)]) and 150 < len(alone) < 250
    assert alone != struck(Faults(2), [plans.drop(0.1)])
    company = struck(Faults(1), [plans.delay(1, p=0.2), plans.drop(0.1)])
    assert set(company) < set(alone)  # another rule only takes its own
    assert struck(Faults(1), [plans.drop(1, src=1), plans.drop(1, dst=0)]) == []


def test_the_plans_of_a_simulation_befall_real_transports_too() -> None:
    world, plan = faulty(3)
    with world:
        guards = [plan.install(plans.parse(text)) for text in ("drop=0>1#1", "duplicate=0>1#2")]
        world.send(0, 1, "0", "1", "2")
        assert world.got(1, 0) == ["0", "2", "2"]
        plan.reliable, plan.again = True, 0.001  # as a packet below a transport that sends again
        plan.install(plans.drop(src=0, dst=2, number=0))
        world.send(0, 2, "late", "next")
        while len(got := world.got(2, 0, timeout=5)) < 2:
            pass
        assert got == ["late", "next"] and len(guards) == 2
        plan.install(plans.partition({1}, {2}, at=0))
        world.send(1, 2, "never")
        assert world.got(2, 1) == [] and world.trays[2].lost_ranks == [1]
        plan.install(plans.crash(0, at=0))
        world.send(0, 1, "cut")
        world.ends[1].progress(0)
        assert world.trays[1].lost_ranks == [2, 0]
    with pytest.warns(RuntimeWarning, match="slow=0,x=2 does nothing here"):
        plan.install(plans.slow(0, x=2))
