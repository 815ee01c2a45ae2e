"""Files that are made from the lessons, and kept: who reads the repository finds them.

notebooks/13_ring.ipynb     (see `notebooks`)
lessons/README.md           the lessons in a table
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from minitorch_dist.course import notebooks
from minitorch_dist.course.lesson import ROOM, Lesson, all_lessons

Make = Callable[[], str]

TOP = """# The lessons

Made by `mtd dev build` from each lesson's `lesson.toml`. `mtd init course` makes a folder of your own with a skeleton of each;
[notebooks/](../notebooks) has the same lessons with their solutions.
"""


def generated(lessons: Sequence[Lesson] | None = None) -> Iterator[tuple[Path, Make]]:
    """Each file, and what makes its text. Of some lessons: only what is made of these alone."""
    for lesson in all_lessons() if lessons is None else lessons:
        yield notebooks.path_of(lesson), lambda lesson=lesson: notebooks.of_lesson(lesson)  # type: ignore[misc]
    if lessons is None:
        yield ROOM / "README.md", index


def stray() -> list[Path]:
    """Notebooks of lessons that are no more."""
    made = {path for path, _ in generated()}
    return sorted(set(notebooks.FOLDER.glob("*.ipynb")) - made)


def index(lessons: Sequence[Lesson] | None = None) -> str:
    """The table of all lessons, part by part."""
    parts, part, minutes = [TOP], "", 0
    for lesson in all_lessons() if lessons is None else lessons:
        if lesson.part != part:
            part = lesson.part
            parts.append(
                f"\n## {part}\n\n| | lesson | question | minutes | notebook |\n|---|---|---|---|---|\n"
            )
        name = lesson.folder.name
        parts.append(
            f"| {lesson.number} | [{lesson.title}]({name}/text.md) | {lesson.question} | {lesson.minutes} | "
            f"[open](../notebooks/{name}.ipynb) |\n"
        )
        minutes += lesson.minutes
    parts.append(f"\nAll of them take about {round(minutes / 60)} hours.\n")
    return "".join(parts)


def build(path: Path, make: Make) -> bool:
    """Write the file if it differs; says whether it did."""
    text = make()
    if path.exists() and path.read_text("utf-8") == text:
        return False
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return True
