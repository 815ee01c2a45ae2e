"""Complex tensors between ranks: every collective, remote calls, files; and what no rank may ask."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minitorch_dist as torch
import minitorch_dist.distributed as dist
from minitorch_dist import launch
from minitorch_dist.distributed import rpc
from minitorch_dist.nn.parallel import DistributedDataParallel

KINDS = (torch.complex64, torch.complex128)


def own(rank: int, kind: Any, *shape: int) -> Any:
    """Whole numbers, so that sums are exact in every order."""
    real = torch.arange(int(np.prod(shape))).reshape(shape) + 10.0 * rank
    return torch.view_as_complex(torch.stack([real, rank - real], -1)).to(kind)


def every_collective() -> None:
    me, n = dist.get_rank(), dist.get_world_size()
    for kind in KINDS:
        every = [own(r, kind, 2, 3) for r in range(n)]
        total = torch.stack(every).sum(0)
        x = own(me, kind, 2, 3)
        dist.all_reduce(x)
        assert torch.equal(x, total)
        dist.all_reduce(x, dist.ReduceOp.AVG)
        assert torch.allclose(x, total)
        x = own(me, kind, 3, 2).t()  # not contiguous
        dist.broadcast(x, n - 1)
        assert torch.equal(x, own(n - 1, kind, 3, 2).t())
        x = own(me, kind, 2, 3)
        dist.reduce(x, 0)
        assert me or torch.equal(x, total)
        got = [torch.zeros(2, 3, dtype=kind) for _ in range(n)]
        dist.all_gather(got, own(me, kind, 2, 3))
        assert all(map(torch.equal, got, every))
        out = torch.zeros(2 * n, 3, dtype=kind)
        dist.all_gather_into_tensor(out, own(me, kind, 2, 3))
        assert torch.equal(out, torch.cat(every))
        part = torch.zeros(1, 3, dtype=kind)
        dist.reduce_scatter_tensor(part, own(me, kind, n, 3))
        assert torch.equal(part, sum(own(r, kind, n, 3) for r in range(n))[me : me + 1])
        parts = list(own(me, kind, n, 2))
        got = [torch.zeros(2, dtype=kind) for _ in range(n)]
        dist.all_to_all(got, parts)
        assert all(torch.equal(got[r], own(r, kind, n, 2)[me]) for r in range(n))
        single = torch.zeros(n, 2, dtype=kind)
        dist.all_to_all_single(single, own(me, kind, n, 2))
        assert torch.equal(single, torch.stack(got))
        mine = torch.zeros(2, dtype=kind)
        dist.scatter(mine, list(own(0, kind, n, 2)) if me == 0 else None)
        assert torch.equal(mine, own(0, kind, n, 2)[me])
        gathered = [torch.zeros(2, dtype=kind) for _ in range(n)]
        dist.gather(mine, gathered if me == 0 else None)
        assert me or torch.equal(torch.stack(gathered), own(0, kind, n, 2))
        empty = torch.zeros(0, dtype=kind)
        dist.all_reduce(empty)
        if n > 1 and me < 2:
            there = torch.zeros(2, dtype=kind)
            work = dist.isend(mine, 1 - me)
            dist.recv(there, 1 - me)
            work.wait()
            assert torch.equal(there, own(0, kind, n, 2)[1 - me])
        objects: list[Any] = [None] * n
        dist.all_gather_object(objects, {"z": own(me, kind, 2)})
        assert all(torch.equal(objects[r]["z"], own(r, kind, 2)) for r in range(n))


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8])
@pytest.mark.parametrize("transport", ["queue://", "sim://"])
def test_every_collective(transport: str, size: int) -> None:
    launch(every_collective, size, transport=transport)


@pytest.mark.slow
@pytest.mark.parametrize("transport", ["tcp://", "file"])
def test_every_collective_in_processes(transport: str, tmp_path: Path) -> None:
    address = f"file://{tmp_path / 'world'}" if transport == "file" else "tcp://"
    launch(every_collective, 3, transport=address)


def refused() -> list[str]:
    said = []
    x = torch.ones(2, dtype=torch.complex64)
    for op in ("MIN", "MAX", "PRODUCT", "BAND"):
        for call in (
            lambda op: dist.all_reduce(x, op),
            lambda op: dist.reduce(x, 0, op),
            lambda op: dist.reduce_scatter_tensor(x[:1], x, op),
        ):
            with pytest.raises(ValueError) as caught:
                call(getattr(dist.ReduceOp, op))
            said.append(str(caught.value))
    dist.all_reduce(x)
    assert x.tolist() == [2, 2]  # the group goes on
    return said


def test_an_order_and_a_product_are_refused_in_torchs_words() -> None:
    for said in launch(refused, 2, transport="queue://"):
        assert said[0] == "all_reduce does not support RedOpType.MIN on complex tensors"
        assert said[7] == "reduce does not support RedOpType.PRODUCT on complex tensors"
        assert said[2] == "reduce_scatter does not support RedOpType.MIN on complex tensors"


def other_types() -> str:
    x = torch.ones(4, dtype=torch.complex64 if dist.get_rank() else torch.float64)
    with pytest.raises(dist.DistMismatch) as caught:
        dist.all_reduce(x)
    return str(caught.value)


def test_ranks_that_do_not_agree_on_the_type_are_told() -> None:
    for said in launch(other_types, 2, transport="queue://"):
        assert "complex64" in said and "float64" in said


# ------------------------------------------------------------------------------------ above collectives


class Turned(torch.nn.Module):
    """A complex weight, and a real loss."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.tensor([1 + 1j, 2 - 1j], dtype=torch.complex128))

    def forward(self, x: Any) -> Any:
        return (x * self.weight).abs().pow(2).sum(-1)


def inputs(n: int) -> Any:
    return torch.view_as_complex(torch.stack([torch.arange(2.0 * n), torch.ones(2 * n)], -1)).reshape(n, 2).to(KINDS[1])


def trained(size: int) -> Any:
    model = Turned()
    used = DistributedDataParallel(model) if size > 1 else model
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    rows = inputs(6).reshape(size, -1, 2)[dist.get_rank() if size > 1 else 0]
    for _ in range(3):
        optimizer.zero_grad()
        used(rows).mean().backward()
        optimizer.step()
    return model.weight.tolist()


@pytest.mark.parametrize("size", [2, 3])
def test_ranks_together_are_one_rank(size: int) -> None:
    alone = trained(1)
    for weight in launch(trained, size, args=(size,), transport="queue://"):
        np.testing.assert_allclose(weight, alone, rtol=1e-12)


def doubled(z: Any) -> Any:
    return z * 2j


def remote() -> list[complex]:
    rank = dist.get_rank()
    rpc.init_rpc(f"worker{rank}", rank=rank, world_size=2)
    z = torch.tensor([1 + 1j, -2j], dtype=torch.complex128)
    found = rpc.rpc_sync(f"worker{1 - rank}", doubled, (z,))
    rpc.shutdown()
    assert found.dtype is torch.complex128
    return list(found.tolist())


def test_a_remote_call() -> None:
    assert launch(remote, 2, transport="queue://") == [[-2 + 2j, 4]] * 2


def test_a_file() -> None:
    z = torch.tensor([[1 + 2j, 3]], dtype=torch.complex64)
    file = io.BytesIO()
    torch.save({"z": z, "transposed": z.t()}, file)
    file.seek(0)
    found = torch.load(file)
    assert torch.equal(found["z"], z) and found["transposed"].shape == (2, 1)
    wide = io.BytesIO()
    torch.save(z.to(torch.complex128), wide)
    wide.seek(0)
    assert torch.equal(torch.load(wide), z.to(torch.complex128))
