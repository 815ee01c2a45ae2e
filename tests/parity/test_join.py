"""Join with a ZeroRedundancyOptimizer: what torch computes, and why ours differs.

A rank that has run out of inputs still owns parameters. torch's goes on to step them with its last own gradients; ours
takes the averages of the others. So ours ends where torch ends *without* ZeRO, and with the old gradients put in place
ours ends where torch's ZeRO does.
"""

from __future__ import annotations

import os
import pickle
import warnings
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from minitorch_dist.launching import launch
from tests.parity import oracle

pytestmark = [pytest.mark.parity, pytest.mark.slow]

SIZE = 2


def face_of(name: str) -> SimpleNamespace:
    t = import_module(name)
    names = {
        "dist": "distributed",
        "join": "distributed.algorithms.join",
        "optim": "distributed.optim",
        "parallel": "nn.parallel",
    }
    rooms = {short: import_module(f"{name}.{room}") for short, room in names.items()}
    return SimpleNamespace(t=t, nn=t.nn, **rooms)


def model_of(f: Any, **options: Any) -> Any:
    net = f.nn.Sequential(f.nn.Linear(3, 4), f.nn.Tanh(), f.nn.Linear(4, 2)).double()
    draw = np.random.default_rng(4)
    with f.t.no_grad():
        for p in net.parameters():
            p.copy_(f.t.from_numpy(draw.standard_normal(tuple(p.shape)) * 0.5))
    return f.parallel.DistributedDataParallel(net, **options)


def inputs(f: Any, rank: int) -> list[Any]:
    """Rank 0 has 2 batches, rank 1 has 5."""
    draw = np.random.default_rng(10 + rank)
    return [f.t.from_numpy(draw.standard_normal((4, 3))) for _ in range((2, 5)[rank])]


def trained(f: Any, rank: int, zero: bool, view: bool = False, old: bool = False) -> list[float]:
    model = model_of(f, gradient_as_bucket_view=view)
    how = {"lr": 0.1, "momentum": 0.9}
    optimizer = (
        f.optim.ZeroRedundancyOptimizer(model.parameters(), optimizer_class=f.t.optim.SGD, **how)
        if zero
        else f.t.optim.SGD(model.parameters(), **how)
    )
    last: list[Any] = []
    if old:  # ours, as torch's
        step = optimizer.step

        def with_old_gradients() -> None:
            for p, gradient in zip(model.parameters(), last, strict=False):
                p.grad = gradient.clone()
            step()

        optimizer.step = with_old_gradients
    with f.join.Join([model, optimizer] if zero else [model]):
        for x in inputs(f, rank):
            del last[:]
            optimizer.zero_grad()
            (model(x) ** 2).sum().backward()
            optimizer.step()
            last.extend(p.grad.clone() for p in model.parameters())
    return [number for p in model.parameters() for number in p.detach().reshape(-1).tolist()]


def torch_rank(rank: int, folder: str) -> None:
    f = face_of("torch")
    store = f.dist.FileStore(f"{folder}/store", SIZE)
    f.dist.init_process_group("gloo", store=store, rank=rank, world_size=SIZE)
    with warnings.catch_warnings(action="ignore"):
        found = [trained(f, rank, zero, view) for zero in (False, True) for view in (False, True)]
    Path(folder, f"{rank}.pickle").write_bytes(pickle.dumps(found))
    f.dist.barrier()
    os._exit(0)


def test_join_with_zero(tmp_path: Path) -> None:
    def ours() -> Any:
        f = face_of("minitorch_dist")
        f.dist.init_process_group()
        rank = f.dist.get_rank()
        return (
            [trained(f, rank, zero, view) for zero in (False, True) for view in (False, True)],
            trained(f, rank, True, old=True),
        )

    theirs = oracle.ranks(__name__, SIZE, tmp_path)
    for (plain, plain_view, zero, zero_view), (own, old) in zip(theirs, launch(ours, SIZE, timeout=60), strict=True):
        np.testing.assert_allclose(plain_view, plain)
        for weights in own:
            np.testing.assert_allclose(weights, plain, rtol=1e-9)
        assert np.abs(np.subtract(zero, plain)).max() > 0.01
        np.testing.assert_allclose(zero_view, zero)
        np.testing.assert_allclose(old, zero, rtol=1e-9)
