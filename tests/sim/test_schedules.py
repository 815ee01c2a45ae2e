"""Theory and simulation agree: every schedule's bill, and what its messages take on the network."""

from __future__ import annotations

from typing import Any

import pytest

from minitorch_dist.distributed import schedules
from minitorch_dist.distributed.schedules.cost import cost
from minitorch_dist.distributed.schedules.links import Links
from minitorch_dist.distributed.schedules.schedule import Schedule
from minitorch_dist.distributed.schedules.steps import (
    Chunks,
    Combine,
    Exchange,
    Receive,
    Send,
    numbered,
)
from transports.simulation import Node, Outcome, run
from transports.virtual.topology import uniform

SIZES = [1, 2, 3, 4, 5, 6, 7, 8, 11, 13, 16]


def simulate(schedule: Schedule, size: int, nbytes: int, links: Links, root: int) -> Outcome[Any]:
    sizes = schedule.sizes(size, nbytes)
    total = schedule.total(size)

    def length(chunks: Chunks) -> int:
        return sum(int(sizes[chunk % len(sizes)]) for chunk in numbered(chunks, total))

    def play(node: Node) -> None:
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

    return run(play, size, uniform(links.alpha, links.beta, links.wire))


@pytest.mark.parametrize("schedule", schedules.BUILT_IN.values(), ids=str)
def test_a_bill_is_what_the_network_takes(schedule: Schedule) -> None:
    """To the picosecond, where the vector can be cut evenly. Else, and with additions, messages from
    several ranks may come to one port in another order than they are asked for: the bill serves
    them in that order, a network as they come."""
    for size in SIZES:
        for links, nbytes in ((Links(), 720720), (Links(gamma=40), 1009), (Links(0, 80, 7, 99), 5)):
            bill = cost(schedule, size, nbytes, links, root=size // 2)
            outcome = simulate(schedule, size, nbytes, links, size // 2)
            assert outcome.messages == bill.messages
            assert [rank.bytes_sent for rank in outcome.ranks] == bill.sent.tolist()
            if schedule.name == "double_binary_tree":
                assert links.gamma or outcome.time <= bill.time  # its trees overtake each other
            elif links == Links():
                assert outcome.time == bill.time
