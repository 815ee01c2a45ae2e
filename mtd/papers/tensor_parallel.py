"""P8: what tensor and pipeline parallelism send, in elements, counted on the simulated network."""

from __future__ import annotations

from collections.abc import Sequence

import minitorch_dist as torch
from minitorch_dist import distributed as dist, nn
from minitorch_dist.distributed.device_mesh import init_device_mesh
from minitorch_dist.distributed.pipelining import PipelineStage, Schedule1F1B
from minitorch_dist.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
from minitorch_dist.sim import nets
from minitorch_dist.sim.runner import run
from minitorch_dist.tensors.tensor import Tensor
from mtd.papers.paper import Row

B, S, H = 2, 4, 32  # batch, sequence, width
NET = nets.Hockney(0, "100Gb/s")  # without latency all choose what sends least


class CutLayer(nn.Module):
    """The parts of a transformer layer that are cut: two pairs of matrices, around attention and in the MLP."""

    def __init__(self) -> None:
        super().__init__()
        self.attend = nn.Sequential(nn.Linear(H, 3 * H), nn.Identity(), nn.Linear(3 * H, H))
        self.think = nn.Sequential(nn.Linear(H, 4 * H), nn.GELU(), nn.Linear(4 * H, H))

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attend(x)
        return x + self.think(x)


def _tensor_parallel() -> None:
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    pair = {"0": ColwiseParallel(), "2": RowwiseParallel()}
    layer = CutLayer()
    for part in (layer.attend, layer.think):
        parallelize_module(part, mesh, pair, src_data_rank=None)
    layer(torch.ones(B, S, H, requires_grad=True)).sum().backward()


def _pipeline(steps: int) -> None:
    rank, size = dist.get_rank(), dist.get_world_size()
    stage = PipelineStage(nn.Linear(H, H), rank, size, "cpu")
    schedule = Schedule1F1B(stage, 1, loss_fn=lambda out, _: out.sum())
    for _ in range(steps):  # from the second step on all shapes are known
        schedule.step(*((torch.ones(B, S, H),) if rank == 0 else ()), target=torch.ones(B))


def rows() -> Sequence[Row]:
    found = []
    for size in (2, 4, 8):
        ranks = run(_tensor_parallel, size, net=NET).ranks
        elements = max(each.bytes_sent for each in ranks) / 4
        formula = 8 * B * S * H * (size - 1) / size
        found.append(Row(f"a layer on {size} ranks: 8bsh(t-1)/t", formula, elements))
    once, twice = (run(_pipeline, 3, (steps,), net=NET).ranks for steps in (1, 2))
    sent = (twice[1].bytes_sent - once[1].bytes_sent - 8) / 4  # 8: the number of its signature
    found.append(Row("between stages, each way: bsh", 2 * B * S * H, sent))
    return found
