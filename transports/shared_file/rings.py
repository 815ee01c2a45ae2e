"""One mapped file of rings: each ordered pair of ranks has one, with one writer and one reader.

The file:  signed page │ a line per rank: heartbeat │ heads, a row per reader │ tails, a row per
writer │ rings │ the board (see `board`). All heads that one rank waits for stand in one row, so it looks at all its peers by
comparing a few bytes with those it saw last.
"""

from __future__ import annotations

import errno
import mmap
import os
from contextlib import suppress

from transports import board
from transports.board import Board
from transports.polled import PolledMedium
from transports.shared_file.ring import RingReader, RingWriter, barrier
from transports.shared_file.signed_file import PAGE, SignedFile
from transports.spin import Spin

LINE = 64


def _up(nbytes: int, unit: int) -> int:
    return -(-nbytes // unit) * unit


class Rings(PolledMedium):
    """One rank's view of the whole file."""

    def __init__(self, signed_file: SignedFile, rank: int, slot: int | None = 0) -> None:
        """`slot`: bytes of a slot of the board; None for as many as are good, 0 for no board."""
        size, ring = signed_file.terms.world_size, signed_file.terms.room
        row = _up(8 * size, LINE)
        heads = PAGE + size * LINE
        tails = heads + size * row
        first = _up(tails + size * row, PAGE)
        stride = _up(ring, PAGE if ring >= PAGE else LINE)
        after = _up(first + size * size * stride, PAGE)
        slot = board.room(size) if slot is None else slot
        self.nbytes = after + (board.nbytes(size, slot) if slot else 0)
        if os.fstat(signed_file.file.number).st_size < self.nbytes:
            _allocate(signed_file.file.number, self.nbytes)
        self._memory = mmap.mmap(signed_file.file.number, self.nbytes)
        self._bytes = memoryview(self._memory)
        self._words = self._bytes.cast("Q")
        self.spin = Spin(self._words)
        self._row = slice(heads + rank * row, heads + rank * row + 8 * size)
        self._seen = b""
        self._beats = [(PAGE + peer * LINE) // 8 for peer in range(size)]
        self._rank = rank
        self.board = Board(self._memory, after, rank, size, slot, barrier()) if slot else None

        def ends(src: int, dst: int) -> tuple[int, int, int, int]:
            ring_at = first + (src * size + dst) * stride
            return ring_at, ring, (heads + dst * row) // 8 + src, (tails + src * row) // 8 + dst

        parts = self._memory, self._bytes, self._words
        self.outlets = [RingWriter(*parts, *ends(rank, dst)) for dst in range(size)]
        self.inlets = [RingReader(src, *parts, *ends(src, rank)) for src in range(size)]

    def has_news(self) -> bool:
        """Whether any peer has moved its head since this last said yes."""
        row = self._memory[self._row]
        if row == self._seen:
            return False
        self._seen = row
        return True

    def forget(self) -> None:
        """A round of reading broke off: look again at everything."""
        self._seen = b""

    def beat(self) -> None:
        """Show the others that we live."""
        self._words[self._beats[self._rank]] += 1

    def pulse(self, peer: int) -> int:
        """A number that changes while `peer` lives."""
        return self._words[self._beats[peer]]

    def close(self) -> None:
        for end in (*self.outlets, *self.inlets):
            end.release()
        if self.board is not None:
            self.board.close()
        self._words.release()
        self._bytes.release()
        with suppress(BufferError):  # a sink has kept a piece: the mapping ends with that
            self._memory.close()


def _allocate(descriptor: int, nbytes: int) -> None:
    """Get the room now: a write into a mapped hole of a full disk would kill the process.

    A disk that has less is not filled in vain: for that moment every other program would find it full.
    """
    if hasattr(os, "fstatvfs"):
        disk = os.fstatvfs(descriptor)
        if nbytes > disk.f_bavail * disk.f_frsize:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(descriptor, 0, nbytes)
    else:
        os.ftruncate(descriptor, nbytes)
