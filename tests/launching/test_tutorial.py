"""The tutorial's programs that are started by somebody: only their imports are changed."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.launching.agents import environment, run, written
from tests.ports import free_port

DEVICES = {"MINITORCH_DIST_DEVICES": "2x80GB"}

MODEL = """
import os, sys
import minitorch_dist as torch
import minitorch_dist.distributed as dist
import minitorch_dist.nn as nn
import minitorch_dist.optim as optim
import minitorch_dist.multiprocessing as mp
from minitorch_dist.nn.parallel import DistributedDataParallel as DDP

class ToyModel(nn.Module):
    def __init__(self):
        super(ToyModel, self).__init__()
        self.net1 = nn.Linear(10, 10)
        self.relu = nn.ReLU()
        self.net2 = nn.Linear(10, 5)

    def forward(self, x):
        return self.net2(self.relu(self.net1(x)))

def say(text):
    os.write(1, (text + "\\n").encode())
"""

ELASTIC = (
    MODEL
    + """
def demo_basic():
    dist.init_process_group("nccl")
    rank = dist.get_rank()
    say(f"Start running basic DDP example on rank {rank}.")

    # create model and move it to GPU with id rank
    device_id = rank % torch.cuda.device_count()
    model = ToyModel().to(device_id)
    ddp_model = DDP(model, device_ids=[device_id])

    loss_fn = nn.MSELoss()
    optimizer = optim.SGD(ddp_model.parameters(), lr=0.001)

    optimizer.zero_grad()
    outputs = ddp_model(torch.randn(20, 10))
    labels = torch.randn(20, 5).to(device_id)
    loss_fn(outputs, labels).backward()
    optimizer.step()
    dist.destroy_process_group()

if __name__ == "__main__":
    demo_basic()
"""
)

SPAWNED = (
    MODEL
    + """
def setup(rank, world_size):
    os.environ['MASTER_ADDR'] = 'localhost'
    os.environ['MASTER_PORT'] = 'PORT'

    # initialize the process group
    dist.init_process_group("gloo", rank=rank, world_size=world_size)

def demo_basic(rank, world_size):
    say(f"Running basic DDP example on rank {rank}.")
    setup(rank, world_size)
    model = ToyModel().to(rank)
    ddp_model = DDP(model, device_ids=[rank])
    loss_fn = nn.MSELoss()
    optimizer = optim.SGD(ddp_model.parameters(), lr=0.001)
    optimizer.zero_grad()
    outputs = ddp_model(torch.randn(20, 10))
    labels = torch.randn(20, 5).to(rank)
    loss_fn(outputs, labels).backward()
    optimizer.step()
    dist.destroy_process_group()

def run_demo(demo_fn, world_size):
    mp.spawn(demo_fn,
             args=(world_size,),
             nprocs=world_size,
             join=True)

if __name__ == "__main__":
    n_gpus = torch.cuda.device_count()
    assert n_gpus >= 2, f"Requires at least 2 GPUs to run, but got {n_gpus}"
    run_demo(demo_basic, n_gpus)
"""
)

SPMD = (
    MODEL
    + """
import argparse

def spmd_main(local_world_size, local_rank):
    # These are the parameters used to initialize the process group
    env_dict = {
        key: os.environ[key]
        for key in ("MASTER_ADDR", "MASTER_PORT", "RANK", "WORLD_SIZE")
    }
    assert len(env_dict) == 4
    dist.init_process_group(backend="nccl")
    say(
        f"world_size = {dist.get_world_size()}, "
        + f"rank = {dist.get_rank()}, backend={dist.get_backend()}"
    )
    n = torch.cuda.device_count() // local_world_size
    device_ids = list(range(local_rank * n, (local_rank + 1) * n))
    model = ToyModel().cuda(device_ids[0])
    ddp_model = DDP(model, device_ids)
    loss_fn = nn.MSELoss()
    outputs = ddp_model(torch.randn(20, 10))
    labels = torch.randn(20, 5).to(device_ids[0])
    loss_fn(outputs, labels).backward()
    dist.destroy_process_group()

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--local_rank", "--local-rank", type=int, default=0)
    parser.add_argument("--local_world_size", type=int, default=1)
    args = parser.parse_args()
    spmd_main(args.local_world_size, args.local_rank)
"""
)


@pytest.mark.slow
def test_elastic_ddp_under_torchrun(tmp_path: Path) -> None:
    script = written(tmp_path, "elastic_ddp.py", ELASTIC)
    done = run(
        "--nnodes=1",
        "--nproc_per_node=2",
        "--rdzv_id=100",
        "--rdzv_backend=c10d",
        "--rdzv_endpoint=localhost:0",
        script,
        variables=DEVICES,
    )
    assert done.returncode == 0, done.stderr
    # workers share a pipe: a line may begin before another one has ended
    assert sorted(re.findall(r"Start running basic DDP example on rank \d\.", done.stdout)) == [
        f"Start running basic DDP example on rank {rank}." for rank in range(2)
    ]


@pytest.mark.slow
def test_demo_basic_spawned(tmp_path: Path) -> None:
    port = free_port()
    script = written(tmp_path, "basic.py", SPAWNED.replace("PORT'] = 'PORT", f"PORT'] = '{port}"))
    done = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, env=environment(**DEVICES), timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == [f"Running basic DDP example on rank {rank}." for rank in range(2)]


@pytest.mark.slow
def test_spmd_main_under_the_deprecated_launcher(tmp_path: Path) -> None:
    script = written(tmp_path, "example.py", SPMD)
    done = run(
        "--nnode=1",
        "--node_rank=0",
        "--nproc_per_node=2",
        script,
        "--local_world_size=2",
        module="minitorch_dist.distributed.launch",
        variables=DEVICES,
    )
    assert done.returncode == 0, done.stderr
    assert sorted(re.findall(r"world_size = 2, rank = \d, backend=nccl", done.stdout)) == [
        f"world_size = 2, rank = {rank}, backend=nccl" for rank in range(2)
    ]
