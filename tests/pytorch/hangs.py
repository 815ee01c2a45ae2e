"""Programs for real torch that hang under gloo, or fail there without a cause. In each, the line to mend is marked with "the bug".

    torchrun --nproc-per-node 4 -m tests.pytorch.hangs one_rank_logs mtd

They run with any number of ranks from four on.
"""

from __future__ import annotations

import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def one_rank_logs() -> None:
    """A collective in a branch that one rank takes."""
    loss = torch.ones(1)
    if dist.get_rank() == 0:
        dist.all_reduce(loss)  # the bug
    dist.barrier()


def other_order() -> None:
    """Two collectives, and one rank calls the second of them first."""
    weight, loss = torch.ones(8), torch.ones(8)
    if dist.get_rank() == 1:
        dist.all_reduce(loss)  # the bug
        dist.broadcast(weight, 0)
    else:
        dist.broadcast(weight, 0)
        dist.all_reduce(loss)


def other_shape() -> None:
    """The last rank has a smaller batch."""
    rows = 32 if dist.get_rank() < dist.get_world_size() - 1 else 20
    dist.all_reduce(torch.ones(rows, 4))  # the bug


def nobody_receives() -> None:
    """Rank 0 sends twice, and rank 1 receives once."""
    rank = dist.get_rank()
    if rank == 0:
        for _ in range(2):
            dist.send(torch.ones(1 << 20), 1)  # the bug
    elif rank == 1:
        dist.recv(torch.zeros(1 << 20), 0)
    dist.barrier()


def all_receive_first() -> None:
    """A ring in which each rank waits for its left neighbour before it sends to its right one."""
    rank, size = dist.get_rank(), dist.get_world_size()
    taken = torch.zeros(3)
    dist.recv(taken, (rank - 1) % size)  # the bug
    dist.send(torch.ones(3), (rank + 1) % size)


def one_batch_more() -> None:
    """DDP, and rank 1 has a batch more than the others."""
    net = DistributedDataParallel(nn.Linear(6, 3))
    for _ in range(3 + (dist.get_rank() == 1)):
        loss = net(torch.ones(2, 6)).sum()
        loss.backward()  # the bug


class TwoHeads(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body, self.head, self.extra = nn.Linear(6, 6), nn.Linear(6, 1), nn.Linear(6, 1)

    def forward(self, x: torch.Tensor, with_extra: bool) -> torch.Tensor:
        inner = self.body(x)
        return self.head(inner) + (self.extra(inner) if with_extra else 0.0)  # type: ignore[no-any-return]


def other_graph() -> None:
    """DDP, and rank 1 uses fewer parameters than the others."""
    net = DistributedDataParallel(TwoHeads())
    loss = net(torch.ones(2, 6), with_extra=dist.get_rank() != 1).sum()
    loss.backward()  # the bug
    dist.barrier()


def other_groups() -> None:
    """Two groups of the same ranks, and rank 1 makes the second of them first."""
    everybody = list(range(dist.get_world_size()))
    made = [dist.new_group(everybody, group_desc=name) for name in ("data", "model")]
    data, model = reversed(made) if dist.get_rank() == 1 else made
    dist.all_reduce(torch.ones(1), group=data)  # the bug
    dist.all_reduce(torch.ones(1), group=model)


def members_only() -> None:
    """A group that only its members make. The next group has another number on them."""
    rank, size = dist.get_rank(), dist.get_world_size()
    if rank < 2:
        dist.new_group([0, 1])
    everybody = dist.new_group(range(size))  # the bug: on ranks 0 and 1 this is the second group
    dist.all_reduce(torch.ones(1), group=everybody)


def two_groups() -> None:
    """A circle across groups: ranks 0 and 1 wait in one, and the others in another."""
    size = dist.get_world_size()
    all_of_us = dist.new_group(range(size))
    first = dist.new_group([0, size - 1])
    rank = dist.get_rank()
    if rank == size - 1:
        dist.all_reduce(torch.ones(4), group=first)  # the bug
    dist.all_reduce(torch.ones(size), group=all_of_us)
    if rank == 0:
        dist.all_reduce(torch.ones(4), group=first)


def other_metrics() -> None:
    """Each metric is averaged, and rank 1 has logged one more."""
    metrics = {"loss": 1.0, "accuracy": 0.5}
    if dist.get_rank() == 1:
        metrics["rare"] = 0.1
    for value in metrics.values():
        dist.all_reduce(torch.tensor([value]))  # the bug
    dist.barrier()


def early_stop() -> None:
    """Each rank decides by its own metric whether it goes on."""
    for epoch in range(4):
        dist.all_reduce(torch.ones(10))
        if epoch + dist.get_rank() >= dist.get_world_size() + 1:
            break
    dist.barrier()  # the bug


def one_skips() -> None:
    """A rank leaves out one of several like calls, so the next ones meet their predecessors."""
    for step in range(3):
        loss, norm = torch.tensor([5.0]), torch.tensor([1e-11])
        if step != 1 or dist.get_rank() != 2:
            dist.all_reduce(loss)
        dist.all_reduce(norm)  # the bug


def one_rank_raises() -> None:
    """One rank fails, and the others wait for it."""
    total = torch.ones(3)
    dist.all_reduce(total)
    if dist.get_rank() == 1:
        raise ValueError("a bad record")  # the bug
    dist.all_reduce(total)


def one_rank_leaves() -> None:
    """One rank has no more data, and ends."""
    if dist.get_rank() == 1:
        sys.exit()  # the bug
    dist.all_reduce(torch.ones(1))


def other_roots() -> None:
    """A broadcast, and each rank takes itself for the root."""
    dist.broadcast(torch.ones(4), dist.get_rank())  # the bug


def rank_0_prints_a_weight() -> None:
    """FSDP2: the whole of a sharded parameter takes all ranks."""
    from torch.distributed.fsdp import fully_shard

    net = nn.Linear(8, 8)
    fully_shard(net)
    if dist.get_rank() == 0:
        print(net.weight.full_tensor().sum().item())  # type: ignore[operator]  # the bug
    net(torch.ones(2, 8)).sum().backward()


def main(name: str, backend: str) -> None:
    dist.init_process_group(backend)
    globals()[name]()
    dist.destroy_process_group()


if __name__ == "__main__":
    main(*sys.argv[1:])
