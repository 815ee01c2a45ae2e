"""The one thread that talks to the broker, with an event loop of its own, and comes back to it.

    any thread ── post ──► one queue ──► one writer ──► aiomqtt ──► broker
    listener ◄── heard ◄────────────────────────────── aiomqtt ◄──┘

On every connection it subscribes, waits until that is acknowledged, and says `up`; when the
connection ends it forgets what was queued, says `down`, and tries again, ever slower up to once
a second. Nothing queued survives a reconnect: its sender has to send it again.

aiomqtt is what `asyncio-mqtt` is called today. It runs here in the way its authors document, but
for two things: messages are taken from the queue's entrance (`put_nowait`), which saves a task for
each; and its iterator is kept waiting only to learn that the connection has ended.
"""

from __future__ import annotations

import asyncio
import logging
import math
import socket
import ssl
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, Final, NamedTuple, Protocol

from transports.broker import identifiers
from transports.broker.credentials import credentials
from transports.clock import Clock, Thread
from transports.mqtt_protocol.address import BROKER_TIMEOUT, Address

try:
    import aiomqtt
except ImportError as error:
    raise ImportError(
        "mqtt:// needs aiomqtt: pip install 'aiomqtt>=2.5,<3'. (It was called asyncio-mqtt; the last release under that "
        "name, of 2023, does not start with the paho-mqtt that pip installs today.)"
    ) from error

TICK = 0.25  # seconds between two looks at the time
KEEPALIVE = 4  # seconds; a broker drops who was silent for half as long again
FIRST_PAUSE, LONGEST_PAUSE = 0.05, 1.0  # seconds between tries to reach the broker
TRIES = 9  # that fail at first until nobody is taken to listen there: some five seconds
FLUSH = 2.0  # seconds without progress after which the last posts are given up
BATCH = 8  # frames handed to the client at once
_NO_DELAY = ((socket.IPPROTO_TCP, socket.TCP_NODELAY, 1),)
QUICK: Final[int | None] = getattr(socket, "TCP_QUICKACK", None)  # where the system is Linux

_logger = logging.getLogger("transports.mqtt")
_logger.addHandler(logging.NullHandler())
_logger.propagate = False  # a lost connection is ours to tell, once and in our words


def refusal(address: Address, reason: str) -> str:
    """The words of the error when the broker does not let us in."""
    return (
        f"the broker at {address.shown} does not let us in: {reason}. Set MINITORCH_DIST_KEY to the "
        "broker's, or write mqtt://user:password@host:port"
    )


class Publication(NamedTuple):
    """Something to be published."""

    topic: str
    payload: bytes | bytearray
    qos: int = 0
    retain: bool = False
    tag: Any = None  # the argument of `written`


class Listener(Protocol):
    """The listener to a connection. It is called in the connection's thread, and must not raise."""

    def heard(self, topic: str, payload: bytes) -> None: ...
    def written(self, tag: Any) -> None: ...
    def up(self) -> None: ...
    def down(self, reason: str) -> None: ...
    def refused(self, reason: str) -> None:
        """The broker does not let us in; there will be no other try."""

    def tick(self) -> None: ...


class Connection:
    """A client of the broker that is always there, or on its way back."""

    def __init__(
        self, place: Address, filters: list[tuple[str, int]], will: Publication | None, listener: Listener, clock: Clock
    ) -> None:
        self.address = place
        self._identifier, self.identifier = identifiers.draw()  # with a secret, and without
        self._filters, self._will = filters, will
        self._listener, self._clock = listener, clock
        self.is_up = self._was_up = False
        self._failed = 0  # tries in a row
        self._posts: deque[Publication] = deque()
        self._loop = asyncio.SelectorEventLoop()
        self._loop.set_exception_handler(self._log)
        self._helpers = ThreadPoolExecutor()  # for what blocks: names of hosts are looked up there
        self._loop.set_default_executor(self._helpers)
        self._something = asyncio.Event()
        self._closing = asyncio.Event()
        self._is_woken = False
        self._published = 0
        self._thread: Thread | None = None

    def start(self) -> None:
        self._thread = self._clock.start(self._run, f"mqtt {self.identifier}")

    def is_vain(self) -> bool:
        """Whether nobody seems to listen there, and the address does not say how long to wait for a broker."""
        return not self._was_up and self._failed >= TRIES and self.address.broker_timeout == BROKER_TIMEOUT

    def why_vain(self) -> str:
        """The next step, for an error."""
        return (
            f"Does a broker listen there? Start one (mosquitto -p {self.address.port}); or write mqtt:// alone, and rank 0 "
            "starts one for the ranks of this host; or add ?broker_timeout=60 to the address, where it begins later"
        )

    def post(self, post: Publication) -> bool:
        """Publish, after all that was posted before; False if the broker is away."""
        if not self.is_up:
            return False
        self._posts.append(post)
        if not self._is_woken:
            self._is_woken = True
            self.call(self._something.set)
        return True

    def call(self, act: Any, *arguments: Any) -> None:
        """Run `act` in the connection's thread."""
        with suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(act, *arguments)

    def close(self) -> None:
        """Publish what was posted, disconnect, and end the thread."""
        if self._thread is None:
            self._loop.close()
        else:
            self.call(self._closing.set)
            self.call(self._something.set)
            self._thread.join()

    # -- the thread -------------------------------------------------------------------------

    def _run(self) -> None:
        loop = self._loop
        asyncio.set_event_loop(loop)
        try:
            loop.run_until_complete(self._live())
            _end_tasks(loop)
            self._helpers.shutdown()  # the loop's own way needs one more thread, which may not be had
        finally:
            asyncio.set_event_loop(None)
            loop.close()

    async def _live(self) -> None:
        ticking = asyncio.ensure_future(self._tick())
        pause = FIRST_PAUSE
        while not self._closing.is_set():
            client, reason = self._client(), "the connection ended"
            try:
                async with client:
                    await self._subscribe(client)
                    pause = FIRST_PAUSE
                    await self._serve(client)
            except Exception as error:  # for any error, this connection is over, and we go on
                reason = f"{error}" or repr(error)
                if _is_final(error):
                    self._listener.refused(reason)
                    await self._closing.wait()
            finally:
                client.abandon()
            self.is_up = False
            self._failed += 1
            self._posts.clear()
            if not self._closing.is_set():
                self._listener.down(reason)
                with suppress(TimeoutError):
                    async with asyncio.timeout(pause):
                        await self._closing.wait()
                pause = min(2 * pause, LONGEST_PAUSE)
        ticking.cancel()

    def _client(self) -> _Client:
        heard = self._listener.heard

        class Entrance(asyncio.Queue[aiomqtt.Message]):
            def put_nowait(self, item: aiomqtt.Message) -> None:
                client.acknowledge()
                payload = item.payload
                heard(item.topic.value, payload if isinstance(payload, bytes) else b"")

        place, will = self.address, self._will
        username, password = place.username, place.password
        if username is None:
            username, password = credentials()
        client = _Client(
            place.host,
            place.port,
            username=username,
            password=password,
            identifier=self._identifier,
            queue_type=Entrance,
            clean_session=True,
            keepalive=KEEPALIVE,
            timeout=5,
            logger=_logger,
            socket_options=_NO_DELAY,
            tls_context=place.tls_context(),
            will=will and aiomqtt.Will(will.topic, bytes(will.payload), will.qos, will.retain),
        )
        client.pending_calls_threshold = 10 * BATCH
        return client

    async def _subscribe(self, client: aiomqtt.Client) -> None:
        granted = await client.subscribe(self._filters)
        for (name, _), code in zip(self._filters, granted, strict=True):
            value = getattr(code, "value", code)
            if isinstance(value, int) and value >= 128:
                raise aiomqtt.MqttError(f"the broker does not let us subscribe to {name}")

    async def _serve(self, client: aiomqtt.Client) -> None:
        """Until the connection ends, or we are closed and all is published."""
        self._posts.clear()
        self.is_up = self._was_up = True
        self._listener.up()
        parts = (self._write(client), self._watch(client), self._overdue())
        tasks = [asyncio.ensure_future(part) for part in parts]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            ends = await asyncio.gather(*tasks, return_exceptions=True)
        for end in ends:
            if isinstance(end, Exception):
                raise end

    async def _write(self, client: aiomqtt.Client) -> None:
        while self._posts or not self._closing.is_set():
            self._is_woken = False
            self._something.clear()
            if not self._posts and not self._closing.is_set():
                await self._something.wait()
            await self._publish_all(client)
        # If a socket is closed with data it has not read, the connection is reset. Then the broker throws away
        # all that it has not read itself: our goodbye, too, and it would publish our will. So let nothing more come.
        await client.unsubscribe([name for name, _ in self._filters])

    async def _overdue(self) -> None:
        """Return when we are closed, and the broker takes nothing more of what was posted."""
        await self._closing.wait()
        before = -1
        while before != self._published:
            before = self._published
            await asyncio.sleep(FLUSH)

    async def _publish_all(self, client: aiomqtt.Client) -> None:
        posts = self._posts
        while posts:
            batch = [posts.popleft() for _ in range(min(BATCH, len(posts)))]
            if len(batch) == 1:
                await _publish(client, batch[0])
            else:  # tasks begin in order, so the client queues them in order
                await asyncio.gather(*(_publish(client, post) for post in batch))
            self._published += len(batch)
            for post in batch:
                if post.tag is not None:
                    self._listener.written(post.tag)

    async def _watch(self, client: aiomqtt.Client) -> None:
        """Nothing comes out of the iterator, since nothing goes in; but it raises at the end."""
        async for _ in client.messages:
            pass

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(TICK)
            try:
                self._listener.tick()
            except Exception as error:  # nobody would notice the dead any more: better say so
                self._listener.refused(f"a bug in the mqtt transport: {error!r}")
                raise

    def _log(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Log an error inside the client, mostly while a connection broke: `_watch` tells."""
        _logger.debug("%s", context.get("message"), exc_info=context.get("exception"))


class _Client(aiomqtt.Client):
    """aiomqtt's client. All code that reaches below its surface stands here."""

    def _on_disconnect(self, *arguments: Any, **named: Any) -> None:
        """It would wait for its whole timeout where a broker hangs up before it has answered."""
        if self._connected.done():
            super()._on_disconnect(*arguments, **named)
        else:
            self._connected.set_exception(aiomqtt.MqttError("it hung up before it answered"))

    def acknowledge(self) -> None:
        """Let the kernel say at once that it has what came. Mosquitto holds a small message back until the one
        before it is acknowledged, unless its `set_tcp_nodelay` is true. By itself the kernel takes 40 ms
        for that.
        """
        connected = self._client.socket()
        if QUICK is not None and isinstance(connected, socket.socket):
            connected.setsockopt(socket.IPPROTO_TCP, QUICK, 1)

    def abandon(self) -> None:
        """Close the socket, if the way out failed, or never began because no answer came."""
        self._client._sock_close()


async def _publish(client: aiomqtt.Client, post: Publication) -> None:
    await client.publish(post.topic, post.payload, post.qos, post.retain, timeout=math.inf)


def _is_final(error: Exception) -> bool:
    """Wrong password, another version, another's certificate: trying again would not help."""
    if isinstance(error.__context__, ssl.SSLCertVerificationError):
        return True
    code = getattr(error, "rc", None)  # an int is an error of the client, not the broker's word
    return not isinstance(code, int) and getattr(code, "value", 0) in (132, 133, 134, 135)


def _end_tasks(loop: asyncio.AbstractEventLoop) -> None:
    tasks = asyncio.all_tasks(loop)
    for task in tasks:
        task.cancel()
    loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
