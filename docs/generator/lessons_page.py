"""lessons/README.md: all lessons in tables, track by track and part by part."""

from __future__ import annotations

from collections.abc import Sequence

from mtd.course import tracks
from mtd.course.chapters.chapter import of_lesson
from mtd.course.lesson import Lesson
from mtd.course.sizes import SIZES, lines_to_write

TOP = """# The lessons

`mtd` is the beginning. It makes a folder of your own, with a skeleton of each lesson, and opens the first: one line, two minutes, and a
picture at the end. Later it opens the course where you left it. A lesson's number is its name, and `mtd track` chooses an order, a *track*.

The same lessons are [notebooks](../notebooks): with blanks, and with our solutions in a folder of its own. Three more stand beside them:
[a tour](../notebooks/00_start.ipynb), [*which layout, and why?*](../notebooks/00_which_layout.ipynb) about a large model on many GPUs, and
[*find the hang in a real PyTorch program*](../notebooks/00_find_the_hang.ipynb).

A lesson has three sizes of blank: *gap*, *function* and *file*. `mtd init course --size function` chooses one for all lessons, and
`mtd size 13 file` changes one. The column *lines* says how many lines of code our solution has in the blanks of each size.
An *open chapter* has no one right answer: `mtd contest 15` says how far yours is from a bound that nothing can beat.

"""


def track_line(track: tracks.Track) -> str:
    numbers = ", ".join(str(number) for number in track.order)
    return f"- **{track.title}** (about {round(track.minutes / 60)} hours): {track.about}. Lessons: {numbers}\n"


def index(lessons: Sequence[Lesson] | None = None) -> str:
    """The table of all lessons, track by track and part by part."""
    parts, part, minutes = [TOP, *map(track_line, tracks.all_tracks())], "", 0
    for lesson in tracks.in_order() if lessons is None else lessons:
        if lesson.part != part:
            part = lesson.part
            parts.append(
                f"\n## {part}\n\n| | lesson | question | minutes | lines | notebook |\n|---|---|---|---|---|---|\n"
            )
        name = lesson.folder.name
        lines = " · ".join(str(lines_to_write(lesson.sized(size))) for size in SIZES)
        parts.append(
            f"| {lesson.number} | [{lesson.title}]({name}/text.md) | {lesson.question} | {lesson.minutes} | {lines} | "
            f"[open](../notebooks/{name}.ipynb) |\n"
        )
        minutes += lesson.minutes
        chapter = of_lesson(lesson)
        if chapter is not None:
            parts.append(
                f"| | [{chapter.title}]({name}/open/text.md), an open chapter | {chapter.question} | {chapter.minutes} | | |\n"
            )
    parts.append(f"\nAll of them take about {round(minutes / 60)} hours.\n")
    return "".join(parts)
