"""Lesson 13: every contribution once, on every rank, for the least bytes there can be."""

import ring

import minitorch_dist as torch
import minitorch_dist.distributed as dist
from minitorch_dist import sim
from minitorch_dist.course import MeasuredCost, lab, lamp, real_wires, training
from minitorch_dist.testing import check_collective


@lamp("right", "exactly once", "never stuck", "frozen")
def kept():
    """1 to 9 ranks; 0, 1, P-1, P, P+1 and more elements; sends that wait and sends that do not."""
    return check_collective(ring.all_reduce)


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
    name = function.__name__
    found = check_collective(function, name, (1, 2, 3, 5, 8))
    for kind in ("right", "exactly once", "never stuck", "frozen"):
        said = found.complaints.get(kind, "")
        assert found.lamps[kind], f"{name}: {said or 'see above'}"
    return max((parts_sent(function, size) for size in (2, 3, 5, 8)), key=lambda cost: cost.ratio)


def parts_sent(function, size):
    """Parts of 4 numbers, 8 bytes each."""
    long, short = 4 * size, 4
    taken, given = (long if function is not ring.reduce_scatter else short), long
    if function is ring.all_gather:
        given = short

    def program():
        output = torch.zeros(taken, dtype=torch.float64)
        function(output, torch.ones(given, dtype=torch.float64))

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


def picture():
    """Three ranks: 12 messages."""
    return lab.scene(lambda: ring.all_reduce(torch.ones(3)), 3)
