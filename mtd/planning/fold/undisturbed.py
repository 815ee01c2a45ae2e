"""Acts of a class that nothing disturbs are one event.

    computing │ all_reduce │ computing │ all_gather     each collective among ranks of this class alone, and its ports free
    ──────────┴────────────┴─────▲─────┴───────────►   the class goes on here, at once
                                 │
                 a message comes to one of the ports: the class goes on after this act, and does the next one by itself

How long a collective takes is found once, message by message, on a network where nothing else moves. The simple form is
that of `replaying`: one act after the other. A test draws layouts, times and messages, for which both do the same.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import Any

from minitorch_dist.sim.device_time import Spans
from minitorch_dist.sim.fast import payloadless
from mtd.planning.fold import acts
from mtd.planning.fold.replayed_device import OperationsTogether, ReplayedStream
from transports.quantities import in_words
from transports.virtual.clock import VirtualClock
from transports.virtual.inboxes import Waiting
from transports.virtual.medium import Counters, Medium

Begin = Callable[[Medium, Callable[[int], None]], payloadless.Traffic]
"""The messages of one collective of one class. It is told when they are over."""


class CollectiveAlone:
    """One kind of collective among ranks of one class, where no other message moves."""

    def __init__(self, begin: Begin, medium: Medium, number: int) -> None:
        """Of class `number`. `medium` is like the one that it is for."""
        self.begin, moving, times, ends = begin, Spans(), payloadless.Past(), list[int]()
        medium.times, medium.carried = times, lambda _, start, end: moving.add(start, end)
        begin(medium, lambda _: ends.append(times.now())).enter(0)
        times.event_queue.advance_until(1 << 62)
        (self.picos,), self.moving = ends, moving.spans
        self.within, self.leaving = medium.counters[number], medium.leaving[number]
        ways = medium._ways.values()
        self.ports = {("tx", way.tx) for way in ways} | {("rx", way.rx) for way in ways}
        self.is_plain = all(way.is_plain for way in ways) and (self.picos > 0 or not ways)

    def __repr__(self) -> str:
        return f"<CollectiveAlone, {in_words(self.picos)}>"


class ActsTogether:
    """Acts that follow each other undisturbed: when each begins, and what all of them count."""

    def __init__(self, given: Sequence[Any], alone: Callable[[acts.CallKind], Any]) -> None:
        self.starts, self.ports, self.picos, self.computing = list[int](), set[Any](), 0, 0
        self.collectives: dict[int, CollectiveAlone] = {}  # by place
        self.operations: dict[OperationsTogether, int] = {}  # how often
        self.within, self.leaving = Counters(), Counters()
        busy, moving = Spans(), Spans()
        for place, act in enumerate(given):
            start = self.picos
            self.starts.append(start)
            if isinstance(act, acts.CollectiveBegun):
                found = self.collectives[place] = alone(act.kind)
                self.ports |= found.ports
                self.picos += found.picos
                moving.add_all(found.moving + start)
                self.within.add(found.within)
                self.leaving.add(found.leaving)
                continue
            if isinstance(act, acts.DeviceComputing):
                self.operations[act.together] = self.operations.get(act.together, 0) + 1
            self.picos += act.picos
            self.computing += act.picos
            busy.add(start, self.picos)
        self.busy, self.moving = busy.spans, moving.spans

    def have_happened(self, start: int, number: int, stream: ReplayedStream | None, medium: Medium) -> None:
        """Count what they did, from `start` on."""
        medium.counters[number].add(self.within)
        medium.leaving[number].add(self.leaving)
        if stream is not None:
            stream.did(self.operations, self.busy + start, self.moving + start)

    def __repr__(self) -> str:
        return f"<ActsTogether: {len(self.starts)} in {in_words(self.picos)}>"


class ActsUnderWay:
    """They have begun. When the class goes on, `done` of them are over, of which `alike` were not disturbed."""

    def __init__(self, of: ActsTogether, medium: Medium, clock: VirtualClock) -> None:
        self.of, self.medium, self.clock, self.me = of, medium, clock, clock.me()
        self.start, self.done = clock.now(), len(of.starts)
        self.alike = self.done
        self.is_foreseen, self.is_over = True, False

    def wait(self) -> None:
        """Return when as many are over as pass in one go."""
        foreseen = self.medium.foreseen
        foreseen.update(dict.fromkeys(self.of.ports, self.disturb))
        self.clock.at(self.start + self.of.picos, self._end)
        while not self.is_over:
            self.clock.park(why=_in_acts)

    def disturb(self) -> None:
        """A message comes to one of the ports, now."""
        passed = self.clock.now() - self.start
        if passed == self.of.picos:
            return
        self._forget()
        place = bisect_right(self.of.starts, passed) - 1
        self.done, alone = place + 1, self.of.collectives.get(place)
        if alone is None:
            self.alike = self.done
            self.clock.at(self.start + [*self.of.starts, self.of.picos][self.done], self._go_on)
        else:
            self.alike = place
            traffic = alone.begin(self.medium, lambda _: self._go_on())
            traffic.catch_up([self.start + self.of.starts[place]])

    def _end(self) -> None:
        if self.is_foreseen:
            self._forget()
            self._go_on()

    def _forget(self) -> None:
        self.is_foreseen = False
        for port in self.of.ports:
            del self.medium.foreseen[port]

    def _go_on(self) -> None:
        self.is_over = True
        self.clock.wake(self.me)

    def __repr__(self) -> str:
        return f"<ActsUnderWay since {in_words(self.start)}: {self.of!r}>"


def _in_acts() -> Waiting:
    return Waiting((), "the end of what it does")
