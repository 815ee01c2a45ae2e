"""How groups are made: by all ranks of the world, in the same order, members or not.

    rank 0   new_group([0, 1]) ─┐                          ┌─► a group
    rank 1   new_group([0, 1]) ─┼─ an operation of the     ├─► a group
    rank 2   new_group([0, 1]) ─┘  world's default group   └─► NON_MEMBER

The n-th call means the same group everywhere. So the call is an operation of the default group, a barrier
whose fingerprint holds the list. It returns when all have called it (as torch's does). A rank that is
missing, is lost, or is in something else meanwhile, is told as in any collective, with both lines; ranks
that pass other lists are not wired to strangers. Groups that only their members make meet in themselves.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from minitorch_dist.distributed import collectives
from minitorch_dist.distributed.groups import NON_MEMBER, Group, everybody, is_member
from minitorch_dist.distributed.mail import wire
from minitorch_dist.distributed.mail.wire import Fingerprint
from minitorch_dist.distributed.prepared import How
from minitorch_dist.distributed.world import current


def new_group(
    ranks: Sequence[int] | None = None,
    timeout: float | None = None,
    backend: str | None = None,
    options: Any = None,
    use_local_synchronization: bool = False,
    description: str | None = None,
    sort_ranks: bool = True,
) -> Any:
    """A group of these ranks of the world; NON_MEMBER where this rank is none of them.

    With `use_local_synchronization` only the members call this, and others get None.
    """
    world = current()
    if use_local_synchronization and ranks is not None and world.rank not in ranks:
        return None
    if ranks is None:
        ranks = range(world.world_size)
    else:
        ranks = sorted(ranks) if sort_ranks else list(ranks)
        _check_ranks(ranks, world.world_size)
    ranks = tuple(ranks)
    if ranks == everybody(world.world_size):
        ranks = everybody(world.world_size)
    default = world.default_group
    limit = default.timeout if timeout is None else timeout
    if use_local_synchronization:
        same = world.counts[ranks] = world.counts.get(ranks, 0) + 1
        name = f"local/{'_'.join(map(str, ranks))}/{same}"
    else:
        name = _next_name(default)
        _meet(default, "new_group", ranks, limit)
    trace, backend = world.trace, backend or default.backend
    description = description or "undefined"
    if trace is not None and use_local_synchronization:
        trace.split_group()
    if world.rank not in ranks:
        if trace is not None:
            trace.made([(name, ranks)], [], limit, backend, description)
        return NON_MEMBER
    made = world.group_kind(world, name, ranks, limit, backend, description, options)
    if trace is not None:
        trace.made([(name, ranks)], [made], limit, backend, description)
    if use_local_synchronization:
        _meet(made, "new_group", ranks, limit)
    return made


def new_groups(
    lists: Sequence[Sequence[int]],
    timeout: float | None = None,
    backend: str | None = None,
    options: Any = None,
    description: str | None = None,
    among: Group | None = None,
) -> list[Any]:
    """Make the groups of a `new_group` for each list, with one meeting for all of them. All ranks of the world
    meet, or only those of the group `among`.
    """
    world = current()
    default = world.default_group
    among = default if among is None else among
    limit = default.timeout if timeout is None else timeout
    for ranks in lists:
        _check_ranks(ranks, world.world_size)
    parts = [tuple(sorted(ranks)) for ranks in lists]
    told = [rank for part in parts for rank in (*part, wire.BETWEEN)][:-1]
    _meet(among, "new_group", told, limit)
    made: list[Any] = []
    names = [_next_name(among) for _ in parts]
    for name, ranks in zip(names, parts, strict=True):
        if world.rank not in ranks:
            made.append(NON_MEMBER)
            continue
        if ranks == everybody(world.world_size):
            ranks = everybody(world.world_size)
        made.append(
            world.group_kind(
                world,
                name,
                ranks,
                limit,
                backend or default.backend,
                description or "undefined",
                options,
            )
        )
    if world.trace is not None:
        own = [group for group in made if is_member(group)]
        backend, description = backend or default.backend, description or "undefined"
        world.trace.made(list(zip(names, parts, strict=True)), own, limit, backend, description)
    return made


def split_group(
    parent: Group,
    split_ranks: Sequence[Sequence[int]],
    timeout: float | None = None,
    backend: str | None = None,
    options: Any = None,
    description: str | None = None,
) -> Any:
    """One new group for each list of (parent's) ranks, which do not overlap; this rank's own, or
    None. Every rank of the parent calls it."""
    world, size = current(), parent.size()
    if world.trace is not None:
        world.trace.split_group()
    if not split_ranks:
        raise ValueError("split_ranks cannot be None or empty")
    seen: set[int] = set()
    for part in split_ranks:
        if not part:
            raise ValueError("the split group cannot be empty")
        if len(part) > size:
            raise ValueError(
                "the split group's size should be less or equal to the world_size set by init_process_group"
            )
        if len(set(part)) != len(part):
            raise ValueError("the split group cannot have duplicate ranks")
        if seen & set(part):
            raise ValueError("split groups cannot overlap")
        for rank in part:
            if not 0 <= rank < size:
                raise ValueError(f"rank {rank} is not in the parent group of {size} ranks")
        seen |= set(part)
    parent.splits += 1
    name = f"{parent.group_name}:split:{parent.splits}"
    lists = [sorted(part) for part in split_ranks]
    told = [rank for part in lists for rank in (*part, wire.BETWEEN)][:-1]
    _meet(parent, "split_group", told, timeout)
    for number, part in enumerate(split_ranks):
        if parent.rank() in part:
            ranks = [parent.ranks[rank] for rank in sorted(part)]
            return world.group_kind(
                world, f"{name}:{number}", ranks, parent.timeout if timeout is None else timeout,
                backend or parent.backend, description or f"{parent.group_desc}:split:{number}",
                options,
            )  # fmt: skip
    return None


def shrink_group(
    exclude: Sequence[int], parent: Group, is_to_abort: bool = False, options: Any = None
) -> Any:
    """The parent's group without some of its ranks, which do not call this (they may be dead)."""
    excluded, size = set(exclude), parent.size()
    if parent.world.trace is not None:
        parent.world.trace.split_group()
    if not exclude:
        raise ValueError("ranks_to_exclude cannot be empty")
    if len(excluded) != len(exclude):
        raise ValueError(f"ranks_to_exclude must not contain duplicates, got {list(exclude)}")
    for rank in exclude:
        if not 0 <= rank < size:
            raise ValueError(f"rank {rank} of ranks_to_exclude is out of bounds for {size} ranks")
    if len(excluded) == size:
        raise ValueError("ranks_to_exclude cannot exclude all ranks")
    if parent.rank() in excluded:
        raise RuntimeError(f"rank {parent.rank()} is excluded, and must not call shrink_group")
    if is_to_abort:
        parent.channel.abort("the process group was aborted in order to shrink it")
    parent.splits += 1
    ranks = [rank for place, rank in enumerate(parent.ranks) if place not in excluded]
    name = f"{parent.group_name}:shrink:{parent.splits}"
    made = parent.world.group_kind(
        parent.world, name, ranks, parent.timeout, parent.backend,
        f"{parent.group_desc}:shrink", options,
    )  # fmt: skip
    _meet(made, "shrink_group", sorted(exclude), None)
    return made


def new_subgroups(
    ranks_per_subgroup: Sequence[Sequence[int]],
    timeout: float | None = None,
    backend: str | None = None,
    options: Any = None,
    description: str | None = None,
    among: Group | None = None,
) -> tuple[Any, list[Any]]:
    """One group for each list of ranks; this rank's own (or None), and all of them. The ranks of the
    group `among` call it (all of the world, if it is None)."""
    if not ranks_per_subgroup:
        raise ValueError("The arg 'ranks_per_subgroup_list' cannot be empty")
    where: dict[int, Sequence[int]] = {}
    for ranks in ranks_per_subgroup:
        for rank in ranks:
            if rank in where:
                raise ValueError(
                    f"Rank {rank} has appeared in both subgroup {where[rank]} and {ranks}"
                )
            where[rank] = ranks
    groups = new_groups(ranks_per_subgroup, timeout, backend, options, description, among)
    own = [group for group in groups if is_member(group)]
    return (own[0] if own else None), groups


def _next_name(among: Group) -> str:
    """The name of the next group that all ranks of `among` make. The world counts for itself, so its
    count stays equal on all ranks while some of them make groups within a group."""
    world = among.world
    if among is world.default_group:
        world.group_count += 1
        return str(world.group_count)
    among.splits += 1
    return f"{among.group_name}:new:{among.splits}"


def _check_ranks(ranks: Sequence[int], world_size: int) -> None:
    if len(set(ranks)) != len(ranks):
        raise ValueError(f"ranks list must not contain duplicate entries, got {list(ranks)}")
    if len(ranks) > world_size:
        raise ValueError(
            "the new group's world size should be less or equal to the world size set by "
            "init_process_group"
        )
    for rank in ranks:
        if rank < 0 or rank >= world_size:
            raise ValueError(
                f"Rank {rank} is out of range. Valid ranks are 0 to {world_size - 1} "
                f"(world_size={world_size})"
            )


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


def _meet(group: Group, operation: str, ranks: Sequence[int], timeout: float | None) -> None:
    """Wait for those who make the group with us: an operation of `group`, about these ranks."""
    if not group.world.groups_meet:
        return
    said = Fingerprint(operation, shape=wire.short(ranks, len(ranks)))
    collectives.barrier(group, How(timeout=timeout), said)
