"""All schedules are seen, each once, and of those that fail the shortest is shown."""

from __future__ import annotations

from math import factorial
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

import minitorch_dist as torch
from minitorch_dist import distributed as dist, sim


def collect() -> list[int]:
    """Rank 0 takes what comes."""
    if dist.get_rank():
        dist.send(torch.ones(1), 0)
        return []
    return [dist.recv(torch.zeros(1)) for _ in range(dist.get_world_size() - 1)]


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5])
def test_a_server_sees_each_order_once(size: int) -> None:
    found = sim.exhaust(collect, size)
    assert (found.runs, found.redundant, found.is_complete) == (factorial(size - 1), 0, True)
    assert len({tuple(results[0]) for results in found.results}) == found.runs
    assert f"{found.runs} schedules, all there are, none fails" in str(found)


def kahn() -> list[float]:
    """Everything names its source: collectives, a pipeline, sends to all."""
    rank, size = dist.get_rank(), dist.get_world_size()
    x = torch.full((5,), float(rank))
    dist.all_reduce(x)
    works: list[Any] = [dist.isend(x + rank, other, tag=3) for other in range(size) if other != rank]
    for other in range(size):
        if other != rank:
            y = torch.zeros(5)
            dist.recv(y, other, tag=3)
            x = x + y
    for work in works:
        work.wait()
    dist.broadcast(x, 0)
    dist.barrier()
    return [float(x[0].item())]


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8])
def test_where_sources_are_named_one_run_shows_all(size: int) -> None:
    """Kahn's theorem, by counting."""
    found = sim.exhaust(kahn, size)
    assert (found.runs, found.redundant, found.is_complete) == (1, 0, True)
    assert found.results == [sim.run(kahn, size).results]


def two_servers() -> list[int]:
    rank = dist.get_rank()
    if rank < 2:
        return [dist.recv(torch.zeros(1)) for _ in range(2)]
    dist.send(torch.ones(1), rank % 2)
    return []


def test_what_commutes_is_made_once() -> None:
    pruned, all_orders = sim.exhaust(two_servers, 6), sim.exhaust(two_servers, 6, prune=False)
    assert (pruned.runs, all_orders.runs, all_orders.redundant) == (4, 24, 0)
    assert sorted(pruned.results) == sorted(all_orders.results) and len(pruned.results) == 4


routes = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=4)


@given(routes, st.booleans())
@settings(max_examples=10)
def test_pruning_loses_nothing(pairs: list[tuple[int, int]], answers: bool) -> None:
    """Three ranks send as the list says, take from anybody, and tell rank 0 what they took."""
    sends = [(src, dst) for src, dst in pairs if src != dst]

    def program() -> list[int]:
        rank = dist.get_rank()
        for src, dst in sends:
            if src == rank:
                dist.isend(torch.ones(1), dst)
        took = [dist.recv(torch.zeros(1)) for _, dst in sends if dst == rank]
        if answers and rank and took:
            dist.send(torch.tensor([float(sum(took))]), 0, tag=1)
        if answers and rank == 0:
            for other in {dst for _, dst in sends} - {0}:
                took += [dist.recv(torch.zeros(1), tag=1) + 10 * other]
        return took

    pruned, naive = sim.exhaust(program, 3), sim.exhaust(program, 3, prune=False, most=2000)
    assert naive.is_complete and pruned.runs <= naive.runs
    assert sorted(pruned.results) == sorted(naive.results)


def any_then_named() -> None:
    """Right as long as the first that comes is not rank 1: seldom tested, as it has the longest way."""
    rank, size = dist.get_rank(), dist.get_world_size()
    if rank:
        sim.compute("1ms" if rank == 1 else 0)
        dist.send(torch.ones(1), 0)
    else:
        for _ in range(size - 2):
            dist.recv(torch.zeros(1))
        dist.recv(torch.zeros(1), 1)


@pytest.mark.parametrize("size", [3, 4, 5])
def test_the_shortest_failing_schedule_is_found_and_played_again(size: int) -> None:
    assert sim.run(any_then_named, size).results == [None] * size
    assert sim.explore(any_then_named, size, seeds=30, faults=[], hardships="oja") is None
    found = sim.exhaust(any_then_named, size)
    bug = found.failure
    assert (bug is not None and found.failures < found.runs) or size == 3
    assert isinstance(bug, sim.Failure) and isinstance(bug.error, dist.PeerLost)
    assert bug.outcome.schedule[0] == "rank 0 takes what came from rank 1"
    assert len(bug.case.choices) == size - 2  # it cannot fail before the last of them
    assert "rank 1 is lost" in bug.explain() and "what came first" in bug.explain()
    with pytest.raises(dist.PeerLost) as caught:
        sim.replay(bug.replay_token, any_then_named)
    assert str(caught.value) == str(bug.error) and "choices=0" in bug.replay_token


def test_is_completed_may_say_no_or_yes() -> None:
    def program() -> list[bool]:
        if dist.get_rank():
            dist.send(torch.ones(1), 0)
            return []
        work: Any = dist.irecv(torch.zeros(1), 1)
        said = [work.is_completed(), work.is_completed()]
        work.wait()
        return said

    found = sim.exhaust(program, 2)
    assert sorted(results[0] for results in found.results) == [[False, False], [False, True], [True, True]]
    assert found.is_complete and sim.exhaust(program, 2, denials=0).runs == 1


def test_waiting_in_a_loop_is_seen_through_to_its_end() -> None:
    def program() -> int:
        if dist.get_rank():
            dist.send(torch.ones(1), 0)
            return 0
        work: Any = dist.irecv(torch.zeros(1))
        turns = 0
        while not work.is_completed():
            turns += 1
        return turns

    found = sim.exhaust(program, 3, denials=1, tolerate=dist.DistError)
    assert found.is_complete and {results[0] for results in found.results} == {0, 1}


def test_it_stops_where_one_says() -> None:
    found = sim.exhaust(collect, 5, most=7)
    assert found.runs == 7 and not found.is_complete and "there are more" in str(found)
