"""DistributedDataParallel: N ranks are one rank, whatever it is told to do on the way."""

from __future__ import annotations

import subprocess
import sys
import warnings
from typing import Any

import numpy as np
import pytest

import minitorch_dist as mtd
import minitorch_dist.distributed as dist
from minitorch_dist import nn
from minitorch_dist.launching import launch
from minitorch_dist.nn.parallel import DistributedDataParallel as DDP

SAMPLES = 24  # divisible by every world size below
WAYS: list[dict[str, Any]] = [
    {},
    {"gradient_as_bucket_view": True},
    {"find_unused_parameters": True},
    {"bucket_cap_mb": 1e-4},
    {"gradient_as_bucket_view": True, "find_unused_parameters": True, "bucket_cap_mb": 1e-4},
]


def network() -> Any:
    mtd.manual_seed(1)
    return nn.Sequential(nn.Linear(5, 7), nn.Tanh(), nn.Linear(7, 6), nn.Tanh(), nn.Linear(6, 2))


def data() -> tuple[Any, Any]:
    mtd.manual_seed(2)
    return mtd.randn(SAMPLES, 5).double(), mtd.randn(SAMPLES, 2).double()


def train(wrap: bool = True, steps: int = 4, **told: Any) -> list[np.ndarray]:
    """The parameters after some steps, each rank on its part of every batch."""
    warnings.simplefilter("ignore")
    rank, size = (dist.get_rank(), dist.get_world_size()) if wrap else (0, 1)
    module = network().double()
    if rank:  # the constructor takes rank 0's values
        for p in module.parameters():
            p.data = p.data * 0
    model = DDP(module, **told) if wrap else module
    optimizer = mtd.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    x, y = data()
    share = SAMPLES // size
    own = slice(rank * share, (rank + 1) * share)
    for _ in range(steps):
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x[own]), y[own]).backward()
        optimizer.step()
    return [p.detach().numpy().copy() for p in module.parameters()]


@pytest.mark.parametrize("told", WAYS, ids=str)
@pytest.mark.parametrize("size", [1, 2, 3, 8])
def test_n_ranks_train_as_one(size: int, told: dict[str, Any]) -> None:
    alone = train(wrap=False)
    for found in launch(train, size, kwargs=told):
        for a, b in zip(found, alone, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-14)


def test_ranks_are_equal_bit_for_bit() -> None:
    first, *others = launch(train, 3, kwargs={"bucket_cap_mb": 1e-4})
    for other in others:
        assert all(np.array_equal(a, b) for a, b in zip(first, other, strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("transport", ["tcp", "file"])
def test_in_processes(transport: str, tmp_path: Any) -> None:
    address = f"file://{tmp_path}/ranks" if transport == "file" else f"{transport}://"
    there = launch(train, 2, address, kwargs={"bucket_cap_mb": 1e-4})
    here = launch(train, 2, kwargs={"bucket_cap_mb": 1e-4})
    assert all(np.array_equal(a, b) for rank in (0, 1) for a, b in zip(there[rank], here[rank], strict=True))


def test_in_virtual_time() -> None:
    there = launch(train, 3, "sim://")
    here = launch(train, 3)
    assert all(np.array_equal(a, b) for a, b in zip(there[0], here[0], strict=True))


def test_nn_loads_nothing_of_distributed_before_a_name_of_it_is_asked_for() -> None:
    program = (
        "import sys; import minitorch_dist.nn, minitorch_dist.nn.parallel as parallel\n"
        "assert not [name for name in sys.modules if name.startswith('minitorch_dist.distributed.')]\n"
        "from minitorch_dist.distributed.ddp import DistributedDataParallel\n"
        "assert parallel.DistributedDataParallel is DistributedDataParallel\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
