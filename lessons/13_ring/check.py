"""Lesson 13: every contribution once, on every rank, for the least bytes there can be."""

import ring

import minitorch_dist as torch
from minitorch_dist.course import MeasuredCost, lab, lamp, training
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


def bytes_of_a_rank():
    return lab.meter(ring.all_reduce, 4, 12).bytes


def rounds_of_eight():
    return lab.meter(ring.all_reduce, 8, 24).rounds


def picture():
    """Three ranks: 12 messages."""
    return lab.scene(lambda: ring.all_reduce(torch.ones(3)), 3)
