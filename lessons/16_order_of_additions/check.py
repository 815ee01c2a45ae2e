"""Lesson 16: the same bits on every rank, every time, wherever a number stands, and near enough to the exact sum."""

from fractions import Fraction
from itertools import permutations

import numpy as np
import order

import minitorch_dist as torch
import minitorch_dist.distributed as dist
from minitorch_dist import sim
from minitorch_dist.distributed.schedules import BUILT_IN, bounds
from minitorch_dist.distributed.schedules.replay import Replay
from minitorch_dist.distributed.schedules.values import Values
from minitorch_dist.testing import check_collective
from mtd.course import MeasuredCost, lab, lamp

SIZES = (1, 2, 3, 5, 8)


@lamp("correct", "exactly once", "never stuck", "frozen")
def kept():
    """1 to 9 ranks; sends that wait and sends that do not."""
    return check_collective(order.all_reduce)


def hostile(rank, count=7):
    """Numbers of both signs with all their bits set somehow: another order of additions gives other bits."""
    random = np.random.Generator(np.random.PCG64(rank))
    numbers = random.standard_normal(count) * 10.0 ** random.integers(0, 3, count)
    return torch.tensor(numbers)


def summed(count=7):
    """The program of each rank."""
    tensor = hostile(dist.get_rank(), count)
    order.all_reduce(tensor)
    return tensor.numpy().tolist()


def first_difference(ours, theirs):
    """The first element of which the bits differ, in words."""
    for element, (one, other) in enumerate(zip(ours, theirs)):
        if one.hex() != other.hex():
            return element, one, other
    return None


@lamp("same on all", star=1)
def the_same_on_all_ranks():
    """1 to 9 ranks, numbers that round badly: no two ranks may differ by a bit."""
    for size in range(1, 10):
        results = sim.run(summed, size).results
        for rank, found in enumerate(results):
            unlike = first_difference(results[0], found)
            if unlike:
                element, zeroth, other = unlike
                raise AssertionError(
                    f"{lab.ranks(size)}, element {element}: rank 0 has {zeroth!r}, rank {rank} has {other!r}"
                )


@lamp("any schedule", star=2)
def the_same_under_any_schedule():
    """3 ranks: all orders in which messages can come. 5 and 8 ranks: 15 drawn schedules."""
    found = sim.exhaust(summed, 3)
    if len(found.results) > 1:
        one, other = found.results[:2]
        element, first, second = next(filter(None, map(first_difference, one, other)))
        raise AssertionError(
            f"3 ranks: the {found.runs} orders in which messages can come give {len(found.results)} different "
            f"results; element {element} is {first!r} or {second!r}"
        )
    for size in (5, 8):
        calm = sim.run(summed, size).results
        for seed in range(1, 16):
            again = sim.run(summed, size, seed=seed, hardships="oja").results
            unlike = next(filter(None, map(first_difference, calm, again)), None)
            assert unlike is None, (
                f"{size} ranks: element {unlike[0]} is {unlike[1]!r}, and {unlike[2]!r} when messages come in "
                f"another order (seed {seed})"
            )


@lamp("any place", star=2)
def the_same_wherever_it_stands():
    """The same numbers in every element, in tensors of several lengths: one sum."""
    for size in SIZES:

        def program(count):
            number = hostile(dist.get_rank(), 1).item()
            tensor = torch.full((count,), number, dtype=torch.float64)
            order.all_reduce(tensor)
            return tensor.tolist()

        alone = sim.run(program, size, (1,)).results[0][0]
        for count in (size, 2 * size + 1):
            for element, found in enumerate(sim.run(program, size, (count,)).results[0]):
                assert found.hex() == alone.hex(), (
                    f"{lab.ranks(size)}: the same numbers give {alone!r} in a tensor of 1 element, "
                    f"and {found!r} as element {element} of {count}"
                )


@lamp("bound", star=3)
def within_the_bound():
    """A proven one, γ Σ|x| or Rump's, for 1 to 9 ranks: your sums are within it, and it is not larger than it is."""
    for size in range(1, 10):
        results = sim.run(summed, size).results
        given = [hostile(rank) for rank in range(size)]
        allowed = order.bound(given)
        assert isinstance(allowed, torch.Tensor), f"bound() returns {allowed!r}, and not a tensor"
        allowed = allowed.tolist()
        for element in range(7):
            numbers = [Fraction(tensor.tolist()[element]) for tensor in given]
            gamma, rump = Fraction(size - 1, 2**53 - (size - 1)), Fraction(size - 1, 2**53)
            proven = gamma * sum(map(abs, numbers))
            least = rump * sum(map(abs, numbers))
            rounding = proven / 10**9  # a bound is computed in float64, too
            assert least - rounding <= Fraction(allowed[element]) <= proven + rounding, (
                f"{lab.ranks(size)}, element {element}: your bound is {allowed[element]:g}, "
                f"and γ Σ|x| is {float(proven):g}"
            )
            off = abs(Fraction(results[0][element]) - sum(numbers))
            assert off <= proven, (
                f"{lab.ranks(size)}, element {element}: the sum is off by {float(off):g}, where additions of "
                f"float64 can only be off by {float(proven):g}"
            )

    large = of_large_unit([torch.ones(1, dtype=torch.float64)] * 5)
    assert min(abs(large - 5 / 3), abs(large - 5 / 4)) < 1e-9, (
        f"with UNIT = 1/16 and 4 additions γ is 4/16 / (1 - 4/16) = 1/3, and γ Σ|x| of five ones 5/3 (Rump's nu Σ|x| is "
        f"5/4); yours is {large:.9g}"
    )


def of_large_unit(given):
    """The bound of numbers of five bits: there 1 - nu is far from 1."""
    unit = order.UNIT
    order.UNIT = 1 / 16
    try:
        return order.bound(given).item()
    finally:
        order.UNIT = unit


@lamp("bytes")
def bytes_sent():
    """At most 2 (P-1)/P of the tensor from any rank: each chunk is added in one place."""
    costs = [sent(size) for size in range(2, 10)]
    return max(costs, key=lambda cost: cost.ratio)


def sent(size):
    found = lab.meter(order.all_reduce, size, 16 * size)
    least = float(bounds.least_bytes("all_reduce", size, 8 * 16 * size))
    return MeasuredCost(
        found.bytes, least, unit=" bytes", where=f"{size} ranks, {16 * size} numbers"
    )


def sums_of_four():
    numbers = [0.1, 0.2, 0.3, 0.4]
    return len({a + b + c + d for a, b, c, d in permutations(numbers)})


def lost_ones():
    return (1e16 + 1.0 + 1.0) - 1e16


# -------------------------------------------------------------------------------- the picture

NUMBERS = (0.6, 0.7, -0.7, -0.3)


def picture():
    """The order of additions in each element of a tensor of four, and the last bits of the sum."""
    lines = ["ranks 0 to 3 give 0.6, 0.7, -0.7 and -0.3, and want the sum of all", ""]
    for element, (tree, total) in enumerate(additions(BUILT_IN["all_reduce", "ring"])):
        lines.append(row("ring" if element == 0 else "", f"element {element}", tree, total))
    for name in ("binomial", "recursive_doubling"):
        ((tree, total),) = set(additions(BUILT_IN["all_reduce", name]))
        lines += ["", row(name.replace("_", " "), "each", tree, total)]

    def program():
        tensor = torch.full((4,), NUMBERS[dist.get_rank()], dtype=torch.float64)
        order.all_reduce(tensor)
        return tensor.tolist()

    lines += ["", "yours, the last bits of elements 0 to 3"]
    for rank, totals in enumerate(sim.run(program, 4).results):
        lines.append(f"  rank {rank}  " + "  ".join(map(last_bits, totals)))
    return "\n".join(lines)


def last_bits(number):
    return "…" + f"{np.float64(number).view(np.uint64):064b}"[-6:]


def row(name, where, tree, total):
    return f"{name:<18} {where:<9}  {tree:<22} {total!r:<19} {last_bits(total)}"


def additions(schedule, size=4):
    """For each element what rank 0 has in the end: as an expression, and its value."""
    vectors = [np.array([(f"x{rank}", NUMBERS[rank])] * size, dtype=[("tree", "U60"), ("value", "f8")])
               for rank in range(size)]  # fmt: skip

    def add(left, right):
        trees = [f"({a} + {b})" for a, b in zip(left["tree"], right["tree"])]
        return np.array(list(zip(trees, left["value"] + right["value"])), dtype=left.dtype)

    values = Values(schedule, vectors, add)
    Replay(schedule, size, size, contents=values).run()
    return [(str(tree)[1:-1], float(value)) for tree, value in values.result(0)]
