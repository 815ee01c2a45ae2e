"""Saving and loading: whole or in shards, the model and the optimizer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minitorch_dist.distributed.checkpoint as dcp
from minitorch_dist import nn, optim
from minitorch_dist.distributed.fsdp import (
    FullOptimStateDictConfig,
    FullStateDictConfig,
    FullyShardedDataParallel as FSDP,
    StateDictType,
)
from minitorch_dist.distributed.fsdp.wrap import ModuleWrapPolicy
from minitorch_dist.distributed.tensor import DTensor
from minitorch_dist.launching import launch
from tests.distributed.fsdp.training import alone, assert_close, loss_of, make, mine, train, values

LINEAR = ModuleWrapPolicy({nn.Linear})


def wrapped(seed: int = 0) -> Any:
    return FSDP(make(seed), auto_wrap_policy=LINEAR)


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_the_full_state_is_that_of_the_model_unwrapped(size: int) -> None:
    def rank() -> dict[str, Any]:
        model = wrapped()
        train(model, mine)
        state = model.state_dict()
        kept = {name: value.numpy().copy() for name, value in state.items()}
        train(model, mine, steps=1)  # what was saved does not follow
        for name, value in state.items():
            np.testing.assert_array_equal(value.numpy(), kept[name])
        return kept

    expected = alone()
    for found in launch(rank, size):
        assert list(found) == list(make().state_dict())
        assert_close(found, expected)


def test_a_state_is_loaded_by_any_number_of_ranks() -> None:
    def save() -> Any:
        model = wrapped()
        train(model, mine)
        return model.state_dict()

    def load(state: Any) -> dict[str, Any]:
        model = wrapped(seed=5)
        assert str(model.load_state_dict(state)) == "<All keys matched successfully>"
        return values(model)

    state = launch(save, 3)[0]
    expected = {name: value.numpy() for name, value in state.items()}
    for size in (1, 2, 5):
        for found in launch(load, size, args=(state,)):
            assert_close(found, expected, atol=0)
    plain = make(9)
    plain.load_state_dict(state)
    assert_close({n: p.detach().numpy() for n, p in plain.named_parameters()}, expected, atol=0)


def test_rank_0_alone_may_keep_it() -> None:
    def rank() -> list[str]:
        model = wrapped()
        config = FullStateDictConfig(offload_to_cpu=True, rank0_only=True)
        with FSDP.state_dict_type(model, StateDictType.FULL_STATE_DICT, config):
            return list(model.state_dict())

    first, *others = launch(rank, 3)
    assert first == list(make().state_dict())
    assert others == [[], []]


def test_missing_and_superfluous_names_are_told() -> None:
    def rank() -> None:
        model = wrapped()
        state = model.state_dict()
        state["more"] = state.pop("first.bias")
        with pytest.raises(RuntimeError, match=r'(?s)first\.\S*bias.*|Unexpected key\(s\).*"more"'):
            model.load_state_dict(state)
        found = model.load_state_dict(state, strict=False)
        assert len(found.missing_keys) == len(found.unexpected_keys) == 1

    launch(rank, 2)


def test_the_optimizer_goes_on_from_its_whole_state() -> None:
    """Trained by 3 ranks, saved, loaded by 2, trained on: as one rank without interruption."""

    def first() -> Any:
        model = wrapped()
        optimizer = train(model, mine)
        return model.state_dict(), FSDP.optim_state_dict(model, optimizer)

    def second(state: Any, saved: Any) -> tuple[dict[str, Any], list[str]]:
        model = wrapped(seed=4)
        model.load_state_dict(state)
        optimizer = optim.Adam(model.parameters(), lr=0.5)
        optimizer.load_state_dict(FSDP.optim_state_dict_to_load(model, optimizer, saved))
        for step in range(3, 6):
            optimizer.zero_grad()
            loss_of(model, *mine(step)).backward()
            optimizer.step()
        return values(model), [str(g["lr"]) for g in optimizer.param_groups]

    state, saved = launch(first, 3)[0]
    assert list(saved["state"]) == list(make().state_dict())
    assert saved["state"]["first.weight"]["exp_avg"].shape == (7, 5)
    expected = alone(steps=6)
    for found, rates in launch(second, 2, args=(state, saved)):
        assert rates == ["0.01"]
        assert_close(found, expected)


def test_sharded_states_are_saved_and_loaded_by_any_number_of_ranks(tmp_path: Path) -> None:
    kind = StateDictType.SHARDED_STATE_DICT

    def first() -> None:
        model = wrapped()
        optimizer = train(model, mine)
        with FSDP.state_dict_type(model, kind):
            state = {"model": model.state_dict(), "optim": FSDP.optim_state_dict(model, optimizer)}
        assert all(isinstance(value, DTensor) for value in state["model"].values())
        dcp.save(state, checkpoint_id=tmp_path)

    def second() -> dict[str, Any]:
        model = wrapped(seed=7)
        optimizer = train(model, mine, steps=1)  # so that it has a state to fill
        with FSDP.state_dict_type(model, kind):
            state = {"model": model.state_dict(), "optim": FSDP.optim_state_dict(model, optimizer)}
            dcp.load(state, checkpoint_id=tmp_path)
            model.load_state_dict(state["model"])
            optimizer.load_state_dict(FSDP.optim_state_dict_to_load(model, optimizer, state["optim"]))
        for step in range(3, 6):
            optimizer.zero_grad()
            loss_of(model, *mine(step)).backward()
            optimizer.step()
        return values(model)

    launch(first, 4)
    expected = alone(steps=6)
    for size in (1, 3):
        for found in launch(second, size):
            assert_close(found, expected)


def test_rank_0_alone_may_keep_the_optimizers_state() -> None:
    def rank() -> int:
        model = wrapped()
        optimizer = train(model, mine)
        config = FullOptimStateDictConfig(rank0_only=True)
        with FSDP.state_dict_type(model, StateDictType.FULL_STATE_DICT, FullStateDictConfig(), config):
            return len(FSDP.optim_state_dict(model, optimizer))

    assert launch(rank, 3) == [2, 0, 0]


def test_summoned_parameters_may_be_written() -> None:
    def rank() -> None:
        model = wrapped()
        with FSDP.summon_full_params(model):
            for _, p in model.named_parameters():
                p.data.fill_(2.0)
        assert all((value == 2.0).all() for value in values(model).values())
        with FSDP.summon_full_params(model, writeback=False):
            for p in model.parameters():
                p.data.fill_(3.0)
        assert all((value == 2.0).all() for value in values(model).values())
        model.apply(lambda m: m.weight.data.fill_(1.0) if isinstance(m, nn.Linear) else None)
        assert (values(model)["last.weight"] == 1.0).all()

    for size in (1, 2, 3):
        launch(rank, size)
