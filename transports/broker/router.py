"""Takes each message to those who subscribed, and keeps the retained ones for those who will.

Payloads are not copied for a reader, however many there are. To find retained messages for wildcards may take many
steps. All who subscribe share a number of these in a second, and messages go on meanwhile.
"""

from __future__ import annotations

import asyncio

from transports.broker import packets, topics
from transports.broker.outbox import Outbox
from transports.broker.packets import PublishedMessage
from transports.broker.retained import Retained

LOOKS = 256  # steps in search of retained messages in a row
PAUSE = 0.001  # seconds until the next ones
IN_A_ROW = 64  # readers of a message, until other messages have their turn


class Router:
    """Subscriptions and retained messages."""

    def __init__(self) -> None:
        self.subscriptions: topics.Subscriptions[Outbox] = topics.Subscriptions()
        self.retained = Retained()
        self._looks = 0
        self._pause = asyncio.Lock()  # subscribers wait here for their turn to look on

    async def publish(self, message: PublishedMessage, sender: object = None) -> None:
        """Return when everybody who gets it has room for more."""
        if message.retain:
            self.retained.keep(message)
        numbered, plain = message._replace(retain=False), message._replace(qos=0, retain=False)
        pieces = packets.publish_pieces(plain)
        readers = list(self.subscriptions.readers(message.topic).items())
        for count, (reader, granted) in enumerate(readers, 1):
            if message.qos and granted:
                reader.say(sender, *packets.publish_pieces(numbered, reader.next_number()))
            else:
                reader.say(sender, *pieces)
            await reader.room(sender)
            if count % IN_A_ROW == 0:
                await asyncio.sleep(0)

    async def subscribe(self, reader: Outbox, name: str, qos: int) -> None:
        """Subscribe from now on. Retained messages come at once [MQTT-3.3.1-6]."""
        self.subscriptions.add(reader, name, qos)
        for message in self.retained.find(name):
            if message is not None:
                best = min(qos, message.qos)
                number = reader.next_number() if best else 0
                reader.say(None, *packets.publish_pieces(message._replace(qos=best), number))
                await reader.room(None)
            self._looks += 1
            if self._looks % LOOKS == 0:
                async with self._pause:
                    await asyncio.sleep(PAUSE)
