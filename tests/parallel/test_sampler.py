"""DistributedSampler asks the process group, and every sample has its rank."""

from __future__ import annotations

from typing import Any

import pytest

from minitorch_dist.utils.data import DistributedSampler
from tests.parallel.models import on_ranks


@pytest.mark.parametrize("drop_last", [False, True])
@pytest.mark.parametrize("size", [1, 2, 3, 8])
def test_ranks_share_all_samples(size: int, drop_last: bool) -> None:
    def act(rank: int, size: int) -> Any:
        sampler = DistributedSampler(range(20), shuffle=True, drop_last=drop_last)  # type: ignore[arg-type]
        epochs = []
        for epoch in range(2):
            sampler.set_epoch(epoch)
            epochs.append(list(sampler))
        return epochs, len(sampler)

    found, lengths = zip(*on_ranks(size, act), strict=True)
    assert all(len(epoch) == n for epochs, n in zip(found, lengths, strict=True) for epoch in epochs)
    for epoch in range(2):
        seen = [number for epochs in found for number in epochs[epoch]]
        if drop_last:
            assert len(set(seen)) == len(seen) == 20 // size * size
        else:
            assert set(seen) == set(range(20))
            assert len(seen) == -(-20 // size) * size
    assert any(epochs[0] != epochs[1] for epochs in found)


def test_an_epoch_that_never_changes_is_warned_of() -> None:
    sampler = DistributedSampler(range(4), num_replicas=1, rank=0)  # type: ignore[arg-type]
    list(sampler)
    with pytest.warns(UserWarning, match="set_epoch"):
        list(sampler)


def test_without_a_group_there_is_nobody_to_ask() -> None:
    with pytest.raises(ValueError, match="Default process group has not been initialized"):
        DistributedSampler(range(4))  # type: ignore[arg-type]
