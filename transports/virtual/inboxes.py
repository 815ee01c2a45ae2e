"""The questions that a network in virtual time may ask of an inbox, and of who waits, beyond the contract.

    ExplainedQuestion   what does your thread wait for?      for the report of a deadlock
    HearsLate           this came after your rank had left   for the journal, and for warnings
    Claims              which receive takes this message?    for sends that wait for their receive

The simulated network is the only transport that asks. An inbox that has none of them works on every transport.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, runtime_checkable

from transports.contract import Sink


class Waiting(NamedTuple):
    """The ranks that a thread waits for, and in what; no ranks: for anybody. `is_send`: for them to post a
    receive. `held_by`: the simulated thread that holds the lock for which this one waits.
    """

    ranks: tuple[int, ...]
    what: str
    is_send: bool = False
    held_by: Any = None


@runtime_checkable
class ExplainedQuestion(Protocol):
    """A `done` that can say what its caller waits for."""

    def __call__(self) -> bool: ...
    def waiting_for(self) -> Waiting: ...


@runtime_checkable
class HearsLate(Protocol):
    """An inbox that wants to know what came when its rank had left, where that can be known."""

    def missed(self, src: int, header: bytes) -> None: ...


@runtime_checkable
class Claims(Protocol):
    """An inbox that can pair a message with its receive before it comes, for sends that wait for that."""

    def is_awaited(self, header: bytes) -> bool:
        """Whether such a message is taken by a receive, which somebody has to post."""

    def match(self, header: bytes) -> bytes:
        """Equal for messages that are taken by the same receives."""

    def claim(self, src: int, header: bytes) -> Any:
        """The receive that is posted for it, and which no other message will get; None if there is
        none. It is asked again whenever a receive was posted."""

    def into(self, claimed: Any, src: int, header: bytes, nbytes: int) -> Sink:
        """As `sink`, for the message of that receive."""

    def tell_of_receives(self, act: Callable[[], None]) -> None:
        """Call `act` whenever a receive was posted. It neither raises nor waits."""
