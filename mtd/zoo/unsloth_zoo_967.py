"""A rank leaves out one collective, and the next ones meet their predecessors: wrong numbers first.

Symptom: all ranks call all_reduce on one float, one after the other. Rank 2 skips one for an empty
batch, so its gradient norm is added to the losses of the others. Nobody complains (4.68e-11 where a
loss should be), until somebody has one call fewer at the end. Only the lines of the calls show that they
were not the same.
"""

from __future__ import annotations

import minitorch_dist as torch
from minitorch_dist import distributed as dist

PROGRAM = True  # the lines that errors name are those in here
ADDRESS = "https://github.com/unslothai/unsloth-zoo/issues/967"
RANKS, CULPRITS = 4, (2,)


def train(tokens: int, counts_empty: bool) -> list[float]:
    seen = []
    for step in range(3):
        loss, norm = torch.tensor([float(tokens)]), torch.tensor([1e-11])
        if tokens or step != 1 or counts_empty:
            dist.all_reduce(loss)
        dist.all_reduce(norm)  # the bug: rank 2 comes here while the others add their losses
        seen.append(float(loss.item()))
    return seen


def hang() -> list[float]:
    return train(0 if dist.get_rank() == 2 else 5, counts_empty=False)


def repaired() -> list[float]:
    """An empty batch adds zero, but it adds."""
    return train(0 if dist.get_rank() == 2 else 5, counts_empty=True)
