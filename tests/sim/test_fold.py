"""`sim.run(…, fold=True)`: the report is that of the run in full, `==`; and a program that does not fold is noticed."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import minitorch_dist as torch
from minitorch_dist import distributed as dist, nn, sim
from minitorch_dist.distributed.fsdp import fully_shard
from minitorch_dist.distributed.pipelining import PipelineStage, Schedule1F1B, ScheduleInterleaved1F1B
from minitorch_dist.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
from minitorch_dist.nn.parallel import DistributedDataParallel
from mtd.planning.fold.rank_number import RankNumber
from tests.sim import test_shapes as programs

Program = Callable[..., Any]
INNER, OUTER = sim.link("2us", "450GB/s"), sim.link("5us", "400Gb/s")


def both(program: Program, size: int, *args: Any, **options: Any) -> tuple[Any, Any]:
    """The report of the full run and of the folded one, on nodes of two ranks."""
    options = {"device": sim.gpu("h100"), "net": sim.two_level(8, 2, INNER, OUTER)} | options
    full, folded = (sim.run(program, size, args, shapes=True, fold=fold, **options) for fold in (False, True))
    return full, folded


def same(program: Program, size: int, *args: Any, **options: Any) -> sim.Folded:
    """Times, bytes, messages, peaks and the use of each device are `==`. How it was folded."""
    full, folded = both(program, size, *args, **options)
    assert folded.ranks == full.ranks
    assert folded.time > 0
    found: sim.Folded = folded.folded
    return found


def tower(width: int = 16, device: str = "cuda") -> nn.Sequential:
    return nn.Sequential(nn.Linear(width, 32), nn.GELU(), nn.Linear(32, width)).to(device)


def grid(dp: int, tp: int) -> None:
    """Sharded along one axis, tensor parallel along the other."""
    mesh = dist.device_mesh.init_device_mesh("cuda", (dp, tp), mesh_dim_names=("dp", "tp"))
    model = tower()
    parallelize_module(model, mesh["tp"], {"0": ColwiseParallel(), "2": RowwiseParallel()})
    fully_shard(model, mesh=mesh["dp"])
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(2):
        optimizer.zero_grad()
        model(torch.ones(4, 16, device="cuda")).sum().backward()
        optimizer.step()


def pipelines(pp: int, dp: int, chunks: int = 1) -> None:
    """Replicas of a pipeline; each rank has `chunks` stages of it."""
    mesh = dist.device_mesh.init_device_mesh("cuda", (pp, dp), mesh_dim_names=("pp", "dp"))
    rank, group = mesh.get_local_rank("pp"), mesh.get_group("pp")
    stages = [
        PipelineStage(
            DistributedDataParallel(tower(), process_group=mesh.get_group("dp")),
            rank + number * pp,
            pp * chunks,
            torch.device("cuda"),
            group=group,
        )
        for number in range(chunks)
    ]
    schedule: Any = (
        Schedule1F1B(stages[0], 4, loss_fn=nn.functional.mse_loss)
        if chunks == 1
        else ScheduleInterleaved1F1B(stages, 4, loss_fn=nn.functional.mse_loss)
    )
    ones = torch.ones(8, 16, device="cuda")
    for _ in range(2):
        schedule.step(*[ones] * (rank == 0), **({"target": ones} if rank == pp - 1 else {}))


# ----------------------------------------------------------------------------- the same numbers


@pytest.mark.parametrize("size", [2, 3, 4, 5, 8])
@pytest.mark.parametrize("program", programs.PROGRAMS, ids=lambda program: program.__name__)
def test_it_is_the_full_run(program: Program, size: int) -> None:
    same(program, size)


@pytest.mark.parametrize("program", [programs.ddp, programs.fsdp], ids=lambda each: each.__name__)
def test_two_ranks_run_the_program_for_eight(program: Program) -> None:
    folded = same(program, 8)
    assert not folded.refused
    assert sum(1 + len(role.witnesses) for role in folded.roles) <= 3


@pytest.mark.parametrize(("dp", "tp"), [(2, 2), (4, 2), (2, 4), (8, 1)])
def test_a_grid(dp: int, tp: int) -> None:
    folded = same(grid, dp * tp, dp, tp)
    assert [len(role.ranks) for role in folded.roles] == [dp * tp]


@pytest.mark.parametrize(("pp", "dp", "chunks"), [(2, 2, 1), (4, 2, 1), (2, 4, 2), (2, 3, 1)])
def test_pipelines(pp: int, dp: int, chunks: int) -> None:
    folded = same(pipelines, pp * dp, pp, dp, chunks)
    stages = {frozenset(range(stage * dp, (stage + 1) * dp)) for stage in range(pp)}
    found = {frozenset(role.ranks) for role in folded.roles}
    assert not folded.refused and all(any(role <= stage for stage in stages) for role in found)


def ring() -> None:
    """Each rank sends to the next one while it computes."""
    rank, size = dist.get_rank(), dist.get_world_size()
    x = torch.ones(64, 64)
    for _ in range(3):
        work = dist.isend(x, (rank + 1) % size)
        x @ x
        dist.recv(torch.empty(64, 64), (rank - 1) % size)
        work.wait()


@pytest.mark.parametrize("size", [5, 8])
def test_a_ring_of_messages_is_one_role(size: int) -> None:
    folded = same(ring, size)
    assert [len(role.ranks) for role in folded.roles] == [size]


@pytest.mark.parametrize(
    "options",
    [
        {"net": sim.rails(4, 2, INNER, OUTER)},
        {"net": sim.torus((2, 4), OUTER), "engine": "greenlet"},
        {"speeds": {3: 0.8}},
        {"engine": "lockstep", "adding": "8GB/s"},
        {"device": None, "memory": "1GB"},
    ],
    ids=["rails", "torus", "straggler", "lockstep", "no device"],
)
def test_on_other_networks_and_devices(options: dict[str, Any]) -> None:
    """All clocks run: only Python is folded."""
    assert not same(programs.fsdp, 8, **options).refused


def mixture(seed: int) -> None:
    """A random program of collectives, messages, groups and waits, equal on all ranks."""
    draw, rank, size = iter(_digits(seed)), dist.get_rank(), dist.get_world_size()
    half = None
    if size % 2 == 0:
        half, _ = dist.new_subgroups_by_enumeration([[first, first + 1] for first in range(0, size, 2)])
    works: list[Any] = []
    for kind in draw:
        x = torch.ones(1000 * (1 + next(draw, 0)), device="cuda")
        if kind == 0:
            works.append(dist.all_reduce(x, async_op=True))
        elif kind == 1:
            dist.all_gather_into_tensor(torch.empty(size * len(x), device="cuda"), x, group=None)
        elif kind == 2:
            works.append(dist.isend(x, (rank + 1) % size))
            dist.recv(torch.empty_like(x), (rank - 1) % size)
        elif kind == 3:
            dist.all_reduce(x, group=half, async_op=False)
        elif kind == 4 and works:
            works.pop(0).wait()
        elif rank == 1:
            x.sin()
        else:
            x.cos().exp()
    for work in works:
        work.wait()


def _digits(seed: int) -> list[int]:
    return [(seed // 6**place) % 6 for place in range(10)]


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 6**10 - 1), st.sampled_from([2, 3, 5, 8]))
def test_random_programs(seed: int, size: int) -> None:
    assert not same(mixture, size, seed).refused


# ------------------------------------------------------------------------ programs that do not fit


@given(st.integers(-3, 9), st.integers(1, 9))
def test_a_rank_number_is_its_number_and_tells_whom_a_comparison_separates(add: int, by: int) -> None:
    told: list[Any] = []
    ranks = np.arange(8)
    rank = RankNumber(5, ranks, lambda answers, own: told.append((answers.tolist(), own)))
    found, of_all = (rank + add) * by // 2 % 7 - rank, (ranks + add) * by // 2 % 7 - ranks
    assert isinstance(found, RankNumber) and int(found) == of_all[5]
    assert (found < 3) == (of_all[5] < 3) and (rank == 2) is False and bool(rank)
    assert [answers for answers, _ in told] == [(of_all < 3).tolist(), (ranks == 2).tolist(), (ranks != 0).tolist()]
    assert all(own == answers[5] for answers, own in told)
    assert (rank == np.array([4, 5])).tolist() == [False, True] and len(told) == 3
    assert {rank: 1}[RankNumber(5, ranks, rank.agree)] == 1 and f"{rank} {rank / 2}" == "5 2.5"


def one_more(of: int) -> None:
    x = torch.ones(100)
    dist.all_reduce(x)
    if dist.get_rank() == of:
        x = x.sin().cos()
    dist.barrier()


def test_a_rank_that_computes_more_has_a_role_of_its_own() -> None:
    folded = same(one_more, 8, 5)
    assert sorted(role.ranks for role in folded.roles) == [(0, 1, 2, 3, 4, 6, 7), (5,)]


def hangs() -> None:
    dist.all_reduce(torch.ones(10))
    if dist.get_rank() == 5:
        dist.all_reduce(torch.ones(10))
    dist.barrier()


def other_size() -> None:
    dist.all_reduce(torch.ones(20 if dist.get_rank() == 3 else 10))


@pytest.mark.parametrize("program", [hangs, other_size])
def test_a_mismatch_is_raised_as_by_the_full_run(program: Program) -> None:
    raised = []
    for fold in (False, True):
        with pytest.raises(Exception) as caught:
            sim.run(program, 8, shapes=True, fold=fold)
        raised.append((type(caught.value), str(caught.value).partition("\n")[0]))
    assert raised[0] == raised[1]


def hidden(sizes: list[int]) -> None:
    """The rank chooses from a list, which nobody notices."""
    torch.ones(sizes[dist.get_rank()], 8) @ torch.ones(8, 8)
    dist.barrier()


def test_a_witness_notices_what_a_comparison_does_not_show() -> None:
    folded = same(hidden, 5, [10, 10, 10, 10, 2000])
    assert "rank 4 does not do what rank 0 does" in folded.refused


def anybody() -> None:
    if dist.get_rank() == 0:
        for _ in range(dist.get_world_size() - 1):
            dist.recv(torch.empty(3))
    else:
        dist.send(torch.ones(3), 0)


def polling() -> None:
    work = dist.all_reduce(torch.ones(3), async_op=True)
    while not work.is_completed():
        sim.compute("1us")


def sleeping() -> None:
    time.sleep(0.001)


def asking_for_the_time() -> None:
    torch.ones(100).sin()
    if sim.now() > 0 and time.time() > 0:
        dist.barrier()


def using_the_store() -> None:
    dist.distributed_c10d._get_default_store().set("key", b"value")
    dist.barrier()


def starting_a_thread() -> None:
    sim.start(lambda: None).join()
    dist.barrier()


@pytest.mark.parametrize(
    ("program", "why"),
    [
        (anybody, "from anybody"),
        (polling, "is completed"),
        (sleeping, "sleeps"),
        (asking_for_the_time, "asks for the time"),
        (using_the_store, "uses the store"),
        (starting_a_thread, "starts a thread"),
    ],
)
def test_what_depends_on_times_is_run_in_full(program: Program, why: str) -> None:
    assert why in same(program, 3).refused


def test_a_large_world_that_does_not_fold_is_an_error() -> None:
    with pytest.raises(sim.CannotFold, match="257 ranks would have to run the program"):
        sim.run(polling, 257, shapes=True, fold=True)


def too_much() -> None:
    torch.ones(1 << 30, device="cuda")


def test_an_error_of_the_program_is_raised() -> None:
    with pytest.raises(torch.cuda.OutOfMemoryError, match="CUDA out of memory"):
        sim.run(too_much, 257, shapes=True, fold=True, memory="1GB")


def test_numbers_are_not_folded() -> None:
    with pytest.raises(ValueError, match="shapes=True"):
        sim.run(ring, 2, fold=True)


def its_rank() -> int:
    dist.barrier()
    return dist.get_rank()


def test_a_result_is_that_of_the_representative() -> None:
    report = sim.run(its_rank, 5, shapes=True, fold=True)
    assert report.results == [0] * 5 and report.results[3] != 3
    (role,) = report.folded.roles
    assert role.representative == 0 and role.witnesses == (4,)


def marking() -> None:
    for step in range(2):
        torch.ones(1000).sin()
        dist.all_reduce(torch.ones(1000))
        sim.mark(f"step {step}")


def test_marks_are_those_of_the_full_run() -> None:
    full, folded = both(marking, 3)
    assert [name for name, _ in full.ranks[2].marks] == ["step 0", "step 1"]
    assert full.ranks == folded.ranks and not folded.folded.refused
    assert full.ranks[2].marks[1][1] == full.ranks[2].time


def test_roles_can_be_said() -> None:
    report = sim.run(pipelines, 4, (2, 2), shapes=True, device=sim.gpu("h100"), fold=lambda rank: rank // 2)
    assert {role.ranks[0] // 2 for role in report.folded.roles} == {0, 1}
    assert not any({0, 2} <= set(role.ranks) for role in report.folded.roles)
    assert "folded" in str(report)


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8])
def test_roles_that_were_proved_run_once(size: int) -> None:
    """The same program with other sizes; ranks that differ keep the roles that the first run has found."""
    calls: list[int] = []

    def program(width: int) -> None:
        calls.append(dist.get_rank())
        x = torch.zeros(width + (dist.get_rank() == 0), device="cuda")
        dist.all_reduce(torch.zeros(width, device="cuda"))
        dist.broadcast(x + x if dist.get_rank() == 0 else torch.zeros(width + 1), 0)

    net = sim.two_level(8, 2, INNER, OUTER)
    options: dict[str, Any] = {"shapes": True, "device": sim.gpu("h100"), "net": net}
    proved = sim.run(program, size, (100,), fold=True, **options).folded
    calls.clear()
    again = sim.run(program, size, (700,), fold=proved, **options)
    assert len(calls) == len(proved.roles) == min(size, 2)
    assert again.ranks == sim.run(program, size, (700,), **options).ranks
    with pytest.raises(ValueError, match=f"roles of {size} ranks, not of {size + 1}"):
        sim.run(program, size + 1, (700,), fold=proved, **options)
