"""A failure says which order of arrival made the difference from a run that passes, for wrong values and for hangs."""

from __future__ import annotations

import pytest

import minitorch_dist as torch
from minitorch_dist import distributed as dist, sim
from minitorch_dist.sim.arrival_order import ArrivalNote, difference
from tests.sim.test_beginnings_and_stores import lost_wake_up, store

HERE = "test_difference.py"


def expects_their_order() -> None:
    """A wrong value, as messages of different senders have no order."""
    if dist.get_rank():
        dist.send(torch.full((1,), float(dist.get_rank())), 0)
        return
    y, got = torch.zeros(1), []
    for _ in range(1, dist.get_world_size()):
        dist.recv(y)
        got.append(y.item())
    assert got == sorted(got)


def explained(program: object, size: int) -> list[str]:
    found = sim.explore(program, size, 200)  # type: ignore[arg-type]
    assert found is not None
    return found.minimise().explain().splitlines()


@pytest.mark.parametrize("size", [3, 5, 8])
def test_a_wrong_value_is_told_with_its_order(size: int) -> None:
    lines = explained(expects_their_order, size)
    at = lines.index("what made the difference")
    line = expects_their_order.__code__.co_firstlineno + 7
    assert f"at {HERE}:{line}, where it takes from anybody" in lines[at + 1]
    assert lines[at + 1].startswith("  rank 0 received from rank ")
    assert lines[at + 2].startswith("  in a run that passes: rank ")


def test_a_lost_wake_up_is_told_with_the_answer() -> None:
    lines = explained(lost_wake_up, 3)
    at = lines.index("what made the difference")
    assert "asked a store at " in lines[at + 1] and lines[at + 1].endswith("', and heard no")
    assert lines[at + 2] == "  in a run that passes: yes"


def test_questions_of_the_library_are_not_told() -> None:
    def program() -> None:
        dist.new_group()
        store().add("mine", 1)
        dist.monitored_barrier()
        raise ArithmeticError

    found = sim.explore(program, 2, 3)
    assert found is not None
    asked = [line for line in found.explain().splitlines() if "asked a store" in line]
    assert 1 <= len(asked) <= 2 and all("to add 'default_pg/1/mine'" in line for line in asked)


def test_where_no_order_differs_none_is_told() -> None:
    def program() -> None:
        raise ArithmeticError

    found = sim.explore(program, 2, 3)
    assert found is not None and "difference" not in found.explain()
    assert difference([], []) == "" and difference([ArrivalNote(0, "a", "b")], []) == ""


def test_repeated_questions_are_the_last_to_be_told() -> None:
    no, yes = (ArrivalNote(0, "asked is_completed() at f.py:1, and heard …", said) for said in ("no", "yes"))
    one, two = (ArrivalNote(1, "received from …", f"rank {rank}") for rank in (2, 3))
    assert difference([no, yes, one], [yes, two]) == "rank 1 received from rank 2\nin a run that passes: rank 3"
    assert difference([no, one], [yes, one]).endswith("passes: yes")
