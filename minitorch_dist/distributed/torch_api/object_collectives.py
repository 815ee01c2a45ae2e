"""Lists of objects to and from all (how they travel: see `objects`). Keep them small.

They go by the schedules of their collectives: an all_gather by Bruck's, what has a root by a binomial
tree. So P ranks send P lg P messages, or P-1. Only its owner knows how long an object is. So a chunk
travels with its length before it, and a receive takes any number of bytes.
"""

from __future__ import annotations

import struct
import warnings
from collections.abc import Iterable, Iterator
from datetime import timedelta
from typing import Any, Final

import numpy as np

from minitorch_dist.distributed import bootstrap
from minitorch_dist.distributed.exceptions import DistMismatch, DistTimeout
from minitorch_dist.distributed.execution.operations import CollectiveOperation
from minitorch_dist.distributed.groups import ProcessGroup, joined
from minitorch_dist.distributed.mail.wire import Fingerprint
from minitorch_dist.distributed.schedules import BUILT_IN
from minitorch_dist.distributed.schedules.schedule import Schedule
from minitorch_dist.distributed.torch_api import objects
from minitorch_dist.distributed.torch_api.collective_arguments import check_at_root, root_of

_LENGTH: Final = struct.Struct("<Q")


def travel(
    group: ProcessGroup, name: str, schedule: Schedule, chunks: dict[int, bytes], root: int = -1
) -> dict[int, bytes | memoryview]:
    """Carry out a schedule; all chunks that this rank has then, of which it had `chunks` before."""
    if group.world.trace is not None:
        found: dict[int, bytes | memoryview] = group.world.trace.objects(group, name, schedule, chunks, root)
        return found
    size, held = group.size(), dict[int, bytes | memoryview](chunks)
    total = schedule.total(size)

    def body(operation: CollectiveOperation) -> None:
        for step in schedule.plain(group.rank(), size, max(root, 0)):
            receive = None if step.source is None else operation.receive(step.source, None)
            if step.to is not None:
                operation.send(step.to, _joined(held[chunk % total] for chunk in step.sent))
            if receive is not None:
                operation.wait(receive)
                taken = [chunk % total for chunk in step.taken]
                held.update(zip(taken, _cut(receive.octets), strict=True))

    group.run(Fingerprint(name, np.dtype(np.uint8), root=group.ranks[root] if root >= 0 else -1), body)
    return held


def _joined(chunks: Iterable[bytes | memoryview]) -> bytes:
    return b"".join(part for chunk in chunks for part in (_LENGTH.pack(len(chunk)), chunk))


def _cut(message: memoryview | bytes) -> Iterator[memoryview]:
    rest = memoryview(message)
    while rest:
        (length,) = _LENGTH.unpack_from(rest)
        end = _LENGTH.size + length
        yield rest[_LENGTH.size : end]
        rest = rest[end:]


def all_gather_object(object_list: list[Any], obj: Any, group: ProcessGroup | None = None) -> None:
    """Everybody's object into everybody's list, by rank.

    Args:
        object_list: A list with a place for each rank.
        obj: The object of this rank: plain values, arrays and tensors travel without pickle.
        group: The ranks that take part. None means all ranks.

    Raises:
        DistMismatch: Another rank called something else, or with another shape or dtype.

    Example:
        >>> def program():
        ...     names = [None, None]
        ...     dist.all_gather_object(names, f"rank {dist.get_rank()}")
        ...     return names
        >>> sim.run(program, 2).results[1]
        ['rank 0', 'rank 1']
    """
    if (which := joined(group, "all_gather_object")) is None:
        return
    objects.check_list(object_list, "object_list")
    _demand_all("object_list", object_list, which)
    mine = {which.rank(): objects.to_bytes(obj)}
    found = travel(which, "all_gather_object", BUILT_IN["all_gather", "bruck"], mine)
    for rank, octets in found.items():
        object_list[rank] = objects.from_bytes(octets)


def gather_object(
    obj: Any,
    object_gather_list: list[Any] | None = None,
    dst: int | None = None,
    group: ProcessGroup | None = None,
    group_dst: int | None = None,
) -> None:
    """Everybody's object into the root's list, by rank.

    Args:
        obj: The object of this rank.
        object_gather_list: On the root a list with a place for each rank; elsewhere None.
        dst: The root's rank in the world, 0 by default.
        group: The ranks that take part. None means all ranks.
        group_dst: The root's rank in the group, instead of `dst`.

    Raises:
        DistMismatch: Another rank called something else, or with another shape or dtype.

    Example:
        >>> def program():
        ...     found = [None, None] if dist.get_rank() == 0 else None
        ...     dist.gather_object(dist.get_rank() ** 2, found, dst=0)
        ...     return found
        >>> sim.run(program, 2).results
        [[0, 1], None]
    """
    if (which := joined(group, "gather_object")) is None:
        return
    root = root_of(which, dst, group_dst, 0)
    check_at_root("object_gather_list", object_gather_list, which.rank() == root)
    if object_gather_list:
        _demand_all("object_gather_list", object_gather_list, which)
    mine = {which.rank(): objects.to_bytes(obj)}
    found = travel(which, "gather_object", BUILT_IN["gather", "binomial"], mine, root)
    if object_gather_list:
        object_gather_list[:] = [objects.from_bytes(found[rank]) for rank in range(which.size())]


def broadcast_object_list(
    object_list: list[Any],
    src: int | None = None,
    group: ProcessGroup | None = None,
    device: Any = None,
    group_src: int | None = None,
) -> None:
    """The root's list into everybody's.

    Args:
        object_list: On the root the objects, elsewhere a list of the same length.
        src: The root's rank in the world, 0 by default.
        group: The ranks that take part. None means all ranks.
        device: Accepted as in torch; it changes nothing.
        group_src: The root's rank in the group, instead of `src`.

    Raises:
        DistMismatch: Another rank called something else, or with another shape or dtype.

    Example:
        >>> def program():
        ...     settings = [{"lr": 0.1}] if dist.get_rank() == 0 else [None]
        ...     dist.broadcast_object_list(settings, src=0)
        ...     return settings[0]["lr"]
        >>> sim.run(program, 2).results
        [0.1, 0.1]
    """
    if (which := joined(group, "broadcast_object_list")) is None:
        return
    root = root_of(which, src, group_src, 0)
    is_root = which.rank() == root
    objects.check_list(object_list, "object_list")
    mine = {0: objects.to_bytes(object_list)} if is_root else {}
    found = travel(which, "broadcast_object_list", BUILT_IN["broadcast", "binomial"], mine, root)
    if not is_root:
        value = objects.from_bytes(found[0])
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
    """The r-th object of the root's list to rank r, as the first of its output list.

    Args:
        scatter_object_output_list: A list with at least one place.
        scatter_object_input_list: On the root the objects, one for each rank; elsewhere None.
        src: The root's rank in the world, 0 by default.
        group: The ranks that take part. None means all ranks.
        group_src: The root's rank in the group, instead of `src`.

    Raises:
        DistMismatch: Another rank called something else, or with another shape or dtype.

    Example:
        >>> def program():
        ...     mine = [None]
        ...     dist.scatter_object_list(mine, ["a", "b"] if dist.get_rank() == 0 else None, src=0)
        ...     return mine[0]
        >>> sim.run(program, 2).results
        ['a', 'b']
    """
    if (which := joined(group, "scatter_object_list")) is None:
        return
    root = root_of(which, src, group_src, 0)
    if not isinstance(scatter_object_output_list, list) or not scatter_object_output_list:
        raise ValueError("Expected argument scatter_object_output_list to be a list of size at least 1.")
    mine: dict[int, bytes] = {}
    if which.rank() == root:
        if scatter_object_input_list is None:
            raise ValueError("source rank must provide non-None scatter_object_input_list")
        _demand_all("scatter_object_input_list", scatter_object_input_list, which)
        mine = {r: objects.to_bytes(value) for r, value in enumerate(scatter_object_input_list)}
    found = travel(which, "scatter_object_list", BUILT_IN["scatter", "binomial"], mine, root)
    scatter_object_output_list[0] = objects.from_bytes(found[which.rank()])


def _demand_all(name: str, given: list[Any], group: ProcessGroup) -> None:
    if len(given) != group.size():
        raise ValueError(f"{name} has {len(given)} entries for a group of {group.size()} ranks")


def monitored_barrier(
    group: ProcessGroup | None = None, timeout: timedelta | float | None = None, wait_all_ranks: bool = False
) -> None:
    """A barrier in which rank 0 of the group names the ranks that did not come in time.

    All ranks raise; those that wait for rank 0's verdict wait twice as long. A rank that is dead is not waited for.

    Args:
        group: The ranks that take part. None means all ranks.
        timeout: The time limit, as a timedelta or in seconds; None is the group's.
        wait_all_ranks: Name all ranks that are missing, and not only the first.

    Raises:
        RuntimeError: A rank did not come; the text names it.
        PeerLost: A rank is dead.

    Example:
        >>> def program():
        ...     if dist.get_rank() != 1:
        ...         try:
        ...             dist.monitored_barrier(timeout=1.0)
        ...         except RuntimeError as error:
        ...             return "1" in str(error)
        ...     else:
        ...         sim.compute(5.0)
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("ignore")
        ...     sim.run(program, 3).results
        [True, None, True]
    """
    if (which := joined(group, "monitored_barrier")) is None:
        return
    nothing, limit = np.empty(0, np.uint8), which.timeout
    if timeout is not None:
        if isinstance(timeout, float):
            warnings.warn(
                "Please specify timeout arg as a timedelta. "
                f"Converting current value of {timeout} assuming it represents seconds",
                stacklevel=2,
            )
            timeout = timedelta(seconds=timeout)
        bootstrap.check_timeout(timeout)
        limit = timeout.total_seconds()

    def body(operation: CollectiveOperation) -> None:
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
