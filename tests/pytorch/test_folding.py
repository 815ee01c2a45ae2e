"""PyTorch's programs folded: one rank runs for all that do the same, and the report is that of the full run."""

from __future__ import annotations

import os
from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.pipelining import PipelineStage, Schedule1F1B
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

from minitorch_dist import sim

NETS = ["sim://?latency=5us&rate=400Gb/s", "two_level:nodes=2,gpus=4,intra=2us/450GB/s,inter=5us/400Gb/s"]


def _net() -> nn.Module:
    return nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 64))


def _train(net: nn.Module) -> None:
    optimizer = torch.optim.AdamW(net.parameters())
    for _ in range(2):
        net(torch.ones(32, 64)).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()


def _sharded() -> None:
    dist.init_process_group("nccl")
    net, mesh = _net(), init_device_mesh("cpu", (dist.get_world_size(),))
    for part in (net[0], net[2], net):  # type: ignore[index]
        fully_shard(part, mesh=mesh)
    _train(net)
    if dist.get_rank() == 3:  # one does more than the others
        torch.ones(512, 512) @ torch.ones(512, 512)
    dist.barrier()
    dist.destroy_process_group()


def _replicated() -> None:
    dist.init_process_group("nccl")
    module = nn.parallel.DistributedDataParallel(_net(), bucket_cap_mb=1)
    _train(module)
    if dist.get_rank() == 0:
        torch.ones(512, 512) @ torch.ones(512, 512)


def _parted() -> None:
    dist.init_process_group("nccl")
    group = dist.split_group(split_ranks=[[0, 1, 2, 3], [4, 5, 6, 7]])
    dist.all_reduce(torch.ones(1000), group=group)


def _two_dimensions() -> None:
    dist.init_process_group("nccl")
    mesh = init_device_mesh("cpu", (dist.get_world_size() // 2, 2), mesh_dim_names=("data", "tensor"))
    net = parallelize_module(_net(), mesh["tensor"], {"0": ColwiseParallel(), "2": RowwiseParallel()})
    fully_shard(net, mesh=mesh["data"])
    if mesh.get_local_rank("tensor") == 1:
        torch.ones(512, 512) @ torch.ones(512, 512)
    _train(net)


def _pipeline() -> None:
    dist.init_process_group("nccl")
    mesh = init_device_mesh("cpu", (4, dist.get_world_size() // 4), mesh_dim_names=("stage", "data"))
    number, group = mesh.get_local_rank("stage"), mesh.get_group("stage")
    stage = PipelineStage(nn.Linear(64, 64), number, 4, torch.device("cpu"), group=group)
    schedule = Schedule1F1B(stage, 4, loss_fn=lambda out, wanted: (out - wanted).square().mean())
    if number == 0:
        schedule.step(torch.ones(32, 64))
    elif number == 3:
        schedule.step(target=torch.ones(32, 64))
    else:
        schedule.step()
    for p in stage.submod.parameters():
        dist.all_reduce(p.grad, group=mesh.get_group("data"))


def _asks_the_environment() -> None:
    dist.init_process_group("nccl")
    if int(os.environ["RANK"]) == 2:
        torch.ones(512, 512) @ torch.ones(512, 512)
    dist.barrier()


def _both(program: Any, net: str) -> Any:
    runs = [sim.run(program, 8, net=net, device="h100", shapes=True, fold=fold) for fold in (False, True)]
    full, folded = ([(r.time, r.bytes_sent, r.messages) for r in run.ranks] for run in runs)
    assert folded == full and runs[0].time > 0
    for one, other in zip(runs[0].ranks, runs[1].ranks, strict=True):
        assert one.device is not None and other.device is not None
        assert (one.device.compute, one.device.flops) == (other.device.compute, other.device.flops)
        assert one.device.operations == other.device.operations
    return runs[1].folded


@pytest.mark.parametrize("net", NETS)
def test_sharded_models(net: str) -> None:
    folded = _both(_sharded, net)
    assert not folded.refused and sorted(len(role.ranks) for role in folded.roles) == [1, 7]


@pytest.mark.parametrize("net", NETS)
def test_replicated_models(net: str) -> None:
    folded = _both(_replicated, net)
    assert not folded.refused and sorted(len(role.ranks) for role in folded.roles) == [1, 7]


@pytest.mark.parametrize("net", NETS)
def test_parts_of_a_group(net: str) -> None:
    folded = _both(_parted, net)
    assert not folded.refused and [len(role.ranks) for role in folded.roles] == [8]


@pytest.mark.filterwarnings("ignore:FSDP2-wrapped module")
@pytest.mark.parametrize("net", NETS)
def test_a_mesh_of_two_dimensions(net: str) -> None:
    folded = _both(_two_dimensions, net)
    assert not folded.refused and [len(role.ranks) for role in folded.roles] == [4, 4]


@pytest.mark.parametrize("net", NETS)
def test_pipelines(net: str) -> None:
    folded = _both(_pipeline, net)
    assert not folded.refused and [len(role.ranks) for role in folded.roles] == [2, 2, 2, 2]


def test_a_rank_from_the_environment_is_not_folded() -> None:
    folded = _both(_asks_the_environment, NETS[0])
    assert "takes RANK from os.environ" in folded.refused and "get_rank()" in folded.refused


SCRIPT = """
import os, sys, torch, torch.distributed as dist

def takes_long(size=512):
    torch.ones(size, size) @ torch.ones(size, size)

assert "RANK" in os.environ
rank, local_rank = int(os.environ["RANK"]), int(os.environ.get("LOCAL_RANK", 0))
is_first = int(os.getenv("RANK", "-1")) == 0
torch.cuda.set_device(local_rank)
dist.init_process_group("nccl")
torch.manual_seed(1 + rank)
{}
x = torch.ones(1000)
dist.all_reduce(x)
dist.barrier()
"""
ENDS = [
    ("pass", [1, 7]),
    ("if is_first: takes_long()", [1, 7]),
    ("if rank == 3: takes_long()", [1, 1, 6]),
    ("if 8 - local_rank // 2 > 6: takes_long()", [1, 3, 4]),
    ("if rank in {0, 3}: takes_long()", [1] * 8),
    ("takes_long({0: 100, 3: 300}.get(dist.get_rank(), 200))", [1] * 8),
    ("import beside\nif beside.rank == 5: takes_long()", [1, 1, 6]),
    ("takes_long([1, 1, 1, 700, 1, 1, 1, 1][rank])", [1, 1, 6]),
    ("takes_long((300, 200)[rank % 2 - 2])", [1, 3, 4]),
    ("takes_long([200][dist.get_rank() // 8])", [1, 7]),
    ("for _ in range(rank): takes_long()", [1] * 8),
    ("for _ in range(rank // 4, 8, 4): takes_long()", [1, 7]),
    ("for _ in range(rank // 4): takes_long()", [1, 3, 4]),
    ("list(map('file {}'.format, ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'][rank]))", [1, 7]),
    (
        "def named(at: list[int], end: dict[str, int] | None = None) -> list[int]: return at[rank % 1:]\nassert named([1]) == [1] and named.__annotations__['at'] == list[int]",
        [1, 7],
    ),
]
REFUSED = [
    "if os.environ['RANK'] == '2': takes_long()",
    "if int(os.environ['RANK'], 10) == 2: takes_long()",
    "if list(map(int, [os.environ['RANK']])) == [2]: takes_long()",
    "os.environ['RANK'] = '0'\nif int(os.environ['RANK']) == 0: takes_long()",
    "int = float\nif int(os.environ['RANK']) == 2: takes_long()",
]


def _script(folder: Any, end: str) -> Any:
    from mtd.cli import scripts

    (folder / "beside.py").write_text("import os\nrank = int(os.environ['LOCAL_RANK'])\n")
    script = folder / "train.py"
    script.write_text(SCRIPT.replace("{}", end))
    return scripts.program(str(script))


@pytest.mark.parametrize("end, sizes", ENDS)
def test_a_rank_that_a_script_reads_from_the_environment(tmp_path: Any, end: str, sizes: list[int]) -> None:
    folded = _both(_script(tmp_path, end), NETS[0])
    assert not folded.refused and sorted(len(role.ranks) for role in folded.roles) == sizes


@pytest.mark.parametrize("end", REFUSED)
def test_what_nobody_sees_of_a_rank_in_the_environment_is_refused(tmp_path: Any, end: str) -> None:
    folded = _both(_script(tmp_path, end), NETS[0])
    assert "takes RANK from os.environ" in folded.refused


def test_a_script_is_folded_too(tmp_path: Any) -> None:
    from mtd.cli import scripts

    script = tmp_path / "train.py"
    script.write_text(
        "import torch, torch.distributed as dist\n"
        "dist.init_process_group('nccl')\n"
        "x = torch.ones(1000)\n"
        "dist.all_reduce(x)\n"
    )
    report = sim.run(scripts.program(str(script)), 8, device="h100", shapes=True, fold=True)
    assert not report.folded.refused and len(report.folded.roles) == 1
