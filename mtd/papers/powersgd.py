"""P9: what PowerSGD sends in an epoch of ResNet-18 on CIFAR-10: its two rounds in a few lines, counted."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

import minitorch_dist as torch
import minitorch_dist.distributed as dist
from minitorch_dist import models, nn
from minitorch_dist.sim import nets
from minitorch_dist.sim.runner import run
from mtd.papers.paper import Row

RANKS = 2  # each of two sends each number once, which is what the paper counts
STEPS = 50_000 // (16 * 128)  # in an epoch, of 16 workers with 128 images each
NET = nets.Hockney(0, "10Gb/s")


def resnet18() -> nn.Module:
    """That of small images: a 3 × 3 convolution comes first, and ten classes last."""
    model: Any = models.resnet18(num_classes=10)
    model.conv1 = nn.Conv2d(3, 64, 3, padding=1, bias=False)
    return model  # type: ignore[no-any-return]


def reduced(parameters: Sequence[Any], rank: int) -> None:
    """A gradient for each parameter, averaged over the ranks; rank 0: not compressed.

    PowerSGD approximates a matrix M by P Qᵀ, where P and Q have `rank` columns. P = M Q is averaged, its columns are made
    orthonormal, and Q = Mᵀ P is averaged. Vectors, and matrices that would not become half as large, go as they are.
    """
    gradients = [torch.ones_like(p).reshape(len(p), -1) for p in parameters]
    matrices = [g for g in gradients if rank and sum(g.shape) * rank * 2 < g.numel()]
    compressed = {id(g) for g in matrices}
    plain = [g.reshape(-1) for g in gradients if id(g) not in compressed]
    averaged(plain)
    if matrices:
        ps = averaged([m @ torch.randn(m.shape[1], rank) for m in matrices])
        orthonormal = [torch.from_numpy(np.linalg.qr(p.numpy())[0]) for p in ps]
        averaged([m.T @ p for m, p in zip(matrices, orthonormal, strict=True)])


def averaged(parts: Sequence[Any]) -> list[Any]:
    """The averages of these over the ranks, which travel as one vector."""
    flat = torch.cat([part.reshape(-1) for part in parts])
    dist.all_reduce(flat)
    flat /= dist.get_world_size()
    sizes = [part.numel() for part in parts]
    return [one.view(part.shape) for one, part in zip(flat.split(sizes), parts, strict=True)]


def rows() -> Sequence[Row]:
    parameters = list(resnet18().parameters())
    count = sum(p.numel() for p in parameters)
    found = [Row("parameters", 11_173_962, count)]
    epochs = {}
    for rank, published in ((0, 1023), (1, 4), (2, 8), (4, 14)):
        step = run(partial(reduced, parameters, rank), RANKS, net=NET).ranks[1].bytes_sent
        epochs[rank] = step * STEPS / 2**20
        what = f"rank {rank}" if rank else "SGD"
        near = 0.5 / published  # printed without digits
        found.append(Row(f"{what}, an epoch", published, epochs[rank], near, "MiB"))
    for rank, published in ((1, 243), (2, 136)):
        what, times = f"rank {rank}: how many times fewer", epochs[0] / epochs[rank]
        found.append(Row(what, published, times, 0.5 / published))
    return found
