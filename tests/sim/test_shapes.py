"""`sim.run(…, shapes=True)`: the same messages, times, bytes and peaks as with numbers, and no numbers."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest

import minitorch_dist as torch
from minitorch_dist import distributed as dist, nn, sim
from minitorch_dist.distributed.fsdp import FullyShardedDataParallel, fully_shard
from minitorch_dist.distributed.optim import ZeroRedundancyOptimizer
from minitorch_dist.distributed.pipelining import PipelineStage, Schedule1F1B
from minitorch_dist.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
from minitorch_dist.nn.parallel import DistributedDataParallel
from minitorch_dist.tensors.shape_arrays.array import NumbersNeeded


def collectives() -> None:
    size, rank = dist.get_world_size(), dist.get_rank()
    x = torch.ones(1003) * rank
    dist.all_reduce(x)
    sim.compute("3us")
    dist.all_gather([torch.empty(7, 3) for _ in range(size)], torch.ones(7, 3))
    dist.all_gather_into_tensor(torch.empty(size * 11), torch.ones(11))
    dist.reduce_scatter_tensor(torch.empty(5), torch.ones(5 * size))
    dist.reduce_scatter(torch.empty(5), [torch.ones(5) for _ in range(size)])
    dist.all_to_all_single(torch.empty(size * 4), torch.ones(size * 4))
    dist.all_to_all([torch.empty(6) for _ in range(size)], [torch.ones(6) for _ in range(size)])
    dist.broadcast(x, 0)
    dist.reduce(x, 0)
    dist.gather(torch.ones(9), [torch.empty(9) for _ in range(size)] if rank == 0 else None, 0)
    dist.scatter(torch.empty(9), [torch.ones(9) for _ in range(size)] if rank == 0 else None, 0)
    dist.all_reduce(torch.ones(8, 4, dtype=torch.bfloat16).t())
    dist.all_reduce(torch.empty(0))
    dist.barrier()


def messages() -> None:
    size, rank = dist.get_world_size(), dist.get_rank()
    right, left = (rank + 1) % size, (rank - 1) % size
    work = dist.isend(torch.ones(100_000), right)
    dist.recv(torch.empty(100_000), left)
    work.wait()
    dist.send(torch.ones(10), right, tag=3)
    sim.compute("1us")
    dist.recv(torch.empty(10), left, tag=3)
    told: list[Any] = [None] * size
    dist.all_gather_object(told, {"rank": rank})
    assert [one["rank"] for one in told] == list(range(size))  # objects are no tensors


def model() -> nn.Sequential:
    return nn.Sequential(nn.Embedding(40, 16), nn.Linear(16, 32), nn.GELU(), nn.LayerNorm(32), nn.Linear(32, 40)).to(
        "cuda"
    )


def train(model: Any, optimizer: Any) -> None:
    for _ in range(2):
        words = torch.randint(40, (4, 6), device="cuda")
        loss = nn.functional.cross_entropy(model(words).flatten(0, 1), words.flatten())
        optimizer.zero_grad()
        loss.backward()
        if isinstance(model, FullyShardedDataParallel):
            model.clip_grad_norm_(1.0)
        else:
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()


def ddp() -> None:
    whole = DistributedDataParallel(model())
    train(whole, torch.optim.AdamW(whole.parameters()))


def fsdp() -> None:
    whole = FullyShardedDataParallel(model(), device_id=0)
    train(whole, torch.optim.AdamW(whole.parameters()))


def fsdp2() -> None:
    whole = model()
    fully_shard(whole[1])
    fully_shard(whole)
    train(whole, torch.optim.SGD(whole.parameters(), 0.1, momentum=0.9))


def zero() -> None:
    whole = DistributedDataParallel(model())
    train(whole, ZeroRedundancyOptimizer(whole.parameters(), torch.optim.Adam, lr=0.1))


def tensor_parallel() -> None:
    mesh = dist.device_mesh.init_device_mesh("cuda", (dist.get_world_size(),))
    layers = nn.Sequential(nn.Linear(16, 60), nn.ReLU(), nn.Linear(60, 16)).to("cuda")
    parallelize_module(layers, mesh, {"0": ColwiseParallel(), "2": RowwiseParallel()})
    layers(torch.ones(4, 16, device="cuda")).sum().backward()


def pipeline() -> None:
    rank, size = dist.get_rank(), dist.get_world_size()
    stage = PipelineStage(nn.Linear(8, 8).to("cuda"), rank, size, torch.device("cuda"))
    schedule = Schedule1F1B(stage, 4, loss_fn=nn.functional.mse_loss)
    ones = torch.ones(8, 8, device="cuda")
    for _ in range(2):
        schedule.step(*[ones] * (rank == 0), **({"target": ones} if rank == size - 1 else {}))


PROGRAMS = [collectives, messages, ddp, fsdp, fsdp2, zero, tensor_parallel, pipeline]


@pytest.mark.parametrize(("size", "engine"), [(3, "auto"), (4, "lockstep")])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_times_bytes_and_peaks_are_those_of_a_run_with_numbers(
    program: Callable[[], None], size: int, engine: str
) -> None:
    runs = [sim.run(program, size, memory="1GB", seed=1, engine=engine, shapes=shapes) for shapes in (False, True)]
    assert runs[0].ranks == runs[1].ranks
    assert runs[0].digest == runs[1].digest
    assert any(rank.bytes_sent for rank in runs[1].ranks)


@pytest.mark.parametrize("size", [1, 2, 5, 8])
@pytest.mark.parametrize("program", [collectives, ddp], ids=lambda program: program.__name__)
def test_on_other_numbers_of_ranks(program: Callable[[], None], size: int) -> None:
    runs = [sim.run(program, size, memory="1GB", shapes=shapes) for shapes in (False, True)]
    assert runs[0].ranks == runs[1].ranks and runs[0].digest == runs[1].digest


def test_a_number_that_is_asked_for_is_an_error_that_says_where() -> None:
    def program() -> float:
        loss = torch.ones(3).sum()
        return float(loss) if sim.value(loss, None) is None else 0.0

    with pytest.raises(NumbersNeeded, match=r"test_shapes.py:\d+.*sim\.value"):
        sim.run(program, 2, shapes=True)


def test_a_number_can_be_given() -> None:
    def program() -> Any:
        total = torch.ones(3)
        dist.all_reduce(total)
        return sim.value(total.sum(), 7.0), sim.value(total, [])

    assert sim.run(program, 2, shapes=True).results == [(7.0, [])] * 2
    assert sim.run(program, 2).results == [(6.0, [2.0, 2.0, 2.0])] * 2


def test_gigabytes_are_sent_and_take_no_memory() -> None:
    def program() -> None:
        x = torch.ones(1 << 30, device="cuda")
        dist.all_reduce(x)
        dist.all_gather_into_tensor(torch.empty(dist.get_world_size() << 30, device="cuda"), x)

    tracemalloc.start()
    try:
        report = sim.run(program, 4, memory="80GB", shapes=True)
        assert tracemalloc.get_traced_memory()[1] < 20e6
    finally:
        tracemalloc.stop()
    assert report.ranks[0].peak_bytes is not None and report.ranks[0].peak_bytes >= 5 << 32
