"""GPipe: all micro-batches are kept until the first backward.

Refused: MB of activations at once, and it has
"""

from minitorch_dist.distributed.pipelining.orders import Pipe, everyones, gpipe


def pipeline(task):
    count = len(task.forward)
    ends = [count * rank // task.ranks for rank in range(task.ranks + 1)]
    stages = [(rank, b - a) for rank, (a, b) in enumerate(zip(ends, ends[1:]))]
    return stages, everyones(gpipe, Pipe(task.ranks, task.microbatches))
