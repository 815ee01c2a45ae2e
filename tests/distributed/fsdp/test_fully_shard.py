"""FSDP parameter by parameter, in place: N ranks are one rank, and parameters are DTensors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minitorch_dist as mt
import minitorch_dist.distributed as dist
import minitorch_dist.distributed.checkpoint as dcp
from minitorch_dist import nn, optim, sim
from minitorch_dist.cuda import ledger
from minitorch_dist.distributed.device_mesh import init_device_mesh
from minitorch_dist.distributed.fsdp import CPUOffloadPolicy, FSDPModule, MixedPrecisionPolicy, fully_shard
from minitorch_dist.distributed.tensor import DTensor, Replicate, Shard
from minitorch_dist.launching import launch
from tests.distributed.fsdp.training import alone, assert_close, batch, loss_of, make, mine, train


def sharded(model: Any, **options: Any) -> Any:
    """Every Linear a unit, and the rest."""
    for module in list(model.modules()):
        if isinstance(module, nn.Linear):
            fully_shard(module, **options)
    return fully_shard(model, **options)


def whole(model: Any) -> dict[str, Any]:
    return {name: p.full_tensor().detach().numpy() for name, p in model.named_parameters()}


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8])
@pytest.mark.parametrize("frees", [None, True, False])
def test_the_same_as_one_rank(size: int, frees: bool | None) -> None:
    def rank() -> dict[str, Any]:
        model = sharded(make(dist.get_rank()), reshard_after_forward=frees)
        train(model, mine)
        return whole(model)

    expected = alone()
    for found in launch(rank, size):
        assert_close(found, expected)


def test_parameters_are_dtensors_of_rows() -> None:
    def rank() -> list[Any]:
        model = make()
        same = model.first.weight
        returned = sharded(model)
        assert returned is model
        assert isinstance(model, FSDPModule)
        assert type(model).__name__ == "FSDPNet"
        assert model.first.weight is same
        assert isinstance(same, DTensor)
        assert isinstance(same, nn.Parameter)
        assert same.placements == (Shard(0),)
        assert list(dict(model.named_parameters())) == list(dict(make().named_parameters()))
        optimizer = optim.SGD(model.parameters(), lr=0.1)
        loss_of(model, *mine(0)).backward()
        assert isinstance(same.grad, DTensor)
        optimizer.step()
        return [tuple(same.shape), tuple(same.to_local().shape), tuple(same.grad.to_local().shape)]

    assert launch(rank, 4) == [[(7, 5), (2, 5), (2, 5)]] * 3 + [[(7, 5), (1, 5), (1, 5)]]


@pytest.mark.parametrize("kind", [2.0, float("inf")])
def test_clipping_with_torchs_own_function(kind: float) -> None:
    norms: list[Any] = []
    expected = alone(after=lambda m: norms.append(nn.utils.clip_grad_norm_(m.parameters(), 0.01, kind).item()))

    def rank() -> tuple[dict[str, Any], list[float]]:
        found: list[float] = []
        model = sharded(make())
        train(model, mine, after=lambda m: found.append(nn.utils.clip_grad_norm_(m.parameters(), 0.01, kind).item()))
        return whole(model), found

    for found, mine_ in launch(rank, 3):
        np.testing.assert_allclose(mine_, norms, rtol=1e-12)
        assert_close(found, expected)


def test_collecting_without_messages() -> None:
    def rank() -> dict[str, Any]:
        model = sharded(make())
        optimizer = optim.SGD(model.parameters(), lr=0.1)
        for part in range(3):
            model.set_requires_gradient_sync(part == 2)
            loss_of(model, *mine(part)).backward()
        optimizer.step()
        return whole(model)

    model = make()
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    for part in range(3):
        loss_of(model, *batch(part)).backward()
    optimizer.step()
    expected = {name: p.detach().numpy() for name, p in model.named_parameters()}
    for found in launch(rank, 3):
        assert_close(found, expected)


@pytest.mark.parametrize("shards", [1, 2])
def test_replicas_sum_once_for_several_passes(shards: int) -> None:
    """Each pass scatters its gradients. With the last one replicas sum what all of them have left."""

    def rank() -> tuple[dict[str, Any], int]:
        mesh = init_device_mesh("cpu", (3, shards), mesh_dim_names=("replicas", "shards"))
        model = sharded(make(), mesh=mesh)
        optimizer = optim.SGD(model.parameters(), lr=0.1)
        shown = 0
        for part in range(3):
            model.set_requires_all_reduce(part == 2)
            loss_of(model, *mine(part)).backward()
            shown += model.last.bias.grad is not None and part < 2
        optimizer.step()
        return whole(model), shown

    model = make()
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    for part in range(3):
        loss_of(model, *batch(part)).backward()
    optimizer.step()
    expected = {name: p.detach().numpy() for name, p in model.named_parameters()}
    for found, shown in launch(rank, 3 * shards):
        assert not shown  # nobody takes a part of a sum for a gradient
        assert_close(found, expected)


def test_replicas_of_shards_on_a_mesh() -> None:
    def rank() -> dict[str, Any]:
        mesh = init_device_mesh("cpu", (3, 2), mesh_dim_names=("replicas", "shards"))
        model = sharded(make(dist.get_rank()), mesh=mesh)
        assert model.last.bias.placements == (Replicate(), Shard(0))
        train(model, mine)
        return whole(model)

    expected = alone()
    for found in launch(rank, 6):
        assert_close(found, expected)


@pytest.mark.parametrize(("saved_by", "loaded_by"), [(4, 2), (2, 3), (3, 1), (1, 4)])
def test_checkpoints_for_any_number_of_ranks(saved_by: int, loaded_by: int, tmp_path: Path) -> None:
    def first() -> None:
        model = sharded(make())
        optimizer = train(model, mine)
        dcp.save({"model": model.state_dict(), "optim": optimizer.state_dict()}, checkpoint_id=tmp_path)

    def second() -> dict[str, Any]:
        model = sharded(make(9))
        optimizer = train(model, mine, steps=1)  # so that it has a state to fill
        state = {"model": model.state_dict(), "optim": optimizer.state_dict()}
        dcp.load(state, checkpoint_id=tmp_path)
        assert str(model.load_state_dict(state["model"])) == "<All keys matched successfully>"
        optimizer.load_state_dict(state["optim"])
        for step in range(3, 6):
            optimizer.zero_grad()
            loss_of(model, *mine(step)).backward()
            optimizer.step()
        return whole(model)

    launch(first, saved_by)
    expected = alone(steps=6)
    for found in launch(second, loaded_by):
        assert_close(found, expected)


def test_by_hand_and_ahead() -> None:
    def rank() -> None:
        model = sharded(make())
        model.set_modules_to_forward_prefetch([model.first, model.shared])
        model.first.set_modules_to_forward_prefetch([model.middle[0]])
        model.last.set_modules_to_backward_prefetch([model.shared])
        model.set_is_last_backward(True)
        handle = model.first.unshard(async_op=True)
        handle.wait()
        assert model.first.weight.array.shape == (7, 5)
        model.first.reshard()
        assert model.first.weight.array.size < 35
        model.set_reshard_after_forward(False)
        train(model, mine)
        assert_close(whole(model), alone())
        with pytest.raises(ValueError, match="takes modules after fully_shard"):
            model.set_modules_to_forward_prefetch([nn.Linear(1, 1)])

    launch(rank, 2)


@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize("is_one_unit", [False, True])
def test_a_pass_may_end_before_its_last_sums(size: int, is_one_unit: bool) -> None:
    """And the next one hides them. Gradients are the same, and in virtual time the pass ends earlier."""

    def rank(waits: bool) -> Any:
        model = fully_shard(make()) if is_one_unit else sharded(make())
        model.set_is_last_backward(waits)
        times = []
        for step in range(3):
            loss_of(model, *mine(step)).backward()
            times.append(sim.now())
        model.set_is_last_backward(True)
        assert sim.now() > times[-1] or waits or size == 1
        return times, {name: p.grad.full_tensor().numpy() for name, p in model.named_parameters()}

    waiting, ahead = (sim.run(rank, size, (waits,), net="sim://?latency=1ms").results for waits in (True, False))
    for (late, expected), (early, found) in zip(waiting, ahead, strict=True):
        assert early[0] < late[0] or size == 1
        for name in expected:
            np.testing.assert_array_equal(found[name], expected[name])


def test_precision_and_offloading() -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            mt.manual_seed(0)
            self.fc = nn.Linear(4, 3)

        def forward(self, x: Any) -> Any:
            assert (x.dtype, self.fc.weight.dtype) == (mt.bfloat16, mt.bfloat16)
            return self.fc(x)

    def rank() -> None:
        with mt.cuda.simulated(1, "1MB"):
            policy = MixedPrecisionPolicy(mt.bfloat16, mt.float32, mt.float32)
            net = fully_shard(Net().to("cuda:0"), mp_policy=policy, offload_policy=CPUOffloadPolicy())
            out = net(mt.ones(2, 4))
            assert out.dtype is mt.float32
            out.sum().backward()
            assert str(net.fc.weight.device) == "cpu"
            assert net.fc.weight.grad.dtype is mt.float32
            assert ledger.of(0).snapshot().by_category["parameter"] == 0

    launch(rank, 2)


def test_refusals() -> None:
    def rank() -> None:
        model = fully_shard(nn.Linear(2, 2))
        with pytest.raises(ValueError, match="already been applied to FSDPLinear"):
            fully_shard(model)
        with pytest.raises(NotImplementedError, match="shard_placement_fn"):
            fully_shard(nn.Linear(2, 2), shard_placement_fn=lambda p: None)

    launch(rank, 1)


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8])
def test_passes_without_messages_are_added_up_in_the_type_that_is_reduced(size: int) -> None:
    """A bfloat16 keeps 8 bits: 256 and 1 add up to 256 there."""
    policy = MixedPrecisionPolicy(param_dtype=mt.bfloat16, reduce_dtype=mt.float32)

    def rank() -> list[list[float]]:
        layer = fully_shard(nn.Linear(1, 3, bias=False), mp_policy=policy)
        found = []
        for zeroes in (False, True):
            for number, gradient in enumerate((256.0, 1.0, 1.0, 1.0)):
                layer.set_requires_gradient_sync(number == 3)
                layer(mt.full((1, 1), gradient)).sum().backward()
                if number == 1 and zeroes:
                    layer.zero_grad()
            found.append(layer.weight.grad.full_tensor().flatten().tolist())
            layer.zero_grad()
        return found

    for found in launch(rank, size):
        assert found == [[259.0] * 3, [2.0] * 3]
