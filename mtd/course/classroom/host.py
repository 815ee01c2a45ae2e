"""The teacher's end: a room on a store. It reads the messages at the desk, and sends the room's orders.

desk          a queue: "<who> <message>" of every laptop
to/<who>      a queue: orders for one laptop
g/<n>/…       what the ranks of generation n tell each other, to find each other
"""

from __future__ import annotations

from collections import deque
from contextlib import suppress
from typing import Final

from mtd.course.classroom import messages
from mtd.course.classroom.guard import StoreGuard
from mtd.course.classroom.messages import Race, Refused, Train
from mtd.course.classroom.room import Room
from transports.clock import PICO, SYSTEM
from transports.errors import QueueEmptyError
from transports.stores.store import Store

PORT: Final = 1883  # MQTT's, unless the teacher says otherwise
STORE: Final = "class"  # its name at the broker
AT_ONCE: Final = 500  # words that are heard before time is looked at
MARK: Final = 16  # letters of who it is
MOST_ORDERS: Final = 200  # that wait for one laptop
MOST_REFUSED: Final = 1000  # laptops without a seat, for whom that word is kept


class ClassHost:
    """One class."""

    def __init__(self, store: Store, room: Room, guard: StoreGuard | None = None) -> None:
        self.store, self.room, self.guard = store, room, guard or StoreGuard()
        self._refused: deque[str] = deque()

    def now(self) -> float:
        return SYSTEM.now() / PICO

    def pump(self) -> int:
        """Hear all that waits at the desk, let time pass, send the orders. How many words there were."""
        heard = 0
        while heard < AT_ONCE:
            try:
                data = self.store.queue_pop("desk", block=False)
            except QueueEmptyError:
                break
            heard += 1
            self.guard.heard(data)
            who, _, said = data.partition(b" ")
            if len(who) == MARK and who.isalnum():
                self.room.hear(who.decode("ascii"), said, self.now())
            else:
                self.room.dropped["nobody"] += 1
        self.room.tick(self.now())
        self.send()
        return heard

    def send(self) -> None:
        orders, self.room.outbox = self.room.outbox, []
        for who, order in orders:
            self.guard.admit(who, order)
            if isinstance(order, Train | Race):
                for key in self.guard.forget(order.generation):  # all have left those worlds
                    self.store.delete_key(key)
            self._hand(f"to/{who}", messages.encode(order))
            if isinstance(order, Refused):
                self._forget_refused(who)

    def _forget_refused(self, who: str) -> None:
        """Everybody is told why it has no seat. One that fetches the word too late will ask again."""
        self._refused.append(who)
        if len(self._refused) > MOST_REFUSED:
            with suppress(QueueEmptyError):
                self.store.queue_pop(f"to/{self._refused.popleft()}", block=False)

    def _hand(self, key: str, data: bytes) -> None:
        """To a laptop that fetches its orders. Of one that does not, only the newest are kept."""
        if self.store.queue_len(key) >= MOST_ORDERS:
            with suppress(QueueEmptyError):  # it has fetched them just now
                self.store.queue_pop(key, block=False)
        self.store.queue_push(key, data)

    def __repr__(self) -> str:
        return f"<Host of {self.room!r}>"
