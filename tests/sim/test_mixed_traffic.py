"""Remote calls, messages, collectives and several groups in one program: right programs stay right."""

from __future__ import annotations

import warnings
from random import Random

import pytest

import minitorch_dist as torch
from minitorch_dist import distributed as dist, sim
from minitorch_dist.distributed import rpc
from tests.deep import seeds

KINDS = ("call", "calls", "remote", "ring", "exchange", "sum", "sub", "gather", "barrier", "compute")


def twice(x: int) -> int:
    return 2 * x


def answered(rank: int, number: int) -> None:
    """Calls, one of which is made while a collective of the same rank is on its way."""
    size = dist.get_world_size()
    right = (rank + 1) % size
    x = torch.tensor([float(rank)])
    work = dist.all_reduce(x, async_op=True)
    assert rpc.rpc_sync(f"w{right}", twice, (number,)) == 2 * number
    assert work is not None
    work.wait()
    assert x.item() == size * (size - 1) / 2


def step(kind: str, number: int, groups: list[dist.ProcessGroup]) -> None:
    rank, size = dist.get_rank(), dist.get_world_size()
    left, right = (rank - 1) % size, (rank + 1) % size
    x = torch.tensor([float(rank + number)])
    if kind == "call":
        answered(rank, number)
    elif kind == "calls":
        futures = [rpc.rpc_async(f"w{to}", twice, (number + to,)) for to in range(size)]
        assert [f.wait() for f in futures] == [2 * (number + to) for to in range(size)]
    elif kind == "remote":
        assert rpc.remote(f"w{right}", twice, (number,)).to_here() == 2 * number
    elif kind == "ring":
        dist.send(x, right)
        y = torch.zeros(1)
        dist.recv(y, left)
        assert y.item() == left + number
    elif kind == "exchange":
        y = torch.zeros(1)
        for work in (dist.irecv(y, left, tag=number), dist.isend(x, right, tag=number)):
            assert work is not None
            work.wait()
        assert y.item() == left + number
    elif kind == "sum":
        dist.all_reduce(x)
        assert x.item() == size * (size - 1) / 2 + size * number
    elif kind == "sub":
        mine = groups[rank % 2]
        dist.all_reduce(x, group=mine)
        assert x.item() == sum(r + number for r in range(rank % 2, size, 2))
    elif kind == "gather":
        got = [torch.zeros(1) for _ in range(size)]
        dist.all_gather(got, x)
        assert [t.item() for t in got] == [float(r + number) for r in range(size)]
    elif kind == "barrier":
        dist.barrier(group=groups[rank % 2])
    else:
        sim.compute(1e-6 * (1 + (rank * 7 + number) % 5))


def mixed(program: int, steps: int = 6) -> None:
    size = dist.get_world_size()
    rpc.init_rpc(f"w{dist.get_rank()}", rank=dist.get_rank(), world_size=size)
    groups = [dist.new_group(list(range(first, size, 2)) or [0]) for first in range(2)]
    chosen = Random(program)
    for number in range(steps):
        step(chosen.choice(KINDS), number, groups)
    dist.barrier()
    rpc.shutdown()


NOTHING_HAPPENS = sim.delay(0)


@pytest.mark.parametrize("size", [2, 3, 5])
def test_a_plan_in_which_nothing_happens_changes_nothing(size: int) -> None:
    for program in range(6):
        calm = sim.run(mixed, size, (program,))
        watched = sim.run(mixed, size, (program,), faults=[sim.drop(0.0), NOTHING_HAPPENS])
        assert watched.time == calm.time and watched.digest == calm.digest


@pytest.mark.slow
@pytest.mark.parametrize("size", [2, 3, 5])
def test_a_right_program_is_never_accused(size: int) -> None:
    for program in seeds(5):
        with warnings.catch_warnings():  # its ring of sends leans on buffers, which is no failure
            warnings.simplefilter("ignore", sim.LeansOnBuffering)
            failure = sim.explore(mixed, size, seeds=8, args=(program,))
        assert failure is None, failure.explain()


FAULTS: list[sim.Fault] = [
    sim.drop(0.3),
    sim.delay("1ms", p=0.3),
    sim.duplicate(0.3),
    sim.reorder(0.3),
    sim.jitter("80us"),
    sim.clog(1, "in", at="20us", until="1ms"),
    sim.clog(0, "out", at="20us", until="1ms"),
    sim.partition({0}, {1}, at="30us", heal="2ms"),
    sim.slow(1, 5, "network"),
]


@pytest.mark.parametrize("fault", FAULTS, ids=str)
def test_each_kind_of_fault_is_borne(fault: sim.Fault) -> None:
    for program in range(4):
        sim.run(mixed, 3, (program,), seed=program, faults=[fault])
