"""What checks measure and draw with."""

from __future__ import annotations

import minitorch_dist as torch
import minitorch_dist.distributed as dist
from minitorch_dist.course import lab


def around() -> None:
    rank, size = dist.get_rank(), dist.get_world_size()
    work = dist.isend(torch.ones(2) * rank, (rank + 1) % size)
    dist.recv(torch.zeros(2), (rank - 1) % size)
    work.wait()


def test_a_scene_is_called_after_its_ranks() -> None:
    drawn = lab.scene(around, 3)
    assert drawn.title == "3 ranks"
    assert len(drawn.arrows) == 3


def test_a_run_that_fails_is_drawn_too() -> None:
    drawn = lab.scene(lambda: dist.recv(torch.zeros(2), 1 - dist.get_rank()), 2)
    assert drawn.title == "2 ranks"
    assert not drawn.arrows and drawn.spans
