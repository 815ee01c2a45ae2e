"""P3: what sharding costs in bytes: DDP, SHARD_GRAD_OP, FULL_SHARD and HYBRID_SHARD, counted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import minitorch_dist as torch
from minitorch_dist import distributed as dist, nn
from minitorch_dist.distributed.device_mesh import init_device_mesh
from minitorch_dist.distributed.fsdp import FullyShardedDataParallel, ShardingStrategy
from minitorch_dist.distributed.fsdp.wrap import ModuleWrapPolicy
from minitorch_dist.sim import nets
from minitorch_dist.sim.runner import run
from mtd.papers.paper import Row

WIDTH, LAYERS, SIZE, GROUP = 48, 4, 8, 2
PARAMETERS = LAYERS * WIDTH * WIDTH
NET = nets.Hockney(0, "100Gb/s")  # without latency all choose what sends least


def _steps(strategy: str, steps: int) -> None:
    model: Any = nn.Sequential(*[nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(LAYERS)])
    if strategy == "DDP":
        model = nn.parallel.DistributedDataParallel(model)
    else:
        kind, mesh = ShardingStrategy[strategy], None
        if kind.is_hybrid:
            mesh = init_device_mesh("cpu", (SIZE // GROUP, GROUP))
        model = FullyShardedDataParallel(
            model, auto_wrap_policy=ModuleWrapPolicy({nn.Linear}), sharding_strategy=kind, device_mesh=mesh
        )
    for _ in range(steps):
        model(torch.ones(1, WIDTH)).sum().backward()
    dist.barrier()


def _bytes(strategy: str) -> float:
    """The bytes that each rank sends in one step."""
    one, two = (run(_steps, SIZE, (strategy, steps), net=NET).ranks for steps in (2, 3))
    return max(b.bytes_sent - a.bytes_sent for a, b in zip(one, two, strict=True))


def rows() -> Sequence[Row]:
    whole = 4 * PARAMETERS
    once = (SIZE - 1) / SIZE * whole
    found = [
        Row("DDP: 2(N-1)/N Ψ", 2 * once, _bytes("DDP"), 0.0, "B"),
        Row("Pos+g (SHARD_GRAD_OP): 2(N-1)/N Ψ", 2 * once, _bytes("SHARD_GRAD_OP"), 0.0, "B"),
        Row("Pos+g+p (FULL_SHARD): 3(N-1)/N Ψ", 3 * once, _bytes("FULL_SHARD"), 0.0, "B"),
    ]
    inside = 3 * (GROUP - 1) / GROUP * whole
    across = _bytes("HYBRID_SHARD") - inside
    exact = 2 * whole * (SIZE - GROUP) / (GROUP * SIZE)
    found.append(Row("HYBRID_SHARD across nodes: 2M(W-G)/(GW)", exact, across, 0.0, "B"))
    printed = 2 * whole * (SIZE - 1) / (GROUP * SIZE)
    about = "HYBRID_SHARD, the paper's 2M(W-1)/(GW)"
    found.append(Row(about, printed, across, (GROUP - 1) / (SIZE - 1) + 1e-9, "B"))
    return found
