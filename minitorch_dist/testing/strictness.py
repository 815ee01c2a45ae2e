"""A harder world for sends: they wait for their receives, and what is being sent is frozen.

Our own sends never wait for a receive, and a small `isend` is over when it returns. Other systems give
neither promise, so a program that leans on one hangs or sends rubbish elsewhere. Within `strict()`

    send          returns when its receive has been posted: the receiver says so (an empty answer back)
    isend         is over when its receive has been posted; until then its array is compared with what
                  it held: `wait` raises Overwritten if it was written to

Nobody has to notice that an `isend` was never waited for: `strict() as sends` tells, `sends.forgotten()`.

With `strict(room=k)` a receiver has room for k messages of each sender, and only the next one waits.

On a virtual clock a circle of such sends is a Deadlock at once. Receives from anybody let their sender
go on when the message has come.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np

from minitorch_dist.distributed.callsite import callsite
from minitorch_dist.distributed.exceptions import PeerLost
from minitorch_dist.distributed.groups import ProcessGroup
from minitorch_dist.distributed.mail.receives import Array
from minitorch_dist.distributed.mail.wire import Fingerprint
from minitorch_dist.distributed.point_to_point import PreparedReceive, PreparedSend
from minitorch_dist.distributed.work import Work

ANSWER = 1 << 31  # the tag of an answer is so much above that of its message
KIND = "answer"  # the operation of an answer: it is ours, and no send of the program
EMPTY = np.empty(0, np.uint8)
SAID = Fingerprint(KIND, EMPTY.dtype, EMPTY.shape)


class OverwrittenBuffer(AssertionError):
    """A tensor was written to between `isend` and `wait`."""


class Frozen(Work):
    """An isend: done when it has been met, and unharmed until then."""

    def __init__(self, parts: Sequence[Work], group: ProcessGroup, array: Array, dst: int) -> None:
        super().__init__(group.world, parts[0]._output)
        self._parts, self._array, self._before = parts, array, array.copy()
        self._never = f"rank {group.rank()} never waits for its isend to rank {dst}, at {callsite()}"
        self._what = f"rank {group.rank()} wrote to the tensor of its isend to rank {dst}"
        self._site = callsite()

    def forgotten(self) -> str:
        """In words; "" if the caller knows that it is over."""
        return "" if self._is_known else self._never

    def _finish(self, timeout: float | None) -> None:
        if self._array.tobytes() != self._before.tobytes():
            raise OverwrittenBuffer(f"{self._what} at {self._site} before it waited for it")
        for part in self._parts:
            part.wait(timeout)

    def is_completed(self) -> bool:
        self._is_known = self._is_known or all(part.is_completed() for part in self._parts)
        return self._is_known


class Sends:
    """The isends of a block."""

    def __init__(self) -> None:
        self.made: list[Frozen] = []

    def forgotten(self) -> list[str]:
        """Those that nobody waited for: until then their tensors belong to the messages."""
        return [said for one in self.made if (said := one.forgotten())]


@contextmanager
def strict(room: int = 0) -> Iterator[Sends]:
    """Within the block sends of this process are strict. Each waits for the receive of an earlier message: the
    one that went `room` messages before it to the same rank, with the same tag.
    """
    sends = Sends()
    sent: Counter[tuple[ProcessGroup, int, int]] = Counter()

    def waits(send: PreparedSend) -> bool:
        sent[send.group, send.dst, send.tag] += 1
        return sent[send.group, send.dst, send.tag] > room

    run, begin = PreparedSend.run, PreparedSend.begin
    run_receive, begin_receive = PreparedReceive.run, PreparedReceive.begin

    def answer(group: ProcessGroup, src: int, tag: int) -> None:
        with suppress(PeerLost):  # a sender into free room need not wait for it, and may have left
            run(PreparedSend(group, SAID, src, tag + ANSWER), EMPTY)

    def answer_to(send: PreparedSend) -> PreparedReceive:
        tag = send.tag + ANSWER
        return PreparedReceive(send.group, SAID, send.dst, tag)

    def strict_run(send: PreparedSend, array: Array) -> None:
        run(send, array)
        if waits(send):
            run_receive(answer_to(send), EMPTY.copy())

    def strict_begin(send: PreparedSend, array: Array, output: Any = None) -> Work:
        answers = [begin_receive(answer_to(send), EMPTY.copy())] if waits(send) else []
        work = begin(send, array, output)
        sends.made.append(Frozen([work, *answers], send.group, array, send.dst))
        return sends.made[-1]

    def strict_run_receive(receive: PreparedReceive, array: Array) -> None:
        assert receive.src is not None
        answer(receive.group, receive.src, receive.tag)
        run_receive(receive, array)

    def strict_begin_receive(receive: PreparedReceive, *given: Any) -> Any:
        posted = begin_receive(receive, *given)
        if receive.src is not None:
            answer(receive.group, receive.src, receive.tag)
            return posted
        posted.wait()
        answer(receive.group, posted.source_rank(), receive.tag)
        return posted

    _replace(PreparedSend, strict_run, strict_begin)
    _replace(PreparedReceive, strict_run_receive, strict_begin_receive)
    try:
        yield sends
    finally:
        _replace(PreparedSend, run, begin)
        _replace(PreparedReceive, run_receive, begin_receive)


def _replace(kind: Any, run: Callable[..., Any], begin: Callable[..., Any]) -> None:
    """Let all messages of this process be carried out by these."""
    kind.run, kind.begin = run, begin


def plainly(said: str) -> str:
    """An error's words, where waiting for an answer is what it stands for: a send that waits."""
    return re.sub(rf"{KIND} with tag 2\d{{9}} \(uint8\[0\]\)", "send", said)
