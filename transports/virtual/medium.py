"""The simulated network of one virtual clock: messages pass through ports and land.

    depart ──► wait for the transmit port ──► wire ──► wait for the receive port ──► land
               held for α + βm                         held for α + βm

Each arrow is an event of the clock, and each is one method here, so that whatever disturbs messages
(faults) has its place. Ports serve in the order of arrival, and what comes to a port at the same
instant in the order of the senders' ranks: so it does not show in the times who was simulated first.
What the ranks sent and received is counted, and every departure and landing goes into a digest: two
runs with equal digests did the same things at the same instants.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from functools import partial
from typing import Any, Protocol
from urllib.parse import parse_qsl

from transports.quantities import amount, span
from transports.virtual import topology
from transports.virtual.agenda import Timeline
from transports.virtual.clock import VirtualClock
from transports.virtual.topology import Link, Port, Topology


@dataclass(frozen=True)
class Network:
    """What a simulated network is like, and how sends behave in it.

    A send returns at once (it is eager), its message in a buffer of its own. But one of more than
    `eager` bytes meets its receiver: the transfer begins when the receiver waits for something, and
    the send returns when it is over (rendezvous). And where a rank has more than `window` bytes on
    their way, its send waits until there is room. None: no such limit.
    """

    topology: Topology = field(default_factory=lambda: topology.DEFAULT)
    eager: int | None = None
    window: int | None = None
    detection: int = span(
        "1s"
    )  # picoseconds after which the death of a rank is known to the others

    @classmethod
    def parse(cls, address: str) -> Network:
        """`sim://?latency=2us&rate=100Gb/s&wire=0&eager=64KB&window=1MB`, each where wanted."""
        words = dict(parse_qsl(address.partition("?")[2], keep_blank_values=True))
        known = {"latency": "5us", "rate": "100Gb/s", "wire": "0s"}
        settings: dict[str, Any] = {}
        for word, text in words.items():
            if word in ("eager", "window"):
                settings[word] = amount(text)
            elif word == "detection":
                settings[word] = span(text)
            elif word in known:
                known[word] = text
            else:
                names = [*known, *(f.name for f in fields(cls) if f.name != "topology")]
                raise ValueError(f"{address!r}: there is no {word!r}; there are {', '.join(names)}")
        return cls(topology.uniform(known["latency"], known["rate"], known["wire"]), **settings)


class End(Protocol):
    """A rank's transport, as its messages see it."""

    rank: int

    def lose(self, peer: int, why: str) -> None:
        """That peer is gone, for this rank."""

    def kill(self, why: str) -> None:
        """This rank is gone: it does nothing any more, and the others hear so in a while."""

    def take(self, message: Message) -> None:
        """It has landed here."""

    def landed(self, message: Message) -> None:
        """It was ours, and has landed there."""


@dataclass(slots=True)
class Counters:
    """Of one rank: payloads only, without what it sent to itself."""

    messages_sent: int = 0
    bytes_sent: int = 0
    messages_received: int = 0
    bytes_received: int = 0


class _Counting(dict[int, Counters]):
    def __missing__(self, rank: int) -> Counters:
        self[rank] = counters = Counters()
        return counters


class Way:
    """From one rank to another: its ports, those who count there, and how long the last message held
    the ports; the next one is often as long."""

    __slots__ = ("hold", "link", "nbytes", "receiver", "rx", "sender", "tx", "wire")

    def __init__(
        self, link: Link, tx: Port, rx: Port, sender: Counters, receiver: Counters
    ) -> None:
        self.link, self.tx, self.rx, self.wire = link, tx, rx, link.wire
        self.sender, self.receiver = sender, receiver
        self.nbytes, self.hold = 0, link.hold(0)

    def measure(self, nbytes: int) -> int:
        """Picoseconds for which a message holds each port."""
        self.nbytes, self.hold = nbytes, self.link.hold(nbytes)
        return self.hold


class Message:
    __slots__ = (
        "dst", "has_landed", "header", "hold", "is_void", "medium", "nbytes", "payload", "src", "ticket",
        "way",
    )  # fmt: skip

    way: Way
    hold: int  # picoseconds in each port

    def __init__(self, medium: Medium, src: End, dst: End, header: bytes, payload: bytes) -> None:
        self.medium, self.src, self.dst = medium, src, dst
        self.header, self.payload, self.nbytes = header, payload, len(payload)
        self.has_landed = self.is_void = False
        self.ticket: Any = None  # of its fate

    def arrive(self) -> None:
        self.medium.arrive(self)


class Disturbs(Protocol):
    """What stands between a departure and its landing (see `fates`)."""

    def depart(self, message: Message) -> None:
        """Let it go on with `transmit`, now or later."""

    def land(self, message: Message) -> None:
        """Let it arrive with `deliver`, now or later."""

    def hold(self, src: int, dst: int, picos: int) -> int:
        """For how long a message holds its ports, which would be `picos`."""

    def compute(self, rank: int, picos: int) -> int:
        """How long a rank computes, which would be `picos`."""


class Medium:
    """What moves under one clock."""

    def __init__(self, clock: VirtualClock, network: Network) -> None:
        self.clock, self.network = clock, network
        self.times: Timeline = clock  # the time in which messages move
        self.counters: dict[int, Counters] = _Counting()
        self.ends: dict[int, End] = {}  # the latest of each rank
        self.fate: Disturbs | None = None
        self.meets: Callable[[Message], bool] | None = None  # whether it waits for its receiver
        self.witness: Callable[..., None] | None = None  # told of each send, and of computations
        self._ways: dict[tuple[int, int], Way] = {}
        self._tx_free: dict[Any, int] = {}  # the instant at which each port is free again
        self._rx_free: dict[Any, int] = {}
        self._departing: list[Message] = []  # at this instant
        self._together_until = 0  # when the last of the messages that moved together has landed
        self.latest = -1  # the instant at which a message last left
        self.crossings = 0  # messages that met some of those, whose times are then not exact
        self._arriving: list[Message] = []
        self._coming = 0  # messages that have left and not arrived
        self._digest = hashlib.blake2b(digest_size=16)
        self._records = bytearray()  # not yet in the digest

    def depart(self, message: Message) -> None:
        """The message is on its way."""
        if self.fate is None:
            self.transmit(message)
        else:
            self.fate.depart(message)

    def transmit(self, message: Message) -> None:
        """It goes as soon as its sender's port is free."""
        if not (self._departing or self._arriving):
            self.times.settle(self._settle)
        self._departing.append(message)

    def arrive(self, message: Message) -> None:
        """The first byte is at the receiver's port."""
        self._coming -= 1
        if not (self._departing or self._arriving):
            self.times.settle(self._settle)
        self._arriving.append(message)

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
        for message in arriving:
            rx = message.way.rx
            free = rx_free.get(rx, 0)
            over = rx_free[rx] = (free if free > now else now) + message.hold
            at(over, partial(self.land, message))
        if len(self._records) > RECORDS:
            self._digest.update(self._records)
            self._records.clear()

    def _enter(self, messages: list[Message], now: int) -> None:
        """They take their places at the transmit ports."""
        self.latest = now
        if now < self._together_until:
            self.crossings += len(messages)
        ways, tx_free, pack, fate = self._ways, self._tx_free, _RECORD.pack, self.fate
        for message in messages:
            nbytes = message.nbytes
            src, dst = pair = message.src.rank, message.dst.rank
            way = ways.get(pair)
            if way is None:
                way = ways[pair] = self._way(src, dst)
            hold = way.hold if nbytes == way.nbytes else way.measure(nbytes)
            if fate is not None:
                hold = fate.hold(src, dst, hold)
            message.way, message.hold = way, hold
            start = tx_free.get(way.tx, 0)
            if start < now:
                start = now
            tx_free[way.tx] = start + hold
            counters = way.sender
            counters.messages_sent += 1
            counters.bytes_sent += nbytes
            self._records += pack(now, 0, src, dst, nbytes)
            start += way.wire
            if start == now:
                self._arriving.append(message)
            else:
                self._coming += 1
                self.times.at(start, message.arrive)

    def _way(self, src: int, dst: int) -> Way:
        route = self.network.topology.route(src, dst)
        return Way(*route, self.counters[src], self.counters[dst])

    def land(self, message: Message) -> None:
        """The last byte is there."""
        src, dst, nbytes = message.src, message.dst, message.nbytes
        counters = message.way.receiver
        counters.messages_received += 1
        counters.bytes_received += nbytes
        self._records += _RECORD.pack(self.times.now(), 1, src.rank, dst.rank, nbytes)
        if self.fate is None:
            message.has_landed = True
            dst.take(message)
            src.landed(message)
        else:
            self.fate.land(message)

    def deliver(self, message: Message) -> None:
        """It belongs to its receiver now."""
        message.has_landed = True
        message.dst.take(message)
        message.src.landed(message)

    # ------------------------------------------- for who moves the messages of many ranks at once

    @property
    def is_disturbed(self) -> bool:
        """Whether single messages may fare differently, or are watched: then nobody may move them
        together."""
        return not (self.fate is None and self.meets is None and self.witness is None)

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
        self, ranks: Sequence[int], tx: Sequence[int], rx: Sequence[int],
        messages: Sequence[int], nbytes: Sequence[int],
        messages_in: Sequence[int], nbytes_in: Sequence[int], record: bytes, end: int,
    ) -> None:  # fmt: skip
        """Messages between these ranks, each of which is taken as landed. Their ports are free again
        at `tx` and `rx`; `record` is what they are in the digest; the last one ends at `end`."""
        for at, rank in enumerate(ranks):
            self._tx_free[rank], self._rx_free[rank] = tx[at], rx[at]
            counters = self.count(rank)
            counters.messages_sent += messages[at]
            counters.bytes_sent += nbytes[at]
            counters.messages_received += messages_in[at]
            counters.bytes_received += nbytes_in[at]
        self._together_until = max(self._together_until, end)
        self._records += record

    def count(self, rank: int) -> Counters:
        return self.counters[rank]

    @property
    def digest(self) -> str:
        self._digest.update(self._records)
        self._records.clear()
        return self._digest.hexdigest()

    def __repr__(self) -> str:
        sent = sum(counters.messages_sent for counters in self.counters.values())
        return f"<Medium of {len(self.counters)} ranks, {sent} messages, {self.network.topology!r}>"


_RECORD = struct.Struct("<qqqqq")
RECORDS = 1 << 16  # bytes that are put into the digest at once


def _sender(message: Message) -> int:
    return message.src.rank


def attach(clock: VirtualClock, network: Network) -> Medium:
    """Let this network run under that clock."""
    if "medium" in clock.extras:
        raise ValueError(f"{clock!r} has its network already: {clock.extras['medium']!r}")
    medium = clock.extras["medium"] = Medium(clock, network)
    return medium


def medium_of(clock: VirtualClock, address: str) -> Medium:
    """The network under a clock; at first it is made as the address says."""
    medium: Medium | None = clock.extras.get("medium")
    if medium is None:
        return attach(clock, Network.parse(address))
    if "?" in address and Network.parse(address) != medium.network:
        raise ValueError(f"{address!r} does not describe the network of this clock, {medium!r}")
    return medium
