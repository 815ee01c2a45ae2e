"""Carry out a plan where ranks are threads of one process: a large part is not sent, the receiver borrows it.

    owner       offer a part: note with its number ──►                  ◄── "I have had it"
    receiver                          looks it up, copies it from there, or adds it ──┘

A message that comes before its receive is posted has to be kept in fresh memory, and copied again from there; which
of two threads is early is a matter of luck, and so was the time. A borrowed part stays where it is until the receiver
takes it, straight to its destination. Notes are ordinary messages of the operation, so a rank that calls something
else, or is gone, is found as it always is (see `mailbox`).

The steps, the order of addition and the bits are those of the plan. But its owner must not change a part while it is
borrowed. A write over it waits, and the end of the operation waits as well. A schedule whose ranks swap one chunk for
the same chunk would wait for ever; it sends messages. Schedules of one's own send messages, too, as nobody has tried
it with them. A collective with a root sends messages for another reason: the root may be gone before the last rank
comes.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import count
from typing import Any, Final, NamedTuple

import numpy as np

from minitorch_dist.distributed.exceptions import DistBackendError
from minitorch_dist.distributed.execution.chunks import EAGER, Part, Vector
from minitorch_dist.distributed.execution.executor import EMPTY, Arrays, Execution, PlannedCall
from minitorch_dist.distributed.execution.operations import CollectiveOperation
from minitorch_dist.distributed.execution.plan import ExecutionPlan, LocalCopy, PostReceive, SendSegment
from minitorch_dist.distributed.execution.planner import plan
from minitorch_dist.distributed.mail import wire
from minitorch_dist.distributed.mail.receives import Array, PostedReceive
from minitorch_dist.distributed.prepared import Execute, PreparedCall
from minitorch_dist.distributed.reductions import CombineFunction
from minitorch_dist.distributed.schedules.schedule import BUILT_IN, Schedule

COLLECTIVES: Final = {"all_reduce", "all_gather", "reduce_scatter"}
_number = count()


class Loan:
    """The borrowed arrays. Only their owner keeps them: a rank that fails takes its loans back."""

    __slots__ = ("__weakref__", "array")

    def __init__(self, array: Array) -> None:
        self.array = array


class Borrowed(NamedTuple):
    part: Part
    loan: Loan
    back: PostedReceive


class Lending(Execution):
    """One plan being carried out."""

    def __init__(
        self, operation: CollectiveOperation, plan: ExecutionPlan, arrays: Arrays, combine: CombineFunction | None
    ) -> None:
        super().__init__(operation, plan, arrays, combine)
        shared_objects = operation.channel.mailbox.transport.shared_objects()
        assert shared_objects is not None, "whoever planned this has asked"
        self.shared_objects = shared_objects
        self.borrowed: list[Borrowed] = []
        self.notes: dict[int, tuple[PostReceive, Array]] = {}  # posts that are taken when they are needed

    def run(self) -> None:
        super().run()
        self._return(self.borrowed)

    def _send(self, action: SendSegment) -> None:
        if not self._is_borrowed(action.parts):
            return super()._send(action)
        (part,) = action.parts
        number, loan = next(_number), Loan(self._at(part))
        self.shared_objects[number] = loan
        back = self.operation.receive(action.to, EMPTY, wire.GATE | action.step)
        self.borrowed.append(Borrowed(part, loan, back))
        self.operation.send(action.to, np.array([number], np.int64), action.step)

    def _post(self, post: PostReceive) -> None:
        if not self._is_borrowed(post.into):
            return super()._post(post)
        note = np.empty(1, np.int64)
        self.notes[post.number] = post, note
        self.receives[post.number] = self.operation.receive(post.source, note, post.step)

    def _is_borrowed(self, parts: tuple[Part, ...]) -> bool:
        """Both sides cut alike, and what is so large is always a part of one chunk."""
        return len(parts) == 1 and (parts[0].stop - parts[0].start) * self.dtype.itemsize > EAGER

    def _need(self, numbers: Any) -> None:
        for number in numbers:
            super()._need((number,))
            if number in self.notes:
                self._take(*self.notes.pop(number))

    def _take(self, post: PostReceive, note: Array) -> None:
        """Copy or add what we have borrowed."""
        loan = self.shared_objects.get(int(note[0]))
        if loan is None:  # its owner has failed, and said so before
            raise self.operation.error or DistBackendError(
                f"rank {self.operation.channel.ranks[post.source]} has taken back its part in "
                f"{self.operation.describe()}"
            )
        self._free(post.into)
        (part,) = post.into
        into = self._at(part)
        if post.operand:
            self._ordered(post.source)(self._at(post.operand[0]), loan.array, out=into)
        else:
            into[:] = loan.array
        del loan
        self.operation.send(post.source, EMPTY, wire.GATE | post.step)

    def _combine_own(self, action: LocalCopy) -> None:
        self._free(action.into)
        super()._combine_own(action)

    def _free(self, parts: tuple[Part, ...]) -> None:
        """Have back what others have borrowed of these, so that they may be written."""
        for name, start, stop in parts:
            self._return(
                [
                    one
                    for one in self.borrowed
                    if one.part.name == name and one.part.start < stop and start < one.part.stop
                ]
            )

    def _return(self, borrowed: list[Borrowed]) -> None:
        for one in list(borrowed):
            self.operation.wait(one.back)
            self.borrowed.remove(one)


@lru_cache(maxsize=256)
def has_swaps(schedule: Schedule, size: int) -> bool:
    """Whether two ranks ever exchange a chunk for the same chunk."""
    return any(set(step.sent) & set(step.taken) for rank in range(size) for step in schedule.plain(rank, size))


def is_borrowable(schedule: Schedule, size: int, vector: Vector) -> bool:
    """Whether large parts can be borrowed, as far as all ranks know alike."""
    is_even = max(vector.sizes, default=0) - min(vector.sizes, default=0) <= 1
    is_tried = BUILT_IN.get((schedule.collective, schedule.name)) is schedule
    is_one = schedule.collective in COLLECTIVES and is_tried and is_even
    return is_one and not has_swaps(schedule, size)


def bind(call: PreparedCall, vector: Vector) -> Execute | None:
    """A function that carries out a call with borrowed parts; None if it will not do."""
    if not is_borrowable(call.schedule, call.size, vector):
        return None
    cut = vector._replace(borrowed=True)
    wanted = plan(call.schedule, call.rank, call.size, call.root, cut)
    return PlannedCall(wanted, call.combine, Lending).run
