"""Orders in which the lessons are read."""

from __future__ import annotations

from pathlib import Path

import pytest

from mtd import cli
from mtd.course import lesson, tracks, workspace
from mtd.course.lesson import LessonError
from mtd.course.progress import Passed, Progress
from tests.course import small


def done(*numbers: float, track: str = "") -> Progress:
    return Progress(passed={number: Passed(3, "") for number in numbers}, track=track)


def test_every_lesson_is_in_one_of_the_longer_tracks_once() -> None:
    in_order = [one.number for one in tracks.in_order()]
    assert sorted(in_order) == [one.number for one in lesson.all_lessons()]


def test_no_lesson_comes_before_one_that_it_stands_on() -> None:
    in_order = [one.number for one in tracks.in_order()]
    early = {5.5: {8, 28}, 22: {28, 29}, 25: {35}, 28: {30}}  # the optional track comes last; ours is taken
    for one in tracks.in_order():
        for number in one.requires:
            is_later = in_order.index(number) > in_order.index(one.number)
            assert not is_later or one.number in early.get(number, set()), (one.number, number)


def test_the_ring_comes_within_three_hours() -> None:
    training = tracks.find("training")
    before = training.lessons[: training.order.index(13)]
    assert sum(one.minutes for one in before) <= 180
    assert tracks.find("evening").minutes <= 150


def test_the_evening_comes_first_then_what_is_left_of_the_training() -> None:
    assert tracks.chosen(done()).name == "evening"
    one = lesson.find(1)
    assert tracks.following(one, done(1)) == lesson.find(5)
    evening = tracks.find("evening").order
    assert tracks.chosen(done(*evening)).name == "training"
    assert tracks.following(lesson.find(17), done(*evening)) == lesson.find(6)
    assert tracks.following(lesson.find(6), done(*evening, 6)) == lesson.find(11)


def test_a_chosen_track_goes_on_with_what_was_left_out_and_then_ends() -> None:
    order = tracks.find("wires").order
    assert tracks.following(lesson.find(25), done(25, track="wires")) == lesson.find(order[0])
    everything = done(*(one.number for one in lesson.all_lessons()), track="wires")
    assert tracks.following(lesson.find(25), everything) is None


def test_a_room_without_tracks_has_the_order_of_its_numbers(tmp_path: Path) -> None:
    room = small.room(tmp_path)
    assert [one.number for one in tracks.in_order(room)] == [1, 2, 5]
    assert tracks.following(lesson.find(2, room), done(2), room) == lesson.find(5, room)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[[track]]\nname = "a"\ntitle = "A"\nabout = "b"\nlessons = [1, 3]\n', "has the lesson 3, and there is none"),
        ('[[track]]\nname = "a"\nlessons = [1]\n', "title"),
        ("[[track]\n", "tracks.toml"),
        ("", "tracks.toml"),
    ],
)
def test_a_file_that_is_wrong(tmp_path: Path, text: str, said: str) -> None:
    (small.room(tmp_path) / tracks.FILE).write_text(text)
    with pytest.raises(LessonError, match=said):
        tracks.all_tracks(tmp_path)


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    workspace.make(tmp_path / "course")
    monkeypatch.chdir(tmp_path / "course")
    assert cli.main(["track", "training"]) == 0
    assert "Next: 01 First picture" in capsys.readouterr().out
    assert workspace.find().progress().track == "training"
    assert cli.main(["track", "morning"]) == 2
    assert "there are evening, training, wires" in " ".join(capsys.readouterr().err.split())
