"""How bad news travels: what the members of a group tell each other when something has failed.

    rank 2 fails   ──►  all members, from whoever is the first to know
    they raise the same, and each passes it on before it may leave: to all others where they are few,
    else to those at distances of powers of two, with whom most schedules have to do

So nobody waits out a timeout for somebody who will not come.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from minitorch_dist.distributed.exceptions import DistMismatch, PeerFailed, PeerLost
from transports.errors import Lost

FEW: Final = 32  # members, up to which each passes bad news on to all
LONGEST: Final = 8000  # bytes


class FailureNotice(NamedTuple):
    """Operation number `first`, and what comes after it, cannot succeed."""

    first: int
    kind: str  # "lost", "left", "mismatch", "passed on", "failed"; "raised": outside of any operation
    lost: int  # the rank of the world that is gone, or -1
    doing: str  # in which operation
    text: str

    @classmethod
    def of(cls, error: Exception, first: int, doing: str) -> FailureNotice:
        if isinstance(error, PeerLost):
            gone = "left" if error.kind == "left" else "lost"
            return cls(first, gone, error.rank, doing, error.reason)
        kind = "failed"
        if isinstance(error, DistMismatch):
            kind = "mismatch"
        elif isinstance(error, PeerFailed):
            kind = "passed on"
        return cls(first, kind, -1, doing, str(error))

    @classmethod
    def read(cls, payload: bytes) -> FailureNotice | None:
        """None: it cannot be read."""
        try:
            first, kind, lost, doing, text = payload.decode(errors="replace").split("\n", 4)
            return cls(int(first), kind, int(lost), doing, text)
        except ValueError:
            return None

    def written(self) -> bytes:
        text = f"{self.first}\n{self.kind}\n{self.lost}\n{self.doing}\n{self.text}"
        return text.encode(errors="replace")[:LONGEST]

    def error(self, sender: int, world_size: int) -> Exception:
        """The error that a rank raises which hears this from rank `sender`."""
        if self.kind in ("lost", "left") and 0 <= self.lost < world_size:
            why = Lost("left" if self.kind == "left" else "lost", self.text)
            return PeerLost(self.lost, why, f"rank {sender} needs in {self.doing}")
        if self.kind == "mismatch":
            return DistMismatch(self.text)
        if self.kind == "passed on":
            return PeerFailed(self.text)
        if self.kind == "raised":
            return PeerFailed(f"rank {sender} raised {self.text}")
        return PeerFailed(f"rank {sender} has failed in {self.doing}: {self.text}")


def those_to_tell(rank: int, size: int, is_first: bool) -> list[int]:
    """The members (group ranks) whom `rank` tells. `is_first`: nobody told it."""
    if is_first or size <= FEW:
        return [other for other in range(size) if other != rank]
    steps = [1 << k for k in range(size.bit_length()) if 1 << k < size]
    near = {(rank + sign * step) % size for step in steps for sign in (1, -1)}
    return sorted(near - {rank})
