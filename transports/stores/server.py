"""The master's side of `TCPStore`: one thread, one key-value table, and those who wait for keys.

    poll ──► listener (handshakes)
         ──► a client's request ──► its turn ──► key-value table ──► answer, without a copy of its values
                                                   └─ NotYet ──► the client waits; a change of a key
                                                                 touches the waiters for that key

Waiting costs nothing but a place in a table, so a `get` blocks in the server and not by asking again
and again. A client's request can end that client's connection and nothing else.

Clients take turns. In one step each has a few short requests carried out, and one client of all a long one. So
between two requests of an honest client there is little of each other one, whatever these ask for. A client that
does not take an answer is dismissed after a while.
"""

from __future__ import annotations

import logging
import select
import socket
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

from transports.clock import Clock
from transports.errors import DistStoreError
from transports.frames import FrameError
from transports.job import JobCard
from transports.keys import job_key
from transports.sockets import liveness
from transports.sockets.auth_listener import AuthListener
from transports.stores import protocol
from transports.stores.key_values import READS, KeyValues, NotYet
from transports.stores.served_client import LEFT, READ, ServedClient
from transports.stores.store import ADVICE
from transports.stores.timers import Timers
from transports.stores.waiting import KeyWaiters

KEY = "tcp store"
JOINED = "init/"  # the key under which clients count themselves, as with torch
IN_A_ROW = 32  # short requests of one client in one step
# seconds in which an answer has to be taken, and one more for so many bytes
STALL, RATE = 60.0, 1 << 20
_log = logging.getLogger("transports.stores")


class StoreServer:
    """Serves until `close`."""

    def __init__(
        self, listener: socket.socket, world_size: int | None, clock: Clock, job: JobCard | None = None
    ) -> None:
        self._clock, self._world_size = clock, world_size
        self._listener = AuthListener(listener, job_key(KEY), clock, job)
        self.port = self._listener.port
        self.near_host = "127.0.0.1" if self._listener.host in ("::", "0.0.0.0") else self._listener.host
        self._key_values = KeyValues()
        self._waiting: KeyWaiters[ServedClient] = KeyWaiters(self._key_values)
        self._clients: dict[int, ServedClient] = {}
        self._short: deque[ServedClient] = deque()  # clients with such requests, whose turn comes
        self._long: deque[ServedClient] = deque()
        self._timers: Timers[ServedClient] = Timers(clock)
        self._wake, self._alarm = socket.socketpair()
        self._poll = select.poll()
        self._poll.register(self._wake, select.POLLIN)
        self._poll.register(self._listener, select.POLLIN)
        self._is_closing = False
        self.users = 0  # stores of this process
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
        """Hear what has come, then give each client its turn."""
        for file, events in self._poll.poll(1000 * self._patience()):
            client = self._clients.get(file)
            if client is not None:
                self._guarded(client, self._attend, events)
        self._let_in()
        self._dismiss_unheard()
        for client in self._timers.over():
            self._guarded(client, self._time_is_over)
        for _ in range(len(self._short)):
            self._guarded(self._short.popleft(), self._take_turn)
        if self._long:
            self._guarded(self._long.popleft(), self._take_turn)

    def _patience(self) -> float:
        """Seconds until there is something to do, even if no client says anything meanwhile."""
        if self._short or self._long:
            return 0.0
        left = self._timers.left()
        return 1.0 if left is None else min(1.0, left + 0.001)

    # -- who is there -----------------------------------------------------------------------

    def _let_in(self) -> None:
        for connection, _ in self._listener.wait(0):
            with suppress(OSError):
                liveness.watch_over(connection)
            client = ServedClient(connection)
            self._clients[connection.fileno()] = client
            self._settle(client)

    def _dismiss_unheard(self) -> None:
        """Now and then: clients whose host does not acknowledge their answers."""
        if not self._look.is_over():
            return
        self._look = self._clock.deadline(liveness.SLICE)
        for client in list(self._clients.values()):
            if liveness.is_unheard(client.socket):
                self._dismiss(client)

    def _guarded(self, client: ServedClient, doing: Callable[..., Any], *more: int) -> None:
        """Do something for a client. An error in it is the end of this client only."""
        try:
            if not client.is_gone:
                doing(client, *more)
            if not client.is_gone:
                self._settle(client)
        except (OSError, FrameError):
            self._dismiss(client)
        except Exception:
            _log.exception("the store on port %d dismisses a client", self.port)
            self._dismiss(client)

    def _settle(self, client: ServedClient) -> None:
        """See what is wanted of it next: its turn, its words, or that it takes its answer."""
        if not client.has_turn and client.has_asked():
            self._queue(client)
        events = client.wanted()
        if events != client.events:
            client.events = events
            self._poll.register(client.socket, events)

    def _queue(self, client: ServedClient) -> None:
        client.has_turn = True
        (self._long if client.is_long else self._short).append(client)

    def _dismiss(self, client: ServedClient) -> None:
        if client.is_gone:
            return
        self._waiting.remove(client)
        self._timers.clear(client)
        file = client.socket.fileno()
        self._clients.pop(file, None)
        if client.events >= 0:
            self._poll.unregister(file)
        client.socket.close()

    # -- what a client says -----------------------------------------------------------------

    def _attend(self, client: ServedClient, events: int) -> None:
        """Take in what a client says, and say what is left to say to it."""
        self._flush(client)
        if events & select.POLLIN and client.wanted() & select.POLLIN:
            with suppress(BlockingIOError):
                data = client.socket.recv(READ)
                client.heard += data
                if not data:
                    self._dismiss(client)
        elif events & LEFT:
            self._dismiss(client)

    def _take_turn(self, client: ServedClient) -> None:
        """Carry out what has been heard completely: a long request, or some short ones."""
        client.has_turn, is_long = False, client.is_long
        if client.is_late:
            self._waiting.remove(client)
            self._carry_out(client)
        for _ in range(1 if is_long else IN_A_ROW):
            if client.has_turn or not client.has_asked() or client.is_long != is_long:
                return
            client.take()
            self._carry_out(client)

    def _carry_out(self, client: ServedClient) -> None:
        """Answer what a client asks, if it can be answered now."""
        request = client.asked
        assert request is not None, "it has asked"
        answer: list[bytes] | Exception
        try:
            answer = self._key_values.do(request.operation, request.keys, request.values)
        except NotYet as need:
            if not client.is_late and request.seconds > 0:
                self._waiting.add(client, request.operation, request.keys)
                self._timers.set(client, request.seconds)
                return
            answer = need.late(request.seconds, request.keys, self._note())
        except DistStoreError as error:
            answer = error
        self._reply(client, answer)
        if request.operation not in READS and not isinstance(answer, Exception):
            self._tell(request.keys)

    def _tell(self, keys: Iterable[str]) -> None:
        """These keys have changed: answer those who waited for nothing else."""

        def answer(client: ServedClient) -> None:
            self._waiting.remove(client)
            self._carry_out(client)

        for client in self._waiting.ready(keys):
            self._guarded(client, answer)

    def _note(self) -> str:
        joined = self._key_values.values.get(JOINED, b"0")[:20].decode(errors="replace")
        count = f"{joined} of {self._world_size} have joined this store. " if self._world_size else ""
        return count + ADVICE

    # -- what it is told --------------------------------------------------------------------

    def _reply(self, client: ServedClient, answer: list[bytes] | Exception) -> None:
        client.answer(protocol.answer_pieces(answer))
        self._timers.clear(client)
        self._flush(client)
        if client.to_say:
            self._timers.set(client, STALL + client.left / RATE)

    def _flush(self, client: ServedClient) -> None:
        if client.to_say:
            with suppress(BlockingIOError):
                client.flush()
            if not client.to_say:
                self._timers.clear(client)

    def _time_is_over(self, client: ServedClient) -> None:
        """It gets the answer that nothing came, or has not taken the one that it got."""
        if client.asked is not None:
            client.is_late = True
            self._queue(client)
        else:
            what = f"{client.left} bytes of an answer for over {STALL:g} s"
            _log.warning("the store on port %d dismisses a client that left %s", self.port, what)
            self._dismiss(client)
