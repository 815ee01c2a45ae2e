"""The broker: accepts connections, gives each a session, and sees that silent clients leave.

A stranger gets nothing: who has not shown the password within seconds is closed, and when many
such wait at once the oldest is closed, so that they cannot keep the clients out.
"""

from __future__ import annotations

import asyncio
import ssl
from contextlib import suppress

from transports.broker.session import House, Session

MAX_STRANGERS = 64  # connections that have not shown the password yet
LOOK = 0.25  # seconds between two looks at who is silent
RETURN = 30.0  # seconds in which a client that was cut off may come back to a released broker
HOP = 2.0  # the same on loopback, where no network cuts off: whoever is gone has ended


class Server:
    """A broker in the running event loop."""

    def __init__(self, house: House) -> None:
        self.house = house
        self.host, self.port = "", 0
        self._server: asyncio.Server | None = None
        self._tasks: dict[asyncio.Task[None], Session] = {}
        self._finished = asyncio.Event()
        self._is_released = False

    async def start(
        self, host: str = "127.0.0.1", port: int = 0, tls: ssl.SSLContext | None = None
    ) -> None:
        """Listen; port 0 picks a free one."""
        self._server = await asyncio.start_server(
            self._accept, host, port, ssl=tls, limit=1 << 20, backlog=256
        )
        self.host, self.port = self._server.sockets[0].getsockname()[:2]

    async def run(self) -> None:
        """Serve until `stop`, or, once released, until the last client has left."""
        try:
            while not self._finished.is_set():
                self._look()
                with suppress(TimeoutError):
                    async with asyncio.timeout(LOOK):
                        await self._finished.wait()
        finally:
            await self._close()

    def stop(self) -> None:
        self._finished.set()

    def release(self) -> None:
        """Nobody looks after this broker any more: it ends with its last client."""
        self._is_released = True
        if not self.house.clients:
            self.stop()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        session = Session(self.house, reader, writer)
        task = asyncio.current_task()
        assert task is not None, "asyncio runs this in a task of its own"
        self._tasks[task] = session
        strangers = [one for one in self._tasks.values() if not one.is_client]
        if len(strangers) > MAX_STRANGERS:
            strangers[0].drop("too many connections without a password")
        try:
            await session.run()
        except asyncio.CancelledError:
            pass  # we are closing
        finally:
            del self._tasks[task]
        if session.is_client and self._is_released and not self.house.clients:
            if session.is_polite:
                self.stop()
            else:
                patience = HOP if self.host in ("127.0.0.1", "::1") else RETURN
                asyncio.get_running_loop().call_later(patience, self._stop_if_empty)

    def _stop_if_empty(self) -> None:
        if not self.house.clients:
            self.stop()

    def _look(self) -> None:
        """Drop who was silent for longer than it may [MQTT-3.1.2-24]."""
        now = asyncio.get_running_loop().time()
        for session in list(self.house.clients.values()):
            silence = now - session.heard
            if session.keepalive and not session.is_busy and silence > 1.5 * session.keepalive:
                session.drop(f"silent for {silence:.1f} s")

    async def _close(self) -> None:
        if self._server is not None:
            self._server.close()
        tasks = list(self._tasks)
        for task, session in list(self._tasks.items()):
            session.drop("the broker ends")
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._server is not None:
            await self._server.wait_closed()

    def __repr__(self) -> str:
        strangers = len(self._tasks) - len(self.house.clients)
        return (
            f"<Server at {self.host}:{self.port}, {len(self.house.clients)} clients, "
            f"{strangers} strangers, {self.house.router!r}>"
        )
