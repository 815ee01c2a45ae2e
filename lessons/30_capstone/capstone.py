"""One script in seven worlds, and a check of your
own: one that would notice what none of ours does.

  alone ═══ simulator ═══ tcp ═══ file ═══ mqtt ═══ faults ═══ torch  the same weights, bit for bit

A few lines make one training of many ranks: each gradient becomes the mean of all ranks'. Here they
are, as many people write them by hand. Ours is right. Many that look like it are wrong. Most of
these are caught by the checks that you know: exact training on 1, 2, 3 and 5 ranks, and sends that
wait. Which one is not caught?
"""

from hypothesis import assume, given, strategies as st

import minitorch_dist as torch
import minitorch_dist.distributed as dist
from minitorch_dist import sim


def average(parameters):
    """Each gradient becomes the mean of all ranks'. A
    rank that has none for a parameter counts as zeros.

    Where no rank has one, it may be None or zeros
    afterwards. All else about the parameters stays as it is.
    """
    size = dist.get_world_size()
    for p in parameters:
        if p.grad is None:
            p.grad = torch.zeros_like(p)
        dist.all_reduce(p.grad)
        p.grad /= size


# BLANK 1: here is one example; write a property that no check of ours has (about 14 lines)
# `sim.run(program, size).results` has what `program()` returned on each rank. Hypothesis may
# draw the number of ranks, the gradients, and all that `average` makes no promise about.
@given(numbers=st.lists(st.none() | st.integers(-9, 9), min_size=1, max_size=4))
def property_of_mine(average, numbers):
    """Fails if this `average(parameters)` is wrong in the way
    that I have in mind: a rank may have no gradient (None).
    """
    assume(any(number is not None for number in numbers))

    def program():
        used, rare = (torch.nn.Parameter(torch.zeros(3)) for _ in range(2))
        used.grad, number = torch.ones(3), numbers[dist.get_rank()]
        if number is not None:  # only these ranks' samples came that way
            rare.grad = 12.0 * number * torch.ones(3)
        average([rare, used])
        return None if rare.grad is None else rare.grad.tolist()

    size = len(numbers)
    mean = 12.0 * sum(number or 0 for number in numbers) / size
    found = sim.run(program, size).results
    assert found == [[mean] * 3] * size, f"the mean is {mean}, and the ranks have {found}"


# INSTEAD
#| def property_of_mine(average):
#|     """Fails if this `average(parameters)` is wrong in the way that I have in mind."""
#|
#|     def program():
#|         p = torch.nn.Parameter(torch.zeros(3))
#|         p.grad = 6.0 * dist.get_rank() * torch.ones(3)
#|         average([p])
#|         return p.grad.tolist()
#|
#|     assert sim.run(program, 3).results == [[6.0] * 3] * 3
# END


def mutant_of_mine(parameters):
    """An `average` that is wrong in just this way: all
    checks of ours let it pass, and my property does not.
    """
    # BLANK 2: right, but for one thing (about 6 lines)
    size = dist.get_world_size()
    for p in parameters:
        if p.grad is not None:  # and the others wait for this rank
            dist.all_reduce(p.grad)
            p.grad /= size
    # END
