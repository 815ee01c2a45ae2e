"""Unequal stages: where do you cut, and in which order? `mtd contest 27` says how far you are from the bound.

`task` has: ranks, microbatches; forward, the ms of each layer (I and W take as long, B twice as long); megabytes, that a
layer keeps of a micro-batch from its forward F to its B or W. A rank may keep `task.cap` of them.

Return (stages, orders). A stage is (rank, number of layers): stage 0 has the first layers, and so on. A rank may have
none, one or several. orders[rank] is a list of Action(stage, kind, microbatch).
"""

from minitorch_dist.distributed.pipelining.orders import Action, B, F


def pipeline(task):
    """Equal numbers of layers, and 1F1B. It does not look at the times."""
    count = len(task.forward)
    ends = [count * rank // task.ranks for rank in range(task.ranks + 1)]
    stages = [(rank, ends[rank + 1] - ends[rank]) for rank in range(task.ranks)]
    return stages, [one_forward_one_backward(rank, task) for rank in range(task.ranks)]


def one_forward_one_backward(rank, task):
    ahead = min(task.ranks - rank, task.microbatches)
    order = [Action(rank, F, k) for k in range(ahead)]
    for k in range(task.microbatches):
        order.append(Action(rank, B, k))
        if k + ahead < task.microbatches:
            order.append(Action(rank, F, k + ahead))
    return order
