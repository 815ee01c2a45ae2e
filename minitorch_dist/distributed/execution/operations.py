"""One collective operation as its executor sees it, and the channel on which a group runs them.

A `GroupChannel` is what a group is to the mailbox: a number on the wire, its ranks, and a count of the
operations begun. `begin` gives the next operation its sequence number, in the order of the calls,
so that the same number means the same call on every rank. Peers here are group ranks.

    with channel.begin(fingerprint, site) as operation:
        receive = operation.receive(source, into=part, step=k, combine=numpy.add)
        operation.send(to, other_part, step=k)
        operation.wait(receive)

Messages of one pair and one step are taken in order, so a step may consist of several segments.
The operation has failed if the block is left by an error, or a message does not fit, or a peer is gone.
Then the other members learn of it: they raise the same, at once, and not after their timeouts. The group takes
no further operations. A rank that raises an error it was told of passes it on first. It may leave now, and
the ranks that wait for it shall hear of the cause before they hear that it left.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any

from minitorch_dist.distributed.callsite import callsite
from minitorch_dist.distributed.exceptions import DistBackendError, DistError, PeerLost
from minitorch_dist.distributed.execution.notices import FailureNotice, those_to_tell
from minitorch_dist.distributed.mail import wire
from minitorch_dist.distributed.mail.mailbox import Mailbox
from minitorch_dist.distributed.mail.receives import Array, PostedReceive
from minitorch_dist.distributed.mail.recorder import Recorder
from minitorch_dist.distributed.mail.wire import Fingerprint
from minitorch_dist.distributed.reductions import CombineFunction
from transports import errors
from transports.clock import Deadline
from transports.frames import octets

REMEMBERED = 64  # finished operations per group, so that latecomers can be told what it was
LOOKS = 64  # times to look for the cause of a loss among all that arrived before it


class GroupChannel:
    """A group, to the mailbox."""

    def __init__(self, mailbox: Mailbox, name: str, number: int, ranks: Sequence[int], timeout: float | None) -> None:
        self.mailbox, self.name, self.number, self.timeout = mailbox, name, number, timeout
        self.ranks = tuple(ranks)  # ranks of the world, by group rank
        own = mailbox.rank  # in a group of the whole world it need not be looked for
        at_home = own < len(self.ranks) and self.ranks[own] == own
        self.rank = own if at_home else self.ranks.index(own)
        self.size = len(self.ranks)
        self.broken: Exception | None = None
        self._broken_from = 0  # earlier operations succeeded where it failed: they may here, too
        self._has_told = False
        self.unsaid: Exception | None = None  # the error that broke it, until a call raises it
        self._next = 0
        self._open: dict[int, CollectiveOperation] = {}
        self._finished: list[CollectiveOperation] = []  # an empty deque has room for 64
        mailbox.open(self)

    def begin(
        self,
        fingerprint: Fingerprint,
        site: str | None = None,
        timeout: float | None = None,
        expects: bytes | None = None,
    ) -> CollectiveOperation:
        """The group's next operation. The order of these calls must be the same on all ranks.
        `expects`: the fingerprint in bytes, where the caller has it."""
        site = callsite() if site is None else site
        if self.broken is not None and self._next >= self._broken_from:
            raise self._refusal(self.broken, fingerprint, site)
        return CollectiveOperation(self, fingerprint, site, timeout, expects)

    def has(self, rank: int) -> bool:
        """Whether that rank of the world is a member. In a group of the whole world nobody is looked
        for: with 100,000 ranks each of which asks that takes minutes."""
        at_home = rank < len(self.ranks) and self.ranks[rank] == rank
        return at_home or rank in self.ranks

    @property
    def count(self) -> int:
        """How many operations were begun."""
        return self._next

    def remembered(self) -> dict[int, CollectiveOperation]:
        """The operations under way and the last that are finished, by number."""
        return {op.sequence: op for op in (*self._finished, *self._open.values())}

    @property
    def is_busy(self) -> bool:
        """Whether an operation was begun and is not over."""
        return bool(self._open)

    def under_way(self) -> list[CollectiveOperation]:
        """The operations that were begun and are not over."""
        return list(self._open.values())

    def finished(self) -> list[CollectiveOperation]:
        """The last ones that are over, the latest first."""
        with self.mailbox.lock:
            return list(reversed(self._finished))

    def latest(self, count: int) -> list[CollectiveOperation]:
        """The last ones that were begun, in their order."""
        with self.mailbox.lock:
            ended = list(islice(reversed(self._finished), count))
            found = sorted([*ended, *self._open.values()], key=lambda each: each.sequence)
        return found[-count:]

    @property
    def is_sound(self) -> bool:
        """Whether nothing has failed in it, neither here nor, as far as we know, elsewhere."""
        return self.broken is None and not self._has_told

    def close(self) -> None:
        self.mailbox.shut(self)

    def confess(self, text: str, kind: str = "raised") -> None:
        """Tell the other members that this rank has failed, outside of any operation, and why. It
        begins no further operations; those that it has begun may still end on the others."""
        with self.mailbox.lock:
            first = min(self._open, default=self._next)
            has_told, self._has_told = self._has_told, True
            self.unsaid = None
        if not has_told and self.broken is None:
            others = [rank for rank in self.ranks if rank != self.mailbox.rank]
            self._send_notice(FailureNotice(first, kind, -1, "", text), "", others)

    # ----------------------------------------------------------------- called by operations below

    def _enter(self, operation: CollectiveOperation) -> None:
        """Give a new operation its number; it is now open. Looks at what came early for it."""
        with self.mailbox.lock:
            operation.sequence = sequence = self._next
            self._next = sequence + 1
            self._open[sequence] = operation
            operation.prefix = prefix = wire.GROUP_AND_SEQUENCE.pack(self.number, sequence)
            if self.mailbox.unclaimed:
                for arrival in self.mailbox.strangers(prefix):
                    self.strange(arrival.header, arrival.sender)

    def _leave(self, operation: CollectiveOperation) -> None:
        with self.mailbox.lock:
            del self._open[operation.sequence]
            self._finished.append(operation)
            del self._finished[:-REMEMBERED]

    def _refusal(self, error: Exception, fingerprint: Fingerprint, site: str) -> Exception:
        """The error of a call on a broken group. The other members are told as well."""
        self._tell(self._next, fingerprint, site, error, is_first=False)
        self.unsaid = None
        text = f"{error} The group {self.name!r} cannot be used since; make a new one."
        if isinstance(error, PeerLost):
            return PeerLost(error.rank, error.why, error.doing)
        kind = type(error) if isinstance(error, DistBackendError) else DistBackendError
        return kind(text)

    def _tell(self, sequence: int, fingerprint: Fingerprint, site: str, error: Exception, is_first: bool) -> None:
        """Tell other members, once, that this operation has failed here. `is_first`: nobody told us."""
        with self.mailbox.lock:
            has_told, self._has_told = self._has_told, True
            if has_told:
                return
        notice = FailureNotice.of(error, sequence, self.describe(fingerprint, sequence, site))
        to = [self.ranks[rank] for rank in those_to_tell(self.rank, self.size, is_first)]
        self._send_notice(notice, site, [rank for rank in to if rank != notice.lost])

    def _send_notice(self, notice: FailureNotice, site: str, ranks: Sequence[int]) -> None:
        header = wire.encode(wire.Header(self.number, wire.NOTICE, 0, Fingerprint("notice"), site))
        for rank in ranks:
            with suppress(DistError, OSError):  # a rank that we cannot tell will notice by itself
                self.mailbox.transport.send(rank, header, notice.written())

    def describe(self, fingerprint: Fingerprint, sequence: int, site: str) -> str:
        """`all_reduce #5 (float32[10], SUM) at train.py:41 of group 'default_pg'`"""
        return f"{wire.describe(fingerprint, sequence, 0, site)} of group {self.name!r}"

    # --------------------------------------------------------------------- called by the mailbox

    def strange(self, header: bytes, sender: int) -> None:
        """Compare a message with the operation of its number. The mailbox's lock is held."""
        _, sequence = wire.GROUP_AND_SEQUENCE.unpack_from(header)
        if sequence >= self._next:
            return
        operation = self._open.get(sequence)
        if operation is not None:
            if not header.startswith(operation.expects, wire.MATCH.size):
                doing = f"is in {operation.describe()}"
                operation.fail(self.mailbox.difference(doing, sender, header, operation.expects))
            return
        for operation in self._finished:
            if operation.sequence == sequence and self.broken is None:
                doing = f"has finished {operation.describe()}"
                self._break(self.mailbox.difference(doing, sender, header, operation.expects))

    def noticed(self, sender: int, payload: bytes) -> None:
        """A member says that an operation failed there: this rank's cannot succeed either."""
        notice = FailureNotice.read(payload)
        if notice is None:
            return
        if notice.kind == "raised":
            self.mailbox.last_words.setdefault(sender, notice.text.partition("\n")[0])
        error = notice.error(sender, self.mailbox.world_size)
        with self.mailbox.lock:  # of an earlier operation than we heard of before: it fails as well
            self._break(self.broken or error, notice.first)

    def _break(self, error: Exception, first: int = 0) -> None:
        self._broken_from = first if self.broken is None else min(first, self._broken_from)
        self.unsaid = error if self.is_sound else self.unsaid
        self.broken = error
        for sequence, operation in self._open.items():
            if sequence >= first:
                operation.fail(error)


class CollectiveOperation:
    """One operation of a group, from `begin` to its end. It is a context manager."""

    sequence: int
    prefix: bytes
    error: Exception | None
    _deadline: Deadline | None

    __slots__ = (
        "_deadline", "_mailbox", "_receives", "_tail", "channel", "error", "expects",
        "fingerprint", "prefix", "sequence", "site", "timeout",
    )  # fmt: skip

    def __init__(
        self,
        channel: GroupChannel,
        fingerprint: Fingerprint,
        site: str,
        timeout: float | None,
        expects: bytes | None = None,
    ) -> None:
        self.channel, self.fingerprint, self.site = channel, fingerprint, site
        self.timeout = channel.timeout if timeout is None else timeout
        self.error, self._deadline, self._tail = None, None, b""  # the tail of its headers
        self._mailbox = channel.mailbox
        self.expects = wire.encode_fingerprint(fingerprint) if expects is None else expects
        self._receives: list[PostedReceive] = []
        channel._enter(self)

    def receive(
        self,
        source: int,
        into: Array | None,
        step: int = 0,
        combine: CombineFunction | None = None,
        operand: Array | None = None,
    ) -> PostedReceive:
        """Post a receive of the message that group rank `source` sends as this step: into = combine(operand,
        message), or a copy (see `PostedReceive`)."""
        src, match = self.channel.ranks[source], self.prefix + wire.STEP.pack(step)
        receive = PostedReceive(src, match, self, into, combine, operand)
        self._receives.append(receive)
        self._mailbox.post(receive)
        if self.error is not None:
            receive.fail(self.error)
        return receive

    def forget(self, receive: PostedReceive) -> None:
        """It has arrived, and nobody will ask for it again."""
        self._receives.remove(receive)

    def send(self, to: int, part: Array | bytes | memoryview, step: int = 0) -> None:
        """Send a contiguous array to group rank `to`; it may be overwritten when this returns."""
        payload = part if isinstance(part, bytes | memoryview) else octets(part)
        if self._mailbox.recorder is not None:
            return self._send_recorded(to, payload, step, self._mailbox.recorder)
        try:
            self._mailbox.transport.send(self.channel.ranks[to], self.header(step), payload)
        except errors.PeerLost as lost:
            raise self._unsent(lost) from lost

    def _send_recorded(self, to: int, payload: bytes | memoryview, step: int, recorder: Recorder) -> None:
        """Send, and tell the journal."""
        dst, since = self.channel.ranks[to], recorder.now()
        try:
            self._mailbox.transport.send(dst, self.header(step), payload)
        except errors.PeerLost as lost:
            raise self._unsent(lost) from lost
        recorder.sent(self, dst, step, len(payload), since)

    def _unsent(self, lost: errors.PeerLost) -> PeerLost:
        self._hear_the_cause()
        me = f"rank {self._mailbox.rank} sends to in {self.describe()}"
        why = self._mailbox.why_lost(lost.rank, lost.why, self.channel.number)
        return PeerLost(lost.rank, why, me)

    def _hear_the_cause(self) -> None:
        """A peer that left may have said why, in a message that was not read yet. Then raise its reason."""
        for _ in range(LOOKS):
            found = self._mailbox.poll()
            if self.error is not None:
                raise self.error
            if not found:
                return

    def wait(self, *receives: PostedReceive) -> None:
        """Return when these have arrived; raise if this operation has failed."""
        for receive in receives:
            self.arrive(receive)
            if self._mailbox.recorder is not None:
                self.note(receive)
        if self.error is not None:
            raise self.error

    def note(self, receive: PostedReceive) -> None:
        """Tell the journal, if there is one, that this rank has it."""
        recorder = self._mailbox.recorder
        if recorder is not None:
            recorder.received(self, receive)

    def arrive(self, receive: PostedReceive) -> None:
        """Return when it has arrived, and tell nobody yet."""
        if not receive.done and not self._mailbox.is_there(receive):
            self._mailbox.wait(receive, self._until())
        if receive.error is not None:
            raise receive.error

    def watch(self, source: int, is_there: Callable[[], bool]) -> None:
        """Wait for what group rank `source` writes to memory that all see."""
        self._mailbox.watch(self.channel.ranks[source], self, is_there, self._until())

    def _until(self) -> Deadline:
        """Its deadline. The time counts from its first wait."""
        if self._deadline is None:
            self._deadline = self._mailbox.clock.deadline(self.timeout)
        return self._deadline

    def header(self, step: int = 0) -> bytes:
        """The header of its messages."""
        if not self._tail:
            self._tail = self.expects + wire.encode_site(self.site)
        return self.prefix + wire.STEP.pack(step) + self._tail

    def compare(self, source: int, header: bytes) -> None:
        """Raise unless group rank `source` does the same."""
        if not header.startswith(self.header()[: wire.MATCH.size + len(self.expects)]):
            src = self.channel.ranks[source]
            doing = f"is in {self.describe()}"
            raise self._mailbox.difference(doing, src, header, self.expects)

    def other_count(self, source: int, header: bytes, given: int, wanted: int) -> Exception:
        """Group rank `source` has another number of elements for us than we take."""
        src = self.channel.ranks[source]
        return self._mailbox.other_count(self.describe(), src, header, given, wanted, "elements")

    def fail(self, error: Exception) -> None:
        """Nothing more will come of this. It needs no lock and tells nobody: the thread that waits here raises."""
        if self.error is None:
            self.error = error
        for receive in self._receives:
            receive.fail(self.error)

    @property
    def group(self) -> str:
        """The name of its group."""
        return self.channel.name

    def describe(self) -> str:
        """`all_reduce #5 (float32[10], SUM) at train.py:41 of group 'default_pg'`"""
        return self.channel.describe(self.fingerprint, self.sequence, self.site)

    def __enter__(self) -> CollectiveOperation:
        if self._mailbox.recorder is not None:
            self._mailbox.recorder.began(self)
        return self

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        found = self.error if error is None else error  # or this rank itself missed nothing
        if found is not None:
            self._give_up(found)
        self.channel._leave(self)
        if self._mailbox.recorder is not None:
            self._mailbox.recorder.ended(self, found)
        self._receives.clear()
        if error is None and found is not None:
            raise found

    def _give_up(self, error: BaseException) -> None:
        for receive in self._receives:
            self._mailbox.withdraw(receive)
        reason = error if isinstance(error, Exception) else DistBackendError(repr(error))
        self.fail(reason)
        channel = self.channel
        channel.unsaid = None
        with self._mailbox.lock:
            is_first = channel.broken is None
            if is_first:
                channel.broken = reason
            cause = channel.broken or reason
        channel._tell(self.sequence, self.fingerprint, self.site, cause, is_first)
