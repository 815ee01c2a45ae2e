"""The grids of lessons: right answers fill the grid, wrong ones draw another, in which the true first cell is marked."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType

import pytest

from mtd import cli
from mtd.course import checking, lab, lesson, workspace
from mtd.course.examination import Examination
from mtd.course.lesson import Lesson, Mutant
from mtd.course.path import LessonAnswer
from mtd.grids.grid import Grid


def check_of(one: Lesson, text: str, folder: Path) -> ModuleType:
    """Call it within `searched`."""
    (folder / one.file).write_text(text, encoding="utf-8")
    importlib.invalidate_caches()
    return checking.load(one)


def drawn(number: int, mutant: str, lamp: str, folder: Path) -> Grid | None:
    """The grid after a check in which this lamp was out; of our own answer, where no mutant is named."""
    one = lesson.find(number)
    text = next((each.text for each in one.mutants if each.name == mutant), one.source.solution())
    with LessonAnswer(one, folder).searched():
        check = check_of(one, text, folder)
        return checking.wrong_contents(check, lamp) if lamp else checking.contents(check)


def with_a_grid() -> list[Lesson]:
    return [
        one
        for one in lesson.all_lessons()
        if {"FILLS", "def contents("}
        & {word for word in ("FILLS", "def contents(") if word in (one.folder / "check.py").read_text("utf-8")}
    ]


@pytest.mark.parametrize("one", with_a_grid(), ids=lambda one: one.folder.name)
def test_our_own_answer_fills_it(one: Lesson, tmp_path: Path) -> None:
    """In 80 columns and 15 lines, with its words."""
    grid = drawn(int(one.number), "", "", tmp_path)
    assert grid is not None
    assert grid.fault is None or one.number == 12  # which is about a wrong one
    lines = str(grid).splitlines()
    assert len(lines) <= 15 and max(map(len, lines)) <= 80


VALUES = {"correct", "exactly once", "replicas", "buffers", "all_gather", "reduce_scatter", "all_to_all"}
# Right values, which are found otherwise: operations of the library, ranks that stand still, costs, memory, other operations and types.
OTHERWISE = {
    "the_librarys_own",
    "the_librarys_all_reduce",
    "from_anybody",
    "everybody_sends_first",
    "max_for_min",
    "zeros",
    "eight_bytes_each",
    "zeros_of_float32",
    "keeps_every_vector",
    "keeps_the_graphs",
}
WRONG = [
    (one, mutant)
    for one in with_a_grid()
    for mutant in one.mutants
    if VALUES & {*mutant.caught_by} and mutant.name not in OTHERWISE and one.number != 12
]


@pytest.mark.slow
@pytest.mark.parametrize(("one", "mutant"), WRONG, ids=lambda each: getattr(each, "name", str(each)))
def test_each_wrong_value_draws_another_picture(one: Lesson, mutant: Mutant, tmp_path: Path) -> None:
    """By itself, or in the grid of the lamp that is out."""
    (tmp_path / "right").mkdir()
    with LessonAnswer(one, tmp_path / "right").searched():
        check = check_of(one, one.source.solution(), tmp_path / "right")
        right = {
            str(checking.contents(check)),
            *(str(lab.grid(*given)) for given in getattr(check, "FILLS", {}).values()),
        }
    with LessonAnswer(one, tmp_path).searched():
        check = check_of(one, mutant.text, tmp_path)
        found = [checking.contents(check), *(lab.grid(*given) for given in getattr(check, "FILLS", {}).values())]
    assert any(str(grid) not in right for grid in found)
    for grid in found:
        assert grid is not None
        if grid.fault is not None:  # what is marked is wrong in the end
            _, row, column, _ = grid.fault
            assert grid.steps[-1].cells[row][column] != grid.due[row][column] or one.number == 23


# Mutants with wrong values: the lamp, and the first wrong cell as (step, row, column), found by hand.
FIRST = [
    # The chunk index runs the wrong way: already the first message is added to another chunk.
    (13, "plus_for_minus", "correct", ("1", 0, "1"), "It came with c₂ from rank 2, sent at ring.py:"),
    # The second half begins with a chunk of one's own: a partial sum is overwritten.
    (13, "begins_with_its_own", "correct", ("3", 0, "2"), "It came with c₂ from rank 2, sent at ring.py:"),
    (13, "truncated", "correct", ("4", 0, "3"), "bc never came"),
    (13, "tutorial_of_2019", "correct", ("2", 0, "0–2"), "rank 0 is counted twice"),
    (13, "own_part_left_out", "all_gather", ("2", 0, "0"), "a never came"),
    (13, "ends_at_the_neighbour", "reduce_scatter", ("2", 0, "0"), "a₁ is element 1 of rank 0"),
    (14, "nobody_folds", "correct", ("4", 1, "0–4"), "e never came"),
    (14, "nobody_folds_out", "correct", ("3", 0, "0–4"), "bcde never came"),
    (14, "numbers_are_ranks", "correct", ("at first", 3, "0–4"), "rank 3 is counted twice"),
    # Gradients come from the last layer to the first, and the ring of one number ends on rank 1.
    (17, "sum_for_mean", "average", ("6 ms", 1, "g1"), "the sum of all 3 and not their average"),
    (17, "mean_of_means", "loss", ("5.5 ms", 0, "g1"), "rank 0 is counted twice"),
    (17, "only_what_is_trained", "start", ("9 ms", 1, "f"), "b instead of a in the end"),
    (18, "only_the_last_piece", "pieces", ("26 ms", 0, "g0"), "abc instead of aabbcc"),
    (18, "decides_in_backward", "pieces", ("20 ms", 0, "g3"), "rank 0 is counted"),
    (21, "keeps_new_values", "ZeRO", ("5 ms", 0, "w1"), "abc never came"),
    (21, "sum_for_mean", "correct", ("4.5 ms", 0, "w0"), "the sum of all 3 and not their average"),
    (22, "no_memory", "at most once", ("request 0", 1, "a"), "rank 1 runs a again"),
    (26, "only_the_last", "correct", ("9.5 ms", 1, "grad"), "a is lost"),
]


@pytest.mark.parametrize(("number", "mutant", "lamp", "cell", "words"), FIRST, ids=lambda one: str(one))
def test_the_first_wrong_cell(
    number: int, mutant: str, lamp: str, cell: tuple[str, int, str], words: str, tmp_path: Path
) -> None:
    one = lesson.find(number)
    with LessonAnswer(one, tmp_path).searched():
        check = check_of(one, next(each.text for each in one.mutants if each.name == mutant), tmp_path)
        grid = checking.wrong_contents(check, lamp, "")
    assert grid is not None and grid.fault is not None
    step, row, column, said = grid.fault
    assert (grid.steps[step].name, row, grid.columns[column]) == cell, said
    assert words in said
    (tmp_path / "right").mkdir()
    assert str(grid) != str(drawn(number, "", "", tmp_path / "right"))


def test_other_operations_and_given_tensors(tmp_path: Path) -> None:
    """An answer that is right for sums may be wrong for the smallest, and a right one may spoil its input."""
    one = lesson.find(13)
    with LessonAnswer(one, tmp_path).searched():
        text = {each.name: each.text for each in one.mutants}
        check = check_of(one, text["zeros"], tmp_path)
        token = "mtc1:all_reduce;ranks=3;count=3;op=max;eager"
        grid = checking.wrong_contents(check, "correct", token)
    assert grid is not None and grid.fault is not None and ", max:" in grid.title
    assert "nothing from step" in grid.fault.text


@pytest.mark.slow
def test_it_comes_with_the_verdict(tmp_path: Path) -> None:
    """After a pass, and after a failure, from the learner's own process."""
    one = lesson.find(14)
    for text, is_wrong in ((one.source.solution(), False), (one.mutants[0].text, None)):
        (tmp_path / one.file).write_text(text, encoding="utf-8")
        with Examination(LessonAnswer(one, tmp_path)) as exam:
            exam.wait()
        assert exam.verdict is not None
        if is_wrong is False:
            assert exam.verdict.is_passed and exam.grid is not None and exam.grid.fault is None


@pytest.mark.slow
def test_it_is_written_as_a_page_and_as_svg_that_moves(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    where, _ = workspace.make(tmp_path / "course")
    monkeypatch.chdir(where.folder)
    one = lesson.find(13)
    where.file(one).write_text(one.source.solution(), encoding="utf-8")
    for options in (["--html"], ["--svg"], ["--moving"]):
        assert cli.main(["show", "13", *options]) == 0
        made = where.place(one) / ("ring.html" if options == ["--html"] else "ring.svg")
        text = made.read_text("utf-8")
        assert "rank 2" in text and ("<animate" in text) == (options == ["--moving"])
    first = lesson.find(1)
    where.file(first).write_text(first.source.solution(), encoding="utf-8")
    capsys.readouterr()
    assert cli.main(["show", "1", "--moving"]) == 2
    assert "no grid" in capsys.readouterr().err
