"""A schedule runs among as many ranks as it was proved for, and nowhere else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import minitorch_dist as torch
import minitorch_dist.distributed as dist
from minitorch_dist import sim
from minitorch_dist.distributed.exceptions import DistError
from minitorch_dist.distributed.schedules import BUILT_IN, Schedule, ScheduleError, choice, domain, proof, ring
from minitorch_dist.distributed.schedules.schedule import COLLECTIVES
from minitorch_dist.distributed.schedules.steps import Combine, Exchange, Rank, Receive, Send, Steps
from minitorch_dist.launching import launch
from minitorch_dist.sim import nets
from mtd import estimates
from tests.distributed.schedules.all_schedules import every_schedule, roots

Made = Callable[..., Steps]
POWERS = [1, 2, 4, 8, 16]


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ["", *[f"{collective.upper()}_" for collective in COLLECTIVES]]:
        monkeypatch.delenv(f"MINITORCH_DIST_{name}ALGORITHM", raising=False)


@contextmanager
def registered(steps: Made, collective: str = "all_reduce", chunks: Any = None, **more: Any) -> Iterator[Schedule]:
    """It is called "mine" within the block."""
    made = dist.register_schedule(collective, "mine", chunks or (lambda size, **_: 1), **more)
    yield made(steps)
    choice.forget_schedule(collective, "mine")


def doubling(rank: Rank, size: int) -> Steps:
    """Right for powers of two. Among 3 ranks all messages find their receivers, and one value counts twice."""
    for bit in range((size - 1).bit_length()):
        step = 1 << bit
        yield Exchange((rank + step) % size, 0, (rank - step) % size, 0, reduce=True)


def short_ring(rank: Rank, size: int) -> Steps:
    """A ring that gives up after eight rounds: right for up to nine ranks."""
    rounds = min(size - 1, 8)
    for step in range(rounds):
        yield Exchange(
            (rank + 1) % size, (rank - step) % size, (rank - 1) % size, (rank - step - 1) % size, reduce=True
        )
    for step in range(rounds):
        yield Exchange((rank + 1) % size, (rank + 1 - step) % size, (rank - 1) % size, (rank - step) % size)


def per_rank(size: int) -> int:
    return size


def summed(algorithm: str | None = None) -> list[float]:
    x = torch.ones(3) * 2.0 ** dist.get_rank()
    dist.all_reduce(x, algorithm=algorithm)
    return x.tolist()  # type: ignore[no-any-return]


def refused(algorithm: str | None = None) -> str:
    with pytest.raises(ScheduleError) as caught:
        summed(algorithm)
    assert not isinstance(caught.value, DistError)
    dist.barrier()  # no message of it is under way
    return str(caught.value)


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8])
def test_auto_is_right_where_a_registered_schedule_is_not(size: int) -> None:
    with registered(doubling, sizes=POWERS):
        assert launch(summed, size, "queue://", timeout=300) == [[2.0**size - 1] * 3] * size
        assert sim.run(summed, size).results == [[2.0**size - 1] * 3] * size


def test_auto_is_right_beyond_the_sizes_of_the_usual_proof() -> None:
    with registered(short_ring, chunks=per_rank):
        assert sim.run(summed, 12).results == [[2.0**12 - 1] * 3] * 12
        with pytest.raises(ScheduleError, match=r"proved for 1 to 9 ranks, and is not right for 12: element "):
            choice.choose("all_reduce", 12, 64, algorithm="mine")


@pytest.mark.parametrize("size", [3, 5, 12])
def test_auto_takes_what_is_proved_on_its_first_use(size: int) -> None:
    with registered(doubling, sizes=[2]) as mine:
        assert not domain.may_run(mine, size)
        assert domain.may_run(mine, 32), "proved now"
        free = nets.read("sim://?latency=0us").topology
        assert "mine" in {one.schedule.name for one in estimates.compare("all_reduce", 32, 64, free)}
        assert "mine" not in {one.schedule.name for one in estimates.compare("all_reduce", size, 64, free)}


@pytest.mark.parametrize("size", [3, 5])
def test_a_name_is_refused_on_every_rank_alike(size: int) -> None:
    with registered(doubling, sizes=POWERS):
        for said in (
            launch(refused, size, "queue://", args=("mine",), timeout=300),
            sim.run(refused, size, args=("mine",)).results,
        ):
            assert len(set(said)) == 1
            assert f"proved for 1, 2, 4, 8 and 16 ranks, and is not right for {size}: element" in said[0]
            assert said[0].endswith("or leave the choice to auto")
        with choice.preferring("mine"):
            assert launch(refused, size, "queue://", timeout=300) == said


def in_a_group_of_three() -> tuple[list[float], list[float]] | None:
    group, x, y = dist.new_group([0, 1, 2]), torch.ones(1), torch.ones(1)
    if dist.get_rank() == 3:
        return None
    dist.all_reduce(x, group=group)
    with pytest.raises(ScheduleError, match="not right for 3"):
        dist.all_reduce(y, group=group, algorithm="mine")
    with pytest.raises(ScheduleError, match="not right for 3"):
        dist.all_reduce(y, group=group, algorithm="mine", async_op=True)
    return x.tolist(), y.tolist()


def test_a_subgroup_has_another_size_than_the_world() -> None:
    with registered(doubling, sizes=POWERS):
        found = launch(in_a_group_of_three, 4, "queue://", timeout=300)
    assert found == [([3.0], [1.0])] * 3 + [None]


def test_a_proof_is_made_once_for_all_ranks(monkeypatch: pytest.MonkeyPatch) -> None:
    proved: list[int] = []
    right = proof.prove
    with registered(doubling, sizes=[2]):
        monkeypatch.setattr(proof, "prove", lambda s, size, *more: (proved.append(size), right(s, size, *more)))
        sim.run(summed, 32, args=("mine",))
        assert set(proved) == {32} and len(proved) == 1
        launch(summed, 4, "queue://", args=("mine",), timeout=300)
        assert len(proved) == 2
        before = len(proved)
        sim.run(summed, 32)
        launch(summed, 4, "queue://", timeout=300)
        assert len(proved) == before


def test_a_name_that_is_registered_anew_is_proved_anew() -> None:
    with registered(ring.all_reduce.steps, chunks=per_rank, sizes=[2]):
        assert choice.choose("all_reduce", 12, 64, algorithm="mine").name == "mine"
        dist.register_schedule("all_reduce", "mine", per_rank, sizes=[2])(short_ring)
        with pytest.raises(ScheduleError, match="not right for 12"):
            choice.choose("all_reduce", 12, 64, algorithm="mine")
        dist.register_schedule("all_reduce", "mine", per_rank)(ring.all_reduce.steps)


def test_options_are_part_of_what_is_proved() -> None:
    def stepping(rank: Rank, size: int, stride: int) -> Steps:
        for step in range(1, size):
            there = step * stride
            yield Exchange((rank + there) % size, 0, (rank - there) % size, 1)
            yield Combine(2, 1, reduce=step > 1)
        yield Combine(0, 2, only=size > 1)

    with registered(stepping, stride=1):
        assert choice.choose("all_reduce", 6, 64, algorithm="mine:stride=5").name == "mine"
        with pytest.raises(ScheduleError, match=r"mine all_reduce \(stride=2\) is not right for 6"):
            choice.choose("all_reduce", 6, 64, algorithm="mine:stride=2")


@pytest.mark.parametrize("options", ["pieces=0", "pieces=-1"])
def test_a_built_in_schedule_has_options_that_it_is_right_for(options: str) -> None:
    for collective, name in (("broadcast", "chain"), ("all_reduce", "double_binary_tree")):
        with pytest.raises(ValueError, match=rf"{name} {collective} \({options}\): pieces must be at least 1"):
            choice.choose(collective, 3, 64, algorithm=f"{name}:{options}")


def test_a_schedule_that_was_never_registered_is_proved_as_well() -> None:
    assert choice.choose("all_reduce", 4, 64, algorithm=Schedule("all_reduce", "d", doubling, lambda s: 1))
    with pytest.raises(ScheduleError, match="d all_reduce is not right for 3: element 0 on rank 0"):
        choice.choose("all_reduce", 3, 64, algorithm=Schedule("all_reduce", "d", doubling, lambda s: 1))


# ------------------------------------------------------------------------ what a proof has to see


def test_every_root_is_proved() -> None:
    def ends_only(rank: Rank, size: int, root: int) -> Steps:
        for other in range(size):
            if other != root and root in (0, size - 1):
                yield Send(other, 0, only=rank == root)
                yield Receive(root, 0, only=rank == other)

    with pytest.raises(ScheduleError, match="mine broadcast with 3 ranks: element 0 on rank 0 lacks"):
        dist.register_schedule("broadcast", "mine", lambda size: 1)(ends_only)
    with registered(ends_only, "broadcast", sizes=[2]) as mine:
        assert [domain.may_run(mine, 3, root) for root in range(3)] == [True, False, True]
        assert choice.choose("broadcast", 3, 64, root=1).name != "mine"
        with pytest.raises(ScheduleError, match="2 ranks, and is not right for 3 and root 1"):
            choice.choose("broadcast", 3, 64, algorithm="mine", root=1)


def test_every_chunk_is_proved() -> None:
    """Of twenty chunks for each rank the last one is forgotten: a vector of 2 P + 1 elements does not show it."""

    def forgetful(rank: Rank, size: int) -> Steps:
        chunks = tuple(range(20 * size - 1))
        for other in range(1, size):
            yield Send(0, chunks, only=rank == other)
            yield Receive(other, chunks, reduce=True, only=rank == 0)
        for other in range(1, size):
            yield Send(other, chunks, only=rank == 0)
            yield Receive(0, chunks, only=rank == other)

    with pytest.raises(ScheduleError, match="with 2 ranks: element 40 on rank 0 lacks rank 1"):
        dist.register_schedule("all_reduce", "mine", lambda size: 20 * size)(forgetful)


@pytest.mark.parametrize("collective", ["all_gather", "gather", "scatter", "reduce_scatter", "all_to_all"])
def test_blocks_are_chunks(collective: str) -> None:
    """With one chunk for all, nothing would be missing but the blocks of the other ranks."""

    def one_for_all(rank: Rank, size: int, **root: int) -> Steps:
        for other in range(1, size):
            yield Send(other, 0, only=rank == 0)
            yield Receive(0, 0, only=rank == other)

    with pytest.raises(ScheduleError, match=f"{collective} has . chunks among 2 ranks, not 1"):
        dist.register_schedule(collective, "mine", lambda size: 1)(one_for_all)


def test_chunks_of_other_lengths_are_not_combined() -> None:
    """All is well where chunks have the same length, and a vector of an odd one has others."""

    def through_another(rank: Rank, size: int) -> Steps:
        yield Combine(3, 0, reduce=False)  # scratch with the length of chunk 1
        yield Exchange(1 - rank, 3, 1 - rank, 3, only=size > 1)
        yield Combine(0, 3, only=size > 1)
        yield Exchange(1 - rank, 1, 1 - rank, 1, reduce=True, only=size > 1)

    with pytest.raises(ScheduleError, match="combines chunk 0 into chunk 3, and these may differ in length"):
        dist.register_schedule("all_reduce", "mine", lambda size: 2, sizes=[1, 2])(through_another)


def test_a_loop_that_never_ends_and_other_errors_are_faults() -> None:
    def until_equal(rank: Rank, size: int) -> Steps:
        step = 1
        while step != size:
            yield Exchange(rank ^ step, 0, rank ^ step, 0, reduce=True)
            step *= 2

    with registered(until_equal, sizes=[1, 2, 4]):
        assert summed_among(3) == 7.0
        with pytest.raises(ScheduleError, match="not right for 3: until_equal has yielded 50,000 steps"):
            choice.choose("all_reduce", 3, 64, algorithm="mine")

    def from_a_table(rank: Rank, size: int) -> Steps:
        yield from [[], doubling(rank, size)][size - 1]

    with registered(from_a_table, sizes=[1, 2]):
        assert summed_among(3) == 7.0
        with pytest.raises(ScheduleError, match="not right for 3: its steps end in IndexError: list index"):
            choice.choose("all_reduce", 3, 64, algorithm="mine")


def summed_among(size: int) -> float:
    return sim.run(summed, size).results[0][0]  # type: ignore[no-any-return]


def test_steps_with_an_if_are_run_by_name_and_passed_over_by_auto() -> None:
    """They are right for each rank, and nothing can be told of all ranks at once."""

    def by_rank(rank: Rank, size: int) -> Steps:
        if rank == 0:
            for other in range(1, size):
                yield Receive(other, 0, reduce=True)
            for other in range(1, size):
                yield Send(other, 0)
        else:
            yield Send(0, 0)
            yield Receive(0, 0)

    with registered(by_rank):
        for size in (3, 70):
            assert sim.run(counted, size).results == [size] * size
            assert sim.run(counted, size, args=("mine",)).results == [size] * size
        assert launch(counted, 3, "queue://", args=("mine",), timeout=300) == [3, 3, 3]


def counted(algorithm: str | None = None) -> float:
    x = torch.ones(1)
    dist.all_reduce(x, algorithm=algorithm)
    return x.item()  # type: ignore[no-any-return]


# -------------------------------------------------------------------------------- what a proof costs


def test_large_numbers_of_ranks_are_proved_where_they_are_registered(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(
        ScheduleError, match=r"with 300 ranks: element 0 on rank 0 has rank 0 twice .* and 204 more ranks too often"
    ):
        dist.register_schedule("all_reduce", "mine", lambda size: 1, sizes=[2, 300])(doubling)
    with registered(doubling, sizes=[2, 512]) as mine:
        assert domain.may_run(mine, 512)
        monkeypatch.setattr(proof, "prove", lambda *_: pytest.fail("a proof"))
        assert not domain.may_run(mine, 128)
        with pytest.raises(ScheduleError, match=r"proved for 2 and 512 ranks.*sizes=\[…, 1024\]"):
            choice.choose("all_reduce", 1024, 64, algorithm="mine")


@every_schedule
def test_built_in_schedules_are_never_proved_at_run_time(schedule: Schedule, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are proved for many sizes in test_proof."""
    monkeypatch.setattr(proof, "prove", lambda *_: pytest.fail("a proof"))
    monkeypatch.setattr(domain, "_fault", lambda *_: pytest.fail("a proof"))
    for size in (1, 3, 12, 1000):
        for root in roots(schedule, size):
            chosen = choice.choose(schedule.collective, size, 64, algorithm=schedule, root=root)
            assert chosen is schedule and domain.may_run(schedule, size, root)
            if size < 1000 and schedule is BUILT_IN[schedule.collective, schedule.name]:
                choice.choose(schedule.collective, size, 64, root=root)
