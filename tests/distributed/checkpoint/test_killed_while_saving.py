"""kill -9 in the middle of a save: the others are told who is lost, and what was there before is loaded."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest

import minitorch_dist as torch
import minitorch_dist.distributed as dist
import minitorch_dist.distributed.checkpoint as dcp
from minitorch_dist.distributed.checkpoint import writing
from tests.distributed import nursery

pytestmark = pytest.mark.slow


def save_and_die(rank: int, target: str, victim: int, function: str) -> Any:
    """Save twice; the victim dies when the second save calls `function`."""
    mine = {f"x{rank}": torch.ones(5), "turn": 1}
    dcp.save(mine, checkpoint_id=target)
    if rank == victim:
        setattr(writing, function, lambda *_: os.kill(os.getpid(), signal.SIGKILL))
    mine = {f"x{rank}": torch.ones(5) * 2, "turn": 2}
    try:
        dcp.save(mine, checkpoint_id=target)
    except dist.PeerLost as lost:
        return lost.rank, str(lost)
    return "nothing was said"


@pytest.mark.parametrize("address", ["tcp://", "file://{0}/medium"])
def test_a_rank_that_dies_while_saving_is_named(address: str, tmp_path: Path) -> None:
    cases = [(1, "write_part"), (2, "write_part"), (0, "write_index")]
    worlds = [
        nursery.World(
            address.format(tmp_path / f"{number}"),
            3,
            save_and_die,
            (str(tmp_path / f"saved{number}"), victim, function),
        )
        for number, (victim, function) in enumerate(cases)
    ]
    for number in range(len(cases)):
        (tmp_path / f"{number}").mkdir()
    for number, results in enumerate(nursery.run(worlds, at_once=3)):
        victim = cases[number][0]
        for rank, told in enumerate(results):
            if rank == victim:
                assert told is None
                continue
            lost, words = told
            assert lost == victim, told
            assert "needs in all_gather_object" in words, words
        found: dict[str, Any] = {f"x{rank}": torch.zeros(5) for rank in range(3)} | {"turn": 0}
        dcp.load(found, checkpoint_id=tmp_path / f"saved{number}")
        assert found["turn"] == 1 and found["x2"].tolist() == [1.0] * 5
