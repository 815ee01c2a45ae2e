"""For how many ranks a schedule is right: its domain, proved once for each number of ranks and remembered.

    register_schedule(…, domain=powers_of_two)   what it is made for: other numbers are refused by this name
    register_schedule(…, sizes=[1, 2, 4])    proved for these, with every root
    algorithm="mine" on 3 ranks              proved when it is first asked for, or refused
    auto                                     passes over what is not proved, and proves up to AT_ONCE ranks itself

A proof plays all messages of all ranks. Its time grows with the square of the ranks or more: a ring's takes 0.2 s for
64 ranks, and 4.5 s for 256. So no first use waits for one of more than ON_DEMAND ranks. A proof is remembered with its
`Schedule`: one that is registered anew, or has other options, is proved anew. Built-in schedules are right for all
numbers of ranks (tests prove it), and are never proved at run time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import takewhile
from threading import Lock  # noqa: TID251 - one thread proves for all; no rank waits for another in here
from typing import Any, Final
from weakref import WeakKeyDictionary

import numpy as np

from minitorch_dist.distributed.schedules.schedule import BUILT_IN, GALLERY, ROOTED, Schedule, ScheduleError, even
from minitorch_dist.distributed.schedules.steps import Span, Step

USUALLY: Final = 9  # ranks, up to which a schedule is proved when it is registered
AT_ONCE: Final = 64  # ranks, up to which `auto` has a schedule proved
ON_DEMAND: Final = 256  # ranks, up to which one that is named is proved on its first use
MOST: Final = 50_000  # steps of a rank; with more of them a schedule is taken for one that never ends

Place = tuple[int, "int | None"]  # how many ranks, and the root

_faults: WeakKeyDictionary[Schedule, dict[Place, str]] = WeakKeyDictionary()  # "" is a proof
_uneven: WeakKeyDictionary[Schedule, dict[Place, bool]] = WeakKeyDictionary()
_registered: WeakKeyDictionary[Schedule, tuple[int, ...]] = WeakKeyDictionary()
_one_at_a_time: Final = Lock()


def register(schedule: Schedule, sizes: Iterable[int] | None = None) -> None:
    """Prove it for worlds of these sizes and every root, or raise ScheduleError."""
    sizes = usual_sizes(schedule) if sizes is None else tuple(sorted(set(sizes)))
    for size in sizes:
        _demand_served(schedule, size)
        for root in range(size) if schedule.collective in ROOTED else (None,):
            fault = _fault(schedule, size, root)
            if fault:
                raise ScheduleError(f"{schedule} with {size} ranks: {fault}")
    _registered[schedule] = sizes


def among(domain: Callable[..., bool] | Iterable[int]) -> Callable[..., bool]:
    """A domain as a function; a list of numbers is named by them."""
    if callable(domain):
        return domain
    sizes = tuple(sorted(domain))

    def is_one_of(size: int, **options: Any) -> bool:
        return size in sizes

    is_one_of.__name__ = f"{_numbers(sizes)} ranks"
    return is_one_of


def usual_sizes(schedule: Schedule, most: int = USUALLY) -> tuple[int, ...]:
    """The numbers of ranks up to `most` that it serves; or the first one above, if there are none."""
    served = (size for size in range(1, ON_DEMAND + 1) if schedule.serves(size))
    first = next(served, None)
    if first is None:
        raise ScheduleError(f"{schedule} is for {schedule.domain_in_words}: for no number of ranks up to {ON_DEMAND}")
    return first, *takewhile(lambda size: size <= most, served)


def may_run(schedule: Schedule, size: int, root: int | None = None) -> bool:
    """Whether `auto` may take it. It also has to say its steps for all ranks at once, as its cost is known by them."""
    if not schedule.serves(size):
        return False
    if is_built_in(schedule):
        return True
    if size > AT_ONCE and size not in _registered.get(schedule, ()):
        return False
    return not _fault(schedule, size, root) and is_for_all_at_once(schedule, size, root)


def demand(schedule: Schedule, size: int, root: int | None = None) -> None:
    """Return if a schedule that was asked for is right here. Every rank gets the same error, before any message."""
    _demand_served(schedule, size)
    if is_built_in(schedule):
        return
    proved = _registered.get(schedule, ())
    known = f"is proved for {_numbers(proved)} ranks, and " if proved else ""
    if size > ON_DEMAND and size not in proved:
        raise ScheduleError(
            f"{schedule} {known}is not for {size} ranks: to prove a schedule for more than {ON_DEMAND} takes long, "
            f"so it is done once: register_schedule(…, sizes=[…, {size}])"
        )
    fault = _fault(schedule, size, root)
    if fault:
        at = "" if root is None else f" and root {root}"
        raise ScheduleError(
            f"{schedule} {known}is not right for {size}{at}: {fault}. Take another algorithm for "
            f"this group, or leave the choice to auto"
        )


def _demand_served(schedule: Schedule, size: int) -> None:
    if not schedule.serves(size):
        raise ScheduleError(
            f"{schedule} is made for {schedule.domain_in_words}, and not for {size} ranks. Take another "
            "algorithm for this group, or leave the choice to auto"
        )


def is_built_in(schedule: Schedule) -> bool:
    """Whether it is one of ours, with options that it is right for."""
    key = schedule.collective, schedule.name
    ours = BUILT_IN.get(key) or GALLERY.get(key)
    if ours is None or (ours.steps, ours.chunks, ours.layout, ours.domain) != (
        schedule.steps,
        schedule.chunks,
        schedule.layout,
        schedule.domain,
    ):
        return False
    for name, value in schedule.options.items():
        if value < 1:
            raise ValueError(f"{schedule}: {name} must be at least 1")
    return True


def _fault(schedule: Schedule, size: int, root: int | None) -> str:
    if schedule.collective not in ROOTED:
        root = None
    with _one_at_a_time:
        known = _faults.setdefault(schedule, {})
        place = size, root
        if place not in known:
            try:
                prove(schedule, size, root)
                known[place] = ""
            except ScheduleError as error:
                known[place] = str(error).removeprefix(f"{schedule} with {size} ranks: ")
            except Exception as error:  # of the function that was registered
                known[place] = f"its steps end in {type(error).__name__}: {error}"
        return known[place]


def prove(schedule: Schedule, size: int, root: int | None = None) -> None:
    """Prove it, or raise ScheduleError. The steps do not depend on the length of a vector, so one that fills every chunk
    is enough. A layout of its own has to cut others, too: none, fewer elements than ranks."""
    from minitorch_dist.distributed.schedules import proof  # built-in schedules need none

    limited = replace(schedule, steps=ending(schedule.steps, "steps", max(MOST, 4 * size * size)))
    full = max(2 * size, schedule.total(size)) + 1
    for count in (full,) if schedule.layout is even else (0, 1, size - 1, full):
        proof.prove(limited, size, count, root)


def ending(
    made: Callable[..., Any], what: str, most: int = MOST, error: type[Exception] = ScheduleError
) -> Callable[..., Any]:
    """Refuses a function that yields without end."""

    def limited(*given: Any, **options: Any) -> Iterator[Any]:
        for number, one in enumerate(made(*given, **options)):
            if number == most:
                raise error(
                    f"{made.__name__} has yielded {most:,} {what} and is not at its end: a loop that never ends?"
                )
            yield one

    return limited


def is_for_all_at_once(schedule: Schedule, size: int, root: int | None = None) -> bool:
    """Whether its steps for `Everyone` are those of each rank. An `if rank == 0:` has no answer for all ranks."""
    if is_built_in(schedule):
        return True
    known = _uneven.setdefault(schedule, {})
    place = size, root
    if place not in known:
        try:
            known[place] = _apart(schedule, size, root) == [
                [_plain(step, rank, size) for step in schedule.of(rank, size, root)] for rank in range(size)
            ]
        except Exception:  # of the function that was registered
            known[place] = False
    return known[place]


def _apart(schedule: Schedule, size: int, root: int | None) -> list[list[Any]]:
    """The steps for all ranks, as lists of each."""
    found: list[list[Any]] = [[] for _ in range(size)]
    steps = ending(schedule.everyone, "steps", max(MOST, 4 * size * size))(size, root)
    for step in steps:
        for rank in np.flatnonzero(np.broadcast_to(np.asarray(step.only), size)).tolist():
            found[rank].append(_plain(step, rank, size))
    return found


def _plain(step: Step, rank: int, size: int) -> Any:
    """One rank's part of a step, in plain numbers."""
    return type(step), *(_number(field, rank, size) for field in step[:-1])


def _number(value: Any, rank: int, size: int) -> Any:
    if isinstance(value, tuple):
        kind = [Span] if isinstance(value, Span) else []
        return *kind, *(_number(part, rank, size) for part in value)
    return int(np.broadcast_to(np.asarray(value), size)[rank])


def _numbers(sizes: tuple[int, ...]) -> str:
    """`1, 2, 4 and 8`, or `1 to 9`."""
    if len(sizes) > 2 and sizes == tuple(range(sizes[0], sizes[-1] + 1)):
        return f"{sizes[0]} to {sizes[-1]}"
    return " and ".join(filter(None, [", ".join(map(str, sizes[:-1])), str(sizes[-1])]))
