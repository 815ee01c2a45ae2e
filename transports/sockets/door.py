"""The way in: strangers are told from peers before a byte more than the handshake is read.

A `Door` listens. Whoever connects gets a slot with a buffer of 96 bytes and a deadline; there are
few slots, and when they are full, the one that has been silent longest is shown out. So whoever
scans, sends garbage or half a handshake and then nothing holds up nobody and costs nothing.
`dial` is the other side.
"""

from __future__ import annotations

import select
import socket
from collections import Counter
from contextlib import suppress

from transports.clock import Clock, Deadline
from transports.errors import DistNetworkError, TrustError
from transports.sockets import endpoints, handshake
from transports.sockets.handshake import Claim

SLOTS = 128
SECONDS = 5.0  # for a whole handshake
RETRY = 0.05


class Guest:
    """Somebody who has connected and not yet proved anything."""

    __slots__ = ("deadline", "greeting", "heard", "socket")

    def __init__(self, connection: socket.socket, deadline: Deadline) -> None:
        self.socket, self.deadline = connection, deadline
        self.greeting, self.heard = handshake.greet(), bytearray()


class Door:
    """A listening socket and those who stand before it."""

    def __init__(self, listener: socket.socket, key: bytes, clock: Clock) -> None:
        self._key, self._clock = key, clock
        self.listener = listener
        self.listener.setblocking(False)
        self.host, self.port = self.listener.getsockname()[:2]
        self._guests: dict[int, Guest] = {}
        self.refused: Counter[str] = Counter()

    def files(self) -> list[int]:
        """What to poll for reading."""
        return [self.listener.fileno(), *self._guests]

    def admit(self, ready: list[int]) -> list[tuple[socket.socket, Claim]]:
        """Look at what is ready (of `files`); those who have proved themselves, with their claims."""
        admitted = []
        for file in ready:
            guest = self._guests.get(file)
            if guest is not None:
                claim = self._hear(guest)
                if claim is not None:
                    admitted.append((guest.socket, claim))
            elif file == self.listener.fileno():
                self._open()
        for file, guest in list(self._guests.items()):
            if guest.deadline.is_over():
                self._refuse(file, f"said nothing for {SECONDS:g} s")
        return admitted

    def wait(self, seconds: float) -> list[tuple[socket.socket, Claim]]:
        """Poll for at most so long, then `admit`."""
        poll = select.poll()
        for file in self.files():
            poll.register(file, select.POLLIN)
        return self.admit([file for file, _ in poll.poll(1000 * seconds)])

    def _open(self) -> None:
        with suppress(OSError):
            connection, _ = self.listener.accept()
            connection.setblocking(False)
            guest = Guest(connection, self._clock.deadline(SECONDS))
            if len(self._guests) >= SLOTS:
                self._refuse(next(iter(self._guests)), "came too many at once")
            self._guests[connection.fileno()] = guest
            connection.send(guest.greeting)  # 40 bytes fit into any fresh socket

    def _hear(self, guest: Guest) -> Claim | None:
        """Read no more than a hello. The claim, once it is proved."""
        file = guest.socket.fileno()
        try:
            data = guest.socket.recv(handshake.HELLO_LENGTH - len(guest.heard))
            guest.heard += data
            if not data:
                raise TrustError("left")
            if not guest.heard.startswith(handshake.MAGIC[: len(guest.heard)]):
                raise TrustError("did not speak the handshake")
            if len(guest.heard) < handshake.HELLO_LENGTH:
                return None
            claim, welcome = handshake.judge(self._key, guest.greeting, bytes(guest.heard))
            guest.socket.send(welcome)
        except BlockingIOError:
            return None
        except TrustError as error:
            if len(guest.heard) == handshake.HELLO_LENGTH:
                with suppress(OSError):
                    guest.socket.send(handshake.REFUSAL)
            self._refuse(file, str(error))
        except OSError as error:
            self._refuse(file, error.strerror or "broke off")
        else:
            del self._guests[file]
            return claim
        return None

    def _refuse(self, file: int, why: str) -> None:
        self.refused[why] += 1
        self._guests.pop(file).socket.close()

    def close(self) -> None:
        self.listener.close()
        for guest in self._guests.values():
            guest.socket.close()
        self._guests.clear()

    def __repr__(self) -> str:
        told = ", ".join(f"{count} {why}" for why, count in self.refused.items())
        return (
            f"<Door {endpoints.shown(self.host, self.port)}, {len(self._guests)} before it, "
            f"refused {told or 'nobody'}>"
        )


def dial(host: str, port: int, key: bytes, claim: Claim, clock: Clock, deadline: Deadline) -> socket.socket:  # fmt: skip
    """A connection to a listener that holds the key, and knows that we do.

    Tries again until the deadline, since the listener may be on its way. DistNetworkError says why
    it did not work; TrustError, at once, if who answers is not ours.
    """
    while True:
        try:
            return _dial_once(host, port, key, claim, deadline)
        except OSError as error:
            why: OSError = error
        if deadline.is_over():
            raise DistNetworkError(
                f"no connection to {endpoints.shown(host, port)} within {deadline.seconds} s: "
                f"{why.strerror or why}. Is the program there running, is the host's name right, "
                "and do firewalls let it through?"
            ) from why
        clock.sleep(RETRY)


def _dial_once(host: str, port: int, key: bytes, claim: Claim, deadline: Deadline) -> socket.socket:
    left = deadline.left()
    limit = SECONDS if left is None else max(min(left, SECONDS), 0.001)
    connection = socket.create_connection((host, port), timeout=limit)
    try:
        hello, expected = handshake.answer(
            key, _exactly(connection, handshake.GREETING_LENGTH), claim
        )
        connection.sendall(hello)
        welcome = _exactly(connection, handshake.WELCOME_LENGTH)
        if not handshake.is_welcome(expected, welcome):
            raise TrustError(_REJECTED.format(endpoints.shown(host, port)))
        connection.settimeout(None)
        return connection
    except BaseException:
        connection.close()
        raise


_REJECTED = (
    "{} does not hold the same key as we. Ranks on several hosts, or of several users, "
    "need the same MINITORCH_DIST_KEY"
)


def _exactly(connection: socket.socket, length: int) -> bytes:
    data = b""
    while len(data) < length:
        piece = connection.recv(length - len(data))
        if not piece:
            raise ConnectionResetError("the connection was closed during the handshake")
        data += piece
    return data
