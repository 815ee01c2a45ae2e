"""Ten mistakes against the checks of `check_collective`: each is caught, the right ring by none."""

from __future__ import annotations

import functools
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

import minitorch_dist as torch
import minitorch_dist.distributed as dist
from minitorch_dist.distributed import journal
from minitorch_dist.distributed.schedules import BUILT_IN, Schedule
from minitorch_dist.testing import check_collective, replay_collective
from minitorch_dist.testing.collectives import Verdict, replaying
from mtd.course import all_reduces
from mtd.course.all_reduces import WRONG
from tests.testing.broken import broken_schedules

PAGE = Path(__file__).parents[2] / "docs" / "testing.md"
SHORT = (1, 2, 3, 4, 5, 8)
MUTANTS = dict(
    zip(
        WRONG,
        [
            "exactly once",
            "cheap",
            "exactly once",
            "exactly once",
            "correct",
            "exactly once",
            "exactly once",
            "never stuck",
            "frozen",
            "cheap",
        ],
        strict=True,
    )
)
CHECKS = ("correct", "exactly once", "never stuck", "frozen", "cheap")


@functools.cache
def verdict_of(function: Any, *sizes: int) -> Verdict:
    return check_collective(function, sizes=sizes)


def row(function: Any) -> str:
    """What each check says; `–`: not asked, since what is wrong may cost what it likes."""
    few = [verdict_of(function, size).lamps["correct"] for size in (2, 4)]
    lamps = verdict_of(function, *SHORT).lamps
    cells = ["ok" if ok else "**caught**" for ok in few]
    cells += [{True: "ok", False: "**caught**", None: "–"}[lamps.get(name)] for name in CHECKS]
    return f"| {function.__name__.replace('_', ' ')} | {' | '.join(cells)} |"


@pytest.mark.slow
def test_the_right_ring_passes() -> None:
    verdict = check_collective(all_reduces.ring)
    assert verdict, str(verdict)
    assert verdict.bytes == 1.0
    assert str(verdict).startswith("✔ correct ✔ exactly once ✔ never stuck")
    assert "bytes 1.00× optimum  rounds 4.67× optimum" in str(verdict)


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.__name__)
def test_every_mistake_is_caught_and_can_be_seen_again(mutant: Any) -> None:
    verdict = verdict_of(mutant, *SHORT)
    lamp = MUTANTS[mutant]
    assert not verdict.lamps[lamp], str(verdict)
    if lamp in verdict.tokens:
        with pytest.raises(AssertionError):
            replay_collective(verdict.tokens[lamp], mutant)
        replay_collective(verdict.tokens[lamp], all_reduces.ring)


@pytest.mark.slow
@pytest.mark.parametrize("function", [all_reduces.ring, *MUTANTS], ids=lambda one: one.__name__)
def test_the_table_of_the_page_is_that_of_a_real_run(function: Any) -> None:
    assert row(function) in PAGE.read_text(), row(function)


def test_what_is_counted_twice_is_said_with_its_rounds() -> None:
    verdict = check_collective(all_reduces.forwards_its_accumulator, sizes=[3])
    said = "rank 0, element 0: rank 2 counted twice, in rounds 1 and 2"
    assert said in verdict.complaints["exactly once"]


def test_a_hang_names_the_lines_and_nothing_of_ours() -> None:
    verdict = check_collective(all_reduces.send_before_receive, sizes=[3])
    assert "0 → 1 → 2 → 0" in verdict.complaints["never stuck"]
    assert "rank 0 waits for rank 1 in send at all_reduces.py" in verdict.complaints["never stuck"]


@pytest.mark.parametrize(
    ("collective", "function"),
    [
        ("broadcast", lambda tensor, src: dist.broadcast(tensor, src)),
        ("reduce", lambda tensor, dst, op: dist.reduce(tensor, dst, op)),
        ("all_gather", lambda output, input: dist.all_gather_into_tensor(output, input)),
        ("reduce_scatter", lambda output, input, op: dist.reduce_scatter_tensor(output, input, op)),
        ("all_to_all", lambda output, input: dist.all_to_all_single(output, input)),
    ],
)
def test_our_own_collectives(collective: str, function: Any) -> None:
    verdict = check_collective(function, collective, sizes=[1, 3, 4])
    assert verdict, str(verdict)


def test_one_that_does_nothing_and_one_that_fails() -> None:
    for function in (lambda tensor: None, lambda tensor: 1 // 0):
        verdict = check_collective(function, sizes=[1, 2])
        assert not verdict.lamps["correct"]
        with pytest.raises(AssertionError, match="replay: mtc1:all_reduce;ranks="):
            verdict.demand()


@pytest.mark.parametrize("schedule", BUILT_IN.values(), ids=str)
def test_built_in_schedules_are_sound(schedule: Schedule) -> None:
    lamps = check_collective(schedule, sizes=SHORT).lamps
    assert lamps["exactly once"]
    assert lamps["never stuck"]


@settings(max_examples=15)
@given(broken_schedules(size=4))
def test_broken_schedules_are_not(schedule: Schedule) -> None:
    verdict = check_collective(schedule, sizes=[4])
    assert not verdict, str(verdict)


def test_a_circle_of_receives_and_a_loop_without_end() -> None:
    def waits(tensor: Any) -> None:
        rank, size = dist.get_rank(), dist.get_world_size()
        if size > 1:
            dist.recv(tensor, (rank - 1) % size)

    def loops(tensor: Any) -> None:
        while dist.get_world_size() > 1:
            all_reduces.ring(tensor)

    for function, words in ((waits, "0 → 1 → 0"), (loops, "livelock")):
        assert words in check_collective(function).complaints["never stuck"]


def test_wrong_arguments() -> None:
    with pytest.raises(ValueError, match="no function of 'gossip' can be checked; all_reduce"):
        check_collective(all_reduces.ring, "gossip")
    with pytest.raises(ValueError, match="is no token of check_collective"):
        replay_collective("mtd1:seed=1", all_reduces.ring)


def test_a_check_within_a_replay_makes_that_run_only(tmp_path: Path) -> None:
    """And writes it down, so that it can be drawn."""

    def hangs_with_three(tensor: torch.Tensor) -> None:
        if dist.get_world_size() == 3:
            dist.recv(torch.empty(1), (dist.get_rank() + 1) % 3)

    verdict = check_collective(hangs_with_three, sizes=(1, 2, 3))
    token = verdict.tokens["never stuck"]
    with replaying(token, tmp_path / "run.mtd"):
        again = check_collective(hangs_with_three)
        assert check_collective(hangs_with_three, "broadcast").lamps["never stuck"]  # it is of another
    assert again.complaints["never stuck"] == verdict.complaints["never stuck"]
    assert again.tokens == {"never stuck": token}
    assert len(journal.read(tmp_path / "run.mtd").ranks) == 3
    with pytest.raises(ValueError, match="mtc1"), replaying("mtd1:seed=3"):
        pass


def test_what_could_not_be_tried_is_left_open() -> None:
    def stumbles(tensor: Any) -> None:
        if dist.get_world_size() > 1:
            raise ValueError("two is a crowd")

    def waits(tensor: Any) -> None:
        if dist.get_world_size() > 1:
            dist.recv(tensor, (dist.get_rank() + 1) % dist.get_world_size())

    lamps = check_collective(stumbles, sizes=(1, 2)).lamps
    nothing = dict.fromkeys(["exactly once", "never stuck", "frozen"])
    assert lamps == {"correct": False, **nothing}
    verdict = check_collective(waits, sizes=(1, 2))
    assert verdict.lamps == {"correct": None, **nothing, "never stuck": False} and not verdict
    assert str(verdict).startswith("– correct – exactly once ✘ never stuck – frozen")


def test_costs_are_measured_for_the_sizes_that_are_asked_for() -> None:
    def for_powers(tensor: Any) -> None:
        assert dist.get_world_size() in (1, 2, 4)
        dist.all_reduce(tensor)

    verdict = check_collective(for_powers, sizes=(1, 2, 4))
    assert verdict and verdict.bytes is not None, str(verdict)
    assert check_collective(for_powers, sizes=(1,)).bytes is None


@pytest.mark.parametrize("size", [11, 12, 21])
def test_labels_of_many_ranks(size: int) -> None:
    def twice(tensor: Any) -> None:
        if dist.get_rank() == size - 1:
            tensor *= 2
        if dist.get_rank() == 1:
            tensor *= 0
        dist.all_reduce(tensor)

    said = check_collective(twice, sizes=[size]).complaints["exactly once"]
    assert f"rank {size - 1} counted twice" in said and said.endswith("rank 1 missing")
    assert check_collective(dist.all_reduce, sizes=[size]).lamps["exactly once"]


@pytest.mark.parametrize("collective", ["all_reduce", "reduce_scatter"])
def test_labels_tell_elements_apart(collective: str) -> None:
    """Numbers that are alike in all elements would let a reversed result pass."""

    def reversed_result(output: Any, tensor: Any = None) -> None:
        if tensor is None:
            dist.all_reduce(output)
        else:
            dist.reduce_scatter_tensor(output, tensor)
        output.copy_(output.flip(0))

    def all_reduce(tensor: Any) -> None:
        reversed_result(tensor)

    subject = all_reduce if collective == "all_reduce" else reversed_result
    for size in (1, 3, 5):
        said = check_collective(subject, collective, sizes=[size]).complaints["exactly once"]
        assert re.search("rank 0's element \\d in its place", said), said


def test_what_returns_no_tensor_is_told() -> None:
    found = check_collective(lambda tensor: 0, collective="all_reduce", sizes=(2,))
    assert "it returned 0, which is not a tensor" in found.complaints["correct"]
