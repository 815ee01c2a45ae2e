"""A check of other people's all_reduce: it should find each mistake, and accuse nobody wrongly.

Every rank gives a label, rank r gives BASEʳ, so that a sum tells who is in it, like the digits of a number:

    three ranks give     1    64    4096
    the sum of all       4161  = 1 + 64 + 4096         each once
    and this one         8193  = 1 + 0·64 + 2·4096     rank 1 is missing, rank 2 counted twice
"""

from contextlib import nullcontext

import minitorch_dist as torch
import minitorch_dist.distributed as dist
from minitorch_dist import sim
from minitorch_dist.distributed.schedules import bounds
from minitorch_dist.testing.strictness import strict

BASE = 64  # so up to 63 times are told apart


def labels(rank, count):
    """What rank `rank` gives: `count` whole numbers."""
    # BLANK 1: its label in each element (about 1 line)
    return [BASE**rank] * count
    # END


def counts(total, size):
    """How often each of `size` ranks is in this sum of labels."""
    # BLANK 2: the digits, rank 0's first (about 1 line)
    return [total // BASE**rank % BASE for rank in range(size)]
    # END


def play(all_reduce, given, op=dist.ReduceOp.SUM, strictly=False):
    """Call `all_reduce(tensor, op)` on as many ranks as there are lists of numbers in `given`.

    Returns what each rank has then, and how many bytes the rank sent that sent most. It raises if ranks
    wait for each other for ever. `strictly`: each send waits for its receive, and it raises if somebody
    writes to what is still being sent. (Otherwise sends copy, and return at once.)
    """

    def program():
        tensor = torch.tensor(given[dist.get_rank()])
        all_reduce(tensor, op)
        return tensor.tolist()

    with strict() if strictly else nullcontext():
        report = sim.run(program, len(given), events=20_000)
    return report.results, max(rank.bytes_sent for rank in report.ranks)


def once(all_reduce, size, count, strictly=False):
    """Raise unless every element, on every rank, has every rank in it once; and say who is not."""
    given = [labels(rank, count) for rank in range(size)]
    results, _ = play(all_reduce, given, strictly=strictly)
    for rank, numbers in enumerate(results):
        for element, total in enumerate(numbers):
            times = counts(int(total), size)
            assert times == [1] * size, f"element {element} on rank {rank} {in_words(times)}"


def in_words(times):
    """`has rank 3 twice and lacks rank 0`"""
    often = {2: "twice"}
    said = [
        f"has rank {rank} {often.get(n, f'{n} times')}" for rank, n in enumerate(times) if n > 1
    ]
    said += [f"lacks rank {rank}" for rank, n in enumerate(times) if n == 0]
    return " and ".join(said)


def check(all_reduce):
    """Return if `all_reduce(tensor, op)` does what it should; raise if it does not."""
    # BLANK 3: the check (about 10 lines)
    # Whoever has only ever asked two ranks has asked nobody. What beside sums? What if sends wait? What may it cost?
    for size in (1, 2, 3, 5, 8):
        for count in (0, 1, size + 1):
            once(all_reduce, size, count)
        once(all_reduce, size, size + 1, strictly=True)
        negative = [[-1.0 - rank] for rank in range(size)]
        largest, _ = play(all_reduce, negative, dist.ReduceOp.MAX)
        assert largest == [[-1.0]] * size, (
            f"{size} ranks: the largest of {negative} is not {largest}"
        )
        _, sent = play(all_reduce, [[0.0] * 8 * size] * size)
        least = bounds.least_bytes("all_reduce", size, 4 * 8 * size)
        assert sent <= 2 * least, (
            f"{size} ranks: one sends {sent} bytes, and {float(least):g} would do"
        )
    # END
