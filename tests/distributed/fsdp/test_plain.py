"""The plain unit of FSDP is `FullyShardedDataParallel` and one rank, bit for bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minitorch_dist as torch
import minitorch_dist.distributed as dist
from minitorch_dist import nn, sim
from minitorch_dist.distributed.fsdp import FullyShardedDataParallel
from minitorch_dist.distributed.fsdp.plain import PlainUnit
from minitorch_dist.launching import launch
from minitorch_dist.optim import SGD
from minitorch_dist.testing import exact

FORMS = {"plain": PlainUnit, "fast": FullyShardedDataParallel}


def gathered(model: nn.Module) -> np.ndarray[Any, Any]:
    """All parameters of all units, one after another."""
    found = []
    for unit in model.modules():
        if isinstance(unit, PlainUnit):
            parts = [torch.empty_like(unit.shard) for _ in range(dist.get_world_size())]
            dist.all_gather(parts, unit.shard.detach())
            found.append(torch.cat(parts)[: sum(shape.numel() for shape in unit.shapes)].numpy())
    with FullyShardedDataParallel.summon_full_params(model, writeback=False):
        if not found:
            found = [p.detach().reshape(-1).numpy() for p in model.parameters()]
        return np.concatenate(found)


def exact_weights(form: str) -> np.ndarray[Any, Any]:
    rank, size = dist.get_rank(), dist.get_world_size()
    model = FORMS[form](exact.Model(seed=1 if rank == 0 else 7) if form == "plain" else exact.Model())
    optimizer = SGD(model.parameters(), lr=exact.RATE)
    for number, count in enumerate((37, 16)):
        share = exact.data(count, seed=number).shares(size)[rank]
        exact.step(model, optimizer, share, ranks=size)
    return gathered(model)


def alone() -> np.ndarray[Any, Any]:
    model = exact.Model()
    optimizer = SGD(model.parameters(), lr=exact.RATE)
    for number, count in enumerate((37, 16)):
        exact.step(model, optimizer, exact.data(count, seed=number))
    return np.concatenate([weights.ravel() for weights in exact.weights(model)])


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8])
@pytest.mark.parametrize("form", FORMS)
def test_in_exact_mode_it_is_one_rank(form: str, size: int) -> None:
    expected = alone()
    for found in sim.run(exact_weights, size, args=(form,)).results:
        assert np.array_equal(found, expected)


def layers(form: str) -> bytes:
    """Ordinary numbers, which round, with a unit for each layer; two backward passes for each step."""
    torch.manual_seed(3)
    wrap = FORMS[form]
    model = nn.Sequential(
        wrap(nn.Linear(3, 5)), nn.Tanh(), wrap(nn.Linear(5, 2, bias=False)), wrap(nn.Linear(2, 1))
    )
    optimizer = SGD(model.parameters(), lr=0.1, momentum=0.9)
    torch.manual_seed(dist.get_rank())
    for _ in range(2):
        optimizer.zero_grad()
        for _ in range(2):
            model(torch.rand(4, 3)).sum().backward()
        optimizer.step()
    return gathered(model).tobytes()


@pytest.mark.parametrize("address", ["sim://", "tcp://"])
def test_in_ordinary_numbers_two_ranks_agree_with_the_fast_form(address: str) -> None:
    plain, fast = (launch(layers, 2, address, (form,)) for form in FORMS)
    assert plain == fast


def memory() -> list[int]:
    """Bytes of the whole before, within and after a forward pass."""
    unit = PlainUnit(nn.Linear(4, 4))
    seen = [unit.whole.untyped_storage().nbytes()]
    unit.module.register_forward_hook(lambda *_: seen.append(unit.whole.untyped_storage().nbytes()))
    output = unit(torch.ones(1, 4)).sum()
    seen.append(unit.whole.untyped_storage().nbytes())
    output.backward()
    return [*seen, unit.whole.untyped_storage().nbytes(), unit.shard.nbytes]


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_the_whole_is_there_only_while_it_is_needed(size: int) -> None:
    length = -(-20 // size)
    for found in sim.run(memory, size).results:
        assert found == [0, 4 * length * size, 0, 0, 4 * length]
