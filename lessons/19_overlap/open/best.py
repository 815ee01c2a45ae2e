"""Our best answer: for each layer, the earliest moment when all gradients up to it are summed up.

The last bucket before that moment begins at some layer; the best way to reach that layer is known already. So the best
cuts are found from the front (dynamic programming), each bucket with the algorithm that is fastest for its bytes.
"""

from bisect import bisect_left
from itertools import accumulate


def buckets(task):
    ready = [0, *accumulate(task.ms)]
    done, cut = (
        [0.0],
        [None],
    )  # when the first `end` layers are done; where their last bucket begins
    for end in range(1, len(ready)):
        choices = []
        for begin in range(end):
            ms, name = cheapest(task, sum(task.nbytes[begin:end]))
            choices.append((max(done[begin], ready[end]) + ms, begin, name))
        best = min(choices)
        done.append(best[0])
        cut.append(best[1:])
    made, end = [], len(ready) - 1
    while end:
        begin, name = cut[end]
        made.append((list(range(begin, end)), name))
        end = begin
    return made[::-1]


def cheapest(task, nbytes):
    return min((between(table, nbytes), name) for name, table in task.prices.items())


def between(table, nbytes):
    """On the line through the two nearest prices."""
    sizes = sorted(table)
    at = min(max(bisect_left(sizes, nbytes), 1), len(sizes) - 1)
    low, high = sizes[at - 1], sizes[at]
    return table[low] + (table[high] - table[low]) * (nbytes - low) / (high - low)
