"""Ranks that begin later than others, and commands to the store that take time: a wake-up that is lost is found."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import minitorch_dist as torch
from minitorch_dist import distributed as dist, sim
from minitorch_dist.sim.hardship import ALL


def store() -> Any:
    return dist.distributed_c10d._get_default_store()


def lost_wake_up() -> None:
    """The last rank looks, and says then that it waits; rank 0 looks in between who waits."""
    if dist.get_rank() == 0:
        store().set("ready", b"1")
        if store().check(["waits"]):
            store().set("wake", b"1")
    elif dist.get_rank() == dist.get_world_size() - 1 and not store().check(["ready"]):
        store().set("waits", b"1")
        store().wait(["wake"])


def wake_up() -> None:
    """It says first that it waits, and looks then."""
    if dist.get_rank() == 0:
        store().set("ready", b"1")
        if store().check(["waits"]):
            store().set("wake", b"1")
    elif dist.get_rank() == dist.get_world_size() - 1:
        store().set("waits", b"1")
        if not store().check(["ready"]):
            store().wait(["wake"])


def lost_count() -> None:
    store().add("n", 0)
    dist.barrier()
    store().set("n", str(int(store().get("n")) + 1))
    dist.barrier()
    assert int(store().get("n")) == dist.get_world_size()


def count() -> None:
    store().add("n", 1)
    store().barrier("all have", dist.get_world_size())
    assert int(store().get("n")) == dist.get_world_size()
    assert store().compare_set("first", "", "mine") == b"mine"


def counts_on_the_start() -> None:
    """Rank 0 expects that the others have begun by now."""
    if dist.get_rank():
        store().set(f"here/{dist.get_rank()}", b"1")
    else:
        sim.compute("1ms")
        assert store().check([f"here/{rank}" for rank in range(1, dist.get_world_size())])


def new_worlds() -> None:
    """The library bears it in its own use of the store."""
    groups = [dist.new_group([0]), dist.new_group()]
    dist.destroy_process_group()
    dist.init_process_group()
    x = torch.ones(2)
    dist.all_reduce(x, group=dist.new_group())
    dist.monitored_barrier()
    assert len(groups) == 2 and x.tolist() == [dist.get_world_size()] * 2


def seeds_until(program: Callable[[], None], size: int, hardships: str) -> int:
    found = sim.survey(program, size, range(1, 101), hardships=hardships)
    return found.runs if found.failure is not None else 101


@pytest.mark.parametrize("size", [2, 3, 5])
@pytest.mark.parametrize(("program", "letter"), [(lost_wake_up, "k"), (lost_count, "k"), (counts_on_the_start, "b")])
def test_what_leans_on_their_order_is_found(program: Callable[[], None], letter: str, size: int) -> None:
    assert seeds_until(program, size, ALL) <= 40
    assert seeds_until(program, size, letter) <= 40
    others = ALL.replace("b", "").replace("k", "")
    assert seeds_until(program, size, others) == 101


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8])
@pytest.mark.parametrize("program", [wake_up, count, new_worlds])
def test_what_is_right_bears_them(program: Callable[[], None], size: int) -> None:
    found = sim.survey(program, size, range(1, 31), faults=sim.chaos(0)).failure
    assert found is None, found.explain()


def test_the_wait_is_told_with_its_key_and_line() -> None:
    found = sim.explore(lost_wake_up, 3, range(1, 101))
    assert found is not None
    smallest = found.minimise()
    assert smallest.case.hardships == "k" and not smallest.faults
    place = f"test_beginnings_and_stores.py:{lost_wake_up.__code__.co_firstlineno + 8}"
    assert f"rank 2 waits for the key 'default_pg/1/wake' of a store, at {place}" in str(smallest.error)


def test_each_rank_begins_at_its_own_time() -> None:
    calm = sim.run(sim.now, 4).results
    begun = [sim.run(sim.now, 4, seed=seed, hardships="b").results for seed in range(1, 40)]
    assert calm in begun  # a run may have none of it
    late = max(max(times) - min(times) for times in begun)
    assert 1e-3 < late <= 5e-3
    assert any(len(set(times)) == 4 for times in begun)
