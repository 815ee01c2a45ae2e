"""Each reproduced table holds, to its tolerance; and a row that does not is seen."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from mtd.cli import main
from mtd.papers import PAPERS, paper
from mtd.papers.paper import Row
from mtd.planning.caching_allocator import CachingAllocator

LONG = {"powersgd", "zero_volume"}  # seconds each
LONGER = {"zero_memory", "megatron_speed", "torchtitan", "fsdp_speed"}  # many of them; `make deep`


def marks(name: str) -> list[pytest.MarkDecorator]:
    return [pytest.mark.slow] * (name in LONG) + [pytest.mark.deep] * (name in LONGER)


@pytest.mark.parametrize("name", [pytest.param(name, marks=marks(name)) for name in PAPERS])
def test_the_paper_is_reproduced(name: str) -> None:
    wrong = [row for row in paper(name).rows() if not row.holds]
    assert not wrong


def test_the_page_has_a_line_for_each() -> None:
    page = (Path(__file__).parents[2] / "docs" / "papers.md").read_text(encoding="utf-8")
    lines = [line.split("`")[1] for line in page.splitlines() if line.startswith("| `")]
    assert lines == sorted(PAPERS)


def test_what_holding_means() -> None:
    assert Row("x", 2.0, 2.01, 0.01).holds and not Row("x", 2.0, 2.05, 0.01).holds
    assert Row("x", (1.0, 2.0), 1.5).holds and not Row("x", (1.0, 2.0), 2.5).holds
    assert Row("x", 1.5, (1.0, 2.0)).holds and not Row("x", 0.5, (1.0, 2.0)).holds


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["papers", "goyal"]) == 0
    assert "12.8 Gb/s" in capsys.readouterr().out
    assert main(["papers", "nonsense"]) == 2
    assert "there is no paper 'nonsense'" in capsys.readouterr().err


def test_a_caching_allocator_keeps_what_it_has_reserved() -> None:
    """torch's numbers for: 3 MiB and 3 MiB share a segment of 20, 30 MiB has one of its own, a small one 2 MiB."""
    mib, one = 1 << 20, CachingAllocator()
    for key, size in enumerate((3 * mib, 3 * mib, 30 * mib, 100)):
        one.take(key, size)
    assert one.reserved == 52 * mib
    one.give(0)
    one.give(1)  # joined with their free neighbours: 14 MiB and 6
    one.take(5, 20 * mib)
    assert one.reserved == 52 * mib
    one.give(2)
    one.take(6, 31 * mib)  # the free block of 30 is too small
    assert one.reserved == 84 * mib
    one.take(7, 28 * mib)  # what is left of it stays free
    one.take(8, 2 * mib)
    assert one.reserved == 84 * mib


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(1, 40 << 20)), max_size=60))
def test_a_caching_allocator_never_lends_twice(orders: list[tuple[int, int]]) -> None:
    one, held = CachingAllocator(), {}
    for key, size in orders:
        if key in held:
            one.give(key)
            del held[key]
        else:
            one.take(key, size)
            held[key] = size
        places = sorted((*one._held[each], size) for each, size in held.items())
        for (segment, at, size), (other, after, _) in pairwise(places):
            assert segment != other or at + size <= after
        assert sum(held.values()) <= one.reserved
