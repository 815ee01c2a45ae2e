"""Properties as people type them: which accept and reject rightly, and what is said of the others."""

from __future__ import annotations

import importlib
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given, settings, strategies as st

from mtd.course import lesson
from mtd.course.property_trial import EXAMPLES, accepts, named, rejects, solution, survivors, versions
from transports.errors import Deadlock

numbers = st.lists(st.integers(-9, 9))


def by_insertion(given_ones: list[int]) -> list[int]:
    """Puts each number where it belongs."""
    made: list[int] = []
    for one in given_ones:
        at = next((place for place, other in enumerate(made) if other > one), len(made))
        made.insert(at, one)
    return made


def unsorted(given_ones: list[int]) -> list[int]:
    """Returns them as they came."""
    return list(given_ones)


def without_copies(given_ones: list[int]) -> list[int]:
    """Loses numbers that occur twice."""
    return sorted({*given_ones})


def crashing(given_ones: list[int]) -> list[int]:
    """Raises where there is a negative number."""
    if any(one < 0 for one in given_ones):
        raise IndexError("negative")
    return sorted(given_ones)


RIGHT, WRONG = [sorted, by_insertion], [unsorted, without_copies]


@given(numbers=numbers)
def good(sort: Any, numbers: list[int]) -> None:
    assert sort(numbers) == sorted(numbers), "not sorted"


@settings(max_examples=1)
@given(numbers)
def good_with_settings_of_its_own(sort: Any, numbers: list[int]) -> None:
    assume(len(numbers) != 1)
    assert sort(numbers) == sorted(numbers)


@given(st.data())
def good_by_data(sort: Any, data: Any) -> None:
    drawn = data.draw(numbers)
    assert sort(drawn) == sorted(drawn)


@pytest.mark.parametrize("test", [good, good_with_settings_of_its_own, good_by_data])
def test_a_good_property(test: Any) -> None:
    for _ in range(2):  # a second trial is like the first
        accepts(test, RIGHT)
        rejects(test, WRONG)


def test_each_trial_has_the_same_examples() -> None:
    seen: list[str] = []

    def looks(given_ones: list[int]) -> list[int]:
        """Right."""
        seen.append(repr(given_ones))
        return sorted(given_ones)

    accepts(good, [looks])
    first, seen[:] = list(seen), []
    accepts(good, [looks])
    assert first == seen and len(first) == EXAMPLES


def complaint(test: Any, right: Any = RIGHT, wrong: Any = WRONG) -> str:
    with pytest.raises(AssertionError) as caught:
        accepts(test, right)
        rejects(test, wrong)
    return str(caught.value)


def test_the_example_is_told_small() -> None:
    said = complaint(good, [sorted, unsorted])
    assert said.startswith("your property fails for unsorted, a right program (Returns them as they came): not sorted")
    assert "with numbers=[0, -1]" in said or "with numbers=[1, 0]" in said


def test_a_loop() -> None:
    def loop(sort: Any) -> None:
        for one in ([], [1], [2, 1]):
            assert sort(one) == sorted(one)

    assert "loop is no Hypothesis test: there is no @given" in complaint(loop)


def test_a_loop_below_given() -> None:
    @given(nothing=st.none())
    def loop(sort: Any, nothing: None) -> None:
        for one in ([], [1], [2, 1]):
            assert sort(one) == sorted(one)

    assert "has only one example to draw" in complaint(loop)


def test_it_cannot_fail() -> None:
    @given(numbers=numbers)
    def looks_at_nothing(sort: Any, numbers: list[int]) -> None:
        sort(numbers)

    said = complaint(looks_at_nothing)
    assert "passes for all 2 wrong programs: can it fail at all?\n    unsorted: Returns them" in said


def test_it_always_fails() -> None:
    @given(numbers=numbers)
    def pessimist(sort: Any, numbers: list[int]) -> None:
        assert False, "no"  # noqa: B011

    assert "The other right programs do not pass it, either" in complaint(pessimist)


def test_it_calls_nothing() -> None:
    @given(numbers=numbers)
    def talks_to_itself(sort: Any, numbers: list[int]) -> None:
        assert len(numbers) == len(sorted(numbers))

    assert "never calls the program" in complaint(talks_to_itself)


def test_a_survivor_is_named_with_its_story() -> None:
    @given(numbers=numbers)
    def in_order(sort: Any, numbers: list[int]) -> None:
        found = sort(numbers)
        assert all(a <= b for a, b in pairwise(found))

    said = complaint(in_order)
    assert said == "this wrong program passes your property:\n    without_copies: Loses numbers that occur twice"


def test_a_crash_is_no_kill() -> None:
    said = complaint(good, RIGHT, [unsorted, crashing])
    assert "crashes" in said and "crashing: Raises where there is a negative number" in said
    assert "IndexError: negative" in said and "unsorted" not in said


def test_the_programs_place() -> None:
    @given(numbers=numbers)
    def without_program(numbers: list[int]) -> None:
        assert numbers == sorted(numbers)

    @given(numbers=numbers)
    def two_are_left(sort: Any, other: Any, numbers: list[int]) -> None:
        assert sort(numbers) == other(numbers)

    assert "left for the program: none" in complaint(without_program)
    assert "left for the program: sort, other" in complaint(two_are_left)


def test_hypothesis_cannot_draw() -> None:
    @given(numbers=numbers.filter(lambda _: False))
    def nothing_fits(sort: Any, numbers: list[int]) -> None:
        assert sort(numbers) == sorted(numbers)

    @given(nubmers=numbers)
    def misspelt(sort: Any, numbers: list[int]) -> None:
        assert sort(numbers) == sorted(numbers)

    assert "Hypothesis stops with Unsatisfiable" in complaint(nothing_fits)
    assert "Hypothesis stops with InvalidArgument" in complaint(misspelt)


def test_an_error_of_the_library_is_a_kill() -> None:
    def deadlocked(given_ones: list[int]) -> list[int]:
        """Waits for ever where there is a number."""
        if given_ones:
            raise Deadlock("rank 0 waits for rank 1")
        return []

    assert survivors(good, [deadlocked, unsorted]) == ([], [])
    (said,) = survivors(good, [crashing])[1]
    assert said.startswith("crashing: Raises where there is a negative number (IndexError")


def test_fewer_examples() -> None:
    seen: list[object] = []

    def counts(given_ones: list[int]) -> list[int]:
        """Right."""
        seen.append(given_ones)
        return sorted(given_ones)

    accepts(good, [counts], examples=7)
    assert len(seen) == 7


@pytest.mark.parametrize("test", [None, 3, "property"])
def test_no_function(test: Any) -> None:
    assert "expected a function under @given" in complaint(test)


def test_mutants_of_a_lesson_as_programs() -> None:
    (found,) = versions(lesson.find(1), ["no_wrap"], lambda names: names["right_of"])
    assert found.__name__ == "no_wrap" and found(2, 3) == 3
    ours = solution(lesson.find(1), lambda names: names["right_of"], "Ours.")
    assert (ours.__name__, ours.__doc__, ours(2, 3)) == ("ours", "Ours.", 0)
    shout = named(lambda word: word.upper(), "shout", "Says it louder.")
    assert shout.__name__ == "shout" and shout("a") == "A"


@given(numbers=numbers)
def property_of_sort(sort: Any, numbers: list[int]) -> Any:
    return sort(numbers) == sorted(numbers)


@given(numbers, st.integers())
def property_of_program(numbers: list[int], number: int, program: Any) -> None:
    assert program(numbers) == sorted(numbers)


@given(numbers=numbers)
def property_without_words(sort: Any, numbers: list[int]) -> None:
    if sort(numbers) != numbers:
        raise AssertionError  # as an assert outside of pytest does


@pytest.mark.parametrize(
    ("test", "said"),
    [
        (property_of_sort, "your property returns True. A property says no by an assert that fails"),
        (property_of_program, "the program comes first in property_of_program: def property_of_program(program, …)"),
        (property_without_words, "an assert fails (test_property_trial.py:"),
    ],
)
def test_mistakes_that_people_type(test: Any, said: str) -> None:
    with pytest.raises(AssertionError) as caught:
        accepts(test, [sorted])
    assert said in str(caught.value)


def test_a_verdict_does_not_hang_on_what_else_was_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hypothesis draws numbers that stand in local modules: a property would find this one by luck."""
    drawn: list[list[int]] = []

    @given(number=st.integers())
    def rare(program: Any, number: int) -> None:
        drawn[-1].append(number)
        program(number)

    def once(word: str) -> None:
        (tmp_path / f"{word}.py").write_text(
            "LUCKY = [{}]\n".format(", ".join(map(str, range(48_611_000, 48_611_200))))
        )
        monkeypatch.syspath_prepend(str(tmp_path))
        importlib.import_module(word)
        drawn.append([])
        assert survivors(rare, [sorted_number], 200) == (["sorted_number: Any number is right"], [])

    def sorted_number(number: int) -> int:
        """Any number is right."""
        return number

    once("seldom_seen_before")
    once("seldom_seen_behind")
    assert drawn[0] == drawn[1] and len(drawn[0]) >= 100
    assert not {*range(48_611_000, 48_611_200)} & {abs(number) for number in drawn[0]}
