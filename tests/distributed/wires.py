"""A transport whose messages are delivered by hand, in the pieces and the order a test chooses."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from minitorch_dist.distributed.execution.operations import GroupChannel
from minitorch_dist.distributed.mail.mailbox import Mailbox
from transports.clock import SystemClock
from transports.contract import Buffer, Inbox, Store, Transport, flat
from transports.errors import PeerLost


class Wires:
    """All ranks of a world; what they send waits until `deliver`."""

    def __init__(self, world_size: int) -> None:
        self.ends = [HandTransport(self, rank, world_size) for rank in range(world_size)]
        self.boxes = [Mailbox(end) for end in self.ends]
        for end, box in zip(self.ends, self.boxes, strict=True):
            end.inbox = box
        self.pending: dict[tuple[int, int], deque[tuple[bytes, bytes]]] = {}
        self.dead: set[int] = set()

    def channels(self, name: str = "default_pg", timeout: float | None = 0.0) -> list[GroupChannel]:
        ranks = range(len(self.ends))
        return [GroupChannel(box, name, 7, ranks, timeout) for box in self.boxes]

    def deliver(self, src: int, dst: int, *pieces: int, direct: bool = False) -> bool:
        """Deliver the oldest message of this pair, cut after so many bytes each time."""
        queue = self.pending.get((src, dst))
        if not queue:
            return False
        header, payload = queue.popleft()
        sink = self.boxes[dst].sink(src, header, len(payload))
        rest = payload
        for size in (*pieces, len(payload)):
            piece, rest = rest[:size], rest[size:]
            if piece:
                room = sink.space() if direct else None
                if room is not None:
                    room[: len(piece)] = piece
                    sink.advance(len(piece))
                else:
                    sink.write(memoryview(piece))
        return True

    def deliver_all(self, dst: int | None = None) -> bool:
        some = False
        for src, to in list(self.pending):
            while dst in (None, to) and self.deliver(src, to):
                some = True
        return some

    def kill(self, rank: int) -> None:
        self.dead.add(rank)
        for box in self.boxes:
            if box.rank != rank:
                box.lost(rank, PeerLost(rank, "it was killed"))


class HandTransport(Transport):
    scheme = "hand"

    def __init__(self, wires: Wires, rank: int, world_size: int) -> None:
        super().__init__(rank, world_size, "", SystemClock())
        self.wires = wires
        self.inbox: Inbox | None = None
        self.unasked = False  # something was delivered while nobody asked
        self.batch = 0  # messages delivered at once; 0: all

    def connect(self, store: Store, inbox: Inbox, timeout: float | None = None) -> None: ...

    def send(self, dst: int, header: bytes, payload: Buffer) -> None:
        if dst in self.wires.dead:
            raise PeerLost(dst, "it was killed")
        octets = bytes(flat(header, payload))
        self.wires.pending.setdefault((self.rank, dst), deque()).append((header, octets))

    def progress(self, timeout: float | None, done: Callable[[], bool] | None = None) -> bool:
        if self.unasked and done is None:
            self.unasked = False
            return True
        if not self.batch:
            return self.wires.deliver_all(self.rank)
        senders = [src for src, to in self.wires.pending if to == self.rank]
        return sum(self.wires.deliver(src, self.rank) for src in senders for _ in range(self.batch)) > 0

    def close(self) -> None: ...
