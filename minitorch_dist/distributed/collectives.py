"""The collectives on numpy arrays: from a call to a plan, and through a group's channel.

Each function begins the group's next operation, with what it is about as its fingerprint, chooses a
schedule (`schedules.choice`), has it planned (`planner`) and carried out (`executor`). Ranks are group
ranks; arrays are contiguous. Tensors, and torch's names, are one floor up.

Whatever the algorithm, no operation holds more than 1.25 times its own vector beyond what the caller
gave it, and what it does not have to write it does not write: reduce leaves other ranks' arrays
alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple, Protocol

import numpy as np

from minitorch_dist.distributed import repeated
from minitorch_dist.distributed.execution import lending
from minitorch_dist.distributed.execution.operations import Operation
from minitorch_dist.distributed.execution.plan import Vector
from minitorch_dist.distributed.execution.planner import plan
from minitorch_dist.distributed.groups import Group
from minitorch_dist.distributed.mail import wire
from minitorch_dist.distributed.mail.receives import Array, Own
from minitorch_dist.distributed.mail.wire import Fingerprint
from minitorch_dist.distributed.reductions import COMBINES, Combine
from minitorch_dist.distributed.repeated import Kind, Recipe
from minitorch_dist.distributed.schedules import choice
from minitorch_dist.distributed.schedules.choice import DECLARED
from minitorch_dist.distributed.schedules.links import Links
from minitorch_dist.distributed.schedules.schedule import Schedule
from minitorch_dist.distributed.work import Work

Algorithm = str | Schedule | None


class How(NamedTuple):
    """What all collectives take besides their arrays."""

    algorithm: Algorithm = None
    asynchronous: bool = False
    output: Any = None  # what the Work hands out
    written: Callable[[], None] | None = None  # called when the results are there
    timeout: float | None = None
    again: Any = None  # the key under which the next call of this kind will look (see `repeated`)


NOW: Final = How()
Parts = tuple[int, ...] | None  # the sizes of several tensors that lie side by side in one array
BARRIER: Final = Fingerprint("barrier")
COALESCED: Final = {
    "all_reduce": "all_reduce_coalesced",
    "all_gather_into_tensor": "all_gather_coalesced",
    "reduce_scatter_tensor": "reduce_scatter_coalesced",
}
KEPT: Final = 4096  # recipes of a world


class Reduction(NamedTuple):
    """A reduce op by its name in the core, with its factor."""

    name: str = "sum"
    factor: Any = None


SUM: Final = Reduction()


class Engine(Protocol):
    """Another way to carry out collectives. A world may have one, as `extras["engine"]`: then it
    makes the recipes of that world, and carries them out."""

    def recipe(
        self, group: Group, collective: str, said: Fingerprint, nbytes: int, how: How,
        vector: Callable[[Schedule], Vector], root: int | None, more: Any,
    ) -> Any: ...  # fmt: skip

    def execute(
        self, group: Group, operation: Operation, recipe: Any, arrays: dict[Any, Array],
        combine: Combine | None,
    ) -> None: ...  # fmt: skip


def links_of(group: Group) -> Links:
    """What this group's messages cost: declared for its transport, or measured (see `measuring`)."""
    found = group.world.extras.get("links")
    if found is None:
        found = DECLARED.get("board" if group.board else group.world.transport.scheme, Links())
    assert isinstance(found, Links)
    return found


def _recipe(
    group: Group,
    collective: str,
    said: Fingerprint,
    nbytes: int,
    how: How,
    vector: Callable[[Schedule], Vector],
    root: int | None = None,
    more: Any = None,
) -> Recipe:
    """The recipe for this kind of call. `more`: what `vector` depends on beside `said`.

    The environment is read when a kind of call is met for the first time.
    """
    engine: Engine | None = group.world.extras.get("engine")
    if engine is not None:
        own: Recipe = engine.recipe(group, collective, said, nbytes, how, vector, root, more)
        return own
    kept: dict[Any, Recipe] = group.world.extras.setdefault("recipes", {})
    key = group.group_name, said, how.algorithm, more, choice.version()
    found = kept.get(key)
    if found is None:
        size = group.size()
        links, board = links_of(group), group.board
        schedule = choice.choose(
            collective, size, nbytes, links, how.algorithm, on_board=board is not None
        )
        cut = vector(schedule)
        if group.lends and lending.is_lendable(schedule, size, cut):
            cut = cut._replace(lent=True)
        steps = plan(schedule, group.rank(), size, root, cut)
        shown = None if board is None else board.showing(schedule, root, cut)
        fingerprint = said._replace(algorithm=schedule.algorithm)
        if len(kept) >= KEPT:
            kept.clear()
        found = kept[key] = Recipe(schedule, fingerprint, steps, shown)
    return found


def _run(
    group: Group,
    recipe: Recipe,
    arrays: dict[Any, Array],
    how: How,
    reduction: Reduction | None = None,
    first: Callable[[], None] | None = None,
    last: Callable[[], None] | None = None,
    own: Own | None = None,
) -> Work | None:
    """Begin the group's next operation and let the executor carry it out."""
    combine = COMBINES[reduction.name] if reduction is not None else None
    engine: Engine | None = group.world.extras.get("engine")
    if how.again is not None and engine is None:
        repeated.leave(group, how.again, Kind(group, recipe, combine, how.written is not None))

    def body(operation: Operation) -> None:
        if first is not None:
            first()
        if engine is None and recipe.showing is not None and group.board is not None:
            group.board.run(operation, recipe.showing, arrays, combine, own)
        else:
            if own is not None:
                _copy(*own)
            if engine is None:
                lending.execute(operation, recipe.plan, arrays, combine)
            else:
                engine.execute(group, operation, recipe, arrays, combine)
        if last is not None:
            last()
        if how.written is not None:
            how.written()

    return group.run(recipe.fingerprint, body, how.asynchronous, how.output, how.timeout)


def _even(count: int, itemsize: int, size: int) -> Callable[[Schedule], Vector]:
    """A vector in the chunks that the schedule wants."""
    return lambda schedule: Vector(tuple(schedule.sizes(size, count).tolist()), itemsize)


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
    said = Fingerprint("broadcast", array.dtype, array.shape, root=group.ranks[root])
    vector = _even(array.size, array.itemsize, group.size())
    recipe = _recipe(group, "broadcast", said, array.nbytes, how, vector, root)
    return _run(group, recipe, {"work": _flat(array)}, how)


def reduce(
    group: Group, array: Array, root: int, op: Reduction = SUM, how: How = NOW
) -> Work | None:
    """The root's array becomes the sum of all; the others' stay as they are."""
    said = Fingerprint("reduce", array.dtype, array.shape, op.name, group.ranks[root])
    is_root = group.rank() == root
    own = array if is_root or op.name != "premul_sum" else array.copy()
    in_place = is_root or own is not array

    def vector(schedule: Schedule) -> Vector:
        sizes = tuple(schedule.sizes(group.size(), array.size).tolist())
        return Vector(sizes, array.itemsize, in_place, results=None if in_place else ())

    recipe = _recipe(group, "reduce", said, array.nbytes, how, vector, root)
    return _run(
        group, recipe, {"work" if in_place else "source": _flat(own)}, how, op,
        first=(lambda: _scaled(own, op)) if in_place else None,
        last=(lambda: _averaged(own, op, group.size())) if is_root else None,
    )  # fmt: skip


def gather(
    group: Group, array: Array, outputs: Sequence[Array] | None, root: int, how: How = NOW
) -> Work | None:
    """The root's `outputs` become all ranks' arrays; the others have none."""
    said = Fingerprint("gather", array.dtype, array.shape, root=group.ranks[root])
    size, rank = group.size(), group.rank()
    arrays: dict[Any, Array] = {("source", rank): _flat(array)}
    vector = Vector((array.size,) * size, array.itemsize, False, source_list=True, results=())
    if outputs is not None:
        arrays |= {("work", peer): _flat(out) for peer, out in enumerate(outputs)}
        vector = vector._replace(results=None, work_list=True)
    recipe = _recipe(group, "gather", said, array.nbytes * size, how, lambda _: vector, root)
    own = None if outputs is None else outputs[rank]
    return _run(group, recipe, arrays, how, first=lambda: _copy(own, array))


def scatter(
    group: Group, array: Array, inputs: Sequence[Array] | None, root: int, how: How = NOW
) -> Work | None:
    """Each rank's array becomes its part of the root's `inputs`."""
    said = Fingerprint("scatter", array.dtype, array.shape, root=group.ranks[root])
    size, rank = group.size(), group.rank()
    arrays: dict[Any, Array] = {"work": _flat(array)}
    vector = Vector((array.size,) * size, array.itemsize, False, True, results=(rank,))
    own: Array | None = None
    if inputs is not None:
        arrays |= {("source", peer): _flat(part) for peer, part in enumerate(inputs)}
        own = inputs[rank]
    recipe = _recipe(group, "scatter", said, array.nbytes * size, how, lambda _: vector, root)
    return _run(group, recipe, arrays, how, first=lambda: _copy(array, own))


def _copy(into: Array | None, of: Array | None) -> None:
    if into is not None and of is not None and into is not of:
        _flat(into)[:] = _flat(of)


# ----------------------------------------------------------------------------------- from all, to all


def _said(name: str, array: Array, parts: Parts, reduce: str = "none") -> Fingerprint:
    if parts is None:
        return Fingerprint(name, array.dtype, array.shape, reduce)
    name = COALESCED[name]
    if len(parts) > wire.MAX_DIMENSIONS:
        last = wire.MAX_DIMENSIONS - 1
        parts = (*parts[:last], sum(parts[last:]))
    return Fingerprint(name, array.dtype, parts, reduce)


def all_reduce(
    group: Group, array: Array, op: Reduction = SUM, how: How = NOW, parts: Parts = None
) -> Work | None:
    """All arrays become the sum of all."""
    said = _said("all_reduce", array, parts, op.name)
    vector = _even(array.size, array.itemsize, group.size())
    recipe = _recipe(group, "all_reduce", said, array.nbytes, how, vector)
    return _run(
        group, recipe, {"work": _flat(array)}, how, op,
        first=(lambda: _scaled(array, op)) if op.name == "premul_sum" else None,
        last=(lambda: _averaged(array, op, group.size())) if op.name == "avg" else None,
    )  # fmt: skip


def all_gather(group: Group, array: Array, outputs: Sequence[Array], how: How = NOW) -> Work | None:
    """Each rank's `outputs` become all ranks' arrays, which may differ in size."""
    sizes = tuple(out.size for out in outputs)
    shape = array.shape if len(set(sizes)) == 1 else (sum(sizes),)
    said = Fingerprint("all_gather", array.dtype, shape)
    vector = Vector(sizes, array.itemsize, work_list=True)
    nbytes = sum(sizes) * array.itemsize
    recipe = _recipe(group, "all_gather", said, nbytes, how, lambda _: vector, more=sizes)
    arrays: dict[Any, Array] = {("work", peer): _flat(out) for peer, out in enumerate(outputs)}
    own = outputs[group.rank()]
    return _run(group, recipe, arrays, how, first=lambda: _copy(own, array))


def all_gather_into(
    group: Group, array: Array, output: Array, how: How = NOW, parts: Parts = None
) -> Work | None:
    """`output` becomes all ranks' arrays, one after the other."""
    said = _said("all_gather_into_tensor", array, parts)
    size, rank = group.size(), group.rank()
    in_place = group.board is None  # in messages what lies side by side goes out in one piece
    vector = Vector((array.size,) * size, array.itemsize, in_place, source_list=not in_place)
    recipe = _recipe(group, "all_gather", said, output.nbytes, how, lambda _: vector)
    flat = _flat(output)
    given, own, early = given_and_own(flat, _flat(array), rank)

    def first() -> None:
        if early is not None:
            _copy(*early)

    return _run(group, recipe, {"work": flat, ("source", rank): given}, how, first=first, own=own)


def given_and_own(
    output: Array, array: Array, rank: int
) -> tuple[Array, Own | None, Own | None]:  # fmt: skip
    """What a rank gives to an all_gather, and the copy of it to be made: at any time; or first, where
    it lies elsewhere in the output, to which others' parts come."""
    own = output[rank * array.size : (rank + 1) * array.size]
    if not np.may_share_memory(output, array):
        return array, Own(own, array), None
    return own, None, None if own.ctypes.data == array.ctypes.data else Own(own, array)


def reduce_scatter(
    group: Group, output: Array, inputs: Sequence[Array], op: Reduction = SUM, how: How = NOW
) -> Work | None:
    """`output` becomes the sum over the ranks of what each has for this rank in `inputs`."""
    sizes = tuple(part.size for part in inputs)
    arrays: dict[Any, Array] = {("source", rank): _flat(part) for rank, part in enumerate(inputs)}
    shape = output.shape if len(set(sizes)) == 1 else (sum(sizes),)
    said = Fingerprint("reduce_scatter", output.dtype, shape, op.name)
    return _reduce_scatter(group, said, output, arrays, sizes, op, how)


def reduce_scatter_from(
    group: Group, output: Array, array: Array, op: Reduction = SUM, how: How = NOW,
    parts: Parts = None,
) -> Work | None:  # fmt: skip
    """The same from one array, which holds the parts for all ranks one after the other."""
    sizes = (output.size,) * group.size()
    said = _said("reduce_scatter_tensor", output, parts, op.name)
    return _reduce_scatter(group, said, output, {"source": _flat(array)}, sizes, op, how)


def _reduce_scatter(
    group: Group, said: Fingerprint, output: Array, arrays: dict[Any, Array],
    sizes: tuple[int, ...], op: Reduction, how: How,
) -> Work | None:  # fmt: skip
    rank, size = group.rank(), group.size()
    is_list = "source" not in arrays
    vector = Vector(sizes, output.itemsize, False, is_list, results=(rank,))
    nbytes = sum(sizes) * output.itemsize
    recipe = _recipe(group, "reduce_scatter", said, nbytes, how, lambda _: vector, more=sizes)
    if op.name == "premul_sum":
        arrays = {name: part.copy() for name, part in arrays.items()}
    result = _flat(output)
    if any(np.may_share_memory(result, part) for part in arrays.values()):
        result = np.empty_like(result)  # (part of) the input is still needed when it is written

    def first() -> None:
        for part in arrays.values():
            _scaled(part, op)
        if size == 1:
            _copy(result, *arrays.values())

    def last() -> None:
        _averaged(result, op, size)
        if not np.may_share_memory(result, output):
            _copy(output, result)

    return _run(group, recipe, {**arrays, "work": result}, how, op, first, last)


def all_to_all(
    group: Group, outputs: Sequence[Array], inputs: Sequence[Array], how: How = NOW,
    name: str = "all_to_all",
) -> Work | None:  # fmt: skip
    """`outputs[i]` becomes what rank i has for this rank in its `inputs`. Any sizes."""
    itemsize, rank = inputs[0].itemsize, group.rank()
    sizes = (*[part.size for part in inputs], *[part.size for part in outputs])
    said = Fingerprint(name, inputs[0].dtype)

    def vector(schedule: Schedule) -> Vector:
        if schedule.name == "bruck" and len(set(sizes)) > 1:
            raise ValueError(
                "the algorithm 'bruck' passes blocks on through other ranks, which must know "
                f"their size: all must be equal, but {sorted(set(sizes))} elements were given"
            )
        return Vector(sizes, itemsize, False)

    nbytes = sum(sizes) * itemsize // 2
    recipe = _recipe(group, "all_to_all", said, nbytes, how, vector, more=sizes)
    arrays: dict[Any, Array] = {("source", peer): _flat(part) for peer, part in enumerate(inputs)}
    arrays |= {("work", peer): _flat(part) for peer, part in enumerate(outputs)}
    own = Own(_flat(outputs[rank]), _flat(inputs[rank]))
    return _run(group, recipe, arrays, how, own=own)


def barrier(group: Group, how: How = NOW, said: Fingerprint = BARRIER) -> Work | None:
    """Return when every rank has called it."""
    recipe = _recipe(group, "barrier", said, 0, how, lambda _: Vector((), 1))
    return _run(group, recipe, {}, how)
