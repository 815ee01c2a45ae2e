"""Messages from one rank to another arrive whole, once and in order, under every hardship, network and fault.

This is line 3 of the transports' contract. No order is promised across senders. `isend`s of one rank are messages of
one sender, so two with one tag are received as they were sent.
"""

from __future__ import annotations

from itertools import count
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import minitorch_dist as torch
from minitorch_dist import distributed as dist, sim
from minitorch_dist.sim.hardship import ALL, NAMES, STRICTLY
from tests.deep import examples
from tests.sim.nodes import SimulatedNode, run
from transports.faults.plans import chance
from transports.frames import octets
from transports.virtual.network import Network

LINK = sim.link("1us", "1GB/s")
NETS: dict[str, Any] = {
    "free": sim.LogGP(0, 0, 0, 0),
    "equal": sim.uniform("1us", "1GB/s"),
    "wire": sim.LogGP("5us", "1us", "1us", "1GB/s"),
    "shared card": sim.two_level(4, 2, LINK, sim.link("5us", "1GB/s"), nic="per_node"),
    "mesh": sim.mesh((2, 4), LINK, False),
    "fat tree": sim.fat_tree(4, 2, 1, LINK, LINK),
    "eager": Network(sim.uniform("1us", "1GB/s"), eager=64),
    "window": Network(sim.uniform("1us", "1GB/s"), window=64),
    "all wait": Network(sim.uniform("1us", "1GB/s"), rendezvous=0),
    "long ones wait": Network(sim.uniform("1us", "1GB/s"), rendezvous=64),
}
LETTERS = ["", *NAMES, "r", "rl", "rs", ALL, ALL, STRICTLY, STRICTLY]


class Send(NamedTuple):
    """`after` so many nanoseconds of computing, by `how`."""

    src: int
    dst: int
    tag: int
    count: int
    how: str
    after: int


@st.composite
def programs(draw: Any) -> tuple[int, list[Send], int]:
    size = draw(st.sampled_from([2, 3, 5, 8]))
    ranks = st.sampled_from([0, 1, 0, 1, size - 1])  # so that many have the same way
    send = st.builds(
        Send,
        ranks,
        ranks,
        st.sampled_from([0, 0, 0, 1, 2]),
        st.sampled_from([0, 1, 3, 20, 300]),
        st.sampled_from(["isend", "isend", "send", "batch"]),
        st.sampled_from([0, 0, 0, 500, 30_000]),
    )
    length = draw(st.integers(2, 30))
    sends = draw(st.lists(send, min_size=length, max_size=length))
    sends = [one for one in sends if one.src != one.dst]
    return size, sends, draw(st.integers(0, 2**16))


def play(sends: list[Send], receives_first: bool) -> None:
    """Of each way and tag, the n-th receive gets the n-th message."""
    me, works, received = dist.get_rank(), [], []
    groups = [None, dist.new_group(range(dist.get_world_size()))]

    def receive(at: int, one: Send) -> None:
        into = torch.full((one.count,), -1.0)
        works.append(dist.irecv(into, one.src, groups[one.tag % 2], one.tag))
        received.append((at, into))

    if receives_first:
        for at, one in enumerate(sends):
            if one.dst == me:
                receive(at, one)
    for at, one in enumerate(sends):
        if one.src == me:
            sim.compute(one.after / 1e9)
            x, group = torch.full((one.count,), float(at)), groups[one.tag % 2]
            if one.how == "send":
                dist.send(x, one.dst, group, one.tag)
            elif one.how == "isend":
                works.append(dist.isend(x, one.dst, group, one.tag))
            else:
                works += dist.batch_isend_irecv([dist.P2POp(dist.isend, x, one.dst, group, one.tag)])
        if one.dst == me and not receives_first:
            receive(at, one)
    for work in works:
        work.wait()  # type: ignore[union-attr]
    for at, into in received:
        assert into.tolist() == [float(at)] * sends[at].count, f"{sends[at]} is not number {at}"


@pytest.mark.slow
@settings(max_examples=examples(50), deadline=None)
@given(
    programs(),
    st.sampled_from(LETTERS),
    st.sampled_from(sorted(NETS)),
    st.booleans(),
    st.booleans(),
    st.sampled_from(["auto", "threads"]),
)
def test_receives_get_messages_in_the_order_of_the_sends(
    program: tuple[int, list[Send], int], letters: str, net: str, calm: bool, first: bool, engine: str
) -> None:
    size, sends, seed = program
    if "wait" in net or "s" in letters:  # those who send before they receive would wait for ever
        sends, first = [one._replace(how="isend") for one in sends], True
    faults = () if calm else sim.chaos(max_faults=3).plan(seed, size, 10**8)
    sim.run(play, size, [sends, first], net=NETS[net], seed=seed, hardships=letters, faults=faults, engine=engine)


def two(how: str) -> None:
    """The simplest right program: two messages for one rank."""
    if dist.get_rank() == 0:
        given = [torch.full((1,), float(n)) for n in range(2)]
        works: list[Any] = [dist.isend(given[0], 1)]
        if how == "send":
            dist.send(given[1], 1)
        else:
            works.append(dist.isend(given[1], 1))
        for work in works:
            work.wait()
    elif dist.get_rank() == 1:
        found = [torch.zeros(1) for _ in range(2)]
        for into in found:
            dist.recv(into, 0)
        assert [into.item() for into in found] == [0.0, 1.0]


@pytest.mark.parametrize("how", ["isend", "send"])
@pytest.mark.parametrize("size", [2, 5])
def test_two_messages_for_one_rank(how: str, size: int) -> None:
    assert sim.explore(two, size, 25, args=[how], hardships="r") is None


def test_a_long_message_does_not_take_the_receive_of_a_short_one() -> None:
    """On a network where only long ones wait for their receives, without any hardship."""

    def program() -> None:
        if dist.get_rank() == 0:
            works: list[Any] = [dist.isend(torch.full((n,), float(n)), 1) for n in (1, 100)]
        else:
            found = [torch.zeros(n) for n in (1, 100)]
            works = [dist.irecv(into, 0) for into in found]
        for work in works:
            work.wait()
        if dist.get_rank() == 1:
            assert [into.mean().item() for into in found] == [1.0, 100.0]

    sim.run(program, 2, net=NETS["long ones wait"])


@settings(max_examples=examples(40), deadline=None)
@given(
    st.lists(st.tuples(st.booleans(), st.sampled_from([0, 1, 100, 5000])), max_size=30),
    st.sampled_from([name for name in sorted(NETS) if name != "free"]),
    st.booleans(),
    st.integers(0, 2**16),
)
def test_a_transport_keeps_the_order(sends: list[tuple[bool, int]], net: str, is_late: bool, seed: int) -> None:
    """On the wire, whatever belongs to which receive above it: half of the messages wait for their receiver."""

    numbers = count()

    def program(node: SimulatedNode) -> None:
        moving = node.transport.medium
        moving.meets = lambda message: chance(seed, "meets", 0, 1, next(numbers)) < 0.5
        moving.meets_within, moving.reads_late = 10**9, is_late
        if node.rank == 0:
            begun = []
            for at, (returns_at_once, nbytes) in enumerate(sends):
                payload = octets(np.full(nbytes, at, np.uint8))
                if returns_at_once:
                    begun.append(node.transport.begin(1, b"%d" % at, payload))
                else:
                    node.transport.send(1, b"%d" % at, payload)
            for one in begun:
                one.finish(None)
        elif node.rank == 1:
            for at, (_, nbytes) in enumerate(sends):
                assert node.receive(0) == bytes([at]) * nbytes

    run(program, 3, NETS[net], seed=seed)
