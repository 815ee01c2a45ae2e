"""Guesses: numbers as people write them, and how far they are from the truth."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, strategies as st

from mtd.course import predicting
from mtd.course.progress import Prediction

POSITIVE = st.floats(1e-6, 1e12)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("144", 144),
        ("1.5e3", 1500),
        ("3/2", 1.5),
        (" 2*72 ", 144),
        ("10_000", 10_000),
        ("10,000", 10_000),
        ("2 × 3/4 × 96", 144),
        ("-3", -3),
        ("0", 0),
    ],
)
def test_numbers_as_people_write_them(text: str, number: float) -> None:
    assert predicting.parse(text) == number


@pytest.mark.parametrize("text", ["", "many", "1//2", "__import__('os')", "2**3"])
def test_what_is_no_number(text: str) -> None:
    with pytest.raises(ValueError):
        predicting.parse(text)


@given(POSITIVE, POSITIVE, st.sampled_from([9, 21, 33]))
def test_a_strip_shows_on_which_side_it_was(guess: float, truth: float, width: int) -> None:
    cells = predicting.strip(guess, truth, width)
    assert len(cells) == width
    place = next(i for i, cell in enumerate(cells) if cell in "●«»")
    middle = width // 2
    if guess > truth:
        assert place >= middle
    if guess < truth:
        assert place <= middle
    if predicting.is_right(guess, truth):
        assert place == middle
    assert (cells[place] == "●") == (abs(round(math.log2(predicting.ratio(guess, truth)) * middle / 4)) <= middle)


def test_nothing_and_less_than_nothing() -> None:
    assert predicting.strip(0, 5, 9) == "«···│····" and predicting.strip(5, 0, 9) == "····│···»"
    assert predicting.strip(0, 0, 9) == "····●····" and predicting.strip(-1, 5, 9)[0] == "«"


def test_the_second_half_beside_the_first() -> None:
    worse = [Prediction(n, "?", 100, 5) for n in range(3)]
    better = [Prediction(n, "?", 5, 5) for n in range(3, 6)]
    assert predicting.summary([]) == []
    assert predicting.summary(worse) == ["0 of 3 exact, 0 within a factor of two."]
    assert predicting.summary(worse + better)[1] == (
        "The first 3: 0 of 3 exact, 0 within a factor of two. The last 3: 3 of 3 exact, 3 within a factor of two."
    )


def test_by_parts_of_the_course_and_the_furthest() -> None:
    found = [Prediction(1, "how many", 40, 10), Prediction(2, "how long", 5, 10), Prediction(5, "how far", 10, 10)]
    parts = {1: "first", 2: "first", 5: "second"}
    assert predicting.by_part(found, parts) == [("first", 3.0, 2), ("second", 1.0, 1)]
    assert [one.ask for one in predicting.furthest(found)] == ["how many"]
    assert math.isinf(predicting.off(Prediction(1, "none", 0, 5)))
    assert [predicting.number(each) for each in (8e6, 4 / 3, 1e15, 0)] == ["8,000,000", "1.33333", "1e+15", "0"]
