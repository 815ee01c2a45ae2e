"""The calls that tell a journal what a rank does: the protocol of a recorder.

It is set as `Mailbox.recorder` before the transport connects. Each call comes in the thread in which the
event happens. Where nobody records, an event costs a comparison with None. `to` and `source`
are ranks of the world, and the step of a message between two ranks (p2p) is its tag.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Protocol

from minitorch_dist.distributed.mail.receives import Arrival, PostedReceive
from minitorch_dist.distributed.mail.wire import Fingerprint
from transports.contract import Sink


class Doing(Protocol):
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


class Recorder(Protocol):
    sees_messages: bool
    """Whether it is to be told of each message of a collective. Then a simulation sends them one by one."""
    gauge: Callable[[], int]
    """How many bytes the rank's device holds; -1 if it has none. The code that knows of devices sets it."""

    def now(self) -> int:
        """The clock's instant."""

    def issued(self, doing: Doing) -> None:
        """Asked for here, and carried out beside the caller: `began` or `sent` follow."""

    def began(self, doing: Doing) -> None:
        """An operation of a group begins."""

    def ended(self, doing: Doing, error: BaseException | None) -> None: ...

    def posted(self, doing: Doing, source: int | None) -> None:
        """A receive of p2p."""

    def sent(self, doing: Doing, to: int, step: int, nbytes: int, since: int, error: Exception | None = None) -> None:
        """A send that began at `since` is over."""

    def received(self, doing: Doing, receive: PostedReceive) -> None:
        """The rank has what it asked for, or knows that it will not get it."""

    def arriving(self, target: PostedReceive | Arrival, sink: Sink, src: int, header: bytes, nbytes: int) -> Sink:
        """A message begins, and goes to `sink`; sets `target.came` when the last piece comes. The
        mailbox's lock is held. The result takes the sink's place."""

    def waiting(self, doing: Any, source: int | None) -> AbstractContextManager[Any]:
        """The rank waits within this block, for a rank or for what its own worker does."""

    def computed(self, since: int, site: str, operation: str = "", module: str = "") -> None:
        """It was busy since then: by the words of `sim.compute`, or with an operation of a module."""

    def close(self) -> None: ...
