"""The algorithms that serve a number of ranks: some are made for powers of two."""

from __future__ import annotations

from minitorch_dist.distributed.schedules import Schedule, choice


def serving(collective: str, size: int) -> dict[str, Schedule]:
    """By name."""
    return {name: each for name, each in choice.known(collective).items() if each.serves(size)}
