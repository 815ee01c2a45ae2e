"""The retained messages of a broker, by topic.

They are bounded in number and in bytes. A message that does not fit is delivered, but not kept.

A subscription with wildcards goes down the tree, so its cost is mostly what it finds. In vain it looks at no more than
the tree; and `find` yields at each node that it comes to, so that others can have their turn.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from transports.broker.packets import PublishedMessage
from transports.broker.topics import DEEPEST, Node, TopicTree

MOST = 10_000
MOST_BYTES = 64 << 20


class Retained(TopicTree[str]):
    """At most one message for each topic. It has an empty key."""

    def __init__(self) -> None:
        super().__init__()
        self._nbytes = 0

    def keep(self, message: PublishedMessage) -> None:
        """In place of an older one of its topic; an empty one only clears [MQTT-3.3.1-10]."""
        levels = message.topic.split("/", DEEPEST)  # no more than a filter can tell apart; all below is one
        old = self.take(levels, "")
        self._nbytes -= 0 if old is None else _size(old)
        size = _size(message)
        if message.payload and len(self) < MOST and self._nbytes + size <= MOST_BYTES:
            self.put(levels, "", message)
            self._nbytes += size

    def find(self, name: str) -> Iterator[PublishedMessage | None]:
        """The messages that the filter `name` takes in; None for each other node on the way there."""
        nodes = [self.root]
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
            yield _kept(node)


def _kept(node: Node) -> Any:
    return node.get(None, {}).get("")


def _next(node: Node, is_top: bool) -> list[Node]:
    """The nodes that a wildcard stands for: not those of the broker's own topics [MQTT-4.7.2-1]."""
    return [child for level, child in node.items() if level is not None and not (is_top and level.startswith("$"))]


def _below(nodes: list[Node], is_top: bool) -> Iterator[PublishedMessage | None]:
    waiting = list(nodes)
    while waiting:
        node = waiting.pop()
        yield _kept(node)
        waiting += _next(node, is_top)
        is_top = False


def _size(message: PublishedMessage) -> int:
    return len(message.topic) + len(message.payload)
