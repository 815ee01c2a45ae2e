"""Membership: which rank am I, of how many, in which group, over which backend?

torch's functions that only ask. A group of None is the whole world.
"""

from __future__ import annotations

from minitorch_dist.distributed import backends, groups, world
from minitorch_dist.distributed.backends import Backend
from minitorch_dist.distributed.groups import ProcessGroup, resolve
from minitorch_dist.tensors import devices
from transports.stores.store import Store


def is_available() -> bool:
    return True


def is_initialized() -> bool:
    """Whether this rank has a default group.

    Returns:
        True between `init_process_group` and `destroy_process_group`.

    Example:
        >>> dist.is_initialized()
        False
    """
    return world.is_here()


is_nccl_available = backends.is_nccl_available


def _get_default_group() -> ProcessGroup:
    return resolve(None)


def _get_default_store() -> Store:
    if world.current().trace is not None:
        world.current().trace.refuse("the program uses the store")
    return world.current().store


def get_rank(group: ProcessGroup | None = None) -> int:
    """This rank in the group, or in the world.

    Args:
        group: The group; None is the world.

    Returns:
        The number of this rank, from 0; -1 if it is not in the group.

    Example:
        >>> sim.run(dist.get_rank, 3).results
        [0, 1, 2]
    """
    if not groups.is_member(group):
        return -1
    default = _get_default_group()
    rank = default.channel.rank
    found = rank if group is None else get_group_rank(group, rank)
    if default.world.trace is not None:
        found = default.world.trace.asked(default if group is None else group, found)
    return found


def get_world_size(group: ProcessGroup | None = None) -> int:
    """The number of ranks of the group, or of the world.

    Args:
        group: The group; None is the world.

    Returns:
        How many ranks there are; -1 if this rank is not in the group.

    Example:
        >>> sim.run(dist.get_world_size, 3).results
        [3, 3, 3]
    """
    return resolve(group).size() if groups.is_member(group) else -1


def get_group_rank(group: ProcessGroup, global_rank: int) -> int:
    """The rank within the group of a rank of the world."""
    return groups.group_rank_of(_known(group), global_rank)


def get_global_rank(group: ProcessGroup, group_rank: int) -> int:
    """The rank in the world of a rank of the group."""
    return groups.global_rank_of(_known(group), group_rank)


def get_process_group_ranks(group: ProcessGroup | None) -> list[int]:
    """The ranks of the world that are in the group, by group rank. KeyError for what is no group, as in torch."""
    if group is not None and not isinstance(group, ProcessGroup):
        raise KeyError(f"{group!r} is no process group" if groups.is_member(group) else groups.IS_OUTSIDE)
    return list(resolve(group).ranks)


def _known(group: ProcessGroup) -> ProcessGroup:
    if isinstance(group, ProcessGroup) and not group.is_closed:
        return group
    raise ValueError(f"Group {group} is not registered, please create group with torch.distributed.new_group API")


def get_backend(group: ProcessGroup | None = None) -> str:
    """The name under which the group's backend was asked for.

    Args:
        group: The group; None is the world.

    Returns:
        A name such as "tcp"; of simulated ranks "sim".

    Example:
        >>> sim.run(dist.get_backend, 1).results
        ['sim']
    """
    if not groups.is_member(group):
        raise ValueError("Invalid process group specified")
    which = resolve(group)
    if which.is_closed:
        raise ValueError(
            f"Process group {which} is not initialized in the world group map. Please initialize the group first."
        )
    return Backend(which.backend)


def get_default_backend_for_device(device: str | devices.device) -> str:
    kind = device.type if isinstance(device, devices.device) else devices.device(device).type
    found = Backend.default_device_backend_map.get(kind)
    if found is None:
        raise ValueError(f"Default backend not registered for device : {device}")
    return found
