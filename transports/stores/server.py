"""The master's side of `TCPStore`: one thread, one shelf, and those who wait for keys.

    poll ──► door (handshakes)
         ──► a client's request ──► shelf ──► answer
                                      └─ NotYet ──► the client waits; after every change of the
                                                    shelf all who wait are asked again, in order

Waiting costs nothing but a place in a list, so a `get` blocks in the server and not by asking again
and again. What a client says can end that client's connection and nothing else.
"""

from __future__ import annotations

import select
import socket
from contextlib import suppress
from math import inf

from transports.clock import Clock, Deadline
from transports.errors import DistStoreError, StoreTimeout
from transports.frames import LENGTH, FrameError
from transports.keys import job_key
from transports.sockets.door import Door
from transports.stores import protocol
from transports.stores.protocol import Request
from transports.stores.shelf import READS, NotYet, Shelf
from transports.stores.store import ADVICE

KEY = "tcp store"
LOBBY = "lobby."  # before an operation: it concerns who has joined, not the users' keys
READ = 1 << 16


class Client:
    """A connection that has proved to hold the key."""

    __slots__ = ("asked", "deadline", "heard", "socket", "to_say")

    def __init__(self, connection: socket.socket) -> None:
        self.socket = connection
        self.heard, self.to_say = bytearray(), bytearray()
        self.asked: Request | None = None  # what it waits for
        self.deadline: Deadline | None = None


class Server:
    """Serves until `close`."""

    def __init__(self, listener: socket.socket, world_size: int | None, clock: Clock) -> None:
        self._clock, self._world_size = clock, world_size
        self._door = Door(listener, job_key(KEY), clock)
        self.port = self._door.port
        self.near_host = "127.0.0.1" if self._door.host in ("::", "0.0.0.0") else self._door.host
        self._shelf, self._lobby = Shelf(), Shelf()
        self._clients: dict[int, Client] = {}
        self._wake, self._alarm = socket.socketpair()
        self._is_closing = False
        self._thread = clock.start(self._serve, f"store server {self.port}")

    def close(self) -> None:
        self._is_closing = True
        with suppress(OSError):
            self._alarm.send(b"!")
        self._thread.join()

    def _serve(self) -> None:
        try:
            while not self._is_closing:
                self._step()
        finally:
            self._door.close()
            for client in self._clients.values():
                client.socket.close()
            self._clients.clear()
            self._wake.close()
            self._alarm.close()

    def _step(self) -> None:
        poll = select.poll()
        poll.register(self._wake, select.POLLIN)
        for file in self._door.files():
            poll.register(file, select.POLLIN)
        for file, client in self._clients.items():
            poll.register(file, select.POLLIN | (select.POLLOUT if client.to_say else 0))
        ready = [file for file, _ in poll.poll(1000 * self._patience())]
        for file in ready:
            if file in self._clients:
                self._attend(self._clients[file])
        for connection, _ in self._door.admit([f for f in ready if f not in self._clients]):
            with suppress(OSError):
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            self._clients[connection.fileno()] = Client(connection)
        for client in list(self._clients.values()):
            if client.deadline is not None and client.deadline.is_over():
                self._try(client, is_late=True)

    def _patience(self) -> float:
        """Seconds until somebody's deadline."""
        waits = [c.deadline.left() for c in self._clients.values() if c.deadline is not None]
        return min([1.0, *(left + 0.001 for left in waits if left is not None)])

    def _attend(self, client: Client) -> None:
        """Take in what a client says, and say what is left to say to it."""
        try:
            self._flush(client)
            data = client.socket.recv(READ)
            if not data:
                self._dismiss(client)
                return
            client.heard += data
            self._listen(client)
        except BlockingIOError:
            pass
        except (OSError, FrameError):
            self._dismiss(client)

    def _listen(self, client: Client) -> None:
        """Carry out what has been heard completely, one request after the other."""
        while client.asked is None:
            length = protocol.frame_length(client.heard)
            if length is None or len(client.heard) < length:
                return
            request = protocol.unpack_request(memoryview(client.heard)[LENGTH:length])
            del client.heard[:length]
            client.asked = request
            client.deadline = self._clock.deadline(
                None if request.seconds == inf else request.seconds
            )
            if self._try(client) and request.operation not in READS:
                for waiting in [c for c in self._clients.values() if c.asked is not None]:
                    self._try(waiting)

    def _try(self, client: Client, is_late: bool = False) -> bool:
        """Answer what a client asks, if it can be answered now."""
        request = client.asked
        assert request is not None, "who has a deadline has asked"
        shelf = self._lobby if request.operation.startswith(LOBBY) else self._shelf
        answer: list[bytes] | Exception
        try:
            answer = shelf.do(request.operation.removeprefix(LOBBY), request.keys, request.values)
        except NotYet as need:
            if not is_late and request.seconds > 0:
                return False
            present = [key for key in request.keys if key not in need.missing]
            answer = StoreTimeout(request.seconds, need.missing, present, self._note())
        except DistStoreError as error:
            answer = error
        client.asked = client.deadline = None
        client.to_say += protocol.pack_answer(answer)
        try:
            self._flush(client)
        except BlockingIOError:
            pass
        except OSError:
            self._dismiss(client)
        return not isinstance(answer, Exception)

    def _note(self) -> str:
        joined = self._lobby.values.get("joined", b"0").decode()
        count = (
            f"{joined} of {self._world_size} have joined this store. " if self._world_size else ""
        )
        return count + ADVICE

    def _flush(self, client: Client) -> None:
        if client.to_say:
            sent = client.socket.send(client.to_say)
            del client.to_say[:sent]

    def _dismiss(self, client: Client) -> None:
        self._clients.pop(client.socket.fileno(), None)
        client.socket.close()

    def __repr__(self) -> str:
        waiting = sum(client.asked is not None for client in list(self._clients.values()))
        return (
            f"<Server of {len(self._shelf.values)} keys for {len(self._clients)} connections, "
            f"{waiting} waiting, {self._door!r}>"
        )
