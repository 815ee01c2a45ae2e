"""Making and asking worlds and groups, under torch's names: `init_process_group` and its kin."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

from minitorch_dist.distributed import backends, bootstrap, groups, world
from minitorch_dist.distributed.backends import Backend, BackendConfig
from minitorch_dist.distributed.process_group import GroupMember, ProcessGroup, group, or_default
from minitorch_dist.distributed.work import Work
from minitorch_dist.tensors import devices
from transports.stores.store import PrefixStore, Store

__all__ = ["GroupMember", "ProcessGroup", "group"]

default_pg_timeout = bootstrap.TIMEOUT
backends.has_devices.append(lambda: devices.count() > 0)


def init_process_group(
    backend: str | None = None,
    init_method: str | None = None,
    timeout: timedelta | None = None,
    world_size: int = -1,
    rank: int = -1,
    store: Store | None = None,
    group_name: str = "",
    pg_options: Any = None,
    device_id: devices.device | int | None = None,
    _ranks: list[int] | None = None,
) -> None:
    """Join the world: find the others, connect to all of them, and make the default group.

    `backend` is a transport (`tcp`, `file`, `mqtt`, …; `gloo` means `tcp`) or its address. The
    others are found by `init_method` (see `rendezvous`; default `env://`) or a `store` that all
    share. `timeout` is also that of every later operation (default: 30 minutes).
    """
    init_method = bootstrap.check_arguments(init_method, store, world_size, rank)
    device = _checked(device_id)
    if backend is None and device is not None:
        backend = Backend.default_device_backend_map.get(device.type)
    here = bootstrap.init(
        backend, init_method, timeout, world_size, rank, store, ProcessGroup, pg_options
    )
    here.default_group.bound_device_id = device


def _checked(device_id: devices.device | int | None) -> devices.device | None:
    """The device that this rank is bound to; torch's errors if it cannot be."""
    if device_id is None:
        return None
    if isinstance(device_id, int):
        if devices.count() == 0:
            raise ValueError(
                "device_id is an int, but no accelerator support is found from the current "
                "compilation. Please use a different compiled version that supports your accelerator."
            )
        device_id = devices.device("cuda", device_id)
    if device_id.type != "cpu":
        if devices.count() == 0 or device_id.type != "cuda":
            raise ValueError(
                f"device_id {device_id} does not match the current compilation's accelerator support: "
                f"{'cuda' if devices.count() else None}. Please use a different compiled version "
                "that supports your accelerator."
            )
        if device_id.index is None:
            raise ValueError("Please use a device_id with index.")
        if device_id.index >= devices.count():
            raise ValueError(
                f"device_id {device_id} is out of range. Please use a device index less than the "
                f"number of accelerators available: {devices.count()}."
            )
    return device_id


def destroy_process_group(group: ProcessGroup | None = None) -> None:
    """End a group; None (or the default group) ends the world and all groups."""
    if not groups.is_member(group):
        return
    here = world.place().world
    if here is None:
        if group is None:
            raise AssertionError("Process group cannot be None")
        raise ValueError("Invalid process group specified")
    if group is None or group is here.default_group:
        bootstrap.leave(world.place())
        return
    which = or_default(group)
    if here.groups.get(which.group_name) is not which:
        raise ValueError("Invalid process group specified")
    which.shutdown()
    which.join()


def abort(group: ProcessGroup | None = None) -> None:
    """End a group at once. What is under way in it fails, here and on its other members."""
    which = or_default(group)
    which.abort()
    if which is world.current().default_group:
        bootstrap.leave(world.place())


_abort_process_group = abort


# ------------------------------------------------------------------------------------- asking


def is_available() -> bool:
    return True


def is_initialized() -> bool:
    """Whether this rank has a default group."""
    return world.is_here()


def is_torchelastic_launched() -> bool:
    """Whether this process was started by torchrun, or ours."""
    return os.getenv("TORCHELASTIC_RUN_ID") is not None


def is_gloo_available() -> bool:
    """`gloo` is accepted as a name for `tcp`."""
    return True


is_nccl_available = backends.is_nccl_available
is_mpi_available = backends.is_mpi_available
is_backend_available = backends.is_backend_available


def is_ucc_available() -> bool:
    return False


def is_xccl_available() -> bool:
    return False


def _get_default_group() -> ProcessGroup:
    return or_default(None)


def _get_default_store() -> Store:
    return world.current().store


def get_rank(group: ProcessGroup | None = None) -> int:
    """This rank in the group, or in the world; -1 if it is not in the group."""
    if not groups.is_member(group):
        return -1
    default = _get_default_group()
    return default.rank() if group is None else get_group_rank(group, default.rank())


def get_world_size(group: ProcessGroup | None = None) -> int:
    """How many ranks the group, or the world, has; -1 if this rank is not in the group."""
    return or_default(group).size() if groups.is_member(group) else -1


def get_group_rank(group: ProcessGroup, global_rank: int) -> int:
    """The rank within the group of a rank of the world."""
    return groups.group_rank_of(_known(group), global_rank)


def get_global_rank(group: ProcessGroup, group_rank: int) -> int:
    """The rank in the world of a rank of the group."""
    return groups.global_rank_of(_known(group), group_rank)


def get_process_group_ranks(group: ProcessGroup | None) -> list[int]:
    """The ranks of the world that are in the group, by group rank."""
    return list(or_default(group).ranks)


def _known(group: Any) -> ProcessGroup:
    if isinstance(group, ProcessGroup) and not group.is_closed:
        return group
    raise ValueError(
        f"Group {group} is not registered, please create group with torch.distributed.new_group API"
    )


def get_backend(group: ProcessGroup | None = None) -> str:
    """The name under which the group's backend was asked for."""
    if not groups.is_member(group):
        raise ValueError("Invalid process group specified")
    which = or_default(group)
    if which.is_closed:
        raise ValueError(
            f"Process group {which} is not initialized in the world group map. Please initialize "
            "the group first."
        )
    return Backend(which.backend)


def get_backend_config(group: ProcessGroup | None = None) -> str:
    """The backend for each kind of device: `cpu:gloo,cuda:gloo`."""
    return repr(BackendConfig(get_backend(group)))


def get_default_backend_for_device(device: str | devices.device) -> str:
    kind = device.type if isinstance(device, devices.device) else devices.device(device).type
    found = Backend.default_device_backend_map.get(kind)
    if found is None:
        raise ValueError(f"Default backend not registered for device : {device}")
    return found


def get_pg_count() -> int:
    """How many groups this rank has."""
    here = world.place().world
    return 0 if here is None else len(here.groups)


def get_node_local_rank(fallback_rank: int | None = None) -> int:
    """This rank among those of its host, as the launcher has said (LOCAL_RANK)."""
    given = world.place().given.get("local_rank", os.environ.get("LOCAL_RANK"))
    if given is not None:
        return int(given)
    if fallback_rank is not None:
        return int(fallback_rank)
    raise RuntimeError(
        "LOCAL_RANK is not in the environment. Consider passing fallback_rank to allow "
        "`get_node_local_rank` to work, assuming you are not running in a multi-device context and "
        "want the code to run locally instead."
    )


def _set_pg_timeout(timeout: timedelta, group: ProcessGroup | None = None) -> None:
    bootstrap.check_timeout(timeout)
    or_default(group).set_timeout(timeout)


def warn_not_in_group(operation: str) -> Work | None:
    """Warn in the name of a function that was called for a group without this rank."""
    warnings.warn(
        f"Running {operation} on global rank {get_rank()} which does not belong to the given group.",
        stacklevel=3,
    )
    return None


# --------------------------------------------------------------------------------- making groups


def _limit(timeout: timedelta | None) -> float | None:
    """Seconds; the default is the default group's timeout."""
    if timeout is None:
        return None
    bootstrap.check_timeout(timeout)
    return timeout.total_seconds()


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

    Whoever passes other ranks than the first who came raises DistMismatch. With
    `use_local_synchronization` only the members call it. Ranks are numbered in ascending order, or
    as given with `sort_ranks=False`. A group uses the world's transport, whatever its `backend`.
    """
    made = groups.new_group(
        ranks, _limit(timeout), backend and Backend(backend), pg_options,
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
    made = groups.split_group(
        or_default(parent_pg), split_ranks, _limit(timeout), backend, pg_options, group_desc
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
    made = groups.shrink_group(
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
    """Groups of `group_size` neighbours each (default: the devices of a host)."""
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
    return new_subgroups_by_enumeration(parts, timeout, backend, pg_options, group_desc)


def new_subgroups_by_enumeration(
    ranks_per_subgroup_list: Sequence[Sequence[int]],
    timeout: timedelta | None = None,
    backend: str | None = None,
    pg_options: Any = None,
    group_desc: str | None = None,
) -> tuple[Any, list[Any]]:
    """One group for each list of ranks: this rank's own (or None), and all."""
    own, made = groups.new_subgroups(
        ranks_per_subgroup_list, _limit(timeout), backend, pg_options, group_desc
    )
    return _bound(own), [_bound(each) for each in made]


def _get_process_group_store(group: ProcessGroup) -> Store:
    return PrefixStore(f"group/{group.group_name}", group.world.store)


def _get_process_group_name(group: ProcessGroup) -> str:
    return group.group_name


def at_end(act: Callable[[], None]) -> None:
    """Call `act` when this rank's world ends."""
    world.current().at_end.append(act)
