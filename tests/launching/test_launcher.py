"""torchrun as a function."""

from __future__ import annotations

import pytest

from minitorch_dist.distributed.elastic.multiprocessing.errors import ChildFailedError
from minitorch_dist.distributed.launcher import LaunchConfig, elastic_launch
from tests.launching import acts


def config(workers: int, restarts: int = 0) -> LaunchConfig:
    return LaunchConfig(1, 1, workers, max_restarts=restarts, role="trainer")


def test_results_come_by_rank() -> None:
    assert elastic_launch(config(3), acts.who)("hello") == {
        rank: ("hello", str(rank), "3", "trainer") for rank in range(3)
    }


def test_a_failure_is_raised_with_its_traceback() -> None:
    with pytest.raises(ChildFailedError, match="ZeroDivisionError") as caught:
        elastic_launch(config(2), acts.divide)(0)
    rank, failure = caught.value.get_first_failure()
    assert rank == failure.rank == failure.local_rank and failure.exitcode == 1
    assert "in divide" in str(caught.value)


def test_a_second_try_may_succeed() -> None:
    assert elastic_launch(config(1, restarts=2), acts.succeed_at)(2) == {0: 2}


def test_a_program() -> None:
    assert elastic_launch(config(2), "true")() == {}
    with pytest.raises(ChildFailedError, match="exit code 1"):
        elastic_launch(config(1), "false")()
    with pytest.raises(ValueError, match="not offered"):
        elastic_launch(LaunchConfig(1, 1, 1, rdzv_backend="zeus"), "true")()
