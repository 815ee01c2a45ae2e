"""Trains only half of the layers.

Refused: together the units have 4 layers, and the model has 8
"""


def wrapping(task):
    return [(1, "FULL_SHARD", False)] * (len(task.ms) // 2)
