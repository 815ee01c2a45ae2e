"""Takes each message to those who subscribed, and keeps the retained ones for those who will.

Retained messages are bounded in number and in bytes. A message that does not fit is delivered, but not
kept.
"""

from __future__ import annotations

from typing import Protocol

from transports.broker import packets, topics
from transports.broker.packets import PublishedMessage

MAX_RETAINED = 10_000
MAX_RETAINED_BYTES = 64 << 20


class Subscriber(Protocol):
    """A client, as far as the router sees it."""

    def send(self, packet: bytes) -> None: ...
    async def room(self) -> None:
        """Return when the client has taken enough of what was sent, or is gone."""

    def next_number(self) -> int: ...


class Router:
    """Subscriptions and retained messages."""

    def __init__(self) -> None:
        self.subscriptions: topics.Subscriptions[Subscriber] = topics.Subscriptions()
        self._retained: dict[str, PublishedMessage] = {}
        self._retained_bytes = 0

    async def publish(self, message: PublishedMessage) -> None:
        """Return when everybody who gets it has room for more."""
        if message.retain:
            self._keep(message)
        plain = b""
        for reader, granted in list(self.subscriptions.readers(message.topic).items()):
            if message.qos and granted:
                numbered = message._replace(retain=False)
                reader.send(packets.publish(numbered, reader.next_number()))
            else:
                plain = plain or packets.publish(message._replace(qos=0, retain=False))
                reader.send(plain)
            await reader.room()

    async def subscribe(self, reader: Subscriber, name: str, qos: int) -> None:
        """Subscribe from now on. Retained messages come at once [MQTT-3.3.1-6]."""
        self.subscriptions.add(reader, name, qos)
        for topic, message in list(self._retained.items()):
            if topics.matches(name, topic):
                best = min(qos, message.qos)
                number = reader.next_number() if best else 0
                reader.send(packets.publish(message._replace(qos=best), number))
                await reader.room()

    def _keep(self, message: PublishedMessage) -> None:
        old = self._retained.pop(message.topic, None)
        if old is not None:
            self._retained_bytes -= _size(old)
        is_room = (
            len(self._retained) < MAX_RETAINED
            and self._retained_bytes + _size(message) <= MAX_RETAINED_BYTES
        )
        if message.payload and is_room:  # an empty one only clears [MQTT-3.3.1-10]
            self._retained[message.topic] = message
            self._retained_bytes += _size(message)

    def __repr__(self) -> str:
        return (
            f"<Router of {len(self.subscriptions)} subscriptions, {len(self._retained)} retained>"
        )


def _size(message: PublishedMessage) -> int:
    return len(message.topic) + len(message.payload)
