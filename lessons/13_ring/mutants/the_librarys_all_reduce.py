"""all_reduce by the library's all_reduce

It is right, and often needs fewer rounds than a ring. But the stack that is assembled from the lessons has no other all_reduce than
this one.

Caught by: correct
"""

import minitorch_dist.distributed as dist


def all_reduce(tensor, op=dist.ReduceOp.SUM):
    dist.all_reduce(tensor, op)
