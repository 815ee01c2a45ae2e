"""What the simulator promises of any program, net and seed, as far as no other file asks for it.

1  same code, seed and arguments, same digest: here, where the order of ranks shows (and `test_determinism`)
2  a token makes the same failure again         `test_exploring`
3  what is minimised is needed                  `test_exploring`
4  time is the textbook's formula               `test_formulas`
5  no bound is ever beaten                      here
6  together is message by message               `test_engines`; here, where much happens at one instant
7  values are those of real transports          `test_engines`
8  hangs are explained (`test_zoo`), and what is correct gives no alarm: here
9  how fast                                     `mtd bench sim`
10 tables of papers                             `test_papers`
"""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import minitorch_dist as torch
from minitorch_dist import distributed as dist, sim
from minitorch_dist.distributed import schedules, world
from minitorch_dist.distributed.schedules import bounds
from minitorch_dist.distributed.schedules.schedule import ROOTED, Schedule
from minitorch_dist.nn.parallel import DistributedDataParallel
from minitorch_dist.sim.fast.batched_engine import TOGETHER
from minitorch_dist.sim.hardship import ALL
from mtd import estimates
from tests.deep import some_of
from tests.sim.programs import collective

MEETING = [s for s in schedules.BUILT_IN.values() if s.collective in TOGETHER]


def who_comes_first_sends_most() -> list[int]:
    """Ranks that could all go draw numbers from the store: the order in which they run shows."""
    rank, size = dist.get_rank(), dist.get_world_size()
    store: Any = dist.distributed_c10d._get_default_store()
    drawn = []
    for turn in range(4):
        drawn.append(store.add(f"turn {turn}", 1))
        sent = dist.isend(torch.zeros(drawn[-1]), (rank + 1) % size, tag=turn)
        into = [torch.zeros(n + 1) for n in range(size)]
        sizes = [torch.zeros(1) for _ in range(size)]
        dist.all_gather(sizes, torch.full((1,), float(drawn[-1])))
        left = int(sizes[(rank - 1) % size].item())
        dist.recv(into[left - 1], (rank - 1) % size, tag=turn)
        assert sent is not None
        sent.wait()
    return drawn


def test_the_order_of_ranks_follows_the_seed_alone() -> None:
    program = (
        "from minitorch_dist import sim; from tests.sim.test_promises import who_comes_first_sends_most as fn\n"
        "for engine in ('threads', 'greenlet'):\n"
        "    report = sim.run(fn, 5, seed=3, engine=engine); print(report.digest, report.results)"
    )
    said = []
    for seed in ("0", "1", "77"):
        done = subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        )
        said += done.stdout.splitlines()
    assert len(said) == 6 and len(set(said)) == 1
    others = {sim.run(who_comes_first_sends_most, 5, seed=seed).digest for seed in range(3, 8)}
    assert len(others) > 1 and said[0].split()[0] in others


@pytest.mark.parametrize("schedule", schedules.BUILT_IN.values(), ids=str)
@settings(max_examples=4)
@given(size=st.integers(2, 9), count=st.sampled_from([0, 1, 40]), seed=st.integers(0, 999), data=st.data())
def test_no_bound_is_beaten(schedule: Schedule, size: int, count: int, seed: int, data: st.DataObject) -> None:
    """On any net, in any order, with messages that come late, twice, or not at first."""
    rng = np.random.default_rng(seed)
    net: Any = data.draw(
        st.sampled_from(
            [
                sim.uniform("5us", "100Gb/s", "2us"),
                sim.two_level(3, 3, sim.link("1us", "8GB/s"), sim.link("9us", "1GB/s")),
                sim.matrix([[sim.Link(int(rng.integers(1, 9)) * 10**6, int(rng.integers(0, 99)))] * size] * size),
            ]
        )
    )
    faults = data.draw(st.sampled_from([[], ["drop=0.1", "duplicate=0.2", "jitter=20us"]]))
    what = schedule.collective, schedule.algorithm, count
    report = sim.run(
        collective,
        size,
        what,
        net=net,
        seed=seed,
        faults=faults,
        hardships=data.draw(st.sampled_from(["", ALL])),
        engine=data.draw(st.sampled_from(["auto", "lockstep"])),
    )
    whole = 4 * count * (1 if schedule.collective in ("all_reduce", "broadcast", "reduce") else size)
    nbytes = 0 if schedule.collective == "barrier" else whole
    assert report.time >= bounds.least_time(schedule.collective, size, nbytes, estimates.fastest(net, size))
    if schedule.collective not in ROOTED:
        assert max(rank.bytes_sent for rank in report.ranks) >= bounds.least_bytes(schedule.collective, size, nbytes)


@pytest.mark.parametrize("schedule", MEETING, ids=str)
@settings(max_examples=6)
@given(
    size=st.integers(3, 9),
    starts=st.lists(st.integers(0, 6), min_size=18, max_size=18),
    count=st.sampled_from([0, 625]),  # 625 float32 take as long as a latency
)
def test_together_is_message_by_message_where_much_happens_at_one_instant(
    schedule: Schedule, size: int, starts: list[int], count: int
) -> None:
    """Ranks begin a whole number of messages later than others, so all comes to the ports at once."""
    net, hop = sim.uniform("1us", "2500MB/s"), 10**6

    def program() -> list[tuple[bytes, int]]:
        late = [[hop * start for start in starts[n * 9 :]] for n in range(2)]
        return [collective(schedule.collective, schedule.algorithm, count, entries) for entries in late]

    one, other = (sim.run(program, size, net=net, engine=e) for e in ("greenlet", "lockstep"))
    assert one.results == other.results and one.ranks == other.ranks and not other.crossings


def training(steps: int = 2) -> list[float]:
    """Gradients, a metric from anybody, and a barrier: nothing in it depends on who comes first."""
    torch.manual_seed(0)
    rank, size = dist.get_rank(), dist.get_world_size()
    model: Any = DistributedDataParallel(torch.nn.Linear(3, 2), bucket_cap_mb=1e-5)
    seen = 0.0
    for _ in range(steps):
        sim.compute("30us")
        (model(torch.full((2, 3), rank + 1.0)) ** 2).sum().backward()
        if rank:
            dist.send(torch.full((1,), float(rank)), 0)
        for _ in range(0 if rank else size - 1):
            came = torch.zeros(1)
            dist.recv(came)
            seen += float(came.item())
    dist.barrier(device_ids=None)
    assert world.current().rank == rank
    return [seen, float(model.module.bias.grad[0].item())]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("size", "seeds"),
    some_of([(2, 100), (3, 75), (5, 50), (8, 25), (2, 400), (3, 300), (5, 200), (8, 100)], 0, 1, 2, 3),
)
def test_no_seed_gives_a_false_alarm(size: int, seeds: int) -> None:
    """A thousand seeds in `make deep`."""
    calm = sim.run(training, size).results

    def same(report: sim.Report[list[float]]) -> None:
        for ours, expected in zip(report.results, calm, strict=True):
            assert ours == pytest.approx(expected, rel=1e-5)

    assert sim.explore(training, size, seeds=seeds, check=same) is None
