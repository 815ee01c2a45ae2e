"""Which subscription gets which topic: `+` stands for one level, `#` at the end for all that follow.

    mtd/run/d/0/+      mtd/run/d/0/1   yes        mtd/run/d/0     no
    mtd/run/#          mtd/run/p/3     yes        mtd/run         yes
    +/x, #             $SYS/x          no: topics with $ are the broker's own

A broker asks this for every message, whatever its clients subscribed to. So the subscriptions stand in a tree, level by
level, and a message goes down it: to the child of its own level, and to `+`. Most messages go to topics that the broker
has seen before; their answers are remembered until somebody subscribes or leaves. Retained messages stand in another tree.
A node of a tree is a dict: the next nodes by their level, and under None what belongs to the topic that ends here.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Generic, TypeAlias, TypeVar

REMEMBERED, SHORT = 4096, 200  # topics, and letters of each; nobody can fill the memory with names
DEEPEST = 64  # levels of a subscription
Key = TypeVar("Key")
Node: TypeAlias = dict["str | None", Any]


def is_filter(name: str) -> bool:
    """Whether this can be subscribed to."""
    levels = name.split("/", DEEPEST + 1)
    return (
        len(name) > 0
        and len(levels) <= DEEPEST
        and all(level in ("+", "#") or not ("+" in level or "#" in level) for level in levels)
        and "#" not in levels[:-1]
    )


class TopicTree(Generic[Key]):
    """Things that belong to topics, or to filters of them: at most one for each topic and key."""

    def __init__(self) -> None:
        self.root: Node = {}
        self._count = 0

    def put(self, levels: Sequence[str], key: Key, thing: Any) -> None:
        node = self.root
        for level in levels:
            node = node.setdefault(level, {})
        here = node.setdefault(None, {})
        self._count += key not in here
        here[key] = thing

    def take(self, levels: Sequence[str], key: Key) -> Any:
        """Take it out, and each node that leads to nothing any more; None if it was not there."""
        way: list[tuple[Node, str | None]] = []
        node: dict[Any, Any] = self.root
        for level in (*levels, None):
            if level not in node:
                return None
            way.append((node, level))
            node = node[level]
        found = node.pop(key, None)
        self._count -= found is not None
        for above, last in reversed(way):
            if above[last]:
                break
            del above[last]
        return found

    def __len__(self) -> int:
        return self._count


class Subscriptions(TopicTree[Key]):
    """The subscriptions: by filter the readers, and with which quality of service."""

    def __init__(self) -> None:
        super().__init__()
        self._known = lru_cache(REMEMBERED)(self._look_up)

    def add(self, reader: Key, name: str, qos: int) -> None:
        self.put(name.split("/"), reader, qos)
        self._known.cache_clear()

    def remove(self, reader: Key, name: str) -> None:
        self.take(name.split("/"), reader)
        self._known.cache_clear()

    def readers(self, topic: str) -> dict[Key, int]:
        """Each reader once, with the best quality it asked for."""
        return self._known(topic) if len(topic) <= SHORT else self._look_up(topic)

    def _look_up(self, topic: str) -> dict[Key, int]:
        found: dict[Key, int] = {}

        def note(node: Node | None) -> None:
            for reader, qos in node.get(None, {}).items() if node else ():
                found[reader] = max(qos, found.get(reader, 0))

        nodes = [self.root]
        is_hidden = topic.startswith("$")  # from wildcards in the first place [MQTT-4.7.2-1]
        for level in topic.split("/", DEEPEST):
            following = []
            for node in nodes:
                if not is_hidden:
                    note(node.get("#"))
                names = (level,) if is_hidden else (level, "+")
                following += [node[name] for name in names if name in node]
            nodes, is_hidden = following, False
        for node in nodes:
            note(node)
            note(node.get("#"))
        return found
