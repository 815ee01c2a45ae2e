"""The calls that tell a journal what a rank does: the protocol of a recorder.

It is set as `Mailbox.recorder` before the transport connects. Each call comes in the thread in which the
event happens. Where nobody records, an event costs a comparison with None. `to` and `source`
are ranks of the world, and the step of a message between two ranks (p2p) is its tag.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Protocol

from minitorch_dist.distributed.mail.wire import Fingerprint
from transports.contract import Sink


class DoingLike(Protocol):
    """The current call of a rank: an operation, or a send or a receive."""

    site: str

    @property
    def fingerprint(self) -> Fingerprint: ...
    @property
    def sequence(self) -> int: ...
    @property
    def group(self) -> str:
        """The name of its group."""

    def describe(self) -> str: ...


class Arriving(Protocol):
    """A receive, or a message that came before its receive."""

    came: tuple[int, int] | None
    """Which of the messages that match alike this one is, and when it was there."""


class Received(Arriving, Protocol):
    """A receive that is over."""

    sender: int
    nbytes: int
    match: bytes
    error: Exception | None


class Recorder(Protocol):
    sees_messages: bool
    """Whether it is to be told of each message of a collective. Then a simulation sends them one by one."""
    gauge: Callable[[], int]
    """How many bytes the rank's device holds; -1 if it has none. The code that knows of devices sets it."""

    def now(self) -> int:
        """The clock's instant."""

    def issued(self, doing: DoingLike) -> None:
        """Asked for here, and carried out beside the caller: `began` or `sent` follow."""

    def began(self, doing: DoingLike) -> None:
        """An operation of a group begins."""

    def ended(self, doing: DoingLike, error: BaseException | None) -> None: ...

    def posted(self, doing: DoingLike, source: int | None) -> None:
        """A receive of p2p."""

    def sent(
        self, doing: DoingLike, to: int, step: int, nbytes: int, since: int, error: Exception | None = None
    ) -> None:
        """A send that began at `since` is over."""

    def received(self, doing: DoingLike, receive: Received) -> None:
        """The rank has what it asked for, or knows that it will not get it."""

    def arriving(self, target: Arriving, sink: Sink, src: int, header: bytes, nbytes: int) -> Sink:
        """A message begins, and goes to `sink`; sets `target.came` when the last piece comes. The
        mailbox's lock is held. The result takes the sink's place."""

    def waiting(self, doing: Any, source: int | None) -> AbstractContextManager[Any]:
        """The rank waits within this block, for a rank or for what its own worker does."""

    def computed(self, since: int, site: str, operation: str = "", module: str = "") -> None:
        """It was busy since then: by the words of `sim.compute`, or with an operation of a module."""

    def close(self) -> None: ...
