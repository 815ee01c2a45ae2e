"""Wires that promise little, and a transport made of them by the rule of lesson 28.

    Lossy      loses, doubles and delays messages as a seed says; in virtual time
    Bulb       MQTT with QoS 1: at least once; here every third message really comes twice
    Folder     a log for each pair of ranks in a folder

    with world("lossy", wires) as launch:          `wires` is the learner's module
        conformance.check(launch, [3])

A wire has put(dst, packet), take() -> packets, and close(). `patience` is how many seconds pass until a message that
nobody has acknowledged is sent again, and `linger` for how long that goes on while one closes.
"""

from __future__ import annotations

import struct
from collections import Counter, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Protocol

from transports import conformance, rendezvous
from transports.broker import launch
from transports.clock import PICO, SYSTEM, Clock, Thread
from transports.conformance.bench import End, Tray, draw
from transports.conformance.launchers import Launch
from transports.contract import Buffer, Inbox, Store, Transport, WireTransport, flat
from transports.errors import CLOSED, ConnectError, PeerLost
from transports.mqtt_protocol import address as addresses
from transports.mqtt_protocol.connection import Connection, Publication
from transports.virtual.clock import VirtualClock

HEAD = struct.Struct("<BIIII")  # kind, sender, number, expected of the other direction, length of the header
MESSAGE, AGAIN, WORD, BYE = range(4)  # WORD only acknowledges
PAUSE = 0.0005


class Wire(Protocol):
    patience: float
    linger: float

    def put(self, dst: int, packet: bytes) -> None: ...
    def take(self) -> list[bytes]: ...
    def close(self) -> None: ...


class StrangeTransport(WireTransport):
    """One rank's end. `rules` has the classes Once and Kept of the lesson."""

    scheme = "strange"
    _inbox: Inbox

    def __init__(self, rank: int, world_size: int, wire: Wire, rules: Any, clock: Clock = SYSTEM) -> None:
        super().__init__(rank, world_size, "", clock)
        self._wire = wire
        self._kept = {peer: rules.Kept() for peer in range(world_size)}
        self._once = {peer: rules.Once() for peer in range(world_size)}
        self._sent: dict[tuple[int, int], int] = {}  # when a message was sent last
        self._lock = clock.condition()
        self._helper: Thread | None = None

    def connect(self, store: Store, inbox: Inbox, timeout: float | None = None) -> None:
        self._inbox = inbox
        rendezvous.exchange(store, self.scheme, self.rank, self.world_size, b"", self.clock, timeout)
        self._state = "open"
        self._helper = self.clock.start(self._go_on, f"strange {self.rank}")

    def _go_on(self) -> None:
        """Read and repeat while the rank does something else."""
        with self._lock:
            while self._state == "open":
                self._work()
                self._lock.wait(self._wire.patience / 2)

    # ---------------------------------------------------------------------------------------- sending

    def send(self, dst: int, header: bytes, payload: Buffer) -> None:
        view = flat(header, payload)
        with self._lock:
            self._demand_open()
            if dst not in self._kept:
                raise self._no_rank(dst)
            if dst in self._lost:
                raise PeerLost(dst, self._lost[dst].why)
            if dst == self.rank:
                self._deliver(dst, header, bytes(view))
            else:
                self._post(dst, MESSAGE, header, bytes(view))

    def _post(self, dst: int, kind: int, header: bytes = b"", body: bytes = b"") -> None:
        number = self._kept[dst].add((kind, header, body))
        self._put(dst, number, False)

    def _put(self, dst: int, number: int, again: bool) -> None:
        kind, header, body = unread(self._kept[dst])[number]
        self._sent[dst, number] = self.clock.now()
        kind = AGAIN if again and kind == MESSAGE else kind
        expected = self._once[dst].expected
        head = HEAD.pack(kind, self.rank, number, expected, len(header))
        self._wire.put(dst, head + header + body)

    # -------------------------------------------------------------------------------------- receiving

    def progress(self, timeout: float | None, done: Callable[[], bool] | None = None) -> bool:
        deadline = self.clock.deadline(timeout)
        with self._lock:
            seen = self._reported if done is None else self._deliveries
        while True:
            with self._lock:
                self._demand_open()
                self._work()
                news = self._deliveries > seen
                if news or deadline.is_over() or (done is not None and done()):
                    return self._report()
            self.clock.sleep(PAUSE)

    def _work(self) -> None:
        """Read what has come, and send again what nobody has acknowledged. Lock held."""
        for packet in self._wire.take():
            self._read(packet)
        late = self.clock.now() - round(self._wire.patience * PICO)
        for dst, kept in self._kept.items():
            for number in unread(kept):
                if self._sent[dst, number] <= late:
                    self._put(dst, number, True)

    def _read(self, packet: bytes) -> None:
        kind, src, number, expected, length = HEAD.unpack_from(packet)
        rest = packet[HEAD.size :]
        for gone in [n for n in unread(self._kept[src]) if n < expected]:
            del self._sent[src, gone]
        self._kept[src].acknowledge(expected)
        if kind == WORD:
            return
        message = (kind, rest[:length], rest[length:])
        for found, header, body in self._once[src].take(number, message, kind == AGAIN):
            if found == BYE:
                self._leave(src)
            else:
                self._deliver(src, header, body)
        word = HEAD.pack(WORD, self.rank, 0, self._once[src].expected, 0)
        self._wire.put(src, word)

    def _deliver(self, src: int, header: bytes, body: bytes) -> None:
        if self._state == "open":
            sink = self._inbox.sink(src, header, len(body))
            if body:
                sink.write(memoryview(body))
            self._deliveries += 1

    def _leave(self, src: int) -> None:
        self._lost[src] = PeerLost(src, CLOSED)
        unread(self._kept[src]).clear()  # nobody will acknowledge them any more
        if self._state == "open":
            self._inbox.lost(src, self._lost[src])
            self._deliveries += 1

    # ---------------------------------------------------------------------------------------- closing

    def close(self) -> None:
        with self._lock:
            was_open, self._state = self._state == "open", "closed"
            if was_open:
                for peer in self._kept:
                    if peer != self.rank and peer not in self._lost:
                        self._post(peer, BYE)
                self._lock.notify_all()
        if was_open and self._helper is not None:
            self._helper.join()
        deadline = self.clock.deadline(self._wire.linger)
        while was_open and not deadline.is_over():
            with self._lock:
                self._work()
                if not any(unread(kept) for kept in self._kept.values()):
                    break
            self.clock.sleep(PAUSE)
        self._wire.close()


def unread(kept: Any) -> dict[int, Any]:
    """The messages that nobody has acknowledged. Answers from before the word was *message* call them letters."""
    found: dict[int, Any] = kept.messages if hasattr(kept, "messages") else kept.letters
    return found


# ---------------------------------------------------------------------------------------------- wires


class Street:
    """The common part of the ends of a lossy wire: the messages, their receivers and their times."""

    def __init__(self, clock: Clock, seed: int, size: int) -> None:
        self.clock, self.seed = clock, seed
        self.waiting: dict[int, list[tuple[int, bytes]]] = {rank: [] for rank in range(size)}
        self.lost = self.doubled = self.count = 0


class Lossy:
    """One in five messages is lost, one in five comes twice, and each takes 0 to 3 ms."""

    patience, linger = 0.01, 0.3

    def __init__(self, street: Street, rank: int) -> None:
        self._street, self._rank = street, rank

    def put(self, dst: int, packet: bytes) -> None:
        street = self._street
        street.count += 1
        injector = draw(5, street.seed, street.count)
        street.lost += injector == 0
        street.doubled += injector == 1
        for copy in range((1, 2)[injector == 1] if injector else 0):
            late = draw(3000, street.seed, street.count, copy) * (PICO // 10**6)
            street.waiting[dst].append((street.clock.now() + late, packet))

    def take(self) -> list[bytes]:
        now, waiting = self._street.clock.now(), self._street.waiting[self._rank]
        self._street.waiting[self._rank] = [one for one in waiting if one[0] > now]
        return [packet for at, packet in sorted(waiting) if at <= now]

    def close(self) -> None:
        """Nothing is held."""


class Bulb:
    """A client of an MQTT broker that publishes with QoS 1.

    Every third message is published twice, as by a client to which its acknowledgement did not come.
    """

    patience, linger = 0.5, 5.0

    def __init__(self, address: str, run: str, rank: int) -> None:
        self._base, self._count = f"lesson/{run}", 0
        self._heard: deque[bytes] = deque()
        self._changed = SYSTEM.condition()
        self._is_up = False
        place = addresses.parse(address)
        self._connection = Connection(place, [(f"{self._base}/{rank}", 1)], None, self, SYSTEM)
        self._connection.start()
        deadline = SYSTEM.deadline(20)
        with self._changed:
            while not self._is_up:
                if deadline.is_over():
                    raise ConnectError(f"the broker at {address} did not answer within 20 s")
                self._changed.wait(deadline.left())

    def put(self, dst: int, packet: bytes) -> None:
        self._count += 1
        for _ in range(1 + (self._count % 3 == 0)):
            self._connection.post(Publication(f"{self._base}/{dst}", packet, qos=1))

    def take(self) -> list[bytes]:
        return [self._heard.popleft() for _ in range(len(self._heard))]

    def close(self) -> None:
        self._connection.close()

    # what the connection tells

    def heard(self, topic: str, payload: bytes) -> None:
        self._heard.append(payload)

    def up(self) -> None:
        with self._changed:
            self._is_up = True
            self._changed.notify_all()

    def written(self, tag: Any) -> None: ...
    def down(self, reason: str) -> None: ...
    def refused(self, reason: str) -> None: ...
    def tick(self) -> None: ...


class Folder:
    """A log for each pair of ranks: the sender appends, the receiver looks whether it has grown."""

    patience, linger = 0.5, 5.0

    def __init__(self, folder: Path, rank: int, size: int, rules: Any) -> None:
        self._rules, self._folder, self._rank = rules, folder, rank
        self._writers: dict[int, Any] = {}
        self._readers = [rules.Reader(str(self._log(src, rank))) for src in range(size)]

    def _log(self, src: int, dst: int) -> Path:
        return self._folder / f"{src}-{dst}.log"

    def put(self, dst: int, packet: bytes) -> None:
        if dst not in self._writers:
            self._writers[dst] = self._rules.Writer(str(self._log(self._rank, dst)))
        self._writers[dst].append(packet)

    def take(self) -> list[bytes]:
        return [packet for reader in self._readers for packet in reader.new()]

    def close(self) -> None:
        for writer in self._writers.values():
            writer.close()
        self._writers.clear()


# --------------------------------------------------------------------------------------------- worlds

KINDS = ("lossy", "broker", "folder")


@contextmanager
def world(kind: str, rules: Any, seed: int = 0) -> Iterator[Launch]:
    """How to run a program on ranks that are joined by wires of this kind; a broker is started for it."""
    clock: Clock = VirtualClock() if kind == "lossy" else SYSTEM
    streets: dict[str, Street] = {}
    turns = Counter[tuple[str, int]]()  # a rank may make one transport after another

    def make(rank: int, size: int, folder: str) -> Transport:
        turn = turns[folder, rank]
        turns[folder, rank] += 1
        place = Path(folder) / str(turn)
        wire: Wire
        if kind == "lossy":
            street = streets.setdefault(str(place), Street(clock, seed, size))
            wire = Lossy(street, rank)
        elif kind == "folder":
            place.mkdir(exist_ok=True)
            wire = Folder(place, rank, size, rules)
        else:
            wire = Bulb(address, f"{place.parent.name}-{turn}", rank)
        return StrangeTransport(rank, size, wire, rules, clock)

    with launch.start() if kind == "broker" else nullcontext() as broker:
        address = "" if broker is None else broker.address
        yield conformance.in_threads(make, clock)


def delivered(kind: str, rules: Any, messages: int, seed: int = 0) -> list[tuple[int, list[int]]]:
    """Rank 0 sends so many messages to rank 1: which number came, and which were read then, in order."""
    seen: list[tuple[int, list[int]]] = []

    class Noted(rules.Once):  # type: ignore[misc]
        def take(self, number: int, message: Any, again: bool = False) -> Any:
            found = super().take(number, message, again)
            if message[0] != BYE:
                seen.append((number, [int(header) for kind, header, _ in found if kind != BYE]))
            return found

    noted = SimpleNamespace(**{**vars(rules), "Once": Noted})

    def program(end: End) -> None:
        transport, tray = end.make(), Tray(lambda _: False)
        transport.connect(end.store, tray, 20)
        if end.rank == 0:
            for number in range(messages):
                transport.send(1, b"%d" % number, b"")
        else:
            while tray.count(0) < messages:
                transport.progress(20)
        transport.close()

    with world(kind, noted, seed) as run:
        run(2, program)
    return seen
