"""The simulated network of one virtual clock: messages pass through ports and land.

    depart ──► wait for the transmit port ──► wire ──► wait for the receive port ──► land
               held for α + βm                         held for α + βm

Each arrow is an event of the clock, and each is one method here, so that faults, which disturb messages, have
their place. Ports serve in the order of arrival. Messages that come to a port at the same
instant are served in the order of the senders' ranks. So the times do not show which rank was simulated
first. Sent and received messages are counted, and every departure and landing goes into a digest. Two runs
with equal digests did the same things at the same instants.
"""

from __future__ import annotations

import hashlib
import struct
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from typing import Any, Protocol

from transports.virtual.clock import VirtualClock
from transports.virtual.event_queue import Timeline
from transports.virtual.network import Network
from transports.virtual.stations import Stations
from transports.virtual.topology import Route


class Endpoint(Protocol):
    """A rank's transport, as its messages see it."""

    rank: int

    @property
    def is_over(self) -> bool:
        """Whether it was killed."""

    def set_out(self, message: SimMessage) -> None:
        """Let the transfer of a message begin."""

    def lose(self, peer: int, why: str) -> None:
        """That peer is gone, for this rank."""

    def kill(self, why: str) -> None:
        """This rank is gone: it does nothing any more, and the others hear so in a while."""

    def take(self, message: SimMessage) -> None:
        """It has landed here."""

    @property
    def landed(self) -> Callable[[SimMessage], None] | None:
        """Told of a message that was ours and has landed there; None if we need not know."""


@dataclass(slots=True)
class Counters:
    """Of one rank: payloads only, without what it sent to itself."""

    messages_sent: int = 0
    bytes_sent: int = 0
    messages_received: int = 0
    bytes_received: int = 0
    between_nodes: int = 0  # of the bytes sent, those to other nodes

    def add(self, other: Counters) -> None:
        for name in self.__slots__:
            setattr(self, name, getattr(self, name) + getattr(other, name))


class _Counting(dict[int, Counters]):
    def __missing__(self, rank: int) -> Counters:
        self[rank] = counters = Counters()
        return counters


class Way:
    """From one rank to another: its ports, those who count there, and how long the last message held
    the ports; the next one is often as long."""

    __slots__ = ("hold", "is_plain", "link", "nbytes", "receiver", "rx", "sender", "tx", "via", "wire")

    def __init__(self, route: Route, sender: Counters, receiver: Counters) -> None:
        self.link, self.tx, self.rx, self.via = route
        self.is_plain = not self.via  # nothing but the two ports
        self.wire = self.link.wire
        self.sender, self.receiver = sender, receiver
        self.nbytes = self.hold = -1  # not measured yet

    def measure(self, nbytes: int) -> int:
        """Picoseconds for which a message holds each port."""
        self.nbytes, self.hold = nbytes, self.link.hold(nbytes)
        return self.hold


class SimMessage:
    __slots__ = (
        "dst", "end", "has_landed", "header", "hold", "is_void", "leg", "medium", "nbytes", "payload",
        "src", "ticket", "way",
    )  # fmt: skip

    way: Way
    hold: int  # picoseconds in each port
    leg: int  # which of the stations on its way it comes to
    end: int  # when its last byte is there; before, when it has passed the latest station

    def __init__(
        self, medium: Medium, src: Endpoint, dst: Endpoint, header: bytes, payload: bytes | memoryview
    ) -> None:
        self.medium, self.src, self.dst = medium, src, dst
        self.header, self.payload, self.nbytes = header, payload, len(payload)
        self.has_landed = self.is_void = False
        self.ticket: Any = None  # of its fate

    def arrive(self) -> None:
        self.medium.arrive(self)

    def come(self) -> None:
        self.medium.between.come(self)


class Disturbs(Protocol):
    """An object that stands between a departure and its landing (see `fault_injector`)."""

    @property
    def is_unreliable(self) -> bool:
        """Whether messages may get lost for good, or come twice."""

    def depart(self, message: SimMessage) -> None:
        """Let it go on with `transmit`, now or later."""

    def land(self, message: SimMessage) -> None:
        """Let it arrive with `deliver`, now or later."""

    def hold(self, src: int, dst: int, picos: int) -> int:
        """For how long a message holds its ports, which would be `picos`."""

    def compute(self, rank: int, picos: int) -> int:
        """How long a rank computes, which would be `picos`."""


class Medium:
    """All messages that move under one clock."""

    def __init__(self, clock: VirtualClock, network: Network) -> None:
        self.clock, self.network = clock, network
        self.times: Timeline = clock  # the time in which messages move
        self.counters: dict[int, Counters] = _Counting()
        self.leaving: dict[int, Counters] = _Counting()  # of what each rank sends to other nodes
        self.node_of: Callable[[int], int] | None = getattr(network.topology, "node", None)
        self.ends: defaultdict[int, list[Endpoint]] = defaultdict(list)  # of each rank, those that are open
        self.injector: Disturbs | None = None
        self.meets: Callable[[SimMessage], bool] | None = None  # whether it waits for its receiver
        self.meets_within: int | None = None  # the longest that such a message waits
        self.reads_late = False  # whether what `begin` sends is read when it lands
        self.overwritten: list[SimMessage] = []  # what was written to meanwhile
        self.witness: Callable[..., None] | None = None  # told of each send, and of computations
        self.carried: Callable[[int, int, int], None] | None = None
        """Told of each end of a message that has landed: its rank, and from when to when it held the port."""
        # where ranks stand for others, it is theirs
        self.make_way: Callable[[int, int], Way] = self._way
        self._ways: dict[tuple[int, int], Way] = {}
        self.foreseen: dict[tuple[str, Any], Callable[[], None]] = {}
        """Ports ("tx" or "rx", and which) whose messages somebody has foreseen: called before another one takes them."""
        self._tx_free: dict[Any, int] = {}  # the instant at which each port is free again
        self._rx_free: dict[Any, int] = {}
        self._departing: list[SimMessage] = []  # at this instant
        self._together_until = 0  # when the last of the messages that moved together has landed
        self.latest = -1  # the instant at which a message last left
        self.crossings = 0  # messages that met some of those, whose times are then not exact
        self._arriving: list[SimMessage] = []
        self.between = Stations(lambda: self.times, self.has_passed)
        self._coming = 0  # messages that have left and not arrived
        self._digest = hashlib.blake2b(digest_size=16)
        self._records = bytearray()  # not yet in the digest

    def transmit(self, message: SimMessage) -> None:
        """It goes as soon as its sender's port is free."""
        if self.foreseen:
            self._disturb(message)
        if not (self._departing or self._arriving):
            self.times.settle(self._settle)
        self._departing.append(message)

    def arrive(self, message: SimMessage) -> None:
        """The first byte is at the receiver's port."""
        self._coming -= 1
        if self.foreseen:
            self._disturb(message)
        if not (self._departing or self._arriving):
            self.times.settle(self._settle)
        self._arriving.append(message)

    def _disturb(self, message: SimMessage) -> None:
        """It comes to its ports, and those who have foreseen other messages there have to look again."""
        pair = message.src.rank, message.dst.rank
        way = self._ways.get(pair) or self.make_way(*pair)
        for port in (("tx", way.tx), ("rx", way.rx)):
            if port in self.foreseen:
                self.foreseen[port]()

    def are_free(self, ports: Iterable[tuple[str, Any]]) -> bool:
        """Whether no message waits at any of these ports or passes it. They are named as in `foreseen`."""
        now, free = self.times.now(), {"tx": self._tx_free, "rx": self._rx_free}
        is_settled = not (self._departing or self._arriving)
        return is_settled and all(free[kind].get(port, 0) <= now for kind, port in ports)

    def _settle(self) -> None:
        """Nothing more departs or arrives at this instant: the ports take what there is."""
        departing, self._departing = self._departing, []
        if len(departing) > 1:
            departing.sort(key=_sender)
        now, at, rx_free = self.times.now(), self.times.at, self._rx_free
        if departing:
            self._enter(departing, now)
        arriving, self._arriving = self._arriving, []
        if len(arriving) > 1:
            arriving.sort(key=_sender)
        together: list[SimMessage] = []
        latest = -1  # messages that land one after the other, at one instant
        for message in arriving:
            rx = message.way.rx
            free = rx_free.get(rx, 0)
            over = rx_free[rx] = message.end = (free if free > now else now) + message.hold
            if over != latest:
                together, latest = [], over
                at(over, partial(self.land, together))
            together.append(message)
        if len(self._records) > RECORDS:
            self._digest.update(self._records)
            self._records.clear()

    def _enter(self, messages: list[SimMessage], now: int) -> None:
        """They take their places at the transmit ports."""
        self.latest = now
        if now < self._together_until:
            self.crossings += len(messages)
        ways, tx_free, pack, injector = self._ways, self._tx_free, _RECORD.pack, self.injector
        records, arriving, at = self._records, self._arriving, self.times.at
        for message in messages:
            nbytes = message.nbytes
            src, dst = pair = message.src.rank, message.dst.rank
            way = ways.get(pair)
            if way is None:
                if len(ways) >= MOST_WAYS:
                    ways.clear()  # they are made again
                way = ways[pair] = self.make_way(src, dst)
            hold = way.hold if nbytes == way.nbytes else way.measure(nbytes)
            if injector is not None:
                hold = injector.hold(src, dst, hold)
            message.way, message.hold = way, hold
            start = tx_free.get(way.tx, 0)
            if start < now:
                start = now
            tx_free[way.tx] = start + hold
            counters = way.sender
            counters.messages_sent += 1
            counters.bytes_sent += nbytes
            records += pack(now, 0, src, dst, nbytes)
            if not way.is_plain:
                self._coming += 1
                self.between.begin(message, start)
                continue
            start += way.wire
            if start == now:
                arriving.append(message)
            else:
                self._coming += 1
                at(start, message.arrive)

    def _way(self, src: int, dst: int) -> Way:
        """Its sender's counters are those of its kind, so no message has to ask for it."""
        route, node_of = self.network.topology.route(src, dst), self.node_of
        stays = node_of is None or node_of(src) == node_of(dst)
        sender = (self.counters if stays else self.leaving)[src]
        return Way(route, sender, self.counters[dst])

    def land(self, messages: Sequence[SimMessage]) -> None:
        """Their last bytes are there, at this instant."""
        records, pack, carried, injector = self._records, _RECORD.pack, self.carried, self.injector
        landing = iter(messages)
        try:
            for message in landing:
                src, dst, nbytes = message.src, message.dst, message.nbytes
                counters = message.way.receiver
                counters.messages_received += 1
                counters.bytes_received += nbytes
                records += pack(message.end, 1, src.rank, dst.rank, nbytes)
                if carried is not None and src.rank != dst.rank:
                    for rank in (src.rank, dst.rank):
                        carried(rank, message.end - message.hold, message.end)
                if injector is None:
                    message.has_landed = True
                    dst.take(message)
                    if src.landed is not None:
                        src.landed(message)
                else:
                    injector.land(message)
        finally:
            rest = [*landing]
            if rest:  # one of them could not be taken
                self.times.at(self.times.now(), partial(self.land, rest))

    def deliver(self, message: SimMessage) -> None:
        """It belongs to its receiver now."""
        message.has_landed = True
        message.dst.take(message)
        if message.src.landed is not None:
            message.src.landed(message)

    # ------------------------------------------- for who moves the messages of many ranks at once

    @property
    def is_disturbed(self) -> bool:
        """Whether single messages may fare differently, or are watched: then nobody may move them
        together."""
        return not (self.injector is None and self.meets is None and self.witness is None)

    def has_passed(self, message: SimMessage) -> None:
        """It has come to its receiver's port, at this instant."""
        self._coming -= 1
        rx, now = message.way.rx, self.times.now()
        over = self._rx_free[rx] = max(self._rx_free.get(rx, 0), now) + message.hold
        message.end = max(over, message.end + message.way.wire)
        self.times.at(message.end, partial(self.land, (message,)))

    @property
    def is_moving(self) -> bool:
        """Whether messages are on their way to a port that does not know of them yet."""
        return bool(self._coming or self._departing or self._arriving)

    @contextmanager
    def at_another_time(self, times: Timeline) -> Iterator[None]:
        """Within the block, messages move in that time."""
        here = self._departing, self._arriving
        self.times, self._departing, self._arriving = times, [], []
        try:
            yield
        finally:
            self.times = self.clock
            self._departing, self._arriving = here

    def ports(self, ranks: Sequence[int]) -> tuple[list[int], list[int]]:
        """When these ranks' own ports are free."""
        tx, rx = self._tx_free, self._rx_free
        return [tx.get(rank, 0) for rank in ranks], [rx.get(rank, 0) for rank in ranks]

    def passed(
        self,
        ranks: Sequence[int],
        tx: Sequence[int],
        rx: Sequence[int],
        messages: Sequence[int],
        nbytes: Sequence[int],
        messages_in: Sequence[int],
        nbytes_in: Sequence[int],
        record: bytes,
        end: int,
        between_nodes: Sequence[int] | None = None,
    ) -> None:
        """Messages between these ranks, each of which is taken as landed. Their ports are free again
        at `tx` and `rx`; `record` is what they are in the digest; the last one ends at `end`. So many of the
        bytes go `between_nodes` (None: none)."""
        for at, rank in enumerate(ranks):
            self._tx_free[rank], self._rx_free[rank] = tx[at], rx[at]
            counters = self.counters[rank]
            counters.messages_sent += messages[at]
            counters.bytes_sent += nbytes[at]
            counters.messages_received += messages_in[at]
            counters.bytes_received += nbytes_in[at]
            if between_nodes is not None:
                counters.bytes_sent -= between_nodes[at]
                self.leaving[rank].bytes_sent += between_nodes[at]
        self._together_until = max(self._together_until, end)
        self._records += record

    def count(self, rank: int) -> Counters:
        """All that it sent, to its own node and to others, and all that it received."""
        away, whole = self.leaving[rank], Counters()
        whole.add(self.counters[rank])
        whole.add(away)
        whole.between_nodes = away.bytes_sent
        return whole

    @property
    def digest(self) -> str:
        self._digest.update(self._records)
        self._records.clear()
        return self._digest.hexdigest()


_RECORD = struct.Struct("<qqqqq")
MOST_WAYS = 1 << 18  # that are kept: 100,000 ranks in a tree would have millions
RECORDS = 1 << 16  # bytes that are put into the digest at once


_sender = attrgetter("src.rank")  # of a message


def attach(clock: VirtualClock, network: Network) -> Medium:
    """Let this network run under that clock."""
    if clock.medium is not None:
        raise ValueError(f"this clock has its network already: {clock.medium.network}")
    medium = clock.medium = Medium(clock, network)
    return medium


def medium_of(clock: VirtualClock, address: str) -> Medium:
    """The network under a clock; at first it is made as the address says."""
    medium: Medium | None = clock.medium
    if medium is None:
        return attach(clock, Network.parse(address))
    if "?" in address and Network.parse(address) != medium.network:
        raise ValueError(f"{address!r} does not describe the network of this clock, {medium.network}")
    return medium
