"""What the ledger of a simulated device says: shards at rest, and at most two units whole."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minitorch_dist as mt
from minitorch_dist import nn, optim
from minitorch_dist.cuda import OutOfMemoryError, ledger
from minitorch_dist.distributed.fsdp import FullyShardedDataParallel as FSDP, ShardingStrategy
from minitorch_dist.distributed.fsdp.pages import LARGE, Pages
from minitorch_dist.distributed.fsdp.wrap import ModuleWrapPolicy
from minitorch_dist.launching import launch
from minitorch_dist.tensors import devices

WIDTH, LAYERS = 64, 6
UNIT = WIDTH * WIDTH * 4  # bytes of one layer


def deep() -> Any:
    mt.manual_seed(0)
    return nn.Sequential(*[nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(LAYERS)])


def peaks(strategy: ShardingStrategy, wrapped: bool, optimize: bool) -> tuple[int, int, int]:
    """Bytes of parameters at rest, and the peaks of parameters and of gradients in a step."""
    with mt.cuda.simulated(1, "10MB"):
        policy = ModuleWrapPolicy({nn.Linear}) if wrapped else None
        model = FSDP(deep(), auto_wrap_policy=policy, sharding_strategy=strategy, device_id=0)
        optimizer = optim.SGD(model.parameters(), lr=0.1, momentum=0.9) if optimize else None
        book = ledger.of(0)
        rest = book.snapshot().by_category["parameter"]
        most = {"parameter": 0, "gradient": 0}

        def look(*_: Any) -> None:
            now = book.snapshot().by_category
            for kind in most:
                most[kind] = max(most[kind], now[kind])

        for layer in model.modules():
            if isinstance(layer, nn.Linear):
                layer.register_forward_hook(look)
                layer.weight.register_hook(look)  # computed with the unit, and the next on its way
        for _ in range(2):
            model(mt.ones(2, WIDTH, requires_grad=True)).sum().backward()
            look()
            if optimizer is not None:
                optimizer.step()
                optimizer.zero_grad()
        assert book.snapshot().by_category["parameter"] == rest
        return rest, most["parameter"], most["gradient"]


@pytest.mark.parametrize("size", [2, 4])
def test_no_more_than_the_shards_and_two_units(size: int) -> None:
    shards = LAYERS * UNIT // size
    for rest, whole, gradients in launch(peaks, size, args=(ShardingStrategy.FULL_SHARD, True, False)):
        assert rest == shards
        assert whole == shards + 2 * UNIT
        # one unit collects, the one before is being reduced, one parameter's gradient has just been
        # computed; and there are the gradients of the activations
        assert gradients <= shards + 3 * UNIT + 2 * WIDTH * 2 * 4


@pytest.mark.parametrize(
    ("strategy", "wrapped", "units"),
    [
        (ShardingStrategy.FULL_SHARD, False, LAYERS),
        (ShardingStrategy.SHARD_GRAD_OP, True, LAYERS),
        (ShardingStrategy.NO_SHARD, True, None),
    ],
)
def test_the_other_ways_hold_the_whole_model(strategy: ShardingStrategy, wrapped: bool, units: int | None) -> None:
    for rest, whole, _ in launch(peaks, 2, args=(strategy, wrapped, False)):
        if units is None:
            assert rest == whole == LAYERS * UNIT
        else:
            assert (rest, whole) == (LAYERS * UNIT // 2, LAYERS * UNIT // 2 + units * UNIT)


def test_what_is_too_large_for_one_device_trains_on_four() -> None:
    """Parameters, gradients and two moments: 16 bytes an element, here with 70 % of that."""
    need = LAYERS * UNIT * 4
    budget = f"{int(need * 0.7)}"

    def rank(sharded: bool) -> float:
        with mt.cuda.simulated(1, budget):
            model: Any = deep()
            if sharded:
                model = FSDP(model, auto_wrap_policy=ModuleWrapPolicy({nn.Linear}), device_id=0)
            else:
                model = model.to("cuda:0")
            optimizer = optim.Adam(model.parameters(), lr=0.01)
            for _ in range(2):
                optimizer.zero_grad()
                loss = (model(mt.ones(2, WIDTH, device="cuda:0")) ** 2).mean()
                loss.backward()
                optimizer.step()
            return float(loss.item())

    with pytest.raises(OutOfMemoryError, match="out of memory"):
        launch(rank, 1, args=(False,))
    assert len(set(launch(rank, 4, args=(True,)))) == 1


def resident() -> int:
    lines = Path("/proc/self/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("Rss:")) * 1024


def test_pages_go_back_to_the_machine_and_come_again_at_the_same_address() -> None:
    pages = Pages(64 * LARGE, np.dtype(np.float32), devices.CPU, "parameter")
    first = pages.take()
    address = first.ctypes.data
    first[:] = 1.0
    full = resident()
    pages.give_back()
    assert full - resident() > 0.9 * first.nbytes
    again = pages.take(zeros=True)
    assert again.ctypes.data == address
    assert not again.any()


@pytest.mark.parametrize("count", [0, 1, 7, LARGE])
def test_pages_of_every_size(count: int) -> None:
    pages = Pages(count, np.dtype(np.int16), devices.CPU, "gradient")
    pages.take()[...] = 5
    pages.give_back()
    assert not pages.take(zeros=True).any()
    pages.give_back()
    pages.give_back()
