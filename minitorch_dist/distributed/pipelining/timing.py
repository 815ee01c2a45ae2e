"""When everything happens, from the orders alone: times, bubbles, and what is held in memory.

An action begins when its rank is free and its inputs are there. A forward needs the stage before, a
backward its own forward and the stage behind. With equal stages and free messages this gives the formulas
of the papers exactly:

    GPipe, 1F1B    idle / busy = (p-1)/m              in memory  m,  min(m, p - rank)
    interleaved    idle / busy = (p-1)/(v·m)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from fractions import Fraction
from typing import NamedTuple

from minitorch_dist.distributed.pipelining.orders import Action, ActionKind, B, F, I, Order, Pipe, W

ONES: Mapping[ActionKind, int] = {F: 1, B: 2, I: 1, W: 1}


class ActionSpan(NamedTuple):
    """One action, from when to when."""

    action: Action
    begin: int
    end: int


class Stuck(ValueError):
    """Nobody can go on: the orders wait for each other."""


class Timing(NamedTuple):
    """The result of `times`; a row for each rank."""

    rows: list[list[ActionSpan]]

    @property
    def total(self) -> int:
        return max((row[-1].end for row in self.rows if row), default=0)

    def busy(self, rank: int) -> int:
        return sum(span.end - span.begin for span in self.rows[rank])

    @property
    def bubble(self) -> Fraction:
        """Idle time as a part of the busy time, on the rank that is idle least."""
        busiest = max(self.busy(rank) for rank in range(len(self.rows)))
        return Fraction(self.total - busiest, busiest)

    def in_flight(self, rank: int) -> int:
        """The most micro-batches (of any stage) whose activations the rank holds at once."""
        held = most = 0
        for span in self.rows[rank]:
            held += {F: 1, B: -1, I: 0, W: -1}[span.action.kind]
            most = max(most, held)
        return most

    def __repr__(self) -> str:
        return f"<Timing of {len(self.rows)} ranks: {self.total} in all, bubble {self.bubble}>"


Parts = Set[tuple[int, int]]  # stages and micro-batches whose backward is in two parts


def needs(action: Action, pipe: Pipe, parts: Parts) -> list[Action]:
    """The actions that have to be finished before, on this rank or another."""
    stage, kind, number = action
    if kind is F:
        return [Action(stage - 1, F, number)] if stage else []
    if kind is W:
        return [Action(stage, I, number)]
    own = [Action(stage, F, number)]
    behind = I if (stage + 1, number) in parts else B
    return own + ([Action(stage + 1, behind, number)] if stage + 1 < pipe.stages else [])


def times(orders: Sequence[Order], pipe: Pipe, cost: Mapping[ActionKind, int] = ONES, link: int = 0) -> Timing:
    """Carry the orders out in time: `cost` of each kind of action, `link` for each message."""
    parts = {(one.stage, one.microbatch) for order in orders for one in order if one.kind is I}
    ends: dict[Action, int] = {}
    rows: list[list[ActionSpan]] = [[] for _ in orders]
    places = [0] * len(orders)
    moved = True
    while moved:
        moved = False
        for rank, order in enumerate(orders):
            while places[rank] < len(order):
                action = order[places[rank]]
                wanted = needs(action, pipe, parts)
                if any(one not in ends for one in wanted):
                    break
                free = rows[rank][-1].end if rows[rank] else 0
                arrivals = [ends[one] + (0 if pipe.rank_of(one.stage) == rank else link) for one in wanted]
                begin = max([free, *arrivals])
                ends[action] = begin + cost[action.kind]
                rows[rank].append(ActionSpan(action, begin, ends[action]))
                places[rank] += 1
                moved = True
    waiting = [
        f"rank {rank} waits in {order[place]} for "
        + ", ".join(str(n) for n in needs(order[place], pipe, parts) if n not in ends)
        for rank, (order, place) in enumerate(zip(orders, places, strict=True))
        if place < len(order)
    ]
    if waiting:
        raise Stuck("the orders wait for each other: " + "; ".join(waiting))
    return Timing(rows)
