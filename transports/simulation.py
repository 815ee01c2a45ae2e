"""A program on every rank of a simulation: its results, or the error that came first."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

from transports.virtual.clock import VirtualClock
from transports.virtual.sim_thread import SimThread

T = TypeVar("T")


def each_rank(clock: VirtualClock, world_size: int, act: Callable[[int], T]) -> tuple[list[T], list[SimThread]]:
    """Call `act(rank)` in a simulated thread for each rank; their results, and the simulated threads.

    If ranks raise, the error that came first is raised here, with notes on those that followed: an
    error makes others fail that wait for that rank.
    """
    results: list[Any] = [None] * world_size
    errors: list[tuple[int, BaseException]] = []

    def live(rank: int) -> None:
        try:
            results[rank] = act(rank)
        except Exception as error:
            errors.append((rank, error))

    heads = [clock.start(partial(live, rank), f"rank {rank}") for rank in range(world_size)]
    clock.run()
    if errors:
        rank, first = errors[0]
        first.add_note(f"raised by rank {rank} of {world_size} in a simulation")
        others = [(r, error) for r, error in errors[1:] if str(error) != str(first)]
        for rank, error in others[:3]:
            first.add_note(f"afterwards rank {rank} failed: {type(error).__name__}: {error}"[:300])
        if len(others) > 3:
            first.add_note(f"and {len(others) - 3} more")
        raise first
    return results, heads
