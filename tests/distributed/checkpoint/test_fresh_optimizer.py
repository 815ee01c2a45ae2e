"""A checkpoint is loaded into an optimizer that has not stepped yet."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pytest

import minitorch_dist as mt
from minitorch_dist import nn
from minitorch_dist.distributed import checkpoint
from minitorch_dist.distributed.checkpoint.state_dict import _init_optim_state, get_state_dict, set_state_dict
from minitorch_dist.distributed.device_mesh import init_device_mesh
from minitorch_dist.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
from minitorch_dist.launching import launch

KINDS = [(mt.optim.Adam, {}), (mt.optim.SGD, {"momentum": 0.9}), (mt.optim.AdamW, {"amsgrad": True})]


def net() -> Any:
    mt.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 6), nn.Tanh(), nn.Linear(6, 2))


def step(model: Any, optimizer: Any) -> None:
    optimizer.zero_grad()
    model(mt.ones(4, 3)).pow(2).sum().backward()
    optimizer.step()


def trained(kind: Any, options: Any, model: Any) -> Any:
    optimizer = kind(model.parameters(), lr=0.1, **options)
    for _ in range(3):
        step(model, optimizer)
    return optimizer


def continues(model: Any, optimizer: Any, other: Any, its: Any) -> None:
    """Both go on alike, which they do only if the states are equal."""
    for _ in range(2):
        step(model, optimizer)
        step(other, its)
    for p, q in zip(model.parameters(), other.parameters(), strict=True):
        assert p.detach().array.tolist() == q.detach().array.tolist()


READERS = {
    "plainly": lambda folder: {"checkpoint_id": folder},
    "by a reader": lambda folder: {"storage_reader": checkpoint.FileSystemReader(folder)},
}


@pytest.mark.parametrize("how", READERS)
@pytest.mark.parametrize(("kind", "options"), KINDS)
def test_an_optimizer_that_is_given_gets_its_state(kind: Any, options: Any, how: str, tmp_path: Path) -> None:
    model, other = net(), net()
    optimizer = trained(kind, options, model)
    checkpoint.save({"model": model, "optim": optimizer}, checkpoint_id=tmp_path)
    fresh = kind(other.parameters(), lr=0.5, **options)
    checkpoint.load({"model": other, "optim": fresh}, **READERS[how](tmp_path))
    assert fresh.param_groups[0]["lr"] == 0.1
    assert all(p.grad is None for p in other.parameters())
    continues(model, optimizer, other, fresh)


@pytest.mark.parametrize("how", READERS)
def test_an_empty_state_asks_for_nothing_and_that_is_told(how: str, tmp_path: Path) -> None:
    """torch loads what is asked for, and says nothing."""
    model = net()
    optimizer = trained(mt.optim.Adam, {}, model)
    checkpoint.save({"optim": optimizer.state_dict()}, checkpoint_id=tmp_path)
    fresh = mt.optim.Adam(net().parameters(), lr=0.5)
    asked = {"optim": fresh.state_dict()}
    with pytest.warns(UserWarning, match=r"optim\.state is empty here.*12 entries.*optim\.state\.0"):
        checkpoint.load(asked, **READERS[how](tmp_path))
    assert asked["optim"]["state"] == {} and asked["optim"]["param_groups"][0]["lr"] == 0.1
    _init_optim_state(fresh)
    asked = {"optim": fresh.state_dict()}
    checkpoint.load(asked, **READERS[how](tmp_path))
    assert asked["optim"]["state"][0]["step"] == 3


def test_what_was_saved_before_the_first_step_is_loaded_as_such(tmp_path: Path) -> None:
    checkpoint.save({"optim": mt.optim.Adam(net().parameters())}, checkpoint_id=tmp_path)
    fresh = mt.optim.Adam(net().parameters(), lr=0.5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        checkpoint.load({"optim": fresh}, checkpoint_id=tmp_path)
    assert not fresh.state and fresh.param_groups[0]["lr"] == 0.001


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize("world", [1, 2, 3])
def test_under_tensor_parallelism(world: int, named: bool, tmp_path: Path) -> None:
    def one() -> None:
        mesh = init_device_mesh("cpu", (world,))

        def cut() -> Any:
            return parallelize_module(net(), mesh, {"0": ColwiseParallel(), "2": RowwiseParallel()})

        model, other = cut(), cut()
        optimizer = trained(mt.optim.Adam, {}, model)
        fresh = mt.optim.Adam(other.parameters(), lr=0.5)
        if named:
            ours, its = get_state_dict(model, optimizer)
            checkpoint.save({"model": ours, "optim": its}, checkpoint_id=tmp_path)
            ours, its = get_state_dict(other, fresh)
            state = {"model": ours, "optim": its}
            checkpoint.load(state, checkpoint_id=tmp_path)
            set_state_dict(other, fresh, model_state_dict=state["model"], optim_state_dict=state["optim"])
        else:
            checkpoint.save({"model": model, "optim": optimizer}, checkpoint_id=tmp_path)
            checkpoint.load({"model": other, "optim": fresh}, checkpoint_id=tmp_path)
        continues(model, optimizer, other, fresh)

    launch(one, world)
