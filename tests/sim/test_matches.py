"""A wrong value is explained by the order in which messages came."""

from __future__ import annotations

import pytest

import minitorch_dist as torch
from minitorch_dist import distributed as dist, sim


def last_one_wins() -> float:
    """Wrong: it takes for granted that the messages come in the order of the ranks."""
    if dist.get_rank() == 0:
        told = torch.zeros(1)
        for _ in range(dist.get_world_size() - 1):
            dist.recv(told)
        assert told.item() == dist.get_world_size() - 1, f"told {told.item()}"
        return told.item()
    sim.compute("10us")
    dist.send(torch.ones(1) * dist.get_rank(), 0)
    return 0.0


def late() -> None:
    if dist.get_rank() == 0:
        sim.compute("1ms")
        for _ in range(2):
            dist.recv(torch.zeros(1))
        raise ValueError("wrong")
    sim.compute("10us" if dist.get_rank() == 2 else "20us")
    dist.send(torch.ones(1), 0)


def polls() -> None:
    if dist.get_rank() == 1:
        sim.compute("1ms")
        dist.send(torch.ones(1), 0)
        return
    receive = dist.irecv(torch.zeros(1), 1)
    assert receive is not None
    while not receive.is_completed():
        sim.compute("600us")
    raise ValueError("wrong")


LINE = last_one_wins.__code__.co_firstlineno + 5


@pytest.mark.parametrize("world_size", [3, 5])
def test_exploring_and_replaying_tell_what_came_first(world_size: int) -> None:
    bug = sim.explore(last_one_wins, world_size=world_size, seeds=60)
    assert bug is not None
    said = bug.minimise().explain()
    assert "what came first, where the program leaves it to times" in said
    assert f"test_matches.py:{LINE}" in said and "where it takes from anybody" in said
    told = [line.split("from rank ")[1][0] for line in said.splitlines() if ". at " in line]
    assert sorted(told) == [str(rank) for rank in range(1, world_size)]
    assert f"told {float(told[-1])}" in said  # the last one that came is the value that is wrong
    with pytest.raises(AssertionError) as caught:
        sim.replay(bug.replay_token, last_one_wins)
    assert any("what came first" in note for note in caught.value.__notes__)


def test_a_run_tells_it_too_and_what_else_was_there() -> None:
    with pytest.raises(ValueError, match="wrong") as caught:
        sim.run(late, 3)
    said = "\n".join(caught.value.__notes__)
    assert "1. at 1 ms rank 0 received from rank 2" in said
    assert "rank 1 had sent one, too" in said and "2. at 1 ms rank 0 received from rank 1" in said


def test_answers_of_is_completed_are_told() -> None:
    with pytest.raises(ValueError, match="wrong") as caught:
        sim.run(polls, 2)
    said = "\n".join(caught.value.__notes__)
    assert said.count("heard no") == 2 and said.count("heard yes") == 1


def test_a_check_of_the_report_is_told_as_well() -> None:
    def mine(report: sim.Report[float]) -> None:
        assert report.results[0] != report.results[0], "never right"

    def first() -> float:
        if dist.get_rank():
            dist.send(torch.ones(1), 0)
            return 0.0
        return sum(dist.recv(torch.zeros(1)) for _ in range(2))

    bug = sim.explore(first, world_size=3, seeds=1, check=mine)
    assert bug is not None and bug.explain().count("received from rank") == 2


def test_where_nothing_is_left_to_times_nothing_is_said() -> None:
    def program() -> None:
        dist.all_reduce(torch.ones(3))
        raise ValueError("wrong")

    with pytest.raises(ValueError) as caught:
        sim.run(program, 2)
    assert not any("what came first" in note for note in caught.value.__notes__)


def test_of_many_the_latest_are_told() -> None:
    def program() -> None:
        for _ in range(40):
            if dist.get_rank() == 0:
                dist.recv(torch.zeros(1))
            else:
                dist.send(torch.ones(1), 0)
        raise ValueError("wrong")

    with pytest.raises(ValueError) as caught:
        sim.run(program, 2)
    said = "\n".join(caught.value.__notes__)
    assert said.count("received from rank 1") <= 30
