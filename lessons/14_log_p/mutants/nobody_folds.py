"""A partner that does not exist is left out.

Right for 2, 4, 8 ranks. With six, rank 2 never hears of ranks 4 and 5: partner 6 would have brought them. A barrier had this
mistake: a rank could leave before others had come.

Caught by: numbers, correct, exactly once, any P
Passes: ranks, fold in, fold out
Seen: https://github.com/meta-pytorch/torchcomms/pull/3213
"""

from ring import COMBINE

import minitorch_dist as torch
import minitorch_dist.distributed as dist


def number_of(rank, size):
    return rank


def rank_of(number, size):
    return number


def all_reduce(tensor, op=dist.ReduceOp.SUM):
    rank, size = dist.get_rank(), dist.get_world_size()
    for bit in range((size - 1).bit_length()):
        partner = rank ^ (1 << bit)
        if partner >= size:
            continue
        received = torch.empty_like(tensor)
        work = dist.isend(tensor, partner)
        dist.recv(received, partner)
        work.wait()
        tensor.copy_(COMBINE[op](tensor, received))


def rabenseifner(tensor, op=dist.ReduceOp.SUM):
    all_reduce(tensor, op)
