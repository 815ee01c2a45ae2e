"""An operation on a board that fits into one round: what `boards` does, with nothing left to work out.

Most collectives of a program are small, and the same call comes again and again. Then the copies take
a fraction of a microsecond, and finding out what to copy takes ten. So for each kind of call the views
of all slots are made beforehand, and what remains is a loop over tuples. The simple form is
`boards.BoardRun`; a test says that they agree.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

import numpy as np

from minitorch_dist.distributed.execution.executor import turned
from minitorch_dist.distributed.execution.layout import Part
from minitorch_dist.distributed.execution.operations import CollectiveOperation
from minitorch_dist.distributed.fast.board_program import Act, BoardProgram, OwnPart, Put, Take
from minitorch_dist.distributed.mail import wire
from minitorch_dist.distributed.mail.receives import Array, PostponedCopy as Copy
from minitorch_dist.distributed.reductions import CombineFunction
from transports.board import FRONT, SLOTS, Board

PUT, TAKE, OWN, COPY = range(4)
Where = tuple[Any, int | None, int]  # the name of an array and the part of it; None: all of it


class BoardReader(Protocol):
    """The part of `boards.BoardEnd` that this module needs."""

    board: Board
    rank: int
    round: int
    free: int

    def slots(self, dtype: np.dtype[Any]) -> list[list[Array]]: ...
    def make_room(self, operation: CollectiveOperation, number: int) -> None: ...
    def check(self, operation: CollectiveOperation, source: int, slot: int, expected: bytes) -> int: ...
    def wait(self, operation: CollectiveOperation, source: int, word: int, number: int) -> None: ...
    def count(self, rank: int, slot: int, place: int) -> int: ...
    def compare_count(
        self, operation: CollectiveOperation, source: int, slot: int, place: int, wanted: int
    ) -> None: ...
    def face(
        self, operation: CollectiveOperation, number: int, expected: bytes, rivals: tuple[int, ...]
    ) -> None: ...


class PreparedBoardRun:
    """One kind of operation: a program of one round, for arrays of one dtype and of these sizes."""

    def __init__(
        self, end: BoardReader, program: BoardProgram, sizes: Mapping[Any, int], dtype: np.dtype[Any],
        combine: CombineFunction | None, expects: bytes,
    ) -> None:  # fmt: skip
        self._end, self._words, self._memory = end, end.board.words, end.board.mapped
        self._fence, self._done = end.board.fence, end.board.done(end.rank)
        self._sizes, self._combine, self._is_agreed = sizes, combine, program.is_agreed
        self._rivals = program.rivals
        self._compared = wire.MATCH.size + len(expects)
        self._tails: dict[str, bytes] = {}  # of headers, by call site
        self._heads = [end.board.head(end.rank, slot) for slot in range(SLOTS)]
        self.is_quiet = combine is None or dtype.kind in "biu"  # numpy has no warnings to give
        acts, last = (*program.before, *program.after), len(program.before)
        self._acts: list[tuple[tuple[Any, ...], ...]] = []
        self._counts: list[list[tuple[int, int]]] = []  # beside the places of an all_to_all
        for slot in range(SLOTS):
            slots, length = end.slots(dtype), program.length
            made = [self._made(act, acts[:at], slot, slots, length) for at, act in enumerate(acts)]
            self._acts.append((*made[:last], (COPY,), *made[last:]))
            if not self._is_agreed:
                puts = [act for act in acts if isinstance(act, Put)]
                counts = [(p, part.stop - part.start) for put in puts for p, part in put.parts]
                self._counts.append([(end.count(end.rank, slot, p), n) for p, n in counts])

    def run(
        self, operation: CollectiveOperation, arrays: Mapping[Any, Array], copy: Copy | None = None
    ) -> None:
        """Carry it out. It is this operation's turn on the board."""
        end, words, memory, fence = self._end, self._words, self._memory, self._fence
        number = end.round
        slot = number % SLOTS
        tail = self._tails.get(operation.site)
        if tail is None:
            tail = operation.header()[len(operation.prefix) :]
            self._tails[operation.site] = tail
        header = operation.prefix + tail
        expected, rounds = header[: self._compared], 1
        for act in self._acts[slot]:
            if act[0] is PUT:
                _, event, word, parts = act
                if event == 0:
                    if number >= end.free:
                        end.make_room(operation, number)
                    at = self._heads[slot]
                    words[at >> 3], words[(at >> 3) + 1] = len(header), 1
                    memory[at + FRONT : at + FRONT + len(header)] = header
                    if self._counts:
                        for beside, count in self._counts[slot]:
                            words[beside] = count
                for place, (name, start, stop) in parts:
                    array = arrays[name]
                    place[...] = array if start is None else array[start:stop]
                if fence is not None:
                    fence()
                words[word] = number + 1
                if self._rivals and event == 0:
                    end.face(operation, number, expected, self._rivals)
            elif act[0] is TAKE:
                _, source, word, head, told, theirs, (name, start, stop), operand, combine = act
                if words[word] <= number:
                    end.wait(operation, source, word, number)
                if fence is not None:
                    fence()
                if head is not None and memory[head] != expected:
                    end.check(operation, source, slot, expected)
                if told:  # in an all_to_all others may have more to put up than we, or for us
                    rounds = max(rounds, words[told[0]])
                    if words[told[1]] != told[2]:
                        end.compare_count(operation, source, slot, told[3], told[2])
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
                self._own(act[1], arrays)
            elif copy is not None:
                copy.into[...] = copy.of
        if fence is not None:
            fence()
        end.round = words[self._done] = number + rounds

    def _own(self, act: OwnPart, arrays: Mapping[Any, Array]) -> None:
        into, of = (arrays[p.name][p.start : p.stop] for p in (act.into, act.of))
        if act.operand is None:
            into[...] = of
        else:
            assert self._combine is not None
            operand = arrays[act.operand.name][act.operand.start : act.operand.stop]
            self._combine(operand, of, out=into)

    def _made(
        self, act: Act, before: tuple[Act, ...], slot: int, slots: list[list[Array]], length: int
    ) -> tuple[Any, ...]:
        """An act with its views of one slot."""
        end, board = self._end, self._end.board

        def view(rank: int, place: int, part: Part) -> Array:
            return slots[rank][slot][place * length : place * length + part.stop - part.start]

        if isinstance(act, Put):
            parts = tuple((view(end.rank, p, part), self._where(part)) for p, part in act.parts)
            return PUT, act.event, board.ready(end.rank) + act.event, parts
        if isinstance(act, Take):
            at = board.head(act.source, slot)
            seen = any(isinstance(a, Take) and a.source == act.source for a in before)
            head = None if seen else slice(at + FRONT, at + FRONT + self._compared)
            told: tuple[int, ...] = ()
            if not self._is_agreed:
                count = act.into.stop - act.into.start
                told = (at >> 3) + 1, end.count(act.source, slot, act.place), count, act.place
            combine: Callable[..., Any] | None = None
            if act.operand is not None:
                assert self._combine is not None
                combine = self._combine if act.source > end.rank else turned(self._combine)
            return (
                TAKE, act.source, board.ready(act.source) + act.event, head, told,
                view(act.source, act.place, act.into), self._where(act.into),
                None if act.operand is None else self._where(act.operand), combine,
            )  # fmt: skip
        return OWN, act

    def _where(self, part: Part) -> Where:
        if part.name == "nothing":
            return None, None, 0
        is_whole = part.start == 0 and part.stop == self._sizes.get(part.name)
        return part.name, None if is_whole else part.start, part.stop
