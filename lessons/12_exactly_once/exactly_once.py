"""A property of other people's all_reduce: it should find each mistake, and accept each right one.

Every rank gives a label for each element. For a tensor of one element, rank r
gives BASEʳ. Then a sum tells which ranks are in it, like the digits of a number:

    three ranks give     1    64    4096
    the sum of all       4161  = 1 + 64 + 4096         each once
    and this one         8193  = 1 + 0·64 + 2·4096     rank 1 is missing, rank 2 counted twice

The elements must differ, too, or a sum in a wrong place would not be
seen. Of n elements, rank r gives (n + e)·BASEʳ in element e: a digit
between n and 2n - 1 is one label, and says from which element it came.
"""

from contextlib import nullcontext

from hypothesis import given, strategies as st

import minitorch_dist as torch
import minitorch_dist.distributed as dist
from minitorch_dist import sim
from minitorch_dist.distributed.schedules import bounds
from minitorch_dist.testing.strictness import strict

BASE = 64  # so up to 63 times are told apart


def labels(rank, count):
    """The numbers of rank `rank`: `count` whole numbers, (count + e) · BASEʳ in element e."""
    # BLANK 1: its label in each element (about 1 line)
    return [(count + element) * BASE**rank for element in range(count)]
    # END


def counts(total, size):
    """The digits of this sum of labels, one for each of `size` ranks."""
    # BLANK 2: the digits, rank 0's first (about 1 line)
    return [total // BASE**rank % BASE for rank in range(size)]
    # END


def play(all_reduce, given, op=dist.ReduceOp.SUM, strictly=False, seed=0):
    """Call `all_reduce(tensor, op)` on as many ranks as there are lists of numbers in `given`.

    Returns what each rank has then, and how many bytes the rank sent that sent most. It raises if
    ranks wait for each other for ever. `strictly`: each send waits for its receive, and it raises
    if somebody writes to what is still being sent. (Otherwise sends copy, and return at once.) Each
    `seed` is another order in which messages arrive.
    """

    def program():
        tensor = torch.tensor(given[dist.get_rank()])
        all_reduce(tensor, op)
        return tensor.tolist()

    with strict() if strictly else nullcontext():
        late = "oj" if seed else ""
        report = sim.run(program, len(given), events=20_000, seed=seed, hardships=late)
    return report.results, max(rank.bytes_sent for rank in report.ranks)


def once(all_reduce, size, count, strictly=False, seed=0):
    """Raise unless every element, on every rank, has the same
    element of every rank in it once; and say what is wrong.
    """
    given = [labels(rank, count) for rank in range(size)]
    results, _ = play(all_reduce, given, strictly=strictly, seed=seed)
    for rank, numbers in enumerate(results):
        for element, total in enumerate(numbers):
            digits, due = counts(int(total), size), count + element
            assert digits == [due] * size, (
                f"element {element} on rank {rank} {in_words(digits, due, count)}"
            )


def in_words(digits, due=1, count=1):
    """`has rank 3 twice and lacks rank 0`; `due` is the
    label that each rank gave, of one of `count` elements.
    """
    said = []
    if len({*digits}) == 1 and count <= digits[0] < 2 * count:
        return f"is the sum of element {digits[0] - count}"
    for rank, digit in enumerate(digits):
        times, rest = divmod(digit, due)
        if count <= digit < 2 * count and rest + times != 1:
            said.append(f"has rank {rank}'s element {digit - count}")
        elif digit and rest:
            said.append(f"has several elements of rank {rank}")
        elif times > 1:
            said.append(f"has rank {rank} {'twice' if times == 2 else f'{times} times'}")
    said += [f"lacks rank {rank}" for rank, digit in enumerate(digits) if digit == 0]
    return " and ".join(said)


# BLANK 3: here is one example; make it a property of every all_reduce that is right (about 16 lines)
# Let @given draw the ranks, the elements, the seed. What
# beside sums? What if sends wait? What may it cost?
@given(
    size=st.integers(1, 8),
    count=st.integers(0, 9),
    seed=st.integers(0, 3),
    strictly=st.booleans(),
)
def property_of_all_reduce(all_reduce, size, count, seed, strictly):
    """Fails if this `all_reduce(tensor, op)` is wrong."""
    once(all_reduce, size, count, strictly, seed)
    once(all_reduce, size, size, seed=seed)  # as many elements as ranks
    largest, _ = play(all_reduce, [[-1.0 - rank] for rank in range(size)], dist.ReduceOp.MAX)
    assert largest == [[-1.0]] * size, f"the largest of -1, -2, … is not {largest}"
    _, sent = play(all_reduce, [[0.0] * 8 * size] * size)
    least = bounds.least_bytes("all_reduce", size, 4 * 8 * size)
    assert sent <= 2 * least, f"one rank sends {sent} bytes, and {float(least):g} would do"


# INSTEAD
#| def property_of_all_reduce(all_reduce):
#|     """Fails if this `all_reduce(tensor, op)` is wrong."""
#|     results, _ = play(all_reduce, [[1.0, 2.0], [10.0, 20.0]])
#|     assert results == [[11.0, 22.0]] * 2
# END
