"""References in programs that Hypothesis thinks up, where messages are late, and under every pair of delays.

A machine keeps the model: which worker holds which object, and how often each was used. The program is
then carried out by three workers in virtual time, and held against the model after each step.
"""

from __future__ import annotations

import gc
import itertools
import weakref
from collections import Counter
from dataclasses import dataclass, field
from typing import Any
from unittest import mock

import pytest
from hypothesis import given, settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

import minitorch_dist as mtd
from minitorch_dist.distributed import autograd, backends, rpc, world
from minitorch_dist.distributed.rpc.rref_context import RRefContext
from tests.deep import IS_DEEP, examples, seeds
from tests.rpc import worlds
from tests.rpc.faulty import Faults, FaultyTransport
from tests.rpc.test_rref import objects
from transports.faults import plans

SIZE = 3
runs: Counter[tuple[int, int]] = Counter()
held: dict[tuple[int, int], Any] = {}  # by worker and object: the RRef, as long as it is held
living: weakref.WeakValueDictionary[int, Thing] = weakref.WeakValueDictionary()


def shaken(program: Any, size: int, faults: Faults, timeout: float = 3000.0) -> list[Any]:
    """`program(rank)` on workers of a simulated world, whose RPC messages meet the faults."""

    def worker() -> Any:
        rank = world.current().rank
        options = rpc.TensorPipeRpcBackendOptions(rpc_timeout=timeout, num_worker_threads=2)
        rpc.init_rpc(f"w{rank}", rpc_backend_options=options)
        result = program(rank)
        rpc.shutdown()
        return result

    def transport_for(*told: Any) -> Any:
        kind, address = found(*told)
        return lambda *args: FaultyTransport(kind(*args), faults), address

    found = backends.transport_for
    with mock.patch.object(backends, "transport_for", transport_for):
        return mtd.launch(worker, size, "sim://?latency=1ms&rate=1Gb/s", timeout=100_000)


def slow_network(seed: int, late: float, later: float) -> Faults:
    """Each pair of ranks keeps its order; some messages, and those behind them, are late."""
    faults = Faults(seed)
    faults.install(plans.drop(late))
    faults.install(plans.reorder(later, "30ms"))
    return faults


class Thing:
    """An object that counts what is done to it."""

    def __init__(self, number: int) -> None:
        self.uses = 0
        living[number] = self

    def use(self) -> int:
        self.uses += 1
        return self.uses


def make(number: int, owner: int) -> None:
    held[worlds.me(), number] = rpc.remote(owner, Thing, (number,))


def receive(number: int, rref: Any) -> None:
    held[worlds.me(), number] = rref


def pass_on(number: int, to: int) -> None:
    rpc.rpc_sync(to, receive, (number, held[worlds.me(), number]))


def use(number: int) -> int:
    return int(held[worlds.me(), number].rpc_sync().use())


def let_go(number: int) -> None:
    del held[worlds.me(), number]


@dataclass
class Step:
    """What one worker does, and how things stand afterwards."""

    worker: int
    function: Any
    arguments: tuple[int, ...]
    answer: int | None
    reachable: set[int] = field(default_factory=set)


def carry_out(plan: list[Step], network: Faults) -> None:
    held.clear()
    living.clear()

    def program(rank: int) -> None:
        if rank:
            return
        for step in plan:
            assert rpc.rpc_sync(step.worker, step.function, step.arguments) == step.answer, step
            gc.collect(0)
            for number in step.reachable & used:
                assert number in living, f"object {number} was freed before {step}"
            if step.function is use:
                used.add(step.arguments[0])
        everything_is_freed()

    used: set[int] = set()  # until then, the order to make an object may be on its way
    shaken(program, SIZE, network, timeout=300.0)


def everything_is_freed() -> None:
    """Nobody holds anything any more."""
    held.clear()
    for _ in range(100):
        gc.collect(0)
        left = [rpc.rpc_sync(worker, objects) for worker in range(SIZE)]
        if not living and not any(left):
            return
        world.place().clock.sleep(0.5)
    raise AssertionError(f"never freed: {dict(living)}, and {left} entries")


class References(RuleBasedStateMachine):
    """Makes the plan, and knows what must come of it."""

    def __init__(self) -> None:
        super().__init__()
        self.plan: list[Step] = []
        self.holders: dict[int, set[int]] = {}
        self.uses: Counter[int] = Counter()

    @initialize(seed=st.integers(0, 2**20), late=st.sampled_from([0.0, 0.1, 0.3]), later=st.sampled_from([0.0, 0.3]))
    def begin(self, seed: int, late: float, later: float) -> None:
        self.network = slow_network(seed, late, later)

    def step(self, worker: int, function: Any, *arguments: int, answer: int | None = None) -> None:
        reachable = {number for number, holders in self.holders.items() if holders}
        self.plan.append(Step(worker, function, arguments, answer, reachable))

    def chosen(self, data: st.DataObject) -> tuple[int, int]:
        """A holder, and what it holds."""
        pairs = [(w, n) for n, holders in self.holders.items() for w in sorted(holders)]
        return data.draw(st.sampled_from(pairs), "holder and object")

    def somebody_holds(self) -> bool:
        return any(self.holders.values())

    @rule(worker=st.integers(0, 2), owner=st.integers(0, 2))
    def make(self, worker: int, owner: int) -> None:
        number = len(self.holders)
        self.holders[number] = {worker}
        self.step(worker, make, number, owner)

    @precondition(somebody_holds)
    @rule(data=st.data(), to=st.integers(0, 2))
    def pass_on(self, data: st.DataObject, to: int) -> None:
        worker, number = self.chosen(data)
        self.holders[number].add(to)
        self.step(worker, pass_on, number, to)

    @precondition(somebody_holds)
    @rule(data=st.data())
    def use(self, data: st.DataObject) -> None:
        worker, number = self.chosen(data)
        self.uses[number] += 1
        self.step(worker, use, number, answer=self.uses[number])

    @precondition(somebody_holds)
    @rule(data=st.data())
    def let_go(self, data: st.DataObject) -> None:
        worker, number = self.chosen(data)
        self.holders[number].discard(worker)
        self.step(worker, let_go, number)

    def teardown(self) -> None:
        if self.plan:
            carry_out(self.plan, self.network)


class TestReferences(References.TestCase):
    settings = settings(max_examples=examples(25), stateful_step_count=12, deadline=None)


# ------------------------------------------------------------------------------- every pair of delays

FATES = (0.003, 0.02)  # seconds
TRIANGLE = [  # the longest way to pass on: the owner, the one who sends, the one who receives
    Step(0, make, (0, 1), None, {0}),
    Step(0, pass_on, (0, 2), None, {0}),
    Step(0, let_go, (0,), None, {0}),
    Step(2, use, (0,), 1, {0}),
    Step(2, let_go, (0,), None, set()),
]


def struck(fates: dict[int, float]) -> Faults:
    """A network on which the n-th message of all, for some n, meets its fate."""
    network, numbers = Faults(), itertools.count()
    network.install(lambda message: fates.get(next(numbers)))
    return network


@pytest.mark.slow
def test_every_single_fault() -> None:
    for number in range(30):
        for fate in FATES:
            carry_out(TRIANGLE, struck({number: fate}))


FIRST = 30 if IS_DEEP else 10  # messages, every pair of which is struck


@pytest.mark.slow
@pytest.mark.parametrize("one", range(FIRST - 1))
def test_every_pair_of_faults_among_the_first_messages(one: int) -> None:
    for other in range(one + 1, FIRST):
        for fates in itertools.product(FATES, repeat=2):
            carry_out(TRIANGLE, struck({one: fates[0], other: fates[1]}))


@pytest.mark.slow
def test_that_letting_go_too_early_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the rule that a parent waits for its children, one message that is late is enough."""

    def commit(book: RRefContext, to: int, what: Any, fork_id: Any) -> None:
        original(book, to, what, fork_id)
        getattr(what, "children", {}).clear()

    original = RRefContext.commit
    monkeypatch.setattr(RRefContext, "commit", commit)
    with pytest.raises(Exception, match=r"freed before|use on 'w2'"):
        test_every_single_fault()


# ------------------------------------------------------------------------------------------- gradients


def doubled(x: Any, *way: int) -> Any:
    return rpc.rpc_sync(way[0], doubled, (2 * x, *way[1:])) if way else 2 * x


@pytest.mark.parametrize("seed", seeds(4))
def test_gradients_where_messages_are_late(seed: int) -> None:
    def program(rank: int) -> None:
        x = mtd.ones(3, requires_grad=True)
        with autograd.context() as context_id:
            y = doubled(x, (rank + 1) % SIZE, (rank + 2) % SIZE, rank, (rank + 2) % SIZE)
            z = doubled(3 * x, (rank + 2) % SIZE)
            autograd.backward(context_id, [(y * z).sum()])
            found = autograd.get_gradients(context_id)
            assert set(found) == {x} and found[x].tolist() == [2 * 32 * 12.0] * 3

    shaken(program, SIZE, slow_network(seed, 0.2, 0.2))


# ------------------------------------------------------------------------------------------ arguments


def count(caller: int, number: int) -> int:
    runs[caller, number] += 1
    return number


class Asking:
    """An argument that calls a worker while it is written, with another of its kind."""

    def __init__(self, caller: int, number: int, depth: int, to: tuple[int, ...]) -> None:
        self.caller, self.number, self.depth, self.to = caller, number, depth, to

    def __reduce__(self) -> Any:
        rest: tuple[Any, ...] = ()
        if self.depth:
            rest = (Asking(self.caller, 100 * self.number, self.depth - 1, self.to[1:] or self.to),)
        for inner in range(2):
            number = 100 * self.number + inner + 1
            assert rpc.rpc_sync(self.to[0], count_one, (self.caller, number, *rest)) == number
        return int, (self.number,)


def asked(number: int, depth: int) -> list[int]:
    """The questions of such an argument. Each of its two carries one that asks again."""
    deeper = asked(100 * number, depth - 1) if depth else []
    return [100 * number + 1, *deeper, 100 * number + 2, *deeper]


def count_one(caller: int, number: int, *more: Any) -> int:
    """`count`; what else is in the message was read, and asked its own questions before."""
    return count(caller, number)


@settings(max_examples=examples(25))
@given(
    seed=st.integers(0, 2**20),
    late=st.sampled_from([0.0, 0.1, 0.3]),
    later=st.sampled_from([0.0, 0.3]),
    size=st.sampled_from([1, 2, 3]),
    depth=st.integers(0, 2),
    to=st.lists(st.integers(0, 2), min_size=1, max_size=3),
)
def test_an_argument_may_call_while_it_is_written(
    seed: int, late: float, later: float, size: int, depth: int, to: list[int]
) -> None:
    runs.clear()
    way = tuple(worker % size for worker in to)

    def program(rank: int) -> None:
        asking = Asking(rank, 1, depth, way)
        first = rpc.rpc_async(way[-1], count, (rank, 2))
        assert rpc.rpc_sync(way[0], count_one, (rank, 9, asking)) == 9
        made = rpc.remote(way[-1], count_one, (rank, 8, Asking(rank, 3, 0, way)))
        assert made.to_here() == 8 and first.wait() == 2

    shaken(program, size, slow_network(seed, late, later), timeout=60.0)
    wanted = [2, 8, 9, *asked(1, depth), *asked(3, 0)]
    assert runs == Counter((rank, number) for rank in range(size) for number in wanted)
