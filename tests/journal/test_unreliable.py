"""Where the network loses, doubles and overtakes messages, a journal still knows which is which."""

from __future__ import annotations

from pathlib import Path

import pytest

import minitorch_dist as torch
from minitorch_dist import distributed as dist, sim
from transports.faults.plans import Fault

SENT = 6


def letters(received: int) -> list[int]:
    """Rank 0 sends the numbers 0, 1, …; what rank 1 gets of them, in order."""
    if dist.get_rank() == 0:
        for number in range(SENT):
            dist.send(torch.full((2,), float(number)), 1)
            sim.compute("1ms")
        return []
    found = []
    for _ in range(received):
        into = torch.empty(2)
        dist.recv(into, 0)
        found.append(int(into[0]))
    return found


@pytest.mark.parametrize(
    ("faults", "received"),
    [
        ([sim.drop(src=0, number=0)], [1, 2, 3, 4, 5]),
        ([sim.drop(src=0, number=1), sim.drop(src=0, number=4)], [0, 2, 3, 5]),
        ([sim.duplicate(src=0, number=2)], [0, 1, 2, 2, 3, 4, 5]),
        ([sim.reorder(1.0, "2.5ms", src=0, number=1)], [0, 2, 3, 1, 4, 5]),
    ],
)
def test_which_message_was_received(faults: list[Fault], received: list[int], tmp_path: Path) -> None:
    plan = sim.Plan(tuple(faults), reliable=False)
    run = sim.run(letters, 2, (len(received),), faults=plan, journal=tmp_path / "run.mtd")
    assert run.results[1] == received
    messages = [m for m in run.journal.messages if m.send.is_point_to_point]
    assert len(messages) == SENT
    for number, message in enumerate(messages):
        assert (message.receive is not None) == (number in received)
    came = sorted((m.arrived, n) for n, m in enumerate(messages) if m.receive is not None)
    assert [number for _, number in came] == list(dict.fromkeys(received))
