"""Lesson 13: every contribution once, on every rank, for the least bytes there can be."""

import ring

import minitorch_dist as torch
from minitorch_dist.course import Cost, lab, lamp
from minitorch_dist.distributed.schedules import bounds
from minitorch_dist.testing import check_collective


@lamp("right", "exactly once", "never stuck", "frozen")
def kept():
    """1 to 9 ranks; 0, 1, P-1, P, P+1 and more elements; sends that wait and sends that do not."""
    return check_collective(ring.all_reduce)


@lamp("bytes")
def bytes_sent():
    """At most 2 (P-1) ⌈n/P⌉ numbers from any rank, for every P."""
    worst = max((lab.meter(ring.all_reduce, size, 16 * size) for size in range(2, 10)), key=over)
    return Cost(worst.bytes, float(least(worst)), unit=" bytes")


def least(found):
    return bounds.least_bytes("all_reduce", found.size, 8 * found.count)


def over(found):
    return found.bytes / least(found)


@lamp("rounds")
def rounds():
    """2 (P-1) messages follow each other; fewer are possible, but not with a ring."""
    found = lab.meter(ring.all_reduce, 8, 64)
    return Cost(found.rounds, 2 * (8 - 1), unit=" rounds")


def bytes_of_a_rank():
    return lab.meter(ring.all_reduce, 4, 12).bytes


def rounds_of_eight():
    return lab.meter(ring.all_reduce, 8, 24).rounds


def picture():
    """Three ranks: 12 messages."""
    return lab.scene(lambda: ring.all_reduce(torch.ones(3)), 3)
