"""A message that is read when it lands: at the latest instant at which a network may still read it.

Data that are sent beside their caller belong to the message until that is over. Most transports read it at
once, so writing to it too early does no harm, until it runs on one that reads it later. Here what
was written meanwhile arrives, and is noted.
"""

from __future__ import annotations

from transports.virtual.medium import Endpoint, Medium, SimMessage


class ReadOnLanding(SimMessage):
    """`payload` is what the sender's buffer holds when it is asked for."""

    __slots__ = ("_before", "_buffer", "_read", "is_overwritten")

    def __init__(self, medium: Medium, src: Endpoint, dst: Endpoint, header: bytes, buffer: memoryview) -> None:
        self._before, self._buffer = bytes(buffer), buffer
        self._read: bytes | None = None
        self.is_overwritten = False
        super().__init__(medium, src, dst, header, self._before)

    @property
    def payload(self) -> bytes:
        if self._read is None:
            self._read = bytes(self._buffer)
            self._buffer = memoryview(b"")
            if self._read != self._before:
                self.is_overwritten = True
                self.medium.overwritten.append(self)
        return self._read

    @payload.setter
    def payload(self, payload: bytes) -> None:
        """It is read when it lands."""
