"""The texts of a mailbox's errors: which rank, in which operation, and what to do about it.

They are made from two things: the header that a rank sent last, and the reason for which a rank is gone.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock  # noqa: TID251 - guards the tables; nothing waits while holding it
from typing import Final

from minitorch_dist.distributed.exceptions import DistMismatch, PeerLost
from minitorch_dist.distributed.mail import wire
from minitorch_dist.distributed.mail.above import Channel, WaitingNotes
from minitorch_dist.distributed.mail.pairing import Pairing
from minitorch_dist.distributed.mail.receives import Arrival, PostedReceive
from transports.contract import Transport
from transports.errors import Lost
from transports.plain_text import clean

POINT_TO_POINT: Final = wire.POINT_TO_POINT.to_bytes(8, "little")
ALIKE: Final = (
    "All ranks of a group must call the same operations in the same order, with tensors of the same shape and dtype."
)
GROUPS: Final = "Every rank of the world must make the same groups in the same order, also those it is not a member of."


def _nothing_after(rank: int, group: int) -> str:
    return ""


def _nothing_shown(src: int) -> bytes | None:
    return None


class MailboxTexts:
    """The part of a mailbox that knows what the other ranks did last, and puts it into words."""

    flight: WaitingNotes | None = None

    def __init__(self, transport: Transport) -> None:
        self.clock, self.rank, self.lock = transport.clock, transport.rank, Lock()
        self.channels: dict[int, Channel] = {}
        self.last_words: dict[int, str] = {}  # the error that a failed rank raised, before it left
        self.left_after: Callable[[int, int], str] = _nothing_after  # (see `exit_check`)
        self.last_shown: Callable[[int], bytes | None] = _nothing_shown  # header, on a board
        self.pairing = Pairing()
        self.unclaimed = self.pairing.unclaimed  # messages that came early; another pairing takes it over
        self._last: dict[int, tuple[bytes, PostedReceive | Arrival | None]] = {}
        self._gone: dict[int, Lost] = {}

    def other_count(self, doing: str, src: int, header: bytes, given: int, wanted: int, what: str) -> DistMismatch:
        """A rank sent another number of elements than this one takes."""
        return DistMismatch(
            f"rank {src} sent {given} {what}, but rank {self.rank} expects {wanted}: rank "
            f"{self.rank} is in {doing}; rank {src} is in {self.said(header)}. "
            "Sender and receiver must name the same number of elements of the same dtype."
        )

    def difference(self, doing: str, src: int, header: bytes, expects: bytes, and_it: str = "is in") -> DistMismatch:
        """Two ranks that should do the same do not; the lower rank is named first."""
        if header.startswith(POINT_TO_POINT, 8):
            return DistMismatch(
                f"the message does not fit the receive: rank {self.rank} {doing}; rank {src} is in "
                f"{self.said(header)}. Sender and receiver must name the same dtype, and use tags "
                "where messages of one pair may come in another order."
            )
        algorithms = wire.algorithms_that_differ(expects, header)
        if algorithms is not None:
            (low, one), (high, other) = sorted([(self.rank, algorithms[0]), (src, algorithms[1])])
            return DistMismatch(
                f"rank {low} does it by {one or '?'} and rank {high} by {other or '?'}: rank "
                f"{self.rank} {doing}. Pass the same algorithm= on all ranks, and set "
                "MINITORCH_DIST_ALGORITHM alike."
            )
        both = sorted([(self.rank, doing), (src, f"{and_it} {self.said(header)}")])
        makes = f"{doing} {self.said(header)}".count("_group #")
        return DistMismatch(
            f"these ranks should do the same: {'; '.join(f'rank {r} {what}' for r, what in both)}. "
            f"{GROUPS if makes else ALIKE}"
        )

    def _loss(self, receive: PostedReceive, source: int, reason: Lost) -> PeerLost:
        group = int.from_bytes(receive.match[:8], "little")
        why = self.why_lost(source, reason, group)
        is_alone = receive.match[8:16] == POINT_TO_POINT
        heard = self._last_heard(source) if why is reason or is_alone else ""
        heard += self._untaken(receive, source)
        doing = f"rank {self.rank} needs in {receive.owner.describe()}{heard}"
        return PeerLost(source, why, doing)

    def why_lost(self, rank: int, reason: Lost, group: int) -> Lost:
        """The reason. For a rank that has left, it names the last operation of that rank in this group.
        If this rank gave it up before, that reason is better, and stays."""
        after = self.left_after(rank, group) if reason.kind == "closed" else ""
        return Lost("left", f"it has left, {after}") if after else reason

    def _untaken(self, receive: PostedReceive, source: int) -> str:
        """The messages that `source` sent instead, for a receive of a message. The lock is held."""
        if receive.match[8:16] != POINT_TO_POINT:
            return ""
        early = [each.header for each in self.pairing.early() if each.sender == source]
        sends = [self.said(header) for header in early if header[8:16] == POINT_TO_POINT]
        if not sends:
            return ""
        more = f", and {len(sends) - 1} more" if len(sends) > 1 else ""
        return f"; what rank {source} did send, and no recv has taken, is {sends[0]}{more} (do tag and group agree?)"

    def timed_out(self, receive: PostedReceive, seconds: float) -> str:
        """`late` for an error; with torch's words too, because programs look for them."""
        closing = f". Timed out waiting {1000 * seconds:.0f}ms for recv operation to complete"
        return self.late(receive, seconds, closing)

    def late(self, receive: PostedReceive, seconds: float, closing: str = "") -> str:
        """A text: this rank waits for that rank, in this operation; that rank was last heard in another."""
        if receive.source is None:
            source, last = "anybody", ""
        else:
            source, last = f"rank {receive.source}", self._last_heard(receive.source)
            with self.lock:
                last += self._untaken(receive, receive.source)
        return (
            f"rank {self.rank} waited {seconds:.1f} s{self.clock.of_time} for {source} in {receive.owner.describe()}"
            f"{last}. Either it never comes to this operation (look for an error or a branch that "
            f"only some ranks take), or it needs longer: pass a larger timeout{closing}"
            f"{'' if self.flight is None else self.flight.report(receive)}"
        )

    def last_heard(self, rank: int) -> str:
        """The operation that a rank is in, as far as this rank knows."""
        if rank in self._gone:
            return f"is lost ({self._gone[rank]})"
        text = self._last_heard(rank).removeprefix("; ")
        return text.removeprefix(f"rank {rank} was ")

    def _last_heard(self, src: int) -> str:
        shown = self.last_shown(src)
        header = self._last[src][0] if shown is None and src in self._last else shown
        if header is None:
            return f"; nothing was heard of rank {src} since the start"
        return f"; rank {src} was last heard in {self.said(header)}"

    def said(self, header: bytes) -> str:
        """The operation of this header's sender, in words."""
        try:
            decoded = wire.decode(header)
        except wire.WireError as error:
            return f"an unknown operation ({error})"
        channel = self.channels.get(decoded.group)
        return clean(f"{decoded} of group {channel.name!r}" if channel else str(decoded))
