"""Are the replicas equal, and are P ranks one rank? Both bit for bit.

check_replicas_equal(model)             called by every rank, wherever replicas must agree

def train(batches):                     the wrapper under test, on any number of ranks
    model = MyDataParallel(exact.Model())
    optimizer = SGD(model.parameters(), lr=exact.RATE)
    for batch in batches:               this rank's share of each batch; may be empty
        exact.step(model, optimizer, batch, ranks=dist.get_world_size())
    return model

check_same_as_one_rank(train)           P = 1 … 6, batches that no P divides
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import minitorch_dist.distributed as dist
from minitorch_dist.launching import launch
from minitorch_dist.optim import SGD
from minitorch_dist.tensors.core.base import Array
from minitorch_dist.testing import exact, field

SIZES = (1, 2, 3, 4, 5, 6)
BATCHES = (37, 23, 5, 13)  # samples in each batch: none is divided by all of SIZES, one is smaller

Steps = list[list[Array]]  # for each step the weights, as `exact.watched` sees them


def check_replicas_equal(model: Any, group: Any = None) -> None:
    """Return if all ranks of the group hold the same parameters and buffers, else raise on all of them. Collective.

    Args:
        model: A module, or a list of tensors.
        group: The ranks; None means all.

    Raises:
        AssertionError: The first tensor that differs, the ranks, and the element.

    Example:
        >>> def program():
        ...     torch.manual_seed(0)
        ...     testing.check_replicas_equal(nn.Linear(2, 2))
        >>> sim.run(program, 3).results
        [None, None, None]
    """
    mine = _named(model)
    every: list[Any] = [None] * dist.get_world_size(group)
    dist.all_gather_object(every, [(name, str(a.dtype), a.shape) for name, a in mine], group=group)
    for rank, theirs in enumerate(every):
        if theirs != every[0]:
            pairs = zip(every[0], theirs, strict=False)
            at = next((n for n, (a, b) in enumerate(pairs) if a != b), None)
            at = min(len(every[0]), len(theirs)) if at is None else at
            has = [row[at] if at < len(row) else "nothing" for row in (every[0], theirs)]
            raise AssertionError(
                f"the models differ in their parameters: as number {at} rank 0 has {has[0]} and "
                f"rank {rank} has {has[1]}"
            )
    dist.all_gather_object(every, [array.tobytes() for _, array in mine], group=group)
    for number, (name, array) in enumerate(mine):
        held = [row[number] for row in every]
        others = [rank for rank, raw in enumerate(held) if raw != held[0]]
        if others:
            raise AssertionError(_difference(name, array, held, others))


def check_same_as_one_rank(
    train: Callable[..., Any],
    sizes: Sequence[int] = SIZES,
    batches: Sequence[int] = BATCHES,
    transport: str = "sim://",
    alone: Callable[..., Any] | None = None,
    model: Callable[[], Any] | None = None,
    samples: Callable[[int, int], exact.Data] | None = None,
) -> None:
    """Return if `train` takes the steps of one rank that was given all samples, bit for bit.

    Compared are the weights at the end, and those of every step before `exact.step` or `exact.snap` rounded them.

    Args:
        train: Called on every rank with its share of each batch. It returns the model, or its weights as a list in the order of
            `exact.Model().parameters()`. For processes it must be importable.
        sizes: The numbers of ranks to try.
        batches: The sizes of the batches.
        transport: An address.
        alone: The training of one rank; plain SGD at `exact.RATE` by default. The samples are those of `exact.data`.
        model: It makes any other module. Then all compute in a prime field (see `field`), where nothing is rounded, and `train`
            and `alone` are called with the module and the batches. `train` returns whole weights.
        samples: With `model`: a batch of it, by its size and a seed.

    Raises:
        AssertionError: The first weight that differs.

    Example:
        >>> def alone_everywhere(batches):  # forgets to communicate
        ...     model = testing.exact.Model()
        ...     optimizer = optim.SGD(model.parameters(), lr=testing.exact.RATE)
        ...     for batch in batches:
        ...         testing.exact.step(model, optimizer, batch)
        ...     return model
        >>> try:
        ...     testing.check_same_as_one_rank(alone_everywhere, sizes=(2,))
        ... except AssertionError:
        ...     "it differs from one rank"
        'it differs from one rank'
    """
    if model is not None:
        if samples is None:
            raise TypeError("check_same_as_one_rank(model=…) needs samples=, which makes the batches of that model")
        return _check_in_a_field(train, sizes, batches, transport, alone or _alone_in_a_field, model, samples)
    whole = [exact.data(count, seed) for seed, count in enumerate(batches)]
    wanted, steps = _watched(alone or _alone, whole)
    names = [name for name, _ in exact.Model().named_parameters()]
    for size in sizes:
        ranks = launch(_trained, size, transport, args=(train, whole))
        for rank, (found, _) in enumerate(ranks):
            if len(found) != len(wanted):
                raise AssertionError(
                    f"{_count(size)}: rank {rank} returned {len(found)} arrays of weights, where "
                    f"the model has {len(wanted)}: {', '.join(names)}"
                )
            for name, theirs, ours in zip(names, found, wanted, strict=True):
                if not exact.same([theirs], [ours]):
                    raise _not_one_rank(size, _unlike(name, rank, theirs, ours))
        wrong = unlike_steps(names, steps, [seen for _, seen in ranks])
        if wrong:
            raise _not_one_rank(size, wrong)


def _check_in_a_field(
    train: Callable[..., Any],
    sizes: Sequence[int],
    batches: Sequence[int],
    transport: str,
    alone: Callable[..., Any],
    model: Callable[[], Any],
    samples: Callable[[int, int], exact.Data],
) -> None:
    with field.new_tensors():
        wanted = _named(alone(model(), [samples(count, seed) for seed, count in enumerate(batches)]))
        for size in sizes:
            for rank, found in enumerate(launch(_in_a_field, size, transport, args=(train, model, samples, batches))):
                if len(found) != len(wanted):
                    raise AssertionError(
                        f"{_count(size)}: rank {rank} returned {len(found)} arrays, and one rank alone {len(wanted)}"
                    )
                for (name, ours), theirs in zip(wanted, found, strict=True):
                    if not exact.same([theirs], [ours.view(np.ndarray)]):
                        raise _not_one_rank(size, _unlike(name, rank, theirs, ours.view(np.ndarray)))


def _in_a_field(
    train: Callable[..., Any],
    model: Callable[[], Any],
    samples: Callable[[int, int], exact.Data],
    batches: Sequence[int],
) -> list[Array]:
    """The weights of one rank that trains on its share."""
    rank, size = dist.get_rank(), dist.get_world_size()
    with field.new_tensors():
        shares = [samples(count, seed).shares(size)[rank] for seed, count in enumerate(batches)]
        return [array.view(np.ndarray).copy() for _, array in _named(train(model(), shares))]


def _alone_in_a_field(model: Any, whole: Sequence[exact.Data]) -> Any:
    optimizer = SGD(model.parameters(), lr=exact.RATE)
    for batch in whole:
        optimizer.zero_grad()
        exact.loss(model(batch.x), batch.y).backward()
        optimizer.step()
    return model


def _not_one_rank(size: int, said: str) -> AssertionError:
    return AssertionError(
        f"{_count(size)}: {said}. Training is exact, so this is no rounding of sums: a gradient is missing, "
        "counted twice, divided wrongly, or has lost digits"
    )


def _alone(whole: Sequence[exact.Data]) -> Any:
    """The model that one rank, without any wrapper, gets from all samples."""
    model = exact.Model()
    optimizer = SGD(model.parameters(), lr=exact.RATE)
    for batch in whole:
        exact.step(model, optimizer, batch)
        assert exact.bits(model.parameters()) <= 53, "these batches are too large to be exact"
    return model


def _trained(train: Callable[[list[exact.Data]], Any], whole: Sequence[exact.Data]) -> tuple[list[Array], Steps]:
    rank, size = dist.get_rank(), dist.get_world_size()
    return _watched(train, [batch.shares(size)[rank] for batch in whole])


def _watched(train: Callable[[list[exact.Data]], Any], batches: list[exact.Data]) -> tuple[list[Array], Steps]:
    """The weights at the end, and what was there before each rounding."""
    with exact.watched() as seen:
        found = train(batches)
    return [array.copy() for _, array in _named(found)], seen


def unlike_steps(names: Sequence[str], alone: Steps, ranks: Sequence[Steps], is_whole: bool = True) -> str:
    """How the weights that ranks had before each rounding differ from those of one rank; "" where they do not.

    A rank that has the whole model takes the steps of one rank; without `is_whole` (machines come and go) some
    of them. Where ranks have parts (shards, stages), together they must have had each number that one rank
    had, and no other. Numbers on the grid are left out: they may be padding.
    """
    steps = [(number, step) for number, step in enumerate(alone, 1) if _off_the_grid(step)]
    if not steps and any(_off_the_grid(step) for seen in ranks for step in seen):
        return (
            "exact.step or exact.snap rounded on the ranks and nothing on one rank alone, so what rounding takes "
            "away cannot be compared. Call one of them after each step there, too"
        )
    wanted: set[float] = set().union(*(_off_the_grid(step) for _, step in steps))
    had: set[float] = set()
    for rank, seen in enumerate(ranks):
        mine = [(number, step) for number, step in enumerate(seen, 1) if _off_the_grid(step)]
        if is_whole and mine and all(_forms(step) == _forms(alone[0]) for _, step in mine):
            for (number, theirs), (_, ours) in zip(mine, steps, strict=False):
                for name, a, b in zip(names, theirs, ours, strict=True):
                    if not exact.same([a], [b]):
                        return f"before step {number} rounds it, {_unlike(name, rank, a, b)}"
            if len(mine) != len(steps):
                return f"rank {rank} makes {len(mine)} steps, and one rank alone {len(steps)}"
        for number, step in mine:
            foreign = _off_the_grid(step) - wanted
            if foreign:
                value = min(foreign, key=lambda v: (v != v, v))
                near = min(wanted, key=lambda v: abs(v - value), default=None)
                return (
                    f"rank {rank} has a weight of {value!r} before the rounding number {number}, and one rank alone "
                    f"has none such in any step (the nearest is {near!r})"
                )
            had |= _off_the_grid(step)
    for number, step in steps:
        for name, array in zip(names, step, strict=True):
            for place in np.ndindex(array.shape):
                value = float(array[place])
                if value in wanted - had:
                    return (
                        f"before step {number} rounds it, {name}{[*place]} is {value!r} on one rank alone, and no rank "
                        "has this number in any step. Was a step left out, or rounded by other means than exact.snap?"
                    )
    return ""


def _forms(step: Sequence[Array]) -> list[tuple[int, ...]]:
    return [array.shape for array in step]


def _off_the_grid(step: Sequence[Array]) -> set[float]:
    """The numbers that rounding changes."""
    found: set[float] = set()
    for array in step:
        values = np.asarray(array, np.float64).reshape(-1)
        found |= {*values[values != exact.rounded(values)].tolist()}
    return found


def _named(model: Any) -> list[tuple[str, Array]]:
    if hasattr(model, "named_parameters"):
        named = [*model.named_parameters(), *model.named_buffers()]
    else:
        named = [(f"tensor {number}", value) for number, value in enumerate(model)]
    return [(name, np.asanyarray(getattr(value, "array", value))) for name, value in named]


def _difference(name: str, array: Array, held: Sequence[bytes], others: Sequence[int]) -> str:
    theirs, ours = (np.frombuffer(raw, array.dtype).reshape(array.shape) for raw in (held[others[0]], held[0]))
    who = f"rank {others[0]} differs" if len(others) == 1 else f"ranks {_list(others)} differ"
    return f"{who} from rank 0 in {name}: {_unlike(name, others[0], theirs, ours, 'rank 0')}"


def _unlike(name: str, rank: int, theirs: Array, ours: Array, whose: str = "one rank alone") -> str:
    if theirs.shape != ours.shape or theirs.dtype != ours.dtype:
        return (
            f"{name} on rank {rank} is {theirs.dtype}{list(theirs.shape)}, and "
            f"{ours.dtype}{list(ours.shape)} on {whose}"
        )
    raw = [np.ascontiguousarray(a).reshape(-1) for a in (theirs, ours)]
    width = ours.dtype.itemsize
    octets = [a.view(np.uint8).reshape(-1, width) for a in raw]
    at = np.flatnonzero((octets[0] != octets[1]).any(axis=1))
    where = [int(i) for i in np.unravel_index(int(at[0]), ours.shape)]
    return (
        f"{name}{where} is {raw[0][at[0]]!s} on rank {rank} and {raw[1][at[0]]!s} on {whose} "
        f"({len(at)} of {ours.size} elements differ)"
    )


def _count(size: int) -> str:
    return "1 rank" if size == 1 else f"{size} ranks"


def _list(ranks: Sequence[int]) -> str:
    return ", ".join(map(str, ranks[:-1])) + f" and {ranks[-1]}"
