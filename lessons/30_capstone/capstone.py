"""One script in seven worlds, and a check of your own: one that would notice what none of ours does.

    alone ═══ simulator ═══ tcp ═══ file ═══ mqtt ═══ faults ═══ torch        the same weights, bit for bit

A few lines make one training of many ranks: each gradient becomes the mean of all ranks'. Here they are, as many
people write them by hand. Ours is right. Many that look like it are wrong. Most of these are caught by the checks that you
know: exact training on 1, 2, 3 and 5 ranks, and sends that wait. Which one is not caught?
"""

import minitorch_dist as torch
import minitorch_dist.distributed as dist
from minitorch_dist import sim


def average(parameters):
    """Each gradient becomes the mean of all ranks'. A rank that has none for a parameter counts as zeros.

    Where no rank has one, it may be None or zeros afterwards. All else about the parameters stays as it is.
    """
    size = dist.get_world_size()
    for p in parameters:
        if p.grad is None:
            p.grad = torch.zeros_like(p)
        dist.all_reduce(p.grad)
        p.grad /= size


def property_of_mine(average):
    """Raises if this `average(parameters)` is wrong in the way that I have in mind."""

    # BLANK 1: a property that no check of ours has (about 8 lines)
    # `sim.run(program, size).results` has what `program()` returned on each rank. A parameter is made by
    # `torch.nn.Parameter(torch.zeros(3))`, and its gradient may be set: `p.grad = torch.ones(3)`.
    def program():
        used, rare = (torch.nn.Parameter(torch.zeros(3)) for _ in range(2))
        used.grad = torch.ones(3)
        if dist.get_rank() == 0:  # only this rank's samples came that way
            rare.grad = 6 * torch.ones(3)
        average([rare, used])
        return rare.grad.tolist()

    for size in (1, 2, 3):
        found = sim.run(program, size).results
        assert found == [[6 / size] * 3] * size, (
            f"a gradient that rank 0 alone has, 6: {found} on {size} ranks"
        )
    # END


def mutant_of_mine(parameters):
    """An `average` that is wrong in just this way: all checks of ours let it pass, and my property does not."""
    # BLANK 2: right, but for one thing (about 6 lines)
    size = dist.get_world_size()
    for p in parameters:
        if p.grad is not None:  # and the others wait for this rank
            dist.all_reduce(p.grad)
            p.grad /= size
    # END
