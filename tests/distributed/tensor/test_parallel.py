"""Layers cut over ranks compute what whole layers compute, and send what the papers say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minitorch_dist as mt
import minitorch_dist.distributed as dist
from minitorch_dist import nn, sim
from minitorch_dist.distributed.device_mesh import init_device_mesh
from minitorch_dist.distributed.tensor import DTensor, Replicate, Shard
from minitorch_dist.distributed.tensor.parallel import (
    ColwiseParallel,
    PrepareModuleInput,
    PrepareModuleOutput,
    RowwiseParallel,
    SequenceParallel,
    parallelize_module,
)
from minitorch_dist.launching import launch


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        mt.manual_seed(4)
        self.embed = nn.Embedding(11, 6)
        self.norm = nn.LayerNorm(6)
        self.up, self.down = nn.Linear(6, 8), nn.Linear(8, 6)

    def forward(self, tokens: Any) -> Any:
        h = self.norm(self.embed(tokens))
        return self.down(self.up(h).relu())


def reference() -> tuple[Any, dict[str, Any]]:
    block = Block().double()
    out = block(tokens())
    (out * weights()).sum().backward()
    return out.detach().numpy(), {n: p.grad.numpy() for n, p in block.named_parameters()}


def tokens() -> Any:
    return mt.tensor(np.random.default_rng(1).integers(0, 11, (3, 5)))


def weights() -> Any:
    return mt.tensor(np.random.default_rng(2).standard_normal((3, 5, 6)))


def plans() -> dict[str, dict[str, Any]]:
    pair = {"up": ColwiseParallel(), "down": RowwiseParallel()}
    sequence = {
        "embed": ColwiseParallel(output_layouts=Shard(1)),
        "norm": SequenceParallel(),
        "up": ColwiseParallel(input_layouts=Shard(1)),
        "down": RowwiseParallel(output_layouts=Shard(1)),
        "": PrepareModuleOutput(output_layouts=Shard(1), desired_output_layouts=Replicate()),
    }
    gathered = {
        "up": ColwiseParallel(output_layouts=Replicate()),
        "down": RowwiseParallel(input_layouts=Replicate()),
        "embed": ColwiseParallel(output_layouts=Replicate()),
    }
    return {"pair": pair, "sequence": sequence, "gathered": gathered}


@pytest.mark.parametrize("size", [1, 2, 3, 5])
@pytest.mark.parametrize("name", sorted(plans()))
def test_cut_layers_are_the_whole_ones(name: str, size: int) -> None:
    def rank() -> tuple[Any, dict[str, Any]]:
        mesh = init_device_mesh("cpu", (size,))
        block = parallelize_module(Block().double(), mesh, plans()[name])
        out = block(tokens())
        (out * weights()).sum().backward()
        return out.detach().numpy(), {
            n: (p.grad.full_tensor() if isinstance(p.grad, DTensor) else p.grad).numpy()
            for n, p in block.named_parameters()
        }

    expected, gradients = reference()
    for out, found in launch(rank, size):
        np.testing.assert_allclose(out, expected, atol=1e-12)
        assert found.keys() == gradients.keys()
        for n, value in gradients.items():
            np.testing.assert_allclose(found[n], value, atol=1e-12, err_msg=n)


@pytest.mark.parametrize("size", [2, 4, 8])
def test_a_pair_of_layers_sends_two_all_reduces(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Megatron's volume: one all_reduce of b·s·h forward, one backward, 2(t-1)/t of it per rank."""
    monkeypatch.setenv("MINITORCH_DIST_ALGORITHM", "ring")
    b, s, h = 4, 8, 8

    def rank() -> None:
        mesh = init_device_mesh("cpu", (size,))
        net = nn.Sequential(nn.Linear(h, 4 * h), nn.GELU(), nn.Linear(4 * h, h))
        parallelize_module(net, mesh, {"0": ColwiseParallel(), "2": RowwiseParallel()}, src_data_rank=None)
        x = mt.ones(b, s, h, requires_grad=True)
        net(x).sum().backward()

    elements = b * s * h * 4
    for each in sim.run(rank, size).ranks:
        assert each.bytes_sent == 2 * (2 * (size - 1) * elements // size)


def test_two_kinds_at_once() -> None:
    """Columns and rows along "tp", averaged gradients along "dp": as one rank with all the data."""

    def rank() -> dict[str, Any]:
        mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
        mt.manual_seed(0)
        net: Any = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 2)).double()
        parallelize_module(net, mesh["tp"], {"0": ColwiseParallel(), "2": RowwiseParallel()})
        whole: Any = nn.parallel.DistributedDataParallel(net, process_group=mesh.get_group("dp"))
        x = mt.tensor(np.random.default_rng(3).standard_normal((8, 4)))
        mine = x[4 * mesh.get_local_rank("dp") :][:4]
        (whole(mine) ** 2).mean().backward()
        return {n: p.grad.full_tensor().numpy() for n, p in net.named_parameters()}

    mt.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 2)).double()
    x = mt.tensor(np.random.default_rng(3).standard_normal((8, 4)))
    (net(x) ** 2).mean().backward()
    for found in launch(rank, 4):
        for name, p in net.named_parameters():
            np.testing.assert_allclose(found[name], p.grad.numpy(), atol=1e-13, err_msg=name)


def test_inputs_by_name_and_patterns() -> None:
    class Two(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.ModuleList([nn.Linear(4, 4), nn.Linear(4, 4)])

        def forward(self, x: Any, *, more: Any) -> Any:
            return x + more

    def rank() -> None:
        mesh = init_device_mesh("cpu", (2,))
        two = parallelize_module(Two(), mesh, {"layers.*": ColwiseParallel()})
        assert all(isinstance(p, DTensor) for p in two.parameters())
        style = PrepareModuleInput(input_layouts=Replicate(), desired_input_layouts=Shard(0))
        parallelize_module(two, mesh, style)
        assert two(mt.ones(4, 2), more=mt.ones(2, 2)).shape == (2, 2)
        with pytest.warns(UserWarning, match="could not be resolved"):
            parallelize_module(two, mesh, {"nowhere": ColwiseParallel()})
        with pytest.warns(UserWarning, match="will do nothing"):
            parallelize_module(two, mesh)
        with pytest.raises(NotImplementedError, match=r"only support nn\.Linear"):
            parallelize_module(nn.Conv2d(1, 1, 1), mesh, RowwiseParallel())
        with pytest.raises(ValueError, match="cuts along one axis"):
            parallelize_module(two, init_device_mesh("cpu", (1, 2)), {})
        assert "input_layouts=Shard(dim=0)" in repr(ColwiseParallel(input_layouts=Shard(0)))

    launch(rank, 2)


def looked_up(rows: int, style: Any, padding: int | None) -> None:
    """An Embedding that is cut gives the rows, and the gradients, of one that is whole."""
    size, found = dist.get_world_size(), []
    for is_cut in (False, True):
        mt.manual_seed(0)
        layer = nn.Embedding(rows, 4, padding_idx=padding)
        ids = mt.tensor([[0, rows - 1, 1 % rows], [rows // 2, 0, 0]])
        if is_cut:
            parallelize_module(layer, init_device_mesh("cpu", (size,)), style)
            assert list(layer.state_dict()) == ["weight"]
        out = layer(ids)
        (out * mt.arange(24.0).reshape(2, 3, 4)).sum().backward()
        grad = layer.weight.grad.full_tensor() if is_cut else layer.weight.grad
        found.append((out.tolist(), grad.tolist(), layer.padding_idx))
        if is_cut:
            with pytest.raises(IndexError):
                layer(ids * 0 + rows)
    assert found[0] == found[1]


@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize("rows", [7, 2])
@pytest.mark.parametrize("padding", [None, 1])
def test_rows_of_an_embedding(size: int, rows: int, padding: int | None) -> None:
    for style in (RowwiseParallel(input_layouts=Replicate()), ColwiseParallel(output_layouts=Replicate())):
        launch(looked_up, size, "queue://", args=(rows, style, padding), timeout=300)
