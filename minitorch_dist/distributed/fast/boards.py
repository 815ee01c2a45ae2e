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

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

import numpy as np

from minitorch_dist.distributed.execution.executor import turned
from minitorch_dist.distributed.execution.layout import Vector
from minitorch_dist.distributed.execution.operations import CollectiveOperation, GroupChannel
from minitorch_dist.distributed.fast.board_program import (
    BEHIND_HEADER,
    WORD,
    Act,
    BoardProgram,
    OwnPart,
    Put,
    Take,
    board_program,
)
from minitorch_dist.distributed.fast.prepared_board_run import PreparedBoardRun
from minitorch_dist.distributed.groups import Group
from minitorch_dist.distributed.mail import wire
from minitorch_dist.distributed.mail.receives import Array, PostponedCopy as Copy
from minitorch_dist.distributed.prepared import Execute, PreparedCall
from minitorch_dist.distributed.reductions import CombineFunction
from minitorch_dist.distributed.schedules.postings import is_fit, program
from minitorch_dist.distributed.schedules.schedule import Schedule
from minitorch_dist.tensors.core.without_warnings import (
    enter_silence,
    leave_silence,
    without_warnings,
)
from transports.board import EVENTS, FRONT, HEAD, SLOTS, Board
from transports.driven import Turn

Arrays = Mapping[Any, Array]
DRIVE: Final = 64  # operations, after which the transport is driven although nobody had to wait


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
        self.is_fast = True
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

    def sign(self, header: bytes, slot: int, rounds: int) -> None:
        """Say what the next rounds are about."""
        at = self._heads[self.rank][slot]
        words = self._words
        words[at >> 3], words[(at >> 3) + 1] = len(header), rounds
        self._memory[at + FRONT : at + FRONT + len(header)] = header

    def count(self, rank: int, slot: int, place: int) -> int:
        """The word in which a rank says how many elements it has for a place (see `board_program`)."""
        end, words_behind = self.board.head(rank, slot) + HEAD, place - BEHIND_HEADER
        if words_behind < 0:
            return end // WORD - 1 - place
        return (end + self.board.room) // WORD - 1 - words_behind

    def compare_count(
        self, operation: CollectiveOperation, source: int, slot: int, place: int, wanted: int
    ) -> None:
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

    def face(
        self, operation: CollectiveOperation, number: int, expected: bytes, rivals: tuple[int, ...]
    ) -> None:
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

    def __repr__(self) -> str:
        return f"<BoardEnd of {self.channel!r}, round {self.round}, {self.board!r}>"


def end_of(group: Group) -> BoardEnd | None:
    """This rank's end of a group's board, if it has one."""
    board = group.world.transport.board() if group.is_on_board else None
    if group.board is None and board is not None:
        group.board = BoardEnd(group.channel, board)
    found: BoardEnd | None = group.board
    return found


def bind(call: PreparedCall, vector: Vector) -> Execute | None:
    """A function that carries out a call on its group's board; None if there is none, or it will not do."""
    end, schedule, root = end_of(call.group), call.schedule, call.root
    if end is None or not is_showable(schedule, call.size, root):
        return None
    program = board_program(schedule, call.rank, call.size, root, vector, end.board.room)
    return None if program is None else BoardCall(end, program, call.combine, call.expects).run


def is_showable(schedule: Schedule, size: int, root: int | None) -> bool:
    """Whether a board will do for it."""
    return is_fit(schedule, size, root) and program(schedule, 0, size, root).events <= EVENTS


class BoardCall:
    """One kind of operation, run again and again. An operation that fits into one round has a fast form."""

    __slots__ = ("_combine", "_end", "_expects", "_fast", "_is_short", "_program")

    def __init__(
        self, end: BoardEnd, program: BoardProgram, combine: CombineFunction | None, expects: bytes
    ) -> None:
        self._end, self._program, self._combine, self._expects = end, program, combine, expects
        self._is_short = program.rounds == 1 and not program.scratch
        self._fast: PreparedBoardRun | None = None

    def run(self, operation: CollectiveOperation, arrays: Arrays, own: Copy | None = None) -> None:
        """Carry out this rank's part; `arrays` as for `executor.PlannedCall`. The rank first puts up
        the data that others wait for, and then makes its own copy."""
        end, combine = self._end, self._combine
        if not end.turn.try_take():
            end.turn.take(end.channel.mailbox.clock.deadline(operation.timeout))
        try:
            if not self._is_short or not end.is_fast:
                running = BoardRun(end, operation, self._program, arrays, combine, own)
                running.run() if combine is None else without_warnings(running.run)
            else:
                fast = self._fast
                if fast is None:
                    fast = self._fast = self._made(arrays)
                if fast.is_quiet:
                    fast.run(operation, arrays, own)
                else:
                    before = enter_silence()
                    try:
                        fast.run(operation, arrays, own)
                    finally:
                        leave_silence(before)
        finally:
            end.turn.give()
        if operation.sequence % DRIVE == 0:
            end.channel.mailbox.poll()

    def _made(self, arrays: Arrays) -> PreparedBoardRun:
        dtype = next(iter(arrays.values())).dtype if arrays else np.dtype(np.uint8)
        sizes = {name: array.size for name, array in arrays.items()}
        return PreparedBoardRun(self._end, self._program, sizes, dtype, self._combine, self._expects)


class BoardRun:
    """One operation. Where it takes one round and comes again, `prepared_board_run` does the same in less time."""

    def __init__(
        self, end: BoardEnd, operation: CollectiveOperation, program: BoardProgram, arrays: Arrays,
        combine: CombineFunction | None, own: Copy | None = None,
    ) -> None:  # fmt: skip
        self.end, self.operation, self.program, self.combine = end, operation, program, combine
        self.copy = own
        self.words, self.rank, self.first = end._words, end.rank, end.round
        self.arrays = arrays
        dtype = next(iter(arrays.values())).dtype if arrays else np.dtype(np.uint8)
        if program.scratch:
            self.arrays = {**arrays}
            for name in program.scratch:
                self.arrays[name] = np.empty(2 * program.length, dtype)
        self.slots = end.slots(dtype)
        self.header = operation.header()
        self.expected = self.header[: wire.MATCH.size + len(operation.expects)]
        self.unchecked = set(range(end.size))
        self.rounds = program.shown
        self.ahead = 1 if program.scratch else end.board.ahead  # scratch has room for two rounds

    def run(self) -> None:
        program, done, ahead = self.program, self.end._done[self.rank], self.ahead
        for number in range(program.rounds + ahead):
            if number < program.rounds:
                if program.is_agreed or number < program.shown:
                    self.act(program.before, number)
                self.copy_own(number)
            if number >= ahead:
                self.act(program.after, number - ahead)
                if self.end._fence is not None:
                    self.end._fence()
                self.words[done] = self.first + number - ahead + 1
        self.end.round = self.words[done] = self.first + max(self.rounds, program.rounds)
        if not program.is_agreed:
            self.copy_apart()

    def act(self, acts: tuple[Act, ...], number: int) -> None:
        """Carry out the acts of one round."""
        at = self.first + number
        slot = at % SLOTS
        for act in acts:
            if type(act) is Take:
                self.take(act, number, at, slot)
            elif type(act) is Put:
                self.put(act, number, at, slot)
            elif type(act) is OwnPart:
                self.own(act, number)

    def put(self, act: Put, number: int, at: int, slot: int) -> None:
        end = self.end
        if act.event == 0:
            if at >= end.free:
                end.make_room(self.operation, at)
            if number == 0:
                end.sign(self.header, slot, self.program.shown)
                if not self.program.is_agreed:
                    for place, part in act.parts:
                        self.words[end.count(self.rank, slot, place)] = part.stop - part.start
        mine, length = self.slots[self.rank][slot], self.program.length
        for place, part in act.parts:
            values = self.slice(part, number)
            start = place * length
            mine[start : start + len(values)] = values
        if end._fence is not None:
            end._fence()
        self.words[end._ready[self.rank] + act.event] = at + 1
        if act.event == 0 and number == 0 and self.program.rivals:
            end.face(self.operation, at, self.expected, self.program.rivals)

    def take(self, act: Take, number: int, at: int, slot: int) -> None:
        source, words = act.source, self.words
        into = self.slice(act.into, number)
        if number and not len(into):
            return
        word = self.end._ready[source] + act.event
        if words[word] <= at:
            self.end.wait(self.operation, source, word, at)
        if self.end._fence is not None:
            self.end._fence()
        if number == 0 and source in self.unchecked:
            self.unchecked.remove(source)
            rounds = self.end.check(self.operation, source, slot, self.expected)
            self.rounds = max(self.rounds, rounds)
            if not self.program.is_agreed:
                wanted = act.into.stop - act.into.start
                self.end.compare_count(self.operation, source, slot, act.place, wanted)
        start = act.place * self.program.length
        theirs = self.slots[source][slot][start : start + len(into)]
        if act.operand is None:
            into[:] = theirs
        else:
            combine = self.combine
            assert combine is not None
            if source < self.rank:
                combine = turned(combine)
            combine(self.slice(act.operand, number), theirs, out=into)

    def own(self, act: OwnPart, number: int) -> None:
        into, of = self.slice(act.into, number), self.slice(act.of, number)
        if act.operand is None:
            into[:] = of
        else:
            assert self.combine is not None
            self.combine(self.slice(act.operand, number), of, out=into)

    def copy_own(self, number: int) -> None:
        """This round's part of what is its own, which has just been read to be put up."""
        if self.copy is not None and self.program.is_agreed:
            length, is_last = self.program.length, number + 1 == self.program.rounds
            now = slice(number * length, None if is_last else (number + 1) * length)
            self.copy.into[now] = self.copy.of[now]

    def copy_apart(self) -> None:
        """In an all_to_all it is nothing that others see: between the rounds it would only drive the
        slots out of the cache. Still in slices, which is quicker than in one piece."""
        if self.copy is not None:
            length = self.program.length
            for start in range(0, len(self.copy.into), length):
                now = slice(start, start + length)
                self.copy.into[now] = self.copy.of[now]

    def slice(self, part: Any, number: int) -> Array:
        """This round's elements of a part."""
        name, start, stop = part
        length = self.program.length
        if name == "nothing":
            return _NOTHING
        if name[0] == "slot" and type(name) is tuple:
            count = max(0, min(length, stop - number * length))
            start = number % 2 * length
            return self.arrays[name][start : start + count]
        first = start + number * length
        return self.arrays[name][first : min(first + length, stop)]


_NOTHING: Final = np.empty(0, np.uint8)
