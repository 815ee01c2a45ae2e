"""The lessons' pictures as text, kept in tests/course/goldens/: `python -m tests.course.goldens [N …]` writes them anew."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from minitorch_dist.pictures import spacetime
from minitorch_dist.pictures.scene import Scene
from mtd.course import checking, lesson
from mtd.course.lesson import Lesson
from mtd.course.path import LessonAnswer

FOLDER = Path(__file__).parent / "goldens"


def file_of(one: Lesson) -> Path:
    return FOLDER / f"{one.folder.name}.txt"


def drawn(one: Lesson) -> str:
    """The grid and the picture of our own solution, in 80 columns."""
    with tempfile.TemporaryDirectory() as folder:
        own = Path(folder)
        (own / one.file).write_text(one.source.solution(), encoding="utf-8")
        with LessonAnswer(one, own).searched():
            check = checking.load(one)
            grid, picture = checking.contents(check), checking.drawn(check)
    held = "" if grid is None else f"{grid}\n\n"
    return (held + in_letters(picture)).strip("\n") + "\n"


def in_letters(picture: Scene | str) -> str:
    if not isinstance(picture, Scene):
        return "\n".join(line.rstrip() for line in picture.split("\n")).strip("\n")
    lines = spacetime.draw(picture, 80).plain().split("\n")
    return "\n".join(lines[2:]).rstrip()  # without the title, which names a file


def main(wanted: list[str]) -> None:
    FOLDER.mkdir(exist_ok=True)
    lessons = [lesson.find(name) for name in wanted] if wanted else lesson.all_lessons()
    for one in lessons:
        text, file = drawn(one), file_of(one)
        before = file.read_text("utf-8") if file.exists() else None
        if text != before:
            file.write_text(text, encoding="utf-8")
            print(f"{file.name}: {'new' if before is None else 'changed'}")


if __name__ == "__main__":
    main(sys.argv[1:])
