"""Which subscription gets which topic: `+` stands for one level, `#` at the end for all that follow.

    mtd/run/d/0/+      mtd/run/d/0/1   yes        mtd/run/d/0     no
    mtd/run/#          mtd/run/p/3     yes        mtd/run         yes
    +/x, #             $SYS/x          no: topics with $ are the broker's own

A broker asks this for every message, and most messages go to topics it has seen before; so the
answer is remembered until somebody subscribes or leaves.
"""

from __future__ import annotations

from typing import Generic, TypeVar

REMEMBERED = 4096  # topics; nobody can fill the memory with names
Reader = TypeVar("Reader")


def is_filter(name: str) -> bool:
    """Whether this can be subscribed to."""
    levels = name.split("/")
    return bool(name) and all(
        level in ("+", "#") or not ("+" in level or "#" in level) for level in levels
    ) and "#" not in levels[:-1]  # fmt: skip


def matches(name: str, topic: str) -> bool:
    """Whether the filter `name` takes in `topic`."""
    wanted, levels = name.split("/"), topic.split("/")
    if topic.startswith("$") and wanted[0] in ("+", "#"):  # [MQTT-4.7.2-1]
        return False
    for place, want in enumerate(wanted):
        if want == "#":
            return True
        if place >= len(levels) or want not in ("+", levels[place]):
            return False
    return len(wanted) == len(levels)


class Subscriptions(Generic[Reader]):
    """The subscriptions: each reader's topics, and with which quality of service."""

    def __init__(self) -> None:
        self._by_filter: dict[str, dict[Reader, int]] = {}
        self._answers: dict[str, dict[Reader, int]] = {}

    def add(self, reader: Reader, name: str, qos: int) -> None:
        self._by_filter.setdefault(name, {})[reader] = qos
        self._answers.clear()

    def remove(self, reader: Reader, name: str) -> None:
        readers = self._by_filter.get(name, {})
        readers.pop(reader, None)
        if not readers:
            self._by_filter.pop(name, None)
        self._answers.clear()

    def readers(self, topic: str) -> dict[Reader, int]:
        """Each reader once, with the best quality it asked for."""
        found = self._answers.get(topic)
        if found is None:
            found = {}
            for name, readers in self._by_filter.items():
                if matches(name, topic):
                    for reader, qos in readers.items():
                        found[reader] = max(qos, found.get(reader, 0))
            if len(self._answers) >= REMEMBERED:
                self._answers.clear()
            self._answers[topic] = found
        return found

    def __len__(self) -> int:
        return sum(map(len, self._by_filter.values()))
