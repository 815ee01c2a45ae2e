"""On a mesh of simulated devices each rank's part lies on its device, whatever it was made from."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minitorch_dist as mt
from minitorch_dist import nn
from minitorch_dist.distributed.device_mesh import init_device_mesh
from minitorch_dist.distributed.fsdp import fully_shard
from minitorch_dist.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor
from minitorch_dist.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
from minitorch_dist.launching import launch


def ranks(world: int, function: Any) -> list[Any]:
    def one() -> Any:
        with mt.cuda.simulated(world, "1MB"):
            rank = mt.distributed.get_rank()
            mt.cuda.set_device(rank)
            return function(init_device_mesh("cuda", (world,)), mt.device("cuda", rank))

    return launch(one, world)


@pytest.mark.parametrize("world", [1, 2, 3])
@pytest.mark.parametrize("start", ["cpu", "cuda"])
def test_tensors(world: int, start: str) -> None:
    def one(mesh: Any, device: Any) -> None:
        whole = mt.arange(15.0).reshape(5, 3).to(start)
        there = distribute_tensor(whole, mesh, [Shard(0)])
        copied = there.redistribute(placements=[Replicate()])
        for each in (there, copied, there.clone(), there.detach()):
            assert isinstance(each, DTensor)
            assert each.device == each.to_local().device == device
        assert there.full_tensor().device == device
        np.testing.assert_array_equal(there.full_tensor().cpu().numpy(), whole.cpu().numpy())

    ranks(world, one)


@pytest.mark.parametrize("world", [1, 2, 3])
def test_layers_that_are_cut(world: int) -> None:
    def net() -> Any:
        mt.manual_seed(0)
        return nn.Sequential(nn.Linear(3, 7), nn.ReLU(), nn.Linear(7, 2))

    def trained(model: Any, x: Any) -> Any:
        optimizer = mt.optim.Adam(model.parameters(), lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            model(x).pow(2).sum().backward()
            optimizer.step()
        return model(x).detach().cpu().numpy()

    exact = trained(net(), mt.ones(4, 3))

    def one(mesh: Any, device: Any) -> Any:
        model = parallelize_module(net(), mesh, {"0": ColwiseParallel(), "2": RowwiseParallel()})
        assert {p.device for p in model.parameters()} == {device}
        return trained(model, mt.ones(4, 3, device=device))

    for out in ranks(world, one):
        np.testing.assert_allclose(out, exact, rtol=1e-4)


@pytest.mark.parametrize("world", [1, 2, 3])
def test_buffers(world: int) -> None:
    def one(mesh: Any, device: Any) -> None:
        model: Any = fully_shard(nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4)), mesh=mesh)
        assert {p.device for p in model.parameters()} == {device}
        assert {b.device for b in model.buffers()} == {device}
        model(mt.randn(5, 3)).sum().backward()  # inputs go to the device, too
        assert {p.grad.device for p in model.parameters()} == {device}

    ranks(world, one)


def test_a_mesh_of_cpus_takes_tensors_where_they_are() -> None:
    def one() -> None:
        with mt.cuda.simulated(1, "1MB"):
            mesh = init_device_mesh("cpu", (1,))
            for device in ("cpu", "cuda:0"):
                there = distribute_tensor(mt.ones(3, device=device), mesh, [Shard(0)])
                assert str(there.device) == device

    launch(one, 1)
