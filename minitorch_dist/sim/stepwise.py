"""Carry out a schedule in virtual time as it is written: a step begins when the one before is over.

Real transports cut large messages, post receives long before their steps and let sends overtake each
other (`distributed.planner`), to lose no time that would be real. Here every message of the schedule
is one message, and so virtual time is what the textbook's formulas say. The values are the same.

A rank mostly learns its next step from an arriving message, and the step is done right there. The rank's
own simulated thread is only woken when its whole schedule is over. Between its messages nothing is
switched. A step may have to wait for something else: rendezvous, a full window, additions that take time,
or a journal. Then the simulated thread goes through its steps itself.

A journal says what depends on what, and the plan decides this. A message is noted as received where the
plan first needs it, though the schedule's next step waited for it. So a run's partial order is the same
here as over real wires (but for messages so large that those cut them).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

import numpy as np

from minitorch_dist.distributed.exceptions import DistTimeout
from minitorch_dist.distributed.execution.chunks import ChunkLayout, Part, Vector
from minitorch_dist.distributed.execution.executor import turned
from minitorch_dist.distributed.execution.operations import CollectiveOperation
from minitorch_dist.distributed.execution.plan import ExecutionPlan, SendSegment
from minitorch_dist.distributed.mail.receives import Array, PostedReceive
from minitorch_dist.distributed.reductions import CombineFunction
from minitorch_dist.distributed.schedules import steps
from minitorch_dist.distributed.schedules.schedule import Schedule
from minitorch_dist.tensors.shape_arrays.array import has_numbers
from transports.clock import Clock
from transports.contract import Transport
from transports.frames import octets
from transports.virtual.inboxes import Waiting

Message: TypeAlias = tuple[int, int]  # (peer, which of those to or from it)


class ChunkArrays(ChunkLayout):
    """The chunks of one rank as arrays."""

    def __init__(self, schedule: Schedule, rank: int, size: int, vector: Vector, arrays: Mapping[Any, Array]) -> None:
        super().__init__(schedule, rank, size, vector)
        self.arrays = dict(arrays)
        self.dtype = next(iter(arrays.values())).dtype if arrays else np.dtype(np.uint8)
        self.work = arrays.get("work") if self.is_whole else None

    def read(self, chunk: int) -> Array:
        """The present values of a chunk."""
        if self.is_in_place or chunk in self.filled:
            return self.written(chunk)
        return self._at(self.held(chunk))

    def written(self, chunk: int) -> Array:
        """Where a chunk belongs that arrives."""
        if self.work is not None and chunk < self.total:  # most are such, and no part is made
            return self.work[self.offsets[chunk] : self.offsets[chunk + 1]]
        return self._at(self.place(chunk))

    def empty(self, count: int) -> Array:
        return np.empty(count, self.dtype, like=next(iter(self.arrays.values()), None))

    def _at(self, part: Part) -> Array:
        name, start, stop = part
        array = self.arrays.get(name)
        if array is None:
            array = self.arrays[name] = self.empty(stop)  # scratch
        return array[start:stop]


def _payload(array: Array) -> bytes | memoryview:
    """The bytes of an array; only their number, if it has none."""
    return array.tobytes() if has_numbers(array) else octets(array)


def needed_by_sends(plan: ExecutionPlan) -> dict[Message, list[Message]]:
    """The messages that a plan waits for before each of those it sends, since the one before."""
    posts = {post.number: post for post in plan.posts()}
    found: dict[Message, list[Message]] = {}
    since: list[Message] = []
    for action in plan.actions:
        since += [(posts[number].source, posts[number].step) for number in action.needs]
        if isinstance(action, SendSegment):
            found.setdefault((action.to, action.step), []).extend(since)
            since = []
    return found


class Stepwise:
    """One rank in one operation."""

    def __init__(
        self,
        operation: CollectiveOperation,
        schedule: Schedule,
        root: int | None,
        vector: Vector,
        arrays: Mapping[Any, Array],
        combine: CombineFunction | None,
    ) -> None:
        self.operation, self.combine = operation, combine
        channel = operation.channel
        self.rank = channel.rank
        self.places = ChunkArrays(schedule, channel.rank, channel.size, vector, arrays)
        self._steps = iter(schedule.of(channel.rank, channel.size, root))
        self._step: Any = None  # the one that waits for its message,
        self._chunks: list[int] = []  # which is of these
        self._receive: PostedReceive | None = None
        self._into: Array | None = None
        self._sent: dict[int, int] = {}  # messages, by peer
        self._received: dict[int, int] = {}
        self._needed: dict[Message, list[Message]] | None = None  # by sends: what is noted before
        self._unnoted: dict[Message, PostedReceive] = {}  # came, and no journal has heard of it
        self.failure: BaseException | None = None
        self.is_over = False

    # ------------------------------------------------------------------------- two ways to do it

    def run_by_arrivals(self, transport: Transport, clock: Clock) -> None:
        """A thread that delivers a message goes on with the steps; the caller waits for the end."""
        if not self.advance():
            deadline = clock.deadline(self.operation.timeout)
            while not self.is_over:
                transport.progress(deadline.left(), self)
                if not self.is_over and deadline.is_over():
                    receive = self._receive
                    assert receive is not None
                    mailbox = self.operation.channel.mailbox
                    mailbox.withdraw(receive)
                    raise DistTimeout(mailbox.timed_out(receive, deadline.elapsed()))
        if self.failure is not None:
            raise self.failure

    def run_by_itself(self, busy: Callable[[int], None], gamma: int, plan: ExecutionPlan | None = None) -> None:
        """Go through all steps in the caller's own simulated thread. `gamma`: ps to add one byte; `plan`:
        where somebody writes a journal, what needs what."""
        if plan is not None:
            self._needed = needed_by_sends(plan)
        try:
            for step in self._steps:
                added = self._begin(step)
                if self._receive is not None:
                    self._arrive(self._receive)
                    added = self._added() if gamma else 0
                    self._end()
                if added and gamma:
                    busy(gamma * added)
            if plan is not None:
                self._note((post.source, post.step) for post in plan.posts())
        finally:  # after an error, too, a journal tells of what has come
            self._note(list(self._unnoted))

    def _arrive(self, receive: PostedReceive) -> None:
        self.operation.arrive(receive)
        if self._needed is not None:
            source = int(self._step.source)
            self._unnoted[source, self._received[source]] = receive
        if self.operation.error is not None:
            raise self.operation.error

    def _note(self, messages: Iterable[Message]) -> None:
        for message in messages:
            receive = self._unnoted.pop(message, None)
            if receive is not None:
                self.operation.note(receive)

    def advance(self) -> bool:
        """Go as far as the messages that are there allow; whether all is over, or has failed."""
        if self.is_over:
            return True
        try:
            receive = self._receive
            while True:
                if receive is not None:
                    if not receive.done:
                        if self.operation.error is None:
                            return False
                        raise self.operation.error
                    if receive.error is not None or self.operation.error is not None:
                        self.operation.wait(receive)  # it raises what went wrong
                    self._end()
                step = next(self._steps, None)
                if step is None:
                    break
                self._begin(step)
                receive = self._receive
        except BaseException as error:
            self.failure = error
        self.is_over = True
        return True

    __call__ = advance  # as a transport asks that waits for it, and says what for

    def waiting_for(self) -> Waiting:
        """For the report of a deadlock."""
        receive = self._receive
        if receive is None:
            return Waiting((), self.operation.describe())
        return receive.waiting_for()

    # ----------------------------------------------------------------------------------- one step

    def _begin(self, step: Any) -> int:
        """Send, and post what has to come; the bytes that were added, of a Combine."""
        kind = type(step)
        if kind is steps.Combine:
            return self._combine(step)
        if kind is not steps.Send:
            self._post(step)
        if kind is not steps.Receive:
            self._send(int(step.to), step.send if kind is steps.Exchange else step.chunks)
        return 0

    def _send(self, to: int, chunks: Any) -> None:
        number = self._sent[to] = self._sent.get(to, 0) + 1
        if self._needed is not None:
            self._note(self._needed.get((to, number), ()))
        places = self.places
        if type(chunks) is int:
            payload = _payload(places.read(chunks))
        else:
            held = [places.read(c) for c in steps.numbered(chunks, places.total)]
            payload = _payload(np.concatenate(held)) if held else b""
        self.operation.send(to, payload, number)

    def _post(self, step: Any) -> None:
        """One chunk is put, or added, where it belongs as it arrives, unless it is to be sent by the
        same step; several come in one piece."""
        source = int(step.source)
        number = self._received[source] = self._received.get(source, 0) + 1
        places, is_exchange = self.places, type(step) is steps.Exchange
        wanted = step.receive if is_exchange else step.chunks
        chunks = self._chunks = steps.numbered(wanted, places.total)
        into = operand = combine = None
        self._into = None
        if len(chunks) == 1 and not (is_exchange and self._is_sent(step.send, chunks[0])):
            into = places.written(chunks[0])
            if step.reduce:
                combine = self._ordered(source)
                operand = None if places.is_in_place else places.read(chunks[0])
        elif chunks:
            self._into = into = places.empty(sum(map(places.size_of, chunks)))
        else:
            into = np.empty(0, np.uint8)
        self._step = step
        self._receive = self.operation.receive(source, into, number, combine, operand)

    def _is_sent(self, sent: Any, chunk: int) -> bool:
        if type(sent) is int:
            return sent == chunk
        return chunk in steps.numbered(sent, self.places.total)

    def _added(self) -> int:
        """How many bytes were added with this step's message."""
        places = self.places
        count = sum(map(places.size_of, self._chunks)) if self._step.reduce else 0
        return count * places.dtype.itemsize

    def _end(self) -> None:
        """The message is there."""
        places, receive = self.places, self._receive
        assert receive is not None
        self.operation.forget(receive)
        if self._into is not None:
            self._spread(self._into)
        self._step = self._receive = self._into = None
        if not places.is_in_place:
            places.filled.update(self._chunks)

    def _spread(self, message: Array) -> None:
        """Put, or add, what came in one piece where it belongs."""
        places, step, at = self.places, self._step, 0
        for chunk in self._chunks:
            count = places.size_of(chunk)
            theirs, into = message[at : at + count], places.written(chunk)
            at += count
            if step.reduce:
                with np.errstate(all="ignore"):
                    self._ordered(int(step.source))(places.read(chunk), theirs, out=into)
            else:
                into[...] = theirs

    def _combine(self, step: steps.Combine) -> int:
        into, of = int(step.into), int(step.of)
        mine, theirs = self.places.read(into), self.places.read(of)
        if step.reduce:
            assert self.combine is not None
            with np.errstate(all="ignore"):
                self.combine(mine, theirs, out=self.places.written(into))
        else:
            self.places.written(into)[...] = theirs
        if not self.places.is_in_place:
            self.places.filled.add(into)
        return theirs.nbytes if step.reduce else 0

    def _ordered(self, source: int) -> Callable[..., Any]:
        """The reduction, with the lower rank's value first."""
        assert self.combine is not None
        return self.combine if source > self.rank else turned(self.combine)

    def __repr__(self) -> str:
        state = "over" if self.is_over else f"waits for {self._receive!r}"
        return f"<Stepwise {self.operation.describe()}, {state}>"
