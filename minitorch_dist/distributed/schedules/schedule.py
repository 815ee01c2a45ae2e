"""A schedule by its name: what it does, how many chunks it wants, and its steps.

A schedule is written as a generator of steps (see `steps`) that is arithmetic on `rank`:

    @schedule()
    def reduce_scatter(rank, size):            # in ring.py: the schedule "ring" of reduce_scatter
        for step in range(size - 1):
            yield Exchange(to=(rank + 1) % size, …)

`rank` is an int, or `Everyone` (all ranks at once). Rooted collectives take `root` as well. Open choices,
such as the number of pieces of a pipeline, are keyword `options`.

A schedule carries its number of `chunks` as a function of the number of ranks, and its `domain`: for how many
it is made.

Chunks are numbered 0 … total-1. Numbers beyond are scratch: chunk `total + c` has the size of
chunk `c` and holds nothing at first. In all_to_all the chunk from `s` for `d` is `s * size + d`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minitorch_dist.distributed.schedules.everyone import Everyone
from minitorch_dist.distributed.schedules.steps import PlainStep, Rank, Step, Steps, plain

COLLECTIVES = (
    "broadcast",
    "reduce",
    "all_reduce",
    "all_gather",
    "reduce_scatter",
    "gather",
    "scatter",
    "all_to_all",
    "barrier",
)
ROOTED = ("broadcast", "reduce", "gather", "scatter")

Sizes = NDArray[np.int64]
Layout = Callable[[int, int], Sizes]


class ScheduleError(ValueError):
    """A schedule that cannot be carried out, or does not do what its name says; tells in words."""


class UnknownOption(TypeError, ValueError):
    """A schedule that has no such option; it names those that it has."""


def even(count: int, chunks: int) -> Sizes:
    """`count` elements cut into chunks that differ by one at most, the longer ones first."""
    sizes = np.full(chunks, count // chunks if chunks else 0, dtype=np.int64)
    sizes[: count - sizes.sum()] += 1
    return sizes


def one_per_rank(size: int) -> int:
    return size


def single(size: int) -> int:
    return 1


def none(size: int) -> int:
    return 0


def any_number(size: int, **options: Any) -> bool:
    return True


def powers_of_two(size: int, **options: Any) -> bool:
    return size & (size - 1) == 0


@dataclass(frozen=True, eq=False)
class Schedule:
    """One algorithm of one collective. Call it for its steps."""

    collective: str
    name: str
    steps: Callable[..., Steps]
    chunks: Callable[..., int] = one_per_rank
    options: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    layout: Layout = even
    domain: Callable[..., bool] = any_number  # for how many ranks it is made

    def __post_init__(self) -> None:
        if self.collective not in COLLECTIVES:
            raise ValueError(f"a schedule for {self.collective!r}: expected one of {', '.join(COLLECTIVES)}")

    def __call__(self, rank: Rank, size: int, root: int | None = None) -> Steps:
        """All steps for `rank` (an int or Everyone), including those it sits out (`only`)."""
        if self.collective in ROOTED:
            return self.steps(rank, size, root=root or 0, **self.options)
        return self.steps(rank, size, **self.options)

    def of(self, rank: int, size: int, root: int | None = None) -> list[Step]:
        """The steps that this rank takes."""
        return [step for step in self(rank, size, root) if step.only]

    def plain(self, rank: int, size: int, root: int | None = None) -> Iterator[PlainStep]:
        """The same in plain numbers, all kinds of steps alike."""
        total = self.total(size)
        return (plain(step, total) for step in self.of(rank, size, root))

    def everyone(self, size: int, root: int | None = None) -> Steps:
        return self(Everyone(size), size, root)

    def total(self, size: int) -> int:
        """How many chunks there are among `size` ranks, without scratch."""
        return self.chunks(size, **self.options)

    def serves(self, size: int) -> bool:
        """Whether so many ranks are in its domain."""
        return bool(self.domain(size, **self.options))

    @property
    def domain_in_words(self) -> str:
        """`powers of two`: the name of its domain."""
        return self.domain.__name__.replace("_", " ").replace("<lambda>", "numbers of its own")

    def sizes(self, size: int, count: int) -> Sizes:
        """Elements of each chunk of a vector of `count`; chunk `c` has `sizes[c % len(sizes)]`.

        `count` is the vector as its longest holder sees it. This is the gathered result of gather and
        all_gather, the whole input of scatter and reduce_scatter, one rank's input of all_to_all.
        """
        chunks = size if self.collective == "all_to_all" else self.total(size)
        return self.layout(count, chunks)

    def with_options(self, **options: Any) -> Schedule:
        """The same algorithm with, say, `pieces=8`."""
        unknown = set(options) - set(self.options)
        if unknown:
            raise UnknownOption(
                f"{self} has no option {', '.join(sorted(unknown))}; it has {', '.join(self.options) or 'none'}"
            )
        return replace(self, options=MappingProxyType({**self.options, **options}))

    @property
    def algorithm(self) -> str:
        """How to ask for it: `ring`, `chain:pieces=16`."""
        options = ",".join(f"{key}={value}" for key, value in self.options.items())
        return self.name + (f":{options}" if options else "")

    def __str__(self) -> str:
        options = ", ".join(f"{key}={value}" for key, value in self.options.items())
        return f"{self.name} {self.collective}" + (f" ({options})" if options else "")

    def __repr__(self) -> str:
        return f"<Schedule {self}>"


BUILT_IN: dict[tuple[str, str], Schedule] = {}
GALLERY: dict[tuple[str, str], Schedule] = {}  # of recent papers (see `gallery`)
REGISTERED: dict[tuple[str, str], Schedule] = {}  # one's own (see `choice`)
# Whether what is registered now belongs to a file (see `schedule_files`), and is known by its address only.
is_loading: ContextVar[bool] = ContextVar("a file of schedules is loaded", default=False)


def is_address(algorithm: str) -> bool:
    """Whether it names a file: `mine.py`, `mine.py:swing`, `theirs.xml`."""
    return algorithm.partition(":")[0].endswith((".py", ".xml"))


def schedule(
    chunks: Callable[..., int] = one_per_rank, domain: Callable[..., bool] = any_number, **options: Any
) -> Callable[[Callable[..., Steps]], Schedule]:
    """Turn a generator into a Schedule: its module names the algorithm, its own name the collective."""

    def known(steps: Callable[..., Steps]) -> Schedule:
        room, _, name = steps.__module__.rpartition(".")
        made = Schedule(steps.__name__, name, steps, chunks, MappingProxyType(options), domain=domain)
        kept = GALLERY if room.endswith("gallery") else BUILT_IN
        kept[made.collective, name] = made
        return made

    return known
