"""Lesson 13: every contribution once, on every rank, for the least bytes there can be."""

from collections import Counter
from contextlib import contextmanager, suppress
from unittest.mock import patch

import ring

import minitorch_dist as torch
import minitorch_dist.distributed as dist
from minitorch_dist import sim
from minitorch_dist.testing import check_collective
from minitorch_dist.testing.collectives import replaying
from mtd.course import MeasuredCost, lab, lamp, real_wires, training

COLLECTIVES = (
    "all_gather", "all_gather_into_tensor", "all_gather_object", "all_reduce", "all_to_all", "all_to_all_single",
    "broadcast", "gather", "reduce", "reduce_scatter", "reduce_scatter_tensor", "scatter",
)  # fmt: skip


@lamp("correct", "exactly once", "never stuck", "frozen")
def kept():
    """1 to 9 ranks; 0, 1, P-1, P, P+1 and more elements; sends that wait and sends that do not."""
    found = check_collective(ring.all_reduce)
    all_runs = found.bytes is not None  # and not only that of a token
    if all_runs and not found.complaints:
        with without_collectives(ring.all_reduce):
            sim.run(lambda: ring.all_reduce(torch.ones(4)), 3)
    return found


@lamp("first half")
def first_half():
    """When every rank has sent P-1 messages, each chunk's sum is finished somewhere: 2, 3 and 5 ranks."""
    for size in (2, 3, 5):
        held = halfway(size)
        for chunk, numbers in enumerate(zip(*held)):
            assert sum((size + chunk) * 64**rank for rank in range(size)) in numbers, (
                f"{lab.ranks(size)}: after {size - 1} messages from each nobody has the sum of chunk {chunk}: "
                + ", ".join(
                    f"rank {rank} has {in_it(number, size, chunk)}"
                    for rank, number in enumerate(numbers)
                )
            )


def halfway(size):
    """Rank r gives (size + c) * 64**r in chunk c: what each rank has when it would send its message number P."""
    sent, isend = Counter(), dist.isend

    def counted(tensor, dst, *arguments, **named):
        sent[dist.get_rank()] += 1
        if sent[dist.get_rank()] == size:
            raise Halfway
        return isend(tensor, dst, *arguments, **named)

    def program():
        labels = [(size + chunk) * 64.0 ** dist.get_rank() for chunk in range(size)]
        tensor = torch.tensor(labels, dtype=torch.float64)
        with suppress(Halfway):
            try:
                ring.all_reduce(tensor)
            except NotImplementedError:  # the second half is still to be written
                if not sent[dist.get_rank()]:
                    raise
        return tensor.tolist()

    with patch.object(dist, "isend", counted):
        return sim.run(program, size).results


class Halfway(Exception):
    """The first half is over."""


def in_it(number, size, chunk):
    """Whose numbers are in a sum, and how often, from its digits in base 64: lesson 12's labels."""
    digits = {rank: int(number) // 64**rank % 64 for rank in range(size)}
    return (
        " + ".join(named(rank, digit, size, chunk) for rank, digit in digits.items() if digit)
        or "nothing"
    )


def named(rank, digit, size, chunk):
    """One rank's part of a sum that should hold its numbers of this chunk, once."""
    if digit % (size + chunk) == 0:
        return f"{digit // (size + chunk)}·" * (digit > size + chunk) + f"rank {rank}'s"
    return (
        f"rank {rank}'s of chunk {digit - size}"
        if digit < 2 * size
        else f"several of rank {rank}'s"
    )


@lamp("trains", star=2)
def your_ring_runs_ddp():
    """1, 2, 3 and 5 ranks end with the weights of one, bit for bit."""
    training.with_ddp(ring.all_reduce)


@lamp("bytes")
def bytes_sent():
    """At most 2 (P-1) ⌈n/P⌉ numbers from any rank, whether P divides n or not."""
    costs = [sent(size, count) for size in range(2, 10) for count in (1, 2 * size + 1, 16 * size)]
    return max(costs, key=lambda cost: cost.ratio)


def sent(size, count):
    found = lab.meter(ring.all_reduce, size, count)
    least = 2 * (size - 1) * -(-count // size) * 8
    return MeasuredCost(found.bytes, least, unit=" bytes", where=f"{size} ranks, {count} numbers")


@lamp("rounds")
def rounds():
    """2 (P-1) messages follow each other; fewer are possible, but not with a ring."""
    found = lab.meter(ring.all_reduce, 8, 64)
    return MeasuredCost(found.rounds, 2 * (8 - 1), unit=" rounds", where="8 ranks")


@lamp("all_gather", star=2)
def gathers():
    """Right, never stuck and frozen on 1, 2, 3, 5 and 8 ranks. A rank sends P-1 parts, and so does everybody."""
    return of_your_own(ring.all_gather)


@lamp("reduce_scatter", star=2)
def scatters():
    """The same. The given tensor stays as it is, and a rank sends P-1 parts."""
    for size in (1, 2, 3, 5, 8):
        sim.run(leaves_what_is_given, size)
    return of_your_own(ring.reduce_scatter)


@lamp("all_to_all", star=2)
def transposes():
    """The same. A rank sends each other rank its part, and nothing else: P-1 parts."""
    return of_your_own(ring.all_to_all)


def of_your_own(function):
    """AssertionError where it is wrong; else what its busiest rank sends."""
    with without_collectives(function):
        for size in (1, 3):
            sim.run(lambda: writes_all_of(function), size)
    found = check_collective(function, function.__name__, (1, 2, 3, 5, 8))
    for kind, said in found.complaints.items():
        if kind in found.tokens:  # the picture is of the last run: make this one again
            with replaying(found.tokens[kind]):
                check_collective(function, function.__name__)
        raise AssertionError(said)
    return max((parts_sent(function, size) for size in (2, 3, 5, 8)), key=lambda cost: cost.ratio)


def called(function, before):
    """The output of a call with parts of 4 numbers, which was full of `before`."""
    long, short = 4 * dist.get_world_size(), 4
    taken = short if function is ring.reduce_scatter else long
    given = short if function is ring.all_gather else long
    output = torch.full((taken,), before, dtype=torch.float64)
    function(output, torch.ones(given, dtype=torch.float64))
    return output


@contextmanager
def without_collectives(function):
    """In `function` the library's own would do the whole work, and the stack of the lessons has none."""

    def refusing(name):
        def refuse(*arguments, **named):
            raise AssertionError(
                f"your {function.__name__} calls dist.{name}, which is the library's: write yours with dist.isend and "
                "dist.recv"
            )

        return refuse

    kept = {name: getattr(dist, name) for name in COLLECTIVES}
    try:
        for name in kept:
            setattr(dist, name, refusing(name))
        yield
    finally:
        for name, function in kept.items():
            setattr(dist, name, function)


def writes_all_of(function):
    """No part of the output is as it was before the call."""
    output = called(function, before=-77.0).tolist()
    left = [element for element, number in enumerate(output) if number == -77.0]
    assert not left, (
        f"{lab.ranks(dist.get_world_size())}, parts of 4 numbers: on rank {dist.get_rank()} {function.__name__} does not write into "
        f"output[{left[0]}]. Write with copy_ into it or into a view of it; after an `=` the name stands for another tensor"
    )


def parts_sent(function, size):
    """Parts of 4 numbers, 8 bytes each."""

    def program():
        called(function, before=0.0)

    sent = max(rank.bytes_sent for rank in sim.run(program, size).ranks)
    return MeasuredCost(
        sent, (size - 1) * 4 * 8, unit=" bytes", where=f"{size} ranks, parts of 32 bytes"
    )


def leaves_what_is_given():
    given = torch.arange(3 * dist.get_world_size(), dtype=torch.float64)
    before = given.tolist()
    ring.reduce_scatter(torch.zeros(3, dtype=torch.float64), given)
    assert given.tolist() == before, (
        f"reduce_scatter was given {before}, and afterwards that is {given.tolist()}"
    )


@lamp("real wire", star=3, processes=True)
def real_wire():
    """Your file in three processes, over tcp, over a folder, over mqtt: each result is the simulator's, bit for bit."""
    real_wires.demand(__file__)


def bytes_of_a_rank():
    return lab.meter(ring.all_reduce, 4, 12).bytes


def rounds_of_eight():
    return lab.meter(ring.all_reduce, 8, 24).rounds


FILLS = {
    name: (getattr(ring, name), name)
    for name in ("all_reduce", "all_gather", "reduce_scatter", "all_to_all")
}


def picture():
    """Three ranks: 12 messages."""
    return lab.scene(lambda: ring.all_reduce(torch.ones(3)), 3)
