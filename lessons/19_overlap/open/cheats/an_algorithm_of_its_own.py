"""Names an all_reduce that does not send anything.

Refused: there is no all_reduce 'none'
"""


def buckets(task):
    return [(range(len(task.nbytes)), "none")]
