"""The broker: accepts connections, gives each a session, and sees that silent clients leave.

    listener ── accept ──► stranger: few at once, seconds of time ── CONNECT ──► client

A stranger gets nothing: a client that has not shown the password within seconds is closed. Few strangers are let
in at once, and while there is no place the next ones wait in the system's queue. When one has had its
time, and others wait, the oldest is closed, so that they cannot keep the clients out.
"""

from __future__ import annotations

import asyncio
import errno
import socket
from contextlib import suppress

from transports.broker.session import House, Session

MAX_STRANGERS = 64  # connections that have not shown the password yet
FAIR = 0.25  # seconds that each of them has, however many wait
BACKLOG = 1024
STREAM = 1 << 20  # bytes that are read ahead of a session
NEAR = 1 << 17  # bytes that the system holds of what is said to a client; there nobody takes turns
LOOK = 0.25  # seconds between two looks at who is silent
RETURN = 30.0  # seconds in which a client that was cut off may come back to a released broker
HOP = 2.0  # the same on loopback, where no network cuts off: a client that is gone has ended


class Stranger:
    """A connection from when it was accepted."""

    def __init__(self, connection: socket.socket, since: float) -> None:
        self.connection, self.since = connection, since
        self.session: Session | None = None

    @property
    def is_client(self) -> bool:
        return self.session is not None and self.session.is_client


class BrokerServer:
    """A broker in the running event loop."""

    _listener: socket.socket  # once it has started

    def __init__(self, house: House) -> None:
        self.house = house
        self.host, self.port = "", 0
        self._tasks: dict[asyncio.Task[None], Stranger] = {}
        self._finished = asyncio.Event()
        self._is_released = False

    async def start(self, host: str = "127.0.0.1", port: int = 0) -> None:
        """Listen; port 0 picks a free one."""
        if not 0 <= port <= 65535:  # getaddrinfo would take 70000 for 4464
            raise OverflowError(f"port must be 0-65535, and is {port}")
        family, _, _, _, place = socket.getaddrinfo(
            host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        self._listener = socket.create_server(place[:2], family=family, backlog=BACKLOG)
        self._listener.setblocking(False)
        self.host, self.port = self._listener.getsockname()[:2]

    async def run(self) -> None:
        """Serve until `stop`, or, once released, until the last client has left."""
        accepting = asyncio.ensure_future(self._accept())
        try:
            while not self._finished.is_set():
                self._drop_silent()
                with suppress(TimeoutError):
                    async with asyncio.timeout(LOOK):
                        await self._finished.wait()
        finally:
            accepting.cancel()
            await self._close()

    def stop(self) -> None:
        self._finished.set()

    def release(self) -> None:
        """Nobody looks after this broker any more: it ends with its last client."""
        self._is_released = True
        if not self.house.clients:
            self.stop()

    # -- strangers --------------------------------------------------------------------------

    async def _accept(self) -> None:
        """Let in one after the other, as places become free."""
        loop = asyncio.get_running_loop()
        while True:
            await self._place()
            try:
                connection, _ = await loop.sock_accept(self._listener)
            except OSError as error:
                if error.errno in (errno.EMFILE, errno.ENFILE):
                    self._drop_oldest()  # there are no files left for others
                await asyncio.sleep(0.02)
                continue
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, NEAR)
            task = asyncio.ensure_future(self._attend(connection))
            self._tasks[task] = Stranger(connection, loop.time())

    def _strangers(self) -> list[asyncio.Task[None]]:
        """The oldest first."""
        return [task for task, one in self._tasks.items() if not one.is_client]

    async def _place(self) -> None:
        """Return when one more stranger may come."""
        while len(strangers := self._strangers()) >= MAX_STRANGERS:
            age = asyncio.get_running_loop().time() - self._tasks[strangers[0]].since
            if age >= FAIR:
                self._drop_oldest()
                await asyncio.sleep(0)
            await asyncio.wait(strangers, timeout=max(0.0, FAIR - age), return_when=asyncio.FIRST_COMPLETED)

    def _drop_oldest(self) -> None:
        for task in self._strangers()[:1]:
            session = self._tasks[task].session
            if session is not None:
                session.drop()
            task.cancel()

    async def _attend(self, connection: socket.socket) -> None:
        """One connection, from its first byte to its end."""
        task = asyncio.current_task()
        assert task is not None, "this runs in a task of its own"
        session: Session | None = None
        try:
            async with asyncio.timeout(self.house.greeting_seconds):
                reader, writer = await self._open(connection)
            session = self._tasks[task].session = Session(self.house, reader, writer)
            await session.run()
        except (OSError, TimeoutError):  # it never became a session
            pass
        except asyncio.CancelledError:
            pass  # its place was needed, or we are closing
        finally:
            connection.close()
            del self._tasks[task]
        if session is not None and session.is_client:
            self._part(session)

    async def _open(self, connection: socket.socket) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Its streams."""
        loop, reader = asyncio.get_running_loop(), asyncio.StreamReader(STREAM)
        protocol = asyncio.StreamReaderProtocol(reader)
        transport, _ = await loop.connect_accepted_socket(lambda: protocol, connection)
        return reader, asyncio.StreamWriter(transport, protocol, reader, loop)

    def _part(self, session: Session) -> None:
        """A client has left. A broker that was released ends with the last one."""
        if self._is_released and not self.house.clients:
            if session.is_polite:
                self.stop()
            else:
                patience = HOP if self.host in ("127.0.0.1", "::1") else RETURN
                asyncio.get_running_loop().call_later(patience, self._stop_if_empty)

    def _stop_if_empty(self) -> None:
        if not self.house.clients:
            self.stop()

    def _drop_silent(self) -> None:
        """Drop who was silent for longer than it may [MQTT-3.1.2-24], or takes too little of what waits for it."""
        now = asyncio.get_running_loop().time()
        for session in list(self.house.clients.values()):
            silence = now - session.heard
            is_silent = session.keepalive and not session.is_busy and silence > 1.5 * session.keepalive
            if session.outbox.is_too_slow(now) or is_silent:
                session.drop()

    async def _close(self) -> None:
        self._listener.close()
        tasks = list(self._tasks)
        for task, one in list(self._tasks.items()):
            if one.session is not None:
                one.session.drop()
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
