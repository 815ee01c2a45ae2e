"""Scenes that are drawn again and again."""

from __future__ import annotations

from minitorch_dist.pictures.scene import COMPUTE, OPERATION, TRANSFER, WAIT, Arrow, LaneSpan, Moment, Scene


def ping(nbytes: int = 64, lost: bool = False) -> Scene:
    """Rank 0 computes and sends; rank 1 waits, then has it."""
    return Scene(
        "ping",
        ["rank 0", "rank 1"],
        [
            LaneSpan(0, 0, 40, COMPUTE, "", "", "rank 0 computes"),
            LaneSpan(0, 40, 60, OPERATION, "send", "g", "a <send>", failed=lost),
            LaneSpan(1, 0, 40, WAIT, "send", "g", "rank 1 waits"),
            LaneSpan(1, 40, 80, TRANSFER, "send", "g", "on its way"),
            LaneSpan(1, 80, 100, OPERATION, "broadcast", "h", "beside it", is_beside=True),
        ],
        [Arrow(0, 1, 40, 80, nbytes, "send", "g", "rank 0 sends", not lost)],
        [Moment(40, 0, "rank 0 sends", "send", 0), Moment(80, 1, "rank 1 receives", "receive", 1)],
        {1: [(80, nbytes), (90, 0)]},
        "bytes nobody had taken",
        True,
    )


def empty() -> Scene:
    return Scene("nothing", [])
