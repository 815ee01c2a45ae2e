"""Early stopping by a metric that each rank computes for itself.

Symptom: "training hangs in the end while calling dist.barrier()". One rank has seen enough, leaves
the loop and waits for the others, which go on training and wait for it.
"""

from __future__ import annotations

import minitorch_dist as torch
from minitorch_dist import distributed as dist

PROGRAM = True  # the lines that errors name are those in here
ADDRESS = "https://github.com/huggingface/transformers/issues/17478"
RANKS, CULPRITS = 4, (3,)


def train(metrics: list[float], together: bool) -> int:
    gradient = torch.ones(10)
    epochs = 0
    for metric in metrics:
        epochs += 1
        dist.all_reduce(gradient)
        seen = torch.tensor([metric])
        if together:
            dist.all_reduce(seen, op=dist.ReduceOp.AVG)
        if float(seen.item()) > 0.9:
            break
    dist.barrier()  # the bug: one comes here earlier
    return epochs


def metrics() -> list[float]:
    return [0.5, 0.7, 0.95, 0.99] if dist.get_rank() == 3 else [0.5, 0.7, 0.8, 0.95]


def hang() -> int:
    return train(metrics(), together=False)


def repaired() -> int:
    return train(metrics(), together=True)
