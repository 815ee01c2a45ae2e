"""Ranks that are killed, once or again and again: what a run raises is always an ordinary error."""

from __future__ import annotations

from random import Random

import pytest

import minitorch_dist as torch
from minitorch_dist import distributed as dist, sim
from minitorch_dist.distributed import rpc
from tests.deep import seeds
from transports.virtual.sim_thread import Stopped


def elastic() -> int:
    """Begins again with those who are left, as elastic training does."""
    while True:
        if not dist.is_initialized():
            dist.init_process_group()
        try:
            x = torch.ones(4)
            for _ in range(6):
                sim.compute("1ms")
                dist.all_reduce(x)
            dist.barrier()
            return sim.restarts()
        except dist.PeerLost:
            dist.destroy_process_group()


def crashes(seed: int, size: int) -> list[sim.Fault]:
    """Up to five, many of them of a rank that is down, and some at the same instant."""
    chosen = Random(seed)
    plan: list[sim.Fault] = []
    for _ in range(chosen.randint(1, 5)):
        at = chosen.choice([0.0, 0.001, 0.002, chosen.uniform(0, 0.012)])
        restart = at + chosen.uniform(1e-6, 0.006) if chosen.random() < 0.7 else None
        plan.append(sim.crash(chosen.randrange(size), at=at, restart=restart))
    return plan


@pytest.mark.parametrize("size", [1, 2, 3, 5])
@pytest.mark.parametrize("engine", ["greenlet", "threads"])
def test_stopped_never_gets_out(size: int, engine: str) -> None:
    for seed in seeds(8):
        try:
            sim.run(elastic, size, faults=crashes(seed, size), seed=seed, engine=engine)
        except Exception:
            continue  # somebody was lost for good: Deadlock, PeerLost
        except Stopped:
            pytest.fail(f"seed {seed}: Stopped")


def test_who_awaits_its_restart_cannot_be_killed() -> None:
    """There is no process; neither this kill nor its own restart means anything."""
    again = [sim.crash(0, at="1ms", restart="5ms"), sim.crash(0, at="2ms", restart="3ms")]
    report = sim.run(elastic, 1, faults=again)
    assert report.results == [1] and report.time == 11 * 10**9
    report = sim.run(elastic, 1, faults=[again[0], sim.crash(0, at="2ms")])
    assert report.results == [1] and report.time == 11 * 10**9


def test_killed_again_after_its_restart() -> None:
    plan = [sim.crash(0, at="1ms", restart="5ms"), sim.crash(0, at="6ms", restart="7ms")]
    report = sim.run(elastic, 1, faults=plan)
    assert report.results == [2] and report.time == 13 * 10**9


def test_exploring_crashes_raises_nothing_that_is_no_error() -> None:
    chaos = sim.chaos(max_faults=5, kinds=("crash",), crash=True)
    for size in (2, 3):
        sim.explore(elastic, size, seeds=20, faults=chaos)


def say(x: int) -> int:
    return x


def with_two_ends() -> str:
    """Rank 1 is killed; it has two ends, one of its group and one of its calls."""
    rank = dist.get_rank()
    rpc.init_rpc(f"w{rank}", rank=rank, world_size=2)
    lost = []
    for attempt in (lambda: rpc.rpc_sync("w1", say, (1,)), lambda: dist.recv(torch.zeros(1), 1)):
        sim.compute("5ms")
        try:
            attempt()
        except (dist.PeerLost, rpc.RpcError) as error:
            lost.append(type(error).__name__)
    rpc.shutdown(graceful=False)
    return "+".join(lost)


def test_all_ends_of_a_killed_rank_are_dead() -> None:
    """One that is started again has none of what it had, so all others hear of it on every end."""
    for restart in (None, "3s"):
        plan = [sim.crash(1, at="1ms", restart=restart)]
        report = sim.run(with_two_ends_of_the_first, 2, faults=plan)
        assert report.results[0] == "WorkerLost+PeerLost", report.results


def with_two_ends_of_the_first() -> str:
    return with_two_ends() if not sim.restarts() else ""
