"""Slow links between nodes. `mtd contest 19` says how far you are from the bound.

`task` has: nodes, per_node (ranks), nbytes (of each layer's gradients), ms (that backward computes for each layer), both
in the order in which backward finishes the layers. And prices: prices["ring"][100_000] is how many milliseconds an
all_reduce of 100,000 bytes takes there, alone.

Return a list of (layers, algorithm). A bucket leaves when all its gradients are there and the bucket before it has left.
Buckets are summed up one after another, while backward goes on.
"""


def buckets(task):
    """Two halves, by the ring."""
    count = len(task.nbytes)
    half = count // 2
    return [(list(range(half)), "ring"), (list(range(half, count)), "ring")]
