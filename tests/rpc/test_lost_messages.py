"""Calls and references where messages are dropped, doubled, delayed and reordered, in virtual time.

Nothing is carried out twice; an object is never freed while somebody can reach it, and always freed in
the end.
"""

from __future__ import annotations

import gc
from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

import minitorch_dist as mtd
from minitorch_dist.distributed import rpc, world
from minitorch_dist.distributed.rpc.agent import current
from minitorch_dist.distributed.rpc.retry import RememberingServer
from tests.deep import examples, seeds
from tests.rpc import test_rref
from tests.rpc.faulty import DROP, Faults, FaultyTransport
from tests.rpc.test_rref import alive, forget, kept, pass_on
from transports.faults import plans

runs: Counter[tuple[int, int]] = Counter()


def count(caller: int, number: int) -> int:
    runs[caller, number] += 1
    return number


def nested(caller: int, number: int, way: tuple[int, ...]) -> int:
    runs[caller, number] += 1
    return int(rpc.rpc_sync(way[0], nested, (caller, number, way[1:]))) if way else number


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


def lossy(program: Any, size: int, faults: Faults, timeout: float = 3000.0) -> list[Any]:
    """`program(rank)` on workers of a simulated world, whose RPC messages meet the faults."""

    def worker() -> Any:
        place = world.place()
        place.given["wrap_rpc"] = lambda inner: FaultyTransport(inner, faults)
        rank = world.current().rank
        options = rpc.TensorPipeRpcBackendOptions(rpc_timeout=timeout, num_worker_threads=2)
        rpc.init_rpc(f"w{rank}", rpc_backend_options=options)
        assert isinstance(current().server, RememberingServer)
        result = program(rank)
        rpc.shutdown()
        return result

    return mtd.launch(worker, size, "sim://?latency=1ms&rate=1Gb/s", timeout=100_000)


def bad_network(seed: int, drop: float, twice: float, reorder: float) -> Faults:
    faults = Faults(seed)
    faults.install(plans.drop(drop))
    faults.install(plans.duplicate(twice))
    faults.install(plans.reorder(reorder, "30ms"))
    return faults


@pytest.mark.parametrize("seed", seeds(6))
def test_no_call_is_carried_out_twice_and_all_are_answered(seed: int) -> None:
    runs.clear()
    size = 3

    def program(rank: int) -> None:
        futures = [
            rpc.rpc_async((rank + number) % size, count, (rank, number)) for number in range(12)
        ]
        assert mtd.futures.wait_all(futures) == list(range(12))
        assert rpc.rpc_sync((rank + 1) % size, nested, (rank, 99, (2, 0, 1))) == 99

    lossy(program, size, bad_network(seed, 0.2, 0.2, 0.2))
    assert {key: times for key, times in runs.items() if key[1] != 99 and times != 1} == {}
    assert all(times == 4 for key, times in runs.items() if key[1] == 99) and len(runs) == 39


@settings(max_examples=examples(25))
@given(
    seed=st.integers(0, 2**20),
    drop=st.sampled_from([0.0, 0.1, 0.3]),
    twice=st.sampled_from([0.0, 0.3]),
    reorder=st.sampled_from([0.0, 0.3]),
    size=st.sampled_from([1, 2, 3]),
    depth=st.integers(0, 2),
    to=st.lists(st.integers(0, 2), min_size=1, max_size=3),
)
def test_an_argument_may_call_while_it_is_written(
    seed: int, drop: float, twice: float, reorder: float, size: int, depth: int, to: list[int]
) -> None:
    runs.clear()
    way = tuple(worker % size for worker in to)

    def program(rank: int) -> None:
        asking = Asking(rank, 1, depth, way)
        first = rpc.rpc_async(way[-1], count, (rank, 2))
        assert rpc.rpc_sync(way[0], count_one, (rank, 9, asking)) == 9
        made = rpc.remote(way[-1], count_one, (rank, 8, Asking(rank, 3, 0, way)))
        assert made.to_here() == 8 and first.wait() == 2

    lossy(program, size, bad_network(seed, drop, twice, reorder), timeout=60.0)
    wanted = [2, 8, 9, *asked(1, depth), *asked(3, 0)]
    assert runs == Counter((rank, number) for rank in range(size) for number in wanted)


def test_large_messages_in_parts() -> None:
    def program(rank: int) -> None:
        if rank == 0:
            x, y = mtd.randn(200, 200), mtd.randn(150, 150)
            for _ in range(5):
                a, b = rpc.rpc_sync("w1", test_rref.give_back, ((x, y),))
                assert mtd.equal(a, x) and mtd.equal(b, y)

    lossy(program, 2, bad_network(3, 0.15, 0.2, 0.3))


def test_a_worker_that_cannot_be_reached() -> None:
    faults, parted = Faults(0), [True]
    faults.install(lambda message: DROP if parted[0] and message.src != message.dst else None)

    def program(rank: int) -> None:
        if rank == 0:
            with pytest.raises(rpc.RpcTimeout, match="may have run"):
                rpc.rpc_sync("w1", count, (0, 0), timeout=5)
            parted[0] = False
            assert rpc.rpc_sync("w1", count, (0, 1)) == 1

    runs.clear()
    lossy(program, 2, faults)
    assert runs[0, 1] == 1 and runs[0, 0] <= 1


ways = st.lists(st.sampled_from([0, 1, 2]), min_size=1, max_size=4).map(
    lambda way: tuple(f"w{worker}" for worker in way)
)


@settings(max_examples=examples(25))
@given(
    seed=st.integers(0, 2**20),
    plan=st.lists(st.tuples(st.integers(0, 2), ways), min_size=1, max_size=4),
    drop=st.sampled_from([0.0, 0.1, 0.3]),
    twice=st.sampled_from([0.0, 0.3]),
    reorder=st.sampled_from([0.0, 0.3]),
)
def test_references_on_their_ways(
    seed: int, plan: list[tuple[int, tuple[str, ...]]], drop: float, twice: float, reorder: float
) -> None:
    alive.clear()
    kept.clear()

    def program(rank: int) -> None:
        if rank:
            return
        for owner, way in plan:
            rref = rpc.remote(f"w{owner}", test_rref.Counter, (owner,))
            pass_on(rref, *way)
            del rref
            assert rpc.rpc_sync(way[-1], test_rref.kept_count) == owner
        for worker in range(3):
            rpc.rpc_sync(worker, forget)
        for _ in range(60):
            gc.collect(0)
            if not alive:
                break
            world.place().clock.sleep(0.5)
            for worker in range(3):
                rpc.rpc_sync(worker, test_rref.objects)
        assert not alive

    lossy(program, 3, bad_network(seed, drop, twice, reorder))
