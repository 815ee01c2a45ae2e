"""Real torch on simulated ranks: right values, a state of its own for each rank, and nothing left behind."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch import nn

from minitorch_dist import sim
from tests.pytorch import programs
from tests.pytorch.hangs import one_rank_logs

NET = "sim://?latency=20us&rate=10Gb/s"
SIZES = [1, 2, 3, 5, 8]


def _with_group(program: Any, *args: Any) -> Any:
    dist.init_process_group("gloo")
    result = program(*args)
    dist.destroy_process_group()
    return result


def _collectives() -> Any:
    return _with_group(programs.collectives)


def _messages() -> Any:
    return _with_group(programs.messages)


@pytest.mark.parametrize("size", [2, 3])
def test_collectives_and_messages_give_what_they_give_over_tcp(size: int) -> None:
    from tests.pytorch.ranks import on_ranks

    assert sim.run(_collectives, size, net=NET).results == on_ranks(programs.collectives, size)
    assert sim.run(_messages, size, net=NET).results == on_ranks(programs.messages, size)


def _ddp() -> list[float]:
    losses: list[float] = _with_group(programs.train_ddp)
    return losses


def _fsdp() -> list[float]:
    losses: list[float] = _with_group(programs.train_fsdp)
    return losses


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("train", [_ddp, _fsdp])
def test_many_ranks_give_the_losses_of_one(train: Any, size: int) -> None:
    for losses in sim.run(train, size, net=NET).results:
        torch.testing.assert_close(losses, programs.train_alone(), rtol=1e-5, atol=1e-7)


def _tensor_parallel() -> float:
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

    dist.init_process_group("nccl")
    net = programs.model()
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    parallelize_module(net, mesh, {"0": ColwiseParallel(), "2": RowwiseParallel()})
    loss = net(programs.data(0, 1, 0)).square().mean()
    loss.backward()
    return float(loss.detach())


@pytest.mark.parametrize("size", [1, 2, 8])
def test_tensor_parallelism_gives_the_loss_of_one_rank(size: int) -> None:
    alone = float(programs.model()(programs.data(0, 1, 0)).square().mean().detach())
    assert sim.run(_tensor_parallel, size, net=NET).results == pytest.approx([alone] * size, rel=1e-5)


def _loss_parallel() -> list[float]:
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import Shard
    from torch.distributed.tensor.parallel import ColwiseParallel, loss_parallel, parallelize_module

    dist.init_process_group()
    net, given, classes = programs.model(), programs.data(0, 1, 0)[:4], torch.tensor([0, 1, 2, 1])
    found = [nn.functional.cross_entropy(net(given), classes).item()]
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    by_class = ColwiseParallel(output_layouts=Shard(-1), use_local_output=False)
    parallelize_module(net, mesh, {"2": by_class})
    for _ in range(3):
        with loss_parallel():  # torch notes for the whole process that it is within
            loss = nn.functional.cross_entropy(net(given), classes)
            loss.backward()
        found.append(float(loss.detach().full_tensor()))
    return found


@pytest.mark.parametrize("size", [1, 2, 3])
def test_each_rank_is_within_loss_parallel_for_itself(size: int) -> None:
    for alone, *losses in sim.run(_loss_parallel, size, net=NET).results:
        assert losses == pytest.approx([alone] * 3, rel=1e-5)


def _pipeline(kind: str) -> float:
    from torch.distributed import pipelining

    dist.init_process_group()
    rank, size = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(rank)
    part = nn.Sequential(nn.Linear(8, 8), nn.Tanh())
    stage = pipelining.PipelineStage(part, rank, size, torch.device("cpu"))
    schedule = getattr(pipelining, kind)(stage, 4, loss_fn=lambda out, goal: (out - goal).square().mean())
    losses: list[torch.Tensor] = []
    given = [torch.ones(16, 8)] if rank == 0 else []
    schedule.step(*given, **({"target": torch.zeros(16, 8), "losses": losses} if rank == size - 1 else {}))
    return float(torch.stack(losses).mean().detach()) if losses else 0.0


@pytest.mark.parametrize("kind", ["ScheduleGPipe", "Schedule1F1B"])
def test_pipelines_give_the_loss_of_one_rank(kind: str) -> None:
    parts = []
    for rank in range(3):
        torch.manual_seed(rank)
        parts.append(nn.Sequential(nn.Linear(8, 8), nn.Tanh()))
    alone = float(nn.Sequential(*parts)(torch.ones(16, 8)).square().mean().detach())
    assert sim.run(_pipeline, 3, (kind,), net=NET).results[-1] == pytest.approx(alone, rel=1e-5)


# ------------------------------------------------------------------------ each rank for itself


def _own_state() -> Any:
    rank = dist.get_rank() if dist.is_initialized() else int(os.environ["RANK"])
    torch.manual_seed(rank)
    dist.init_process_group()
    drawn = [torch.rand(1).item()]
    for _ in range(3):
        dist.barrier()
        drawn.append(torch.rand(1).item())
    os.environ["OF_THIS_RANK"] = str(rank)
    dist.barrier()
    assert os.environ["OF_THIS_RANK"] == str(rank) == os.environ["RANK"]
    assert os.environ["WORLD_SIZE"] == str(dist.get_world_size())
    if rank == 0:
        del os.environ["OF_THIS_RANK"]
    dist.barrier()
    assert ("OF_THIS_RANK" in os.environ) == (rank != 0)
    return drawn, random.random()


@pytest.mark.parametrize("size", [1, 3, 8])
def test_generators_and_the_environment_are_each_ranks_own(size: int) -> None:
    torch.manual_seed(99)
    before, world = torch.get_rng_state(), dist.distributed_c10d._world
    results = sim.run(_own_state, size, net=NET).results
    for rank, (drawn, _) in enumerate(results):
        alone = torch.Generator().manual_seed(rank)
        assert drawn == [torch.rand(1, generator=alone).item() for _ in range(4)]
    assert len({number for _, number in results}) == size
    assert torch.equal(before, torch.get_rng_state())
    assert "OF_THIS_RANK" not in os.environ and "RANK" not in os.environ
    assert dist.distributed_c10d._world is world and not dist.is_initialized()
    assert subprocess.run([sys.executable, "-c", "import os; assert 'OF_THIS_RANK' not in os.environ"]).returncode == 0


def _again() -> float:
    for _ in range(2):
        dist.init_process_group("nccl")
        assert dist.get_backend() == "nccl"
        tensor = torch.ones(1)
        dist.all_reduce(tensor)
        dist.destroy_process_group()
    return tensor.item()


def test_a_world_ends_and_begins_again() -> None:
    assert sim.run(_again, 3, net=NET).results == [3.0] * 3


def test_a_run_is_the_same_each_time() -> None:
    runs = [sim.run(_ddp, 4, net=NET, seed=5) for _ in range(2)]
    assert runs[0].digest == runs[1].digest and runs[0].results == runs[1].results


def test_torchs_programs_catch_our_errors_by_torchs_names() -> None:
    with pytest.raises(dist.DistBackendError):
        sim.run(_with_group, 2, (one_rank_logs,), net=NET)


def test_other_engines_are_refused_in_words() -> None:
    from minitorch_dist.pytorch.simulated import WithPyTorch

    with pytest.raises(ValueError, match="keeps its state by thread"):
        sim.run(_ddp, 2, net=NET, engine="greenlet", with_=[WithPyTorch()])


@pytest.mark.parametrize("train", [_ddp, _fsdp])
def test_together_or_message_by_message_is_the_same(train: Any) -> None:
    runs = [sim.run(train, 5, net=NET, engine=engine) for engine in ("threads", "lockstep")]
    assert runs[0].results == runs[1].results and runs[0].time == runs[1].time
    assert "lockstep" in runs[1].engine_used or "light" in runs[1].engine_used


def _several_gpus() -> list[Any]:
    rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl")
    net = programs.model().to(rank)
    wrapped = nn.parallel.DistributedDataParallel(net, device_ids=[rank])
    whole = torch.zeros(2, device="cuda") + torch.ones(2).to(f"cuda:{rank}") + torch.ones(2).cuda()
    wrapped(programs.data(rank, dist.get_world_size(), 0).to(rank, non_blocking=True)).sum().backward()
    torch.cuda.synchronize()
    return [torch.cuda.current_device(), whole.tolist(), whole.device.type, torch.cuda.is_available()]


def test_cuda_is_a_label_for_a_script_that_sets_its_device() -> None:
    results = sim.run(_several_gpus, 3, net=NET).results
    assert results == [[rank, [2.0, 2.0], "cpu", True] for rank in range(3)]
    with pytest.raises((AssertionError, RuntimeError), match=r"CUDA|NVIDIA"):
        torch.ones(1).cuda()


def _memory() -> list[Any]:
    torch.cuda.set_device(dist.get_rank() if dist.is_initialized() else int(os.environ["LOCAL_RANK"]))
    layer = nn.Linear(1000, 1000).cuda()
    layer(torch.ones(64, 1000, device="cuda")).sum().backward()
    torch.cuda.set_rng_state(torch.cuda.get_rng_state(0), 0)
    held, most = torch.cuda.memory_allocated(), torch.cuda.max_memory_allocated("cuda")
    free, whole = torch.cuda.mem_get_info()
    stats = torch.cuda.memory_stats(torch.device("cuda"))
    assert stats["allocated_bytes.all.peak"] == most and free == whole - held
    assert torch.cuda.get_device_properties(0).total_memory == whole
    return [held, most]


@pytest.mark.parametrize("shapes", [False, True])
def test_a_script_hears_what_its_device_holds(shapes: bool) -> None:
    layer = 4 * (1000 * 1000 + 1000)  # its parameters, and as much of gradients
    for held, most in sim.run(_memory, 3, net=NET, device=sim.gpu("h100"), shapes=shapes).results:
        assert 2 * layer <= held <= 2 * layer + 64
        assert held + 64 * 1000 * 4 <= most <= held + 2 * 64 * 1000 * 4


def _without_set_device() -> None:
    torch.ones(1).to("cuda")


def test_cuda_without_a_device_is_refused_in_words() -> None:
    with pytest.raises(RuntimeError, match="makes cuda a label"):
        sim.run(_without_set_device, 2, net=NET)


def _of_our_tensors() -> float:
    import minitorch_dist as ours

    tensor = ours.ones(1)
    ours.distributed.all_reduce(tensor)
    return float(tensor)


def test_programs_of_our_tensors_run_as_before() -> None:
    report = sim.run(_of_our_tensors, 3)
    assert report.results == [3.0] * 3 and "threads" not in report.engine_used
