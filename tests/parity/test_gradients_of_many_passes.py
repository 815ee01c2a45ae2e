"""Passes without messages: gradients of bfloat16 are added up in the type that is reduced, as in torch's fully_shard."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from minitorch_dist.launching import launch
from tests.parity import oracle
from tests.parity.sharding_program import face_of

pytestmark = [pytest.mark.parity, pytest.mark.slow]


def sums(f: Any, rank: int) -> list[Any]:
    """The gradients of nine passes of a linear layer, the last of which sends messages; and of three more passes."""
    fsdp = import_module(f"{f.torch.__name__}.distributed.fsdp")
    layer = f.torch.nn.Linear(7, 5, bias=False)
    policy = fsdp.MixedPrecisionPolicy(param_dtype=f.torch.bfloat16, reduce_dtype=f.torch.float32)
    fsdp.fully_shard(layer, mp_policy=policy)
    numbers, found = np.random.default_rng(rank), []
    for passes in (9, 3):
        for number in range(passes):
            layer.set_requires_gradient_sync(number == passes - 1)
            x = f.torch.tensor(numbers.standard_normal((3, 7)).astype(np.float32))
            c = f.torch.tensor(numbers.standard_normal((3, 5)).astype(np.float32))
            (layer(x).float() * c).sum().backward()
        found.append(layer.weight.grad.full_tensor().numpy().copy())
    return found


def torch_rank(rank: int, folder: str) -> None:
    f = face_of("torch")
    oracle.join(f, rank, folder)
    oracle.leave(f, rank, folder, sums(f, rank))


@pytest.mark.parametrize("size", [1, 2, 3])
def test_sums_are_those_of_torch(size: int, tmp_path: Path) -> None:
    (tmp_path / "size").write_text(str(size), "utf-8")

    def ours() -> list[Any]:
        f = face_of("minitorch_dist")
        f.dist.init_process_group()
        return sums(f, f.dist.get_rank())

    for mine, theirs in zip(launch(ours, size), oracle.ranks(__name__, size, tmp_path), strict=True):
        for one, other in zip(mine, theirs, strict=True):
            np.testing.assert_allclose(one, other, rtol=2e-6, atol=2e-6)
