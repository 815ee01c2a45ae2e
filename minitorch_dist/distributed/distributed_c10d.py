"""Beginning and ending a world, under torch's names: `init_process_group` and its kin.

torch has in this module what we have in three: `membership` asks who is where, and `subgroups` makes
groups of some ranks. Their names are here too.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from minitorch_dist.distributed import backends, bootstrap, groups, rendezvous, world
from minitorch_dist.distributed.backends import Backend
from minitorch_dist.distributed.groups import GroupMember, ProcessGroup, group, resolve
from minitorch_dist.distributed.torch_api.membership import (
    _get_default_group as _get_default_group,
    _get_default_store as _get_default_store,
    get_backend as get_backend,
    get_default_backend_for_device as get_default_backend_for_device,
    get_global_rank as get_global_rank,
    get_group_rank as get_group_rank,
    get_process_group_ranks as get_process_group_ranks,
    get_rank as get_rank,
    get_world_size as get_world_size,
    is_available as is_available,
    is_initialized as is_initialized,
    is_nccl_available as is_nccl_available,
)
from minitorch_dist.distributed.torch_api.subgroups import (
    new_group as new_group,
    new_subgroups_by_enumeration as new_subgroups_by_enumeration,
)
from minitorch_dist.inventory import not_offered
from minitorch_dist.tensors import devices
from transports.stores.store import Store

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
    """Join the world: find the other ranks, connect to all of them, and make the default group.

    Args:
        backend: A transport (`tcp`, `file`, `mqtt`, …) or its address. `gloo` means `tcp`.
        init_method: The address of the meeting place (see `rendezvous`). The default is `env://`.
        timeout: The time limit of this call and of every later operation, 30 minutes by default.
        world_size: The number of ranks, if `init_method` does not say it.
        rank: The number of this rank, if `init_method` does not say it.
        store: A store that all ranks share, instead of `init_method`.
        group_name: Accepted as in torch; it changes nothing.
        pg_options: Options of the backend; the transports here have none.
        device_id: The simulated device of this rank.

    Raises:
        DistTimeout: A rank did not come in time; the error names it.

    Example:
        >>> def program():
        ...     return dist.is_initialized(), dist.get_world_size()
        >>> sim.run(program, 2).results  # a simulated rank has its world already
        [(True, 2), (True, 2)]
    """
    init_method = bootstrap.check_arguments(init_method, store, world_size, rank)
    device = _checked(device_id)
    if backend is None and device is not None:
        backend = Backend.default_device_backend_map.get(device.type)
    try:
        here = bootstrap.init(backend, init_method, timeout, world_size, rank, store, pg_options)
    except ValueError as error:
        if rendezvous.START in str(error):  # started alone: our frames would only hide the caller's line
            raise error.with_traceback(None) from None
        raise
    here.default_group.bound_device_id = device


def _checked(device_id: devices.device | int | None) -> devices.device | None:
    """The device that this rank is bound to; torch's errors if it cannot be."""
    device = devices.device("cuda", device_id) if isinstance(device_id, int) else device_id
    if device is None or device.type == "cpu":
        return device
    if device.type != "cuda" or device.index is None or device.index >= devices.count():
        raise ValueError(
            f"device_id {device} is none of the {devices.count()} devices here. Give the index of one; "
            "MINITORCH_DIST_DEVICES=4x80GB simulates four"
        )
    return device


def destroy_process_group(group: ProcessGroup | None = None) -> None:
    """End a group; None (or the default group) ends the world and all groups.

    Args:
        group: The group to end.

    Example:
        >>> def program():
        ...     dist.destroy_process_group()
        ...     return dist.is_initialized()
        >>> sim.run(program, 2).results
        [False, False]
    """
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
    if group not in here.groups.values():
        raise ValueError("Invalid process group specified")
    group.shutdown()
    group.join()


def _set_pg_timeout(timeout: timedelta, group: ProcessGroup | None = None) -> None:
    bootstrap.check_timeout(timeout)
    resolve(group).set_timeout(timeout)


not_offered.guard(globals())
