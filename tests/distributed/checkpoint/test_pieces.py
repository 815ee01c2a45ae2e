"""Boxes: every part is written once, and what is wanted is put together from what was saved."""

from __future__ import annotations

import numpy as np
from hypothesis import given, strategies as st

from minitorch_dist.distributed.checkpoint.pieces import About, Box, contradictions, overlap, within, writers
from minitorch_dist.distributed.tensor.placements import cut

SHAPES = st.lists(st.integers(1, 6), min_size=1, max_size=3).map(tuple)


def row_boxes(shape: tuple[int, ...], count: int) -> list[Box]:
    found = []
    for n in range(count):
        start, stop = cut(shape[0], count, n)
        found.append(Box((start, *[0] * (len(shape) - 1)), (stop - start, *shape[1:])))
    return found


@given(SHAPES, st.integers(1, 6), st.integers(1, 6))
def test_from_any_number_of_ranks_to_any_other(shape: tuple[int, ...], one: int, two: int) -> None:
    whole = np.arange(int(np.prod(shape))).reshape(shape)
    everything = Box((0,) * len(shape), shape)
    saved = {box: whole[within(box, everything)] for box in row_boxes(shape, one) if box.count}
    for wanted in row_boxes(shape, two):
        into = np.full(wanted.sizes, -1)
        for box, array in saved.items():
            part = overlap(box, wanted)
            if part is not None:
                into[within(part, wanted)] = array[within(part, box)]
        np.testing.assert_array_equal(into, whole[within(wanted, everything)])


@given(st.integers(1, 6), st.lists(st.integers(1, 100), min_size=1, max_size=12))
def test_what_all_have_is_written_once_and_evenly(ranks: int, sizes: list[int]) -> None:
    table = {f"t{n}": About((s,), "float32", Box((0,), (s,)), 4 * s) for n, s in enumerate(sizes)}
    found = writers([table] * ranks)
    assert sorted(name for part in found for name in part) == sorted(table)
    loads = [sum(table[name].nbytes for name in part) for part in found]
    assert max(loads) - min(loads) <= 4 * max(sizes)


def test_contradictions_are_told() -> None:
    a, b = About((3,), "float32", Box((0,), (3,)), 12), About((4,), "float32", Box((0,), (4,)), 16)
    assert contradictions([{"w": a}, {"w": a}]) == []
    assert contradictions([{"w": a}, {"w": b}]) == ["w is float32[4] on rank 1 and float32[3] on rank 0"]
