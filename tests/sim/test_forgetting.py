"""A collective call that is over keeps none of the arrays that it was given: their memory can be freed."""

import weakref

import numpy as np
import pytest

import minitorch_dist as torch
import minitorch_dist.distributed as dist
from minitorch_dist import sim


def broadcast(own, rank, size):
    dist.broadcast(own[0], src=0)


def reduce(own, rank, size):
    dist.reduce(own[0], dst=0)


def all_reduce(own, rank, size):
    dist.all_reduce(own[0])


def gather(own, rank, size):
    dist.gather(own[0], own[1:] if rank == 0 else None, dst=0)


def scatter(own, rank, size):
    dist.scatter(own[0], own[1:] if rank == 0 else None, src=0)


def all_gather(own, rank, size):
    dist.all_gather(own[1:], own[0])


def reduce_scatter(own, rank, size):
    dist.reduce_scatter(own[0], own[1:])


def all_to_all(own, rank, size):
    dist.all_to_all([torch.zeros(4) for _ in range(size)], own[1:])


@pytest.mark.parametrize("size", [1, 2, 3, 5])
@pytest.mark.parametrize(
    "call", [broadcast, reduce, all_reduce, gather, scatter, all_gather, reduce_scatter, all_to_all]
)
def test_nothing_is_kept(call, size) -> None:
    def program():
        arrays = [np.ones(4, np.float32) for _ in range(1 + size)]
        watched = [weakref.ref(array) for array in arrays]
        call([torch.from_numpy(array) for array in arrays], dist.get_rank(), size)
        del arrays
        dist.barrier()  # all messages have arrived
        return [ref() is None for ref in watched]

    for freed in sim.run(program, size).results:
        assert all(freed), f"{call.__name__} keeps {freed.count(False)} of {len(freed)} arrays"
