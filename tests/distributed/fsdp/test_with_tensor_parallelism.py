"""Layers cut by tensor parallelism and sharded by FSDP: names, shapes, norms and checkpoints are the whole model's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minitorch_dist as mt
import minitorch_dist.distributed as dist
import minitorch_dist.distributed.checkpoint as dcp
from minitorch_dist import nn, optim
from minitorch_dist.distributed.checkpoint.state_dict import (
    StateDictOptions,
    get_model_state_dict,
    get_state_dict,
    set_state_dict,
)
from minitorch_dist.distributed.device_mesh import init_device_mesh
from minitorch_dist.distributed.fsdp import fully_shard
from minitorch_dist.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
from minitorch_dist.distributed.tensor.placements import Shard, StridedShard, local_ranges
from minitorch_dist.launching import launch
from minitorch_dist.nn import functional as F

X = np.random.default_rng(0).standard_normal((12, 6))
Y = np.random.default_rng(1).integers(0, 3, 12)


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(6), nn.Linear(6, 10), nn.Linear(10, 6)

    def forward(self, x: Any) -> Any:
        return x + self.down(F.gelu(self.up(self.norm(x))))


def model() -> Any:
    made = nn.Sequential(Block(), Block(), nn.Linear(6, 3)).double()
    with mt.no_grad():
        for n, p in enumerate(made.parameters()):
            p.copy_(mt.tensor(np.random.default_rng(n).standard_normal(p.shape) / 2))
    return made


def cut(net: Any, mesh: Any) -> Any:
    for block in (net[0], net[1]):
        if mesh is not None:
            parallelize_module(block, mesh["tp"], {"up": ColwiseParallel(), "down": RowwiseParallel()})
    for block in (net[0], net[1], net):
        fully_shard(block, mesh=None if mesh is None else mesh["dp"])
    return net


def trained(net: Any, optimizer: Any, part: slice, steps: int) -> list[float]:
    norms = []
    for _ in range(steps):
        optimizer.zero_grad()
        F.cross_entropy(net(mt.tensor(X[part])), mt.tensor(Y[part])).backward()
        norms.append(float(nn.utils.clip_grad_norm_(net.parameters(), 0.5)))
        optimizer.step()
    return norms


def alone(steps: int) -> tuple[dict[str, Any], list[float]]:
    net = model()
    norms = trained(net, optim.Adam(net.parameters(), lr=0.05), slice(None), steps)
    return {name: value.numpy().copy() for name, value in net.state_dict().items()}, norms


def resumed(shape: tuple[int, int] | None, names: tuple[str, str], at: Path, first: bool) -> Any:
    """Three steps and a save, or a load and two more."""
    mesh = None if shape is None else init_device_mesh("cpu", shape, mesh_dim_names=names)
    net = cut(model(), mesh)
    optimizer = optim.Adam(net.parameters(), lr=0.05)
    count = dist.get_world_size() if mesh is None else mesh["dp"].size()
    mine = dist.get_rank() if mesh is None else mesh.get_local_rank("dp")
    part = slice(mine * 12 // count, (mine + 1) * 12 // count)
    norms = []
    if first:
        norms = trained(net, optimizer, part, 3)
        weights, state = get_state_dict(net, optimizer)
        dcp.save({"net": weights, "optim": state}, checkpoint_id=at)
        trained(net, optimizer, part, 1)  # and astray
    weights, state = get_state_dict(net, optimizer)
    found = {"net": weights, "optim": state}
    dcp.load(found, checkpoint_id=at)
    set_state_dict(net, optimizer, model_state_dict=found["net"], optim_state_dict=found["optim"])
    norms += trained(net, optimizer, part, 2)
    whole = get_model_state_dict(net, options=StateDictOptions(full_state_dict=True))
    return {name: value.numpy().copy() for name, value in whole.items()}, norms


@pytest.mark.parametrize("names", [("dp", "tp"), ("tp", "dp")])
@pytest.mark.parametrize("shape", [(1, 2), (2, 1), (2, 2), (3, 2), (2, 3)])
def test_it_goes_on_as_one_rank_would(shape: tuple[int, int], names: tuple[str, str], tmp_path: Path) -> None:
    expected, norms = alone(5)
    ranks = shape[0] * shape[1]
    for found, steps in launch(resumed, ranks, args=(shape, names, tmp_path, True)):
        for name, value in expected.items():
            np.testing.assert_allclose(found[name], value, atol=1e-9, err_msg=name)
        np.testing.assert_allclose(steps, norms, atol=1e-9)
    for others, way in ((1, None), (3, None), (2, (1, 2)), (4, (2, 2))):
        for found, steps in launch(resumed, others, args=(way, ("dp", "tp"), tmp_path, False)):
            for name, value in expected.items():
                np.testing.assert_allclose(found[name], value, atol=1e-9, err_msg=name)
            np.testing.assert_allclose(steps, norms[3:], atol=1e-9)


def test_what_is_cut_twice_says_how() -> None:
    def rank() -> None:
        mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
        net = cut(model(), mesh)
        weight = net[0].up.weight
        assert (tuple(weight.shape), weight.placements) == ((10, 6), (StridedShard(0), Shard(0)))
        assert weight.device_mesh == mesh
        assert net[0].down.weight.placements == (Shard(0), Shard(1))
        assert net[2].weight.device_mesh == mesh["dp"]
        whole = weight.full_tensor().numpy()
        np.testing.assert_array_equal(whole, model()[0].up.weight.detach().numpy())
        other = weight.redistribute(placements=[Shard(0), Shard(0)])
        np.testing.assert_array_equal(other.full_tensor().numpy(), whole)
        apart = init_device_mesh("cpu", (4,), mesh_dim_names=("dp",))
        block = Block().double()
        parallelize_module(block, mesh["tp"], {"up": ColwiseParallel()})
        with pytest.raises(ValueError, match="same parent mesh"):
            fully_shard(block, mesh=apart)

    launch(rank, 4)


def test_the_order_of_cuts() -> None:
    def rows(*placements: Any) -> list[tuple[int, int]]:
        places = [(i, j) for i in range(2) for j in range(2)]
        return [tuple(local_ranges((7,), (2, 2), at, placements)[0]) for at in places]

    assert rows(Shard(0), Shard(0)) == [(0, 2), (2, 4), (4, 6), (6, 7)]
    assert rows(StridedShard(0), Shard(0)) == [(0, 2), (4, 6), (2, 4), (6, 7)]
    assert StridedShard(0) != Shard(0) != StridedShard(0) == StridedShard(0) != StridedShard(1)
