"""A board: memory that all ranks of one host see, for what concerns several of them at once.

    rank 0   ready … │ done │ slot │ slot │ slot │ slot        each line is written by its rank only,
    rank 1   ready … │ done │ slot │ slot │ slot │ slot        and read by all
    rank 2   …

A message is copied into a ring and out of it, for each receiver anew. What stands on the board is
copied in once, and everybody reads it where it stands, or adds it from there. Nobody is sent
anything: a rank that has put something into a slot says so in one of its `ready` words, and one that
has read it, in its `done` word for that writer. Words only grow, and each has one writer, so nobody
needs a lock (see `rings` for the order in which others see them).

A transport that has one offers it as `board()`, if no rank has said before connecting that it wants to
see messages (`uses_board`). What the words and slots mean is the affair of those
who use it; the transport only shows the memory, and `watch` waits for something to happen in it.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from transports.clock import ASIDE, step_aside

SLOTS: Final = 4  # of each rank: so many rounds may be under way
ROOM: Final = 1 << 18  # bytes of a slot, if all of them together stay within
BUDGET: Final = 1 << 25  # bytes
SMALLEST: Final = 1 << 12
FEW: Final = 10  # looks, where a peer shares our core
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

    def __init__(
        self, memory: mmap.mmap, at: int, rank: int, size: int, room: int,
        fence: Callable[[], None] | None,
    ) -> None:  # fmt: skip
        self.rank, self.size, self.room, self.fence = rank, size, room, fence
        self._first = at
        self._vain = 0  # how many waits the looks were too few for
        self.spin(0, 0)
        self.mapped = memory  # the same bytes; faster for short pieces
        self.memory = memoryview(memory)
        self.words = self.memory.cast("Q")

    def ready(self, rank: int) -> int:
        """The first of the words in which `rank` says what stands in its slots."""
        return (self._first + rank * WORDS) // 8

    def done(self, rank: int) -> int:
        """The word in which `rank` says what it has read."""
        return self.ready(rank) + EVENTS

    def spin(self, looks: int, yields: int) -> None:
        """How often to look, and then to yield, before a rank waits in another way."""
        self.looks, self.yields = looks, yields
        self._looks = looks  # at present

    def comes(self, word: int, number: int) -> bool:
        """Whether a word exceeds `number`, now or within the time in which most answers come. Where
        every rank has a core, the other one is at work; otherwise it may be waiting for ours: then
        one looks less long, and now and then leaves the core for another."""
        words = self.words
        for _ in range(self._looks):
            if words[word] > number:
                if self._looks < self.looks:
                    self._looks = min(2 * self._looks, self.looks)
                return True
        self._vain += 1
        if self._vain % ASIDE == 0 and self.yields:
            step_aside()
            self._looks = self.looks
        for turn in range(self.yields):
            os.sched_yield()
            if words[word] > number:
                if turn < 2:  # it only wanted our core
                    self._looks = max(self._looks // 2, min(FEW, self.looks))
                return True
        return words[word] > number

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

    def __repr__(self) -> str:
        return f"<Board of {self.size} ranks, {SLOTS} slots of {self.room} bytes each>"
