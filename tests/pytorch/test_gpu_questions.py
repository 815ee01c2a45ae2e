"""Programs for several GPUs run unchanged where `cuda` is a label: after `set_device`, or in a run with a device."""

from __future__ import annotations

import io
import os
from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from minitorch_dist import sim
from tests.pytorch import programs


def _asks() -> list[Any]:
    return [
        torch.cuda.is_available(),
        torch.cuda.device_count(),
        torch.accelerator.is_available(),
        torch.accelerator.device_count(),
        f"{torch.accelerator.current_accelerator()}",
    ]


def test_a_run_with_a_device_has_a_gpu_for_each_rank() -> None:
    before = _asks()
    assert sim.run(_asks, 3, device="h100").results == [[True, 3, True, 3, "cuda"]] * 3
    assert sim.run(_asks, 3).results == [before] * 3
    assert _asks() == before


def _trains_on_gpus() -> list[float]:
    """As examples of PyTorch do: FSDP2 on the accelerator, with what only GPUs have around it."""
    from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

    assert torch.accelerator.is_available() and torch.accelerator.device_count() >= 2
    rank = int(os.environ["LOCAL_RANK"])
    device = torch.device(f"{torch.accelerator.current_accelerator()}:{rank}")
    torch.accelerator.set_device_index(rank)
    dist.init_process_group(dist.get_default_backend_for_device(device), device_id=device)
    mesh = dist.init_device_mesh("cuda", (dist.get_world_size(),))
    with torch.device("meta"):
        model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 8))
    fully_shard(model, mesh=mesh, mp_policy=MixedPrecisionPolicy(param_dtype=torch.bfloat16))
    model.to_empty(device=device)
    for parameter in model.parameters():
        nn.init.constant_(parameter, 0.1)
    optimizer, scaler = torch.optim.AdamW(model.parameters()), torch.amp.GradScaler("cuda")
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    losses, begun = [], begin.record()
    loader = DataLoader(TensorDataset(torch.ones(8, 6)), batch_size=4, pin_memory=True)
    for (features,) in loader:
        features = features.pin_memory().to(device, non_blocking=True)
        with torch.cuda.stream(torch.cuda.Stream()):
            loss = model(features).float().mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
        losses.append(loss.item())
    end.record()
    torch.cuda.current_stream().wait_stream(torch.cuda.default_stream())
    torch.cuda.synchronize()
    assert begun is None and begin.elapsed_time(end) > 0
    return losses


@pytest.mark.filterwarnings("ignore:.*pin_memory")
@pytest.mark.parametrize("size", [2, 4])
def test_fsdp_on_the_accelerator_trains_unchanged(size: int) -> None:
    results = sim.run(_trains_on_gpus, size, device="h100").results
    assert all(losses == results[0] for losses in results) and results[0][1] < results[0][0]


def _mixed_precision() -> list[str]:
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    net = programs.model()
    with torch.autocast("cuda", dtype=torch.bfloat16):
        first = net(torch.ones(2, 6, device="cuda")).dtype
    with torch.amp.autocast(device_type="cuda", dtype=torch.float16):
        second = net(torch.ones(2, 6, device="cuda")).dtype
    return [f"{first}", f"{second}"]


def test_autocast_for_cuda_is_that_of_the_cpu() -> None:
    assert sim.run(_mixed_precision, 2).results == [["torch.bfloat16", "torch.float16"]] * 2


def _resumes() -> float:
    rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(rank)
    file = io.BytesIO()
    torch.save({"net": torch.ones(2).cuda()}, file)
    total = 0.0
    for place in (f"cuda:{rank}", torch.device("cuda"), {"cuda:0": f"cuda:{rank}"}):
        file.seek(0)
        total += float(torch.load(file, map_location=place)["net"].sum())
    return total


def test_a_snapshot_is_loaded_onto_the_label() -> None:
    assert sim.run(_resumes, 2).results == [6.0] * 2
