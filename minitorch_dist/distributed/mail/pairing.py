"""Receives that wait for their message, and messages that came before their receive.

Both are found by their match (group, sequence and step, as bytes) and their source. Among receives
that take the same message the one posted first gets it, whether it named the source or not; among
messages for the same receive the one that came first. No locks: the mailbox has one.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence

from minitorch_dist.distributed.mail.receives import Arrival, PostedReceive


class Pairing:
    """The two tables."""

    __slots__ = ("_anybody", "_posted", "_serial", "announce", "choose", "noted", "unclaimed")

    def __init__(self) -> None:
        self._posted: dict[tuple[int | None, bytes], deque[PostedReceive]] = {}
        self.unclaimed: dict[bytes, dict[int, deque[Arrival]]] = {}  # by match and sender; it stays the same dict
        self._serial = 0
        self._anybody = 0  # how many receives are posted that take any source
        self.choose: Callable[[Sequence[int]], int] | None = None  # instead of the first that came
        self.announce: Callable[[], None] | None = None  # told of each receive that is posted
        # told of what receives from anybody take: the source, the receive if it was waiting, and
        # of whom messages were there
        self.noted: Callable[[int, PostedReceive | None, Sequence[int]], None] | None = None

    def take_over(self, other: Pairing) -> None:
        """Go on with what another one holds."""
        self._posted, self.unclaimed = other._posted, other.unclaimed
        self._serial, self._anybody, self.announce = other._serial, other._anybody, other.announce

    # ---------------------------------------------------------------------------------- receives

    def post(self, receive: PostedReceive) -> None:
        self._serial += 1
        receive.serial = self._serial
        self._posted.setdefault((receive.source, receive.match), deque()).append(receive)
        if receive.source is None:
            self._anybody += 1
        if self.announce is not None:
            self.announce()

    def take_receive(self, src: int, match: bytes) -> PostedReceive | None:
        """The receive that was posted first among those that take this message."""
        source = self._source_that_takes(src, match) if self._anybody else src
        queue = self._posted.get((source, match))
        if not queue:
            return None
        receive = queue.popleft()
        if not queue:
            del self._posted[source, match]
        return receive

    def _source_that_takes(self, src: int, match: bytes) -> int | None:
        """Of the receive that takes this message: the source that it named, or None for anybody."""
        queue, other = self._posted.get((src, match)), self._posted.get((None, match))
        if not other or (queue and queue[0].serial < other[0].serial):
            return src
        self._anybody -= 1
        if self.noted is not None:
            self.noted(src, other[0], ())
        return None

    def withdraw(self, receive: PostedReceive) -> bool:
        """Whether it was still waiting."""
        key = receive.source, receive.match
        queue = self._posted.get(key)
        if queue is None or receive not in queue:
            return False
        queue.remove(receive)
        if not queue:
            del self._posted[key]
        if receive.source is None:
            self._anybody -= 1
        return True

    def waiting(self) -> list[PostedReceive]:
        return [receive for queue in self._posted.values() for receive in queue]

    # ---------------------------------------------------------------------------------- arrivals

    def keep(self, arrival: Arrival, match: bytes) -> None:
        self._serial += 1
        arrival.serial = self._serial
        senders = self.unclaimed.setdefault(match, {})
        senders.setdefault(arrival.sender, deque()).append(arrival)

    def take_arrival(self, source: int | None, match: bytes) -> Arrival | None:
        """The message that came first from `source`, or from anybody."""
        senders = self.unclaimed.get(match)
        if senders is None:
            return None
        if source is None:
            if self.choose is not None:
                source = self.choose(list(senders))
            else:
                source = min(senders, key=lambda sender: senders[sender][0].serial)
            if self.noted is not None:
                self.noted(source, None, list(senders))
        queue = senders.get(source)
        if queue is None:
            return None
        arrival = queue.popleft()
        if not queue:
            del senders[source]
            if not senders:
                del self.unclaimed[match]
        return arrival

    def is_free(self, source: int | None, match: bytes) -> bool:
        """Whether no receive waits for such a message of this source, and none has come early."""
        if self._anybody or (source, match) in self._posted:
            return False
        return match not in self.unclaimed or source not in self.unclaimed[match]

    def early(self, prefix: bytes = b"") -> Iterator[Arrival]:
        """The messages that came early with a match that begins so."""
        for match, senders in self.unclaimed.items():
            if match.startswith(prefix):
                for queue in senders.values():
                    yield from queue

    def holds(self, match: bytes) -> bool:
        """Whether there is anything early for it."""
        return match in self.unclaimed

    def forget(self, prefix: bytes) -> None:
        """Drop what came early with such a match."""
        for match in [match for match in self.unclaimed if match.startswith(prefix)]:
            del self.unclaimed[match]
