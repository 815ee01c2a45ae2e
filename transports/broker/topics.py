"""Which subscription gets which topic: `+` stands for one level, `#` at the end for all that follow.

    mtd/run/d/0/+      mtd/run/d/0/1   yes        mtd/run/d/0     no
    mtd/run/#          mtd/run/p/3     yes        mtd/run         yes
    +/x, #             $SYS/x          no: topics with $ are the broker's own

A broker asks this for every message, whatever its clients subscribed to. So the subscriptions stand in a tree, level by
level, and a message goes down it: to the child of its own level, and to `+`. Most messages go to topics that the broker
has seen before; their answers are remembered until somebody subscribes or leaves.
"""

from __future__ import annotations

from typing import Any, Generic, TypeVar

REMEMBERED, SHORT = 4096, 200  # topics, and letters of each; nobody can fill the memory with names
DEEPEST = 64  # levels of a subscription
Reader = TypeVar("Reader")


def is_filter(name: str) -> bool:
    """Whether this can be subscribed to."""
    levels = name.split("/", DEEPEST + 1)
    return len(name) > 0 and len(levels) <= DEEPEST and all(
        level in ("+", "#") or not ("+" in level or "#" in level) for level in levels
    ) and "#" not in levels[:-1]  # fmt: skip


class Subscriptions(Generic[Reader]):
    """The subscriptions: each reader's topics, and with which quality of service.

    A node of the tree is a dict: the next nodes by their level, and under None the readers of what ends here.
    """

    def __init__(self) -> None:
        self._root: dict[str | None, Any] = {}
        self._answers: dict[str, dict[Reader, int]] = {}
        self._count = 0

    def add(self, reader: Reader, name: str, qos: int) -> None:
        node = self._root
        for level in name.split("/"):
            node = node.setdefault(level, {})
        readers = node.setdefault(None, {})
        self._count += reader not in readers
        readers[reader] = qos
        self._answers.clear()

    def remove(self, reader: Reader, name: str) -> None:
        """Take it out, and each node that leads to nobody any more."""
        way: list[tuple[dict[str | None, Any], str | None]] = []
        node: dict[Any, Any] = self._root
        for level in [*name.split("/"), None]:
            if level not in node:
                return
            way.append((node, level))
            node = node[level]
        self._count -= node.pop(reader, None) is not None
        for above, last in reversed(way):
            if above[last]:
                break
            del above[last]
        self._answers.clear()

    def readers(self, topic: str) -> dict[Reader, int]:
        """Each reader once, with the best quality it asked for."""
        found = self._answers.get(topic)
        if found is None:
            found = self._look_up(topic)
            if len(topic) <= SHORT:
                if len(self._answers) >= REMEMBERED:
                    self._answers.clear()
                self._answers[topic] = found
        return found

    def _look_up(self, topic: str) -> dict[Reader, int]:
        found: dict[Reader, int] = {}

        def take(node: dict[str | None, Any] | None) -> None:
            for reader, qos in node.get(None, {}).items() if node else ():
                found[reader] = max(qos, found.get(reader, 0))

        nodes = [self._root]
        is_hidden = topic.startswith("$")  # from wildcards in the first place [MQTT-4.7.2-1]
        for level in topic.split("/", DEEPEST):
            following = []
            for node in nodes:
                if not is_hidden:
                    take(node.get("#"))
                names = (level,) if is_hidden else (level, "+")
                following += [node[name] for name in names if name in node]
            nodes, is_hidden = following, False
        for node in nodes:
            take(node)
            take(node.get("#"))
        return found

    def __len__(self) -> int:
        return self._count
