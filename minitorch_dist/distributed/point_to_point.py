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

from minitorch_dist.distributed import wire
from minitorch_dist.distributed.callsite import callsite
from minitorch_dist.distributed.exceptions import PeerLost
from minitorch_dist.distributed.groups import Group
from minitorch_dist.distributed.receives import Array, Receive, octets
from minitorch_dist.distributed.wire import Fingerprint
from minitorch_dist.distributed.work import Receiving, Task, Work
from transports import errors

AT_ONCE: Final = 1 << 16  # bytes that isend sends before it returns


class Reception:
    """The owner of a receive: who called recv, and for what."""

    __slots__ = ("_fingerprint", "_group", "_site", "_tag", "expects", "receive")

    def __init__(self, group: Group, fingerprint: Fingerprint, tag: int, site: str) -> None:
        self._group, self._fingerprint, self._tag, self._site = group, fingerprint, tag, site
        self.expects = wire.encode_fingerprint(fingerprint)[: wire.KIND_SIZE]
        self.receive: Receive | None = None

    def describe(self) -> str:
        said = wire.describe(self._fingerprint, wire.POINT_TO_POINT, self._tag, self._site)
        return f"{said.replace('send', 'recv', 1)} of group {self._group.channel.name!r}"

    def fail(self, error: Exception) -> None:
        assert self.receive is not None
        self.receive.fail(error)


def check_tag(tag: int) -> None:
    if not 0 <= tag <= wire.MAX_TAG:
        raise ValueError(f"Tag must be non-negative and at most {wire.MAX_TAG}, but got {tag}")


def send(group: Group, array: Array, dst: int, tag: int = 0, operation: str = "send") -> None:
    """Send to a group rank; the array may be overwritten when this returns."""
    if group._sender is not None and not group._sender.is_idle():  # what was sent before goes first
        isend(group, array, dst, tag, operation, at_once=0).wait()
        return
    header, fingerprint, site = _header(group, array, tag, operation)
    _send(group, header, octets(array), dst, tag, fingerprint, site)


def isend(
    group: Group,
    array: Array,
    dst: int,
    tag: int = 0,
    operation: str = "send",
    at_once: int = AT_ONCE,
    output: Any = None,
) -> Work:
    """Send to a group rank beside the caller, who leaves the array alone until it is done."""
    header, fingerprint, site = _header(group, array, tag, operation)
    act = partial(_send, group, header, octets(array), dst, tag, fingerprint, site)
    if array.nbytes <= at_once and (group._sender is None or group._sender.is_idle()):
        act()
        return Work(group.world, output)
    doing = partial(_doing, group, fingerprint, tag, site)
    return group.sender.submit(Task(group.world, act, doing, output))


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
    group.demand_open()
    check_tag(tag)
    bytes_of_any_number = Fingerprint(operation, np.dtype(np.uint8))
    fingerprint = (
        bytes_of_any_number if array is None else Fingerprint(operation, array.dtype, array.shape)
    )
    owner = Reception(group, fingerprint, tag, callsite())
    source = None if src is None else group.ranks[src]
    receive = Receive(source, group.point_to_point + wire.STEP.pack(tag), owner, array)
    owner.receive = receive
    group.world.mailbox.post(receive)
    return Receiving(group.world, receive, group.timeout, output, group.ranks, arrived)


def recv(
    group: Group, array: Array | None, src: int | None, tag: int = 0, operation: str = "send"
) -> tuple[int, memoryview]:
    """Receive and wait. The sender's group rank, and the message's bytes."""
    work = irecv(group, array, src, tag, operation)
    work.wait()
    return work.source_rank(), work._receive.octets


def _header(group: Group, array: Array, tag: int, operation: str) -> tuple[bytes, Fingerprint, str]:
    group.demand_open()
    check_tag(tag)
    fingerprint, site = Fingerprint(operation, array.dtype, array.shape), callsite()
    tail = wire.encode_fingerprint(fingerprint) + wire.encode_site(site)
    return group.point_to_point + wire.STEP.pack(tag) + tail, fingerprint, site


def _send(
    group: Group, header: bytes, payload: memoryview, dst: int, tag: int,
    fingerprint: Fingerprint, site: str,
) -> None:  # fmt: skip
    try:
        group.world.mailbox.send(group.ranks[dst], header, payload)
    except errors.PeerLost as lost:
        doing = _doing(group, fingerprint, tag, site)
        raise PeerLost(
            lost.rank, lost.reason, f"rank {group.world.rank} sends to in {doing}"
        ) from lost


def _doing(group: Group, fingerprint: Fingerprint, tag: int, site: str) -> str:
    said = wire.describe(fingerprint, wire.POINT_TO_POINT, tag, site)
    return f"{said} of group {group.channel.name!r}"
