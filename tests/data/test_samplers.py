"""What samplers promise beyond torch: the same stream everywhere, and a word about a lost epoch."""

from __future__ import annotations

import warnings
from collections import Counter

import pytest

from minitorch_dist.tensors.generator import Generator, manual_seed
from minitorch_dist.utils.data import DistributedSampler, RandomSampler, random_split


def test_one_seed_is_one_order() -> None:
    manual_seed(1)
    first = list(RandomSampler(range(20)))
    second = list(RandomSampler(range(20)))
    manual_seed(1)
    assert list(RandomSampler(range(20))) == first != second
    parts = random_split(list(range(9)), [4, 5], Generator().manual_seed(2))  # type: ignore[arg-type]
    again = random_split(list(range(9)), [4, 5], Generator().manual_seed(2))  # type: ignore[arg-type]
    assert [p.indices for p in parts] == [p.indices for p in again]


def test_replacement_draws_evenly() -> None:
    drawn = Counter(RandomSampler(range(4), replacement=True, num_samples=4000))
    assert sorted(drawn) == [0, 1, 2, 3] and min(drawn.values()) > 900


def test_the_ranks_agree_on_the_shuffle() -> None:
    for epoch in range(3):
        ranks = [DistributedSampler(range(11), 3, rank, seed=7) for rank in range(3)]
        for sampler in ranks:
            sampler.set_epoch(epoch)
        columns = zip(*ranks, strict=True)
        whole = [number for row in columns for number in row]
        assert sorted(whole[:11]) == list(range(11)) and whole[11:] == whole[:1]
        assert whole != list(range(11)) + [0]


def test_a_second_pass_over_one_epoch_warns() -> None:
    """Row 16 of what users of torch complain about: without set_epoch, the order never changes."""
    sampler = DistributedSampler(range(6), 2, 0)
    first = list(sampler)
    with pytest.warns(UserWarning, match="set_epoch"):
        assert list(sampler) == first
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sampler.set_epoch(1)
        assert list(sampler) != first
        still = DistributedSampler(range(6), 2, 0, shuffle=False)
        assert list(still) == list(still) == [0, 2, 4]


def test_without_process_groups_ranks_must_be_named() -> None:
    with pytest.raises(ValueError, match="pass num_replicas= and rank="):
        DistributedSampler(range(6))
