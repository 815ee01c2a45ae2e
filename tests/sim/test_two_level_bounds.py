"""Where some links are slower: nothing beats the bound, and what is built for such networks comes near it."""

from __future__ import annotations

from functools import cache

import pytest
from hypothesis import given, strategies as st

from minitorch_dist import sim
from minitorch_dist.distributed.schedules.schedule import COLLECTIVES
from minitorch_dist.sim import nets, topology_links
from mtd import estimates, two_level_bounds
from transports.virtual.topology import TwoLevel

NODES = "two_level:nodes={},gpus={},intra=1us/150GB/s,inter=5us/100Gb/s"


@st.composite
def networks(draw: st.DrawFn) -> TwoLevel:
    def link() -> sim.Link:
        latency = draw(st.sampled_from(["0us", "1us", "5us", "7us"]))
        return sim.link(latency, draw(st.sampled_from(["1GB/s", "10GB/s", "150GB/s"])))

    return sim.two_level(12, draw(st.integers(1, 5)), link(), link())


@given(networks(), st.sampled_from(COLLECTIVES), st.integers(1, 12), st.sampled_from([0, 1, 7, 1000, 10**6 + 1]))
def test_nothing_beats_the_bound(net: TwoLevel, collective: str, size: int, nbytes: int) -> None:
    for one in estimates.compare(collective, size, nbytes, net):
        assert one.bound <= one.time, one


@pytest.mark.parametrize(("nodes", "gpus"), [(2, 4), (4, 8), (8, 2)])
def test_what_is_built_for_nodes_comes_near_it(nodes: int, gpus: int) -> None:
    net = nets.read(NODES.format(nodes, gpus)).topology
    found = estimates.compare("all_reduce", nodes * gpus, 10**8, net)[0]
    assert found.schedule.name in ("hierarchical", "rails") and found.time < 1.25 * found.bound


def test_equal_links_have_the_bound_that_equal_links_have() -> None:
    alike = sim.link("5us", "100Gb/s")
    for collective in COLLECTIVES:
        near = estimates.least_time(collective, 8, 10**6, sim.two_level(1, 8, alike, alike))
        assert near == estimates.least_time(collective, 8, 10**6, sim.Hockney("5us", "100Gb/s"))
    across = estimates.least_time("all_reduce", 8, 10**6, sim.two_level(2, 4, alike, alike))
    assert across == estimates.least_time("all_reduce", 8, 10**6, sim.Hockney("5us", "100Gb/s"))


@pytest.mark.parametrize("near", [1, 2, 4])
@pytest.mark.parametrize("nodes", [(4,), (2, 2), (1, 3), (3, 1), (2, 2, 2), (3, 3), (1, 1, 1, 1)])
def test_no_way_to_tell_all_of_them_is_quicker(nodes: tuple[int, ...], near: int) -> None:
    """All ways in which one rank's word can reach the others are tried."""
    far = 4

    @cache
    def quickest(awake: tuple[tuple[int, int], ...], waiting: tuple[int, ...]) -> float:
        if not any(waiting):
            return 0
        if not awake:
            return float("inf")
        (time, node), *rest = awake
        ways = [quickest(tuple(rest), waiting)]
        for to, left in enumerate(waiting):
            if left:
                came = time + (near if to == node else far)
                told = waiting[:to] + (left - 1,) + waiting[to + 1 :]
                then = tuple(sorted([*rest, (came, node), (came, to)]))
                ways.append(max(came, quickest(then, told)))
        return min(ways)

    best = quickest(((0, 0),), (nodes[0] - 1, *nodes[1:]))
    net = sim.two_level(len(nodes), max(nodes), sim.Link(near, 0), sim.Link(far, 0))
    bound = two_level_bounds._start(sum(nodes), [*nodes], net)
    assert 0.6 * best <= bound <= best


def test_a_shared_card_has_no_bound_yet() -> None:
    shared = nets.read(NODES.format(2, 4) + ",nic=per_node").topology
    assert topology_links.wires_of(shared, range(8)) is None
    assert estimates.least_time("all_reduce", 8, 10**6, shared) == 0
