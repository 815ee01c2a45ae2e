"""The master's side of `TCPStore`: one thread, one key-value table, and those who wait for keys.

    poll ──► listener (handshakes)
         ──► a client's request ──► key-value table ──► answer
                                      └─ NotYet ──► the client waits; after every change of the
                                                    key-value table all who wait are asked again, in order

Waiting costs nothing but a place in a list, so a `get` blocks in the server and not by asking again
and again. A client's request can end that client's connection and nothing else.
"""

from __future__ import annotations

import logging
import select
import socket
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from transports.clock import Clock, Deadline
from transports.errors import DistStoreError, StoreTimeout
from transports.frames import LENGTH, FrameError
from transports.job import JobCard
from transports.keys import job_key
from transports.sockets import liveness
from transports.sockets.auth_listener import AuthListener
from transports.stores import protocol
from transports.stores.key_values import READS, KeyValues, NotYet
from transports.stores.protocol import StoreRequest
from transports.stores.store import ADVICE

KEY = "tcp store"
LOBBY = "lobby."  # before an operation: it concerns who has joined, not the users' keys
READ = 1 << 16
_log = logging.getLogger("transports.stores")


class Client:
    """A connection that has proved to hold the key."""

    __slots__ = ("asked", "deadline", "heard", "socket", "to_say")

    def __init__(self, connection: socket.socket) -> None:
        self.socket = connection
        self.heard, self.to_say = bytearray(), bytearray()
        self.asked: StoreRequest | None = None  # what it waits for
        self.deadline: Deadline | None = None

    def is_full(self) -> bool:
        """Whether it has said enough for now: it waits for an answer, or does not take one."""
        return (self.asked is not None or bool(self.to_say)) and len(self.heard) >= READ

    def events(self) -> int:
        """The events to poll for."""
        return (0 if self.is_full() else select.POLLIN) | (select.POLLOUT if self.to_say else 0)


class StoreServer:
    """Serves until `close`."""

    def __init__(
        self,
        listener: socket.socket,
        world_size: int | None,
        clock: Clock,
        job: JobCard | None = None,
    ) -> None:
        self._clock, self._world_size = clock, world_size
        self._listener = AuthListener(listener, job_key(KEY), clock, job)
        self.port = self._listener.port
        self.near_host = (
            "127.0.0.1" if self._listener.host in ("::", "0.0.0.0") else self._listener.host
        )
        self._key_values, self._lobby = KeyValues(), KeyValues()
        self._clients: dict[int, Client] = {}
        # Clients that were answered late, and have said more since.
        self._behind: deque[Client] = deque()
        self._wake, self._alarm = socket.socketpair()
        self._is_closing = False
        self._look = clock.deadline(liveness.SLICE)
        self._thread = clock.start(self._serve, f"store server {self.port}")

    def serve(self, job: JobCard) -> None:
        """This job, too."""
        self._listener.jobs.append(job)

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
            self._listener.close()
            for client in self._clients.values():
                client.socket.close()
            self._clients.clear()
            self._wake.close()
            self._alarm.close()

    def _step(self) -> None:
        poll = select.poll()
        poll.register(self._wake, select.POLLIN)
        for file in self._listener.files():
            poll.register(file, select.POLLIN)
        for file, client in self._clients.items():
            poll.register(file, client.events())
        ready = [file for file, _ in poll.poll(1000 * self._patience())]
        for file in ready:
            if file in self._clients:
                self._guarded(self._clients[file], self._attend)
        for connection, _ in self._listener.admit([f for f in ready if f not in self._clients]):
            with suppress(OSError):
                liveness.watch_over(connection)
            self._clients[connection.fileno()] = Client(connection)
        self._dismiss_unheard()
        for client in list(self._clients.values()):
            if client.deadline is not None and client.deadline.is_over():
                self._guarded(client, self._answer_late)
        while self._behind:
            self._guarded(self._behind.popleft(), self._listen)

    def _dismiss_unheard(self) -> None:
        """Now and then: clients whose host does not acknowledge their answers."""
        if not self._look.is_over():
            return
        self._look = self._clock.deadline(liveness.SLICE)
        for client in list(self._clients.values()):
            if liveness.is_unheard(client.socket):
                self._dismiss(client)

    def _patience(self) -> float:
        """Seconds until somebody's deadline."""
        waits = [c.deadline.left() for c in self._clients.values() if c.deadline is not None]
        return min([1.0, *(left + 0.001 for left in waits if left is not None)])

    def _guarded(self, client: Client, doing: Callable[[Client], Any]) -> None:
        """Do something for a client. An error in it is the end of this client only."""
        try:
            doing(client)
        except BlockingIOError:
            pass
        except (OSError, FrameError):
            self._dismiss(client)
        except Exception:
            _log.exception("the store on port %d dismisses a client", self.port)
            self._dismiss(client)

    def _attend(self, client: Client) -> None:
        """Take in what a client says, and say what is left to say to it."""
        self._flush(client)
        if client.is_full():
            return self._listen(client)
        data = client.socket.recv(READ)
        if not data:
            self._dismiss(client)
            return
        client.heard += data
        self._listen(client)

    def _listen(self, client: Client) -> None:
        """Carry out what has been heard completely, one request after the other. A client that does
        not take its answers is not asked for more requests."""
        while client.asked is None and not client.to_say:
            length = protocol.frame_length(client.heard)
            if length is None or len(client.heard) < length:
                return
            request = protocol.unpack_request(memoryview(client.heard)[LENGTH:length])
            del client.heard[:length]
            client.asked = request
            client.deadline = self._clock.deadline(request.seconds)
            if self._try(client) and request.operation not in READS:
                for waiting in [c for c in self._clients.values() if c.asked is not None]:
                    self._guarded(waiting, self._answer_waiting)

    def _answer_waiting(self, client: Client) -> None:
        self._try(client)
        if client.asked is None and client.heard:
            self._behind.append(client)

    def _answer_late(self, client: Client) -> None:
        self._try(client, is_late=True)
        if client.heard:
            self._behind.append(client)

    def _try(self, client: Client, is_late: bool = False) -> bool:
        """Answer what a client asks, if it can be answered now; whether it was carried out."""
        request = client.asked
        assert request is not None, "a client that has a deadline has asked"
        key_values = self._lobby if request.operation.startswith(LOBBY) else self._key_values
        answer: list[bytes] | Exception
        try:
            answer = key_values.do(
                request.operation.removeprefix(LOBBY), request.keys, request.values
            )
        except NotYet as need:
            if not is_late and request.seconds > 0:
                return False
            present = [key for key in request.keys if key not in need.missing]
            answer = StoreTimeout(request.seconds, need.missing, present, self._note())
        except DistStoreError as error:
            answer = error
        self._key_values.own_keys = int("joined" in self._lobby.values)
        client.asked = client.deadline = None
        client.to_say += protocol.pack_answer(answer)
        self._guarded(client, self._flush)
        return not isinstance(answer, Exception)

    def _note(self) -> str:
        joined = self._lobby.values.get("joined", b"0")[:20].decode(errors="replace")
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
            f"<Server of {len(self._key_values.values)} keys for {len(self._clients)} connections, "
            f"{waiting} waiting, {self._listener!r}>"
        )
