"""Schedules that are wrong in one step, which the proofs have to find."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from minitorch_dist.distributed.schedules.schedule import Schedule
from minitorch_dist.distributed.schedules.steps import Combine, Exchange, Rank, Receive, Send, Step, Steps
from minitorch_dist.testing import strategies


@st.composite
def broken_schedules(draw: Any, collective: str = "all_reduce", size: int = 4) -> Schedule:
    """A schedule that is wrong among `size` ranks. One step of one rank is lost, doubled, turned to another
    chunk, copies where it should add, or goes to another rank. `proof.examine` finds each.
    """
    sound = draw(strategies.schedules(collective))
    places = [
        (rank, number)
        for rank in range(size)
        for number, step in enumerate(sound.of(rank, size))
        if not isinstance(step, Combine)
    ]
    rank, number = draw(st.sampled_from(places))
    step = sound.of(rank, size)[number]
    mistakes = ["lost", "doubled", "other rank"]
    mistakes += ["not added"] if getattr(step, "reduce", False) else []
    mistake = draw(st.sampled_from(mistakes))

    def steps(me: Rank, p: int, root: int | None = None) -> Steps:
        for at, own in enumerate(sound.of(int(me), p, root)):
            if (int(me), p, at) == (rank, size, number):
                yield from _spoiled(own, mistake, int(me), p)
            else:
                yield own

    name = f"{sound.algorithm}, step {number} of rank {rank} {mistake}"
    return Schedule(collective, name, steps, lambda p: sound.total(p))


def _spoiled(step: Step, mistake: str, rank: int, size: int) -> list[Step]:
    if mistake == "lost":
        return []
    if mistake == "doubled":
        return [step, step]
    if mistake == "not added" and isinstance(step, Receive | Exchange):
        return [step._replace(reduce=False)]
    if isinstance(step, Receive):
        return [step._replace(source=_next_but(rank, int(step.source), size))]
    assert isinstance(step, Send | Exchange)
    return [step._replace(to=_next_but(rank, int(step.to), size))]


def _next_but(rank: int, peer: int, size: int) -> int:
    """Another peer than this one; itself where there is no third rank, which is as wrong."""
    other = (peer + 1) % size
    return (other + 1) % size if other == rank and size > 2 else other
