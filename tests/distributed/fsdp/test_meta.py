"""Models without numbers under FSDP: deferred initialisation, as torch 2.13 does it (seen there, case by case)."""

from __future__ import annotations

from typing import Any

import pytest

import minitorch_dist as mt
import minitorch_dist.distributed as dist
from minitorch_dist import nn
from minitorch_dist.distributed.checkpoint.state_dict import StateDictOptions, set_model_state_dict
from minitorch_dist.distributed.fsdp import fully_shard
from minitorch_dist.distributed.tensor import distribute_tensor
from minitorch_dist.launching import launch
from tests.distributed.fsdp.test_fully_shard import sharded, whole
from tests.distributed.fsdp.training import alone, assert_close, make, mine, train


def on_meta(build: Any) -> Any:
    with mt.device("meta"):
        return build()


def test_what_has_no_numbers_is_told() -> None:
    def rank() -> Any:
        model = fully_shard(on_meta(lambda: nn.Linear(4, 4)))
        with pytest.raises(RuntimeError, match=r"materialized .* still on meta .*'weight', 'bias'"):
            model(mt.ones(1, 4))
        return True

    assert launch(rank, 2) == [True, True]


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_a_model_that_began_without_numbers_trains_as_one_rank(size: int) -> None:
    """`fully_shard` on `meta`, `to_empty`, then the values: in the shards, before any forward."""

    def rank() -> Any:
        values = make(0).state_dict()
        model = sharded(on_meta(lambda: make(dist.get_rank())))
        before = {p.device.type for p in model.parameters()}
        model.to_empty(device="cpu")
        with mt.no_grad():
            for name, p in model.named_parameters():
                step = -(-len(values[name]) // dist.get_world_size())
                first = min(dist.get_rank() * step, len(values[name]))
                p.to_local().copy_(values[name][first : first + step])
        train(model, mine)
        return before, whole(model)

    expected = alone()
    for before, found in launch(rank, size):
        assert before == {"meta"}
        assert_close(found, expected)


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_a_state_is_assigned_to_a_model_without_numbers(size: int) -> None:
    """By parts, as wholes, or told by rank 0; and once more to a model that has numbers. Parameters stay the same objects."""

    def rank() -> Any:
        values = make(0).state_dict()
        found = []
        for way in ("parts", "wholes", "told", "again"):
            model = sharded(on_meta(lambda: make(dist.get_rank())))
            names = dict(model.named_parameters())
            parts = {
                name: distribute_tensor(value, names[name].device_mesh, names[name].placements)
                for name, value in values.items()
            }
            if way == "told":
                told = StateDictOptions(full_state_dict=True, broadcast_from_rank0=True)
                given = values if dist.get_rank() == 0 else {}
                set_model_state_dict(model, given, options=told)
            else:
                model.load_state_dict(values if way == "wholes" else parts, assign=True)
            if way == "again":
                train(model, mine, 1)
                model.load_state_dict(parts, assign=True)
            assert all(p is names[name] for name, p in model.named_parameters())
            train(model, mine)
            found.append(whole(model))
        return found

    expected = alone()
    for each in launch(rank, size):
        for found in each:
            assert_close(found, expected)


def test_a_state_of_other_shapes_is_told() -> None:
    def rank() -> None:
        model = fully_shard(on_meta(lambda: nn.Linear(4, 4)))
        wrong = {"weight": mt.zeros(2, 4), "bias": mt.zeros(4)}
        with pytest.raises(RuntimeError, match=r"weight: .* shape torch.Size\(\[2, 4\]\) .* torch.Size\(\[4, 4\]\)"):
            model.load_state_dict(wrong, assign=True)
        with pytest.raises(RuntimeError, match=r"got mixed torch.Tensor and DTensor"):
            fully_shard(nn.Linear(4, 4)).load_state_dict(nn.Linear(4, 4).state_dict())

    launch(rank, 2)
