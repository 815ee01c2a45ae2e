"""How groups are made: by all ranks of the world, in the same order, members or not.

    rank 0   new_group([0, 1]) ─┐                          ┌─► a group
    rank 1   new_group([0, 1]) ─┼─ an operation of the     ├─► a group
    rank 2   new_group([0, 1]) ─┘  world's default group   └─► NON_MEMBER

The n-th call means the same group everywhere. So the call is an operation of the default group, a barrier
whose fingerprint holds the list. It returns when all have called it (as torch's does). A rank that is
missing, is lost, or is in something else meanwhile, is told as in any collective, with both lines; ranks
that pass other lists are not wired to strangers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from minitorch_dist.distributed import collectives
from minitorch_dist.distributed.groups import NON_MEMBER, ProcessGroup, everybody, is_member
from minitorch_dist.distributed.mail import wire
from minitorch_dist.distributed.mail.wire import Fingerprint
from minitorch_dist.distributed.prepared import How
from minitorch_dist.distributed.world import World, current


def new_groups(
    lists: Sequence[Sequence[int] | None],
    timeout: float | None = None,
    backend: str | None = None,
    options: Any = None,
    description: str | None = None,
    sort_ranks: bool = True,
) -> list[Any]:
    """A group for each list of ranks of the world (None: all of them), with one meeting of the world for all of them; NON_MEMBER
    where this rank is not in the list.
    """
    world = current()
    default = world.default_group
    limit = default.timeout if timeout is None else timeout
    backend, description = backend or default.backend, description or "undefined"
    parts = [_checked(ranks, world.world_size, sort_ranks) for ranks in lists]
    names = [_next_name(world) for _ in parts]
    _meet(default, parts, limit)
    made: list[Any] = [
        ProcessGroup(world, name, ranks, limit, backend, description, options) if world.rank in ranks else NON_MEMBER
        for name, ranks in zip(names, parts, strict=True)
    ]
    if world.trace is not None:
        own = [group for group in made if is_member(group)]
        world.trace.made(list(zip(names, parts, strict=True)), own, limit, backend, description)
    return made


def _checked(ranks: Sequence[int] | None, world_size: int, is_to_sort: bool) -> tuple[int, ...]:
    everyone = everybody(world_size)
    if ranks is None:
        return everyone
    if len(set(ranks)) != len(ranks):
        raise ValueError(f"ranks list must not contain duplicate entries, got {list(ranks)}")
    if len(ranks) > world_size:
        raise ValueError(
            "the new group's world size should be less or equal to the world size set by init_process_group"
        )
    for rank in ranks:
        if rank < 0 or rank >= world_size:
            raise ValueError(
                f"Rank {rank} is out of range. Valid ranks are 0 to {world_size - 1} (world_size={world_size})"
            )
    part = tuple(sorted(ranks) if is_to_sort else ranks)
    return everyone if part == everyone else part


def _next_name(world: World) -> str:
    world.group_count += 1
    return str(world.group_count)


@contextmanager
def without_meeting() -> Iterator[None]:
    """Groups that are made inside wait for nobody. Some programs are known to make the same groups
    on all ranks, and making them shall take no time there. Torch's ranks meet in the store, and send no messages."""
    world = current()
    world.groups_meet = False
    try:
        yield
    finally:
        world.groups_meet = True


def _meet(group: ProcessGroup, parts: Sequence[Sequence[int]], timeout: float | None) -> None:
    """Wait for those who make groups with us: an operation of `group`, about these ranks."""
    if group.world.groups_meet:
        ranks = [rank for part in parts for rank in (*part, wire.BETWEEN)][:-1]
        said = Fingerprint("new_group", shape=wire.short(ranks, len(ranks)))
        collectives.barrier(group, How(timeout=timeout), said)
