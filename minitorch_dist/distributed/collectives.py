"""The collectives on numpy arrays: from a call to a plan, and through a group's channel.

Each function begins the group's next operation, with what it is about as its fingerprint, chooses a
schedule (`schedules.choice`), has it planned (`plan`) and carried out (`executor`). Ranks are group
ranks; arrays are contiguous. Tensors, and torch's names, are one floor up.

Whatever the algorithm, no operation holds more than 1.25 times its own vector beyond what the caller
gave it, and what it does not have to write it does not write: reduce leaves other ranks' arrays
alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from minitorch_dist.distributed import executor
from minitorch_dist.distributed.groups import Group
from minitorch_dist.distributed.operations import Operation
from minitorch_dist.distributed.plan import Vector, plan
from minitorch_dist.distributed.receives import Array
from minitorch_dist.distributed.reductions import COMBINES
from minitorch_dist.distributed.schedules.choice import DECLARED, choose
from minitorch_dist.distributed.schedules.links import Links
from minitorch_dist.distributed.schedules.schedule import Schedule, even
from minitorch_dist.distributed.wire import Fingerprint
from minitorch_dist.distributed.work import Work

Algorithm = str | Schedule | None


class How(NamedTuple):
    """What all collectives take besides their arrays."""

    algorithm: Algorithm = None
    asynchronous: bool = False
    output: Any = None  # what the Work hands out
    written: Callable[[], None] | None = None  # called when the results are there
    timeout: float | None = None


NOW: Final = How()


class Reduction(NamedTuple):
    """A reduce op by its name in the core, with its factor."""

    name: str = "sum"
    factor: Any = None


SUM: Final = Reduction()


def links_of(group: Group) -> Links:
    """What this group's messages cost: declared for its transport, or measured (`measure`)."""
    found = group.world.extras.get("links")
    if found is None:
        found = DECLARED.get(group.world.transport.scheme, Links())
    assert isinstance(found, Links)
    return found


class _Call:
    """One collective call, on its way to the executor."""

    def __init__(self, group: Group, collective: str, name: str, nbytes: int, how: How) -> None:
        self.group, self.how = group, how
        self.rank, self.size = group.rank(), group.size()
        self.name = name
        self.schedule = choose(collective, self.size, nbytes, links_of(group), how.algorithm)

    def run(
        self,
        fingerprint: Fingerprint,
        vector: Vector,
        arrays: dict[Any, Array],
        reduction: Reduction | None = None,
        root: int | None = None,
        first: Callable[[], None] | None = None,
        last: Callable[[], None] | None = None,
    ) -> Work | None:
        combine = COMBINES[reduction.name] if reduction is not None else None
        how = self.how
        fingerprint = fingerprint._replace(algorithm=self.schedule.algorithm)

        def body(operation: Operation) -> None:
            if first is not None:
                first()
            steps = plan(self.schedule, self.rank, self.size, root, vector)
            executor.execute(operation, steps, arrays, combine)
            if last is not None:
                last()
            if how.written is not None:
                how.written()

        return self.group.run(fingerprint, body, how.asynchronous, how.output, how.timeout)

    def chunks(self, count: int) -> tuple[int, ...]:
        return tuple(self.schedule.sizes(self.size, count).tolist())


def _flat(array: Array) -> Array:
    return array.reshape(-1)


def _scaled(array: Array, reduction: Reduction) -> None:
    """Multiply one's own values with the factor, before they are added."""
    if reduction.name == "premul_sum":
        with np.errstate(all="ignore"):
            np.multiply(array, _like(reduction.factor, array), out=array, casting="unsafe")


def _averaged(array: Array, reduction: Reduction, size: int) -> None:
    if reduction.name == "avg":
        with np.errstate(all="ignore"):
            np.divide(array, array.dtype.type(size), out=array)


def _like(factor: Any, array: Array) -> Any:
    return array.dtype.type(factor) if np.ndim(factor) == 0 else np.asarray(factor, array.dtype)


# ------------------------------------------------------------------------------ from one, to one


def broadcast(group: Group, array: Array, root: int, how: How = NOW) -> Work | None:
    """All arrays become the root's."""
    call = _Call(group, "broadcast", "broadcast", array.nbytes, how)
    vector = Vector(call.chunks(array.size), array.itemsize)
    said = Fingerprint("broadcast", array.dtype, array.shape, root=group.ranks[root])
    return call.run(said, vector, {"work": _flat(array)}, root=root)


def reduce(
    group: Group, array: Array, root: int, op: Reduction = SUM, how: How = NOW
) -> Work | None:
    """The root's array becomes the sum of all; the others' stay as they are."""
    call = _Call(group, "reduce", "reduce", array.nbytes, how)
    said = Fingerprint("reduce", array.dtype, array.shape, op.name, group.ranks[root])
    is_root = call.rank == root
    own = array if is_root or op.name != "premul_sum" else array.copy()
    in_place = is_root or own is not array
    vector = Vector(
        call.chunks(array.size), array.itemsize, in_place, results=None if in_place else ()
    )
    return call.run(
        said, vector, {"work" if in_place else "source": _flat(own)}, op, root,
        first=lambda: _scaled(own, op) if in_place else None,
        last=lambda: _averaged(own, op, call.size) if is_root else None,
    )  # fmt: skip


def gather(
    group: Group, array: Array, outputs: Sequence[Array] | None, root: int, how: How = NOW
) -> Work | None:
    """The root's `outputs` become all ranks' arrays; the others have none."""
    call = _Call(group, "gather", "gather", array.nbytes * group.size(), how)
    said = Fingerprint("gather", array.dtype, array.shape, root=group.ranks[root])
    sizes = (array.size,) * call.size
    arrays: dict[Any, Array] = {("source", call.rank): _flat(array)}
    vector = Vector(sizes, array.itemsize, False, source_list=True, results=())
    if outputs is not None:
        arrays |= {("work", rank): _flat(out) for rank, out in enumerate(outputs)}
        vector = vector._replace(results=None, work_list=True)
    own = None if outputs is None else outputs[call.rank]
    return call.run(said, vector, arrays, root=root, first=lambda: _copy(own, array))


def scatter(
    group: Group, array: Array, inputs: Sequence[Array] | None, root: int, how: How = NOW
) -> Work | None:
    """Each rank's array becomes its part of the root's `inputs`."""
    call = _Call(group, "scatter", "scatter", array.nbytes * group.size(), how)
    said = Fingerprint("scatter", array.dtype, array.shape, root=group.ranks[root])
    sizes = (array.size,) * call.size
    arrays: dict[Any, Array] = {"work": _flat(array)}
    vector = Vector(sizes, array.itemsize, False, source_list=True, results=(call.rank,))
    own: Array | None = None
    if inputs is not None:
        arrays |= {("source", rank): _flat(part) for rank, part in enumerate(inputs)}
        own = inputs[call.rank]
    return call.run(
        said, vector, arrays, root=root,
        first=lambda: None if own is None else _copy(array, own),
    )  # fmt: skip


def _copy(into: Array | None, of: Array) -> None:
    if into is not None and into is not of:
        _flat(into)[:] = _flat(of)


# ----------------------------------------------------------------------------------- from all, to all


def all_reduce(
    group: Group, array: Array, op: Reduction = SUM, how: How = NOW, name: str = "all_reduce"
) -> Work | None:
    """All arrays become the sum of all."""
    call = _Call(group, "all_reduce", name, array.nbytes, how)
    vector = Vector(call.chunks(array.size), array.itemsize)
    return call.run(
        Fingerprint(name, array.dtype, array.shape, op.name), vector, {"work": _flat(array)}, op,
        first=lambda: _scaled(array, op), last=lambda: _averaged(array, op, call.size),
    )  # fmt: skip


def all_gather(group: Group, array: Array, outputs: Sequence[Array], how: How = NOW) -> Work | None:
    """Each rank's `outputs` become all ranks' arrays, which may differ in size."""
    sizes = tuple(out.size for out in outputs)
    call = _Call(group, "all_gather", "all_gather", sum(sizes) * array.itemsize, how)
    shape = array.shape if len(set(sizes)) == 1 else (sum(sizes),)
    vector = Vector(sizes, array.itemsize, work_list=True)
    arrays: dict[Any, Array] = {("work", rank): _flat(out) for rank, out in enumerate(outputs)}
    return call.run(
        Fingerprint("all_gather", array.dtype, shape), vector, arrays,
        first=lambda: _copy(outputs[call.rank], array),
    )  # fmt: skip


def all_gather_into(group: Group, array: Array, output: Array, how: How = NOW) -> Work | None:
    """`output` becomes all ranks' arrays, one after the other."""
    call = _Call(group, "all_gather", "all_gather_into_tensor", output.nbytes, how)
    vector = Vector((array.size,) * call.size, array.itemsize)
    flat = _flat(output)
    own = flat[call.rank * array.size : (call.rank + 1) * array.size]
    return call.run(
        Fingerprint("all_gather_into_tensor", array.dtype, array.shape), vector, {"work": flat},
        first=lambda: None if np.shares_memory(own, array) else _copy(own, array),
    )  # fmt: skip


def reduce_scatter(
    group: Group, output: Array, inputs: Sequence[Array], op: Reduction = SUM, how: How = NOW
) -> Work | None:
    """`output` becomes the sum over the ranks of what each has for this rank in `inputs`."""
    sizes = tuple(part.size for part in inputs)
    arrays = {("source", rank): _flat(part) for rank, part in enumerate(inputs)}
    shape = output.shape if len(set(sizes)) == 1 else (sum(sizes),)
    said = Fingerprint("reduce_scatter", output.dtype, shape, op.name)
    return _reduce_scatter(group, said, output, arrays, sizes, op, how)


def reduce_scatter_from(
    group: Group, output: Array, array: Array, op: Reduction = SUM, how: How = NOW
) -> Work | None:
    """The same from one array, which holds the parts for all ranks one after the other."""
    sizes = (output.size,) * group.size()
    said = Fingerprint("reduce_scatter_tensor", output.dtype, output.shape, op.name)
    return _reduce_scatter(group, said, output, {"source": _flat(array)}, sizes, op, how)


def _reduce_scatter(
    group: Group, said: Fingerprint, output: Array, arrays: dict[Any, Array],
    sizes: tuple[int, ...], op: Reduction, how: How,
) -> Work | None:  # fmt: skip
    call = _Call(group, "reduce_scatter", said.operation, sum(sizes) * output.itemsize, how)
    rank = call.rank
    own = arrays.get(("source", rank))
    if own is None:
        own = arrays["source"][rank * output.size : (rank + 1) * output.size]
    result = _flat(output)
    if np.shares_memory(result, own) and call.size > 1:
        result = np.empty_like(result)  # (part of) the input is still needed when it is written
    if op.name == "premul_sum":
        arrays = {name: part.copy() for name, part in arrays.items()}

    def first() -> None:
        for part in arrays.values():
            _scaled(part, op)
        if call.size == 1:
            _copy(result, next(iter(arrays.values()), own))

    def last() -> None:
        _averaged(result, op, call.size)
        _copy(_flat(output), result)

    vector = Vector(
        sizes, output.itemsize, False, source_list="source" not in arrays, results=(rank,)
    )
    return call.run(said, vector, {**arrays, "work": result}, op, first=first, last=last)


def all_to_all(
    group: Group, outputs: Sequence[Array], inputs: Sequence[Array], how: How = NOW,
    name: str = "all_to_all",
) -> Work | None:  # fmt: skip
    """`outputs[i]` becomes what rank i has for this rank in its `inputs`. Any sizes."""
    itemsize = inputs[0].itemsize
    into, out = [part.size for part in outputs], [part.size for part in inputs]
    call = _Call(group, "all_to_all", name, sum(out) * itemsize, how)
    if call.schedule.name == "bruck" and len({*into, *out}) > 1:
        raise ValueError(
            "the algorithm 'bruck' passes blocks on through other ranks, which must know their "
            f"size: all must be equal, but {sorted({*into, *out})} elements were given"
        )
    arrays: dict[Any, Array] = {("source", rank): _flat(part) for rank, part in enumerate(inputs)}
    arrays |= {("work", rank): _flat(part) for rank, part in enumerate(outputs)}
    return call.run(
        Fingerprint(name, inputs[0].dtype), Vector((*out, *into), itemsize, False), arrays,
        first=lambda: _copy(outputs[call.rank], inputs[call.rank]),
    )  # fmt: skip


def barrier(group: Group, how: How = NOW, name: str = "barrier") -> Work | None:
    """Return when every rank has called it."""
    call = _Call(group, "barrier", name, 0, how)
    return call.run(Fingerprint(name), Vector((), 1), {})


def even_parts(count: int, size: int) -> list[int]:
    """How `count` elements are cut for `size` ranks where nothing else is said."""
    return [int(part) for part in even(count, size)]
