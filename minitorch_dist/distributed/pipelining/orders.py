"""The order of a pipeline is data: what each rank computes, one action after another.

    GPipe, 3 ranks, 4 micro-batches            1F1B, the same
    rank 0  F0 F1 F2 F3       …  B0 B1 B2 B3   F0 F1 F2  B0 F3 B1 B2 B3
    rank 1     F0 F1 F2 F3  …  B0 B1 B2 B3        F0 F1  B0 F2 B1 F3 B2 B3
    rank 2        F0 F1 F2 F3 B0 B1 B2 B3            F0  B0 F1 B1 F2 B2 F3 B3

An order says only what comes after what on one rank; when each can begin follows from what it needs
(see `timing`), and what has to be sent follows as well (see `runtime`). An order is a function of
the rank, so a new one is tried out, proved, drawn and run in a few lines.

GPipe: Huang et al., NeurIPS 2019. 1F1B: Narayanan et al., SOSP 2019 (PipeDream-Flush). Interleaved:
Narayanan et al., SC 2021, doi:10.1145/3458817.3476209. Breadth first: Lamy-Poirier, MLSys 2023.
Zero bubble: Qi et al., ICLR 2024.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from enum import Enum
from typing import NamedTuple


class ActionKind(Enum):
    """An action on one micro-batch on one stage."""

    FORWARD = "F"
    FULL_BACKWARD = "B"
    BACKWARD_INPUT = "I"  # the gradient that the stage before waits for …
    BACKWARD_WEIGHT = "W"  # … and the one that only this stage's step needs


F, B, I, W = ActionKind  # noqa: E741 - the letters of the papers


class Action(NamedTuple):
    stage: int
    kind: ActionKind
    microbatch: int

    def __str__(self) -> str:
        return f"{self.stage}{self.kind.value}{self.microbatch}"


Order = list[Action]


class Pipe(NamedTuple):
    """The numbers of ranks, of stages on each of them, and of micro-batches."""

    ranks: int
    microbatches: int
    local: int = 1

    @property
    def stages(self) -> int:
        return self.ranks * self.local

    def rank_of(self, stage: int) -> int:
        """Which rank has a stage."""
        return stage % self.ranks

    def stages_of(self, rank: int) -> list[int]:
        return list(range(rank, self.stages, self.ranks))


def gpipe(rank: int, pipe: Pipe) -> Order:
    """All forward, then all backward. Bubble (p-1)/m of the work; all m micro-batches in memory."""
    numbers = range(pipe.microbatches)
    return [Action(rank, F, n) for n in numbers] + [Action(rank, B, n) for n in numbers]


def one_forward_one_backward(rank: int, pipe: Pipe) -> Order:
    """As soon as a backward can run it does. The same bubble; at most p - rank in memory."""
    warmup = min(pipe.microbatches, pipe.ranks - rank)
    order = [Action(rank, F, n) for n in range(warmup)]
    for n in range(pipe.microbatches):
        order.append(Action(rank, B, n))
        if warmup + n < pipe.microbatches:
            order.append(Action(rank, F, warmup + n))
    return order


def looped_breadth_first(rank: int, pipe: Pipe) -> Order:
    """Several stages per rank; each takes all micro-batches before the next one does."""
    stages = range(rank, pipe.stages, pipe.ranks)
    numbers = range(pipe.microbatches)
    forward = [Action(stage, F, n) for stage in stages for n in numbers]
    return forward + [Action(s, B, n) for s in reversed(stages) for n in reversed(numbers)]


def interleaved(rank: int, pipe: Pipe) -> Order:
    """1F1B over v stages per rank, in rounds of about p micro-batches: bubble (p-1)/(v·m)."""
    turns = _Turns(rank, pipe)
    warmup = turns.warmup(2)
    order = [turns.forward(step) for step in range(warmup)]
    for step in range(warmup, turns.total):
        order += [turns.forward(step), turns.backward(step - warmup, B)]
    order += [turns.backward(step, B) for step in range(turns.total - warmup, turns.total)]
    return order


def interleaved_zero_bubble(rank: int, pipe: Pipe) -> Order:
    """As `interleaved`, and each backward in two: weights' gradients fill what was idle (ZB-H1)."""
    turns = _Turns(rank, pipe)
    warmup, late = turns.warmup(1), rank  # how many weight gradients lie behind
    order = [turns.forward(step) for step in range(warmup)]
    for step in range(turns.total):
        if warmup + step < turns.total:
            order.append(turns.forward(warmup + step))
        order.append(turns.backward(step, I))
        if step >= late:
            order.append(turns.backward(step - late, W))
    order += [turns.backward(step, W) for step in range(max(0, turns.total - late), turns.total)]
    return order


class _Turns:
    """Whose turn it is: the local stages in rounds of so many micro-batches."""

    def __init__(self, rank: int, pipe: Pipe) -> None:
        rounds = max(1, pipe.microbatches // pipe.ranks)
        if pipe.microbatches % rounds:
            raise ValueError(
                f"Interleaved 1F1B requires the number of microbatches to be a multiple of the "
                f"number of rounds ({rounds}), but got {pipe.microbatches}: with {pipe.ranks} ranks "
                f"take {rounds * pipe.ranks}"
            )
        self._rank, self._pipe, self._per_round = rank, pipe, pipe.microbatches // rounds
        self.total = pipe.local * pipe.microbatches
        self._count: Counter[tuple[int, ActionKind]] = Counter()

    def warmup(self, per_hop: int) -> int:
        """How many forward come first: a round on all stages but the last, and the way back."""
        steps = (self._pipe.local - 1) * self._per_round
        return min(steps + per_hop * (self._pipe.ranks - 1 - self._rank), self.total)

    def forward(self, step: int) -> Action:
        return self._next(step // self._per_round % self._pipe.local, F)

    def backward(self, step: int, kind: ActionKind) -> Action:
        return self._next(self._pipe.local - 1 - step // self._per_round % self._pipe.local, kind)

    def _next(self, local: int, kind: ActionKind) -> Action:
        stage = local * self._pipe.ranks + self._rank
        number = self._count[stage, kind]
        self._count[stage, kind] += 1
        return Action(stage, kind, number)


Make = Callable[[int, Pipe], Order]

ORDERS: dict[str, Make] = {
    "gpipe": gpipe,
    "1f1b": one_forward_one_backward,
    "looped_bfs": looped_breadth_first,
    "interleaved": interleaved,
    "zero_bubble": interleaved_zero_bubble,
}


def everyones(make: Make, pipe: Pipe) -> list[Order]:
    return [make(rank, pipe) for rank in range(pipe.ranks)]


def faults(orders: Iterable[Order], pipe: Pipe) -> Iterator[str]:
    """The faults of these orders, in words. Each micro-batch goes once through each stage, forward before
    backward, and each stage belongs to one rank.
    """
    seen: Counter[Action] = Counter()
    for rank, order in enumerate(orders):
        done: set[Action] = set()
        for action in order:
            seen[action] += 1
            stage, kind, number = action
            if pipe.rank_of(stage) != rank:
                yield f"rank {rank} computes {action}, but stage {stage} is on rank {pipe.rank_of(stage)}"
            if number >= pipe.microbatches:
                yield (
                    f"rank {rank} computes {action}, but the last micro-batch is {pipe.microbatches - 1} "
                    "(they are counted from 0)"
                )
            before = {F: None, B: F, I: F, W: I}[kind]
            if before is not None and Action(stage, before, number) not in done:
                yield f"rank {rank}: {action} stands before {Action(stage, before, number)}"
            done.add(action)
    for stage in range(pipe.stages):
        for number in range(pipe.microbatches):
            count = {kind: seen[Action(stage, kind, number)] for kind in ActionKind}
            name = f"micro-batch {number} on stage {stage}"
            if count[F] != 1:
                yield f"{name} goes forward {count[F]} times"
            if (count[B], count[I], count[W]) not in ((1, 0, 0), (0, 1, 1)):
                yield f"{name} goes backward {count[B]} times whole, {count[I]} + {count[W]} in parts"
