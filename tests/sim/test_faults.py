"""What goes wrong in a simulated world is what was planned, to the picosecond, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest

import minitorch_dist as torch
from minitorch_dist import distributed as dist, sim
from minitorch_dist.distributed.exceptions import PeerLost

MS = 10**9
ALPHA = 5_000_000
NET = sim.uniform(ALPHA, 0)  # each message takes 5 µs


def train(steps: int = 4, count: int = 10) -> float:
    """Data parallel, in essence."""
    x = torch.full((count,), float(dist.get_rank() + 1))
    for _ in range(steps):
        sim.compute("1ms")
        dist.all_reduce(x, op=dist.ReduceOp.AVG)
    return float(x[0].item())


def stream(count: int = 20, anyhow: bool = False) -> list[float]:
    """Rank 0 sends numbers to rank 1, which returns what came, in the order in which it came."""
    if dist.get_rank() == 0:
        for number in range(count):
            dist.send(torch.tensor([float(number)]), 1)
        sim.compute("100ms")
        return []
    got = []
    x = torch.zeros(1)
    while len(got) < count or anyhow:
        work = dist.irecv(x, 0)
        try:
            work.wait(0.01 if anyhow else None)  # type: ignore[union-attr, arg-type]
        except dist.DistError:
            break
        got.append(float(x.item()))
    return got


HARMLESS: list[sim.Fault] = [
    sim.drop(0.2),
    sim.delay("1ms", p=0.3),
    sim.duplicate(0.3),
    sim.reorder(0.3),
    sim.jitter("80us"),
    sim.clog(1, "in", at="1ms", until="3ms"),
    sim.clog(0, "out", at="1ms", until="3ms"),
    sim.partition({0}, {1}, at="1ms", heal="4ms"),
    sim.slow(1, x=3),
    sim.slow(0, 5, "network"),
]


@pytest.mark.parametrize("fault", HARMLESS, ids=str)
@pytest.mark.parametrize("size", [2, 3, 5, 8])
def test_a_reliable_transport_only_becomes_slower(fault: sim.Fault, size: int) -> None:
    calm = sim.run(train, size, net=NET)
    first, second = (sim.run(train, size, net=NET, faults=[fault], seed=3) for _ in range(2))
    assert first == second
    assert first.results == calm.results and first.time >= calm.time
    assert first.digest != calm.digest or size == 2  # two ranks may be spared


def test_alone_in_the_world_nothing_can_go_wrong() -> None:
    report = sim.run(train, 1, net=NET, faults=[sim.drop(1.0), sim.cut(), sim.slow(0, x=2)])
    assert report.time == 8 * MS


def ping() -> None:
    x = torch.ones(1)
    if dist.get_rank() == 0:
        dist.send(x, 1)
    elif dist.get_rank() == 1:
        dist.recv(x, 0)


@pytest.mark.parametrize(
    ("fault", "time"),
    [
        (sim.drop(src=0, dst=1, number=0), MS + 2 * ALPHA),
        (sim.drop(until="1.5ms"), 2 * ALPHA + MS + 2 * MS + ALPHA),  # twice; then it gets through
        (sim.delay("2ms"), 2 * MS + ALPHA),
        (sim.reorder(by="3ms"), 3 * MS + ALPHA),
        (sim.duplicate(), ALPHA),
        (sim.clog(1, until="7ms"), 7 * MS),
        (sim.clog(0, "out", until="7ms"), 7 * MS + ALPHA),
        (sim.clog(0, "in", until="7ms"), ALPHA),
        (sim.partition({0}, {1}, heal="1ms"), MS + 2 * ALPHA),
        (sim.slow(1, 3, "network"), 3 * ALPHA),
        (sim.slow(1, 3, "network", until=0), ALPHA),
        (sim.drop(src=1), ALPHA),
        (sim.drop(at="1us"), ALPHA),
    ],
    ids=str,
)
def test_what_each_fault_costs(fault: sim.Fault, time: int) -> None:
    assert sim.run(ping, 3, net=NET, faults=[fault]).ranks[1].time == time


def test_messages_keep_their_order_unless_the_transport_is_unreliable() -> None:
    numbers = [float(n) for n in range(20)]
    faults = (sim.reorder(0.3), sim.duplicate(0.3), sim.drop(0.2))
    assert sim.run(stream, 2, net=NET, faults=faults).results[1] == numbers

    def came(*faults: sim.Fault) -> list[float]:
        plan = sim.Plan(faults, reliable=False)
        return sim.run(stream, 2, (20, True), net=NET, faults=plan).results[1]

    assert sorted(came(sim.reorder(0.3))) == numbers != came(sim.reorder(0.3))
    twice = came(sim.duplicate(0.3))
    assert sorted(set(twice)) == numbers and 20 < len(twice) < 40
    some = came(sim.drop(0.3))
    assert some == sorted(some) and set(some) < set(numbers)
    assert came(sim.delay("1ms", p=0.3)) == numbers  # a slow link keeps the order, too


def test_removing_a_fault_leaves_the_others_as_they_were() -> None:
    def lost(*faults: sim.Fault) -> set[float]:
        plan = sim.Plan(faults, reliable=False)
        return set(sim.run(stream, 2, (20, True), net=NET, faults=plan).results[1])

    drops, twice, slow = sim.drop(0.3), sim.duplicate(0.3), sim.jitter("1us")
    assert lost(drops) == lost(drops, slow) == lost(slow, drops)
    assert lost(drops) <= lost(drops, twice)  # a copy may get through


def test_at_most_once_can_be_tested() -> None:
    """A request that is repeated until it is answered, and a server that knows its numbers."""

    def program() -> float:
        question, answer, total, seen = torch.zeros(2), torch.zeros(2), 0.0, set()
        if dist.get_rank() == 0:
            for number in range(10):
                while True:
                    dist.send(torch.tensor([float(number), 1.0]), 1)
                    try:
                        while answer[0].item() != number + 1:
                            dist.irecv(answer, 1).wait(0.001)  # type: ignore[union-attr, arg-type]
                        break
                    except dist.DistError:
                        sim.sometimes("asked again", True)
            return float(answer[1].item())
        while len(seen) < 10 or dist.irecv(question, 0) is None:
            try:
                dist.irecv(question, 0).wait(0.1)  # type: ignore[union-attr, arg-type]
            except dist.DistError:
                break
            if question[0].item() not in seen:
                seen.add(question[0].item())
                total += float(question[1].item())
            dist.send(torch.tensor([question[0].item() + 1, total]), 0)
        return total

    plan = sim.Plan((sim.drop(0.2), sim.duplicate(0.2)), reliable=False)
    assert sim.run(program, 2, net=NET, faults=plan, seed=1).results == [10.0, 10.0]


def test_a_partition_that_is_not_healed_is_a_lost_peer_on_both_sides() -> None:
    def program() -> tuple[int, bool, str]:
        try:
            dist.barrier()
        except PeerLost as error:
            return error.rank, 15 < sim.now() < 20, str(error)
        raise AssertionError("nobody can pass")

    results = sim.run(program, 2, faults=[sim.partition({0}, {1})]).results
    for rank, (peer, is_in_time, words) in enumerate(results):
        assert peer == 1 - rank and is_in_time
        assert f"nothing got through to rank {rank} for 16.38" in words
    with pytest.raises(PeerLost) as caught:
        sim.run(train, 2, faults=[sim.partition({0}, {1})])
    assert "partition=0|1 is in force" in "".join(caught.value.__notes__)


def test_a_clog_without_an_end_is_named_by_the_deadlock() -> None:
    with pytest.raises(sim.Deadlock, match=r"to rank 2 is held for ever by clog=2,in,at=1ms"):
        sim.run(train, 3, faults=[sim.clog(2, at="1ms")])


def test_a_cut_connection_is_lost_on_both_sides() -> None:
    with pytest.raises(PeerLost, match="was cut by cut=0>1#1"):
        sim.run(train, 2, faults=["cut=0>1#1"])


@pytest.mark.parametrize("size", [2, 3, 5, 8])
def test_a_killed_rank_is_lost_and_reaches_nobody_any_more(size: int) -> None:
    seen: list[Any] = []

    def program() -> str:
        rank = dist.get_rank()
        try:
            train(10)
        except PeerLost as error:
            return f"lost {error.rank} after {sim.now():.3f} s"
        finally:
            if rank == 1:
                with pytest.raises(dist.DistError):
                    dist.send(torch.ones(1), 0, tag=7)
                seen.append(sim.now())
        return "done"

    report = sim.run(program, size, net=NET, faults=[sim.crash(1, at="2.5ms")])
    assert report.results[1] is None and seen == [0.0025]
    others = [said for rank, said in enumerate(report.results) if rank != 1]
    assert "lost 1 after 1.0" in str(others)  # others lose those who have left because of it
    assert all(str(said).startswith("lost ") and " after 1.0" in str(said) for said in others)
    with pytest.raises(PeerLost, match=r"its process was killed at 2.5 ms") as caught:
        sim.run(train, size, net=NET, faults=[sim.crash(1, at="2.5ms")])
    assert "rank 1 was killed at 2.5 ms, after op #1; it did not come to #2" in "".join(caught.value.__notes__)


def test_who_has_finished_cannot_be_killed() -> None:
    assert sim.run(train, 2, (1,), net=NET, faults=[sim.crash(1, at="9ms")]).results == [1.5, 1.5]


def test_an_instant_death() -> None:
    report = sim.run(lambda: sim.compute(1), 2, faults=[sim.crash(0, at=0)])
    assert report.ranks[0].time == 0 and report.ranks[1].time == 1000 * MS


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8])
def test_a_restarted_rank_and_the_others_make_a_new_world(size: int) -> None:
    """Elastic: whoever loses a peer leaves the world, and joins the next one."""

    def program() -> tuple[float, int, list[str]]:
        story: list[str] = []
        while True:
            dist.init_process_group() if not dist.is_initialized() else None
            try:
                value = train(4)
                story.append("done")
                return value, sim.restarts(), story
            except PeerLost as error:
                story.append(f"lost {error.rank}")
                dist.destroy_process_group()

    victim = size - 1
    for restart in ("3ms", "5s"):  # before the others have noticed, and long after
        faults = [sim.crash(victim, at="2.5ms", restart=restart)]
        report = sim.run(program, size, net=NET, faults=faults)
        assert report.time >= (3 * MS if restart == "3ms" else 5000 * MS) + 4 * MS
        mean = sum(range(1, size + 1)) / size
        for rank, (value, restarts, story) in enumerate(report.results):
            assert value == mean and restarts == (rank == victim)
            assert story == ["done"] if rank == victim else [f"lost {victim}", "done"]


def test_slow_ranks_make_all_wait() -> None:
    report = sim.run(train, 4, net=NET, faults=[sim.slow(2, x=2.5, at="2ms")])
    assert [rank.busy for rank in report.ranks] == [4 * MS, 4 * MS, (2 + 2 * 2.5) * MS, 4 * MS]


def test_a_wrong_plan_is_refused() -> None:
    with pytest.raises(ValueError, match="names rank 4 in a world of 4"):
        sim.run(train, 4, faults=[sim.slow(4, x=2)])
    with pytest.raises(TypeError, match="is not a fault"):
        sim.run(train, 4, faults=[None])  # type: ignore[list-item]


@pytest.mark.parametrize(("killed", "came"), [("4us", False), ("6us", True)])
def test_what_has_not_landed_when_its_sender_dies_is_void(killed: str, came: bool) -> None:
    """A message takes 5 µs."""

    def program() -> bool:
        if dist.get_rank() == 1:
            dist.send(torch.ones(1), 0)
            sim.compute("1ms")
            return True
        try:
            dist.recv(torch.zeros(1), 1)
        except PeerLost:
            return False
        return True

    assert sim.run(program, 2, net=NET, faults=[sim.crash(1, at=killed)]).results[0] == came
