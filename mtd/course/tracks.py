"""Orders in which the lessons are read: `tracks.toml` in their folder.

    all_tracks()              an evening, training, wires and asking
    in_order()                every lesson once, as the longer tracks have them
    chosen(progress)          the learner's track: the one they chose, else the first with something left

A folder of lessons without that file has one track, in the order of their numbers.
"""

from __future__ import annotations

import tomllib
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mtd.course.lesson import ROOM, Lesson, LessonError, all_lessons, number_of
from mtd.course.progress import Progress

FILE = "tracks.toml"


@dataclass(frozen=True)
class Track:
    name: str
    title: str
    about: str
    lessons: tuple[Lesson, ...]
    then: str = ""  # commands, when all of it has passed

    @property
    def order(self) -> list[float]:
        return [lesson.number for lesson in self.lessons]

    @property
    def numbers(self) -> frozenset[float]:
        return frozenset(self.order)

    @property
    def minutes(self) -> int:
        return sum(lesson.minutes for lesson in self.lessons)

    def left(self, done: Container[float], after: Lesson | None = None) -> list[Lesson]:
        """The lessons that are not done, and, with `after`, come after that one in this track."""
        place = self.lessons.index(after) + 1 if after in self.lessons else 0
        return [lesson for lesson in self.lessons[place:] if lesson.number not in done]


def all_tracks(room: Path = ROOM) -> list[Track]:
    lessons = all_lessons(room)
    if not (room / FILE).is_file():
        return [Track("course", "All lessons", "", tuple(lessons))]
    by_number = {lesson.number: lesson for lesson in lessons}
    try:
        given = tomllib.loads((room / FILE).read_text("utf-8"))["track"]
        return [_read(each, by_number) for each in given]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise LessonError(f"{room / FILE}: {type(error).__name__}: {error}") from error


def _read(given: Mapping[str, Any], by_number: Mapping[float, Lesson]) -> Track:
    numbers = [number_of(number) for number in given["lessons"]]
    strange = [number for number in numbers if number not in by_number]
    if strange:
        raise ValueError(f"track {given['name']!r} has the lesson {strange[0]}, and there is none")
    return Track(**{**given, "lessons": tuple(by_number[number] for number in numbers)})


def find(name: str, room: Path = ROOM) -> Track:
    tracks = all_tracks(room)
    for track in tracks:
        if name in (track.name, track.title):
            return track
    raise LessonError(f"there is no track {name!r}; there are {', '.join(track.name for track in tracks)}")


def longer(tracks: Sequence[Track]) -> list[Track]:
    """Without those that are a part of another one."""
    return [one for one in tracks if not any(one.numbers < other.numbers for other in tracks)]


def in_order(room: Path = ROOM) -> list[Lesson]:
    return [lesson for track in longer(all_tracks(room)) for lesson in track.lessons]


def chosen(progress: Progress, room: Path = ROOM) -> Track:
    """The track of the learner's choice as long as something of it is left, else the first with something left."""
    tracks = all_tracks(room)
    first = [track for track in tracks if track.name == progress.track]
    return next((track for track in [*first, *tracks] if track.left(progress.done)), tracks[-1])


def following(lesson: Lesson, progress: Progress, room: Path = ROOM) -> Lesson | None:
    """The next lesson: of the learner's track, behind this one, else what they left out, else of the next track.

    Where this one was the last of a track, the next track begins with what is first in it."""
    done = progress.done | {lesson.number}
    track, tracks = chosen(progress, room), all_tracks(room)
    has_ended = any(lesson.number in one.numbers and not one.left(done) for one in tracks)
    left = [] if has_ended else track.left(done, lesson)
    for other in [track, *tracks]:
        left += other.left(done)
    return next(iter(left), None)
