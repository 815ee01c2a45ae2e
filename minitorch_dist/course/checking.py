"""A lesson's check against a file.

verdict = check(lesson, folder)        the folder in which the learner's ring.py is
print(verdict)
✔ right ✔ exactly once ✔ never stuck  bytes 1.00× optimum  rounds 2.33× optimum   ★★★
"""

from __future__ import annotations

import importlib.util
import sys
import time
import traceback
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from minitorch_dist.course import source
from minitorch_dist.course.lamps import Asked, Cost, asked_by
from minitorch_dist.course.lesson import ROOM, Lesson
from minitorch_dist.course.path import folders, searched
from minitorch_dist.testing.verdict import Verdict as Found

STARS = 3


@dataclass
class Verdict:
    """What a check found: a lamp is on, out, or None where nobody could tell."""

    lesson: Lesson
    lamps: dict[str, bool | None] = field(default_factory=dict)
    costs: dict[str, Cost] = field(default_factory=dict)
    said: dict[str, str] = field(default_factory=dict)  # by lamp: what is wrong
    tokens: dict[str, str] = field(default_factory=dict)  # by lamp: to make this run again
    worth: dict[str, int] = field(default_factory=dict)  # by lamp: its star
    bonus: set[str] = field(default_factory=set)
    unwritten: list[str] = field(default_factory=list)
    seconds: float = 0.0  # of processor time, of this process

    @property
    def is_passed(self) -> bool:
        needed = [burns for name, burns in self.lamps.items() if name not in self.bonus]
        return not self.unwritten and bool(needed) and all(needed)

    @property
    def stars(self) -> int:
        """So many that every lamp up to them burns."""
        if self.unwritten or not self.lamps:
            return 0
        out = [self.worth[name] for name, burns in self.lamps.items() if not burns]
        return min(out, default=STARS + 1) - 1

    def __str__(self) -> str:
        if self.unwritten:
            return "NotImplemented: " + "; ".join(self.unwritten)
        signs = {True: "✔", False: "✘", None: "–"}
        words = [
            f"{signs[burns]} {name}" + (f" {self.costs[name]}" if name in self.costs else "")
            for name, burns in self.lamps.items()
        ]
        lines = ["  ".join(words) + "   " + "★" * self.stars + "☆" * (STARS - self.stars)]
        for name, what in self.said.items():
            lines.append(f"  {name}: {what}")
            lines += [f"    replay: {self.tokens[name]}"] if name in self.tokens else []
        return "\n".join(lines)


def check(
    lesson: Lesson, own: Path, solved: Mapping[int, Path] | None = None, room: Path = ROOM,
    only: set[str] | None = None,
) -> Verdict:  # fmt: skip
    """Judge the file in the folder `own`; `solved` are the folders of earlier lessons that are the learner's.

    With `only`, functions of the check that light none of these lamps are left out.
    """
    verdict = Verdict(lesson)
    text = (own / lesson.file).read_text("utf-8")
    verdict.unwritten = source.unwritten(text, lesson.number)
    if verdict.unwritten:
        return verdict
    begun = time.process_time()
    with searched(folders(lesson, own, solved or {}, room), room):
        try:
            asked = asked_by(load(lesson))
        except Exception as error:
            verdict.lamps["runs"], verdict.worth["runs"] = False, 1
            verdict.said["runs"] = in_words(error, own / lesson.file)
            asked = []
        for one in asked:
            if only is None or only & set(one.lamps):
                _ask(verdict, one, own / lesson.file)
    verdict.seconds = time.process_time() - begun
    return verdict


def load(lesson: Lesson) -> ModuleType:
    """The lesson's check, with the modules that are searched now."""
    name = f"check_{lesson.number:02}_{lesson.name}"
    spec = importlib.util.spec_from_file_location(name, lesson.folder / "check.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses and pickle look there
    spec.loader.exec_module(module)
    return module


def _ask(verdict: Verdict, asked: Asked, file: Path) -> None:
    for name in asked.lamps:
        verdict.worth[name] = asked.worth(name)
        verdict.lamps[name] = None
        if asked.is_bonus:
            verdict.bonus.add(name)
    first = asked.lamps[0]
    try:
        result = asked.function()
    except Exception as error:
        verdict.lamps[first] = False
        verdict.said[first] = in_words(error, file)
        return
    if isinstance(result, Found):
        _take(verdict, asked, result)
        return
    verdict.lamps.update(dict.fromkeys(asked.lamps, True))
    if isinstance(result, Cost):
        verdict.costs[first] = result
        if not result.is_met:
            verdict.lamps[first] = False
            where = f"{result.where}: " if result.where else ""
            verdict.said[first] = (
                f"{where}{result.found:g}{result.unit}, and {result.limit * result.least:g}{result.unit} will do"
            )


def _take(verdict: Verdict, asked: Asked, found: Found) -> None:
    """The lamps of a `testing.Verdict` that were asked for."""
    for name in asked.lamps:
        verdict.lamps[name] = found.lamps.get(name)
        if name in found.complaints:
            verdict.said[name] = found.complaints[name]
        if name in found.tokens:
            verdict.tokens[name] = found.tokens[name]


def in_words(error: BaseException, file: Path) -> str:
    """What was raised, and where in the learner's file."""
    said = str(error).strip() or type(error).__name__
    if not isinstance(error, AssertionError):
        said = f"{type(error).__name__}: {said}"
    place = ""
    chain: BaseException | None = error
    while chain is not None:
        for frame in traceback.extract_tb(chain.__traceback__):
            if Path(frame.filename).resolve() == file.resolve():
                place = f"\n    {file.name}:{frame.lineno}: {frame.line}"
        chain = chain.__cause__ or chain.__context__
    if isinstance(error, SyntaxError):
        place = f"\n    {file.name}:{error.lineno}: {(error.text or '').strip()}"
    return said + place


def picture(
    lesson: Lesson, own: Path, solved: Mapping[int, Path] | None = None, room: Path = ROOM
) -> Any:
    """What the lesson's `picture()` draws of this file: a Scene, or text."""
    with searched(folders(lesson, own, solved or {}, room), room):
        return load(lesson).picture()


def truth(
    lesson: Lesson,
    name: str,
    own: Path,
    solved: Mapping[int, Path] | None = None,
    room: Path = ROOM,
) -> float:
    """What a question's answer is, measured."""
    with searched(folders(lesson, own, solved or {}, room), room):
        return float(getattr(load(lesson), name)())
