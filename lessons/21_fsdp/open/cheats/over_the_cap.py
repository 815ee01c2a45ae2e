"""Everything everywhere, and nothing computed again: it is the fastest, and it does not fit.

Refused: and that is too little: CUDA out of memory
"""


def wrapping(task):
    return [(1, "NO_SHARD", False)] * len(task.ms)
