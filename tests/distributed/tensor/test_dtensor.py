"""Distributed and put together again, a tensor is what it was."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import minitorch_dist as mt
import minitorch_dist.distributed as dist
from minitorch_dist.distributed.device_mesh import init_device_mesh
from minitorch_dist.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_tensor
from minitorch_dist.distributed.tensor.placements import cut, local_ranges
from minitorch_dist.launching import launch

WAYS: list[Any] = [Shard(0), Shard(1), Replicate(), Partial()]


@given(st.integers(0, 20), st.integers(1, 9))
def test_cuts_are_those_of_chunk(length: int, pieces: int) -> None:
    parts = [cut(length, pieces, n) for n in range(pieces)]
    assert [i for start, stop in parts for i in range(start, stop)] == list(range(length))
    theirs = [len(t) for t in mt.arange(length).chunk(pieces)] if length else []
    assert [stop - start for start, stop in parts if stop > start] == theirs


def test_ranges_of_nested_cuts() -> None:
    found = [local_ranges((7, 4), (2, 2), at, (Shard(0), Shard(0)))[0] for at in product(range(2), repeat=2)]
    assert [tuple(r) for r in found] == [(0, 2), (2, 4), (4, 6), (6, 7)]


@pytest.mark.parametrize("shape", [(1,), (3,), (5,), (2, 3)])
@pytest.mark.parametrize("size", [(7, 4), (2, 3), (0, 3)])
def test_from_every_placement_to_every_other(shape: tuple[int, ...], size: tuple[int, ...]) -> None:
    x = mt.tensor(np.random.default_rng(0).integers(-9, 9, size).astype(np.float64))

    def rank() -> None:
        mesh = init_device_mesh("cpu", shape)
        mine = x if dist.get_rank() == 0 else x * 0 + 77  # rank 0's values count
        for before in product(WAYS, repeat=len(shape)):
            d = distribute_tensor(mine, mesh, before)
            assert d.shape == x.shape
            assert (d.numel(), d.dim(), d.placements) == (x.numel(), 2, before)
            for after in product(WAYS, repeat=len(shape)):
                there = d.redistribute(placements=after)
                assert there.placements == after
                np.testing.assert_array_equal(there.full_tensor().numpy(), x.numpy())

    launch(rank, int(np.prod(shape)))


def test_parts_and_their_whole() -> None:
    def rank() -> tuple[list[Any], list[Any]]:
        mesh = init_device_mesh("cpu", (3,))
        d = distribute_tensor(mt.arange(8).reshape(4, 2), mesh, [Shard(0)])
        again = DTensor.from_local(d.to_local(), mesh, [Shard(0)], shape=(4, 2))
        assert mt.equal(again.full_tensor(), d.full_tensor())
        assert "placements=(Shard(dim=0),)" in repr(d)
        assert isinstance(d.clone(), DTensor)
        assert isinstance(d.detach(), DTensor)
        return d.to_local().tolist(), d.full_tensor().tolist()

    assert [part for part, _ in launch(rank, 3)] == [[[0, 1], [2, 3]], [[4, 5], [6, 7]], []]


def test_refusals() -> None:
    def rank() -> None:
        mesh = init_device_mesh("cpu", (1,))
        with pytest.raises(ValueError, match=r"must have the same length as `device_mesh\.ndim`"):
            distribute_tensor(mt.ones(2), mesh, [Shard(0), Shard(1)])
        with pytest.raises(NotImplementedError, match=r"Partial\('avg'\) is not offered"):
            Partial("avg")

    launch(rank, 1)
    assert len({Shard(0), Shard(0), Shard(1), Replicate(), Partial()}) == 4


@pytest.mark.parametrize("shape", [(1,), (2,), (3,), (5,), (8,), (2, 3)])
def test_random_numbers_are_those_that_one_rank_draws(shape: tuple[int, ...]) -> None:
    def rank() -> None:
        mesh, me = init_device_mesh("cpu", shape), dist.get_rank()
        for placements in product(WAYS[:3], repeat=len(shape)):
            for name in ("uniform_", "normal_"):
                for seed in (3, 3 + me):  # the first one's word counts
                    mt.manual_seed(3)
                    expected = getattr(mt.empty(7, 3), name)()
                    mt.manual_seed(seed)
                    getattr(mt.empty(7, 3), name)()
                    own = mt.rand(4)
                    mt.manual_seed(seed)
                    found = getattr(distribute_tensor(mt.empty(7, 3), mesh, placements), name)()
                    assert found.full_tensor().tolist() == expected.tolist()
                    assert mt.rand(4).tolist() == own.tolist(), "one's own numbers go on"
        with pytest.raises(ValueError, match="in summands"):
            distribute_tensor(mt.zeros(2), mesh, [Partial()] * len(shape)).normal_()

    launch(rank, int(np.prod(shape)))
