"""Grids of contributions: what is read is what was summed, and the first wrong cell is the true one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import minitorch_dist as torch
import minitorch_dist.distributed as dist
from minitorch_dist import sim
from minitorch_dist.distributed.schedules import choice
from minitorch_dist.testing.costs import ROUNDS
from mtd.course import all_reduces
from mtd.course.all_reduces import RIGHT, WRONG
from mtd.grids.contributions import filled, of_schedule
from mtd.grids.grid import Grid
from mtd.grids.labels import FEWER_BITS, PrimeLabels, SumLabels, WinnerLabels

SIZES = (1, 2, 3, 5, 8)


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 5), st.integers(1, 6), st.data())
def test_a_sum_says_what_is_in_it(size: int, count: int, data: st.DataObject) -> None:
    """Any ranks, each at most once, with any elements."""
    for labels in (SumLabels(size, count), PrimeLabels(size, count)):
        chosen = data.draw(st.dictionaries(st.integers(0, size - 1), st.integers(0, count - 1)))
        parts = [labels.of(rank, [element])[0] for rank, element in sorted(chosen.items())]
        total = np.sum(parts) if type(labels) is SumLabels else np.prod(parts)
        assert labels.read(float(total)) == tuple(sorted(chosen.items()))


def test_a_sum_says_how_often() -> None:
    labels = SumLabels(3, 4)
    one, other = labels.of(0, [2])[0], labels.of(2, [1])[0]
    assert labels.read(3 * one + other, near=2) == ((0, 2), (0, 2), (0, 2), (2, 1))
    assert labels.read(0.0) == () and labels.read(one / 3) == ((-1, 0),)
    small = SumLabels(3, 3, FEWER_BITS)
    whole = sum(small.of(rank, [2])[0] for rank in range(3))
    assert small.read(float(np.float32(whole))) == ((0, 2), (1, 2), (2, 2))
    with pytest.raises(ValueError, match="more than 53 bits"):
        SumLabels(16, 16)


def test_the_largest_is_one_of_them() -> None:
    labels = WinnerLabels(3, 2, sign=-1)
    given_numbers = [labels.of(rank, [1])[0] for rank in range(3)]
    assert labels.read(max(given_numbers)) == ((0, 1),) and labels.read(0.0) == ()


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("all_reduce", RIGHT, ids=lambda one: one.__name__)
def test_right_ones_end_whole(all_reduce: Any, size: int) -> None:
    for count in (1, size) if size < 8 else (1, 2):
        grid = filled(all_reduce, "all_reduce", size, count)
        assert grid.fault is None and not grid.notes
        assert grid.steps[-1].cells == grid.due


@pytest.mark.parametrize("size", (2, 3, 5))
@pytest.mark.parametrize("name", ("ring", "recursive_doubling", "binomial"))
def test_a_run_and_the_replay_of_its_schedule_agree(name: str, size: int) -> None:
    """The library's own, message by message: in the end, and whose contributions ever were in a chunk."""
    schedule = choice.named("all_reduce", name)
    ran = filled(lambda tensor: dist.all_reduce(tensor, algorithm=name), "all_reduce", size, size)
    assert ran.fault is None
    replayed = of_schedule(schedule, size)
    assert replayed.fault is None

    def seen(grid: Grid) -> set[str]:
        return {cell for step in grid.steps for row in step.cells for cell in row}

    assert seen(ran) <= seen(replayed)


RUN = {
    "send_before_receive",
    "adds_into_what_it_still_sends",
    "whole_tensor_round_the_ring",
    "everything_through_rank_0",
}
OTHER_OP = {"accumulate_into_zeros"}


@pytest.mark.parametrize("wrong", WRONG, ids=lambda one: one.__name__)
def test_wrong_ones_draw_another_picture(wrong: Any) -> None:
    name = wrong.__name__
    if name in RUN:  # right sums, which are stuck, frozen or dear
        assert filled(wrong).fault is None
        return
    op = "max" if name in OTHER_OP else "sum"
    count = 4 if name == "remainder_forgotten" else 3
    grid, right = (filled(one, size=3, count=count, op=op) for one in (wrong, all_reduces.ring))
    assert grid.fault is not None and str(grid) != str(right)
    _, row, column, _ = grid.fault
    assert grid.steps[-1].cells[row][column] != grid.due[row][column]
    assert "✘" in str(grid) and max(map(len, str(grid).splitlines())) <= 80


def alone(all_reduce: Any, size: int, count: int, source: int, element: int) -> Any:
    """The results of each rank, where one number is 1 and all others are 0."""

    def program() -> Any:
        tensor = torch.zeros(count, dtype=torch.float64)
        tensor[element] = float(dist.get_rank() == source)
        all_reduce(tensor)
        return tensor.tolist()

    return sim.run(program, size, net=ROUNDS).results


@pytest.mark.parametrize(
    "wrong", [all_reduces.plus_for_minus, all_reduces.forwards_its_accumulator], ids=lambda f: f.__name__
)
def test_letters_count_as_runs_with_a_single_number_do(wrong: Any) -> None:
    """Sums are linear: what one number alone adds to a cell is how often it is in it."""
    size = 3
    grid = filled(wrong, size=size, count=size)
    for source in range(size):
        found = [alone(wrong, size, size, source, element) for element in range(size)]
        for rank, line in enumerate(grid.steps[-1].cells):
            for column, head in enumerate(grid.columns):
                first = int(head.partition("–")[0])
                assert line[column].count("abc"[source]) == sum(one[rank][first] for one in found)


def differing(one: Grid, other: Grid) -> tuple[int, set[tuple[int, int]]]:
    """The first step in which they differ, and where."""
    for number, (mine, theirs) in enumerate(zip(one.steps, other.steps, strict=True)):
        cells = {
            (row, column)
            for row, line in enumerate(mine.cells)
            for column, cell in enumerate(line)
            if cell != theirs.cells[row][column]
        }
        if cells:
            return number, cells
    raise AssertionError("they are the same")


def test_the_marked_cell_is_where_the_right_ring_first_holds_something_else() -> None:
    size = 3
    right = filled(all_reduces.ring, size=size, count=size)
    wrong = filled(all_reduces.plus_for_minus, size=size, count=size)
    number, cells = differing(wrong, right)
    assert wrong.fault is not None
    assert wrong.fault.step == number and wrong.fault[1:3] in cells
    lines = [message for message in wrong.steps[number].messages if message.to == wrong.fault.row]
    assert lines and f"sent at {lines[0].where}" in wrong.fault.text and lines[0].where.startswith("all_reduces.py:")


def test_a_tensor_that_was_only_given_is_left_alone() -> None:
    def reduce_scatter(output: Any, tensor: Any) -> None:
        dist.all_reduce(tensor)
        rank, count = dist.get_rank(), output.numel()
        output.copy_(tensor[rank * count : (rank + 1) * count])

    grid = filled(reduce_scatter, "reduce_scatter", 2)
    assert grid.fault is None and "given to rank 0 is not what it was" in grid.notes[0]


def test_a_run_that_does_not_end_is_drawn_until_then() -> None:
    def half(tensor: Any) -> None:
        if dist.get_rank() == 0:
            dist.recv(tensor, 1)
        dist.recv(tensor, (dist.get_rank() + 1) % 2)

    grid = filled(half, size=2)
    assert grid.notes == ["The run ended here, with Deadlock."] and grid.fault is None
    assert grid.steps[-1].cells == [["a"], ["b"]]
