"""Carry out an operation on a board: ranks read each other's memory, and no message is sent.

    put up      wait until all have done with what this slot held ─ copy ─ ready := round
    look        wait for ready ≥ round ─ (once: is it doing the same as we?) ─ copy, or add, from there
    end         done := round

Rounds are numbered through all operations, alike on all ranks, since all do the same in the same
order; each stands in the slot `round % SLOTS`. So a rank may be SLOTS rounds ahead of the others, and
the numbers `ready` and `done` never fall.

A rank that puts something up writes its header before it: group, number, fingerprint and call site,
as in a message. The rank that looks compares it, so a mismatch is found as it is with messages. A lost
peer is found as well: a waiting rank drives the transport, which notices. The schedule's order of addition
holds here too: the results are, bit for bit, those of the same schedule sent in messages (`executor`).
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from minitorch_dist.distributed.execution.operations import CollectiveOperation, GroupChannel
from minitorch_dist.distributed.fast.board_program import BEHIND_HEADER, WORD
from minitorch_dist.distributed.groups import ProcessGroup
from minitorch_dist.distributed.mail import wire
from minitorch_dist.distributed.mail.receives import Array
from transports.board import FRONT, HEAD, SLOTS, Board
from transports.driven import Turn


class BoardEnd:
    """The board of one group, whose ranks are those of the world."""

    def __init__(self, channel: GroupChannel, board: Board) -> None:
        self.channel, self.board = channel, board
        self.rank, self.size = channel.rank, channel.size
        self.round = 0  # the next one
        self._words, self._memory, self._fence = board.words, board.memory, board.fence
        self._ready = [board.ready(rank) for rank in range(self.size)]
        self._done = [board.done(rank) for rank in range(self.size)]
        self._heads = [[board.head(r, s) for s in range(SLOTS)] for r in range(self.size)]
        self.free = SLOTS  # rounds before this one find their slot free
        self._slots: dict[Any, list[list[Array]]] = {}  # by dtype, rank and slot
        self.turn = Turn(channel.mailbox.clock)  # one operation at a time
        channel.mailbox.last_shown = self.last_shown

    def slots(self, dtype: np.dtype[Any]) -> list[list[Array]]:
        """All slots of all ranks, as arrays of this dtype."""
        found = self._slots.get(dtype)
        if found is None:
            found = self._slots[dtype] = [
                [np.frombuffer(self.board.contents(r, s), np.uint8).view(dtype) for s in range(SLOTS)]
                for r in range(self.size)
            ]
        return found

    def make_room(self, operation: CollectiveOperation, number: int) -> None:
        """Return when all ranks have done with what the slot of this round held before."""
        words = self._words
        for rank, word in enumerate(self._done):
            if rank != self.rank and not self.board.spin.comes(word, number - SLOTS):
                operation.watch(rank, partial(self._is_free, word, number))
        others = [words[w] for rank, w in enumerate(self._done) if rank != self.rank]
        self.free = min(others) + SLOTS

    def _is_free(self, word: int, number: int) -> bool:
        return self._words[word] + SLOTS > number

    def wait(self, operation: CollectiveOperation, source: int, word: int, number: int) -> None:
        """Return when `source` has announced something of this round in its word."""
        words = self._words
        if not self.board.spin.comes(word, number):
            operation.watch(source, lambda: words[word] > number)

    def count(self, rank: int, slot: int, place: int) -> int:
        """The word in which a rank says how many elements it has for a place (see `board_program`)."""
        end, words_behind = self.board.head(rank, slot) + HEAD, place - BEHIND_HEADER
        if words_behind < 0:
            return end // WORD - 1 - place
        return (end + self.board.room) // WORD - 1 - words_behind

    def compare_count(self, operation: CollectiveOperation, source: int, slot: int, place: int, wanted: int) -> None:
        """Raise unless `source` has as many elements for us as we take."""
        given = self._words[self.count(source, slot, place)]
        if given != wanted:
            raise operation.other_count(source, self._header(source, slot), given, wanted)

    def check(self, operation: CollectiveOperation, source: int, slot: int, expected: bytes) -> int:
        """Raise unless `source` does the same; for how many rounds it does."""
        at = self._heads[source][slot]
        if self._memory[at + FRONT : at + FRONT + len(expected)] != expected:
            operation.compare(source, self._header(source, slot))
        return self._words[(at >> 3) + 1]

    def face(self, operation: CollectiveOperation, number: int, expected: bytes, rivals: tuple[int, ...]) -> None:
        """Raise if one of these ranks has put up something else. Two ranks that take themselves for the
        root look at nobody, nor do two that take each other for it; the later of them sees the earlier."""
        same = expected[: wire.GROUP_AND_SEQUENCE.size]  # else it is of an operation before this
        for rank in rivals:
            if self._words[self._ready[rank]] > number:
                header = self._header(rank, number % SLOTS)
                if header.startswith(same) and not header.startswith(expected):
                    operation.compare(rank, header)

    def _header(self, source: int, slot: int) -> bytes:
        at = self._heads[source][slot]
        length = min(self._words[at >> 3], wire.MAX_HEADER)
        return bytes(self._memory[at + FRONT : at + FRONT + length])

    def last_shown(self, src: int) -> bytes | None:
        """The newest header that a rank of the world has put up."""
        found = [self._header(self.channel.ranks.index(src), slot) for slot in range(SLOTS)]
        known = [header for header in found if header]
        sequence = wire.GROUP_AND_SEQUENCE.unpack_from
        return max(known, key=lambda header: sequence(header)[1], default=None)


def end_of(group: ProcessGroup) -> BoardEnd | None:
    """This rank's end of a group's board, if it has one."""
    board = group.world.transport.board() if group.is_on_board else None
    if group.board is None and board is not None:
        group.board = BoardEnd(group.channel, board)
    found: BoardEnd | None = group.board
    return found
