"""The common parts of the commands of the course: the learner's folder, and a lesson."""

from __future__ import annotations

import argparse
import ast
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from mtd.cli.page import Page, listed
from mtd.cli.parser import Parser
from mtd.course import lesson as lessons
from mtd.course.lesson import Lesson, LessonError
from mtd.course.path import searched
from mtd.course.progress import Progress
from mtd.course.sizes import imported
from mtd.course.workspace import Workspace, around, find, found_or_none

Act = Callable[[Page, Workspace, Lesson, argparse.Namespace], int]


def opened(page: Page) -> tuple[Workspace, Progress]:
    """The learner's folder; says it if something was wrong with it."""
    workspace = find()
    progress = workspace.progress()
    if progress.notice:
        page.say(progress.notice, "yellow")
    return workspace, progress


def takes_lesson(parser: Parser, name: str, act: Act) -> None:
    """A command about one lesson."""
    parser.takes("lesson?  13, ring or 13_ring (the one where you are)")
    parser.set_defaults(run=about(act), epilog=f"mtd {name} 13")


def about(act: Act) -> Callable[[argparse.Namespace], int]:
    """Run `act` with the lesson that is named."""

    def run(options: argparse.Namespace) -> int:
        page = Page()
        with in_a_folder():
            workspace, progress = opened(page)
            lesson = chosen(workspace, progress, options.lesson)
            say_moved(page, lesson, options.lesson, workspace)
            return act(page, workspace, lesson, options)

    return run


def say_moved(page: Page, lesson: Lesson, wanted: str | None, workspace: Workspace | None = None) -> None:
    """Say where the lesson is now that was asked for, if it is a part of this one, and where the learner's answer lies."""
    moved = lesson.moved(wanted)
    if moved:
        kept = [name for name in lesson.formerly if workspace and (workspace.folder / name).is_dir()]
        page.say(f"{moved}{f' Your answer stays in {listed(kept)}.' if kept else ''}", "yellow")


@contextmanager
def in_a_folder() -> Iterator[None]:
    """The learner's folder may have gone, or may not be written to. (If the reader of our output has gone, that is raised.)"""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        where = error.filename or "a file"
        raise LessonError(f"{where}: {error.strerror or error}. mtd doctor looks at the folder") from error


def chosen(workspace: Workspace, progress: Progress, wanted: str | None) -> Lesson:
    """The lesson of this number or name, else the one where the learner is."""
    return workspace.present(progress) if wanted is None else lessons.find(wanted, workspace.room)


def here(wanted: str | None) -> Lesson | None:
    """The same without a command's page; None where nobody has a course, and no lesson is named."""
    if wanted is not None:
        return lessons.find(wanted)
    workspace = found_or_none()
    return workspace.present(workspace.progress()) if workspace else None


@contextmanager
def lessons_for(script: str) -> Iterator[None]:
    """For a script in a learner's folder, or run from there: `from ring import all_reduce` takes the learner's ring as
    soon as it has no blanks, else ours. Says which are taken."""
    workspace = around(Path(script).resolve().parent) or around(Path.cwd())
    if workspace is None:
        yield
        return
    own = workspace.written(workspace.progress())
    known = workspace.lessons()
    wanted = _imported(Path(script))
    said = [
        f"{lesson.module} is {'yours' if lesson.number in own else 'ours'}"
        for lesson in known
        if lesson.module in wanted
    ]
    if said:
        print(f"({', '.join(said)})", file=sys.stderr)
    with searched([own.get(lesson.number, lesson.folder) for lesson in reversed(known)], workspace.room):
        yield


def _imported(script: Path) -> set[str]:
    """The names of the modules that it imports."""
    try:
        tree = ast.parse(script.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return set()
    nodes = (node for node in ast.walk(tree) if not getattr(node, "level", 0))
    return {name.partition(".")[0] for node in nodes for name in imported(node)}
