"""Names that programs reach by another path, or by the names of arguments, than most do."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest

from tests.parity.compare import mtd, same, torch

pytestmark = pytest.mark.parity


@pytest.mark.parametrize("path", ["distributed._tensor.device_mesh", "distributed.tensor.device_mesh"])
@pytest.mark.parametrize("name", ["DeviceMesh", "init_device_mesh"])
def test_meshes_have_three_addresses(path: str, name: str) -> None:
    for t in (torch, mtd):
        home = importlib.import_module(f"{t.__name__}.distributed.device_mesh")
        module = importlib.import_module(f"{t.__name__}.{path}")
        assert getattr(module, name) is getattr(home, name)


def test_the_version_of_nccl_without_devices() -> None:
    same(lambda t: t.cuda.nccl.version())
    with pytest.raises(AttributeError, match="no NCCL without devices"):
        mtd.cuda.nccl.version()


def test_the_version_of_nccl_allows_bfloat16_where_devices_are_simulated() -> None:
    """As scripts ask before they choose their precision."""
    with mtd.cuda.simulated(2):
        nccl = importlib.import_module("minitorch_dist.cuda.nccl")
        assert mtd.distributed.is_nccl_available() and nccl.version() >= (2, 10)
        assert mtd.cuda.is_bf16_supported()


@pytest.mark.parametrize("sizes", [1, 2, 5, [1, 2], [3, 0], [2, 2]])
def test_split_by_the_names_of_its_arguments(sizes: Any) -> None:
    x = np.arange(24.0).reshape(2, 3, 4)
    same(lambda t, x: t.split(tensor=x, split_size_or_sections=sizes, dim=1), x)
    same(lambda t, x: t.split(x, split_size_or_sections=sizes, dim=1), x)
    same(lambda t, x: x.split(split_size=sizes, dim=1), x)


def test_an_optimizer_gets_its_state_before_its_first_step() -> None:
    def program(t: Any) -> Any:
        state_dict = importlib.import_module(f"{t.__name__}.distributed.checkpoint.state_dict")
        p = t.nn.Parameter(t.ones(3))
        optimizer = t.optim.AdamW([p], lr=0.1, weight_decay=0.5)
        state_dict._init_optim_state(optimizer)
        state = optimizer.state[p]
        return (p, p.grad, optimizer.param_groups[0]["lr"], sorted(state), *(state[key] for key in sorted(state)))

    same(program)
