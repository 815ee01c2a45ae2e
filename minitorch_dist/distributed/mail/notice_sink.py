"""The sink of a notice: a message of a peer for the mailbox itself, such as an error or a farewell."""

from __future__ import annotations

from typing import Protocol

from minitorch_dist.distributed.exceptions import DistError
from minitorch_dist.distributed.mail import wire
from minitorch_dist.distributed.mail.receives import PostedReceive


class TakesNotices(Protocol):
    """The mailbox, as the sink sees it."""

    def heed(self, group: int, notice: PostedReceive) -> None: ...


class NoticeSink:
    """The sink of a notice."""

    def __init__(self, mailbox: TakesNotices, group: int, src: int, header: bytes, nbytes: int) -> None:
        self._mailbox, self._group = mailbox, group
        self._receive = PostedReceive(src, header[: wire.MATCH.size], _NOBODY, None)
        self._receive.begin(src, header, nbytes)

    def write(self, piece: memoryview) -> None:
        self._receive.write(piece)
        if self._receive.done:
            self._mailbox.heed(self._group, self._receive)

    def space(self) -> memoryview | None:
        return None

    def advance(self, nbytes: int) -> None:
        raise DistError("a notice is written, never advanced")


class _Nobody:
    expects = b""

    def describe(self) -> str:
        return "a notice"

    def fail(self, error: Exception) -> None:
        pass


_NOBODY = _Nobody()
