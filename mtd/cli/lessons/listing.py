"""`mtd list`: the lessons, and how far you are: on one screen, or with `--all` each with its question."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import suppress
from itertools import groupby
from pathlib import Path

from rich.table import Table
from rich.text import Text

from mtd.cli.lessons import report
from mtd.cli.lessons.commands import opened
from mtd.cli.page import Page
from mtd.cli.parser import Parser
from mtd.course import achievements, lesson as lesson_files, tracks
from mtd.course.chapters.chapter import Chapter, of_lesson
from mtd.course.lesson import Lesson
from mtd.course.progress import Progress
from mtd.course.sizes import GAP, WORDS
from mtd.course.workspace import Workspace, WorkspaceError

PART = 30  # columns of its name
NARROW = 60  # columns of a terminal in which a table of lessons has no room


def configure(parser: Parser) -> None:
    parser.takes("--all  all lessons with their questions, and what is beside them")
    parser.set_defaults(run=run, epilog="mtd list --all")


def run(options: argparse.Namespace) -> int:
    page, workspace, progress = Page(), None, Progress()
    with suppress(WorkspaceError):
        workspace, progress = opened(page)
    (show if options.all else brief)(page, workspace, progress)
    if workspace is None:
        page.tell("A folder of your own with all of them: ", ("mtd init course", "bold"))
    return 0


def brief(page: Page, workspace: Workspace | None, progress: Progress) -> None:
    """A screen of 24 lines: the tracks, the lessons of the part where you are, and a line for each other part."""
    room = workspace.room if workspace else lesson_files.ROOM
    lessons = tracks.in_order(room)
    here = workspace.present(progress) if workspace and lessons else next(iter(lessons), None)
    for part, of_part in _parts(page, progress, room):
        passed = len([one for one in of_part if one.number in progress.passed])
        page.tell((f"  {part:<{PART}}", "cyan"), f" {passed} of {len(of_part)} passed")
        if here is None or part != here.part:
            continue
        title = min(max(len(one.title) for one in of_part), 30)
        table = _row(page, title)
        for one in of_part:
            state, is_here = _state(workspace, progress, one), one == here
            if not is_here and state.plain == one.question:  # of a lesson that is not begun
                state = Text()
            short = Text(one.title, no_wrap=True, overflow="ellipsis")
            _add(table, progress, one, is_here and workspace is not None, short, state)
        page.say(_fitting(page, table))
    _sum(page, workspace, progress, lessons)
    page.tell("All of them, with their questions: ", ("mtd list --all", "bold"))


def heading_of(progress: Progress, room: Path) -> dict[float, list[Text]]:
    """By the first lesson of each longer track: its heading, and above the first one those of the shorter tracks."""
    everything = tracks.all_tracks(room)
    longer, current = tracks.longer(everything), tracks.chosen(progress, room)
    if len(everything) < 2:
        return {}
    heads: dict[float, list[Text]] = {}
    first = longer[0].lessons[0].number
    for track in sorted(everything, key=lambda each: each in longer):
        done = len(track.numbers & progress.passed.keys())
        sign = "▶ " if track == current else "  "
        numbers = "" if track in longer else " · ".join(str(number) for number in track.order) + ", "
        said = f"  {numbers}about {hours(track.minutes)}, {done} of {len(track.lessons)} passed"
        place = track.lessons[0].number if track in longer else first
        heads.setdefault(place, []).append(Text.assemble(sign, (track.title, "bold"), (said, "dim")))
    return heads


def hours(minutes: int) -> str:
    return f"{round(minutes / 60)} hours" if minutes >= 90 else f"{minutes} minutes"


def _parts(page: Page, progress: Progress, room: Path) -> Iterator[tuple[str, list[Lesson]]]:
    """Each part of the course with its lessons; the headings of tracks that begin with it are said."""
    heads = heading_of(progress, room)
    for part, each in groupby(tracks.in_order(room), key=lambda lesson: lesson.part):
        of_part = [*each]
        for head in heads.get(of_part[0].number, []):
            page.say(head)
        yield part, of_part


def _add(table: Table, progress: Progress, lesson: Lesson, is_here: bool, title: str | Text, state: Text) -> None:
    passed, sign = progress.passed.get(lesson.number), "▶" if is_here else ""
    stars = Text(report.stars(passed.stars) if passed else "", "yellow")
    state = state.append_text(_size(progress, lesson))
    table.add_row(sign, str(lesson.number), title, state, stars, str(lesson.minutes))


def show(page: Page, workspace: Workspace | None, progress: Progress) -> None:
    room = workspace.room if workspace else lesson_files.ROOM
    lessons = tracks.in_order(room)
    here = workspace.present(progress) if workspace and lessons else None
    title = min(max((len(lesson.title) for lesson in lessons), default=6), 28 if page.width >= 70 else 20)
    head = _row(page, title)
    head.add_row("", "", "lesson", "question, or state", "stars", "min", style="dim")
    page.say(_fitting(page, head))
    for part, of_part in _parts(page, progress, room):
        page.say(part, "bold cyan", indent=6)
        table = _row(page, title)
        for lesson in of_part:
            _add(table, progress, lesson, lesson == here, lesson.title, _state(workspace, progress, lesson))
            chapter = of_lesson(lesson)
            if chapter is not None:
                done, minutes = _chapter(progress, chapter), str(chapter.minutes)
                table.add_row("", "", f"  {chapter.title}", done, "", minutes)
        page.say(_fitting(page, table))
    if workspace is not None:
        page.say("Beside the lessons", "bold cyan", indent=5)
        beside = Table.grid(padding=(0, 1, 0, 0))
        for width in (4, title, page.width - title - 8):
            beside.add_column(width=width)
        for place, said, is_begun in achievements.lines(progress):
            beside.add_row("", place, Text(said, "yellow" if is_begun else ""))
        page.say(_fitting(page, beside))
    page.say()
    _sum(page, workspace, progress, lessons)


def _sum(page: Page, workspace: Workspace | None, progress: Progress, lessons: list[Lesson]) -> None:
    minutes = sum(lesson.minutes for lesson in lessons)
    done = len(progress.passed.keys() & {lesson.number for lesson in lessons})
    page.say(f"{done} of {len(lessons)} passed; all of them take about {hours(minutes)}.")
    if workspace is not None and progress.size != GAP:
        others = " where no other size is said" if progress.sizes else ""
        page.say(f"Size {progress.size}: {WORDS[progress.size]}{others}.")


def _chapter(progress: Progress, chapter: Chapter) -> Text:
    """The best result in an open chapter, or how to begin it."""
    best = progress.rooms.get("contest", {}).get(chapter.module)
    text = Text(f"open chapter: mtd contest {chapter.lesson.number}", "dim")
    return text if best is None else Text(best.said, "yellow")


def _row(page: Page, title: int) -> Table:
    """Columns that stand beneath each other from part to part."""
    table = Table.grid(padding=(0, 1, 0, 0))
    for width in (1, 3, title, page.width - title - 18, 5, 3):
        table.add_column(width=width, justify="right" if width == 3 else "left")
    return table


def _fitting(page: Page, table: Table) -> Table | Text:
    """The table, or a paragraph for each row where its columns would be too narrow to read."""
    if page.width >= NARROW:
        return table
    rows = zip(*(column.cells for column in table.columns), strict=True)
    return Text("\n").join(_paragraph([cell for cell in map(_text, row) if cell.plain]) for row in rows)


def _text(cell: object) -> Text:
    return cell.copy() if isinstance(cell, Text) else Text(str(cell))


def _paragraph(cells: list[Text]) -> Text:
    """`▶ 1 First picture · What does the network do? · 2`"""
    number = next((at for at, cell in enumerate(cells) if cell.plain.strip("▶0123456789.")), 0)
    return Text(" ").join([*cells[:number], Text(" · ").join(cells[number:])])


def _size(progress: Progress, lesson: Lesson) -> Text:
    """Of the blanks, where it is another than that of all lessons."""
    size = progress.size_of(lesson.number)
    return Text("" if size == progress.size else f" ({size})", "dim")


def _state(workspace: Workspace | None, progress: Progress, lesson: Lesson) -> Text:
    if workspace is None:
        return Text(lesson.question)
    if lesson.number in progress.reference:
        return Text("ours is used (mtd use mine takes yours)", "cyan")
    if lesson.number in progress.passed:
        if workspace.is_current(lesson, progress):
            return Text("passed", "green")
        if not workspace.file(lesson).is_file():
            return Text(f"passed, and is no more: mtd reset {lesson.number}", "yellow")
        if lesson.outdated(workspace.text_of(lesson)):
            return Text(f"passed, before the lesson changed: mtd check {lesson.number}", "yellow")
        return Text(f"passed, and changed since: mtd check {lesson.number}", "yellow")
    if workspace.is_begun(lesson, progress):
        return Text("begun", "yellow")
    return Text(lesson.question)
