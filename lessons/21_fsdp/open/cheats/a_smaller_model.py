"""Trains only half of the layers.

Refused: layers, each at least one, and there are
"""


def wrapping(task):
    return [(1, "FULL_SHARD", False)] * (len(task.ms) // 2)
