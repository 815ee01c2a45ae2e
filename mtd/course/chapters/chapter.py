"""The files of an open chapter.

lessons/19_overlap/open/
  chapter.toml  title, question, the learner's file, the function that it must have, minutes
  text.md       the task, at most 600 words
  start.py      the file to begin with: it is right, and slow
  judge.py      RACES, each with a name; least(race); SIMPLE: the answers that one thinks of first
                play(function, race): its time, in the unit of `least`; its memory; both `said` in words; `why` it takes longer
                ABOUT; PROOF of the bound; COLUMN and UNIT: what is less, of two that take the same time
  best.py       the best answer that we know
  cheats/       files that must not score; each says in its docstring with which words it is refused
"""

from __future__ import annotations

import ast
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from mtd.course import records
from mtd.course.lesson import ROOM, Lesson, LessonError, Titled, all_lessons, find
from mtd.course.loading import load
from mtd.course.path import LessonAnswer

FOLDER = "open"


@dataclass(frozen=True)
class Chapter(Titled):
    lesson: Lesson
    function: str  # that the file must have

    @property
    def start(self) -> str:
        return (self.folder / "start.py").read_text("utf-8")

    @property
    def best(self) -> str:
        return (self.folder / "best.py").read_text("utf-8")

    @property
    def cheats(self) -> list[Path]:
        return sorted((self.folder / "cheats").glob("*.py"))

    @cached_property
    def judge(self) -> Any:
        with self.modules():
            return load(self.folder / "judge.py", f"judge_of_{self.module}")

    def modules(self, solved: dict[float, Path] | None = None) -> AbstractContextManager[None]:
        """Within the block `from ring import …` finds the lessons up to this one: the learner's, else ours."""
        solved = solved or {}
        own = solved.get(self.lesson.number, self.lesson.folder)
        return LessonAnswer(self.lesson, own, solved).searched()

    def __str__(self) -> str:
        return f"open chapter {self.lesson.number}: {self.title}"


def of_lesson(lesson: Lesson) -> Chapter | None:
    """The open chapter after this lesson, if it has one."""
    path = lesson.folder / FOLDER / "chapter.toml"
    if not path.is_file():
        return None
    return records.read(path, Chapter, folder=path.parent, lesson=lesson)


def all_chapters(room: Path = ROOM) -> list[Chapter]:
    return [found for lesson in all_lessons(room) if (found := of_lesson(lesson)) is not None]


def named(wanted: str, room: Path = ROOM) -> Chapter | None:
    """By the lesson's number or name, or its own; None where `wanted` is something else (a file)."""
    for chapter in all_chapters(room):
        if wanted == chapter.module:
            return chapter
    if Path(wanted).suffix:
        return None
    try:
        lesson = find(wanted, room)
    except LessonError:
        return None
    found = of_lesson(lesson)
    if found is None:
        numbers = ", ".join(str(one.lesson.number) for one in all_chapters(room))
        raise LessonError(f"lesson {lesson.number} has no open chapter; lessons {numbers} have one")
    return found


def of_file(file: Path, room: Path = ROOM) -> Chapter | None:
    """The chapter that this file answers: it is called like the chapter's, or has its function."""
    chapters = all_chapters(room)
    try:
        tree = ast.parse(file.read_bytes())
        functions = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    except (OSError, SyntaxError, ValueError):
        functions = set()
    for chapter in chapters:
        if chapter.function in functions:
            return chapter
    return next((one for one in chapters if one.file == file.name), None)
