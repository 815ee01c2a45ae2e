"""Saved under one wrapper by some ranks, loaded under another by others: training goes on."""

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
    get_optimizer_state_dict,
    get_state_dict,
    set_model_state_dict,
    set_optimizer_state_dict,
    set_state_dict,
)
from minitorch_dist.distributed.fsdp import FullyShardedDataParallel, fully_shard
from minitorch_dist.launching import launch
from minitorch_dist.nn.parallel import DistributedDataParallel

X = np.random.default_rng(0).standard_normal((12, 3))
WRAPPERS = ["plain", "ddp", "fsdp", "fully_shard", "inner fsdp"]


def wrapped(kind: str, seed: int) -> Any:
    mt.manual_seed(seed)
    model: Any = nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 3)).double()
    model.register_buffer("scale", mt.full((1,), float(seed), dtype=mt.float64))
    if kind == "ddp":
        return DistributedDataParallel(model)
    if kind == "fsdp":
        return FullyShardedDataParallel(model)
    if kind == "inner fsdp":
        model[0] = FullyShardedDataParallel(model[0])
        model[2] = FullyShardedDataParallel(model[2])
    if kind == "fully_shard":
        fully_shard(model[0])
        fully_shard(model)
    return model


def adam(model: Any) -> Any:
    return optim.Adam(model.parameters(), lr=0.01)


def train(model: Any, optimizer: Any, steps: range) -> None:
    for step in steps:  # all ranks the same batch: any number of ranks is one rank
        optimizer.zero_grad()
        (model(mt.tensor(X + step)) ** 2).mean().backward()
        optimizer.step()


def whole(model: Any) -> dict[str, Any]:
    state = get_model_state_dict(model, options=StateDictOptions(full_state_dict=True))
    return {name: value.numpy().copy() for name, value in state.items()}


def straight() -> dict[str, Any]:
    model = wrapped("plain", 1)
    optimizer = adam(model)
    train(model, optimizer, range(5))
    return whole(model)


def saved(kind: str, folder: Path) -> None:
    model = wrapped(kind, 1)
    optimizer = adam(model)
    train(model, optimizer, range(3))
    state, others = get_state_dict(model, optimizer)
    dcp.save({"model": state, "optim": others}, checkpoint_id=folder)


def gone_on(kind: str, folder: Path) -> dict[str, Any]:
    model = wrapped(kind, 2)
    optimizer = adam(model)
    state, others = get_state_dict(model, optimizer)
    found = {"model": state, "optim": others}
    dcp.load(found, checkpoint_id=folder)
    keys = set_state_dict(model, optimizer, model_state_dict=found["model"], optim_state_dict=found["optim"])
    assert keys == ([], [])
    train(model, optimizer, range(3, 5))
    return whole(model)


@pytest.mark.parametrize("kind", WRAPPERS)
def test_goes_on_as_if_never_interrupted(kind: str, tmp_path: Path) -> None:
    wanted = straight()
    size = 1 if kind == "plain" else 3
    launch(saved, size, args=(kind, tmp_path))
    for other in WRAPPERS:
        for ranks in (1,) if other == "plain" else (1, 2, 5):
            for found in launch(gone_on, ranks, args=(other, tmp_path)):
                assert found.keys() == wanted.keys()
                for name, value in found.items():
                    np.testing.assert_allclose(value, wanted[name], rtol=1e-9, err_msg=name)


@pytest.mark.parametrize("kind", WRAPPERS[1:])
def test_whole_on_rank_0_and_told_to_all(kind: str) -> None:
    def rank() -> None:
        model = wrapped(kind, 1)
        optimizer = adam(model)
        train(model, optimizer, range(2))
        how = StateDictOptions(full_state_dict=True, cpu_offload=True)
        state, others = get_state_dict(model, optimizer, options=how)
        assert bool(state) == bool(others) == (dist.get_rank() == 0)
        if state:
            assert list(others["state"]) == ["0.weight", "0.bias", "2.weight", "2.bias"]
            assert tuple(others["state"]["0.weight"]["exp_avg"].shape) == (5, 3)
        again = wrapped(kind, 2)
        second = adam(again)
        how = StateDictOptions(full_state_dict=True, broadcast_from_rank0=True)
        set_model_state_dict(again, state, options=how)
        set_optimizer_state_dict(again, second, others, options=how)
        train(model, optimizer, range(2, 4))
        train(again, second, range(2, 4))
        one, other = whole(model), whole(again)
        for name in one:
            np.testing.assert_allclose(one[name], other[name], rtol=1e-12)

    launch(rank, 3)


def test_what_is_missing() -> None:
    model = wrapped("plain", 1)
    state = get_model_state_dict(model)
    del state["0.bias"]
    with pytest.raises(RuntimeError, match="Missing key"):
        set_model_state_dict(model, state)
    lenient = StateDictOptions(strict=False)
    assert set_model_state_dict(model, state, options=lenient).missing_keys == ["0.bias"]
    optimizer = adam(model)
    others = get_optimizer_state_dict(model, optimizer)
    del others["state"]["2.bias"]
    with pytest.raises(RuntimeError, match=r"Missing optimizer state for parameter '2\.bias'"):
        set_optimizer_state_dict(model, optimizer, others)
    with pytest.raises(RuntimeError, match="empty"):
        set_optimizer_state_dict(model, optimizer, {})
    with pytest.raises(ValueError, match="full_state_dict must be True"):
        StateDictOptions(broadcast_from_rank0=True)
