"""Every element of a tensor comes from exactly one chunk, or loading says which part does not."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import minitorch_dist as mtd
from minitorch_dist.distributed import checkpoint as dcp
from minitorch_dist.distributed.checkpoint import CheckpointException, exact_cover, writing
from minitorch_dist.distributed.checkpoint.folder import Checkpoint
from minitorch_dist.distributed.checkpoint.pieces import Box, within

SHAPES = st.lists(st.integers(1, 4), max_size=3).map(tuple)


@st.composite
def boxes_in(draw: Any, shape: tuple[int, ...]) -> Box:
    begins = [draw(st.integers(0, extent)) for extent in shape]
    sizes = [draw(st.integers(0, e - b)) for e, b in zip(shape, begins, strict=True)]
    return Box(tuple(begins), tuple(sizes))


@st.composite
def tilings(draw: Any, shape: tuple[int, ...]) -> list[Box]:
    """The whole, cut in two again and again."""
    boxes = [Box((0,) * len(shape), shape)]
    for _ in range(draw(st.integers(0, 4)) if shape else 0):
        number, axis = draw(st.integers(0, len(boxes) - 1)), draw(st.integers(0, len(shape) - 1))
        offsets, sizes = boxes.pop(number)
        place = draw(st.integers(0, sizes[axis]))
        for begin, extent in ((0, place), (place, sizes[axis] - place)):
            boxes.append(
                Box(
                    (*offsets[:axis], offsets[axis] + begin, *offsets[axis + 1 :]),
                    (*sizes[:axis], extent, *sizes[axis + 1 :]),
                )
            )
    return boxes


def counts(shape: tuple[int, ...], boxes: list[Box]) -> Any:
    found, whole = np.zeros(shape, int), Box((0,) * len(shape), shape)
    for box in boxes:
        found[within(box, whole)] += 1
    return found


@settings(max_examples=400)
@given(SHAPES.flatmap(lambda shape: st.tuples(st.just(shape), st.lists(boxes_in(shape), max_size=5))))
def test_any_boxes_against_counting(case: tuple[tuple[int, ...], list[Box]]) -> None:
    shape, boxes = case
    times, found = counts(shape, boxes), exact_cover.flaw(shape, boxes)
    if found is None:
        assert (times == 1).all()
    else:
        part = times[within(found.part, Box((0,) * len(shape), shape))]
        assert part.size and (part == found.times).all() and found.times != 1


@given(SHAPES.flatmap(lambda shape: st.tuples(st.just(shape), tilings(shape))))
def test_what_is_cut_covers(case: tuple[tuple[int, ...], list[Box]]) -> None:
    assert exact_cover.flaw(*case) is None


def test_it_says_which_part_and_how_often() -> None:
    boxes = [Box((0, 0), (2, 3)), Box((2, 0), (2, 3)), Box((4, 0), (2, 2))]
    assert str(exact_cover.flaw((6, 3), boxes)) == "elements [4:6, 2:3] are in none of them, not in one"
    boxes += [Box((3, 1), (3, 2))]
    assert str(exact_cover.flaw((6, 3), boxes)) == "elements [3:4, 1:2] are in 2 of them, not in one"
    assert str(exact_cover.flaw((), [])) == "the only element is in none of them, not in one"
    with pytest.raises(ValueError, match="cut in 9 dimensions"):
        exact_cover.flaw((2,) * 9, [Box((0,) * 9, (1,) * 9)])


def steps_of(boxes: int) -> int:
    """How many calls it takes to look at so many boxes; the last one is missing."""
    made, count = [Box((n,), (1,)) for n in range(boxes - 1)], 0

    def counting(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(counting)
    try:
        assert exact_cover.flaw((boxes,), made) is not None
    finally:
        sys.setprofile(None)
    return count


def test_its_cost_grows_as_the_number_of_boxes() -> None:
    one, two = steps_of(1000), steps_of(2000)
    assert two < 2.1 * one


# ------------------------------------------------------------------------- checkpoints on the disk


def write(path: Path, array: Any, boxes: list[Box]) -> None:
    """A checkpoint whose only tensor `x` has these chunks, each in a file of its own."""
    chunks, whole = [], Box((0,) * array.ndim, array.shape)
    for rank, box in enumerate(boxes):
        file = writing.file_name("g", rank, len(boxes))
        writing.write_part(path, file, {"x": np.array(array[within(box, whole)])}).close()
        chunks.append({"file": file, "offsets": box.offsets, "sizes": box.sizes})
    tensors = {"x": {"shape": array.shape, "dtype": str(array.dtype), "chunks": chunks}}
    writing.write_index(path, "g", tensors, {"n": 1}, {"x": ["x"], "n": ["n"]})


def plainly(path: Path, shape: tuple[int, ...]) -> Any:
    into = mtd.full(shape, -1.0)
    try:
        dcp.load({"x": into, "n": 0}, checkpoint_id=path)
    finally:
        load_found[:] = [into]
    return into


def box_by_box(path: Path, shape: tuple[int, ...]) -> Any:
    """As another number of ranks would, each its rows."""
    into = mtd.full(shape, -1.0)
    load_found[:] = [into]
    found = Checkpoint(path)
    with closing(found):
        for row in range(shape[0] if shape else 1):
            begin = (row, *(0,) * (len(shape) - 1)) if shape else ()
            target = into.array[row : row + 1] if shape else into.array
            found.check("x", Box(begin, target.shape))
            found.read("x", Box(begin, target.shape), target)
    return into


load_found: list[Any] = []  # the tensor that a door was to fill
DOORS = (plainly, box_by_box)


@st.composite
def damaged(draw: Any) -> tuple[tuple[int, ...], list[Box], Callable[[list[Any]], str]]:
    """A shape, its chunks, and what happens to the list of them in the index."""
    shape = draw(SHAPES)
    boxes = draw(tilings(shape))
    number = draw(st.integers(0, len(boxes) - 1).filter(lambda n: boxes[n].count))
    ways = ["remove", "double"] + ["shift", "grow"] * bool(shape)
    how = draw(st.sampled_from(ways))
    axis = draw(st.integers(0, max(0, len(shape) - 1)))
    by = draw(st.sampled_from([-1, 1]))

    def act(chunks: list[Any]) -> str:
        at = next(
            n for n, chunk in enumerate(chunks) if (tuple(chunk["offsets"]), tuple(chunk["sizes"])) == boxes[number]
        )
        if how == "remove":
            del chunks[at]
        elif how == "double":
            chunks.append(chunks[at])
        elif how == "shift":
            chunks[at]["offsets"][axis] += by
        else:
            chunks[at]["sizes"][axis] += by
        return how

    return shape, boxes, act


@pytest.mark.parametrize("door", DOORS)
@settings(max_examples=60)
@given(case=damaged())
def test_a_chunk_that_is_lost_doubled_or_moved_is_an_error(
    door: Callable[..., Any], case: Any, tmp_path_factory: pytest.TempPathFactory
) -> None:
    shape, boxes, act = case
    path = tmp_path_factory.mktemp("checkpoint")
    array = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    write(path, array, boxes)
    assert np.array_equal(door(path, shape).array, array)
    index = json.loads((path / "index.json").read_text())
    act(index["tensors"]["x"]["chunks"])
    (path / "index.json").write_text(json.dumps(index))
    with pytest.raises(CheckpointException, match=r"\bx\b"):
        door(path, shape)
    assert not load_found or (load_found[0].array == -1).all()


def test_nothing_is_written_to_before_all_was_looked_at(tmp_path: Path) -> None:
    dcp.save({"a": mtd.ones(3), "b": mtd.ones(3), "n": (1, 2)}, checkpoint_id=tmp_path)
    text = (tmp_path / "index.json").read_text()
    for old, new in (('"packed": "', '"packed": "AA'), ('"key"', '"kez"'), ('"b": {', '"c": {')):
        (tmp_path / "index.json").write_text(text.replace(old, new))
        state = {"a": mtd.zeros(3), "b": mtd.zeros(3), "n": 0}
        if text.replace(old, new) != text:
            with pytest.raises(CheckpointException):
                dcp.load(state, checkpoint_id=tmp_path)
            assert not state["a"].any() and not state["b"].any() and state["n"] == 0


def test_a_file_that_has_something_else_is_an_error(tmp_path: Path) -> None:
    dcp.save({"x": mtd.ones(3)}, checkpoint_id=tmp_path)
    text = (tmp_path / "index.json").read_text()
    (tmp_path / "index.json").write_text(text.replace("float32", "float64"))
    with pytest.raises(CheckpointException, match=r"x in .* is float32\[3\], the index says float64"):
        dcp.load({"x": mtd.zeros(3)}, checkpoint_id=tmp_path)
    (tmp_path / "index.json").write_text(text.replace('"x": [', '"x": [], "x": ['))
    with pytest.raises(CheckpointException, match="'x' occurs twice"):
        dcp.load({"x": mtd.zeros(3)}, checkpoint_id=tmp_path)
