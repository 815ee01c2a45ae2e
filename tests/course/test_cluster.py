"""Machines that die, stand still and come back: what a program sees of it."""

from __future__ import annotations

from typing import Any

import pytest

from mtd.course import elastic
from mtd.course.cluster import Cluster, Machine, Trouble
from transports.errors import DistError


def talk(machine: Machine) -> Any:
    """Machine 0 sends 0, 1, 2 to machine 1, which takes what comes within a second."""
    if machine.rank == 0:
        for number in range(3):
            machine.send(1, number)
            machine.sleep(0.1)
        return machine.lives
    return [machine.receive(1.0) for _ in range(3)]


def test_messages_come_in_order() -> None:
    cluster = Cluster(2)
    assert cluster.run(talk) == [1, [0, 1, 2]]
    assert [machine.actions for machine in cluster.machines] == [6, 3]


@pytest.mark.parametrize(
    ("trouble", "found"),
    [
        (Trouble(0, 3), [None, [0, None, None]]),
        (Trouble(0, 3, restart=0.01), [2, [0, 0, 1]]),
        (Trouble(0, 3, still=1.5), [1, [0, None, 1]]),
        (Trouble(1, 2, restart=0.35), [1, [None, None, None]]),  # what was in its box is gone
        (Trouble(1, 2, still=0.35), [1, [0, 1, 2]]),  # what came meanwhile is there
        (Trouble(1, 3), [1, None]),
    ],
)
def test_what_befalls_a_machine(trouble: Trouble, found: list[Any]) -> None:
    assert Cluster(2, [trouble]).run(talk) == found


def test_one_cable_is_slow() -> None:
    def program(machine: Machine) -> Any:
        if machine.rank:
            machine.send(0, machine.rank)
            return None
        return [(machine.receive(1.0), round(machine.now(), 3)) for _ in range(2)]

    assert Cluster(3).run(program)[0] == [(1, 0.001), (2, 0.15)]


def test_who_never_comes_to_an_end_is_told_so() -> None:
    def program(machine: Machine) -> None:
        while True:
            machine.sleep(1.0)

    with pytest.raises(DistError, match="beyond its limit, 120 s"):
        Cluster(1).run(program)


def test_the_picture_has_a_line_for_each_machine() -> None:
    cluster = Cluster(2, [Trouble(0, 5)])
    cluster.run(talk)
    lines = elastic.lanes(cluster).split("\n")
    assert lines[0] == "machine 0  ··✗" and lines[1] == "machine 1  ··"
    assert [repr(machine) for machine in cluster.machines] == [
        "<Machine 0: 5 actions, life 1, 0 messages>",
        "<Machine 1: 3 actions, life 1, 0 messages>",
    ]
    assert str(Trouble(0, 5)) == "machine 0 before its action 5 dies and does not come back"
