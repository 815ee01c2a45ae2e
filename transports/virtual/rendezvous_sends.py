"""Sends that wait until their receive is posted, as those of NCCL do, and large ones of MPI.

    send ── offer ──► kept beside the receiver's inbox      claim: is its receive posted?
                              │    no: asked again at the end of an instant in which one was posted
                              └─── yes: the receive is this message's; the transfer begins
    send returns ◄─────────── landed

Which receive a message gets is the inbox's to say (`inboxes.Claims`). Messages of one sender that match
the same receives keep their order. A short one behind a long one that waits is kept, too; its send has
returned, as its bytes are in a buffer. A long one is not paired while a short one before it is on its
way. All are paired at the end of an instant, by the receivers' ranks: so it does not show in the times who was simulated first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from transports.contract import Sink
from transports.virtual.clock import VirtualClock
from transports.virtual.inboxes import Claims
from transports.virtual.medium import Endpoint, SimMessage
from transports.virtual.read_on_landing import ReadOnLanding


class Pairs:
    """Of one network: the ranks at which something may be paired in this instant."""

    def __init__(self, clock: VirtualClock) -> None:
        self._clock = clock
        self._due: dict[Offers, None] = {}

    def pair_later(self, offers: Offers) -> None:
        """When nobody has anything left to do in this instant."""
        if not self._due:
            self._clock.settle(self._pair_due)
        self._due[offers] = None

    def _pair_due(self) -> None:
        due, self._due = self._due, {}
        for offers in sorted(due, key=lambda offers: offers.rank):
            offers.pair()


class Offers:
    """The messages that wait for one rank to post their receives."""

    def __init__(self, rank: int, inbox: Claims, limit: int, pairs: Pairs, rouse: Callable[[], None]) -> None:
        """`rouse` lets those look who wait at that rank: a message that fits nothing may fail them."""
        self.rank, self._inbox, self._limit = rank, inbox, limit
        self._pairs, self._rouse = pairs, rouse
        self._waiting: list[SimMessage] = []
        self._short: dict[SimMessage, bytes] = {}  # that are on their way, and what they match
        self._claimed: dict[SimMessage, Any] = {}  # the receives of those that are on their way
        inbox.tell_of_receives(self._posted)

    def keeps(self, message: SimMessage) -> bool:
        """Whether this message has to wait for its receive, or is behind one that does. Then it is kept here."""
        if not self._inbox.is_awaited(message.header):
            return False
        if message.nbytes < self._limit and all(other.src is not message.src for other in self._waiting):
            self._short[message] = self._inbox.match(message.header)
            return False
        self._waiting.append(message)
        self._pairs.pair_later(self)
        return True

    def returns_at_once(self, message: SimMessage) -> bool:
        """Whether its send does not wait, although it is kept here."""
        return message.nbytes < self._limit

    def remove(self, message: SimMessage) -> None:
        """Its sender does not wait any more."""
        self._waiting = [other for other in self._waiting if other is not message]
        self._short.pop(message, None)

    def flush(self, sender: Endpoint) -> None:
        """The sender leaves in good order: its messages still arrive."""
        leaving = [message for message in self._waiting if message.src is sender]
        self._waiting = [message for message in self._waiting if message.src is not sender]
        for message in leaving:
            sender.set_out(message)

    def there(self) -> list[tuple[int, bytes]]:
        """The offers: sender and header of each."""
        return [(message.src.rank, message.header) for message in self._waiting]

    def sink(self, message: SimMessage) -> Sink | None:
        """Where a message goes that was paired; None: it was not."""
        claimed = self._claimed.pop(message, None)
        if claimed is None:
            return None
        return self._inbox.into(claimed, message.src.rank, message.header, message.nbytes)

    def landed(self, message: SimMessage) -> None:
        """It has come, or is void. Longer ones behind it may be paired now."""
        if self._short.pop(message, None) is not None:
            self._posted()

    def _is_behind(self, message: SimMessage) -> bool:
        """Whether a short one of its sender is still on its way, which takes the same receives."""
        if not self._short:
            return False
        match = self._inbox.match(message.header)
        return any(short.src is message.src and kind == match for short, kind in self._short.items())

    def _posted(self) -> None:
        """Somebody has posted a receive, and may hold the inbox's lock."""
        if self._waiting:
            self._pairs.pair_later(self)

    def pair(self) -> None:
        """Pair what can be paired, in the order in which it was offered."""
        left: list[SimMessage] = []
        waiting, self._waiting = self._waiting, []
        for message in waiting:
            if message.src.is_over:
                continue
            is_behind = self._is_behind(message)
            receive = None if is_behind else self._inbox.claim(message.src.rank, message.header)
            if receive is None:
                left.append(message)
                continue
            self._claimed[message] = receive
            message.src.set_out(message)
        self._waiting = left + self._waiting
        if left:
            self._rouse()


class RendezvousSend:
    """A send that was begun. `stand_by` waits within it."""

    def __init__(self, message: SimMessage, stand_by: Callable[[SimMessage, float | None], None]) -> None:
        self.message, self._stand_by = message, stand_by

    @property
    def is_overwritten(self) -> bool:
        return isinstance(self.message, ReadOnLanding) and self.message.is_overwritten

    def is_over(self) -> bool:
        return self.message.has_landed

    def finish(self, timeout: float | None) -> None:
        if not self.message.has_landed:
            self._stand_by(self.message, timeout)
