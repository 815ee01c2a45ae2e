"""Lesson 13 over real wires: your all_reduce of six tensors, with a sum and a maximum."""

import ring

import minitorch_dist as torch
import minitorch_dist.distributed as dist

COUNTS = (0, 1, 3, 7, 64, 1000)


def program(wire):
    rank, size = dist.get_rank(), dist.get_world_size()
    found = []
    for count in COUNTS:
        for op in (dist.ReduceOp.SUM, dist.ReduceOp.MAX):
            tensor = torch.arange(count, dtype=torch.float64) * (rank + 1) - 5.0
            ring.all_reduce(tensor, op)
            factor = size * (size + 1) // 2 if op == dist.ReduceOp.SUM else size
            wanted = [
                n * factor - 5.0 * (size if op == dist.ReduceOp.SUM else 1) for n in range(count)
            ]
            assert tensor.tolist() == wanted, (
                f"{count} numbers on {size} ranks: rank {rank} has {tensor.tolist()[:4]} …, expected {wanted[:4]} …"
            )
            found.append(tensor.tolist())
    return found
