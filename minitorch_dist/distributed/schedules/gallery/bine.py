"""Bine trees: binomial trees over negabinary numbers, whose edges are a third shorter.

    size 8, edges from rank 0      binomial     4, 2, 1
                                   bine         3, -1, 1

    0 ─► 3                     round 1
    0 ─► 7     3 ─► 4          round 2
    0 ─► 1     3 ─► 2     7 ─► 6     4 ─► 5

A rank's number is written with the base -2. A rank that has the data hands them to the rank whose last k digits are
the opposite. At first k is lg p, and it is one less in each round. So ranks that are near get their data from near ones, and fewer
messages cross between groups of a network.

                  rounds    bytes a rank sends       total messages
    broadcast     lg p      n lg p at the root       p-1
    reduce        lg p      n                        p-1

For powers of two. The paper's all_reduce of long vectors is Swing's. That of short ones swaps whole vectors with partners at
the same distances. It is not here, because each rank would add in an order of its own, and the last bits would differ.

Source: D. De Sensi, S. Pichetti, F. Vella, T. De Matteis, Z. Ren, L. Fusco, M. Turisini, D. Cesarini, K. Lust, A. Trivedi,
D. Roweth, F. Spiga, S. Di Girolamo, T. Hoefler, Bine trees: enhancing collective operations by optimizing communication
locality, SC 2025, arXiv:2508.17311.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from minitorch_dist.distributed.schedules import powers
from minitorch_dist.distributed.schedules.schedule import powers_of_two, schedule, single
from minitorch_dist.distributed.schedules.steps import Mask, Rank, Receive, Send, Steps

ALTERNATING = 0xAAAA_AAAA  # the digits with negative weight


def negabinary(number: Any, size: int) -> Any:
    """The digits of a number modulo `size` with the base -2, as bits."""
    return ((number + ALTERNATING) ^ ALTERNATING) & (size - 1)


def plain(digits: Any, size: int) -> Any:
    return ((digits ^ ALTERNATING) - ALTERNATING) % size


def edges(rank: Rank, size: int, root: int) -> Iterator[tuple[Rank, Mask, Mask]]:
    """The longest first: the rank at the other end, and masks of the parents and the children."""
    number = negabinary((rank - root) % size, size)
    has_it = number == 0
    for digits in reversed(range(1, powers.rounds(size) + 1)):
        last = (1 << digits) - 1
        are_alike = (number & last == 0) | (number & last == last)
        yield (plain(number ^ last, size) + root) % size, has_it, are_alike & (has_it == 0)
        has_it = are_alike


@schedule(chunks=single, domain=powers_of_two)
def broadcast(rank: Rank, size: int, root: int = 0) -> Steps:
    for other, is_parent, is_child in edges(rank, size, root):
        yield Send(other, 0, only=is_parent)
        yield Receive(other, 0, only=is_child)


@schedule(chunks=single, domain=powers_of_two)
def reduce(rank: Rank, size: int, root: int = 0) -> Steps:
    for other, is_parent, is_child in reversed([*edges(rank, size, root)]):
        yield Send(other, 0, only=is_child)
        yield Receive(other, 0, reduce=True, only=is_parent)
