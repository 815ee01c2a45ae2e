"""The collectives on numpy arrays: how each of them is described, and how its arrays are cut.

Each function prepares its call, once for each kind of call, and runs it (see `prepared`). Ranks are group
ranks; arrays are contiguous. Tensors, and torch's names, are one layer up.

With every algorithm, an operation holds at most 1.25 times its own vector beyond the caller's arrays.
It writes only where it has to: reduce leaves other ranks' arrays alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Any, Final

import numpy as np

from minitorch_dist.distributed.execution.chunks import Vector
from minitorch_dist.distributed.groups import ProcessGroup
from minitorch_dist.distributed.mail import wire
from minitorch_dist.distributed.mail.receives import Array, PostponedCopy
from minitorch_dist.distributed.mail.wire import Fingerprint
from minitorch_dist.distributed.prepared import NOW, Algorithm, How, PreparedCall, prepare
from minitorch_dist.distributed.reductions import SUM, ReduceStep, average, scale
from minitorch_dist.distributed.schedules.schedule import Schedule
from minitorch_dist.distributed.work import Work

BARRIER: Final = Fingerprint("barrier")
TYPICAL: Final = 1 << 12  # bytes of a block in an all_to_all, as far as the choice of a schedule goes


def _even(count: int, itemsize: int, size: int, **more: Any) -> Callable[[Schedule], Vector]:
    """A vector in the chunks that the schedule wants."""
    return lambda schedule: Vector(tuple(schedule.sizes(size, count).tolist()), itemsize, **more)


@lru_cache
def _equal(count: int, size: int) -> tuple[int, ...]:
    """So many elements of each rank. One tuple for all ranks of a simulation."""
    return (count,) * size


def flat(array: Array) -> Array:
    """The array in one dimension."""
    return array if array.ndim == 1 else array.reshape(-1)


# ------------------------------------------------------------------------------ from one, to one


def broadcast(group: ProcessGroup, array: Array, root: int, how: How = NOW) -> Work | None:
    """All arrays become the root's."""
    prepared = prepare_broadcast(group, array, root, how.algorithm)
    return prepared.run({"work": flat(array)}, how=how)


def prepare_broadcast(group: ProcessGroup, array: Array, root: int, algorithm: Algorithm = None) -> PreparedCall:
    said = Fingerprint("broadcast", array.dtype, array.shape, root=group.ranks[root])
    vector = _even(array.size, array.itemsize, group.size())
    return prepare(group, "broadcast", said, array.nbytes, algorithm, vector, root)


def reduce(group: ProcessGroup, array: Array, root: int, op: ReduceStep = SUM, how: How = NOW) -> Work | None:
    """The root's array becomes the sum of all; the others' stay as they are."""
    said = Fingerprint("reduce", array.dtype, array.shape, op.name, group.ranks[root])
    is_root = group.rank() == root
    own = array if is_root or op.name != "premul_sum" else array.copy()
    in_place = is_root or own is not array
    results = None if in_place else ()
    vector = _even(array.size, array.itemsize, group.size(), in_place=in_place, results=results)
    prepared = prepare(group, "reduce", said, array.nbytes, how.algorithm, vector, root)
    return prepared.run(
        {"work" if in_place else "source": flat(own)},
        how=how,
        first=(lambda: scale(own, op)) if in_place else None,
        last=(lambda: average(own, op, group.size())) if is_root else None,
    )


def gather(
    group: ProcessGroup, array: Array, outputs: Sequence[Array] | None, root: int, how: How = NOW
) -> Work | None:
    """The root's `outputs` become all ranks' arrays; the others have none."""
    said = Fingerprint("gather", array.dtype, array.shape, root=group.ranks[root])
    size, rank = group.size(), group.rank()
    arrays: dict[Any, Array] = {("source", rank): flat(array)}
    vector = Vector((array.size,) * size, array.itemsize, False, source_list=True, results=())
    if outputs is not None:
        arrays |= {("work", peer): flat(out) for peer, out in enumerate(outputs)}
        vector = vector._replace(results=None, work_list=True)
    nbytes = array.nbytes * size
    prepared = prepare(group, "gather", said, nbytes, how.algorithm, lambda _: vector, root)
    own = None if outputs is None else outputs[rank]
    return prepared.run(arrays, how=how, first=lambda: _copy(own, array))


def scatter(
    group: ProcessGroup, array: Array, inputs: Sequence[Array] | None, root: int, how: How = NOW
) -> Work | None:
    """Each rank's array becomes its part of the root's `inputs`."""
    said = Fingerprint("scatter", array.dtype, array.shape, root=group.ranks[root])
    size, rank = group.size(), group.rank()
    arrays: dict[Any, Array] = {"work": flat(array)}
    vector = Vector((array.size,) * size, array.itemsize, False, True, results=(rank,))
    own: Array | None = None
    if inputs is not None:
        arrays |= {("source", peer): flat(part) for peer, part in enumerate(inputs)}
        own = inputs[rank]
    nbytes = array.nbytes * size
    prepared = prepare(group, "scatter", said, nbytes, how.algorithm, lambda _: vector, root)
    return prepared.run(arrays, how=how, first=lambda: _copy(array, own))


def _copy(into: Array | None, of: Array | None) -> None:
    if into is not None and of is not None and into is not of:
        flat(into)[:] = flat(of)


# ----------------------------------------------------------------------------------- from all, to all


def _extent(array: Array, sizes: tuple[int, ...]) -> tuple[int, ...]:
    """The size that ranks compare of a list of arrays: one's shape, or all sizes where they differ."""
    if len(set(sizes)) == 1:
        return tuple(array.shape)
    apart = [extent for size in sizes for extent in (size, wire.BETWEEN)][:-1]
    return wire.short(apart, sum(sizes))


def all_reduce(group: ProcessGroup, array: Array, op: ReduceStep = SUM, how: How = NOW) -> Work | None:
    """All arrays become the sum of all."""
    prepared = prepare_all_reduce(group, array, op, how.algorithm)
    return prepared.run(
        {"work": flat(array)},
        how=how,
        first=(lambda: scale(array, op)) if op.name == "premul_sum" else None,
        last=(lambda: average(array, op, group.size())) if op.name == "avg" else None,
    )


def prepare_all_reduce(
    group: ProcessGroup, array: Array, op: ReduceStep = SUM, algorithm: Algorithm = None
) -> PreparedCall:
    said = Fingerprint("all_reduce", array.dtype, array.shape, op.name)
    vector = _even(array.size, array.itemsize, group.size())
    return prepare(group, "all_reduce", said, array.nbytes, algorithm, vector)


def all_gather(group: ProcessGroup, array: Array, outputs: Sequence[Array], how: How = NOW) -> Work | None:
    """Each rank's `outputs` become all ranks' arrays, which may differ in size."""
    sizes = tuple(out.size for out in outputs)
    said = Fingerprint("all_gather", array.dtype, _extent(array, sizes))
    vector = Vector(sizes, array.itemsize, work_list=True)
    nbytes = sum(sizes) * array.itemsize
    algorithm = how.algorithm
    prepared = prepare(group, "all_gather", said, nbytes, algorithm, lambda _: vector, more=sizes)
    arrays: dict[Any, Array] = {("work", peer): flat(out) for peer, out in enumerate(outputs)}
    own = outputs[group.rank()]
    return prepared.run(arrays, how=how, first=lambda: _copy(own, array))


def all_gather_into(group: ProcessGroup, array: Array, output: Array, how: How = NOW) -> Work | None:
    """`output` becomes all ranks' arrays, one after the other."""
    prepared = prepare_all_gather_into(group, array, output, how.algorithm)
    return run_all_gather_into(prepared, array, output, how)


def prepare_all_gather_into(
    group: ProcessGroup, array: Array, output: Array, algorithm: Algorithm = None
) -> PreparedCall:
    said = Fingerprint("all_gather_into_tensor", array.dtype, array.shape)
    in_place = not group.is_on_board  # in messages what lies side by side goes out in one piece
    sizes = _equal(array.size, group.size())
    vector = Vector(sizes, array.itemsize, in_place, source_list=not in_place)
    return prepare(group, "all_gather", said, output.nbytes, algorithm, lambda _: vector)


def run_all_gather_into(prepared: PreparedCall, array: Array, output: Array, how: How = NOW) -> Work | None:
    rank, given, whole = prepared.rank, flat(array), flat(output)
    share = whole[rank * given.size : (rank + 1) * given.size]
    if not np.may_share_memory(whole, given):
        own = PostponedCopy(share, given)
        return prepared.run({"work": whole, ("source", rank): given}, own, how)
    # It lies in the output, to which the others' parts come: where it is not in its place, it goes first.
    is_there = share.ctypes.data == given.ctypes.data
    first = None if is_there else partial(_copy, share, given)
    return prepared.run({"work": whole, ("source", rank): share}, None, how, first)


def reduce_scatter(
    group: ProcessGroup, output: Array, inputs: Sequence[Array], op: ReduceStep = SUM, how: How = NOW
) -> Work | None:
    """`output` becomes the sum over the ranks of what each has for this rank in `inputs`."""
    sizes = tuple(part.size for part in inputs)
    arrays: dict[Any, Array] = {("source", rank): flat(part) for rank, part in enumerate(inputs)}
    said = Fingerprint("reduce_scatter", output.dtype, _extent(output, sizes), op.name)
    prepared = _prepare_reduce_scatter(group, said, output, sizes, True, how.algorithm)
    return _reduce_scatter(prepared, output, arrays, op, how)


def reduce_scatter_from(
    group: ProcessGroup, output: Array, array: Array, op: ReduceStep = SUM, how: How = NOW
) -> Work | None:
    """The same from one array, which holds the parts for all ranks one after the other."""
    prepared = prepare_reduce_scatter_from(group, output, op, how.algorithm)
    return _reduce_scatter(prepared, output, {"source": flat(array)}, op, how)


def prepare_reduce_scatter_from(
    group: ProcessGroup, output: Array, op: ReduceStep = SUM, algorithm: Algorithm = None
) -> PreparedCall:
    sizes = _equal(output.size, group.size())
    said = Fingerprint("reduce_scatter_tensor", output.dtype, output.shape, op.name)
    return _prepare_reduce_scatter(group, said, output, sizes, False, algorithm)


def _prepare_reduce_scatter(
    group: ProcessGroup, said: Fingerprint, output: Array, sizes: tuple[int, ...], is_list: bool, algorithm: Algorithm
) -> PreparedCall:
    vector = Vector(sizes, output.itemsize, False, is_list, results=(group.rank(),))
    nbytes = sum(sizes) * output.itemsize
    return prepare(group, "reduce_scatter", said, nbytes, algorithm, lambda _: vector, more=sizes)


def _reduce_scatter(
    prepared: PreparedCall, output: Array, arrays: dict[Any, Array], op: ReduceStep, how: How
) -> Work | None:
    size = prepared.size
    if op.name == "premul_sum":
        arrays = {name: part.copy() for name, part in arrays.items()}
    result = flat(output)
    if any(np.may_share_memory(result, part) for part in arrays.values()):
        result = np.empty_like(result)  # (part of) the input is still needed when it is written

    def first() -> None:
        for part in arrays.values():
            scale(part, op)
        if size == 1:
            _copy(result, *arrays.values())

    def last() -> None:
        average(result, op, size)
        if not np.may_share_memory(result, output):
            _copy(output, result)

    return prepared.run({**arrays, "work": result}, None, how, first, last)


def all_to_all(
    group: ProcessGroup, outputs: Sequence[Array], inputs: Sequence[Array], how: How = NOW, name: str = "all_to_all"
) -> Work | None:
    """`outputs[i]` becomes what rank i has for this rank in its `inputs`. Any sizes."""
    prepared = prepare_all_to_all(group, outputs, inputs, how.algorithm, name)
    return run_all_to_all(prepared, outputs, inputs, how)


def prepare_all_to_all(
    group: ProcessGroup,
    outputs: Sequence[Array],
    inputs: Sequence[Array],
    algorithm: Algorithm = None,
    name: str = "all_to_all",
) -> PreparedCall:
    itemsize = inputs[0].itemsize
    sizes = (*[part.size for part in inputs], *[part.size for part in outputs])
    said = Fingerprint(name, inputs[0].dtype)

    def vector(schedule: Schedule) -> Vector:
        if schedule.name in ("bruck", "rails") and len(set(sizes)) > 1:
            raise ValueError(
                f"the algorithm {schedule.name!r} passes blocks on through other ranks, which must know "
                f"their size: all must be equal, but {sorted(set(sizes))} elements were given"
            )
        return Vector(sizes, itemsize, False)

    # The others do not know this rank's sizes, and all must choose alike.
    nbytes = TYPICAL * group.size()
    return prepare(group, "all_to_all", said, nbytes, algorithm, vector, more=sizes)


def run_all_to_all(
    prepared: PreparedCall, outputs: Sequence[Array], inputs: Sequence[Array], how: How = NOW
) -> Work | None:
    arrays: dict[Any, Array] = {}
    for (source, work), given, taken in zip(_numbered(prepared.size), inputs, outputs, strict=True):
        arrays[source], arrays[work] = flat(given), flat(taken)
    rank = prepared.rank
    own = PostponedCopy(arrays["work", rank], arrays["source", rank])
    return prepared.run(arrays, own, how)


def run_all_to_all_of_one(prepared: PreparedCall, output: Array, array: Array) -> None:
    """Each of the two arrays has the parts for all ranks one after the other, all of one size."""
    given, taken = flat(array), flat(output)
    count, start = given.size // prepared.size, 0
    arrays: dict[Any, Array] = {}
    names = _numbered(prepared.size)
    for source, work in names:
        stop = start + count
        arrays[source], arrays[work] = given[start:stop], taken[start:stop]
        start = stop
    source, work = names[prepared.rank]
    prepared.run(arrays, PostponedCopy(arrays[work], arrays[source]))


@lru_cache(maxsize=16)
def _numbered(size: int) -> list[tuple[tuple[str, int], tuple[str, int]]]:
    """The names of the arrays that an all_to_all has for each peer."""
    return [(("source", peer), ("work", peer)) for peer in range(size)]


def barrier(group: ProcessGroup, how: How = NOW, said: Fingerprint = BARRIER) -> Work | None:
    """Return when every rank has called it."""
    return prepare_barrier(group, how.algorithm, said).run({}, how=how)


def prepare_barrier(group: ProcessGroup, algorithm: Algorithm = None, said: Fingerprint = BARRIER) -> PreparedCall:
    return prepare(group, "barrier", said, 0, algorithm, lambda _: Vector((), 1))
