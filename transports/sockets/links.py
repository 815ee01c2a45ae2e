"""One connection of a `tcp` world: cuts the arriving stream into messages, and keeps sends whole.

Small messages come several at a time through a buffer. Of a large one the buffer holds the
beginning; the rest is read straight into the sink's own space, or, if the sink wants to be handed
its pieces, through a scratch buffer.
"""

from __future__ import annotations

import socket
import ssl
import sys
from contextlib import suppress

from transports import frames
from transports.clock import Clock
from transports.contract import Inbox, Sink
from transports.driven import Turn
from transports.errors import CLOSED, PeerLost
from transports.sockets import liveness

BUFFER = 1 << 17
SCRATCH = 1 << 18
READS = 64  # in a row from one peer, before the others have their turn
PIECE = 1 << 20  # bytes of a sink's space offered to one read

# On one host both ends copy at the same time, through memory that should stay in their caches: the system's
# own choice grows to 32 MB. Between hosts it knows better (what is on its way has to fit).
LOOPBACK_BUFFERS = ((socket.SO_SNDBUF, 1 << 18), (socket.SO_RCVBUF, 1 << 20))

BROKEN_OFF = "this rank was interrupted in the middle of a message to it, which cannot be taken back"


class Farewell(EOFError):
    """The peer has said that it closes."""


class PeerConnection:
    """The connection to one peer."""

    def __init__(self, peer: int, incoming: socket.socket, outgoing: socket.socket, clock: Clock) -> None:
        self.peer, self.incoming, self.outgoing = peer, incoming, outgoing
        self.sending = Turn(clock)  # of the thread whose message is on its way
        self.lost: PeerLost | None = None
        self.verdict = ""  # why we gave the peer up, if it was we
        self.unsaid = b""  # the rest of the farewell, while we leave
        self.is_half_sent = False  # a message is being sent, or was when we were interrupted
        self._buffer = bytearray(BUFFER)
        self._view = memoryview(self._buffer)
        self._end = 0  # of what is in the buffer and not yet cut
        # poll does not see what TLS has read and decrypted already: there we read to the end
        self._is_plain = not isinstance(incoming, ssl.SSLSocket)
        self._reads = READS if self._is_plain else sys.maxsize
        self._sink: Sink | None = None
        self._left = 0  # bytes of the present message that are still to come

    def receive(self, inbox: Inbox, scratch: memoryview) -> bool:
        """Take in what has arrived; whether anything was delivered. EOFError at the end."""
        delivered = False
        for _ in range(self._reads):
            try:
                if self._left:
                    self._fill(scratch)
                    delivered = True
                else:
                    view = self._view[self._end :] if self._end else self._view
                    got = self.incoming.recv_into(view)
                    if not got:
                        raise EOFError
                    self._end += got
                    delivered |= self._cut(inbox)
                    if got < len(view) and not self._left and self._is_plain:
                        break
            except BlockingIOError:
                break
        return delivered

    def _fill(self, scratch: memoryview) -> None:
        """Read more of the present message."""
        assert self._sink is not None, "bytes are left of a message that has a sink"
        space = self._sink.space()
        room = scratch if space is None else space
        got = self.incoming.recv_into(room[: min(self._left, PIECE)])
        if not got:
            raise EOFError
        self._left -= got
        if space is None:
            self._sink.write(scratch[:got])
        else:
            self._sink.advance(got)

    def _cut(self, inbox: Inbox) -> bool:
        """Deliver the messages in the buffer; of the last one perhaps only the beginning."""
        start, end, needed = 0, self._end, frames.LENGTH
        while end - start >= frames.LENGTH:
            try:
                header_length, payload_length = frames.unpack(self._buffer, start)
            except frames.FrameError:
                if self._view[start : start + frames.LENGTH] == frames.END:
                    raise Farewell from None
                raise
            body = start + frames.LENGTH + header_length
            if body > end:
                needed += header_length
                break
            header = bytes(self._view[start + frames.LENGTH : body])
            sink = inbox.sink(self.peer, header, payload_length)
            start = min(body + payload_length, end)
            if start > body:
                sink.write(self._view[body:start])
            self._left = payload_length - (start - body)
            if self._left:
                self._sink = sink
        self._end = 0
        if start < end:
            self._make_room(start, end, needed)
        return start > 0

    def _make_room(self, start: int, end: int, needed: int) -> None:
        """Move the incomplete frame from `start` on to the front of a buffer that can hold it."""
        rest = bytes(self._view[start:end])
        if needed > len(self._buffer):
            self._buffer = bytearray(needed)
            self._view = memoryview(self._buffer)
        self._buffer[: len(rest)] = rest
        self._end = len(rest)

    @property
    def is_amid(self) -> bool:
        """Whether more of a message is on its way for certain."""
        return self._left > 0

    def where(self) -> str:
        """Where in the stream we stand, for an error."""
        if self._left:
            return f", with {self._left} bytes of a message still to come"
        return ", in the middle of a message" if self._end else ""

    def why_ended(self, error: Exception) -> str:
        """The end of the connection in words, by the error of `receive`. A process that is killed ends its
        connections, too, but only one that closes says so."""
        if isinstance(error, Farewell):
            return CLOSED
        if isinstance(error, EOFError):
            return f"its connection ended{self.where()}"
        return f"its connection broke{self.where()}: {error}"

    def break_off(self) -> None:
        """We were interrupted amid a message."""
        self.verdict = BROKEN_OFF
        self.hang_up()

    def is_unheard(self) -> bool:
        """Whether the peer's host has stopped acknowledging."""
        return liveness.is_unheard(self.outgoing)

    def hang_up(self) -> None:
        """No more in either direction. The files stay open until `close`: another thread may be
        about to use them, and their numbers must not be given to others meanwhile."""
        for end in {self.incoming, self.outgoing}:
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self.incoming.close()
        self.outgoing.close()


def prepare(connection: socket.socket) -> None:
    """Options of every connection between ranks."""
    connection.setblocking(False)
    liveness.watch_over(connection)
    if connection.getpeername()[0] in ("127.0.0.1", "::1"):
        for option, size in LOOPBACK_BUFFERS:
            connection.setsockopt(socket.SOL_SOCKET, option, size)
