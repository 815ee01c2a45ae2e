"""Two collectives in two groups, in another order on some ranks: a circle across groups.

Symptom: in a job of 64 ranks, 62 wait in an all_to_all of the group `mesh_shard` for ranks 6 and 7. These
wait in an all_reduce of `mesh_replicate` for the others. Each group by itself looks healthy: only some of
its members are late.
"""

from __future__ import annotations

import minitorch_dist as torch
from minitorch_dist import distributed as dist

PROGRAM = True  # the lines that errors name are those in here
ADDRESS = "https://github.com/meta-pytorch/torchrec/pull/4149"
RANKS, CULPRITS = 8, (6, 7)


def step(is_behind: bool) -> None:
    rank, size = dist.get_rank(), dist.get_world_size()
    shard = dist.new_group(range(size), group_desc="mesh_shard")
    pairs = [dist.new_group([low, low + size // 2]) for low in range(size // 2)]
    replicate = pairs[rank % (size // 2)]
    rows, gradient = torch.ones(size), torch.ones(4)
    if is_behind:
        dist.all_reduce(gradient, group=replicate)  # the bug: here it comes first
        dist.all_to_all_single(torch.zeros(size), rows, group=shard)
    else:
        dist.all_to_all_single(torch.zeros(size), rows, group=shard)
        dist.all_reduce(gradient, group=replicate)


def hang() -> None:
    step(is_behind=dist.get_rank() in (6, 7))


def repaired() -> None:
    step(is_behind=False)
