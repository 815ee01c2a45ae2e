"""One rank of a launched world: make the world, call the function, end the world."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from minitorch_dist.cuda import memory
from minitorch_dist.distributed import bootstrap, world
from minitorch_dist.distributed.journal.files import Sheet
from minitorch_dist.tensors import devices, generator
from transports.clock import Clock
from transports.stores.store import Store


class RankFailed(RuntimeError):
    """A rank ended without a result, or what it returned or raised cannot be given to the others."""


def place_for(
    rank: int, world_size: int, transport: str, store: Store, clock: Clock, journal: Sheet | None
) -> world.WorldScope:
    """Where a launched rank will stand."""
    return world.WorldScope(
        clock,
        rank=rank,
        world_size=world_size,
        store=store,
        address=transport,
        journal="" if journal is None else journal,
    )


def run(place: world.WorldScope, random_state: generator.Generator, timeout: timedelta, fn: Callable[[], Any]) -> Any:
    """In the rank's own thread: what `fn` returns there. The world is left by `end`."""
    generator.install(random_state)
    given = place.given
    bootstrap.init(None, None, timeout, given["world_size"], given["rank"], given["store"])
    recorder = world.current().mailbox.recorder
    if recorder is not None:
        recorder.gauge = held
    given["fresh"] = True  # a script may call init_process_group once
    try:
        result = fn()
    except BaseException:
        if place.world is not None:
            place.world.has_parted = True  # the ranks' ends differ, and it is known why
        raise
    bootstrap.part(place)
    return result


def held() -> int:
    """The bytes of this rank's device, for its journal; -1 without devices."""
    return memory.memory_allocated() if devices.count() else -1


def end(place: world.WorldScope) -> None:
    while place.at_end:
        place.at_end.pop()()
    bootstrap.leave(place)
