"""Questions to a DTensor are answered for the whole, and operations that would compute with a part alone are refused."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minitorch_dist as mtd
import minitorch_dist.distributed as dist
from minitorch_dist import nn, sim
from minitorch_dist.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_tensor, init_device_mesh

WAYS: dict[str, Any] = {"rows": Shard(0), "last": Shard(-1), "all": Replicate(), "summands": Partial()}
VIEWS: dict[str, Callable[[Any], Any]] = {
    "T": lambda x: x.T, "mT": lambda x: x.mT, "t": lambda x: x.t(), "transpose": lambda x: x.transpose(0, -1),
    "permute": lambda x: x.permute(1, 0),
    "unsqueeze": lambda x: x.unsqueeze(0), "unsqueeze -1": lambda x: x.unsqueeze(-1),
    "squeeze": lambda x: x.unsqueeze(1).squeeze(), "squeeze 0": lambda x: x.squeeze(0),
    "x[-1]": lambda x: x[-1:], "x[:, 1]": lambda x: x[:, 1], "x[None, ..., 0]": lambda x: x[None, ..., 0],
    "x[::2]": lambda x: x[::2], "x[:, 1:]": lambda x: x[:, 1:], "x[:]": lambda x: x[:], "x[...]": lambda x: x[...],
    "select": lambda x: x.select(1, -1), "narrow": lambda x: x.narrow(1, 0, 2), "chunk": lambda x: x.chunk(2, 1)[-1],
    "split": lambda x: x.split(1, dim=1)[1], "tensor_split": lambda x: x.tensor_split(2)[1],
    "expand": lambda x: x.unsqueeze(0).expand(3, -1, -1), "expand_as": lambda x: x[:, :1].expand_as(x),
    "view": lambda x: x.view(*x.shape), "view of blocks": lambda x: x.view(x.size(0), x.size(1), 1),
    "reshape": lambda x: x.reshape(-1), "flatten": lambda x: x.unsqueeze(-1).flatten(1),
    "unflatten": lambda x: x.unflatten(1, (-1, 1)), "view_as": lambda x: x.view_as(x),
}  # fmt: skip
ALONG: dict[str, Callable[[Any], Any]] = {
    "softmax": lambda x: x.softmax(1), "log_softmax": lambda x: x.log_softmax(-1), "cumsum": lambda x: x.cumsum(0),
    "max": lambda x: x.max(1)[0], "min.values": lambda x: x.min(1, keepdim=True).values, "amax": lambda x: x.amax(-1),
    "argmax": lambda x: x.argmax(1), "var": lambda x: x.var(1, unbiased=False), "std": lambda x: x.std(1),
    "logsumexp": lambda x: x.logsumexp(1), "prod": lambda x: x.prod(0), "any": lambda x: (x > 2).any(1),
    "all": lambda x: (x > 2).all(), "sort": lambda x: x.sort(0, descending=True)[0], "topk": lambda x: x.topk(2, 1)[0],
    "flip": lambda x: x.flip(0), "flip of both": lambda x: x.flip(0, 1), "flip of a list": lambda x: x.flip([0, -1]),
      "roll of both": lambda x: x.roll((1, 2), (0, 1)),
    "roll": lambda x: x.roll(1, 0), "norm": lambda x: x.norm(), "norm 1": lambda x: x.norm(1),
    "norm of columns": lambda x: x.norm(2, 1), "count": lambda x: x.count_nonzero(),
}  # fmt: skip


def numbers(shape: tuple[int, ...]) -> Any:
    count = int(np.prod(shape))
    return mtd.from_numpy((np.cos(np.arange(count) * 1.7) + 2).reshape(shape))


def laid_out(whole: Any, mesh: Any, way: str) -> Any:
    if way != "summands":
        return distribute_tensor(whole, mesh, [WAYS[way]])
    share, count = mesh.get_coordinate()[0] + 1, mesh.shape[0]
    part = (whole * (share / (count * (count + 1) / 2))).detach()
    return DTensor.from_local(part.requires_grad_(), mesh, [Partial()])


def test_views_and_what_goes_along_dimensions_are_refused_where_a_rank_has_a_part() -> None:
    """Where every rank has the whole, nothing can be wrong: the result is an ordinary tensor."""

    def main() -> None:
        dist.init_process_group()
        mesh = init_device_mesh("cpu", (3,))
        whole = numbers((5, 6))
        for name, call in {**VIEWS, **ALONG}.items():
            for way in ("rows", "last", "summands")[
                : 2 if name in ("any", "all") else 3
            ]:  # compared, summands are whole
                with pytest.raises(NotImplementedError, match="full_tensor"):
                    print(name, way, call(laid_out(whole, mesh, way)))
            np.testing.assert_array_equal(call(laid_out(whole, mesh, "all")), call(whole), name)

    sim.run(main, world_size=3)


def test_what_is_asked_speaks_of_the_whole() -> None:
    def main() -> None:
        dist.init_process_group()
        mesh = init_device_mesh("cpu", (3,))
        whole = numbers((5, 6))
        for way in WAYS:
            x = laid_out(whole, mesh, way)
            assert (mtd.numel(x), x.nelement(), x.nbytes, x.stride(), len(x)) == (30, 30, 240, (6, 1), 5)
            assert x.shape == whole.shape and int(x.numel()) == 30
            assert whole.flatten().view_as(x).shape == whole[:1].expand_as(x).shape == (5, 6)

    sim.run(main, world_size=3)


def test_what_is_made_like_a_dtensor_lies_as_it_does() -> None:
    def main() -> None:
        dist.init_process_group()
        mesh = init_device_mesh("cpu", (3,))
        for way in WAYS:
            x = laid_out(numbers((5, 6)), mesh, way)
            lying = (Replicate(),) if way == "summands" else x.placements
            made = (mtd.zeros_like(x), mtd.ones_like(x), mtd.full_like(x, 3.0), mtd.empty_like(x))
            for each in (*made, mtd.rand_like(x), mtd.randn_like(x)):
                assert each.placements == lying and each.shape == (5, 6) and each.dtype is x.dtype
            assert mtd.ones_like(x).full_tensor().sum().item() == 30
            assert mtd.full_like(x, 3.0).full_tensor().sum().item() == 90
            mtd.manual_seed(3)
            drawn = mtd.randn_like(x).full_tensor()
            mtd.manual_seed(3)
            assert mtd.equal(drawn, mtd.randn_like(numbers((5, 6))))
            weight = nn.Parameter(x)
            assert isinstance(weight, DTensor) and isinstance(weight, nn.Parameter)
            assert weight.requires_grad and weight.placements == x.placements
            twin = copy.deepcopy(weight)
            assert isinstance(twin, DTensor) and isinstance(twin, nn.Parameter)
            assert twin.device_mesh is mesh and twin.array is not weight.array
            assert mtd.equal(twin.full_tensor(), weight.full_tensor())
            momentum = mtd.zeros_like(weight)  # as an optimizer of one's own does
            with mtd.no_grad():
                momentum.mul_(0.9).add_(mtd.ones_like(weight))
                if way != "summands":
                    weight.add_(momentum, alpha=-1)
                    left = weight.full_tensor().sum().item()
                    assert left == pytest.approx(numbers((5, 6)).sum().item() - 30)

    sim.run(main, world_size=3)


def test_a_part_is_not_saved_as_if_it_were_the_whole(tmp_path: Path) -> None:
    def main() -> None:
        dist.init_process_group()
        x = distribute_tensor(mtd.ones(5, 6), init_device_mesh("cpu", (2,)), [Shard(0)])
        with pytest.raises(TypeError, match=r'obj\["w"\] is a DTensor, .* full_tensor\(\)'):
            mtd.save({"w": x}, tmp_path / "part.pt")
        mtd.save({"w": x.full_tensor()}, tmp_path / f"{dist.get_rank()}.pt")

    sim.run(main, world_size=2)


COLLECTIVES: dict[str, Callable[[Any, Any], Any]] = {
    "all_reduce": lambda x, p: dist.all_reduce(x),
    "asynchronous": lambda x, p: dist.all_reduce(x, async_op=True),
    "broadcast": lambda x, p: dist.broadcast(x, 0),
    "reduce": lambda x, p: dist.reduce(x, 0),
    "all_gather": lambda x, p: dist.all_gather([p, p], x),
    "into a list": lambda x, p: dist.all_gather([x, x], p),
    "all_gather_into_tensor": lambda x, p: dist.all_gather_into_tensor(mtd.ones(4, 6), x),
    "into a DTensor": lambda x, p: dist.all_gather_into_tensor(x, p[:1]),
    "reduce_scatter_tensor": lambda x, p: dist.reduce_scatter_tensor(p[:1], x),
    "all_to_all_single": lambda x, p: dist.all_to_all_single(p, x),
    "scatter": lambda x, p: dist.scatter(x, [p, p], 0),
    "send": lambda x, p: dist.send(x, 1 - dist.get_rank()),
    "recv": lambda x, p: dist.recv(x, 1 - dist.get_rank()),
    "isend": lambda x, p: dist.isend(x, 1 - dist.get_rank()),
    "irecv": lambda x, p: dist.irecv(x, 1 - dist.get_rank()),
}


def test_collectives_take_no_dtensors() -> None:
    """Also where an ordinary tensor of the same shape was sent before, and the operation is prepared."""

    def main() -> None:
        dist.init_process_group()
        mesh = init_device_mesh("cpu", (2,))
        plain = mtd.ones(2, 6)
        dist.all_reduce(plain)
        dist.broadcast(plain, 0)
        for way in ("rows", "all"):
            for name, call in COLLECTIVES.items():
                x = distribute_tensor(mtd.ones(4 if way == "rows" else 2, 6), mesh, [WAYS[way]])
                with pytest.raises(NotImplementedError, match=r"to_local\(\) is this rank's part"):
                    print(name, call(x, mtd.ones(2, 6)))
        x = distribute_tensor(mtd.ones(4, 6), mesh, [Shard(0)])
        dist.all_reduce(x.to_local())
        assert x.full_tensor().sum().item() == 48

    sim.run(main, world_size=2)
