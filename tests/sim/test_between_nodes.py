"""Bytes within nodes and between nodes: every engine counts the same ones, and closed formulas tell them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

import minitorch_dist as torch
from minitorch_dist import distributed as dist, sim

INNER, OUTER = sim.link("2us", "450GB/s"), sim.link("5us", "50GB/s")
ENGINES = ("threads", "greenlet", "lockstep", "closed", "auto")


def nodes(gpus: int, size: int) -> Any:
    return sim.two_level(-(-size // gpus), gpus, INNER, OUTER)


def sent(report: sim.Report[Any]) -> list[tuple[int, int | None]]:
    return [(rank.bytes_sent, rank.between_nodes) for rank in report.ranks]


def ring_all_reduce(numbers: int) -> None:
    dist.all_reduce(torch.zeros(numbers), algorithm="ring")


def ring_all_gather(numbers: int) -> None:
    each = torch.zeros(numbers // dist.get_world_size())
    dist.all_gather_into_tensor(torch.zeros(numbers), each, algorithm="ring")


@pytest.mark.parametrize("shapes", [False, True], ids=["numbers", "shapes"])
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("program", "rounds"), [(ring_all_reduce, 2), (ring_all_gather, 1)])
def test_only_the_last_rank_of_a_node_sends_round_a_ring_to_another_node(
    program: Any, rounds: int, engine: str, shapes: bool
) -> None:
    """Each rank sends (P - 1) / P of the bytes to the next rank, once or twice."""
    size, numbers = 8, 800
    report = sim.run(program, size, (numbers,), net=nodes(4, size), engine=engine, shapes=shapes)
    each = rounds * (size - 1) * numbers * 4 // size
    assert sent(report) == [(each, each if rank in (3, 7) else 0) for rank in range(size)]
    assert report.between_nodes == 2 * each
    assert f"{2 * each:,} between nodes" in str(report)


def some_traffic(number: int, numbers: int) -> None:
    """A collective of all ranks, one of every second rank, and messages round a circle."""
    rank, size = dist.get_rank(), dist.get_world_size()
    dist.all_reduce(torch.zeros(numbers))
    halves = [dist.new_group([*range(first, size, 2)]) for first in range(min(2, size))]
    mine = halves[rank % 2]
    own = dist.get_world_size(mine)
    if number == 0:
        dist.reduce_scatter_tensor(torch.zeros(numbers), torch.zeros(numbers * own), group=mine)
    elif number == 1:
        dist.all_gather_into_tensor(torch.zeros(numbers * own), torch.zeros(numbers), group=mine)
    elif number == 2:
        dist.broadcast(torch.zeros(numbers), 0)
    else:
        dist.all_to_all_single(torch.zeros(numbers * own), torch.zeros(numbers * own), group=mine)
    work = dist.isend(torch.zeros(numbers), (rank + 1) % size)
    dist.recv(torch.zeros(numbers), (rank - 1) % size)
    work.wait()


@settings(deadline=None, max_examples=12)
@given(st.integers(1, 9), st.integers(1, 4), st.integers(0, 3), st.integers(0, 300))
def test_all_engines_count_what_messages_count(size: int, gpus: int, number: int, numbers: int) -> None:
    net = nodes(gpus, size)

    def run(**options: Any) -> sim.Report[Any]:
        return sim.run(some_traffic, size, (number, numbers), net=net, **options)

    alone = sent(run(engine="threads"))
    assert all(0 <= between <= every for every, between in alone if between is not None)
    for engine in ENGINES[1:]:
        assert sent(run(engine=engine)) == alone
        assert sent(run(engine=engine, shapes=True)) == alone
    assert sent(run(shapes=True, fold=True)) == alone
    if size <= gpus:
        assert {between for _, between in alone} == {0}
    if gpus == 1:
        assert all(every == between for every, between in alone)


def test_rails_have_nodes_and_equal_links_have_none() -> None:
    rails = sim.rails(2, 4, INNER, OUTER)
    there, here = (sim.run(some_traffic, 8, (0, 96), net=net) for net in (rails, nodes(4, 8)))
    assert there.between_nodes == here.between_nodes != 0
    alike = sim.run(ring_all_reduce, 4, (8,), net=sim.uniform("2us", "50GB/s"))
    assert alike.between_nodes is None and "between nodes" not in str(alike)
