"""Machines that die, come back or stand still at any of their actions; in virtual time.

    cluster = Cluster(3, [Trouble(rank=1, action=7, restart=0.01)])
    cluster.run(program)                    program(machine), on each machine; called anew after a restart

    machine.send(dst, message)               it does not wait; a message takes a millisecond, but
                                            150 from the last machine to the first: a slow cable
    machine.receive(timeout)                a message, or None if none came
    machine.sleep(seconds)
    machine.compute(seconds)                longer on a slow machine
    machine.act(what)                       anything else that happens at one instant: it, too, may be the last

A machine that dies loses the messages that have come, or come before it is back. One that stands still goes on as if nothing had been.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from typing import Any

from minitorch_dist.launching import replacements
from transports.clock import PICO
from transports.simulation import each_rank
from transports.virtual.clock import VirtualClock

TRAVEL, SLOW = PICO // 1000, 150 * PICO // 1000  # of a message; on the slow cable
LIMIT = 120.0  # seconds; a cluster that is not done then goes round in circles


@dataclass(frozen=True)
class Trouble:
    """Before its action number `action` a machine dies, or stands still for a while."""

    rank: int
    action: int
    restart: float | None = None  # seconds until it is started again; None: never
    still: float | None = None  # seconds for which it stands still, instead of dying

    def __str__(self) -> str:
        when = f"machine {self.rank} before its action {self.action}"
        if self.still is not None:
            return f"{when} stands still for {self.still:g} s"
        back = "does not come back" if self.restart is None else f"comes back after {self.restart:g} s"
        return f"{when} dies and {back}"


class Died(BaseException):
    """A machine is dead: nothing that it would have done happens."""

    def __init__(self, trouble: Trouble) -> None:
        self.trouble = trouble


@dataclass(frozen=True)
class ClusterEvent:
    """One action of a machine, for pictures and for words."""

    rank: int
    at: int
    what: str


class Machine:
    """The machine as its program sees it."""

    def __init__(self, cluster: Cluster, rank: int) -> None:
        self.cluster, self.rank = cluster, rank
        self.actions = self.lives = 0
        self._box: list[tuple[int, int, Any]] = []  # (when it is there, its number, message)
        self._changed = cluster.clock.condition(f"machine {rank} waits for a message")

    def send(self, dst: int, message: Any) -> None:
        self.act(f"sends to {dst}")
        there = self.cluster.machines[dst]
        with there._changed:
            is_last = self.rank == len(there.cluster.machines) - 1
            travel = SLOW if self.rank > dst == 0 and is_last else TRAVEL
            insort(there._box, (self.cluster.clock.now() + travel, next(self.cluster.numbers), message))
            there._changed.notify_all()

    def receive(self, timeout: float) -> Any:
        """The message that came first; None if none came in so many seconds."""
        self.act("receives")
        clock = self.cluster.clock
        deadline = clock.deadline(timeout)
        with self._changed:
            while True:
                if self._box and self._box[0][0] <= clock.now():
                    return self._box.pop(0)[2]
                if deadline.is_over():
                    return None
                left = deadline.left()
                assert left is not None, "the deadline has an end"
                if self._box:
                    left = min(left, (self._box[0][0] - clock.now()) / PICO)
                self._changed.wait(left)

    def sleep(self, seconds: float) -> None:
        self.act("sleeps")
        self.cluster.clock.sleep(seconds)

    def compute(self, seconds: float) -> None:
        """Work that takes an ordinary machine so long, and a slow one longer."""
        self.act("sleeps")
        self.cluster.clock.sleep(seconds * self.cluster.slow.get(self.rank, 1))

    def now(self) -> float:
        """Seconds since the beginning."""
        return self.cluster.clock.now() / PICO

    def act(self, what: str) -> None:
        """It happens at this instant, unless the machine dies before."""
        self.actions += 1
        trouble = self.cluster.trouble.get((self.rank, self.actions))
        if trouble is not None and trouble.still is None:
            self.note("dies")
            raise Died(trouble)
        if trouble is not None and trouble.still is not None:
            self.note("stands still")
            self.cluster.clock.sleep(trouble.still)
            self.note("goes on")
        self.note(what)

    def note(self, what: str) -> None:
        self.cluster.events.append(ClusterEvent(self.rank, self.cluster.clock.now(), what))

    def _live(self, program: Callable[[Machine], Any]) -> Any:
        while True:
            try:
                self.lives += 1
                return program(self)
            except Died as death:
                if death.trouble.restart is None:
                    return None
                self.cluster.clock.sleep(death.trouble.restart)
                now = self.cluster.clock.now()
                self._box = [one for one in self._box if one[0] > now]  # still under way
                self.note("starts again")

    def __repr__(self) -> str:
        return f"<Machine {self.rank}: {self.actions} actions, life {self.lives}, {len(self._box)} messages>"


class Cluster:
    """Some machines, and what will happen to them. `slow` says how many times as long a machine computes."""

    def __init__(self, size: int, trouble: list[Trouble] | None = None, slow: dict[int, float] | None = None) -> None:
        self.clock = VirtualClock(limit=LIMIT)
        self.trouble = {(one.rank, one.action): one for one in trouble or []}
        self.slow = slow or {}
        self.events: list[ClusterEvent] = []
        self.numbers = count()  # of messages
        self.machines = [Machine(self, rank) for rank in range(size)]

    def run(self, program: Callable[[Machine], Any]) -> list[Any]:
        """Run `program` on all machines. Returns the result of each; None where it died for good."""
        with replacements.kept_out():
            results, _ = each_rank(self.clock, len(self.machines), lambda rank: self.machines[rank]._live(program))
        return results

    def __repr__(self) -> str:
        return f"<Cluster of {len(self.machines)} machines, {len(self.events)} events>"
