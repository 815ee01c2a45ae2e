"""The packets that wait for one client of the broker, and when that takes too long.

    say ──► a system's buffer with room? ──► written at once
              │ no
              └──► a line for each sender ── one task takes a message of each in turn, as the client takes it ──► written

So a sender that floods a client holds up itself, and not the others who speak to it. The lines hold the packets that other
clients' lines hold, too, and copy none: a message for a thousand readers that take nothing is in memory once.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Hashable
from contextlib import suppress
from typing import TypeAlias

Sender: TypeAlias = "Hashable | None"  # None: the broker itself
NEAR = 1 << 16  # bytes that are handed to the system before they can leave
STALL = 5.0  # seconds for which more than may waits for a reader
# bytes a second; a reader that takes less, while more than may waits for it, is dropped
SLOWEST = 1 << 16
PLACE = 64  # bytes that a packet takes beside its own


class Outbox:
    """The packets for one client. `most` bytes may wait; senders share that, and one with more has to wait itself."""

    def __init__(self, writer: asyncio.StreamWriter, most: int) -> None:
        self._writer, self._most = writer, most
        self._transport = writer.transport
        self._transport.set_write_buffer_limits(NEAR, NEAR // 2)
        self._lines: dict[Sender, deque[tuple[bytes, ...]]] = {}
        self._turns: deque[Sender] = deque()
        self._nbytes: dict[Sender, int] = {}  # of each line
        self._written = 0  # bytes, in all
        self._task: asyncio.Task[None] | None = None
        self._progress = asyncio.Event()
        self._held_up = 0  # senders that wait in `room`
        self._number = 0  # of the last message of QoS 1
        self._seen: tuple[float, int] | None = None  # since when it is behind, and what it had taken then

    def say(self, sender: Sender, *pieces: bytes) -> None:
        if self._transport.is_closing():
            return
        near = self._transport.get_write_buffer_size() + sum(map(len, pieces))
        if self._task is None and near <= NEAR:
            for piece in pieces:
                self._write(piece)
            return
        if sender not in self._lines:
            self._lines[sender] = deque()
            self._nbytes[sender] = 0
            self._turns.append(sender)
        self._lines[sender].append(pieces)
        self._nbytes[sender] += _size(pieces)
        if self._task is None:
            self._task = asyncio.ensure_future(self._work_off())

    def _write(self, piece: bytes | memoryview) -> None:
        self._writer.write(piece)
        self._written += len(piece)

    async def _work_off(self) -> None:
        try:
            with suppress(OSError):
                while self._turns and not self._transport.is_closing():
                    for piece in self._next():
                        await self._write_slowly(memoryview(piece))
        finally:
            self._task = None
            if self._transport.is_closing():
                self.forget()
            self._tell()

    async def _write_slowly(self, piece: memoryview) -> None:
        """A little at a time: the writer copies what the system does not take."""
        for start in range(0, len(piece), NEAR):
            self._write(piece[start : start + NEAR])
            if self._transport.get_write_buffer_size() > NEAR:
                self._tell()
                await self._writer.drain()
            if self._transport.is_closing():
                raise ConnectionResetError("the client is gone")

    def _next(self) -> tuple[bytes, ...]:
        """The first message of the sender whose turn it is."""
        sender = self._turns.popleft()
        line = self._lines[sender]
        pieces = line.popleft()
        self._nbytes[sender] -= _size(pieces)
        if line:
            self._turns.append(sender)
        else:
            del self._lines[sender], self._nbytes[sender]
        return pieces

    def _tell(self) -> None:
        """Those who wait for room may look again."""
        self._progress.set()
        self._progress = asyncio.Event()

    async def room(self, sender: Sender) -> None:
        """Return when no more of this sender waits than its share, or the client is gone."""
        while self._nbytes.get(sender, 0) * len(self._nbytes) > self._most:
            self._held_up += 1
            try:
                await self._progress.wait()
            finally:
                self._held_up -= 1

    def is_too_slow(self, now: float) -> bool:
        """Whether it holds up others and takes next to nothing, so that it should be dropped. To be asked now and then."""
        if not self._held_up:
            self._seen = None
            return False
        taken = self._written - self._transport.get_write_buffer_size()
        if self._seen is None:
            self._seen = now, taken
        since, before = self._seen
        if now - since < STALL:
            return False
        self._seen = now, taken
        return taken - before < SLOWEST * (now - since)

    def next_number(self) -> int:
        self._number = self._number % 0xFFFF + 1
        return self._number

    def forget(self) -> None:
        """Nothing will be taken any more."""
        for kept in (self._lines, self._nbytes, self._turns):
            kept.clear()
        self._tell()


def _size(pieces: tuple[bytes, ...]) -> int:
    return sum(map(len, pieces)) + PLACE * len(pieces)
