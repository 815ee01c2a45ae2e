"""Joining, leaving, dying and calling in orders that Hypothesis thinks up, held against a model.

Four places, whose workers act one after the other in virtual time; what each of those present sees is
looked at after every step.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest
from hypothesis import settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

import minitorch_dist as mtd
import minitorch_dist.distributed as dist
from minitorch_dist.distributed import rpc, world
from minitorch_dist.distributed.rpc.agent import current
from tests.deep import examples
from tests.rpc import worlds
from tests.rpc.test_joining import join, names

SIZE = 4
NAMES = ("a", "b", "c")
places = st.integers(0, SIZE - 1)


class Step(NamedTuple):
    """What the worker at one place does, and who is there afterwards, by place."""

    place: int
    what: str
    name: str
    id: int
    there: dict[int, tuple[str, int]]


def act(step: Step) -> None:
    if step.what == "join":
        join(step.name, step.id)
    elif step.what == "refused":
        with pytest.raises(RuntimeError, match="is not unique"):
            join(step.name, step.id)
    elif step.what == "leave":
        rpc.shutdown()
    elif step.what == "vanish":  # as if killed: no word to anybody
        agent = current()
        agent.sign_off = lambda: None
        rpc.shutdown(graceful=False)
    else:
        for name, id in step.there.values():
            assert rpc.rpc_sync(name, worlds.me) == id
            assert rpc.remote(id, worlds.name).to_here() == name


def carry_out(plan: list[Step]) -> None:
    def worker() -> None:
        rank = world.current().rank
        for step in plan:
            if step.place == rank:
                act(step)
            dist.barrier()
            world.place().clock.sleep(0.01)  # word of one that has vanished takes a moment
            if rank in step.there:
                assert names() == sorted(name for name, _ in step.there.values()), step
            dist.barrier()
        if plan and rank in plan[-1].there:
            rpc.shutdown()

    mtd.launch(worker, SIZE, "sim://?latency=1us", timeout=1000)


class Comings(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.plan: list[Step] = []
        self.there: dict[int, tuple[str, int]] = {}

    def step(self, place: int, what: str, name: str = "", id: int = 0) -> None:
        self.plan.append(Step(place, what, name, id, dict(self.there)))

    def chosen(self, data: Any) -> int:
        return int(data.draw(st.sampled_from(sorted(self.there)), "place"))

    def somebody_is_there(self) -> bool:
        return bool(self.there)

    @rule(place=places, name=st.sampled_from(NAMES), id=st.integers(0, 3))
    def join(self, place: int, name: str, id: int) -> None:
        if place in self.there:
            return
        taken = any(name == other or id == number for other, number in self.there.values())
        if not taken:
            self.there[place] = name, id
        self.step(place, "refused" if taken else "join", name, id)

    @precondition(somebody_is_there)
    @rule(data=st.data(), what=st.sampled_from(["leave", "vanish"]))
    def go(self, data: Any, what: str) -> None:
        place = self.chosen(data)
        del self.there[place]
        self.step(place, what)

    @precondition(somebody_is_there)
    @rule(data=st.data())
    def call_everybody(self, data: Any) -> None:
        self.step(self.chosen(data), "call")

    def teardown(self) -> None:
        carry_out(self.plan)


class TestComings(Comings.TestCase):
    settings = settings(max_examples=examples(25), stateful_step_count=12, deadline=None)
