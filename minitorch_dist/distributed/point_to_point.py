"""From one rank to another: send, receive, and their asynchronous forms, on numpy arrays.

Messages of one pair, group and tag are received in the order in which they were sent. A send never
waits for its receive: both sides may send first, and a rank may send to itself. A message that
differs from its receive (dtype, number of elements) is an error that names both lines.

A message is prepared and then run, as a collective is. A `PreparedSend` or a `PreparedReceive` stands for all
messages of one kind: one peer, tag, dtype and shape. `run` carries one out now, and `begin` returns a Work.
A caller that will send the like again keeps it (`torch_api.messages` does).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

import numpy as np

from minitorch_dist.distributed.callsite import callsite
from minitorch_dist.distributed.exceptions import DistTimeout, PeerLost
from minitorch_dist.distributed.groups import ProcessGroup
from minitorch_dist.distributed.mail import wire
from minitorch_dist.distributed.mail.receives import Array, PostedReceive
from minitorch_dist.distributed.mail.wire import Fingerprint
from minitorch_dist.distributed.work import Receiving, Work, WorkerTask
from minitorch_dist.distributed.world import World
from transports import errors
from transports.contract import Begun
from transports.frames import octets

AT_ONCE: Final = 1 << 16  # bytes that isend sends before it returns
OCTET: Final = np.dtype(np.uint8)


class PointToPointCall:
    """A send, or its counterpart: its group, fingerprint and tag, and the line of its call."""

    __slots__ = ("_group", "fingerprint", "site", "tag")

    sequence = wire.POINT_TO_POINT

    def __init__(self, group: ProcessGroup, fingerprint: Fingerprint, tag: int, site: str) -> None:
        self._group, self.fingerprint, self.tag, self.site = group, fingerprint, tag, site

    @property
    def group(self) -> str:
        return self._group.channel.name

    def header(self) -> bytes:
        """The header of its message."""
        tail = wire.encode_fingerprint(self.fingerprint) + wire.encode_site(self.site)
        return self._group.point_to_point + wire.STEP.pack(self.tag) + tail

    def loss(self, lost: errors.PeerLost) -> PeerLost:
        """The error to raise where nothing can be sent any more."""
        what = f"rank {self._group.world.rank} sends to in {self.describe()}"
        mailbox, group = self._group.world.mailbox, self._group.channel.number
        return PeerLost(lost.rank, mailbox.why_lost(lost.rank, lost.why, group), what)

    def describe(self) -> str:
        said = wire.describe(self.fingerprint, wire.POINT_TO_POINT, self.tag, self.site)
        return f"{said} of group {self.group!r}"


class PostedSend(Work):
    """An isend that was begun, and may not be over."""

    def __init__(self, world: World, begun: Begun, doing: PointToPointCall, output: Any) -> None:
        super().__init__(world, output)
        self._begun, self._doing = begun, doing

    def _finish(self, timeout: float | None) -> None:
        try:
            self._begun.finish(timeout)
        except errors.PeerLost as lost:
            self._error = self._doing.loss(lost)
            return
        if not self._begun.is_over():
            raise DistTimeout(
                f"rank {self._world.rank} waited {timeout} s for {self._doing.describe()}, which is "
                "still going on; wait again, or longer"
            )
        self._see()

    def _see(self) -> None:
        if self._begun.is_overwritten:
            self._error = errors.Overwritten(self._world.rank, f"i{self._doing.describe()}")

    def is_completed(self) -> bool:
        if not self._begun.is_over():
            self._world.mailbox.poll()
        if not self._answer(self._begun.is_over):
            return False
        self._see()
        return True

    def _state(self) -> str:
        return super()._state() if self._begun.is_over() else f"going on: {self._doing.describe()}"


class Reception(PointToPointCall):
    """The owner of a receive."""

    __slots__ = ("expects", "receive")

    def __init__(self, group: ProcessGroup, fingerprint: Fingerprint, tag: int, site: str, expects: bytes) -> None:
        super().__init__(group, fingerprint, tag, site)
        self.expects = expects
        self.receive: PostedReceive | None = None

    def describe(self) -> str:
        return super().describe().replace("send", "recv", 1)

    def fail(self, error: Exception) -> None:
        assert self.receive is not None
        self.receive.fail(error)


def check_tag(tag: int) -> None:
    if not hasattr(tag, "__index__"):
        raise TypeError(f"a tag is an integer, but got {tag!r} ({type(tag).__name__})")
    if not 0 <= tag <= wire.MAX_TAG:
        raise RuntimeError(f"Tag must be nonnegative and at most {wire.MAX_TAG}, but got {tag}")


# ------------------------------------------------------------------------------------- to a rank


class PreparedSend:
    """Sends of one kind to a group rank."""

    is_kept = True

    __slots__ = ("_fingerprint", "_headers", "_mailbox", "_to", "dst", "group", "tag")

    def __init__(self, group: ProcessGroup, said: Fingerprint, dst: int, tag: int = 0) -> None:
        check_tag(tag)
        self.group, self.dst, self.tag = group, dst, tag
        self._mailbox, self._to = group.world.mailbox, group.ranks[dst]
        self._fingerprint = said
        self._headers: dict[str, bytes] = {}  # by call site

    def run(self, array: Array) -> None:
        """Send; the array may be overwritten when this returns."""
        group, mailbox = self.group, self._mailbox
        if group.world.trace is not None:
            return group.world.trace.send(self, self._fingerprint, array)  # type: ignore[no-any-return]
        if group.is_closed or mailbox.recorder is not None or (group._sender and not group._sender.is_idle()):
            return self._run_in_turn(array)
        if group.world.unfinished is not None:
            group.world.unfinished.used((array,), "sent")
        site = callsite(2)
        if (header := self._headers.get(site)) is None:
            header = self._headers[site] = self._call(site).header()
        mailbox.traffic.sends[self._to] += 1
        try:
            mailbox.transport.send(self._to, header, octets(array))
        except errors.PeerLost as lost:
            raise self._call(site).loss(lost) from lost

    def _run_in_turn(self, array: Array) -> None:
        """Send after what was sent before, and tell the journal."""
        call = self._open_call()
        sender = self.group._sender
        if sender is None or sender.is_idle():
            self._pass_on(call, array, self._mailbox.transport.send)
        elif self.group.world.transport.has_begin:
            self._posted(call, array, None).wait()
        else:
            self._by_sender(call, array, None).wait()

    def begin(self, array: Array, output: Any = None) -> Work:
        """Send beside the caller, who leaves the array alone until the Work is done."""
        call, group, recorder = self._open_call(), self.group, self._mailbox.recorder
        if group.world.trace is not None:
            noted: Work = group.world.trace.send(self, self._fingerprint, array, output, True)
            return noted
        if group.world.unfinished is not None:
            group.world.unfinished.used((array,), "sent")
        if recorder is not None:
            recorder.issued(call)
        if group.world.transport.has_begin:
            return self._posted(call, array, output)
        if array.nbytes <= AT_ONCE and (group._sender is None or group._sender.is_idle()):
            self._pass_on(call, array, self._mailbox.transport.send)
            return Work(group.world, output)
        return self._by_sender(call, array, output)

    def _by_sender(self, call: PointToPointCall, array: Array, output: Any) -> Work:
        """The group's sender does it, after what it has still to do."""
        group, act = self.group, partial(self._pass_on, call, array, self._mailbox.transport.send)
        return group.sender.submit(WorkerTask(group.world, act, call, output))

    def _posted(self, call: PointToPointCall, array: Array, output: Any) -> Work:
        """Nobody waits in this send: its transport may take long to begin it, or to read the array."""
        world = self.group.world
        begun = self._pass_on(call, array, world.transport.begin)
        return PostedSend(world, begun, call, output)

    def _pass_on(self, call: PointToPointCall, array: Array, act: Callable[[int, bytes, memoryview], Any]) -> Any:
        """Let `act` send the array. The journal hears of it, even if it fails."""
        recorder = self._mailbox.recorder
        since = 0 if recorder is None else recorder.now()
        self._mailbox.traffic.sends[self._to] += 1
        error: Exception | None = None
        try:
            return act(self._to, call.header(), octets(array))
        except errors.PeerLost as lost:
            error = call.loss(lost)
            raise error from lost
        finally:
            if recorder is not None:
                recorder.sent(call, self._to, self.tag, array.nbytes, since, error)

    def _open_call(self) -> PointToPointCall:
        self.group.demand_open()
        return self._call(callsite())

    def _call(self, site: str) -> PointToPointCall:
        return PointToPointCall(self.group, self._fingerprint, self.tag, site)


def send(group: ProcessGroup, array: Array, dst: int, tag: int = 0, operation: str = "send") -> None:
    """Send to a group rank; the array may be overwritten when this returns."""
    PreparedSend(group, Fingerprint(operation, array.dtype, array.shape), dst, tag).run(array)


def isend(
    group: ProcessGroup, array: Array, dst: int, tag: int = 0, operation: str = "send", output: Any = None
) -> Work:
    """Send to a group rank beside the caller, who leaves the array alone until it is done."""
    return PreparedSend(group, Fingerprint(operation, array.dtype, array.shape), dst, tag).begin(array, output)


# ----------------------------------------------------------------------------------- from a rank


class PreparedReceive:
    """Receives of one kind from a group rank, or from any (`src` is None). Without a shape a message may
    have any size."""

    is_kept = True

    def __init__(self, group: ProcessGroup, said: Fingerprint, src: int | None, tag: int = 0) -> None:
        check_tag(tag)
        self.group, self.src, self.tag = group, src, tag
        self._mailbox, self._source = group.world.mailbox, None if src is None else group.ranks[src]
        self._fingerprint = said
        self._expects = wire.encode_fingerprint(self._fingerprint)[: wire.KIND_SIZE]
        self._match = group.point_to_point + wire.STEP.pack(tag)
        self._front = self._match + self._expects
        self._is_next = partial(self._mailbox.is_free, self._source, self._match)

    def run(self, array: Array) -> None:
        """Receive into a contiguous array, and wait for it.

        Some transports can look at the next message (`Transport.fetch`). There, a message that has arrived is
        copied from where it lies, and no receive is posted. A message that does not fit is left where it is.
        """
        mailbox, source = self._mailbox, self._source
        if self.group.world.trace is not None:
            self.group.world.trace.receive(self, self._fingerprint, array)
            return
        if (
            source is not None
            and mailbox.recorder is None
            and not self.group.is_closed
            and mailbox.fetch(source, self._front, octets(array), self._is_next)
        ):
            return
        receive, noted = self._post(array)
        if not receive.done and not mailbox.is_there(receive):
            mailbox.wait(receive, mailbox.clock.deadline(self.group.timeout))
        if noted is not None:
            noted()
        if receive.error is not None:
            raise receive.error
        mailbox.traffic.came[receive.sender] += 1

    def begin(self, array: Array | None, output: Any = None, arrived: Callable[[], None] | None = None) -> Receiving:
        """Receive beside the caller. `arrived` is called when the message is there."""
        group = self.group
        if group.world.trace is not None:
            begun: Receiving = group.world.trace.receive(self, self._fingerprint, array, output, arrived, True)
            return begun
        receive, noted = self._post(array)
        work = Receiving(group.world, receive, group.timeout, output, group.ranks, arrived, noted)
        if group.world.unfinished is not None:
            group.world.unfinished.began(work)
        return work

    def _post(self, array: Array | None) -> tuple[PostedReceive, Callable[[], None] | None]:
        """A receive, and what is to be called for the journal once it is over."""
        self.group.demand_open()
        owner = Reception(self.group, self._fingerprint, self.tag, callsite(), self._expects)
        receive = owner.receive = PostedReceive(self._source, self._match, owner, array)
        mailbox, noted = self._mailbox, None
        if mailbox.recorder is not None:
            mailbox.recorder.posted(owner, self._source)
            noted = partial(mailbox.recorder.received, owner, receive)
        mailbox.post(receive)
        return receive, noted


def irecv(
    group: ProcessGroup,
    array: Array | None,
    src: int | None,
    tag: int = 0,
    operation: str = "send",
    output: Any = None,
    arrived: Callable[[], None] | None = None,
) -> Receiving:
    """Receive from a group rank, or from any (None), into a contiguous array."""
    kind = (OCTET, None) if array is None else (array.dtype, array.shape)
    return PreparedReceive(group, Fingerprint(operation, *kind), src, tag).begin(array, output, arrived)


def recv(
    group: ProcessGroup, array: Array | None, src: int | None, tag: int = 0, operation: str = "send"
) -> tuple[int, memoryview]:
    """Receive and wait. The sender's group rank, and the message's bytes."""
    work = irecv(group, array, src, tag, operation)
    work.wait()
    return work.source_rank(), work.octets
