"""A store for processes of any host: the master's process serves it, all are its clients.

PyTorch's `TCPStore`. A handle keeps one connection to the server. It has more only while several threads
use it at once, so that a thread which waits for a key holds up no other.
"""

from __future__ import annotations

import socket
import weakref
from collections.abc import Sequence
from datetime import timedelta
from functools import partial

from transports import job
from transports.clock import SYSTEM, Clock, Deadline
from transports.errors import DistNetworkError, DistStoreError, StoreTimeout
from transports.frames import LENGTH, FrameError
from transports.job import JobCard
from transports.keys import job_key
from transports.sockets import endpoints
from transports.sockets.auth_listener import ADVICE, ask_whose, dial, dial_once
from transports.sockets.handshake import Claim
from transports.sockets.liveness import Unheard, patiently
from transports.stores import protocol
from transports.stores.protocol import StoreRequest
from transports.stores.server import JOINED, KEY, StoreServer
from transports.stores.store import TIMEOUT, Store

REACH = 10.0  # seconds for one more connection to a server that was there a moment ago
KNOCK = 1.0  # seconds to ask who holds a port
GRACE = 30.0  # seconds beyond a timeout, after which the server itself counts as silent
ALL = "init/all"  # a queue, which `num_keys` does not count: something stands in it when all have joined
LOOPBACK = ("localhost", "127.0.0.1", "::1")
_shared: dict[int, StoreServer] = {}  # of multi-tenant stores, by port


class TCPStore(Store):
    """A key-value store over TCP: one process serves, and all others connect to it.

    A master whose host is this one's loopback listens there only.

    Args:
        host_name: The address of the master.
        port: Its port; 0 takes any, see `.port`.
        world_size: How many clients come, the master included.
        is_master: Serve on the port, besides being a client.
        timeout: The time limit of each request, in seconds or as a timedelta.
        wait_for_workers: The master returns when `world_size` clients have joined.
        multi_tenant: Masters of one process and one port share a server.
        use_libuv: Accepted as in torch; it changes nothing.
        clock: The clock that waits.
        of: The job that the store belongs to; members of another job are refused (see `transports.job`).

    Raises:
        OtherJob: The server belongs to another job.

    Example:
        >>> store = dist.TCPStore("127.0.0.1", 0, is_master=True)
        >>> store.set("a", "1")
        >>> store.get("a")
        b'1'
        >>> store.close()
    """

    def __init__(
        self,
        host_name: str,
        port: int,
        world_size: int | None = None,
        is_master: bool = False,
        timeout: float | timedelta = TIMEOUT,
        wait_for_workers: bool = True,
        multi_tenant: bool = False,
        use_libuv: bool = True,
        clock: Clock = SYSTEM,
        of: JobCard | None = None,
    ) -> None:
        super().__init__(timeout)
        self._job = job.here() if of is None else of
        self.host, self.port, self.world_size = host_name, port, world_size
        self._clock = clock
        self._guard = clock.condition()
        self._idle: list[socket.socket] = []
        self._is_closed = False
        self._lost: DistNetworkError | None = None  # why the server cannot be reached any more
        self._server: StoreServer | None = None
        if is_master:
            self._server = self._serve(multi_tenant)
            self.port = self._server.port
        self._finalizer = weakref.finalize(self, _release, self._server, self._idle)
        try:
            deadline = self._clock.deadline(self._seconds)
            self._idle.append(dial(*self._there, self._clock, deadline, self._job))
            self._join(is_master, wait_for_workers)
        except BaseException:
            self.close()
            raise

    def _serve(self, multi_tenant: bool) -> StoreServer:
        server = _shared.get(self.port) if multi_tenant else None
        if server is None:
            server = StoreServer(self._listen(), self.world_size, self._clock, self._job)
            if multi_tenant:
                _shared[server.port] = server
        server.users += 1
        return server

    def _listen(self) -> socket.socket:
        """The master's port. Where a job of ours holds it, the error says which."""
        host = self.host if self.host in LOOPBACK else ""
        try:
            return endpoints.listen(host, self.port)
        except DistNetworkError as error:
            deadline = self._clock.deadline(KNOCK)
            near = host or "127.0.0.1"
            holder = ask_whose(near, self.port, job_key(KEY), deadline, self._job)
            if holder is None:  # a stranger, or one that has left just now
                return endpoints.listen(host, self.port)
            is_ours, text = holder
            if not is_ours:
                where = endpoints.shown(self.host, self.port)
                raise self._job.refusal(where, text, ADVICE) from error
            raise DistNetworkError(
                f"{error}. The keeper of this store is here already: {text}. This is {self._job}"
            ) from error

    def serve(self, also: JobCard) -> None:
        """As the master, let members of this job in, too."""
        if self._server is not None:
            self._server.serve(also)

    @property
    def _there(self) -> tuple[str, int, bytes, Claim]:
        host = self.host if self._server is None else self._server.near_host
        return host, self.port, job_key(KEY), Claim(0, 0)

    def _join(self, is_master: bool, wait_for_workers: bool) -> None:
        if self.world_size is None:
            return
        joined = self.add(JOINED, 1)
        if joined == self.world_size:
            self.queue_push(ALL, b"")
        if is_master and wait_for_workers:
            try:
                self.wait([ALL])
            except StoreTimeout as late:
                joined = self.add(JOINED, 0)
                raise DistStoreError(
                    f"Timed out after {late.seconds:g} seconds waiting for clients. "
                    f"{joined}/{self.world_size} clients joined. Were all ranks started with "
                    f"MASTER_ADDR={self.host} and MASTER_PORT={self.port}?"
                ) from late

    def command(self, operation: str, keys: Sequence[str], values: Sequence[bytes], timeout: float) -> list[bytes]:
        request = protocol.pack_request(StoreRequest(operation, list(keys), list(values), timeout))
        connection = self._take(operation)
        try:
            body = _answer(connection, request, self._clock.deadline(max(timeout, 0) + GRACE))
        except BaseException as error:
            connection.close()  # half an exchange is of no use to the next
            if isinstance(error, OSError | FrameError):
                self._lost = self._gone(operation, error)
                raise self._lost from error
            raise
        self._keep(connection)
        return protocol.unpack_answer(body, timeout)

    def _keep(self, connection: socket.socket) -> None:
        """For the next command."""
        with self._guard:
            if self._is_closed:
                connection.close()
            else:
                self._idle.append(connection)

    def _take(self, operation: str) -> socket.socket:
        with self._guard:
            if self._is_closed:
                raise DistStoreError(f"the store at {endpoints.shown(self.host, self.port)} was closed")
            if self._lost is None and self._idle:
                return self._idle.pop()
        if self._lost is not None:  # another master at that place would have none of its values
            raise DistNetworkError(str(self._lost)) from self._lost
        try:  # all connections are in use by other threads; and it was there, so a refusal is its end
            deadline = self._clock.deadline(min(REACH, self._seconds))
            return dial_once(*self._there, deadline, self._job)
        except OSError as error:
            self._lost = self._gone(operation, error, REACH)
            raise self._lost from error

    def _gone(self, operation: str, error: Exception, limit: float = GRACE) -> DistNetworkError:
        where = endpoints.shown(self.host, self.port)
        if isinstance(error, Unheard):
            return DistNetworkError(f"the store at {where} did not answer {operation!r}: {error}")
        if isinstance(error, TimeoutError):
            return DistNetworkError(
                f"the store at {where} did not answer {operation!r} within {limit:g} s"
                f"{' of its timeout' * (limit == GRACE)}: its process is stopped or overloaded"
            )
        how = "the master's process has ended, or closed it. Look at the first error of rank 0"
        return DistNetworkError(f"the store at {where} is gone ({error}): {how}")

    def close(self) -> None:
        """Leave; the master's server ends, and a client that still asks it is told so."""
        with self._guard:
            self._is_closed = True
        self._finalizer()


def _release(server: StoreServer | None, idle: list[socket.socket]) -> None:
    while idle:
        idle.pop().close()
    if server is not None:
        server.users -= 1
        if not server.users:
            if _shared.get(server.port) is server:
                del _shared[server.port]
            server.close()


def _answer(connection: socket.socket, request: bytes, deadline: Deadline) -> bytearray:
    """Say `request`; the payload of the next frame."""
    rest, heard = memoryview(request), bytearray()
    while rest:
        rest = rest[patiently(connection, deadline, partial(connection.send, rest)) :]
    while (length := protocol.frame_length(heard)) is None or len(heard) < length:
        data = patiently(connection, deadline, partial(connection.recv, 1 << 16))
        if not data:
            raise ConnectionResetError("the connection ended")
        heard += data
    del heard[:LENGTH]
    return heard
