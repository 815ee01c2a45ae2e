"""One client of the broker, from its connection to its end.

    connection ── CONNECT in time, with the password? ──► client ── DISCONNECT ──► gone
         │ no: closed, nothing changed                      │ anything else: its will is sent

The next packet is read only when all readers of the last one have room for more. So a slow reader slows its
senders, and the broker's memory stays bounded. A reader that takes next to nothing is dropped after a while
(`outbox`), so that it cannot stop the others for ever. And a client that says much at once gives the others their turn
after a few of its packets.

Sessions end with their connection: a client that asks for more (`clean session` 0) is told that
there was no earlier session, and starts anew.

Of two clients with one identifier the newer one stays, unless the older one has proved more. Only the owner pushes out
the owner. A client whose identifier holds a secret (`identifiers`) is pushed out by one with the same secret.
"""

from __future__ import annotations

import asyncio
import hmac
import os
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count

from transports.broker import identifiers, packets, topics
from transports.broker.credentials import OWNER
from transports.broker.outbox import Outbox
from transports.broker.packets import MAX_FILTERS, Connect, Malformed, PublishedMessage
from transports.broker.router import Router
from transports.broker.rules import AccessRules

GREETING = 1 << 14  # bytes that a connection may send before it has shown the password
IN_A_ROW = 16  # packets of one client, until the others have their turn


@dataclass
class House:
    """The things that all sessions of a broker share."""

    username: str
    password: bytes
    owner_password: bytes = b""  # of the one client that the rules do not bind; empty: there is none
    is_open: bool = False  # to clients without a password
    rules: AccessRules = field(default_factory=AccessRules)
    router: Router = field(default_factory=Router)
    clients: dict[str, Session] = field(default_factory=dict)
    max_packet: int = 16 << 20  # bytes
    max_clients: int = 1024
    max_buffer: int = 64 << 20  # bytes that may wait for one reader
    greeting_seconds: float = 5.0


class Session:
    """A connection, and once it has shown the password, a client."""

    def __init__(self, house: House, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.house, self._reader, self._writer = house, reader, writer
        self._transport = writer.transport
        self.outbox = Outbox(writer, house.max_buffer)
        self._clock = asyncio.get_running_loop().time
        self.identifier = ""
        self.keepalive = 0.0  # seconds of silence that the client allowed itself
        self.heard = self._clock()
        self.is_client = self.is_owner = False
        self.is_proved = False  # nobody else can come with its identifier
        self.is_polite = False  # it said DISCONNECT
        self.is_busy = False  # with its last packet; then its silence is ours
        self._will: PublishedMessage | None = None
        self._filters: set[str] = set()

    async def run(self) -> None:
        """Serve the connection until it ends, in whatever way."""
        try:
            async with asyncio.timeout(self.house.greeting_seconds):
                await self._greet()
            for number in count(1):
                if not self.is_client or self.is_polite:
                    break
                if number % IN_A_ROW == 0:
                    await asyncio.sleep(0)
                packet = await self._read(self.house.max_packet)
                self.is_busy = True
                await self._handle(*packet)
                self.is_busy, self.heard = False, self._clock()
        except (Malformed, OSError, EOFError, TimeoutError):
            pass  # only this connection ends
        finally:
            await self._leave()

    # -- the beginning ----------------------------------------------------------------------

    async def _greet(self) -> None:
        first, body = await self._read(GREETING)
        try:
            packet = packets.decode(first, body)
        except packets.WrongVersion:
            return self.send(packets.connack(packets.WRONG_VERSION))
        if not isinstance(packet, Connect):
            raise Malformed("the first packet is not a CONNECT")
        name, self.is_proved = identifiers.named(packet.identifier)
        self.identifier = name or f"unnamed-{os.urandom(8).hex()}"
        will, old = packet.will, self.house.clients.get(self.identifier)
        if not self._is_known(packet) or (will is not None and not self._may_say(will.topic)):
            return self.send(packets.connack(packets.BAD_PASSWORD))
        is_nameless = not packet.identifier and not packet.is_clean  # [MQTT-3.1.3-8]
        if is_nameless or (old is not None and old.standing() > self.standing()):
            return self.send(packets.connack(packets.BAD_IDENTIFIER))
        if len(self.house.clients) < self.house.max_clients or self.is_owner:
            self._enter(packet, old)

    def _is_known(self, packet: Connect) -> bool:
        house, name = self.house, (packet.username or "").encode()
        if house.is_open:
            return True
        wanted = house.password
        if house.owner_password and hmac.compare_digest(name, OWNER.encode()):
            wanted, self.is_owner = house.owner_password, True
        else:
            wanted = wanted if hmac.compare_digest(name, house.username.encode()) else b""
        return bool(wanted) and hmac.compare_digest(packet.password or b"", wanted)

    def _may_say(self, topic: str) -> bool:
        return self.house.rules.may_say(topic, self.is_owner)

    def standing(self) -> tuple[bool, bool]:
        """The newer of two clients with one identifier pushes out the older, unless that has proved more."""
        return self.is_owner, self.is_proved

    def _enter(self, packet: Connect, old: Session | None) -> None:
        self.keepalive, self._will = float(packet.keepalive), packet.will
        if old is not None:  # [MQTT-3.1.4-2]
            old.drop()
        self.house.clients[self.identifier] = self
        self.is_client = True
        self.send(packets.connack(packets.ACCEPTED))

    # -- what a client says -----------------------------------------------------------------

    async def _read(self, cap: int) -> tuple[int, bytes]:
        """The next packet's first byte and body."""
        read = self._reader.readexactly
        first = (await read(1))[0]
        length = shift = 0
        while True:
            byte = (await read(1))[0]
            length |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                break
            if shift > 21:  # [MQTT-2.2.3]
                raise Malformed("a packet's length takes more than four bytes")
        if length > cap:
            raise Malformed(f"a packet of {length} bytes; at most {cap} are taken here")
        return first, await read(length)

    async def _handle(self, first: int, body: bytes) -> None:
        packet = packets.decode(first, body)
        if isinstance(packet, packets.Publish):
            if not self._may_say(packet.message.topic):
                raise Malformed(f"only the owner may say {packet.message.topic[:80]}")
            await self.house.router.publish(packet.message, self)
            if packet.number:
                self.send(packets.puback(packet.number))
        elif isinstance(packet, packets.Subscribe):
            await self._subscribe(packet)
        elif isinstance(packet, packets.Unsubscribe):
            for name in self._filters.intersection(packet.filters):
                self._forget(name)
            self.send(packets.unsuback(packet.number))
        elif isinstance(packet, packets.Ping):
            self.send(packets.PONG)
        elif isinstance(packet, packets.Disconnect):
            self.is_polite = True
        elif isinstance(packet, Connect):  # [MQTT-3.1.0-2]
            raise Malformed("a second CONNECT")
        await self.outbox.room(None)

    async def _subscribe(self, packet: packets.Subscribe) -> None:
        granted = []
        for name, qos in packet.filters:
            is_full = len(self._filters) >= MAX_FILTERS and name not in self._filters
            may = self.house.rules.may_hear(name, self.is_owner)
            is_fine = topics.is_filter(name) and may and not is_full
            granted.append(min(qos, 1) if is_fine else packets.REFUSED)
        self.send(packets.suback(packet.number, granted))
        for (name, _), best in zip(packet.filters, granted, strict=True):
            if best != packets.REFUSED:
                self._filters.add(name)
                await self.house.router.subscribe(self.outbox, name, best)

    # -- what a client is told --------------------------------------------------------------

    def send(self, packet: bytes) -> None:
        self.outbox.say(None, packet)

    # -- the end ----------------------------------------------------------------------------

    def drop(self) -> None:
        """End the connection from our side."""
        self._transport.abort()
        self.outbox.forget()

    def _forget(self, name: str) -> None:
        self._filters.discard(name)
        self.house.router.subscriptions.remove(self.outbox, name)

    async def _leave(self) -> None:
        for name in list(self._filters):
            self._forget(name)
        if self.house.clients.get(self.identifier) is self:
            del self.house.clients[self.identifier]
        self._writer.close()
        with suppress(OSError, TimeoutError):
            async with asyncio.timeout(1):
                await self._writer.wait_closed()
        self._transport.abort()
        self.outbox.forget()
        if self._will is not None and not self.is_polite:
            await self.house.router.publish(self._will, self)
