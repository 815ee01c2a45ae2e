"""Gradients through collectives: those of one process in which all ranks' tensors are rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minitorch_dist as mt
import minitorch_dist.distributed as dist
from minitorch_dist.distributed.nn import functional as F
from minitorch_dist.launching import launch


def weights(count: int) -> Any:
    """What each rank multiplies its result with: so that every path has a gradient of its own."""
    return mt.tensor(np.random.default_rng(count).standard_normal((9, 9, 4)))


def inputs(size: int) -> Any:
    return mt.tensor(np.random.default_rng(size + 50).standard_normal((size, size, 4)))


def results(name: str, x: Any, size: int) -> list[list[Any]]:
    """In one process: for each rank the list of tensors that it gets; x[r][k] is its k-th input."""
    if name in ("all_reduce", "average"):
        total = sum(x[r][0] for r in range(size)) / (size if name == "average" else 1)
        return [[total] for _ in range(size)]
    if name == "all_gather":
        return [[x[r][0] for r in range(size)] for _ in range(size)]
    if name == "reduce_scatter":
        return [[sum(x[r][me] for r in range(size))] for me in range(size)]
    return [[x[r][me] for r in range(size)] for me in range(size)]  # all_to_all


def distributed(name: str, x: Any, size: int) -> list[Any]:
    parts = [x[k] for k in range(size)]
    if name == "all_reduce":
        return [F.all_reduce(parts[0])]
    if name == "average":
        return [F.all_reduce(parts[0], dist.ReduceOp.AVG)]
    if name == "all_gather":
        return list(F.all_gather(parts[0]))
    if name == "reduce_scatter":
        return [F.reduce_scatter(parts[0], parts)]
    return list(F.all_to_all([mt.empty(4, dtype=mt.float64)] * size, parts))


NAMES = ["all_reduce", "average", "all_gather", "reduce_scatter", "all_to_all"]


@pytest.mark.parametrize("size", [1, 2, 3, 5])
@pytest.mark.parametrize("name", NAMES)
def test_gradients(name: str, size: int) -> None:
    w = weights(size)

    def rank() -> tuple[Any, list[Any]]:
        me = dist.get_rank()
        x = inputs(size)[me].clone().requires_grad_()
        outs = distributed(name, x, size)
        sum((out * w[me, k]).sum() for k, out in enumerate(outs)).backward()
        return x.grad.numpy(), [out.detach().numpy() for out in outs]

    x = inputs(size).requires_grad_()
    expected = results(name, x, size)
    sum((out * w[me, k]).sum() for me, row in enumerate(expected) for k, out in enumerate(row)).backward()
    for me, (grad, outs) in enumerate(launch(rank, size)):
        np.testing.assert_allclose(grad, x.grad.numpy()[me], atol=1e-12)
        for mine, theirs in zip(outs, expected[me], strict=False):
            np.testing.assert_allclose(mine, theirs.detach().numpy(), atol=1e-12)


def test_a_maximum_has_no_gradient() -> None:
    def rank() -> None:
        with pytest.raises(RuntimeError, match="its derivative is not a sum"):
            F.all_reduce(mt.ones(2, requires_grad=True), dist.ReduceOp.MAX)
        assert F.all_reduce(mt.ones(2), dist.ReduceOp.MAX).tolist() == [1.0, 1.0]

    launch(rank, 2)
