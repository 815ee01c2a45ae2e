"""Up the tree of lesson 11 and down again: lazy, right, and twice the rounds.

Caught by: rounds
Passes: numbers, ranks, fold in, fold out, correct, exactly once, never stuck, any P, trains
"""

from tree import broadcast, reduce


def number_of(rank, size):
    rest = size - (1 << (size.bit_length() - 1))
    if rank >= 2 * rest:
        return rank - rest
    return rank // 2 if rank % 2 else None


def rank_of(number, size):
    rest = size - (1 << (size.bit_length() - 1))
    return 2 * number + 1 if number < rest else number + rest


def all_reduce(tensor):
    reduce(tensor, 0)
    broadcast(tensor, 0)


rabenseifner = all_reduce
