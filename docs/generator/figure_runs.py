"""The runs that figures show. Each is a program on simulated ranks, and the figure is drawn from its journal."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

import figure_drawing as moving

import minitorch_dist as torch
import minitorch_dist.distributed as dist
from minitorch_dist import nn, optim, sim
from minitorch_dist.distributed import pipelining
from minitorch_dist.distributed.fsdp import fully_shard
from minitorch_dist.distributed.journal import Journal, read
from minitorch_dist.distributed.tensor import parallel
from minitorch_dist.nn.parallel import DistributedDataParallel
from minitorch_dist.pictures.scene import COMPUTE, OPERATION, Scene
from transports import keeper

DEVICE: Final = sim.Device("one TFLOP/s", peak={"float32": "1T"}, bandwidth="1000TB/s", memory="1GB")
NET: Final = sim.uniform("2us", "10GB/s")
Program = Callable[[], Any]


def journal_of(program: Program, ranks: int, **options: Any) -> Journal:
    """The journal of a run, also of one that fails."""
    with keeper.temporary_folder("mtd-figure-") as folder:
        path = folder / "run.mtd"
        try:
            sim.run(program, ranks, journal=path, **options)
        except (dist.DistMismatch, sim.Deadlock):
            return read(path)
        return read(path)


def scene_of(program: Program, ranks: int, **options: Any) -> Scene:
    """A scene whose colours tell forward and backward apart. Texts name lines of this file, so they are left out."""
    scene = journal_of(program, ranks, **options).scene()
    spans = [
        one._replace(kind=OPERATION, name=passing(one.name), text=one.name)
        if one.kind == COMPUTE and "device" in options
        else one._replace(text=one.name)
        for one in scene.spans
    ]
    return replace(
        scene, spans=spans, arrows=[one._replace(text=one.name, nbytes=0) for one in scene.arrows], memory={}
    )


def passing(name: str) -> str:
    """The pass that an operation of the device belongs to."""
    return "backward" if "(backward)" in name or name == "AccumulateGrad" else "forward"


# ---------------------------------------------------------------------------------------------- time


def virtual_time() -> str:
    def program() -> None:
        rank, size, got = dist.get_rank(), dist.get_world_size(), torch.empty(1000)
        sim.compute(f"{1 + rank}us")
        dist.send(torch.ones(1000), (rank + 1) % size)  # returns at once: the message is on its way
        dist.recv(got, (rank - 1) % size)

    return moving.run(
        scene_of(program, 3, net=sim.uniform("1us", "4GB/s")), "Three ranks compute, send and wait, in virtual time"
    )


def small_model() -> nn.Sequential:
    return nn.Sequential(*(nn.Linear(256, 256, bias=False) for _ in range(4)))


def two_steps(model: nn.Module, batch: int = 256) -> None:
    optimizer = optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for _ in range(2):
        optimizer.zero_grad()
        model(torch.ones(batch, 256)).sum().backward()
        optimizer.step()


def journal() -> str:
    def program() -> None:
        two_steps(DistributedDataParallel(small_model()))

    return moving.run(scene_of(program, 4, device=DEVICE, net=NET), "Two steps of DDP on four ranks")


def faults() -> str:
    def program() -> None:
        for _ in range(4):
            dist.all_reduce(torch.ones(1000))
            sim.compute("500us")

    planned = [sim.drop(1.0, src=1, dst=0, number=0), sim.partition({0, 1}, {2, 3}, at="2ms", heal="5ms")]
    scene = scene_of(program, 4, net=sim.uniform("100us", "1GB/s"), faults=planned)
    return moving.run(scene, "A lost packet is sent again, and a partition heals: the program only becomes slower")


# --------------------------------------------------------------------------------------------- hangs


def first_hang() -> str:
    def program() -> None:
        rank = dist.get_rank()
        torch.manual_seed(0)
        model = DistributedDataParallel(nn.Linear(4, 1))
        optimizer = optim.SGD(model.parameters(), lr=0.01)
        for _ in range(20):
            loss = model(torch.ones(8, 4) * (1 + rank)).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if loss.item() < 0.01:
                break
        dist.barrier()

    return moving.run(scene_of(program, 4), "Ranks 0 and 1 leave the loop, and ranks 2 and 3 do not")


def deadlock() -> str:
    def program() -> None:
        rank, size = dist.get_rank(), dist.get_world_size()
        dist.recv(torch.empty(1), (rank - 1) % size)
        dist.send(torch.ones(1), (rank + 1) % size)

    try:
        sim.run(program, 5)
    except sim.Deadlock as error:
        said = "\n".join([str(error), *getattr(error, "__notes__", [])])
        waits = [(int(one), int(other)) for one, other in re.findall(r"rank (\d+) waits for rank (\d+)", said)]
        return moving.circle("A circle of ranks, each of which waits for the next", waits, 5)
    raise AssertionError("it has to be a deadlock")


# ------------------------------------------------------------------------------------------ training


def ddp_overlap() -> str:
    def layers() -> nn.Sequential:
        return nn.Sequential(*(nn.Linear(512, 512, bias=False) for _ in range(4)))

    def late() -> None:
        model = layers()
        model(torch.ones(256, 512)).sum().backward()
        for parameter in model.parameters():
            assert parameter.grad is not None
            dist.all_reduce(parameter.grad)

    def beside() -> None:
        model = DistributedDataParallel(layers(), bucket_cap_mb=1, init_sync=False)
        model(torch.ones(256, 512)).sum().backward()

    runs = {name: scene_of(one, 2, device=DEVICE, net=NET) for name, one in (("after", late), ("DDP", beside))}
    return moving.above("Gradients are summed after backward, or beside it", runs)


def fsdp_memory() -> str:
    def model() -> nn.Sequential:
        return nn.Sequential(*(nn.Linear(512, 512, bias=False, device="cuda") for _ in range(6)))

    def steps(wrapped: nn.Module) -> None:
        optimizer = optim.SGD(wrapped.parameters(), lr=0.1, momentum=0.9)
        for _ in range(2):
            optimizer.zero_grad()
            wrapped(torch.ones(64, 512, device="cuda")).sum().backward()
            optimizer.step()

    def replicas() -> None:
        steps(DistributedDataParallel(model()))

    def shards() -> None:
        whole = model()
        for layer in whole:
            fully_shard(layer)
        steps(fully_shard(whole))

    def held(program: Program) -> list[tuple[int, int]]:
        report: Any = sim.run(program, 4, device=DEVICE, net=NET, timelines=True, shapes=True)
        return [(at, sum(kinds.values())) for at, kinds in report.timelines.ranks[0].memory]

    return moving.curves(
        "Memory of rank 0 of 4 in two steps of training", {"DDP": held(replicas), "FSDP": held(shards)}
    )


def pipelined(kind: Any, stages: int = 1) -> Scene:
    def program() -> None:
        rank, ranks = dist.get_rank(), dist.get_world_size()
        own = [
            pipelining.PipelineStage(nn.Linear(64, 64, bias=False), rank + ranks * each, ranks * stages, "cpu")
            for each in range(stages)
        ]
        schedule = kind(own[0] if stages == 1 else own, 8, nn.functional.mse_loss)
        batch = (torch.ones(512, 64),) if rank == 0 else ()
        schedule.step(*batch, target=torch.zeros(512, 64) if rank == ranks - 1 else None)

    return scene_of(program, 4, device=DEVICE, net=sim.uniform("10ns", "1000GB/s"))


def pipelines() -> str:
    runs = {"GPipe": pipelined(pipelining.ScheduleGPipe), "1F1B": pipelined(pipelining.Schedule1F1B)}
    return moving.above("Four stages, eight micro-batches: GPipe beside 1F1B", runs)


def zero_bubble() -> str:
    runs = {
        "interleaved": pipelined(pipelining.ScheduleInterleaved1F1B, 2),
        "zero bubble": pipelined(pipelining.ScheduleInterleavedZeroBubble, 2),
    }
    return moving.above("Gradients of weights fill the bubble", runs)


def tensor_parallel() -> str:
    def program() -> None:
        mesh = dist.device_mesh.init_device_mesh("cpu", (4,))
        model = nn.Sequential(nn.Linear(256, 1024, bias=False), nn.ReLU(), nn.Linear(1024, 256, bias=False))
        plan = {"0": parallel.ColwiseParallel(), "2": parallel.RowwiseParallel()}
        parallel.parallelize_module(model, mesh, plan, src_data_rank=None)
        model(torch.ones(256, 256)).sum().backward()

    return moving.run(
        scene_of(program, 4, device=DEVICE, net=NET), "Each rank has a part of both matrices: one all_reduce forward"
    )
