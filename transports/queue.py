"""Ranks are threads of one process: a sender writes straight into the receiver's sink.

    sender's thread                      receiver
    send ──► with its lock: sink(…).write(payload) ──► notify ──► progress returns

So a message is copied (or added) once, by its sender, and nothing is ever queued: `send` never has
to wait for the receiver, and after it the message *is* delivered. `progress` only waits to be told.

The ranks find each other through the store, like those of every transport; a card names the
process and the transport's number in it. Real or virtual time, as the clock has it.
"""

from __future__ import annotations

import os
import threading  # noqa: TID251 - only to see whether a rank's thread has ended
from collections.abc import Callable, MutableMapping
from itertools import count
from typing import Any
from weakref import WeakValueDictionary

from transports import rendezvous
from transports.clock import SYSTEM, Clock, Deadline
from transports.contract import Buffer, Inbox, Store, flat
from transports.errors import ConnectError, PeerLost, TransportClosed
from transports.growing import Growing

PROCESS = os.urandom(8).hex()  # tells this process from all others
_ends: WeakValueDictionary[str, QueueTransport] = WeakValueDictionary()
_number = count()
CLOSED = "it closed its transport"
HEARTBEAT = 0.25  # seconds between two looks at the peers' threads, while waiting


class QueueTransport(Growing):
    """One rank's end. The thread that connects is the rank: when it has ended, the rank is dead."""

    scheme = "queue"

    def __init__(
        self, rank: int, world_size: int, address: str = "", clock: Clock = SYSTEM
    ) -> None:
        super().__init__(rank, world_size, address, clock)
        self._arrived = clock.condition()
        self._inbox: Inbox | None = None
        self._owner: threading.Thread | None = None
        self._peers: dict[int, QueueTransport] = {}
        self._lost: dict[int, PeerLost] = {}
        self._deliveries = self._reported = 0
        self._is_connected = self._is_closed = False
        self._commons: WeakValueDictionary[int, Any] = WeakValueDictionary()
        self._has_commons = False

    def connect(self, store: Store, inbox: Inbox, timeout: float | None = None) -> None:
        card = self._appear(inbox)
        cards = rendezvous.exchange(
            store, self.scheme, self.rank, self.world_size, card.encode(), self.clock, timeout
        )
        for peer, name in enumerate(cards):
            end = _ends.get(name.decode())
            if end is not None:
                self._peers[peer] = end
            elif peer not in self._lost:  # it may have come, sent and closed while we looked
                raise ConnectError(
                    f"rank {peer} is not in the process of rank {self.rank} (or has left it "
                    "already), and queue:// joins threads of one process. Between processes use "
                    "tcp://, or file:// on one host"
                )
        self._commons = self._peers[0]._commons if 0 in self._peers else self._commons
        self._has_commons = all(  # who changes what messages become wants to see all of them
            end.uses_board and type(end) is QueueTransport for end in self._peers.values()
        )
        self._is_connected = True

    def commons(self) -> MutableMapping[int, Any] | None:
        return self._commons if self._has_commons else None

    def _appear(self, inbox: Inbox) -> str:
        """Where others find us."""
        self._inbox, self._owner = inbox, threading.current_thread()
        card = f"{PROCESS} {next(_number)}"
        _ends[card] = self
        return card

    def open(self, store: Store, inbox: Inbox) -> str:
        card = self._appear(inbox)
        self._peers[self.rank] = self
        self._is_connected = True
        return card

    def is_there(self, card: str) -> bool:
        end = _ends.get(card)
        if end is None and card.partition(" ")[0] != PROCESS:
            raise ConnectError(
                f"rank {self.rank} is in another process than the ranks of this world, and queue:// "
                "joins threads of one process. Between processes use tcp://"
            )
        return end is not None and end._is_alive() and not end._is_closed

    def reach(self, peer: int, card: str, timeout: float | None = None) -> None:
        end = _ends.get(card)
        if end is None or not end._admit(self):
            raise ConnectError(f"rank {peer} has left before rank {self.rank} reached it")
        self._peers[peer] = end

    def _admit(self, comer: QueueTransport) -> bool:
        """Called by who reaches us: it takes its place, also that of one who was there before."""
        with self._arrived:
            if self._is_closed or not self._is_alive():
                return False
            if comer.rank in self._peers:
                self._notice(comer.rank)
            self._lost.pop(comer.rank, None)
            self._peers[comer.rank] = comer
            return True

    def send(self, dst: int, header: bytes, payload: Buffer) -> None:
        view = flat(header, payload)
        self._demand_open()
        if not 0 <= dst < self.world_size:
            raise ValueError(f"there is no rank {dst} in a world of {self.world_size}")
        if dst in self._lost:
            raise PeerLost(dst, self._lost[dst].reason)
        if dst not in self._peers:
            raise PeerLost(dst, "it has not come yet")
        if not self._peers[dst]._take(self.rank, header, view):
            self._demand_open()  # if the message was for ourselves
            with self._arrived:
                self._notice(dst)
            raise PeerLost(dst, self._lost[dst].reason)

    def _take(self, src: int, header: bytes, view: memoryview) -> bool:
        """Called by the sender: put a message into our inbox; False if nobody is here any more."""
        with self._arrived:
            if self._is_closed or not self._is_alive():
                return False
            assert self._inbox is not None, "connect publishes an end that has its inbox"
            sink = self._inbox.sink(src, header, view.nbytes)
            if view.nbytes:
                sink.write(view)
            self._deliveries += 1
            self._arrived.notify_all()
            return True

    def progress(self, timeout: float | None, done: Callable[[], bool] | None = None) -> bool:
        with self._arrived:
            self._demand_open()
            if timeout != 0 and not (done is not None and done()):
                seen = self._reported if done is None else self._deliveries
                self._wait(self.clock.deadline(timeout), seen)
                self._demand_open()
            found, self._reported = self._deliveries > self._reported, self._deliveries
            return found

    def _wait(self, deadline: Deadline, seen: int) -> None:
        """Wait for more than has been `seen`, and look now and then whether the peers still live."""
        while self._deliveries == seen and not self._is_closed and not deadline.is_over():
            left = deadline.left()
            self._arrived.wait(HEARTBEAT if left is None else min(left, HEARTBEAT))
            for peer, end in list(self._peers.items()):
                if peer not in self._lost and not end._is_alive():
                    self._notice(peer)

    def _is_alive(self) -> bool:
        return self._owner is not None and self._owner.is_alive()

    def _notice(self, peer: int) -> None:
        """The peer is gone; tell our inbox, if it does not know. Our lock is held."""
        end = self._peers[peer]
        name = end._owner.name if end._owner is not None else "?"
        self._lose(peer, CLOSED if end._is_closed else f"its thread {name!r} ended without close")

    def _farewell(self, peer: int) -> None:
        """Called by a peer that closes."""
        with self._arrived:
            self._lose(peer, CLOSED)

    def _lose(self, peer: int, reason: str) -> None:
        if self._is_closed or peer in self._lost or self._inbox is None:
            return
        error = self._lost[peer] = PeerLost(peer, reason)
        self._inbox.lost(peer, error)
        self._deliveries += 1
        self._arrived.notify_all()

    def _demand_open(self) -> None:
        if self._is_closed:
            raise TransportClosed(f"rank {self.rank} has closed its {self.scheme} transport")
        if not self._is_connected:
            raise TransportClosed(f"rank {self.rank} has not connected its {self.scheme} transport")

    def close(self) -> None:
        with self._arrived:
            if self._is_closed:
                return
            self._is_closed = True
            self._arrived.notify_all()
        for end in self._peers.values():
            if end is not self and not end._is_closed:
                end._farewell(self.rank)
        self._peers.clear()

    def __repr__(self) -> str:
        state = "closed" if self._is_closed else "open" if self._is_connected else "not connected"
        lost = f", lost {sorted(self._lost)}" if self._lost else ""
        return (
            f"<QueueTransport rank {self.rank} of {self.world_size}, {state}, "
            f"{self._deliveries} deliveries{lost}>"
        )
