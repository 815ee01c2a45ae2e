"""N ranks with shards are one rank with everything."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minitorch_dist as mt
import minitorch_dist.distributed as dist
from minitorch_dist import nn, optim
from minitorch_dist.distributed.device_mesh import init_device_mesh
from minitorch_dist.distributed.fsdp import (
    BackwardPrefetch,
    CPUOffload,
    FullyShardedDataParallel as FSDP,
    MixedPrecision,
    ShardingStrategy,
)
from minitorch_dist.distributed.fsdp.wrap import ModuleWrapPolicy
from minitorch_dist.launching import launch
from minitorch_dist.utils.checkpoint import checkpoint
from tests.distributed.fsdp.training import alone, assert_close, batch, loss_of, make, mine, train, values

LINEAR = ModuleWrapPolicy({nn.Linear})
SEQUENTIAL = ModuleWrapPolicy({nn.Sequential})
STRATEGIES = [s for s in ShardingStrategy if not s.is_hybrid]


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8])
@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda s: s.name)
def test_every_strategy(size: int, strategy: ShardingStrategy) -> None:
    def rank() -> list[dict[str, Any]]:
        found = []
        for policy in (None, LINEAR, SEQUENTIAL):
            model = FSDP(
                make(dist.get_rank()),  # every rank another seed: rank 0's weights count
                sharding_strategy=strategy,
                auto_wrap_policy=policy,
            )
            train(model, mine)
            found.append(values(model))
        return found

    expected = alone()
    for found in launch(rank, size):
        for one in found:
            assert_close(one, expected)


@pytest.mark.parametrize("prefetch", [None, *BackwardPrefetch])
@pytest.mark.parametrize("ahead", [False, True])
def test_prefetching_changes_nothing(prefetch: Any, ahead: bool) -> None:
    def rank() -> tuple[dict[str, Any], list[int]]:
        model = FSDP(make(), auto_wrap_policy=LINEAR, backward_prefetch=prefetch, forward_prefetch=ahead)
        train(model, mine)
        return values(model), [unit.times_gathered for unit in model._units(True)]

    expected = alone()
    for found, gathered in launch(rank, 3):
        assert_close(found, expected)
        # forward and backward of 3 steps; the layer used twice is gathered twice in forward
        assert gathered == [6, 6, 6, 9, 6]


def test_gradients_collect_in_no_sync() -> None:
    def alone_in_parts() -> dict[str, Any]:
        model = make()
        optimizer = optim.SGD(model.parameters(), lr=0.1)
        for step in range(2):
            optimizer.zero_grad()
            for part in range(3):
                loss_of(model, *batch(3 * step + part)).backward()
            optimizer.step()
        return {name: p.detach().numpy().copy() for name, p in model.named_parameters()}

    def rank() -> tuple[dict[str, Any], list[int]]:
        model = FSDP(make(), auto_wrap_policy=LINEAR)
        optimizer = optim.SGD(model.parameters(), lr=0.1)
        for step in range(2):
            optimizer.zero_grad()
            with model.no_sync():
                for part in range(2):
                    loss_of(model, *mine(3 * step + part)).backward()
            loss_of(model, *mine(3 * step + 2)).backward()
            optimizer.step()
        return values(model), []

    expected = alone_in_parts()
    for found, _ in launch(rank, 3):
        assert_close(found, expected)


def test_what_no_sync_collected_is_forgotten_with_zero_grad() -> None:
    def rank() -> dict[str, Any]:
        model = FSDP(make(), auto_wrap_policy=LINEAR)
        with model.no_sync():
            loss_of(model, *mine(77)).backward()
        model.zero_grad()
        train(model, mine)
        return values(model)

    expected = alone()
    for found in launch(rank, 2):
        assert_close(found, expected)


def test_two_synchronised_backwards_add_up() -> None:
    def rank() -> dict[str, Any]:
        model = FSDP(make(), auto_wrap_policy=LINEAR)
        optimizer = optim.SGD(model.parameters(), lr=0.1)
        for part in range(3):
            loss_of(model, *mine(part)).backward()
        optimizer.step()
        return values(model)

    model = make()
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    for part in range(3):
        loss_of(model, *batch(part)).backward()
    optimizer.step()
    expected = {name: p.detach().numpy() for name, p in model.named_parameters()}
    for found in launch(rank, 2):
        assert_close(found, expected)


@pytest.mark.parametrize("kind", [1.0, 2.0, 3.0, float("inf")])
def test_clipping_sees_the_whole_gradient(kind: float) -> None:
    def rank() -> tuple[dict[str, Any], list[float]]:
        norms: list[float] = []
        model = FSDP(make(), auto_wrap_policy=LINEAR)
        train(model, mine, after=lambda m: norms.append(m.clip_grad_norm_(0.01, kind).item()))
        return values(model), norms

    expected_norms: list[float] = []
    expected = alone(after=lambda m: expected_norms.append(nn.utils.clip_grad_norm_(m.parameters(), 0.01, kind).item()))
    for found, norms in launch(rank, 3):
        np.testing.assert_allclose(norms, expected_norms, rtol=1e-12)
        assert_close(found, expected)


def test_hybrid_sharding_averages_across_nodes() -> None:
    strategy = ShardingStrategy.HYBRID_SHARD

    def rank() -> tuple[dict[str, Any], int]:
        mesh = init_device_mesh("cpu", (3, 2))
        model = FSDP(make(dist.get_rank()), auto_wrap_policy=LINEAR, sharding_strategy=strategy, device_mesh=mesh)
        train(model, mine)
        return values(model), model.module.first._state.unit.layout.ranks

    expected = alone()
    for found, shards in launch(rank, 6):
        assert shards == 2
        assert_close(found, expected)
    with pytest.raises(ValueError, match="needs a 2-dimensional device_mesh"):
        launch(lambda: FSDP(make(), sharding_strategy=strategy) and None, 2)


def test_a_checkpointed_unit_computes_again_what_it_forgot() -> None:
    class Forgetful(nn.Module):
        def __init__(self, inner: Any) -> None:
            super().__init__()
            self.inner = inner

        def forward(self, x: Any) -> Any:
            return checkpoint(self.inner, x, use_reentrant=False)

    def rank() -> dict[str, Any]:
        model = make()
        model.middle = Forgetful(FSDP(model.middle))
        model.first = FSDP(Forgetful(model.first))
        whole = FSDP(model)
        train(whole, mine)
        return {name.replace("inner.", ""): v for name, v in values(whole).items()}

    expected = alone()
    for found in launch(rank, 2):
        assert_close(found, expected)


def test_frozen_parameters_beside_trained_ones() -> None:
    def frozen() -> Any:
        model = make()
        model.first.weight.requires_grad = False
        model.shared.requires_grad_(False)
        return model

    def rank() -> dict[str, Any]:
        model = FSDP(frozen(), auto_wrap_policy=SEQUENTIAL)
        train(model, mine)
        return values(model)

    model = frozen()
    train(model, batch)
    expected = {name: p.detach().numpy() for name, p in model.named_parameters()}
    for found in launch(rank, 3):
        assert_close(found, expected)


def test_parameters_that_the_loss_does_not_reach() -> None:
    class Partly(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            mt.manual_seed(3)
            self.used, self.unused = nn.Linear(5, 3).double(), nn.Linear(4, 4).double()

        def forward(self, x: Any) -> Any:
            return self.used(x)

    def rank() -> dict[str, Any]:
        model = FSDP(Partly())
        train(model, mine)
        return values(model)

    model = Partly()
    train(model, batch)
    expected = {name: p.detach().numpy() for name, p in model.named_parameters()}
    for found in launch(rank, 3):
        assert_close(found, expected)


def test_what_is_not_offered_says_so() -> None:
    def rank() -> None:
        model = make()
        for told in ({"ignored_modules": [model.last]}, {"param_init_fn": lambda module: None}):
            with pytest.raises(NotImplementedError, match="PyTorch has it"):
                FSDP(model, **told)
        with mt.device("meta"), pytest.raises(ValueError, match="device meta"):
            FSDP(nn.Linear(2, 2))

    launch(rank, 1)


def test_shards_kept_on_the_cpu() -> None:
    def rank() -> tuple[dict[str, Any], set[str]]:
        with mt.cuda.simulated(1, "1MB"):
            model = FSDP(make(), auto_wrap_policy=LINEAR, cpu_offload=CPUOffload(offload_params=True), device_id=0)
            optimizer = optim.Adam(model.parameters(), lr=0.01)
            for step in range(3):
                optimizer.zero_grad()
                x, y = mine(step)
                loss_of(model, x, y.to("cuda:0")).backward()
                optimizer.step()
            kept = {str(p.device) for p in model.parameters()}
            kept |= {str(p.grad.device) for p in model.parameters() if p.grad is not None}
            return values(model), kept

    expected = alone()
    for found, kept in launch(rank, 2):
        assert kept == {"cpu"}
        assert_close(found, expected)


def test_mixed_precision_computes_low_and_keeps_high() -> None:
    seen: list[Any] = []

    class Looking(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            mt.manual_seed(1)
            self.fc = nn.Linear(5, 3)

        def forward(self, x: Any) -> Any:
            seen.append((str(x.dtype), str(self.fc.weight.dtype)))
            return self.fc(x)

    def rank() -> tuple[str, str, str]:
        precision = MixedPrecision(param_dtype=mt.bfloat16, reduce_dtype=mt.float32)
        model = FSDP(Looking(), mixed_precision=precision)
        out = model(mt.ones(2, 5))
        out.float().sum().backward()
        flat = next(iter(model.parameters()))
        state = model.state_dict()
        return str(out.dtype), str(flat.grad.dtype), str(state["fc.weight"].dtype)

    for found in launch(rank, 2):
        assert found == ("torch.bfloat16", "torch.float32", "torch.float32")
    assert set(seen) == {("torch.bfloat16", "torch.bfloat16")}


def test_a_step_between_forward_and_backward_is_refused() -> None:
    def rank() -> None:
        model = FSDP(make(), auto_wrap_policy=LINEAR)
        optimizer = optim.SGD(model.parameters(), lr=0.1)
        loss_of(model, *mine(0)).backward()
        late = loss_of(model, *mine(1))
        optimizer.step()
        with pytest.raises(RuntimeError, match=r"changed .* between its forward and its backward"):
            late.backward()

    launch(rank, 2)


def test_ranks_with_other_seeds_may_be_left_to_train_a_mosaic() -> None:
    def rank() -> dict[str, Any]:
        model = FSDP(make(dist.get_rank()), sync_module_states=False)
        return values(model)

    zero, one = launch(rank, 2)
    assert_close(zero, one)  # gathered: the same on all ranks, and nobody's
    first = make(0).first.weight.detach().numpy()
    last = make(1).last.bias.detach().numpy()
    np.testing.assert_array_equal(zero["first.weight"], first)
    np.testing.assert_array_equal(zero["last.bias"], last)
