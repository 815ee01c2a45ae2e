"""The retained messages of a broker, by topic.

They are bounded in number and in bytes. A message that does not fit is delivered, but not kept. For a subscription with
wildcards `find` looks at one after the other, and yields at each, so that others can have their turn.
"""

from __future__ import annotations

from collections.abc import Iterator

from transports.broker.packets import PublishedMessage
from transports.broker.topics import takes_in

MOST = 10_000
MOST_BYTES = 64 << 20


class Retained:
    """At most one message for each topic."""

    def __init__(self) -> None:
        self._messages: dict[str, PublishedMessage] = {}
        self._nbytes = 0

    def keep(self, message: PublishedMessage) -> None:
        """In place of an older one of its topic; an empty one only clears [MQTT-3.3.1-10]."""
        old = self._messages.pop(message.topic, None)
        self._nbytes -= 0 if old is None else _size(old)
        size = _size(message)
        if message.payload and len(self._messages) < MOST and self._nbytes + size <= MOST_BYTES:
            self._messages[message.topic] = message
            self._nbytes += size

    def find(self, name: str) -> Iterator[PublishedMessage | None]:
        """The messages that the filter `name` takes in; None for each other one that was looked at."""
        if "+" not in name and "#" not in name:
            yield self._messages.get(name)
            return
        for topic in list(self._messages):
            yield self._messages.get(topic) if takes_in(name, topic) else None

    def __len__(self) -> int:
        return len(self._messages)


def _size(message: PublishedMessage) -> int:
    return len(message.topic) + len(message.payload)
