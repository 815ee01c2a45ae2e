"""The packets that wait for one client of the broker, and when that takes too long.

    say ──► a system's buffer with room? ──► written at once
              │ no
              └──► backlog ── one task, as the client takes it ──► written

The backlog holds the packets that other clients' backlogs hold, too, and copies none. So a message for a thousand
readers that take nothing is in memory once.
"""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import suppress

NEAR = 1 << 16  # bytes that are handed to the system before they can leave
STALL = 5.0  # seconds for which more than may waits for a reader
SLOWEST = (
    1 << 16
)  # bytes a second; a reader that takes less, while more than may waits for it, is dropped
PLACE = 64  # bytes that a packet takes beside its own


class Outbox:
    """The packets for one client; `most` bytes may wait before their senders have to."""

    def __init__(self, writer: asyncio.StreamWriter, most: int) -> None:
        self._writer, self._most = writer, most
        self._transport = writer.transport
        self._transport.set_write_buffer_limits(NEAR, NEAR // 2)
        self._backlog: deque[bytes] = deque()
        self._nbytes = 0  # of the backlog
        self._written = 0  # bytes, in all
        self._task: asyncio.Task[None] | None = None
        self._has_room = asyncio.Event()
        self._has_room.set()
        self._seen: tuple[float, int] | None = (
            None  # since when it is behind, and what it had taken then
        )

    def say(self, *pieces: bytes) -> None:
        if self._transport.is_closing():
            return
        if self._task is None and self._transport.get_write_buffer_size() <= NEAR:
            self._write(pieces)
            return
        self._backlog.extend(pieces)
        self._nbytes += sum(map(len, pieces)) + PLACE * len(pieces)
        if self._nbytes > self._most:
            self._has_room.clear()
        if self._task is None:
            self._task = asyncio.ensure_future(self._work_off())

    def _write(self, pieces: tuple[bytes, ...]) -> None:
        for piece in pieces:
            self._writer.write(piece)
            self._written += len(piece)

    async def _work_off(self) -> None:
        try:
            with suppress(OSError):
                while self._backlog and not self._transport.is_closing():
                    piece = self._backlog.popleft()
                    self._nbytes -= len(piece) + PLACE
                    self._write((piece,))
                    if self._nbytes <= self._most:
                        self._has_room.set()
                    if self._transport.get_write_buffer_size() > NEAR:
                        await self._writer.drain()
        finally:
            self._task = None
            if self._transport.is_closing():
                self.forget()

    async def room(self) -> None:
        """Return when no more waits for it than may, or it is gone."""
        await self._has_room.wait()

    def why_too_slow(self, now: float) -> str:
        """Why it should be dropped, if it is behind and takes next to nothing. To be asked now and then."""
        if self._has_room.is_set():
            self._seen = None
            return ""
        taken = self._written - self._transport.get_write_buffer_size()
        if self._seen is None:
            self._seen = now, taken
        since, before = self._seen
        if now - since < STALL:
            return ""
        self._seen = now, taken
        if taken - before >= SLOWEST * (now - since):
            return ""
        return f"it took {taken - before} bytes in {now - since:.1f} s, while {self._nbytes} waited for it"

    def forget(self) -> None:
        """Nothing will be taken any more."""
        self._backlog.clear()
        self._nbytes = 0
        self._has_room.set()

    def __repr__(self) -> str:
        return f"<Outbox, {self._nbytes} bytes wait>"
