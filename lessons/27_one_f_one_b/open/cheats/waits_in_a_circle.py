"""Rank 0 waits for the first micro-batch to come back, and rank 1 for the second one to come.

Refused: wait for each other
"""

from minitorch_dist.distributed.pipelining.orders import Action, B, F


def pipeline(task):
    first = [Action(0, kind, m) for m in range(task.microbatches) for kind in (F, B)]
    turned = [1, 0, *range(2, task.microbatches)]
    second = [Action(1, F, 1), Action(1, F, 0), Action(1, B, 0), Action(1, B, 1)]
    second += [Action(1, kind, m) for m in turned[2:] for kind in (F, B)]
    empty = [[] for _ in range(task.ranks - 2)]
    return [(0, len(task.forward) - 1), (1, 1)], [first, second, *empty]
