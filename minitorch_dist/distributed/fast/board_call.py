"""One kind of operation on a board, prepared once and run again and again.

Most collectives of a program are small, and the same call comes again and again. Then the copies take
a fraction of a microsecond, and finding out what to copy takes ten. So the acts of a rank (see `board_program`) are
made ready beforehand, with the views of the slots that they copy to and from. A call is then a loop over tuples.

Acts are kept for each slot in which a round may stand. A long operation takes many rounds, which are alike but for
the first and the last: the arrays that it is given move on by a slice. A rank puts rounds up before it looks at them:

    round 0 put up │ round 1 put up, round 0 looked at │ round 2 put up, round 1 looked at │ …
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from minitorch_dist.distributed.execution.chunks import Part, Vector
from minitorch_dist.distributed.execution.executor import turned
from minitorch_dist.distributed.execution.operations import CollectiveOperation
from minitorch_dist.distributed.fast.board_program import Act, BoardProgram, Put, Take, board_program
from minitorch_dist.distributed.fast.boards import BoardEnd, end_of
from minitorch_dist.distributed.mail import wire
from minitorch_dist.distributed.mail.receives import Array, PostponedCopy as Copy
from minitorch_dist.distributed.prepared import Execute, PreparedCall
from minitorch_dist.distributed.reductions import CombineFunction
from minitorch_dist.distributed.schedules.postings import is_fit, program
from minitorch_dist.distributed.schedules.schedule import Schedule
from minitorch_dist.tensors.core.without_warnings import enter_silence, leave_silence
from transports.board import EVENTS, FRONT, SLOTS

PUT, TAKE, OWN, COPY, ROUND, DONE = range(6)
DRIVE = 64  # operations, after which the transport is driven although nobody had to wait
ReadyAct = tuple[Any, ...]  # one of the six, and what it needs
Where = tuple[Any, int | None, int]  # the name of an array and the part of it; None: all of it


class BoardCall:
    """A program for arrays of one dtype and of the same sizes."""

    def __init__(self, end: BoardEnd, program: BoardProgram, combine: CombineFunction | None, expects: bytes) -> None:
        self._end, self._program, self._combine = end, program, combine
        self._words, self._fence = end.board.words, end.board.fence
        self._memory: Any = end.board.mapped
        self._done = end.board.done(end.rank)
        self._compared = wire.MATCH.size + len(expects)
        self._tails: dict[str, bytes] = {}  # of headers, by call site
        self._heads = [end.board.head(end.rank, slot) for slot in range(SLOTS)]
        self._counts: list[list[tuple[int, int]]] = []  # beside the places of an all_to_all
        if not program.is_agreed:
            puts = [item for act in program.before if isinstance(act, Put) for item in act.parts]
            self._counts = [
                [(end.count(end.rank, slot, place), part.stop - part.start) for place, part in puts]
                for slot in range(SLOTS)
            ]
        acts = *program.before, *program.after
        takes = [act for act in acts if isinstance(act, Take)]
        self._checked = {act.source: act for act in reversed(takes)}  # the first look at each rank
        self._is_short = program.rounds == 1 and not program.scratch
        self._kept: dict[Any, list[ReadyAct]] = {}  # by slot; of several rounds also by their kind
        self._shown, self._rounds, self._rivals = program.shown, program.rounds, program.rivals
        self._full_rounds = program.least // program.length
        self._dtype: np.dtype[Any] | None = None

    def run(self, operation: CollectiveOperation, arrays: Mapping[Any, Array], own: Copy | None = None) -> None:
        """Carry out this rank's part; `arrays` as for `executor.PlannedCall`. The rank first puts up
        the data that others wait for, and then makes its own copy."""
        end = self._end
        if self._dtype is None:
            self._prepare(arrays)
        if not end.turn.try_take():
            end.turn.take(end.channel.mailbox.clock.deadline(operation.timeout))
        try:
            if self._is_quiet:
                self._run(operation, arrays, own)
            else:
                before = enter_silence()
                try:
                    self._run(operation, arrays, own)
                finally:
                    leave_silence(before)
        finally:
            end.turn.give()
        if operation.sequence % DRIVE == 0:
            end.channel.mailbox.poll()

    def _prepare(self, arrays: Mapping[Any, Array]) -> None:
        self._dtype = next(iter(arrays.values())).dtype if arrays else np.dtype(np.uint8)
        self._is_quiet = self._combine is None or self._dtype.kind in "biu"  # numpy has no warnings to give
        self._sizes = {name: array.size for name, array in arrays.items()}
        self._slots = self._end.slots(self._dtype)
        if self._is_short:
            before, after = self._program.before, self._program.after
            for slot in range(SLOTS):
                ready = [*self._ready(before, slot, 0), (COPY, ...), *self._ready(after, slot, 0)]
                self._kept[slot] = ready

    def _run(self, operation: CollectiveOperation, arrays: Mapping[Any, Array], copy: Copy | None) -> None:
        end, words, memory, fence = self._end, self._words, self._memory, self._fence
        first = number = end.round
        tail = self._tails.get(operation.site)
        if tail is None:
            tail = operation.header()[len(operation.prefix) :]
            self._tails[operation.site] = tail
        header = operation.prefix + tail
        expected = header[: self._compared]
        rounds = shown = self._shown
        acts: Iterable[ReadyAct]
        acts = self._kept[first % SLOTS] if self._is_short else self._all(first, arrays, copy)
        for act in acts:
            if act[0] is PUT:
                _, word, begins, is_signed, parts = act
                if begins and number >= end.free:
                    end.make_room(operation, number)
                if is_signed:
                    at = self._heads[number % SLOTS]
                    words[at >> 3], words[(at >> 3) + 1] = len(header), shown
                    memory[at + FRONT : at + FRONT + len(header)] = header
                    if self._counts:
                        for beside, count in self._counts[number % SLOTS]:
                            words[beside] = count
                for place, (name, start, stop) in parts:
                    array = arrays[name]
                    place[...] = array if start is None else array[start:stop]
                if fence is not None:
                    fence()
                words[word] = number + 1
                if is_signed and self._rivals:
                    end.face(operation, number, expected, self._rivals)
            elif act[0] is TAKE:
                _, source, word, head, told, theirs, (name, start, stop), operand, combine = act
                if words[word] <= number:
                    end.wait(operation, source, word, number)
                if fence is not None:
                    fence()
                if head is not None and memory[head] != expected:
                    end.check(operation, source, number % SLOTS, expected)
                if told:  # in an all_to_all others may have more to put up than we, or for us
                    rounds = max(rounds, words[told[0]])
                    if words[told[1]] != told[2]:
                        end.compare_count(operation, source, number % SLOTS, told[3], told[2])
                if name is None:
                    continue
                array = arrays[name]
                into = array if start is None else array[start:stop]
                if combine is None:
                    into[...] = theirs
                else:
                    name, start, stop = operand
                    array = arrays[name]
                    combine(array if start is None else array[start:stop], theirs, out=into)
            elif act[0] is OWN:
                self._own(act, arrays)
            elif act[0] is COPY:
                if copy is not None:
                    copy.into[act[1]] = copy.of[act[1]]
            elif act[0] is ROUND:
                _, number, arrays = act
            else:  # DONE, with one round of several
                if fence is not None:
                    fence()
                words[self._done] = number + 1
        if fence is not None:
            fence()
        end.round = words[self._done] = first + max(rounds, self._rounds)

    def _own(self, act: ReadyAct, arrays: Mapping[Any, Array]) -> None:
        into, of, *operand = (arrays[name][start:stop] for name, start, stop in act[1:])
        if operand:
            assert self._combine is not None
            self._combine(operand[0], of, out=into)
        else:
            into[...] = of

    # ------------------------------------------------------------------------------ several rounds

    def _all(self, first: int, given: Mapping[Any, Array], copy: Copy | None) -> Iterator[ReadyAct]:
        """The acts of an operation that takes several rounds, or needs scratch."""
        program, length = self._program, self._program.length
        ahead = 1 if program.scratch else self._end.board.ahead  # scratch has room for two rounds
        scratch = {name: np.empty(2 * length, self._dtype) for name in program.scratch}
        for number in range(program.rounds + ahead):
            if number < program.rounds:
                yield ROUND, first + number, self._moved_on(given, scratch, number)
                if number < program.shown:
                    yield from self._of_round(program.before, first, number)
                if program.is_agreed:  # this round's part has just been read to be put up
                    is_last = number + 1 == program.rounds
                    yield COPY, slice(number * length, None if is_last else (number + 1) * length)
            if number >= ahead:
                yield ROUND, first + number - ahead, self._moved_on(given, scratch, number - ahead)
                yield from self._of_round(program.after, first, number - ahead)
                yield (DONE,)
        if copy is not None and not program.is_agreed:
            # In an all_to_all it is nothing that others see: between the rounds it would only drive the
            # slots out of the cache. Still in slices, which is quicker than in one piece.
            for start in range(0, len(copy.into), length):
                yield COPY, slice(start, start + length)

    def _moved_on(self, given: Mapping[Any, Array], scratch: Mapping[Any, Array], number: int) -> dict[Any, Array]:
        """The arrays from this round's slice on."""
        length = self._program.length
        found = {name: array[number * length :] for name, array in given.items()}
        return found | {name: array[number % 2 * length :] for name, array in scratch.items()}

    def _of_round(self, acts: tuple[Act, ...], first: int, number: int) -> Iterable[ReadyAct]:
        """The acts of one round. Those of the first are kept, and those in which all parts are as long as can be."""
        slot = (first + number) % SLOTS
        if number >= max(1, self._full_rounds):
            return self._ready(acts, slot, number)
        key = slot, number == 0, acts is self._program.before
        if key not in self._kept:
            self._kept[key] = list(self._ready(acts, slot, number))
        return self._kept[key]

    # -------------------------------------------------------------------------------- made ready

    def _ready(self, acts: tuple[Act, ...], slot: int, number: int) -> Iterator[ReadyAct]:
        """The acts of round `number` of the operation, with their views of one slot."""
        for act in acts:
            if isinstance(act, Put):
                yield self._put(act, slot, number)
            elif not isinstance(act, Take):
                parts = (act.into, act.of) if act.operand is None else (act.into, act.of, act.operand)
                yield OWN, *(self._where(part, number) for part in parts)
            elif number == 0 or self._count(act.into, number):
                yield self._take(act, slot, number)

    def _put(self, act: Put, slot: int, number: int) -> ReadyAct:
        end, begins = self._end, act.event == 0
        parts = tuple(
            (self._view(end.rank, slot, place, part, number), self._where(part, number)) for place, part in act.parts
        )
        return PUT, end.board.ready(end.rank) + act.event, begins, begins and number == 0, parts

    def _take(self, act: Take, slot: int, number: int) -> ReadyAct:
        end, board, head = self._end, self._end.board, None
        at = board.head(act.source, slot)
        if number == 0 and act is self._checked[act.source]:
            head = slice(at + FRONT, at + FRONT + self._compared)
        told: tuple[int, ...] = ()
        if number == 0 and not self._program.is_agreed:
            count = act.into.stop - act.into.start
            told = (at >> 3) + 1, end.count(act.source, slot, act.place), count, act.place
        combine, operand = None, None
        if act.operand is not None:
            assert self._combine is not None
            combine = self._combine if act.source > end.rank else turned(self._combine)
            operand = self._where(act.operand, number)
        theirs = self._view(act.source, slot, act.place, act.into, number)
        word = board.ready(act.source) + act.event
        return TAKE, act.source, word, head, told, theirs, self._where(act.into, number), operand, combine

    def _view(self, rank: int, slot: int, place: int, part: Part, number: int) -> Array:
        start = place * self._program.length
        return self._slots[rank][slot][start : start + self._count(part, number)]

    def _count(self, part: Part, number: int) -> int:
        """How many elements of a part belong to a round."""
        length = self._program.length
        return max(0, min(length, part.stop - part.start - number * length))

    def _where(self, part: Part, number: int) -> Where:
        count = self._count(part, number)
        if part.name == "nothing":
            return None, None, 0
        if part.start == 0 and count == self._sizes.get(part.name):
            return part.name, None, count
        return part.name, part.start, part.start + count


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
