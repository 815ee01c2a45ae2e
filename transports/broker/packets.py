"""MQTT 3.1.1 packets as bytes and back: pure functions, no sockets.

    first byte          remaining length         body
    ┌──────┬───────┐    ┌─────────────────┐      ┌──────────────────────────────┐
    │ kind │ flags │    │ 1–4 bytes, 7 bit│      │ numbers, texts, the payload  │
    └──────┴───────┘    └─────────────────┘      └──────────────────────────────┘

Numbers are big-endian; a text is its length in two bytes, then UTF-8. `decode` reads what clients
send, and says `Malformed` to everything else. Source: OASIS, *MQTT Version 3.1.1*, 2014, chapters
2 and 3; [MQTT-…] in a comment is the number of the rule there.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias, TypeVar

CONNECT, CONNACK, PUBLISH, PUBACK = 1, 2, 3, 4
SUBSCRIBE, SUBACK, UNSUBSCRIBE, UNSUBACK, PINGREQ, PINGRESP, DISCONNECT = 8, 9, 10, 11, 12, 13, 14

ACCEPTED, WRONG_VERSION, BAD_IDENTIFIER, BAD_PASSWORD = 0, 1, 2, 4  # in CONNACK
REFUSED = 0x80  # in SUBACK
SHORT = 4096  # bytes of a payload
MAX_FILTERS = 1000  # subscriptions of one client, and of one packet

Taken = TypeVar("Taken")
_NUMBER = struct.Struct(">H")


class Malformed(Exception):
    """These bytes are not what a client may send. The connection ends."""


class WrongVersion(Malformed):
    """A CONNECT of another version of MQTT."""


class PublishedMessage(NamedTuple):
    """A message that a client publishes."""

    topic: str
    payload: bytes
    qos: int = 0
    retain: bool = False


class Connect(NamedTuple):
    identifier: str
    is_clean: bool
    keepalive: int
    will: PublishedMessage | None
    username: str | None
    password: bytes | None


class Publish(NamedTuple):
    message: PublishedMessage
    number: int  # 0 with QoS 0


class Acknowledge(NamedTuple):
    number: int


class Subscribe(NamedTuple):
    number: int
    filters: list[tuple[str, int]]


class Unsubscribe(NamedTuple):
    number: int
    filters: list[str]


class Ping(NamedTuple):
    pass


class Disconnect(NamedTuple):
    pass


Packet: TypeAlias = "Connect | Publish | Acknowledge | Subscribe | Unsubscribe | Ping | Disconnect"


# -- reading --------------------------------------------------------------------------------


class _Body:
    """Takes a packet's body apart from the front."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def take(self, nbytes: int) -> bytes:
        end = self.at + nbytes
        if end > len(self.data):
            raise Malformed(f"{nbytes} bytes are announced at {self.at} of {len(self.data)}")
        piece = self.data[self.at : end]
        self.at = end
        return piece

    def byte(self) -> int:
        return self.take(1)[0]

    def number(self) -> int:
        return int(_NUMBER.unpack(self.take(2))[0])

    def binary(self) -> bytes:
        return self.take(self.number())

    def text(self) -> str:
        try:
            found = self.binary().decode()  # refuses surrogates, as it must [MQTT-1.5.3-1]
        except UnicodeDecodeError as error:
            raise Malformed(f"a text is not UTF-8: {error}") from None
        if "\0" in found:  # [MQTT-1.5.3-2]
            raise Malformed("a text holds a NUL")
        return found

    def packet_number(self) -> int:
        number = self.number()
        if number == 0:  # [MQTT-2.3.1-1]
            raise Malformed("0 is no packet number")
        return number

    def is_over(self) -> bool:
        return self.at == len(self.data)


def decode(first: int, data: bytes) -> Packet:
    """The packet with this first byte and body; Malformed if a client may not send it."""
    kind, flags = first >> 4, first & 15
    if kind == PUBLISH:
        return _publish(flags, _Body(data))
    expected = 2 if kind in (SUBSCRIBE, UNSUBSCRIBE) else 0
    if flags != expected:  # [MQTT-2.2.2-2]
        raise Malformed(f"packet kind {kind} has flags {flags}, not {expected}")
    if kind not in _READERS:
        raise Malformed(f"a client may not send packet kind {kind}")
    body = _Body(data)
    packet = _READERS[kind](body)
    if not body.is_over():
        raise Malformed(f"{len(body.data) - body.at} bytes follow the packet's end")
    return packet


def _connect(body: _Body) -> Connect:
    name, level = body.text(), body.byte()
    if (name, level) != ("MQTT", 4):
        if name in ("MQTT", "MQIsdp"):
            raise WrongVersion(f"{name} level {level}; this broker speaks 3.1.1, which is level 4")
        raise Malformed(f"the protocol is {name[:40]!r}, not 'MQTT'")
    flags, keepalive = body.byte(), body.number()
    has_will, will_qos, will_retain = bool(flags & 4), flags >> 3 & 3, bool(flags & 32)
    has_name, has_password = bool(flags & 128), bool(flags & 64)
    if flags & 1 or (not has_will and (will_qos or will_retain)) or will_qos > 1:
        raise Malformed(f"the flags {flags:#04x} of CONNECT are not possible here")
    if has_password and not has_name:  # [MQTT-3.1.2-22]
        raise Malformed("a password without a user name")
    identifier = body.text()
    will = None
    if has_will:
        will = PublishedMessage(publishable(body.text()), body.binary(), will_qos, will_retain)
    username = body.text() if has_name else None
    password = body.binary() if has_password else None
    return Connect(identifier, bool(flags & 2), keepalive, will, username, password)


def _publish(flags: int, body: _Body) -> Publish:
    qos = flags >> 1 & 3
    if qos > 1:
        raise Malformed(f"QoS {qos}: this broker offers 0 and 1")
    if flags & 8 and not qos:  # [MQTT-3.3.1-2]
        raise Malformed("a repeated message of QoS 0")
    topic = publishable(body.text())
    number = body.packet_number() if qos else 0
    return Publish(PublishedMessage(topic, body.data[body.at :], qos, bool(flags & 1)), number)


def _subscribe(body: _Body) -> Subscribe:
    number, filters = body.packet_number(), _filters(body, lambda: (body.text(), body.byte()))
    for _, qos in filters:
        if qos > 2:  # [MQTT-3-8.3-4]
            raise Malformed(f"a subscription asks for QoS {qos}")
    return Subscribe(number, filters)


def _filters(body: _Body, take: Callable[[], Taken]) -> list[Taken]:
    """All that is left, of which there is at least one [MQTT-3.8.3-3], [MQTT-3.10.3-2]."""
    found = []
    while not body.is_over():
        found.append(take())
        if len(found) > MAX_FILTERS:
            raise Malformed(f"more than {MAX_FILTERS} filters in one packet")
    if not found:
        raise Malformed("a packet about filters without one")
    return found


_READERS: dict[int, Callable[[_Body], Packet]] = {
    CONNECT: _connect,
    PUBACK: lambda body: Acknowledge(body.packet_number()),
    SUBSCRIBE: _subscribe,
    UNSUBSCRIBE: lambda body: Unsubscribe(body.packet_number(), _filters(body, body.text)),
    PINGREQ: lambda body: Ping(),
    DISCONNECT: lambda body: Disconnect(),
}


def publishable(topic: str) -> str:
    if not topic or "+" in topic or "#" in topic:  # [MQTT-3.3.2-2], [MQTT-4.7.3-1]
        raise Malformed(f"nothing can be published to {topic[:80]!r}")
    return topic


# -- writing --------------------------------------------------------------------------------


def packet(first: int, *parts: bytes) -> bytes:
    """A packet of this first byte and body."""
    return b"".join((head(first, sum(map(len, parts))), *parts))


def head(first: int, nbytes: int) -> bytes:
    """The beginning of a packet whose body has so many bytes."""
    found = bytearray((first,))
    while True:
        nbytes, low = nbytes >> 7, nbytes & 127
        found.append(low | (128 if nbytes else 0))
        if not nbytes:
            return bytes(found)


def connack(code: int) -> bytes:
    return packet(CONNACK << 4, bytes((0, code)))


def publish_pieces(message: PublishedMessage, number: int = 0) -> tuple[bytes, ...]:
    """`number` is needed with QoS 1. A long payload is a piece of its own, which is not copied."""
    topic = message.topic.encode()
    start = _NUMBER.pack(len(topic)) + topic + (_NUMBER.pack(number) if message.qos else b"")
    first = PUBLISH << 4 | message.qos << 1 | message.retain
    start = head(first, len(start) + len(message.payload)) + start
    if len(message.payload) <= SHORT:
        return (start + message.payload,)
    return start, message.payload


def puback(number: int) -> bytes:
    return packet(PUBACK << 4, _NUMBER.pack(number))


def suback(number: int, granted: Sequence[int]) -> bytes:
    return packet(SUBACK << 4, _NUMBER.pack(number), bytes(granted))


def unsuback(number: int) -> bytes:
    return packet(UNSUBACK << 4, _NUMBER.pack(number))


PONG = packet(PINGRESP << 4)
