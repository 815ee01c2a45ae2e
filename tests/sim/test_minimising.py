"""A failure made small is the same failure, needs all that is left of it, and says it in round numbers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import minitorch_dist as torch
from minitorch_dist import distributed as dist, sim
from minitorch_dist.sim.failure import rounder, simpler
from minitorch_dist.sim.failure_identity import identity, plain
from tests.deep import seeds
from transports.faults.plans import Fault

MS = 10**9


def two_bugs() -> None:
    """Both raise AssertionError: one if a message is late, the other if several are."""
    rank = dist.get_rank()
    x = torch.zeros(1)
    late = 0
    for number in range(8):
        if rank == 0:
            sim.compute("100us")
            dist.send(torch.tensor([float(number)]), 1)
        elif rank == 1:
            before = sim.now()
            dist.recv(x, 0)
            late += sim.now() - before > 0.0004
            if number == 7:
                assert late < 3, "three were late"
            assert not (number == 2 and sim.now() - before > 0.002), "the third was very late"


def gives_up_too_soon() -> float:
    """A timeout that a slow network does not keep, in one of two places."""
    rank = dist.get_rank()
    x = torch.zeros(1)
    for _ in range(4):
        if rank == 0:
            dist.send(torch.ones(1), 1)
            dist.irecv(x, 1).wait(0.001)  # type: ignore[union-attr, arg-type]
        elif rank == 1:
            dist.irecv(x, 0).wait(0.0012)  # type: ignore[union-attr, arg-type]
            sim.compute("200us")
            dist.send(torch.ones(1), 0)
    return x.item()


def takes_the_first() -> None:
    """It believes that rank 1 is the quicker one."""
    rank, x = dist.get_rank(), torch.zeros(1)
    if rank == 0:
        for expected in (1.0, 2.0):
            dist.recv(x)
            assert x.item() == expected, f"{x.item()} came first"
    elif rank < 3:
        sim.compute(f"{rank * 50}us")
        dist.send(torch.tensor([float(rank)]), 0)


def hangs_if_late() -> None:
    """Who was kept waiting leaves out the second sum."""
    x = torch.ones(3)
    sim.compute("10us")
    before = sim.now()
    dist.all_reduce(x)
    if sim.now() - before < 0.0003:
        dist.all_reduce(x)
    dist.barrier()


PROGRAMS = [two_bugs, gives_up_too_soon, takes_the_first, hangs_if_late]


def play(failure: sim.Failure, faults: tuple[Fault, ...], hardships: str) -> Any:
    case = replace(failure.case, faults=faults, hardships=hardships, event=None)
    return failure.setting.play(case)


@pytest.mark.parametrize("size", [2, 3, 5])
@pytest.mark.parametrize("program", PROGRAMS)
def test_all_that_is_left_is_needed(program: Any, size: int) -> None:
    if program is takes_the_first and size == 2:
        return
    found = 0
    for seed in seeds(40):
        chaos = sim.chaos(max_faults=4)
        first = sim.survey(program, size, [seed + 1], chaos).failure
        if first is None:
            continue
        found += 1
        small = first.minimise(most=1000)
        assert identity(small.error) == identity(first.error), small.explain()
        faults, letters = small.faults, small.case.hardships
        for at in range(len(faults)):
            rest = play(small, faults[:at] + faults[at + 1 :], letters)
            assert not rest.fails_like(small.outcome), f"{faults[at]} is not needed: {small}"
        for letter in letters:
            rest = play(small, faults, letters.replace(letter, ""))
            assert not rest.fails_like(small.outcome), f"{letter} is not needed: {small}"
        with pytest.raises(type(small.error)):
            sim.replay(small.replay_token, program)
        assert not any("ps" in str(fault) for fault in faults), small.replay_token
        if found == 8:
            return
    assert found


def test_the_words_of_a_failure_without_what_varies() -> None:
    one = plain("rank 3 waited 1.5 s for ranks 0, 2 in all_reduce #17 at train.py:41")
    assert one == plain("rank 12 waited 300 us for rank 7 in all_reduce #2 at train.py:41")
    assert one != plain("rank 3 waited 1.5 s for ranks 0, 2 in all_reduce #17 at train.py:42")


def test_a_bug_at_another_line_is_another_one() -> None:
    def one(x: int) -> None:
        if x:
            raise ValueError("wrong")
        raise ValueError("wrong")

    caught = []
    for x in (0, 0, 1):
        with pytest.raises(ValueError, match="wrong") as error:
            one(x)
        caught.append(identity(error.value))
    assert caught[0] == caught[1] != caught[2]


def test_another_deadlock_is_another_failure() -> None:
    def hangs(where: int) -> None:
        rank, size = dist.get_rank(), dist.get_world_size()
        x = torch.ones(1)
        if where:
            dist.recv(x, (rank + 1) % size)
        else:
            dist.recv(x, (rank + 1) % size)

    caught = []
    for size, where in ((2, 0), (5, 0), (2, 1)):
        with pytest.raises(sim.Deadlock) as error:
            sim.run(hangs, size, (where,))
        caught.append(identity(error.value))
    assert caught[0] == caught[1] != caught[2]


def test_simpler_numbers() -> None:
    assert rounder(1283746) == [1000000, 10000000, 2000000, 1200000, 1300000]
    assert rounder(1000000) == rounder(5000000) == [] and rounder(7, zero=True) == [0]
    assert rounder(1200000) == [1000000, 10000000, 2000000]
    crash = sim.crash(1, at="1283746ps", restart="5ms")
    assert str(next(iter(simpler(crash)))) == "crash=1,at=0ps,restart=5ms"
    for fault in (crash, sim.delay("1234567ps", 0.3), sim.slow(1, 3.7), sim.clog(2, at=0.0012345)):
        steps = 0
        while (found := next(iter(simpler(fault)), None)) is not None:
            fault, steps = found, steps + 1
            assert steps < 20
