"""Forgets the last micro-batch: less work, and wrong gradients.

Refused: goes forward 0 times
"""

from minitorch_dist.distributed.pipelining.orders import Pipe, everyones, one_forward_one_backward


def pipeline(task):
    stages = [(rank, 1) for rank in range(task.ranks - 1)]
    stages.append((task.ranks - 1, len(task.forward) - task.ranks + 1))
    return stages, everyones(one_forward_one_backward, Pipe(task.ranks, task.microbatches - 1))
