"""Whole, once and in order over a medium that loses, repeats and forgets: go-back-N with credit.

    Outgoing                                                    Incoming
    first ········ next ········ limit                          taken ····· expected
    │ sent, not      │ may still  │ not yet                     │ waits     │ the only frame
    │ acknowledged   │ be sent    │                             │ to be     │ that is accepted
    └── kept, to be sent again ──┘                              │ delivered │

The receiver accepts the frame it expects and nothing else. Every frame that goes back carries `acked`, the
frame that it expects next, and `limit`, up to where it has room. The limit grows as messages are *taken*,
so a rank that does not receive stops its senders and not the broker. When something got lost, the sender
repeats all from `first` on. The window is small and a broker that works loses nothing, so the simplest rule
that repairs is the right one.

Numbers only: no sockets, no time, no threads. J. Postel, RFC 793, 1981, is where the idea stands.
"""

from __future__ import annotations

from collections import deque


class Outgoing:
    """The frames to one peer that it has not acknowledged yet."""

    def __init__(self, window: int) -> None:
        self.first = 0
        self.limit = window
        self.unacknowledged: deque[bytearray] = deque()

    @property
    def next(self) -> int:
        return self.first + len(self.unacknowledged)

    def has_room(self) -> bool:
        return self.next < self.limit

    def push(self, frame: bytearray) -> None:
        """Keep the frame with number `next` until it is acknowledged."""
        self.unacknowledged.append(frame)

    def acknowledge(self, acked: int, limit: int) -> bool:
        """The peer expects `acked` next and has room up to `limit`; whether that is news.

        An older acknowledgement, or one of frames that were never sent, changes nothing.
        """
        if not self.first <= acked <= self.next:
            return False
        is_news = acked > self.first or limit > self.limit
        for _ in range(acked - self.first):
            self.unacknowledged.popleft()
        self.first = acked
        self.limit = max(self.limit, limit)
        return is_news

    def clear(self) -> None:
        """The peer is gone."""
        self.first = self.next
        self.unacknowledged.clear()


class IncomingFlow:
    """The frames that one peer has sent us."""

    def __init__(self, window: int) -> None:
        self.window = window
        self.expected = 0  # the number that is accepted next
        self.taken = 0  # how many were delivered
        self.told_acked = 0
        self.told_limit = window

    @property
    def limit(self) -> int:
        return self.taken + self.window

    def accept(self, seq: int) -> bool:
        """Whether the frame with this number is the next one."""
        if seq != self.expected:
            return False
        self.expected += 1
        return True

    def tell(self) -> tuple[int, int]:
        """`acked` and `limit`, for a frame that is about to go to the peer."""
        self.told_acked, self.told_limit = self.expected, self.limit
        return self.told_acked, self.told_limit

    def is_due(self) -> bool:
        """Whether the peer should be told now: a quarter of the window is news to it."""
        quarter = max(1, self.window // 4)
        news = max(self.expected - self.told_acked, self.limit - self.told_limit)
        return news >= quarter

    def has_news(self) -> bool:
        return self.expected > self.told_acked or self.limit > self.told_limit
