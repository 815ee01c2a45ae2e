"""The same message again: a send or recv of one piece whose like was sent or received before.

What `repeated` is for collectives, this is for messages. The first send (or recv) of a kind, same
rank, tag, dtype and shape, goes the long way (`messages` → `point_to_point`) and leaves a `Sending`
(or `Taking`) behind with all that the next one would find out again: its peer, and its header for
each line it is called at. And where the transport can look at what comes next (`Transport.fetch`), a
message that is there already, or comes at once, is copied from where it lies into the tensor; nothing
is posted and matched. What is not exactly as expected is left where it is: the long way takes it, and
finds out what is wrong with it.

With a journal all go the long way.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from minitorch_dist.distributed import point_to_point
from minitorch_dist.distributed.callsite import callsite
from minitorch_dist.distributed.face.repeated_collectives import DONE, is_plain
from minitorch_dist.distributed.groups import Group
from minitorch_dist.distributed.mail import wire
from minitorch_dist.distributed.mail.receives import Array, octets
from minitorch_dist.distributed.mail.wire import Fingerprint
from minitorch_dist.distributed.point_to_point import Doing
from minitorch_dist.distributed.repeated import KEPT, find
from transports import errors


class Sending:
    """Sends of one kind."""

    __slots__ = ("_fingerprint", "_group", "_headers", "_mailbox", "_tag", "_to")

    def __init__(self, group: Group, array: Array, dst: int, tag: int) -> None:
        self._group, self._tag, self._to = group, tag, group.ranks[dst]
        self._mailbox = group.world.mailbox
        self._fingerprint = Fingerprint("send", array.dtype, array.shape)
        self._headers: dict[str, bytes] = {}  # by call site

    def is_good(self) -> bool:
        """Whether it would be sent now, and at once."""
        group = self._group
        sender = group._sender
        return (
            not group.is_closed
            and (sender is None or sender.is_idle())
            and self._mailbox.recorder is None
        )

    def run(self, array: Array) -> None:
        site = callsite(3)
        header = self._headers.get(site)
        if header is None:
            header = self._headers[site] = self._doing(site).header()
        try:
            self._mailbox.send(self._to, header, octets(array))
        except errors.PeerLost as lost:
            raise self._doing(site).loss(lost) from lost

    def _doing(self, site: str) -> Doing:
        return Doing(self._group, self._fingerprint, self._tag, site)


class Taking:
    """Receives of one kind."""

    __slots__ = ("_front", "_group", "_is_next", "_mailbox", "_source", "_src", "_tag")

    def __init__(self, group: Group, array: Array, src: int, tag: int) -> None:
        self._group, self._src, self._tag = group, src, tag
        self._source, self._mailbox = group.ranks[src], group.world.mailbox
        match = group.point_to_point + wire.STEP.pack(tag)
        expected = wire.encode_fingerprint(Fingerprint("send", array.dtype, array.shape))
        self._front = match + expected[: wire.KIND_SIZE]
        self._is_next = partial(self._mailbox.is_free, self._source, match)

    def is_good(self) -> bool:
        """Whether it may be received past the mailbox."""
        return not self._group.is_closed and self._mailbox.recorder is None

    def run(self, array: Array) -> None:
        if not self._mailbox.fetch(self._source, self._front, octets(array), self._is_next):
            point_to_point.receive(self._group, array, self._src, self._tag)


def send(tensor: Any, dst: Any, group: Any, tag: Any, group_dst: Any) -> Any:
    """DONE, or the key for what this call leaves behind; None if it is not of the plain kind."""
    if not is_plain(tensor):
        return None
    array = tensor.array
    key = "send", dst, group_dst, tag, array.dtype, array.shape
    kind: Sending | None = find(group, key)
    if kind is None:
        return key
    kind.run(array)
    return DONE


def recv(tensor: Any, src: Any, group: Any, tag: Any, group_src: Any) -> Any:
    """The same for a receive."""
    array = tensor.array
    key = "recv", src, group_src, tag, array.dtype, array.shape
    kind: Taking | None = find(group, key)
    if kind is None:
        return key
    kind.run(array)
    tensor.storage.version += 1
    return DONE


def leave(group: Group, key: Any, kind: Sending | Taking) -> None:
    """For the next call of this kind."""
    if len(group.kinds) >= KEPT:
        group.kinds.clear()
    group.kinds[key] = kind
