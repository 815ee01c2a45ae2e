"""The timelines of all ranks, and which of them tell the same."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from mtd.timelines.critical_path import CriticalPath
from mtd.timelines.timeline import RankTimeline


@dataclass(frozen=True)
class Timelines:
    """`print(timelines)` tells the critical path in words. `roles`: ranks that did the same."""

    ranks: tuple[RankTimeline, ...]
    said_roles: tuple[tuple[int, ...], ...] = ()  # those of a folded run

    @cached_property
    def roles(self) -> tuple[tuple[int, ...], ...]:
        if self.said_roles:
            return self.said_roles
        found: dict[Any, list[int]] = {}
        for line in self.ranks:
            found.setdefault(line.signature(), []).append(line.rank)
        return tuple(tuple(ranks) for ranks in found.values())

    @cached_property
    def critical_path(self) -> CriticalPath:
        return CriticalPath.of(self.ranks)

    def __str__(self) -> str:
        from mtd.timelines import words  # it draws on this

        return "\n".join(words.told(self.critical_path))
