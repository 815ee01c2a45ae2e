"""Programs for real torch, each of which ranks of any number run. Their results do not depend on the wire."""

from __future__ import annotations

import warnings
from typing import Any

import torch
import torch.distributed as dist
from torch import nn

DTYPES = [
    torch.float32,
    torch.float64,
    torch.float16,
    torch.bfloat16,
    torch.int64,
    torch.int32,
    torch.uint8,
    torch.int8,
]
# Torch's names of before 2.13 stand behind.
all_gather_single = getattr(dist, "all_gather_single", dist.all_gather_into_tensor)
reduce_scatter_single = getattr(dist, "reduce_scatter_single", dist.reduce_scatter_tensor)
OPS = ["SUM", "PRODUCT", "MIN", "MAX"]


def own(count: int, dtype: torch.dtype, salt: int = 0) -> torch.Tensor:
    """Small whole numbers of this rank: every dtype holds their sums and products exactly."""
    start = dist.get_rank() + salt
    return ((torch.arange(count) + start) % 3 + 1).to(dtype)


def collectives() -> list[Any]:
    """All collectives, their list, single and coalesced forms, on odd and empty tensors."""
    rank, size = dist.get_rank(), dist.get_world_size()
    out: list[Any] = []

    def note(*tensors: torch.Tensor) -> None:
        out.extend(tensor.to(torch.float64).tolist() for tensor in tensors)

    for dtype in DTYPES:
        for op in OPS:
            for count in (0, 1, 7):
                tensor = own(count, dtype)
                dist.all_reduce(tensor, getattr(dist.ReduceOp, op))
                note(tensor)
        tensor = own(5, dtype)
        dist.broadcast(tensor, size - 1)
        note(tensor)
        tensor = own(5, dtype)
        dist.reduce(tensor, 0)
        if rank == 0:
            note(tensor)
    for op in ("BAND", "BOR", "BXOR"):
        tensor = own(4, torch.int32, 5)
        dist.all_reduce(tensor, getattr(dist.ReduceOp, op))
        note(tensor)
    flags = torch.tensor([rank == 0, True, False])
    dist.all_reduce(flags, dist.ReduceOp.MIN)
    note(flags)

    parts = [torch.zeros(3) for _ in range(size)]
    dist.all_gather(parts, own(3, torch.float32))
    note(*parts)
    whole = torch.zeros(size * 4)
    all_gather_single(whole, own(4, torch.float32))
    note(whole)
    gathered = [torch.zeros(2, 2) for _ in range(size)] if rank == 0 else None
    dist.gather(own(4, torch.float32).reshape(2, 2), gathered, 0)
    note(*(gathered or []))
    mine = torch.zeros(2)
    dist.scatter(mine, [torch.full((2,), float(r)) for r in range(size)] if rank == size - 1 else None, size - 1)
    note(mine)
    mine = torch.zeros(3)
    dist.reduce_scatter(mine, [own(3, torch.float32, r) for r in range(size)])
    note(mine)
    mine = torch.zeros(2)
    reduce_scatter_single(mine, own(2 * size, torch.float32))
    note(mine)
    taken = [torch.zeros(2) for _ in range(size)]
    dist.all_to_all(taken, [own(2, torch.float32, r) for r in range(size)])
    note(*taken)
    flat = torch.zeros(sum(rank + 1 for _ in range(size)))
    dist.all_to_all_single(
        flat,
        torch.cat([own(r + 1, torch.float32, r) for r in range(size)]),
        [rank + 1] * size,
        [r + 1 for r in range(size)],
    )
    note(flat)
    many = [own(3, torch.float32), own(2, torch.float32)]
    with warnings.catch_warnings():  # it will be deprecated
        warnings.simplefilter("ignore", FutureWarning)
        dist.all_reduce_coalesced(many)
    note(*many)
    objects: list[Any] = [None] * size
    dist.all_gather_object(objects, {"rank": rank})
    out.append(objects)
    words = [f"of {rank}", rank]
    dist.broadcast_object_list(words, size - 1)
    out.append(words)
    dist.barrier()
    return out


def messages() -> list[Any]:
    """send and recv, their batches, any source, tags; asynchronous work, futures."""
    rank, size = dist.get_rank(), dist.get_world_size()
    out: list[Any] = []
    after, before = (rank + 1) % size, (rank - 1) % size
    taken = torch.zeros(3)
    batch = [dist.P2POp(dist.isend, own(3, torch.float32), after), dist.P2POp(dist.irecv, taken, before)]
    for work in dist.batch_isend_irecv(batch):
        work.wait()
    out.append(taken.tolist())
    if size > 1:
        if rank == 0:
            came = sorted([dist.recv(torch.zeros(1), tag=7) for _ in range(size - 1)])
            out.append(came)
        else:
            dist.send(torch.ones(1), 0, tag=7)
    tensor = own(4, torch.float32)
    work = dist.all_reduce(tensor, async_op=True)
    doubled = work.get_future().then(lambda future: future.value()[0] * 2)
    out.append(doubled.wait().tolist())
    out.append(work.wait())
    group = dist.new_group(list(range(0, size, 2)))
    if rank % 2 == 0:
        tensor = own(2, torch.float32)
        dist.all_reduce(tensor, group=group)
        out.append(tensor.tolist())
    return out


def model() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 3))


def data(rank: int, size: int, step: int) -> torch.Tensor:
    """This rank's rows of a batch that is the same for each number of ranks that divides it."""
    rows = torch.randn(120, 6, generator=torch.Generator().manual_seed(step), dtype=torch.float64)
    return rows.chunk(size)[rank].float()


def train_ddp(**how: Any) -> list[float]:
    rank, size = dist.get_rank(), dist.get_world_size()
    wrapped = nn.parallel.DistributedDataParallel(model(), **how)
    return _train(wrapped, rank, size)


def train_alone() -> list[float]:
    """The same on one rank, without any group."""
    return _train(model(), 0, 1)


def train_fsdp() -> list[float]:
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    rank, size = dist.get_rank(), dist.get_world_size()
    mesh, sharded = init_device_mesh("cpu", (size,)), model()
    for part in (sharded[0], sharded[2], sharded):  # type: ignore[index]
        fully_shard(part, mesh=mesh)
    return _train(sharded, rank, size)


def train_plain_fsdp() -> list[float]:
    """FSDP as it was before `fully_shard`: it frees what it has gathered by resizing its storage."""
    from torch.distributed.fsdp import FullyShardedDataParallel

    wrapped = FullyShardedDataParallel(model(), device_id=torch.device("cpu"))
    return _train(wrapped, dist.get_rank(), dist.get_world_size())


def _train(net: nn.Module, rank: int, size: int) -> list[float]:
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    losses = []
    for step in range(4):
        optimizer.zero_grad()
        loss = net(data(rank, size, step)).square().mean()
        loss.backward()
        optimizer.step()
        shown = loss.detach()
        if dist.is_initialized():
            shown = shown.clone()
            dist.all_reduce(shown, dist.ReduceOp.SUM)
        losses.append(float(shown) / size)
    return losses
