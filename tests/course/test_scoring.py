"""Eight checks against ten wrong all_reduces: the table of docs/testing.md, and how a check is scored."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any

import pytest

import minitorch_dist as torch
import minitorch_dist.distributed as dist
from minitorch_dist import sim
from minitorch_dist.testing.strictness import strict
from mtd.course import all_reduces, lab
from mtd.course.all_reduces import RIGHT, WRONG, AllReduce
from mtd.course.scoring import score

PAGE = Path(__file__).parents[2] / "docs" / "testing.md"
Numbers = list[list[float]]


def play(all_reduce: AllReduce, given: Numbers, op: Any = dist.ReduceOp.SUM, strictly: bool = False) -> Numbers:
    def program() -> list[float]:
        tensor = torch.tensor(given[dist.get_rank()])
        all_reduce(tensor, op)
        found: list[float] = tensor.tolist()
        return found

    with strict() if strictly else nullcontext():
        return sim.run(program, len(given), events=20_000).results


def sums(all_reduce: AllReduce, given: Numbers, strictly: bool = False) -> None:
    due = [sum(column) for column in zip(*given, strict=True)]
    assert play(all_reduce, given, strictly=strictly) == [due] * len(given)


def counted(size: int, count: int) -> Numbers:
    return [[float(7 * rank - 3 * element) for element in range(count)] for rank in range(size)]


def right_with(size: int) -> Callable[[AllReduce], None]:
    return lambda all_reduce: sums(all_reduce, counted(size, 8))


def ones(all_reduce: AllReduce) -> None:
    sums(all_reduce, [[1.0] * 8] * 4)


def property_based(all_reduce: AllReduce) -> None:
    for size in range(1, 9):
        for count in (0, 1, 7, 20):
            sums(all_reduce, counted(size, count))
            low = [[x - 100.0 for x in row] for row in counted(size, count)]
            due = [max(column) for column in zip(*low, strict=True)]
            assert play(all_reduce, low, dist.ReduceOp.MAX) == [due] * size


def exactly_once(all_reduce: AllReduce) -> None:
    for size in range(1, 8):
        for count in (1, size, 2 * size + 1):
            sums(all_reduce, [[64**rank] * count for rank in range(size)])


def byte_meter(all_reduce: AllReduce) -> None:
    for size in (4, 5):
        found = lab.meter(all_reduce, size, 4 * size)
        assert found.bytes <= 2 * (size - 1) * 4 * 8


def rendezvous(all_reduce: AllReduce) -> None:
    """Do they stand still where sends wait?"""
    with suppress(AssertionError):
        play(all_reduce, counted(4, 8), strictly=True)


def aliasing(all_reduce: AllReduce) -> None:
    """What is right where messages are read from the sender's own tensor, which must be left alone."""
    for size, count in ((4, 7), (5, 7)):
        with suppress(sim.Deadlock):
            sums(all_reduce, counted(size, count), strictly=True)


CHECKS = {
    "right, P=2": right_with(2),
    "right, P=4": right_with(4),
    "ones, P=4": ones,
    "property": property_based,
    "exactly once": exactly_once,
    "byte meter": byte_meter,
    "rendezvous": rendezvous,
    "aliasing": aliasing,
}
CAUGHT = {"right, P=2": 1, "right, P=4": 3, "ones, P=4": 3, "property": 6}
CAUGHT |= {"exactly once": 5, "byte meter": 7, "rendezvous": 1, "aliasing": 6}


def table() -> list[str]:
    found = {name: score(check, (all_reduces.ring,), WRONG) for name, check in CHECKS.items()}
    lines = [f"| | {' | '.join(CHECKS)} |", "|---" * (len(CHECKS) + 1) + "|"]
    for one in (all_reduces.ring, *WRONG):
        name = one.__name__
        said = [(each.right | each.wrong)[name] for each in found.values()]
        cells = ["**caught**" if words else "ok" for words in said]
        lines.append(f"| {name.replace('_', ' ')} | {' | '.join(cells)} |")
    counts = [str(len(each.rejected)) for each in found.values()]
    assert dict(zip(CHECKS, map(int, counts), strict=True)) == CAUGHT
    return [*lines, f"| caught, of 10 | {' | '.join(counts)} |"]


@pytest.mark.slow
def test_the_table_of_the_page_is_measured() -> None:
    assert "\n".join(table()) in PAGE.read_text(encoding="utf-8")


@pytest.mark.slow
def test_three_checks_together_find_them_all_and_no_two_do() -> None:
    rejected = {name: set(score(check, (), WRONG).rejected) for name, check in CHECKS.items()}
    everything = {one.__name__ for one in WRONG}
    assert rejected["property"] | rejected["byte meter"] | rejected["rendezvous"] == everything
    assert rejected["exactly once"] | rejected["byte meter"] | rejected["rendezvous"] == everything
    names = list(CHECKS)
    for first in names:
        for second in names:
            assert rejected[first] | rejected[second] != everything, (first, second)


@pytest.mark.parametrize("one", RIGHT, ids=lambda one: one.__name__)
def test_the_right_ones_are_right(one: AllReduce) -> None:
    for check in (property_based, exactly_once, rendezvous, aliasing):
        check(one)


def test_an_assert_without_words_is_said_by_its_line() -> None:
    def silent(function: Callable[[], int]) -> None:
        if function() != 2:
            raise AssertionError

    def three() -> int:
        return 3

    said = score(silent, (), (three,)).wrong["three"]
    assert said.startswith("test_scoring.py:")
    assert said.endswith(": raise AssertionError")


def test_a_score_counts_who_dies_and_who_is_accused() -> None:
    def picky(function: Callable[[], int]) -> None:
        assert function() == 2, f"{function()} is not 2"

    def two() -> int:
        """Right."""
        return 2

    def also_two() -> int:
        """Right, they say."""
        return 2 + 1

    def three() -> int:
        return 3

    def cross() -> int:
        raise ZeroDivisionError("of nothing")

    def hidden() -> int:
        """It looks like two.

        But it is none.
        """
        return 2

    wrong: Sequence[Callable[[], int]] = (three, cross, hidden)
    found = score(picky, (two, also_two), wrong)
    assert found.rejected == ["three", "cross"]
    assert found.alive == ["hidden"]
    assert found.accused == ["also_two"]
    assert found.points == 1
    assert found.wrong["cross"] == "ZeroDivisionError: of nothing"
    assert str(found) == (
        "2 of 3 wrong ones rejected, 1 of 2 right ones live\n"
        "  lives: hidden: It looks like two.\n"
        "  accused: also_two: 3 is not 2"
    )
