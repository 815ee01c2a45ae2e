"""A write into a DTensor writes into the whole, and computing with a part alone is refused."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minitorch_dist as mtd
import minitorch_dist.distributed as dist
from minitorch_dist import nn, optim, sim
from minitorch_dist.distributed.fsdp import fully_shard
from minitorch_dist.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_tensor, init_device_mesh
from minitorch_dist.distributed.tensor.parallel import ColwiseParallel, parallelize_module

A = np.arange(30.0).reshape(5, 6) + 1
B = np.cos(np.arange(30.0)).reshape(5, 6) + 2
WAYS: dict[str, Any] = {
    "rows": Shard(0),
    "columns": Shard(1),
    "last": Shard(-1),
    "all": Replicate(),
    "summands": Partial(),
}


def laid_out(array: Any, mesh: Any, way: str) -> Any:
    if way != "summands":
        return distribute_tensor(mtd.from_numpy(array.copy()), mesh, [WAYS[way]])
    share, count = mesh.get_coordinate()[0] + 1, mesh.shape[0]
    part = mtd.from_numpy(array * share / (count * (count + 1) / 2))
    return DTensor.from_local(part, mesh, [Partial()])


def everywhere(size: int, act: Callable[[Any], None]) -> None:
    def main() -> None:
        dist.init_process_group()
        act(init_device_mesh("cpu", (size,)))

    sim.run(main, world_size=size)


def same(found: Any, expected: Any, name: str) -> None:
    assert isinstance(found, DTensor) and tuple(found.shape) == np.shape(expected)
    np.testing.assert_allclose(found.full_tensor().numpy(), expected, err_msg=name)


REFUSED: dict[str, Callable[[Any], Any]] = {
    "a function": mtd.exp,
    "of nn": nn.functional.relu,
    "beside a plain one": lambda x: mtd.add(mtd.ones(1, 6), x),
    "a comparison": lambda x: mtd.eq(mtd.ones(1, 6), x),
    "a truth": lambda x: mtd.equal(x, x),
    "a layer's weight": lambda x: nn.functional.linear(mtd.ones(2, 6, dtype=mtd.float64), x),
    "writing to an index": lambda x: operator.setitem(x, 0, 1.0),
    "numpy": lambda x: x.numpy(),
    "a list": lambda x: x.tolist(),
    "one of several": lambda x: mtd.cat([mtd.ones(1, 6, dtype=mtd.float64), x]),
    "a comparison of parts": lambda x: x > 3,
    "a view that cuts otherwise": lambda x: x.view(6, 5),
    "rows of a cut dimension": lambda x: x.unbind(0),
    "a product": lambda x: x @ x,
    "a mean": lambda x: x.mean(),
    "a remainder": lambda x: x % 2,
    "a sum": lambda x: x + x,
    "a number beside it": lambda x: 2 * x,
    "a negative": lambda x: -x,
    "a sum of all": lambda x: x.sum(),
    "element by element": lambda x: x.exp(),
    "its number": lambda x: x.item(),
    "its gradient": lambda x: x.requires_grad_().backward(),
    "initialisation": nn.init.orthogonal_,
    "in place, lying otherwise": lambda x: x.add_(x.redistribute(placements=[Shard(1)])),
    "another's mesh": lambda x: x.redistribute(init_device_mesh("cpu", (1, 3)), [Shard(0)] * 2),
}


BESIDE_PLAIN_ONES: dict[str, Callable[[Any, Any], Any]] = {
    "in place": lambda x, plain: plain.add_(x),
    "a product in place": lambda x, plain: plain.addcmul_(x, x),
    "a mask": lambda x, plain: mtd.masked_fill(plain, x.bool(), 1.0),
    "a mask as index": lambda x, plain: plain[x.bool()],
    "a condition": lambda x, plain: mtd.where(x.bool(), plain, plain),
    "an index": lambda x, plain: plain[x.long()],
    "rows of an index": lambda x, plain: nn.functional.embedding(x.long(), plain),
    "a stack": lambda x, plain: mtd.stack([plain, x]),
    "the larger": lambda x, plain: mtd.maximum(plain, x),
    "a search": lambda x, plain: mtd.searchsorted(plain[0], x),
}


def test_a_part_beside_plain_tensors_is_refused_with_and_without_gradients() -> None:
    def act(mesh: Any) -> None:
        for recorded in (True, False):
            with mtd.set_grad_enabled(recorded):
                for name, call in BESIDE_PLAIN_ONES.items():
                    x = laid_out(A[:3] * 0, mesh, "rows")  # one row here: it would fit
                    with pytest.raises(NotImplementedError, match="full_tensor"):
                        print(name, call(x, mtd.ones(1, 6, dtype=mtd.float64)))

    everywhere(3, act)


def test_what_would_compute_with_a_part_alone_is_refused() -> None:
    def act(mesh: Any) -> None:
        for name, call in REFUSED.items():
            with pytest.raises(NotImplementedError, match=r"full_tensor|redistribute"):
                print(name, call(laid_out(A, mesh, "rows")))
        x = laid_out(A, mesh, "rows")
        with pytest.raises(RuntimeError, match=r"got mixed torch\.Tensor and DTensor"):
            x.add_(mtd.from_numpy(A))
        x.requires_grad_()
        with pytest.raises(NotImplementedError, match="write under no_grad"):
            x.mul_(2)
        whole = laid_out(A, mesh, "all")  # every rank has it, so nothing can be wrong
        np.testing.assert_allclose(mtd.exp(whole).numpy(), np.exp(A))

    everywhere(3, act)


def test_in_place_and_numbers() -> None:
    def act(mesh: Any) -> None:
        x, y = laid_out(A, mesh, "columns"), laid_out(B, mesh, "columns")
        x.mul_(2).add_(y, alpha=3).clamp_(max=40)
        same(x, np.minimum(A * 2 + B * 3, 40), "in place")
        x /= 2
        same(x, np.minimum(A * 2 + B * 3, 40) / 2, "in place")
        assert len(x) == 5
        mtd.manual_seed(5)
        nn.init.kaiming_normal_(x)
        mtd.manual_seed(5)
        same(x, nn.init.kaiming_normal_(mtd.empty(5, 6, dtype=mtd.float64)).numpy(), "drawn")

    everywhere(3, act)


def test_parameters_at_rest_are_refused_and_modules_compute() -> None:
    """Of tensor parallelism and of fully_shard: whole or not, a number is right or refused."""

    def act(mesh: Any) -> None:
        mtd.manual_seed(0)
        layer = parallelize_module(nn.Linear(6, 9), mesh, ColwiseParallel())
        with pytest.raises(NotImplementedError, match="full_tensor"):
            nn.functional.linear(mtd.ones(2, 6), layer.weight)
        assert layer(mtd.ones(2, 6)).shape == (2, 3) and isinstance(layer.weight, DTensor)

        class Scaled(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.weight = nn.Parameter(mtd.arange(1.0, 7.0))

            def forward(self, x: Any) -> Any:
                return x * self.weight + self.weight.sum()

        model = fully_shard(Scaled(), mesh=mesh)
        optimizer = optim.SGD(model.parameters(), lr=0.5)
        out = model(mtd.ones(1, 6))
        assert out.tolist() == [[22.0, 23.0, 24.0, 25.0, 26.0, 27.0]]
        out.sum().backward()
        assert isinstance(model.weight, DTensor)
        with pytest.raises(NotImplementedError, match="full_tensor"):
            model.weight * 2
        optimizer.step()
        assert model.weight.full_tensor().sum().item() == 21 - 6 * 0.5 * 7

    everywhere(3, act)
