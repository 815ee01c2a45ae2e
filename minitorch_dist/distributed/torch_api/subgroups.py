"""Some of the world's ranks as groups of their own: torch's functions that make them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from minitorch_dist.distributed import bootstrap
from minitorch_dist.distributed.backends import Backend, transport_for
from minitorch_dist.distributed.groups import ProcessGroup, is_member
from minitorch_dist.distributed.new_groups import new_groups
from minitorch_dist.tensors import devices


def _made(
    lists: Sequence[Sequence[int] | None], timeout: timedelta | None, backend: str | None, *rest: Any
) -> list[ProcessGroup]:
    """The groups. A backend says nothing here; but one that nobody knows is refused, as in torch."""
    if timeout is not None:
        bootstrap.check_timeout(timeout)
    if backend:
        transport_for(backend, Backend.TCP)
        backend = Backend(backend)
    limit = None if timeout is None else timeout.total_seconds()
    return new_groups(lists, limit, backend or None, *rest)


def new_group(
    ranks: Sequence[int] | None = None,
    timeout: timedelta | None = None,
    backend: str | None = None,
    pg_options: Any = None,
    use_local_synchronization: bool = False,
    group_desc: str | None = None,
    device_id: devices.device | None = None,
    sort_ranks: bool = True,
) -> ProcessGroup:
    """A group of these ranks. Every rank of the world calls this, in the same order, also those
    that are not in it: they get GroupMember.NON_GROUP_MEMBER.

    It returns when all have called it. A group uses the world's transport, with any `backend`.

    Args:
        ranks: The world's ranks that belong to it; None means all.
        timeout: The time limit of its operations; None is that of the world.
        backend: Accepted as in torch; the world's transport is used.
        pg_options: Options of the backend; the transports here have none.
        use_local_synchronization: Must be False, because all ranks take part.
        group_desc: A name for reports.
        device_id: Accepted as in torch; it changes nothing.
        sort_ranks: Number the ranks in ascending order; False keeps the order given.

    Returns:
        The group, for `group=` of other calls.

    Raises:
        DistMismatch: Ranks passed other lists.

    Example:
        >>> def program():
        ...     even = dist.new_group([0, 2])
        ...     return dist.get_rank(even)
        >>> sim.run(program, 3).results
        [0, -1, 1]
    """
    if use_local_synchronization:
        raise NotImplementedError(
            "use_local_synchronization: a group is made by all ranks of the world here. Let every rank call "
            "new_group; PyTorch has it"
        )
    (made,) = _made([ranks], timeout, backend, pg_options, group_desc, sort_ranks)
    return made


def new_subgroups_by_enumeration(
    ranks_per_subgroup_list: Sequence[Sequence[int]],
    timeout: timedelta | None = None,
    backend: str | None = None,
    pg_options: Any = None,
    group_desc: str | None = None,
) -> tuple[ProcessGroup | None, list[ProcessGroup]]:
    """One group for each list of ranks: this rank's own (or None), and all."""
    if not ranks_per_subgroup_list:
        raise ValueError("The arg 'ranks_per_subgroup_list' cannot be empty")
    where: dict[int, Sequence[int]] = {}
    for ranks in ranks_per_subgroup_list:
        for rank in ranks:
            if rank in where:
                raise ValueError(f"Rank {rank} has appeared in both subgroup {where[rank]} and {ranks}")
            where[rank] = ranks
    made = _made(ranks_per_subgroup_list, timeout, backend, pg_options, group_desc)
    return next((group for group in made if is_member(group)), None), made
