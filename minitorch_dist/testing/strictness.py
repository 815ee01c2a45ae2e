"""A harder world for sends: they wait for their receives, and what is being sent is frozen.

Our own sends never wait for a receive, and a small `isend` is over when it returns. Other systems give
neither promise, so a program that leans on one hangs or sends rubbish elsewhere. Within `strict()`

    send          returns when its receive has been posted: the receiver says so (an empty message back)
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
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from minitorch_dist.distributed import point_to_point
from minitorch_dist.distributed.callsite import callsite
from minitorch_dist.distributed.face import repeated_messages
from minitorch_dist.distributed.groups import Group
from minitorch_dist.distributed.mail.receives import Array
from minitorch_dist.distributed.work import Work

ANSWER = 1 << 31  # the tag of an answer is so much above that of its message
EMPTY = np.empty(0, np.uint8)


class Overwritten(AssertionError):
    """A tensor was written to between `isend` and `wait`."""


class Frozen(Work):
    """An isend: done when it has been met, and unharmed until then."""

    def __init__(self, parts: Sequence[Work], group: Group, array: Array, dst: int) -> None:
        super().__init__(group.world, parts[0]._output)
        self._parts, self._array, self._before = parts, array, array.copy()
        self._never = (
            f"rank {group.rank()} never waits for its isend to rank {dst}, at {callsite()}"
        )
        self._what = f"rank {group.rank()} wrote to the tensor of its isend to rank {dst}"
        self._site = callsite()

    def forgotten(self) -> str:
        """In words; "" if the caller knows that it is over."""
        return "" if self._is_known else self._never

    def _finish(self, timeout: float | None) -> None:
        if self._array.tobytes() != self._before.tobytes():
            raise Overwritten(f"{self._what} at {self._site} before it waited for it")
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
    """Within the block sends of this process are strict: each waits for the receive of the message
    that went `room` messages before it to the same rank, with the same tag."""
    sends = Sends()
    sent: Counter[tuple[Group, int, int]] = Counter()

    def waits(group: Group, dst: int, tag: int) -> bool:
        sent[group, dst, tag] += 1
        return sent[group, dst, tag] > room

    send, isend = point_to_point.send, point_to_point.isend
    receive, irecv = point_to_point.receive, point_to_point.irecv

    def strict_send(group: Group, array: Array, dst: int, tag: int = 0, *rest: Any) -> None:
        send(group, array, dst, tag, *rest)
        if waits(group, dst, tag):
            receive(group, EMPTY.copy(), dst, tag + ANSWER)

    def strict_isend(
        group: Group, array: Array, dst: int, tag: int = 0, *rest: Any, **more: Any
    ) -> Work:
        answers = [irecv(group, EMPTY.copy(), dst, tag + ANSWER)] if waits(group, dst, tag) else []
        work = isend(group, array, dst, tag, *rest, **more)
        sends.made.append(Frozen([work, *answers], group, array, dst))
        return sends.made[-1]

    def strict_receive(group: Group, array: Array, src: int, tag: int = 0) -> None:
        send(group, EMPTY, src, tag + ANSWER)
        receive(group, array, src, tag)

    def strict_irecv(
        group: Group, array: Array | None, src: int | None, tag: int = 0, *rest: Any, **more: Any
    ) -> Any:
        posted = irecv(group, array, src, tag, *rest, **more)
        if src is not None:
            send(group, EMPTY, src, tag + ANSWER)
            return posted
        posted.wait()
        send(group, EMPTY, posted.source_rank(), tag + ANSWER)
        return posted

    ours = {
        "send": strict_send,
        "isend": strict_isend,
        "receive": strict_receive,
        "irecv": strict_irecv,
    }
    before = {name: getattr(point_to_point, name) for name in ours}
    short = {name: getattr(repeated_messages, name) for name in ("send", "recv")}
    vars(point_to_point).update(ours)
    vars(repeated_messages).update(dict.fromkeys(short, _the_long_way))
    try:
        yield sends
    finally:
        vars(point_to_point).update(before)
        vars(repeated_messages).update(short)


def _the_long_way(*call: Any) -> None:
    """No message is of a known kind, so each passes `point_to_point`."""


def plainly(said: str) -> str:
    """An error's words, where waiting for an answer is what it stands for: a send that waits."""
    return re.sub(r"recv with tag 2\d{9} \(uint8\[0\]\)", "send", said)
