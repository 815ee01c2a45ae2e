"""Gives itself more memory.

Refused: it may not use .__setattr__
"""


def wrapping(task):
    object.__setattr__(task, "cap", 10**12)
    return [(1, "NO_SHARD", False)] * len(task.ms)
