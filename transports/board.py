"""A board: memory that all ranks of one host see, for what concerns several of them at once.

    rank 0   ready … │ done │ slot │ slot │ slot │ slot        each line is written by its rank only,
    rank 1   ready … │ done │ slot │ slot │ slot │ slot        and read by all
    rank 2   …

A message is copied into a ring and out of it, for each receiver anew. Data on the board are copied in once.
Everybody reads them where they stand, or adds them from there. No message is sent. A rank that has put
something into a slot says so in one of its `ready` words. A rank that has read it says so in its `done`
word for that writer. Words only grow, and each has one writer, so nobody needs a lock (see `ring` for the
order in which others see them).

A transport that has one offers it as `board()`, if no rank has said before connecting that it wants to
see messages (`uses_board`). Its users give the words and slots their meaning. The transport only shows the
memory, and `watch` waits for something to happen in it.
"""

from __future__ import annotations

import mmap
from collections.abc import Callable
from contextlib import suppress
from typing import ClassVar, Final

from transports.costs import MessageCosts
from transports.spin import Spin

SLOTS: Final = 4  # of each rank: so many rounds may be under way
ROOM: Final = 1 << 19  # bytes of a slot, if all of them together stay within
BUDGET: Final = 1 << 25  # bytes
SMALLEST: Final = 1 << 12
HEAD: Final = 1 << 11  # bytes before each slot, for what says whose contents they are
FRONT: Final = 16  # the first of them, for two numbers
EVENTS: Final = 16  # ready words of a rank
LINE: Final = 64


def room(world_size: int) -> int:
    """Bytes of one slot, unless somebody asks for others; the same on all ranks."""
    fair = BUDGET // (world_size * SLOTS)
    return min(ROOM, max(fair, SMALLEST) // LINE * LINE)


WORDS: Final = 8 * EVENTS + LINE  # bytes of one rank's words


def nbytes(world_size: int, room: int) -> int:
    """How much memory a board with such slots takes."""
    return world_size * (WORDS + SLOTS * (HEAD + room))


class Board:
    """One rank's view of it."""

    costs: ClassVar = MessageCosts(1e-6, 10e9)

    def __init__(
        self, memory: mmap.mmap, at: int, rank: int, size: int, room: int, fence: Callable[[], None] | None
    ) -> None:
        self.rank, self.size, self.room, self.fence = rank, size, room, fence
        self._first = at
        self.mapped = memory  # the same bytes; faster for short pieces
        self.memory = memoryview(memory)
        self.words = self.memory.cast("Q")
        self.spin = Spin(self.words)
        self.ahead = 1  # rounds that are put up before what belongs to the first is looked at

    def ready(self, rank: int) -> int:
        """The first of the words in which `rank` says what stands in its slots."""
        return (self._first + rank * WORDS) // 8

    def done(self, rank: int) -> int:
        """The word in which `rank` says what it has read."""
        return self.ready(rank) + EVENTS

    def agree(self, is_wanted: bool) -> None:
        """Say, before all are connected, whether this rank will use it."""
        self.words[self.done(self.rank) + 1] = 1 + is_wanted

    def is_wanted(self) -> bool:
        """Whether all ranks will use it; asked when all are connected."""
        return all(self.words[self.done(rank) + 1] == 2 for rank in range(self.size))

    def head(self, rank: int, slot: int) -> int:
        """Where the head of a slot begins; its contents follow after HEAD bytes."""
        slots = self._first + self.size * WORDS
        return slots + (rank * SLOTS + slot) * (HEAD + self.room)

    def contents(self, rank: int, slot: int) -> memoryview:
        at = self.head(rank, slot) + HEAD
        return self.memory[at : at + self.room]

    def close(self) -> None:
        """Let go of the memory; arrays that were made of it keep it."""
        for view in (self.words, self.memory):
            with suppress(BufferError):
                view.release()
