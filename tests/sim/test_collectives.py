"""Collectives in virtual time take what their schedules' bills say."""

from __future__ import annotations

import numpy as np
import pytest

from minitorch_dist import distributed as dist, sim
from minitorch_dist.distributed import collectives, schedules, world
from minitorch_dist.distributed.prepared import How
from minitorch_dist.distributed.schedules.cost import cost
from minitorch_dist.distributed.schedules.links import Links, TwoLevelLinks
from minitorch_dist.sim.topology_links import links_of

ALPHA, BETA = 5_000_000, 80
NET = sim.uniform(ALPHA, BETA)


def add_up(algorithm: str | None, count: int) -> list[float]:
    array = np.arange(count, dtype=np.float32) + dist.get_rank()
    collectives.all_reduce(world.current().default_group, array, how=How(algorithm))
    return [float(number) for number in array[:3]]


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 7, 8, 16])
@pytest.mark.parametrize("algorithm", ["ring", "recursive_doubling", "rabenseifner", "binomial"])
def test_all_reduce_takes_what_the_bill_says(algorithm: str, size: int) -> None:
    bill = cost(schedules.BUILT_IN["all_reduce", algorithm], size, 6720, Links(ALPHA, BETA), itemsize=4)
    report = sim.run(add_up, size, (algorithm, 1680), net=NET)
    assert report.messages == bill.messages
    assert [rank.bytes_sent for rank in report.ranks] == bill.sent.tolist()
    assert report.time == bill.time
    first = sum(range(size))
    assert report.results == [[first, first + size, first + 2 * size]] * size


def test_a_ring_of_a_hundred_ranks_is_the_formula() -> None:
    report = sim.run(add_up, 100, ("ring", 1000), net=NET)
    assert report.time == 2 * 99 * (ALPHA + BETA * 40)
    assert {rank.bytes_sent for rank in report.ranks} == {2 * 99 * 40}


@pytest.mark.parametrize("count", [4, 1680, 4000])
def test_auto_knows_the_network(count: int) -> None:
    auto = sim.run(add_up, 8, (None, count), net=NET).time
    for algorithm in ("ring", "recursive_doubling", "rabenseifner", "binomial"):
        assert auto <= sim.run(add_up, 8, (algorithm, count), net=NET).time


def test_networks_as_bills_see_them() -> None:
    fast, slow = sim.link("1us", "150GB/s"), sim.link(0, "10Gb/s", "9us")
    assert links_of(NET) == Links(ALPHA, BETA)
    assert links_of(sim.two_level(2, 4, fast, slow)) == TwoLevelLinks(
        1_000_000, 7, per_node=4, outer=Links(0, 800, wire=9_000_000)
    )
    assert links_of(sim.matrix([[fast]])) is None


def test_a_deadlock_of_collectives_over_two_groups() -> None:
    """A classic: two ranks meet in two groups, in opposite order."""

    def program() -> None:
        groups = [dist.new_group([0, 1]), dist.new_group([0, 1])]
        if dist.get_rank() == 1:
            groups.reverse()
        for group in groups:
            collectives.barrier(group)

    with pytest.raises(sim.Deadlock) as caught:
        sim.run(program, 2)
    assert "rank 0 waits for rank 1 in barrier #0 at test_collectives.py" in str(caught.value)
    assert "In a circle each rank waits for the next: 0 → 1 → 0" in str(caught.value)
