"""From one rank to another: send, receive, and their asynchronous forms, on numpy arrays.

Messages of one pair, group and tag are received in the order in which they were sent. A send never
waits for its receive: both sides may send first, and a rank may send to itself. What differs from
the receive (dtype, number of elements) is an error that names both lines.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

import numpy as np

from minitorch_dist.distributed.callsite import callsite
from minitorch_dist.distributed.exceptions import PeerLost
from minitorch_dist.distributed.groups import Group
from minitorch_dist.distributed.mail import wire
from minitorch_dist.distributed.mail.receives import Array, Receive, octets
from minitorch_dist.distributed.mail.wire import Fingerprint
from minitorch_dist.distributed.work import Receiving, Task, Work
from transports import errors

AT_ONCE: Final = 1 << 16  # bytes that isend sends before it returns
OCTET: Final = np.dtype(np.uint8)


class Doing:
    """A send, or its counterpart: who called it where, and with what."""

    __slots__ = ("_group", "fingerprint", "site", "tag")

    sequence = wire.POINT_TO_POINT

    def __init__(self, group: Group, fingerprint: Fingerprint, tag: int, site: str) -> None:
        self._group, self.fingerprint, self.tag, self.site = group, fingerprint, tag, site

    @property
    def group(self) -> str:
        return self._group.channel.name

    def header(self) -> bytes:
        """What stands before its message."""
        tail = wire.encode_fingerprint(self.fingerprint) + wire.encode_site(self.site)
        return self._group.point_to_point + wire.STEP.pack(self.tag) + tail

    def loss(self, lost: errors.PeerLost) -> PeerLost:
        """What to say where nothing can be sent any more."""
        what = f"rank {self._group.world.rank} sends to in {self.describe()}"
        mailbox, group = self._group.world.mailbox, self._group.channel.number
        return PeerLost(lost.rank, mailbox.why_lost(lost.rank, lost.reason, group), what)

    def describe(self) -> str:
        said = wire.describe(self.fingerprint, wire.POINT_TO_POINT, self.tag, self.site)
        return f"{said} of group {self.group!r}"


class Reception(Doing):
    """The owner of a receive."""

    __slots__ = ("expects", "receive")

    def __init__(self, group: Group, fingerprint: Fingerprint, tag: int, site: str) -> None:
        super().__init__(group, fingerprint, tag, site)
        self.expects = wire.encode_fingerprint(fingerprint)[: wire.KIND_SIZE]
        self.receive: Receive | None = None

    def describe(self) -> str:
        return super().describe().replace("send", "recv", 1)

    def fail(self, error: Exception) -> None:
        assert self.receive is not None
        self.receive.fail(error)


def check_tag(tag: int) -> None:
    if not 0 <= tag <= wire.MAX_TAG:
        raise ValueError(f"Tag must be non-negative and at most {wire.MAX_TAG}, but got {tag}")


def send(group: Group, array: Array, dst: int, tag: int = 0, operation: str = "send") -> None:
    """Send to a group rank; the array may be overwritten when this returns."""
    if group._sender is not None and not group._sender.is_idle():  # what was sent before goes first
        isend(group, array, dst, tag, operation, at_once=0, beside=False).wait()
    else:
        _send(_sending(group, array, tag, operation), group, array, dst)


def isend(
    group: Group,
    array: Array,
    dst: int,
    tag: int = 0,
    operation: str = "send",
    at_once: int = AT_ONCE,
    output: Any = None,
    beside: bool = True,
) -> Work:
    """Send to a group rank beside the caller, who leaves the array alone until it is done."""
    doing = _sending(group, array, tag, operation)
    recorder = group.world.mailbox.recorder
    if recorder is not None and beside:
        recorder.issued(doing)
    if array.nbytes <= at_once and (group._sender is None or group._sender.is_idle()):
        _send(doing, group, array, dst)
        return Work(group.world, output)
    act = partial(_send, doing, group, array, dst)
    return group.sender.submit(Task(group.world, act, doing.describe, output))


def irecv(
    group: Group,
    array: Array | None,
    src: int | None,
    tag: int = 0,
    operation: str = "send",
    output: Any = None,
    arrived: Callable[[], None] | None = None,
) -> Receiving:
    """Receive from a group rank, or from any (None), into a contiguous array."""
    receive, noted = _posted(group, array, src, tag, operation)
    return Receiving(group.world, receive, group.timeout, output, group.ranks, arrived, noted)


def receive(group: Group, array: Array, src: int, tag: int = 0) -> None:
    """Receive from a group rank, and wait for it: `irecv(…).wait()`, without a Work."""
    posted, noted = _posted(group, array, src, tag, "send")
    if not posted.done:
        mailbox = group.world.mailbox
        mailbox.wait(posted, mailbox.clock.deadline(group.timeout))
    if noted is not None:
        noted()
    if posted.error is not None:
        raise posted.error


def _posted(
    group: Group, array: Array | None, src: int | None, tag: int, operation: str
) -> tuple[Receive, Callable[[], None] | None]:
    """A receive, and what is to be called for the journal once it is over."""
    group.demand_open()
    check_tag(tag)
    dtype, shape = (OCTET, None) if array is None else (array.dtype, array.shape)
    owner = Reception(group, Fingerprint(operation, dtype, shape), tag, callsite())
    source = None if src is None else group.ranks[src]
    receive = Receive(source, group.point_to_point + wire.STEP.pack(tag), owner, array)
    owner.receive = receive
    mailbox, noted = group.world.mailbox, None
    if mailbox.recorder is not None:
        mailbox.recorder.posted(owner, source)
        noted = partial(mailbox.recorder.received, owner, receive)
    mailbox.post(receive)
    return receive, noted


def recv(
    group: Group, array: Array | None, src: int | None, tag: int = 0, operation: str = "send"
) -> tuple[int, memoryview]:
    """Receive and wait. The sender's group rank, and the message's bytes."""
    work = irecv(group, array, src, tag, operation)
    work.wait()
    return work.source_rank(), work.octets


def _sending(group: Group, array: Array, tag: int, operation: str) -> Doing:
    group.demand_open()
    check_tag(tag)
    return Doing(group, Fingerprint(operation, array.dtype, array.shape), tag, callsite())


def _send(doing: Doing, group: Group, array: Array, dst: int) -> None:
    to, mailbox = group.ranks[dst], group.world.mailbox
    recorder = mailbox.recorder
    since = 0 if recorder is None else recorder.now()
    error: Exception | None = None
    try:
        mailbox.send(to, doing.header(), octets(array))
    except errors.PeerLost as lost:
        error = doing.loss(lost)
        raise error from lost
    finally:
        if recorder is not None:
            recorder.sent(doing, to, doing.tag, array.nbytes, since, error)
