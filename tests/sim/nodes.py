"""Programs that move bytes only, on every rank in virtual time, and what they did.

    def program(node):                          # bytes only; arrays and collectives stand above
        if node.rank == 0:
            node.send(1, b"ping")
        else:
            return node.receive(0)

    outcome = run(program, 2, uniform("5us", "100Gb/s"))
    outcome.results, outcome.time, outcome.ranks[0].bytes_sent, outcome.digest

`run` starts the ranks under one clock and hands each its `SimulatedNode`.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from transports.contract import Buffer
from transports.quantities import in_words
from transports.sim import SimTransport
from transports.simulation import each_rank
from transports.stores.store import HashStore
from transports.virtual import medium
from transports.virtual.clock import VirtualClock
from transports.virtual.inboxes import Waiting
from transports.virtual.medium import Counters
from transports.virtual.network import Network
from transports.virtual.sim_thread import SimThread
from transports.virtual.topology import Topology

T = TypeVar("T")


@dataclass(frozen=True)
class SimulatedRank:
    """The record of one rank. Spans in picoseconds; bytes are payloads; nothing counts that a rank sent
    to itself."""

    messages_sent: int
    bytes_sent: int
    messages_received: int
    bytes_received: int
    idle: int  # waiting for others
    busy: int  # computing, sleeping
    time: int  # when it was over


@dataclass(frozen=True)
class SimulationOutcome(Generic[T]):
    results: list[T]
    time: int  # picoseconds until the last rank was over
    ranks: list[SimulatedRank]
    digest: str  # of all departures and landings; equal digests, equal runs
    switches: int  # from simulated thread to simulated thread

    @property
    def messages(self) -> int:
        return sum(rank.messages_sent for rank in self.ranks)

    def __repr__(self) -> str:
        return f"<Outcome of {len(self.ranks)} ranks: {in_words(self.time)}, {self.messages} messages>"


def run(
    program: Callable[[SimulatedNode], T],
    world_size: int,
    network: Network | Topology | str = "sim://",
    seed: int | None = None,
    endless: float | None = None,
    limit: float | None = None,
    engine: str | None = None,
) -> SimulationOutcome[T]:
    """Call `program(node)` on every rank. The first error of any rank is raised when all are over.

    `network` is a Network, a topology, or an address; the rest is VirtualClock's.
    """
    clock = VirtualClock(seed, endless, limit, engine)
    if isinstance(network, str):
        network = Network.parse(network)
    moving = medium.attach(clock, network if isinstance(network, Network) else Network(network))
    store = HashStore(clock)

    def rank_program(rank: int) -> T:
        node = SimulatedNode(rank, world_size, clock, store)
        try:
            return program(node)
        finally:
            node.transport.close()

    results, heads = each_rank(clock, world_size, rank_program)
    ranks = [_rank(main, moving.count(rank)) for rank, main in enumerate(heads)]
    time = max(main.ended for main in heads)
    return SimulationOutcome(results, time, ranks, moving.digest, clock.switches)


class SimulatedNode:
    """One rank of a program that moves bytes."""

    def __init__(self, rank: int, world_size: int, clock: VirtualClock, store: HashStore) -> None:
        self.rank, self.world_size, self.clock, self.store = rank, world_size, clock, store
        self.transport = SimTransport(rank, world_size, clock=clock)
        self.letters = Letters()
        self.transport.connect(store, self.letters)

    def send(self, dst: int, payload: Buffer) -> None:
        self.transport.send(dst, b"", payload)

    def receive(self, src: int, timeout: float | None = None) -> bytes:
        """The next message from `src`; TimeoutError after `timeout` seconds, PeerLost if it left."""
        return self.letters.next(src, self.transport, timeout)

    def exchange(self, dst: int, payload: Buffer, src: int) -> bytes:
        """Send to one and receive from another, both at once."""
        self.send(dst, payload)
        return self.receive(src)

    def compute(self, span: int) -> None:
        """Be busy for `span` picoseconds."""
        self.clock.pause(span)

    def now(self) -> int:
        return self.clock.now()

    def __repr__(self) -> str:
        return f"<Node {self.rank} of {self.world_size} at {in_words(self.clock.now())}>"


class Letters:
    """The simplest inbox: whole messages, by sender."""

    def __init__(self) -> None:
        self._arrived: defaultdict[int, deque[bytearray]] = defaultdict(deque)
        self.gone: dict[int, Exception] = {}

    def sink(self, src: int, header: bytes, nbytes: int) -> GrowingSink:
        letter = GrowingSink()
        self._arrived[src].append(letter)
        return letter

    def lost(self, src: int, reason: Exception) -> None:
        self.gone[src] = reason

    def has(self, src: int) -> bool:
        """Whether a message from `src` is here."""
        return bool(self._arrived[src])

    def next(self, src: int, transport: SimTransport, timeout: float | None = None) -> bytes:
        letters = self._arrived[src]
        if letters:
            return bytes(letters.popleft())
        awaited = Awaited(self, src, letters)
        deadline = None if timeout is None else transport.clock.deadline(timeout)
        while not letters:
            if src in self.gone:
                raise self.gone[src]
            if deadline is not None and deadline.is_over():
                raise TimeoutError(f"rank {transport.rank} waited {timeout} s for a message from rank {src}")
            transport.progress(None if deadline is None else deadline.left(), awaited)
        return bytes(letters.popleft())


class Awaited:
    """Is there something from `src`, if only bad news?"""

    __slots__ = ("inbox", "letters", "src")

    def __init__(self, inbox: Letters, src: int, letters: deque[bytearray]) -> None:
        self.inbox, self.src, self.letters = inbox, src, letters

    def waiting_for(self) -> Waiting:
        return Waiting((self.src,), "receive")

    def __call__(self) -> bool:
        return bool(self.letters) or self.src in self.inbox.gone


class GrowingSink(bytearray):
    """A sink that grows. A simulated message comes in one piece."""

    __slots__ = ()
    write = bytearray.extend

    def space(self) -> memoryview | None:
        return None

    def advance(self, nbytes: int) -> None:
        raise AssertionError("nothing can be put into a space that was not offered")


def _rank(main: SimThread, counters: Counters) -> SimulatedRank:
    return SimulatedRank(
        counters.messages_sent,
        counters.bytes_sent,
        counters.messages_received,
        counters.bytes_received,
        main.waited,
        main.slept,
        main.ended,
    )
