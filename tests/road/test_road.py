"""The roads of the calls that people read first: how long they may be, and that the page tells of them."""

import functools
import re
import sys
from pathlib import Path

import pytest

from mtd.cli import main
from mtd.cli.road import counting
from mtd.cli.road.counting import HOUSE, EnteredFunction, Road
from mtd.cli.road.trips import STORIES, TRIPS

sys.path.insert(0, str(Path(__file__).parents[2] / "docs" / "generator"))
try:
    import one_call as pages
finally:
    sys.path.pop(0)

WORLDS = 30  # before chance is ruled out
OF_CHANCE = 6  # files that only a waiting rank enters


@functools.cache
def roads_of(name: str) -> dict[str, Road]:
    return TRIPS[name].shortest_roads()


def inner() -> int:
    return sum(number for number in range(3))


def test_the_counter_sees_our_functions_once_and_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting, "OURS", (__file__,))
    road = counting.follow(lambda: (inner(), inner()))
    named = {function.name: function for function in road.functions}
    first = inner.__code__.co_firstlineno
    assert named["inner"][2:] == (first, first + 1)
    assert road.files == ["tests/road/test_road.py"]


def test_lines_of_a_function_inside_another_count_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting, "docstrings", lambda path: {2} if path == "a.py" else set())
    road = Road(
        [
            EnteredFunction("a.py", "f", 1, 10),
            EnteredFunction("a.py", "f.<locals>.g", 3, 5),
            EnteredFunction("b.py", "h", 3, 5),
        ]
    )
    assert road.files == ["a.py", "b.py"]
    assert road.lines == 12  # without the docstring


@pytest.mark.parametrize("name", TRIPS)
def test_no_road_grows(name: str) -> None:
    trip = TRIPS[name]
    for title, road in roads_of(name).items():
        limit = trip.limits[title]
        assert road.files, title
        assert len(road.files) <= limit.files, (title, road.files)
        assert road.lines <= limit.lines, (title, road.lines)


@pytest.mark.parametrize("name", ["all_reduce", "fsdp"])
def test_the_first_call_goes_the_whole_road_of_the_second(name: str) -> None:
    """There is one path: a second call always enters no function that the first one never enters. In each world chance
    decides which message comes before its receive."""
    ever: set[tuple[str, str]] = set()  # by a first call
    always: set[tuple[str, str]] | None = None  # by each second call
    for _ in range(WORLDS):
        first, second = (
            {(path, function) for path, function, _, _ in road.functions} for road in TRIPS[name].roads().values()
        )
        ever |= first
        always = second if always is None else always & second
        assert always
        if always <= ever:
            break
    assert always is not None and always - ever == set()


@pytest.mark.parametrize("name", TRIPS)
def test_the_words_of_a_story_stand_in_the_glossary(name: str) -> None:
    glossary = (HOUSE / "docs" / "glossary.md").read_text("utf-8")
    heads = re.findall(r"^\| ([^|(]+?)(?: \([^|]*)? \|", glossary, re.M)
    known = {word.casefold() for head in heads for word in head.split(", ")}
    used = {word.casefold() for word in re.findall(r"\*([^*]+)\*", STORIES[name])}
    assert used
    assert {word for word in used if not {word, word.removesuffix("s")} & known} == set()


@pytest.mark.parametrize("name", ["backward", "step"])
def test_the_page_has_the_road_of_a_call_that_waits_for_nobody(name: str) -> None:
    """`python docs/generator/one_call.py` makes it anew."""
    text = pages.PAGE.read_text("utf-8")
    for road in roads_of(name).values():
        assert pages.table(road) in text


ROW = re.compile(r"\| \[[^]]+\]\(\.\./([^)]+)\) \| (.*) \| (.*) \|")


@pytest.mark.parametrize("name", [name for name in TRIPS if name not in ("backward", "step")])
def test_the_page_has_the_road_of_two_ranks_up_to_a_loop_of_waiting(name: str) -> None:
    """Whether a rank waits is left to chance, so some files may be on one road and not on the other."""
    text = pages.PAGE.read_text("utf-8")
    for title, road in roads_of(name).items():
        part = text.partition(f"## {TRIPS[name].title}\n")[2].partition("\n## ")[0]
        part = part.partition(f"### {title}\n")[2].partition("\n### ")[0] if f"### {title}" in part else part
        told = {path for path, _, _ in ROW.findall(part)}
        assert told, title
        assert len(told ^ {*road.files}) <= OF_CHANCE, (title, told ^ {*road.files})


def test_the_page_says_what_files_say_and_names_functions_that_are_there() -> None:
    for path, what, names in ROW.findall(pages.PAGE.read_text("utf-8")):
        assert counting.about(path) == what, path
        code = (HOUSE / path).read_text("utf-8")
        for name in re.findall(r"`([^`]+)`", names):
            last = name.split(".")[-1]
            assert last.startswith("<") or re.search(rf"\b{re.escape(last)}\b", code), (path, name)


def test_every_file_of_the_page_is_there() -> None:
    links = re.findall(r"\]\(\.\./([^)]+)\)", pages.PAGE.read_text("utf-8"))
    assert links
    assert [link for link in links if not (HOUSE / link).is_file()] == []


def test_the_command_prints_files_and_refuses_a_wrong_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["road", "backward", "--functions"]) == 0
    printed = capsys.readouterr().out
    assert "tensors/core/engine.py" in printed and "goal: 5 files" in printed
    assert main(["road", "backwards"]) == 2
    assert "backward" in capsys.readouterr().err
