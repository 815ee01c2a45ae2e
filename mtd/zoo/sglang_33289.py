"""A rank decides by itself whether it has work, in front of a collective of all.

Symptom: one rank sits in the all_gather of the logits, and its peer is back at the broadcast of the next
requests. The watchdog of the rank whose decision matters has nothing to report: "nothing records what each
rank decided, only where it ended up".
"""

from __future__ import annotations

import minitorch_dist as torch
from minitorch_dist import distributed as dist

PROGRAM = True  # the lines that errors name are those in here
ADDRESS = "https://github.com/sgl-project/sglang/issues/33289"
RANKS, CULPRITS = 4, (1,)


def serve(free: int) -> None:
    """Take requests from rank 0 and answer them together, while there is memory for them."""
    requests = torch.zeros(8)
    for _ in range(4):
        dist.broadcast(requests, 0)
        free -= 8
        if free >= 0:  # the bug: `free` is this rank's own
            logits = [torch.zeros(16) for _ in range(dist.get_world_size())]
            dist.all_gather(logits, torch.ones(16))


def hang() -> None:
    serve(free=16 if dist.get_rank() == 1 else 32)  # rank 1 holds a longer prompt


def repaired() -> None:
    """All ranks decide together, because it concerns all."""
    free = torch.tensor([16.0 if dist.get_rank() == 1 else 32.0])
    dist.all_reduce(free, op=dist.ReduceOp.MIN)
    serve(int(free.item()))
