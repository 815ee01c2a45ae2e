"""Carry out a plan: the same schedule that is costed and proved, over the mailbox.

Receives are posted as early as the plan allows and added on arrival, straight from the wire into
their destination. The calling thread drives; while it waits for what it needs next, everything else
that arrives is put in its place as well.

The order of addition is the schedule's, and where two values meet, that of the lower rank stands
first. So the result depends on the algorithm and the number of ranks only. The transport, the order of arrival
and the size of the messages do not change it. It is the same on all ranks, bit for bit.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from minitorch_dist.distributed.execution.chunks import Part
from minitorch_dist.distributed.execution.operations import CollectiveOperation
from minitorch_dist.distributed.execution.plan import ExecutionPlan, LocalCopy, PostReceive, SendSegment
from minitorch_dist.distributed.mail import wire
from minitorch_dist.distributed.mail.receives import Array, PostedReceive, PostponedCopy
from minitorch_dist.distributed.reductions import CombineFunction

EMPTY: Final = np.empty(0, np.uint8)

Arrays = Mapping[Any, Array]


class Execution:
    """One plan being carried out, on contiguous flat arrays of one dtype."""

    def __init__(
        self,
        operation: CollectiveOperation,
        plan: ExecutionPlan,
        arrays: Arrays,
        combine: CombineFunction | None = None,
    ) -> None:
        self.operation, self.plan, self.combine = operation, plan, combine
        self.rank = operation.channel.rank
        self.arrays: dict[Any, Array] = dict(arrays)
        self.receives: list[PostedReceive | None] = [None] * plan.receives
        self.unpacking: dict[int, tuple[PostReceive, Array]] = {}
        self.first = next(iter(arrays.values())) if arrays else EMPTY
        self.dtype = self.first.dtype
        for number, count in enumerate(plan.slots):
            self.arrays["slot", number] = self._new(count)

    def run(self) -> None:
        for action in self.plan.actions:
            if action.needs:
                self._need(action.needs)
            if isinstance(action, SendSegment):
                self._send(action)
            elif isinstance(action, PostReceive):
                self._post(action)
            else:
                self._combine_own(action)
        self._need(range(len(self.receives)))

    # ----------------------------------------------------------------------------------- actions

    def _send(self, action: SendSegment) -> None:
        if action.waits:
            gate = self.operation.receive(action.to, EMPTY, wire.GATE | action.step)
            self.operation.wait(gate)
        parts = action.parts
        message = self._at(parts[0]) if len(parts) == 1 else self._packed(parts)
        self.operation.send(action.to, message, action.step)

    def _post(self, post: PostReceive) -> None:
        combine, operand = None, None
        if len(post.into) == 1 and len(post.operand) <= 1:
            into = self._at(post.into[0])
            if post.operand:
                combine = self._ordered(post.source)
                operand = None if post.operand == post.into else self._at(post.operand[0])
        else:
            into = self._in_one_piece(post)
        receive = self.operation.receive(post.source, into, post.step, combine, operand)
        self.receives[post.number] = receive
        if post.opens:
            self.operation.send(post.source, EMPTY, wire.GATE | post.step)

    def _in_one_piece(self, post: PostReceive) -> Array:
        """The array for a message that belongs in several places."""
        into = self._new(sum(part.stop - part.start for part in post.into))
        if len(post.into):
            self.unpacking[post.number] = post, into
        return into

    def _need(self, numbers: Any) -> None:
        """Return when these receives have arrived and are where they belong."""
        for number in numbers:
            receive = self.receives[number]
            if receive is None:
                continue
            self.operation.wait(receive)
            self.receives[number] = None
            if number in self.unpacking:
                self._unpack(*self.unpacking.pop(number))

    def _combine_own(self, action: LocalCopy) -> None:
        for into, of, operand in zip(action.into, action.of, action.operand or action.into, strict=True):
            if action.operand and self.combine is not None:
                self.combine(self._at(operand), self._at(of), out=self._at(into))
            else:
                self._at(into)[:] = self._at(of)

    # ------------------------------------------------------------------------------------ places

    def _new(self, count: int) -> Array:
        return np.empty(count, self.dtype, like=self.first)

    def _at(self, part: Part) -> Array:
        name, start, stop = part
        return self.arrays[name][start:stop]

    def _packed(self, parts: tuple[Part, ...]) -> Array:
        if not parts:
            return self._new(0)
        return np.concatenate([self._at(part) for part in parts])

    def _unpack(self, post: PostReceive, message: Array) -> None:
        combine = self._ordered(post.source) if post.operand else None
        position = 0
        for into, operand in _side_by_side(post.into, post.operand or post.into):
            count = into.stop - into.start
            theirs = message[position : position + count]
            if combine is None:
                self._at(into)[:] = theirs
            else:
                combine(self._at(operand), theirs, out=self._at(into))
            position += count

    def _ordered(self, source: int) -> CombineFunction:
        """The reduction, with the lower rank's value first."""
        assert self.combine is not None
        return self.combine if source > self.rank else turned(self.combine)


_TURNED: dict[CombineFunction, CombineFunction] = {}


def turned(combine: CombineFunction) -> CombineFunction:
    """The same with its arguments exchanged."""
    if combine not in _TURNED:

        def exchanged(mine: Array, theirs: Array, /, out: Array) -> Any:
            return combine(theirs, mine, out=out)

        _TURNED[combine] = exchanged
    return _TURNED[combine]


def _side_by_side(ours: tuple[Part, ...], theirs: tuple[Part, ...]) -> list[tuple[Part, Part]]:
    """Two lists of parts of equal length in all, cut so that each has its counterpart."""
    pairs: list[tuple[Part, Part]] = []
    left, right = list(ours), list(theirs)
    while left:
        one, other = left.pop(0), right.pop(0)
        count = min(one.stop - one.start, other.stop - other.start)
        pairs.append((Part(one.name, one.start, one.start + count), Part(other.name, other.start, other.start + count)))
        if one.stop - one.start > count:
            left.insert(0, Part(one.name, one.start + count, one.stop))
        if other.stop - other.start > count:
            right.insert(0, Part(other.name, other.start + count, other.stop))
    return pairs


class PlannedCall:
    """A plan that is run again and again. `kind` carries it out."""

    __slots__ = ("combine", "kind", "plan")

    def __init__(self, plan: ExecutionPlan, combine: CombineFunction | None, kind: type[Execution] = Execution) -> None:
        self.kind, self.plan, self.combine = kind, plan, combine

    def run(self, operation: CollectiveOperation, arrays: Arrays, own: PostponedCopy | None = None) -> None:
        """Carry it out with these arrays (see `layout.Vector` for their names)."""
        if own is not None:
            own.into[...] = own.of
        if not self.plan.actions:
            return
        execution = self.kind(operation, self.plan, arrays, self.combine)
        if self.combine is None:
            execution.run()
        else:
            with np.errstate(all="ignore"):  # overflows are inf, as torch has it
                execution.run()
