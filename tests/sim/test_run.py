"""Whole programs in virtual time, written as for any other transport."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import minitorch_dist as torch
from minitorch_dist import distributed as dist, launch, sim
from minitorch_dist.distributed.exceptions import DistTimeout

NET = sim.uniform("5us", "100Gb/s")


def hop(nbytes: int) -> int:
    return 5_000_000 + 80 * nbytes


def pass_round(turns: int = 1, count: int = 100) -> float:
    """Each rank adds what its left neighbour has."""
    rank, size = dist.get_rank(), dist.get_world_size()
    mine, theirs = torch.full((count,), float(rank)), torch.zeros(count)
    for _ in range(turns):
        work = dist.isend(mine, (rank + 1) % size)
        dist.recv(theirs, (rank - 1) % size)
        work.wait()
        mine = mine + theirs
    return float(mine[0].item())


@pytest.mark.parametrize("size", [2, 3, 5, 8])
def test_the_report_tells_what_the_book_tells(size: int) -> None:
    report = sim.run(pass_round, size, (3,), net=NET)
    assert report.results == launch(pass_round, size, args=(3,))
    assert report.time == 3 * hop(400)
    for rank in report.ranks:
        assert (rank.messages, rank.bytes_sent, rank.messages_received) == (3, 1200, 3)
        assert (rank.idle, rank.busy, rank.time) == (3 * hop(400), 0, 3 * hop(400))
    assert repr(report) == f"<Report of {size} ranks: 15.096 µs, {3 * size} messages>"
    first, engine, heading, *rows = str(report).splitlines()
    assert first.startswith(f"{size} ranks, 15.096 µs, {3 * size} messages with {1200 * size:,} bytes")
    assert engine == f"digest {report.digest[:12]}, engine {report.engine_used}"
    assert heading.split() == ["rank", "time", "messages", "bytes", "idle", "busy"]
    assert rows[1].split() == ["1", "15.096", "µs", "3", "1200", "15.096", "µs", "0", "ps"]


def test_a_trace_of_some_ranks(tmp_path: Path) -> None:
    report = sim.run(pass_round, 5, (3,), net=NET, journal=tmp_path / "run.mtd")
    report.save_trace(tmp_path / "some.json", ranks=range(1, 3))
    drawn = json.loads((tmp_path / "some.json").read_text(encoding="utf-8"))
    names = [e["args"]["name"] for e in drawn["traceEvents"] if e["name"] == "thread_name"]
    assert [name for name in names if "beside" not in name] == ["rank 1", "rank 2"]
    report.save_trace(tmp_path / "all.json")
    whole = json.loads((tmp_path / "all.json").read_text(encoding="utf-8"))
    every = [e["args"]["name"] for e in whole["traceEvents"] if e["name"] == "thread_name"]
    assert [name for name in every if "beside" not in name] == [f"rank {n}" for n in range(5)]
    with pytest.raises(ValueError, match="nobody wrote this run down"):
        sim.run(pass_round, 2, (1,)).save_trace(tmp_path / "none.json")


def test_computing_takes_the_time_one_says() -> None:
    def program() -> float:
        if dist.get_rank() == 1:
            sim.compute("3ms")
            sim.compute(0.002)
            dist.send(torch.ones(1), 0)
        else:
            dist.recv(torch.zeros(1), 1)
        return sim.now()

    report = sim.run(program, 2, net=NET)
    assert report.results == [0.005 + hop(4) / 1e12, 0.005]
    assert [rank.busy for rank in report.ranks] == [0, 5 * 10**9]
    assert report.ranks[0].idle == 5 * 10**9 + hop(4)
    assert launch(lambda: sim.compute("100s"), 2) == [None, None]  # real time is not wasted


def test_to_compute_for_no_time_at_all_is_no_waiting() -> None:
    """However often: it was taken for looking again and again for something that never comes."""

    def program() -> None:
        for _ in range(200):
            sim.compute("0s")
        dist.barrier()

    assert sim.run(program, 3).time >= 0


def test_the_same_run_twice_and_a_thousand_ranks() -> None:
    first, second = (sim.run(pass_round, 6, (4,), seed=seed) for seed in (5, 5))
    assert first == second and sim.run(pass_round, 6, (3,)).digest != first.digest
    report = sim.run(pass_round, 1000, net=NET)
    assert report.time == hop(400) and str(report).endswith("… and 984 more")


def test_slow_links_between_nodes_show() -> None:
    fast, slow = sim.link("1us", "150GB/s"), sim.link("9us", "10Gb/s")
    times = [sim.run(pass_round, 4, net=sim.two_level(nodes, 4 // nodes, fast, slow)).time for nodes in (1, 2)]
    assert times == [fast.time(400), slow.time(400)]
    assert sim.run(pass_round, 4, net="sim://?latency=2us&rate=8Gb/s").time == 2_000_000 + 400_000
    assert sim.run(pass_round, 4, net=sim.Network(NET, eager=0)).time == hop(400)


def ask_the_right(posted: bool = False) -> None:
    rank, size = dist.get_rank(), dist.get_world_size()
    theirs = torch.zeros(3)
    if posted:
        dist.irecv(theirs, (rank + 1) % size).wait()
    else:
        dist.recv(theirs, (rank + 1) % size)


@pytest.mark.parametrize("size", [2, 3, 5])
@pytest.mark.parametrize("posted", [False, True])
def test_a_deadlock_names_operations_groups_and_lines(size: int, posted: bool) -> None:
    with pytest.raises(sim.Deadlock) as caught:
        sim.run(ask_the_right, size, (posted,))
    assert isinstance(caught.value, dist.DistError)
    line = ask_the_right.__code__.co_firstlineno + (4 if posted else 6)
    for rank in range(size):
        assert (
            f"rank {rank} waits for rank {(rank + 1) % size} in recv (float32[3]) at test_run.py:"
            f"{line} of group 'default_pg'" in str(caught.value)
        )
    circle = " → ".join(map(str, [*range(size), 0]))
    assert f"In a circle each rank waits for the next: {circle}." in str(caught.value)


def test_without_a_deadlock_at_once_the_timeouts_come() -> None:
    ends: list[float] = []

    def program() -> None:
        try:
            ask_the_right()
        finally:
            ends.append(sim.now())

    with pytest.raises(DistTimeout, match=r"rank 0 waited 90.0 s of virtual time for rank 1 in recv"):
        sim.run(program, 2, timeout=timedelta(seconds=90), endless=None)
    assert ends == [90.0, 90.0]
    with pytest.raises(DistTimeout, match=r"waited 50.0 s of virtual time"):
        sim.run(program, 2, timeout=50)


def test_an_error_ends_the_others_and_is_raised() -> None:
    def program() -> Any:
        if dist.get_rank() == 1:
            raise KeyError("lost keys")
        dist.recv(torch.zeros(1), 1)

    with pytest.raises(KeyError, match="lost keys") as caught:
        sim.run(program, 3)
    assert "in rank 1 of 3" in caught.value.__notes__[0]


@pytest.mark.parametrize("engine", ["threads", "auto"])
@pytest.mark.parametrize("size", [1, 3, 8])
def test_each_rank_has_memory_of_its_own(size: int, engine: str) -> None:
    def program() -> None:
        held = torch.ones(250 * (dist.get_rank() + 1), device="cuda")
        dist.all_reduce(torch.ones(10, device="cuda"))
        del held
        torch.ones(5, device="cuda")

    report = sim.run(program, size, engine=engine, memory="1MB")
    assert [rank.peak_bytes for rank in report.ranks] == [1000 * n + 40 for n in range(1, size + 1)]
    assert "peak bytes" in str(report)
    without = sim.run(dist.get_rank, size)
    assert without.ranks[0].peak_bytes is None
    assert "peak" not in str(without)


def test_what_does_not_fit_is_refused() -> None:
    def program() -> None:
        torch.ones(251 if dist.get_rank() == 1 else 250, device="cuda")

    with pytest.raises(torch.cuda.OutOfMemoryError, match="out of memory"):
        sim.run(program, 3, memory=1000)
