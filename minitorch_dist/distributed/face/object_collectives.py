"""Lists of objects to and from all (how they travel: see `objects`). Keep them small.

What is sent has a size that only its sender knows; a receive without an array takes any. Each of
these is one direct exchange: every rank sends at most once to every other.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import numpy as np

from minitorch_dist.distributed import groups
from minitorch_dist.distributed.exceptions import DistMismatch, DistTimeout
from minitorch_dist.distributed.execution.operations import Operation
from minitorch_dist.distributed.face import objects
from minitorch_dist.distributed.face.collective_arguments import root_of
from minitorch_dist.distributed.face.membership import warn_not_in_group
from minitorch_dist.distributed.face.process_group import ProcessGroup, or_default
from minitorch_dist.distributed.mail.receives import Array
from minitorch_dist.distributed.mail.wire import Fingerprint


def _exchange(
    group: ProcessGroup,
    name: str,
    to: Sequence[Array | None],
    sources: Sequence[int],
    root: int = -1,
) -> dict[int, Any]:
    """Send `to[r]` to rank r, and take an object from each of `sources`; oneself included."""
    me, found = group.rank(), {}

    def body(operation: Operation) -> None:
        receives = {rank: operation.receive(rank, None) for rank in sources if rank != me}
        for turn in range(1, group.size()):
            rank = (me + turn) % group.size()
            part = to[rank]
            if part is not None:
                operation.send(rank, part)
        operation.wait(*receives.values())
        for rank in sources:
            own = to[me] if rank == me else None
            found[rank] = objects.from_bytes(receives[rank].octets if own is None else own.data)

    group.run(
        Fingerprint(name, np.dtype(np.uint8), root=group.ranks[root] if root >= 0 else -1), body
    )
    return found


def all_gather_object(object_list: list[Any], obj: Any, group: ProcessGroup | None = None) -> None:
    """Everybody's object into everybody's list, by rank."""
    if not groups.is_member(group):
        warn_not_in_group("all_gather_object")
        return
    which = or_default(group)
    _demand(len(object_list) == which.size(), "object_list", len(object_list), which)
    mine = objects.to_array(obj)
    found = _exchange(which, "all_gather_object", [mine] * which.size(), range(which.size()))
    for rank, value in found.items():
        object_list[rank] = value


def gather_object(
    obj: Any,
    object_gather_list: list[Any] | None = None,
    dst: int | None = None,
    group: ProcessGroup | None = None,
    group_dst: int | None = None,
) -> None:
    """Everybody's object into the root's list, by rank."""
    if not groups.is_member(group):
        warn_not_in_group("gather_object")
        return
    which = or_default(group)
    root = root_of(which, 0 if dst is None and group_dst is None else dst, group_dst)
    is_root = which.rank() == root
    if is_root and not object_gather_list:
        raise ValueError("Argument ``gather_list`` must be specified on destination rank.")
    if not is_root and object_gather_list:
        raise ValueError("Argument ``gather_list`` must NOT be specified on non-destination ranks.")
    if is_root and object_gather_list:
        given = len(object_gather_list)
        _demand(given == which.size(), "object_gather_list", given, which)
    to: list[Array | None] = [None] * which.size()
    to[root] = objects.to_array(obj)
    sources = range(which.size()) if is_root else ()
    for rank, value in _exchange(which, "gather_object", to, sources, root).items():
        assert object_gather_list is not None
        object_gather_list[rank] = value


def broadcast_object_list(
    object_list: list[Any],
    src: int | None = None,
    group: ProcessGroup | None = None,
    device: Any = None,
    group_src: int | None = None,
) -> None:
    """The root's list into everybody's."""
    if not groups.is_member(group):
        warn_not_in_group("broadcast_object_list")
        return
    which = or_default(group)
    root = root_of(which, 0 if src is None and group_src is None else src, group_src)
    is_root = which.rank() == root
    payload = objects.to_array(object_list) if is_root else None
    to = [payload] * which.size()
    found = _exchange(which, "broadcast_object_list", to, () if is_root else (root,), root)
    for value in found.values():
        if len(value) != len(object_list):
            raise DistMismatch(
                f"rank {which.ranks[root]} broadcast a list of {len(value)} objects, but "
                f"rank {which.world.rank} has a list of {len(object_list)} to fill: pass one with as many places"
            )
        object_list[:] = value


def scatter_object_list(
    scatter_object_output_list: list[Any],
    scatter_object_input_list: list[Any] | None = None,
    src: int | None = None,
    group: ProcessGroup | None = None,
    group_src: int | None = None,
) -> None:
    """The r-th object of the root's list to rank r, as the first of its output list."""
    if not groups.is_member(group):
        warn_not_in_group("scatter_object_list")
        return
    which = or_default(group)
    root = root_of(which, 0 if src is None and group_src is None else src, group_src)
    if not isinstance(scatter_object_output_list, list) or not scatter_object_output_list:
        raise ValueError(
            "Expected argument scatter_object_output_list to be a list of size at least 1."
        )
    to: list[Array | None] = [None] * which.size()
    if which.rank() == root:
        if scatter_object_input_list is None:
            raise ValueError("source rank must provide non-None scatter_object_input_list")
        given = len(scatter_object_input_list)
        _demand(given == which.size(), "scatter_object_input_list", given, which)
        to = [objects.to_array(value) for value in scatter_object_input_list]
    found = _exchange(which, "scatter_object_list", to, (root,), root)
    scatter_object_output_list[0] = found[root]


def _demand(fits: bool, name: str, given: int, group: ProcessGroup) -> None:
    if not fits:
        raise ValueError(f"{name} has {given} entries for a group of {group.size()} ranks")


def monitored_barrier(
    group: ProcessGroup | None = None,
    timeout: timedelta | None = None,
    wait_all_ranks: bool = False,
) -> None:
    """A barrier in which rank 0 of the group says who did not come within `timeout`: the first such
    rank, or with `wait_all_ranks` all of them. Everybody raises; the others wait for that verdict
    twice as long. A rank that is dead is not waited for: PeerLost, at once."""
    if not groups.is_member(group):
        warn_not_in_group("monitored_barrier")
        return
    which, nothing = or_default(group), np.empty(0, np.uint8)
    limit = which.timeout if timeout is None else timeout.total_seconds()

    def body(operation: Operation) -> None:
        if which.rank() != 0:
            operation.send(0, nothing)
            operation.wait(operation.receive(0, nothing, 1))
            return
        receives = [operation.receive(rank, nothing) for rank in range(1, which.size())]
        missing: list[int] = []
        for rank, receive in enumerate(receives, 1):
            try:
                operation.wait(receive)
            except DistTimeout:
                missing.append(which.ranks[rank])
                if not wait_all_ranks:
                    break
        if missing:
            raise DistTimeout(
                f"Rank{'s' if len(missing) > 1 else ''} {', '.join(map(str, missing))} failed to "
                f"pass monitoredBarrier in {(limit or 0) * 1000:.0f} ms"
            )
        for rank in range(1, which.size()):
            operation.send(rank, nothing, 1)

    patience = limit if which.rank() == 0 or limit is None else 2 * limit + 1
    which.run(Fingerprint("monitored_barrier"), body, timeout=patience)
