"""Ranks are threads of one process: a sender writes straight into the receiver's sink.

A message is copied (or added) once, by its sender's thread, and nothing is ever queued. `send` never
has to wait for the receiver, and after it the message *is* delivered. `threaded` says how a thread
does that, how the receiver waits, and how it learns that a peer is gone.

The ranks find each other through the store, like those of every transport; a card names the
process and the transport's number in it. Real or virtual time, as the clock has it.
"""

from __future__ import annotations

import os
from collections.abc import MutableMapping
from itertools import count
from typing import Any
from weakref import WeakValueDictionary

from transports import rendezvous
from transports.clock import SYSTEM, Clock
from transports.contract import Inbox, Store
from transports.costs import MessageCosts
from transports.errors import ConnectError
from transports.threaded import ThreadedTransport

PROCESS = os.urandom(8).hex()  # tells this process from all others
ELSEWHERE = "and queue:// joins threads of one process. Between processes use tcp://, or file:// on one host"
_ends: WeakValueDictionary[str, QueueTransport] = WeakValueDictionary()
_number = count()


class QueueTransport(ThreadedTransport):
    """One rank's end."""

    scheme = "queue"
    ranks_are = "threads"
    costs = MessageCosts(8e-6, 8e9)
    usual_delay = 0.0  # a message that was sent is there

    def __init__(self, rank: int, world_size: int, address: str = "", clock: Clock = SYSTEM) -> None:
        super().__init__(rank, world_size, address, clock)
        self._objects: WeakValueDictionary[int, Any] = WeakValueDictionary()
        self._shared: MutableMapping[int, Any] | None = None  # rank 0's objects, for all

    def connect(self, store: Store, inbox: Inbox, timeout: float | None = None) -> None:
        card = self._appear(inbox).encode()
        cards = rendezvous.exchange(store, self.scheme, self.rank, self.world_size, card, self.clock, timeout)
        for peer, name in enumerate(cards):
            end = _ends.get(name.decode())
            if end is not None:
                self._peers[peer] = end
            elif peer not in self._lost:  # it may have come, sent and closed while we looked
                there = f"in the process of rank {self.rank} (or has left it already)"
                raise ConnectError(f"rank {peer} is not {there}, {ELSEWHERE}")
        ends = self._peers.values()  # a transport that changes messages has to see all of them
        first = self._peers.get(0)
        if type(first) is QueueTransport and all(e.uses_board and type(e) is QueueTransport for e in ends):
            self._shared = first._objects
        if self._state != "closed":
            self._state = "open"

    def _appear(self, inbox: Inbox) -> str:
        """Be where others find us."""
        self._become_rank(inbox)
        card = f"{PROCESS} {next(_number)}"
        _ends[card] = self
        return card

    def shared_objects(self) -> MutableMapping[int, Any] | None:
        return self._shared
