"""How torch's process groups begin and end: its store becomes a world of ours, its lists of ranks our groups.

init_process_group("mtd") ──► a world, and its default group
new_group([0, 2])         ──► a group of that world
new_group(backend="mtd")  ──► where the default group is gloo's: a world of these ranks alone
"""

from __future__ import annotations

import os
from datetime import timedelta
from functools import partial, wraps
from typing import Any, Final

import torch.distributed as torch_dist
from torch.distributed import distributed_c10d as c10d

from minitorch_dist.distributed import bootstrap, world
from minitorch_dist.distributed.callsite import callsite
from minitorch_dist.distributed.groups import ProcessGroup
from minitorch_dist.distributed.world import World, WorldScope
from minitorch_dist.pytorch.errors import torch_errors
from minitorch_dist.pytorch.process_group import MtdProcessGroup
from minitorch_dist.pytorch.torch_store import TorchStore
from transports import registry
from transports.stores.store import PrefixStore, Store

VARIABLE: Final = "MTD_TRANSPORT"
_monitored_barrier = c10d.monitored_barrier


def create(asked: Any, options: Any) -> MtdProcessGroup:
    """The process group that torch asks for: `asked` has its store, its ranks and this rank among them."""
    with torch_errors():
        ranks = list(asked.global_ranks_in_group)
        if not ranks:
            return _new_world(asked, world.place(), options)
        default = torch_dist.group.WORLD
        if isinstance(default, MtdProcessGroup):
            return _new_group(default.ours.world, asked, ranks, options)
        return _new_world(asked, WorldScope(), options)


def _new_world(asked: Any, place: WorldScope, options: Any) -> MtdProcessGroup:
    is_virtual = place.clock.is_virtual  # then the run has a store and a wire
    store = None if is_virtual else _part_of(asked.store, place)
    method, wire = ("env://", None) if is_virtual else (None, _transport())
    place.given["is_signed"] = True  # torch puts [rank0] before the lines of an uncaught error
    with world.StandingIn(place):
        here = bootstrap.init(wire, method, asked.timeout, asked.group_size, asked.group_rank, store, options)
    # The store may be gone when this rank leaves, and torch's client says so on the screen.
    here.signs_off = is_virtual
    return MtdProcessGroup(here.default_group, partial(_leave, place))


def _part_of(store: Any, place: WorldScope) -> Store:
    """A part of torch's store for this world: the next one begins with none of its keys."""
    count = place.given["torch worlds"] = place.given.get("torch worlds", 0) + 1
    return PrefixStore(f"world {count}", TorchStore(store))


def _leave(place: WorldScope) -> None:
    if place.world is not None and place.world.trace is not None:
        return  # it runs for others, and perhaps once more
    with world.StandingIn(place):
        bootstrap.leave(place)


def _new_group(here: World, asked: Any, ranks: list[int], options: Any) -> MtdProcessGroup:
    """Torch has agreed on its name and its ranks, so nobody needs to meet."""
    name, called = f"torch/{asked.group_id}", f"{asked.group_id}, made at {callsite()}"
    ours = ProcessGroup(here, name, ranks, _seconds(asked.timeout), "mtd", called, options)
    ours.group_desc = "undefined"
    return MtdProcessGroup(ours, partial(_close, ours))


@wraps(_monitored_barrier)
def monitored_barrier(group: Any = None, timeout: timedelta | None = None, wait_all_ranks: bool = False) -> None:
    """Torch's function, which has it for gloo alone, with groups of ours, too."""
    asked = torch_dist.group.WORLD if group is None else group
    if isinstance(asked, MtdProcessGroup):
        asked.monitored_barrier(timeout, wait_all_ranks)
    else:
        _monitored_barrier(group, timeout, wait_all_ranks)


c10d.monitored_barrier = torch_dist.monitored_barrier = monitored_barrier


def _close(ours: ProcessGroup) -> None:
    ours.shutdown()
    ours.join()


def _seconds(timeout: timedelta) -> float:
    return timeout.total_seconds()


def _transport() -> str | None:
    """The wire: the variable's, or else the launcher's, or else TCP."""
    wanted = os.environ.get(VARIABLE)
    if wanted:
        scheme = registry.scheme_of(wanted)
        between_processes = [name for name in registry.known() if name not in ("queue", "sim")]
        if scheme not in between_processes:
            raise ValueError(
                f"{VARIABLE}={wanted}: no transport between processes is called {scheme!r}; take one of "
                f"{', '.join(f'{name}://' for name in between_processes)}"
            )
    return wanted or None
