"""The demands of a mailbox on those that stand above it. It is given them at run time, and imports none of them.

A group's `GroupChannel`, an operation of it and the `FlightRecorder` are these.
"""

from __future__ import annotations

from typing import Protocol

from minitorch_dist.distributed.mail.receives import Owner, PostedReceive


class Channel(Protocol):
    """A group."""

    @property
    def number(self) -> int: ...

    @property
    def name(self) -> str: ...

    def strange(self, header: bytes, sender: int) -> None:
        """A message of this group came for which nothing is posted. The mailbox's lock is held."""

    def noticed(self, sender: int, payload: bytes) -> None:
        """A member says that an operation failed there."""


class WatchingOwner(Owner, Protocol):
    """A collective operation that waits for what another rank writes to shared memory."""

    @property
    def prefix(self) -> bytes:
        """Its group and its number, as in headers."""

    @property
    def error(self) -> Exception | None: ...


class WaitingNotes(Protocol):
    """The notes of ranks that wait for long, for each other."""

    def pin(self, receive: PostedReceive, seconds: float) -> None:
        """Let the others know for whom we wait, and for how long by now."""

    def unpin(self) -> None:
        """We do not wait any more."""

    def contradiction(self, receive: PostedReceive) -> Exception | None:
        """The error, if the rank that we wait for waits itself, in another operation of the same number."""

    def circle(self, turns: int) -> Exception | None:
        """The error, if ranks wait for each other in a circle that we are in, or wait for."""

    def report(self, receive: PostedReceive) -> str:
        """Lines on the others, and on what we did before."""
