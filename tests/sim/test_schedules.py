"""Theory and simulation agree: every schedule's bill, and what its messages take on the network."""

from __future__ import annotations

from typing import Any

import pytest

from minitorch_dist.distributed import schedules
from minitorch_dist.distributed.schedules import choice
from minitorch_dist.distributed.schedules.cost import cost
from minitorch_dist.distributed.schedules.links import Links, TwoLevelLinks
from minitorch_dist.distributed.schedules.ports import Ports
from minitorch_dist.distributed.schedules.schedule import Schedule
from minitorch_dist.distributed.schedules.steps import Chunks, Combine, Exchange, Receive, Send, numbered
from tests.sim.nodes import SimulatedNode, SimulationOutcome, run
from transports.virtual.topology import Link, Topology, Uniform, two_level


def simulate(schedule: Schedule, size: int, nbytes: int, links: Links, root: int) -> SimulationOutcome[Any]:
    sizes = schedule.sizes(size, nbytes)
    total = schedule.total(size)

    def length(chunks: Chunks) -> int:
        return sum(int(sizes[chunk % len(sizes)]) for chunk in numbered(chunks, total))

    def play(node: SimulatedNode) -> None:
        for step in schedule.of(node.rank, size, root):
            if isinstance(step, Send | Exchange):
                chunks = step.chunks if isinstance(step, Send) else step.send
                node.send(int(step.to), bytes(length(chunks)))
            if isinstance(step, Receive | Exchange):
                chunks = step.chunks if isinstance(step, Receive) else step.receive
                got = len(node.receive(int(step.source)))
                assert got == length(chunks)
                if step.reduce and links.gamma:
                    node.compute(links.gamma * got)
            if isinstance(step, Combine) and step.reduce and links.gamma:
                node.compute(links.gamma * length(step.of))

    return run(play, size, topology_of(links, size))


def topology_of(links: Links, size: int) -> Topology:
    near = Link(links.alpha, links.beta, links.wire)
    if not isinstance(links, TwoLevelLinks):
        return Uniform(near)
    far = Link(links.outer.alpha, links.outer.beta, links.outer.wire)
    return two_level(-(-size // links.per_node), links.per_node, near, far)


NETS = [
    Links(),
    Links(gamma=40),
    Links(500, 80, 7, 99),
    Links(1000, 3, 0, 5000),
    TwoLevelLinks(1000, 3, 2, per_node=3, outer=Links(50_000, 90, 2)),
]


@pytest.mark.parametrize("schedule", schedules.BUILT_IN.values(), ids=str)
def test_a_bill_is_what_the_network_takes(schedule: Schedule) -> None:
    """To the picosecond and for each rank, whatever overtakes what. Around powers of two, where
    ranks fold, on all networks and sizes; else on one in turn."""
    turn = 0
    for size in (*range(1, 18), 31, 32, 33):
        cases = [(links, nbytes) for links in NETS for nbytes in (0, 1, 1009, 720720)]
        if size not in (2, 3, 5, 9):
            turn += 3
            cases = [cases[turn % len(cases)]] if size not in (17, 33) else cases[turn % 7 :: 7]
        for links, nbytes in cases:
            bill = cost(schedule, size, nbytes, links, root=size // 2)
            outcome = simulate(schedule, size, nbytes, links, size // 2)
            assert outcome.messages == bill.messages
            assert [rank.bytes_sent for rank in outcome.ranks] == bill.sent.tolist()
            assert outcome.time == bill.time, (size, links, nbytes)


def test_folding_beside_a_power_of_two_is_billed_as_it_runs() -> None:
    """Ports that serve in the order of asking were 16 % too quick, and for two trees 12 % too slow."""
    for name, sizes in (("rabenseifner", (3, 5, 9, 17, 33)), ("double_binary_tree", (7, 12, 20))):
        schedule = schedules.BUILT_IN["all_reduce", name]
        ratios = []
        for size in sizes:
            bill = cost(schedule, size, 720720, Links())
            assert simulate(schedule, size, 720720, Links(), 0).time == bill.time
            ports = Ports(schedule, size, 720720, 1, Links(), 0)
            for step in schedule.everyone(size):
                ports.take(step)
            ratios.append(int(ports.clock.max()) / bill.time)
        assert any(ratio != 1 for ratio in ratios)


def test_what_is_chosen_has_the_smallest_bill_where_messages_overtake() -> None:
    for size in (3, 5, 9, 17, 33):
        for nbytes in (1 << 14, 1 << 20, 1 << 23):
            chosen = choice.choose("all_reduce", size, nbytes, Links())
            bills = [
                cost(every, size, nbytes, Links()).time for every in choice.candidates("all_reduce", nbytes, Links())
            ]
            assert cost(chosen, size, nbytes, Links()).time == min(bills)
