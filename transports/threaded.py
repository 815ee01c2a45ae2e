"""Media in whose messages the sender's own thread is put to work: it writes them into the receiver's inbox.

    sender's thread     with the receiver's lock: sink(…).write(payload) ─► notify
    receiver            `progress` only waits to be told

So nothing is ever queued, and one lock for each rank guards its inbox, its count of deliveries, and
its list of lost peers. The thread that connects is the rank: when it has ended, the rank is dead. `queue` is such a
medium. A transport over one of them only says how the ends of a world find each other.
"""

from __future__ import annotations

import threading  # noqa: TID251 - only to see whether a rank's thread has ended
from collections.abc import Callable

from transports.clock import SYSTEM, Clock, Deadline
from transports.contract import Buffer, Inbox, WireTransport, flat
from transports.errors import CLOSED, PeerLost

BROKEN_OFF = "it was interrupted in the middle of a message, which cannot be taken back"
HEARTBEAT = 0.25  # seconds between two looks at the peers, while waiting


class ThreadedTransport(WireTransport):
    """One rank's end, whose receiving side is called by the threads of all others."""

    def __init__(self, rank: int, world_size: int, address: str = "", clock: Clock = SYSTEM) -> None:
        super().__init__(rank, world_size, address, clock)
        self._owner: threading.Thread | None = None
        self._peers: dict[int, ThreadedTransport] = {}  # their ends, this rank's own among them
        self._arrived = clock.condition()
        self._inbox: Inbox | None = None
        self._unsettled: int | None = None  # whose message is being put in, or was broken off

    def _become_rank(self, inbox: Inbox) -> None:
        """Become the rank of the calling thread."""
        self._inbox, self._owner = inbox, threading.current_thread()

    def _is_alive(self) -> bool:
        """Whether this rank's own thread goes on. Others ask."""
        return self._owner is not None and self._owner.is_alive()

    def _why_gone(self) -> str:
        name = self._owner.name if self._owner is not None else "?"
        return CLOSED if self._state == "closed" else f"its thread {name!r} ended without close"

    def send(self, dst: int, header: bytes, payload: Buffer) -> None:
        view = flat(header, payload)
        self._demand_open()
        if not 0 <= dst < self.world_size:
            raise self._no_rank(dst)
        if dst in self._lost:
            raise PeerLost(dst, self._lost[dst].why)
        if not self._peers[dst]._take(self.rank, header, view):
            raise self._refused(dst, self._peers[dst])

    def _refused(self, dst: int, peer: ThreadedTransport) -> PeerLost:
        """A peer did not take our message: it is gone, or it has given us up."""
        self._demand_open()  # if the message was for ourselves
        refused = peer._lost.get(self.rank)
        if refused is not None:
            return PeerLost(dst, f"it has given us up: {refused.reason}")
        with self._arrived:
            self._lose(dst, peer._why_gone())
        return PeerLost(dst, self._lost[dst].why)

    def _take(self, src: int, header: bytes, view: memoryview) -> bool:
        """Called by the sender: put a message into our inbox; False if nobody is here any more."""
        with self._arrived:
            if self._state == "closed" or not self._is_alive():
                return False
            self._settle()
            if src in self._lost:
                return False
            assert self._inbox is not None, "connect publishes an end that has its inbox"
            self._unsettled = src  # in case that the sender is interrupted
            sink = self._inbox.sink(src, header, view.nbytes)
            if view.nbytes:
                sink.write(view)
            self._unsettled = None
            self._deliveries += 1
            self._arrived.notify_all()
            return True

    def _settle(self) -> None:
        """Give up a sender that was interrupted while it put a message in. Our lock is held."""
        if self._unsettled is not None:
            self._lose(self._unsettled, BROKEN_OFF)
            self._unsettled = None

    def progress(self, timeout: float | None, done: Callable[[], bool] | None = None) -> bool:
        with self._arrived:
            self._demand_open()
            self._settle()
            if timeout != 0 and not (done is not None and done()):
                seen = self._reported if done is None else self._deliveries
                self._wait(self.clock.deadline(timeout), seen)
                self._demand_open()
            return self._report()

    def _wait(self, deadline: Deadline, seen: int) -> None:
        """Wait for more than has been `seen`, and look now and then whether the peers still live."""
        while self._deliveries == seen and self._state == "open" and not deadline.is_over():
            left = deadline.left()
            self._arrived.wait(HEARTBEAT if left is None else min(left, HEARTBEAT))
            self._settle()
            for peer, end in list(self._peers.items()):
                if not end._is_alive():
                    self._lose(peer, end._why_gone())

    def _farewell(self, peer: int) -> None:
        """Called by a peer that closes."""
        with self._arrived:
            self._lose(peer, CLOSED)

    def _lose(self, peer: int, reason: str) -> None:
        """Tell our inbox that a peer is gone, if it does not know. Our lock is held."""
        if self._state == "closed" or peer in self._lost or self._inbox is None:
            return
        error = self._lost[peer] = PeerLost(peer, reason)
        self._inbox.lost(peer, error)
        self._deliveries += 1
        self._arrived.notify_all()

    def close(self) -> None:
        with self._arrived:
            was_closed, self._state = self._state == "closed", "closed"
            self._arrived.notify_all()
        if not was_closed:
            for end in self._peers.values():
                if end is not self and end._state != "closed":
                    end._farewell(self.rank)
            self._peers.clear()
