"""pytest's fixture for tests of PyTorch programs."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.distributed as dist
from hypothesis import HealthCheck, given, settings, strategies

from minitorch_dist.distributed.exceptions import DistMismatch
from tests.pytorch import programs


def _sum(of: float) -> float:
    tensor = torch.full((2,), of)
    dist.all_reduce(tensor)
    return float(tensor[0])


@pytest.mark.parametrize("size", [1, 2, 5])
def test_a_function_runs_on_ranks_that_have_a_group(ranks: Any, size: int) -> None:
    assert ranks(size).run(_sum, 2.0) == [2.0 * size] * size


def test_a_function_may_make_its_group_itself(ranks: Any) -> None:
    def own() -> int:
        dist.init_process_group("gloo")
        return dist.get_world_size()

    assert ranks(3, group=False).run(own) == [3] * 3


@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(size=strategies.sampled_from([2, 3, 5]), seed=strategies.integers(0, 99))
def test_ddp_gives_what_one_rank_gives_also_when_messages_are_lost(ranks: Any, size: int, seed: int) -> None:
    ranks(size, faults=["drop=0.2"], seed=seed).same_as_one(programs.train_ddp, rtol=1e-5, atol=1e-7)


def test_what_differs_from_one_rank_is_told(ranks: Any) -> None:
    with pytest.raises(AssertionError, match="rank 0 of 3 differs from one rank alone"):
        ranks(3).same_as_one(_sum, 1.0)


def test_an_error_of_a_rank_comes_out(ranks: Any) -> None:
    def other_shapes() -> None:
        dist.all_reduce(torch.ones(1 + dist.get_rank()))

    with pytest.raises(DistMismatch):
        ranks(2).run(other_shapes)
