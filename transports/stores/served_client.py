"""One client of a store's server: what it has said, and what is still to be said to it.

    bytes ──► heard ──► a whole request ──► asked ──► an answer ──► to_say ──► bytes

At most one request is carried out at a time, and the next one only when its answer was taken. A client that has an
answer to come, and says more and more meanwhile, is not read any further.
"""

from __future__ import annotations

import select
import socket
from collections import deque
from itertools import islice

from transports.frames import LENGTH
from transports.stores import protocol
from transports.stores.protocol import StoreRequest

READ = 1 << 16  # bytes that are read at once
# bytes, and fields, of a short request; a longer one waits among the long ones
LONG, MANY = 1 << 18, 500
AT_ONCE = 512  # pieces of an answer that are handed to the system at once
LEFT = getattr(select, "POLLRDHUP", 0) | select.POLLHUP | select.POLLERR


class ServedClient:
    """A connection that has proved to hold the key."""

    __slots__ = ("asked", "events", "has_turn", "heard", "is_late", "is_long", "socket", "to_say")

    def __init__(self, connection: socket.socket) -> None:
        self.socket = connection
        self.heard = bytearray()
        self.to_say: deque[memoryview] = deque()  # of the answer that it does not have whole
        self.asked: StoreRequest | None = None  # what it waits for
        self.is_long = False  # that, or the next request that has come
        self.is_late = False  # its time is over
        self.has_turn = False  # it stands in a row
        self.events = -1  # that are polled for

    @property
    def is_gone(self) -> bool:
        return self.socket.fileno() < 0

    @property
    def left(self) -> int:
        """Bytes of its answer that it has not taken."""
        return sum(map(len, list(self.to_say)))

    @property
    def is_busy(self) -> bool:
        return self.asked is not None or bool(self.to_say)

    def wanted(self) -> int:
        """The events to poll for. It has said enough for now if it waits for an answer, or takes none."""
        is_full = self.is_busy and len(self.heard) >= READ
        reads = getattr(select, "POLLRDHUP", 0) if is_full else select.POLLIN
        return reads | (select.POLLOUT if self.to_say else 0)

    def has_asked(self) -> bool:
        """Whether a whole request has come that can be carried out now. FrameError if it cannot be one."""
        length = None if self.is_busy else self._length()
        if length is None:
            return False
        fields = int.from_bytes(self.heard[LENGTH : LENGTH + 4], "little")
        self.is_long = length > LONG or fields > MANY
        return True

    def _length(self) -> int | None:
        length = protocol.frame_length(self.heard)
        return None if length is None or len(self.heard) < length else length

    def take(self) -> StoreRequest:
        """The request that has come."""
        length = self._length()
        assert length is not None, "it has asked"
        self.asked = protocol.unpack_request(memoryview(self.heard)[LENGTH:length])
        del self.heard[:length]
        return self.asked

    def answer(self, pieces: list[bytes]) -> None:
        self.asked, self.is_late = None, False
        self.to_say.extend(map(memoryview, pieces))

    def flush(self) -> None:
        """Say as much as the system takes at once."""
        if self.to_say:
            sent = self.socket.sendmsg(list(islice(self.to_say, AT_ONCE)))
            while self.to_say and sent >= len(self.to_say[0]):
                sent -= len(self.to_say.popleft())
            if sent:
                self.to_say[0] = self.to_say[0][sent:]
