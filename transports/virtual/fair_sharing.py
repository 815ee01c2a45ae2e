"""Messages that share links as flows, each link divided fairly: max-min sharing.

    two messages over one link of 1 GB/s, 1 MB and 2 MB

        first come, first served  │▒▒▒▒ 1 MB ▒▒▒▒│░░░░░░░░ 2 MB ░░░░░░░░│         one after the other
        max-min                   │▒▒▒▒▒▒▒▒ 1 MB at 0.5 GB/s ▒▒▒│
                                  │░░░░░░░░░░░░ 2 MB ░░░░░░░░░░░│░░ at 1 GB/s ░░│  both at once

A message first takes the latency of its way, in which it uses nothing. Then its bytes flow over all
links of the way at one rate, its sender's and its receiver's port among them. The rates are those of
*progressive filling*: all rates grow alike until some link is full; the flows on that link keep their
rate, and the others go on growing. So no link carries more than its bandwidth, and no flow can get more
without taking from one that has no more than itself. Rates change where a flow begins or ends.

Messages between the same two ranks flow one after another, as over one connection, so they keep their
order. Rates are fractions, and what is left of a message is counted in 2⁻³² bytes: the same on every
machine. A message alone takes what it takes where the first is served first, on equal links.

D. Bertsekas, R. Gallager, Data Networks, 2nd ed., 1992, section 6.5.2. SimGrid's network model is of this
kind (P. Velho, A. Legrand, SIMUTools 2009, doi:10.4108/ICST.SIMUTOOLS2009.5592).
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import partial
from typing import Any, TypeAlias

from transports.virtual.event_queue import Timeline
from transports.virtual.topology import Port

Message: TypeAlias = Any  # of `medium`, which needs this

GRAIN = 1 << 32  # parts of a byte


class Flow:
    """A message whose bytes are on their way."""

    __slots__ = ("change", "left", "message", "rate", "since", "uses")

    def __init__(self, message: Message, uses: dict[Port, Fraction], now: int) -> None:
        self.message = message
        self.uses = uses  # of each link, the picoseconds that a byte takes there
        self.left: int = message.nbytes * GRAIN
        self.rate, self.since = Fraction(0), now  # bytes a picosecond, from that instant on
        self.change = 0  # how often the rate has changed

    def flow_until(self, now: int) -> None:
        gone = self.rate * (now - self.since) * GRAIN
        self.left, self.since = self.left - gone.numerator // gone.denominator, now

    def end(self) -> int:
        """The instant at which the last byte is there, at this rate."""
        rate = self.rate * GRAIN
        return self.since - (-self.left * rate.denominator // rate.numerator)


class FairSharing:
    """All flows of one medium. `times` says in which time messages move; `landed` is called with a
    message whose last byte is there."""

    def __init__(self, times: Callable[[], Timeline], landed: Callable[[Message], None]) -> None:
        self._times, self._landed = times, landed
        self._on: defaultdict[Port, dict[Flow, None]] = defaultdict(dict)  # of each link
        self._connections: defaultdict[tuple[int, int], deque[tuple[Message, int]]] = defaultdict(
            deque
        )  # messages between two ranks, and when their latency is over; the first one flows
        self._coming: list[Message] = []  # they begin to flow at this instant,
        self._left: dict[Port, None] = {}  # and these links have lost a flow

    def begin(self, message: Message, start: int) -> None:
        """It leaves now."""
        now = self._times().now()
        ready = now + _stretched(message, message.way.route.alone(0))
        connection = self._connections[message.src.rank, message.dst.rank]
        connection.append((message, ready))
        if len(connection) == 1:
            self._times().at(ready, message.come)

    def come(self, message: Message) -> None:
        """Its latency is over."""
        if not (self._coming or self._left):
            self._times().settle(self._settle)
        self._coming.append(message)

    def _settle(self) -> None:
        """Nobody else comes or ends at this instant: what is everybody's rate now?"""
        now = self._times().now()
        coming, self._coming = self._coming, []
        coming.sort(key=lambda message: (message.src.rank, message.dst.rank))
        touched, self._left = self._left, {}
        for message in coming:
            flow = Flow(message, _uses(message), now)
            if not (flow.left and flow.uses):  # there is nothing that takes time
                self._times().at(now, partial(self._end, flow, 0))
                continue
            for port in flow.uses:
                self._on[port][flow] = None
                touched[port] = None
        for flow in self._joined(touched):
            flow.flow_until(now)
        for flow, rate in max_min(self._joined(touched)).items():
            if rate != flow.rate:
                flow.rate = rate
                flow.change += 1
                self._times().at(flow.end(), partial(self._end, flow, flow.change))

    def _joined(self, ports: Iterable[Port]) -> dict[Flow, None]:
        """The flows on these links, those that share a link with them, and so on."""
        found: dict[Flow, None] = {}
        seen = dict.fromkeys(ports)
        ahead = deque(seen)
        while ahead:
            for flow in self._on[ahead.popleft()]:
                if flow not in found:
                    found[flow] = None
                    fresh = [port for port in flow.uses if port not in seen]
                    seen.update(dict.fromkeys(fresh))
                    ahead.extend(fresh)
        return found

    def _end(self, flow: Flow, change: int) -> None:
        """Its last byte is there, if its rate is still what it was when this was reckoned."""
        if change != flow.change:
            return
        if flow.change and not (self._coming or self._left):
            self._times().settle(self._settle)
        for port in flow.uses if flow.change else ():
            del self._on[port][flow]
            self._left[port] = None
        message = flow.message
        pair = message.src.rank, message.dst.rank
        connection = self._connections[pair]
        connection.popleft()
        if connection:
            following, ready = connection[0]
            self._times().at(max(ready, self._times().now()), following.come)
        else:
            del self._connections[pair]
        self._landed(message)


def max_min(flows: Iterable[Flow]) -> dict[Flow, Fraction]:
    """The rates of progressive filling. A link is full when its flows keep it busy all of the time."""
    rates: dict[Flow, Fraction] = {}
    growing: defaultdict[Port, dict[Flow, None]] = defaultdict(dict)
    for flow in flows:
        for port in flow.uses:
            growing[port][flow] = None
    idle = dict.fromkeys(growing, Fraction(1))  # the part of its time that a link still has
    while growing:
        full_at = {
            port: idle[port] / sum(flow.uses[port] for flow in on) for port, on in growing.items()
        }
        rate = min(full_at.values())
        done = dict.fromkeys(
            flow for port in growing if full_at[port] == rate for flow in growing[port]
        )
        for flow in done:
            rates[flow] = rate
            for port, time in flow.uses.items():
                idle[port] -= rate * time
                del growing[port][flow]
                if not growing[port]:
                    del growing[port]
    return rates


def _uses(message: Message) -> dict[Port, Fraction]:
    """For each link of its way that takes time, how long a byte takes."""
    links = message.way.route.links()
    slow = Fraction(_stretched(message, GRAIN), GRAIN)
    return {port: link.per_byte * slow for port, link in links if link.per_byte}


def _stretched(message: Message, picos: int) -> int:
    """A span of this message, where faults may make its ranks slow."""
    injector = message.medium.injector
    if injector is None:
        return picos
    return int(injector.hold(message.src.rank, message.dst.rank, picos))
