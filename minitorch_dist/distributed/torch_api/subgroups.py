"""Some of the world's ranks as groups of their own: torch's functions that make them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from minitorch_dist.distributed import bootstrap, new_groups
from minitorch_dist.distributed.backends import Backend, transport_for
from minitorch_dist.distributed.torch_api.membership import (
    _get_default_group,
    get_process_group_ranks,
    get_world_size,
)
from minitorch_dist.distributed.torch_api.process_group import ProcessGroup, or_default
from minitorch_dist.tensors import devices


def _limit(timeout: timedelta | None) -> float | None:
    """Seconds; the default is the default group's timeout."""
    if timeout is None:
        return None
    bootstrap.check_timeout(timeout)
    return timeout.total_seconds()


def _known(backend: str | None) -> str | None:
    """The backend's name, which says nothing here; but one that nobody knows is refused, as in torch."""
    if not backend:
        return None
    transport_for(backend, Backend.TCP)
    return Backend(backend)


def new_group(
    ranks: Sequence[int] | None = None,
    timeout: timedelta | None = None,
    backend: str | None = None,
    pg_options: Any = None,
    use_local_synchronization: bool = False,
    group_desc: str | None = None,
    device_id: devices.device | None = None,
    sort_ranks: bool = True,
) -> Any:
    """A group of these ranks. Every rank of the world calls this, in the same order, also those
    that are not in it: they get GroupMember.NON_GROUP_MEMBER.

    It returns when all have called it; if they pass other ranks, all raise DistMismatch. With
    `use_local_synchronization` only the members call it. Ranks are numbered in ascending order, or
    as given with `sort_ranks=False`. A group uses the world's transport, with any `backend`.
    """
    made = new_groups.new_group(
        ranks, _limit(timeout), _known(backend), pg_options,
        use_local_synchronization, group_desc, sort_ranks,
    )  # fmt: skip
    return _bound(made, device_id)


def _bound(made: Any, device_id: devices.device | None = None) -> Any:
    if isinstance(made, ProcessGroup):
        default = _get_default_group()
        made.bound_device_id = device_id or default.bound_device_id
    return made


def split_group(
    parent_pg: ProcessGroup | None = None,
    split_ranks: Sequence[Sequence[int]] | None = None,
    timeout: timedelta | None = None,
    pg_options: Any = None,
    group_desc: str | None = None,
    backend: str | None = None,
) -> ProcessGroup | None:
    """Parts of a group as groups of their own: this rank's, or None. Every rank of the parent
    calls it, with the same lists of ranks of the parent. torch demands an accelerator; we do not."""
    if not split_ranks:
        raise ValueError("split_ranks cannot be None or empty")
    made = new_groups.split_group(
        or_default(parent_pg), split_ranks, _limit(timeout), _known(backend), pg_options, group_desc
    )
    found = _bound(made)
    assert found is None or isinstance(found, ProcessGroup)
    return found


SHRINK_DEFAULT, SHRINK_ABORT = 0, 1


def shrink_group(
    ranks_to_exclude: list[int],
    group: ProcessGroup | None = None,
    shrink_flags: int = SHRINK_DEFAULT,
    pg_options: Any = None,
) -> ProcessGroup:
    """The group without these of its ranks, for instance because they have died; only the others
    call this. The default group stays what it is: pass the new one as `group=`."""
    made = new_groups.shrink_group(
        ranks_to_exclude, or_default(group), bool(shrink_flags & SHRINK_ABORT), pg_options
    )
    assert isinstance(made, ProcessGroup)
    return made


def new_subgroups(
    group_size: int | None = None,
    group: ProcessGroup | None = None,
    timeout: timedelta | None = None,
    backend: str | None = None,
    pg_options: Any = None,
    group_desc: str | None = None,
) -> tuple[Any, list[Any]]:
    """Groups of `group_size` neighbours each (default: the devices of a host). With `group`, only its
    ranks call this, and wait for nobody else."""
    if group_size is None:
        if devices.count() == 0:
            raise ValueError(
                "Default group size only takes effect when CUDA is available."
                "If your subgroup using a backend that does not depend on CUDA,"
                "please pass in 'group_size' correctly."
            )
        group_size = devices.count()
    if group_size <= 0:
        raise ValueError(f"The arg 'group_size' ({group_size}) must be positive")
    size = get_world_size(group)
    if size < group_size:
        raise ValueError(
            f"The arg 'group_size' ({group_size}) must not exceed the world size ({size})"
        )
    if size % group_size != 0:
        raise ValueError(f"The world size ({size}) must be divisible by '{group_size=}'")
    ranks = get_process_group_ranks(group)
    parts = [ranks[start : start + group_size] for start in range(0, size, group_size)]
    own, made = new_groups.new_subgroups(
        parts, _limit(timeout), _known(backend), pg_options, group_desc, or_default(group)
    )
    return _bound(own), [_bound(each) for each in made]


def new_subgroups_by_enumeration(
    ranks_per_subgroup_list: Sequence[Sequence[int]],
    timeout: timedelta | None = None,
    backend: str | None = None,
    pg_options: Any = None,
    group_desc: str | None = None,
) -> tuple[Any, list[Any]]:
    """One group for each list of ranks: this rank's own (or None), and all."""
    own, made = new_groups.new_subgroups(
        ranks_per_subgroup_list, _limit(timeout), _known(backend), pg_options, group_desc
    )
    return _bound(own), [_bound(each) for each in made]
