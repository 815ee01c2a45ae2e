"""An answer against the bound, beside the simple answers and ours.

found = held(chapter, text, "slow_links.py")        a contest.Contest; NotAdmitted says what is wrong
"""

from __future__ import annotations

import copy
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from mtd.course.chapters import gate
from mtd.course.chapters.chapter import Chapter
from mtd.course.contest import MINE, Contest, ContestEntry, Leg, NotAdmitted, ranked
from mtd.course.loading import load

OURS = "best known"


def held(
    chapter: Chapter, text: str, name: str = "", solved: dict[float, Path] | None = None, networks: Sequence[str] = ()
) -> Contest:
    """Try an answer in all races and rank it. `solved`: the folders of lessons that the learner wrote.

    With `networks` it races on these instead, where the chapter can do that.
    """
    name = name or chapter.file
    tree = gate.admitted(text, name, chapter)
    judge = chapter.judge
    races = judge.RACES if not networks else _on(networks, chapter)
    with chapter.modules(solved):
        mine = _function(compile(tree, name, "exec"), name, chapter)
        entries = [ContestEntry(MINE, tuple(_leg(judge, race, mine, name) for race in races), is_mine=True)]
    with chapter.modules():
        best = vars(load(chapter.folder / "best.py", "best_answer"))[chapter.function]
        for other, function in {**judge.SIMPLE, OURS: best}.items():
            entries.append(ContestEntry(other, tuple(_leg(judge, race, function, other) for race in races)))
    names = tuple(race.name for race in races)
    return Contest(judge.ABOUT, names, ranked(entries), judge.UNIT, judge.COLUMN)


def _on(networks: Sequence[str], chapter: Chapter) -> Sequence[Any]:
    if not hasattr(chapter.judge, "race_on"):
        raise NotAdmitted(f"the races of {chapter} have networks of their own: leave --net out")
    return [*map(chapter.judge.race_on, networks)]


def _function(code: Any, name: str, chapter: Chapter) -> Callable[..., Any]:
    module = ModuleType("answer")
    try:
        exec(code, vars(module))
    except NotAdmitted:
        raise
    except (Exception, SystemExit) as error:
        raise NotAdmitted(f"{name} cannot be run: {type(error).__name__}: {error}") from error
    function: Callable[..., Any] = vars(module)[chapter.function]
    return function


def _leg(judge: Any, race: Any, function: Callable[..., Any], name: str) -> Leg:
    """One race. The function gets a copy of the setting, so the judge's stays as it is."""
    try:
        found = judge.play(lambda *given: function(*copy.deepcopy(given)), race)
    except NotAdmitted as error:
        raise NotAdmitted(f"{race.name}: {error}") from error
    except (Exception, SystemExit) as error:
        raise NotAdmitted(f"{race.name}: {name} fails{_line(error, name)}: {type(error).__name__}: {error}") from error
    least = judge.least(race)
    if found.time < least * (1 - 1e-9):
        raise RuntimeError(
            f"{race.name}: {name} takes {found.time:g} and the bound is {least:g}: the judge is wrong. Please report it"
        )
    return Leg(found.time, least, found.said, memory=found.memory, why=getattr(found, "why", ""))


def _line(error: BaseException, name: str) -> str:
    """` in line 7`, where the error came from a line of this file."""
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename == name]
    return f" in line {lines[-1]}" if lines else ""
