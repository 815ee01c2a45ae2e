"""Messages of RPC go out: each as one message of the transport, and one more for each large array."""

from __future__ import annotations

from typing import Any

from minitorch_dist.distributed.rpc.frames import HEADER
from transports.contract import Transport
from transports.errors import PeerLost, TransportClosed


class Post:
    """Where transports may lose messages, what may have to be sent again has to be copied first."""

    def __init__(self, transport: Transport, may_lose: bool) -> None:
        self._transport, self.may_lose = transport, may_lose

    def sealed(self, parts: list[Any]) -> list[Any]:
        """The parts, as they can still be sent later."""
        return [bytes(part) for part in parts] if self.may_lose else parts

    def send(
        self, dst: int, kind: int, id: int, parts: list[Any], flags: int = 0, floor: int = 0
    ) -> None:
        """PeerLost if nobody is there, TransportClosed if we are not."""
        count = len(parts)
        for number, part in enumerate(parts):
            self._transport.send(dst, HEADER.pack(kind, flags, number, count, id, floor), part)

    def send_if_there(
        self, dst: int, kind: int, id: int, parts: list[Any] | None = None, flags: int = 0
    ) -> None:
        """The same, if there is still somebody to take it."""
        try:
            self.send(dst, kind, id, [b""] if parts is None else parts, flags)
        except (PeerLost, TransportClosed):
            return

    def __repr__(self) -> str:
        return f"<Post over {self._transport!r}{', which may lose it' if self.may_lose else ''}>"
