"""What checks measure and draw with."""

from __future__ import annotations

import minitorch_dist as torch
import minitorch_dist.distributed as dist
from minitorch_dist.distributed.mail import wire
from minitorch_dist.launching import launch
from mtd.course import lab
from transports.contract import Buffer
from transports.queue import QueueTransport


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


class Counted(QueueTransport):
    """Counts what is sent, of all ranks; not the farewells."""

    sent = 0

    def send(self, dst: int, header: bytes, payload: Buffer) -> None:
        Counted.sent += wire.decode(header).is_point_to_point
        super().send(dst, header, payload)


def test_threads_talk_over_another_transport_within_the_block() -> None:
    Counted.sent = 0
    with lab.threads_over(f"{__name__}:Counted"):
        launch(around, 3)
    assert Counted.sent == 3
    launch(around, 3)
    assert Counted.sent == 3
