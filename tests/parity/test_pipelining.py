"""Our orders are torch's: which rank computes what after what."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from minitorch_dist.distributed.pipelining import orders
from minitorch_dist.distributed.pipelining.orders import Pipe

theirs = pytest.importorskip("torch.distributed.pipelining.schedules")


def torchs(cls: Any, rank: int, pipe: Pipe) -> list[str]:
    """torch's order, without its idle steps, asked of an object that knows only the numbers."""
    rounds = max(1, pipe.microbatches // pipe.ranks)
    numbers = SimpleNamespace(
        n_local_stages=pipe.local,
        pp_group_size=pipe.ranks,
        _n_microbatches=pipe.microbatches,
        microbatches_per_round=pipe.microbatches // rounds,
        _stages=[None] * pipe.local,
        num_stages=pipe.stages,
    )
    found = cls._calculate_single_rank_operations(numbers, rank)
    each = [action.sub_actions or [action] for action in found if action is not None]
    return [str(action) for several in each for action in several]


@pytest.mark.parametrize(
    ("name", "make", "local"),
    [
        ("ScheduleLoopedBFS", orders.looped_breadth_first, 3),
        ("ScheduleInterleaved1F1B", orders.interleaved, 2),
        ("ScheduleInterleaved1F1B", orders.interleaved, 3),
        ("ScheduleInterleavedZeroBubble", orders.interleaved_zero_bubble, 2),
        ("ScheduleInterleavedZeroBubble", orders.interleaved_zero_bubble, 3),
    ],
)
def test_orders(name: str, make: orders.Make, local: int) -> None:
    cls = getattr(theirs, name)
    for ranks in (1, 2, 3, 5, 8):
        for factor in (1, 2, 3):
            pipe = Pipe(ranks, factor * ranks, local)
            for rank in range(ranks):
                mine = [str(action) for action in make(rank, pipe)]
                assert mine == torchs(cls, rank, pipe), (pipe, rank)


def test_where_stages_lie() -> None:
    for ranks, local in ((1, 2), (2, 2), (3, 2), (4, 3), (5, 1)):
        found = theirs.generate_rank_to_stage_mapping(ranks, ranks * local, style="loop")
        pipe = Pipe(ranks, 1, local)
        assert {rank: pipe.stages_of(rank) for rank in range(ranks)} == found
