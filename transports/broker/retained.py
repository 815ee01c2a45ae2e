"""The retained messages of a broker, by topic and as a tree of their levels.

They are bounded in number and in bytes. A message that does not fit is delivered, but not kept.

A subscription with wildcards goes down the tree, so its cost is mostly what it finds. In vain it looks at no more than
the tree; and `find` yields at each node that it comes to, so that others can have their turn.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from transports.broker.packets import PublishedMessage
from transports.broker.topics import DEEPEST

MOST = 10_000
MOST_BYTES = 64 << 20


class Retained:
    """At most one message for each topic. A node is a dict: the next nodes by level, and under None the message."""

    def __init__(self) -> None:
        self._by_topic: dict[str, PublishedMessage] = {}
        self._root: dict[str | None, Any] = {}
        self._nbytes = 0

    def keep(self, message: PublishedMessage) -> None:
        """In place of an older one of its topic; an empty one only clears [MQTT-3.3.1-10]."""
        self._remove(message.topic)
        size = _size(message)
        if message.payload and len(self) < MOST and self._nbytes + size <= MOST_BYTES:
            self._by_topic[message.topic] = message
            self._nbytes += size
            node = self._root
            for level in _levels(message.topic):
                node = node.setdefault(level, {})
            node[None] = message

    def _remove(self, topic: str) -> None:
        old = self._by_topic.pop(topic, None)
        if old is None:
            return
        self._nbytes -= _size(old)
        way, node = [], self._root
        for level in _levels(topic):
            way.append((node, level))
            node = node[level]
        del node[None]
        for above, level in reversed(way):  # and each node that leads to nothing any more
            if above[level]:
                break
            del above[level]

    def is_kept(self, message: PublishedMessage) -> bool:
        return self._by_topic.get(message.topic) is message

    def find(self, name: str) -> Iterator[PublishedMessage | None]:
        """The messages that the filter `name` takes in; None for each other node on the way there."""
        nodes = [self._root]
        for place, level in enumerate(name.split("/")):
            if level == "#":
                yield from _below(nodes, is_top=place == 0)
                return
            following = []
            for node in nodes:
                if level == "+":
                    following += _next(node, is_top=place == 0)
                elif level in node:
                    following.append(node[level])
                yield None
            nodes = following
        for node in nodes:
            yield node.get(None)

    def __len__(self) -> int:
        return len(self._by_topic)


def _next(node: dict[str | None, Any], is_top: bool) -> list[dict[str | None, Any]]:
    """The nodes that a wildcard stands for: not those of the broker's own topics [MQTT-4.7.2-1]."""
    return [
        child for level, child in node.items() if level is not None and not (is_top and level.startswith("$"))
    ]


def _below(nodes: list[dict[str | None, Any]], is_top: bool) -> Iterator[PublishedMessage | None]:
    waiting = list(nodes)
    while waiting:
        node = waiting.pop()
        yield node.get(None)
        waiting += _next(node, is_top)
        is_top = False


def _levels(topic: str) -> list[str]:
    """No more than a filter can tell apart; all below is one."""
    return topic.split("/", DEEPEST)


def _size(message: PublishedMessage) -> int:
    return len(message.topic) + len(message.payload)
