"""A lesson's check against a file.

verdict = check(LessonAnswer(lesson, folder))        the folder in which the learner's ring.py is
print(verdict)
✔ correct ✔ exactly once ✔ never stuck  bytes 1.00× optimum  rounds 2.33× optimum   ★★★
"""

from __future__ import annotations

import ast
import os
import re
import sys
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

from minitorch_dist.distributed import journal
from minitorch_dist.pictures.scene import Scene
from minitorch_dist.testing.collectives import parse, replaying
from minitorch_dist.testing.trials import root_of
from minitorch_dist.testing.verdict import Verdict as Found
from mtd.course import lab, loading, sizes, source
from mtd.course.explain import chained, in_words, remarks
from mtd.course.lamps import Asked, MeasuredCost, Skipped, asked_by
from mtd.course.lesson import Lesson, all_lessons
from mtd.course.path import LessonAnswer
from mtd.course.verdict import STARS, CheckVerdict
from mtd.grids.grid import Grid
from transports import keeper

MOST_CELLS = 24  # of a grid that fits a terminal
SEEDS = (1, 2, 3)
Telling = Callable[[CheckVerdict, tuple[str, ...]], None]
ONE = re.compile(r"(?<![\d,.])1 (rank|worker|element|stage|byte|number)s\b")


def check(
    answer: LessonAnswer, only: Collection[str] | None = None, telling: Telling | None = None, token: str | None = None
) -> CheckVerdict:
    """Judge a file.

    Where some blanks are left, lamps that need them tell nothing; the others judge what is written. With `only`,
    functions of the check that light none of these lamps are left out. `telling` is called with what is known, and
    the lamps that are looked at next. With `token` only the run of this token is made.
    """
    lesson, file = answer.lesson, answer.file
    verdict, text = CheckVerdict(lesson), file.read_text("utf-8")
    try:
        ast.parse(text, file.name)
    except (SyntaxError, ValueError) as error:
        return verdict.cannot_run(in_words(error, file))
    if lesson.outdated(text):
        return verdict.cannot_run(lesson.outdated(text))
    verdict.unwritten = source.unwritten(text, lesson.number)
    asked_for = sum(not blank.instead for blank in lesson.source.blanks)  # the others have an example in them
    if verdict.unwritten and len(verdict.unwritten) >= min(asked_for, text.count("# BLANK ")):
        return verdict
    lacking = [
        f"lesson {lesson.number} asks for {what}, and {lesson.file} has none"
        for what in sizes.absent(text, lesson.source, lesson.exports)
    ]
    if lacking:
        return verdict.cannot_run("\n".join(lacking))
    begun = time.process_time()
    with answer.searched():
        with nullcontext() if token is None else replaying(token):
            ask_all(verdict, answer, only, telling, is_replay=token is not None)
        explain(verdict, text)
        verdict.used = _used(answer)
    verdict.seconds = time.process_time() - begun
    return verdict


def ask_all(
    verdict: CheckVerdict,
    answer: LessonAnswer,
    only: Collection[str] | None = None,
    telling: Telling | None = None,
    is_replay: bool = False,
    processes: bool = True,
) -> None:
    """Run the lesson's check with the modules that are found now. Of a replay only what brings several lamps: that is
    what has tokens. Without `processes` lamps that start some are left out."""
    try:
        asked = asked_by(load(answer.lesson))
    except (Exception, SystemExit) as error:
        verdict.cannot_run(in_words(error, answer.file))
        return
    for one in asked:
        if one.has_processes and not processes:
            continue
        if (only is None or {*only} & {*one.lamps}) and not (is_replay and len(one.lamps) == 1):
            if telling is not None:
                telling(verdict, one.lamps)
            is_early = one.has_processes and not all(verdict.lamps.values())
            asked_now = replace(one, function=_not_yet) if is_early else one
            _ask(verdict, asked_now, answer)


def _not_yet() -> Skipped:
    return Skipped("it is tried when all other lamps are on")


def explain(verdict: CheckVerdict, text: str) -> None:
    """After the head of the first complaint: what may be its cause, as far as the text tells it."""
    for name, said in verdict.said.items():
        verdict.said[name] = ONE.sub(r"1 \1", said)
    for name, said in list(verdict.said.items())[:1]:
        head, *rest = said.split("\n")
        found = remarks(said, text, verdict.lesson.source, verdict.lesson.file)
        verdict.said[name] = "\n".join([head, *(f"    {words}" for words in found), *rest])


def _used(answer: LessonAnswer) -> dict[float, bool]:
    """The earlier lessons whose modules are loaded, and whether they are the learner's."""
    found = {}
    for one in all_lessons(answer.lesson.room):
        file = getattr(sys.modules.get(one.module), "__file__", None)
        if file is not None and one.number < answer.lesson.number:
            found[one.number] = Path(file).parent == answer.solved.get(one.number)
    return found


def load(lesson: Lesson) -> ModuleType:
    """The lesson's check, with the modules that are searched now."""
    return loading.load(lesson.folder / "check.py", f"check_{lesson.name}")


def _ask(verdict: CheckVerdict, asked: Asked, answer: LessonAnswer) -> None:
    for name in asked.lamps:
        verdict.worth[name] = asked.worth(name)
        verdict.lamps[name] = None
        if asked.is_bonus:
            verdict.bonus.add(name)
    first = asked.lamps[0]
    try:
        result = asked.function()
    except (Exception, SystemExit) as error:
        if not _needs_a_blank(verdict, error):
            verdict.lamps[first] = False
            verdict.said[first] = in_words(error, answer.file, answer.check_file)
        return
    if isinstance(result, Found):
        _take(verdict, asked, result)
        return
    if isinstance(result, Skipped):
        verdict.said[first] = f"skipped, {result.why}"
        verdict.worth.update(dict.fromkeys(asked.lamps, STARS + 1))
        return
    verdict.lamps.update(dict.fromkeys(asked.lamps, True))
    if isinstance(result, MeasuredCost):
        _judge(verdict, first, result)


def _needs_a_blank(verdict: CheckVerdict, said: BaseException | str) -> bool:
    """A lamp met a blank that is still to be written, so nobody can tell yet."""
    chain = [said] if isinstance(said, str) else [*chained(said)]
    blank = f"lesson {verdict.lesson.number}, blank "
    return bool(verdict.unwritten) and any(blank in str(one) for one in chain)


def _judge(verdict: CheckVerdict, name: str, cost: MeasuredCost) -> None:
    """Of a program that sends less than it must, nobody can tell what it would cost if it were right."""
    where = f"{cost.where}: " if cost.where else ""
    found, least = f"{digits(cost.found)}{cost.unit}", f"{digits(cost.least)}{cost.unit}"
    if cost.is_too_good:
        verdict.lamps[name] = None
        verdict.said[name] = (
            f"{where}{found}, and nothing right can do with less than {least}. So a part of the work is not done; look at the "
            "other lamps first"
        )
        return
    verdict.costs[name] = cost
    if not cost.is_met:
        verdict.lamps[name] = False
        verdict.said[name] = f"{where}{found}, and {digits(cost.limit * cost.least)}{cost.unit} will do"


def digits(number: float) -> str:
    """1,474,560 and 0.25, and not 1.47456e+06."""
    return f"{number:,.0f}" if number == int(number) or number >= 1000 else f"{number:g}"


def _take(verdict: CheckVerdict, asked: Asked, found: Found) -> None:
    """The lamps of a `testing.Verdict` that were asked for."""
    for name in asked.lamps:
        if _needs_a_blank(verdict, found.complaints.get(name, "")):
            continue
        verdict.lamps[name] = found.lamps.get(name)
        if name in found.complaints:
            verdict.said[name] = found.complaints[name]
        if name in found.tokens:
            verdict.tokens[name] = found.tokens[name]


def picture(answer: LessonAnswer) -> Any:
    """The picture that the lesson draws of this file: a Scene, or text."""
    with answer.searched():
        check = load(answer.lesson)
        return drawn(check) or str(contents(check))


def drawn(check: ModuleType) -> Any:
    """The picture that the lesson's `picture()` draws: a Scene, or text; "" where its grid is all that there is to see."""
    return check.picture() if hasattr(check, "picture") else ""


def contents(check: ModuleType) -> Grid | None:
    """The contents of the ranks, where the lesson draws them: its `contents()`, or the first of its FILLS."""
    if hasattr(check, "contents"):
        found: Grid = check.contents()
        return found
    fills = [*getattr(check, "FILLS", {}).values()]
    return lab.grid(*fills[0]) if fills else None


def wrong_contents(check: ModuleType, lamp: str, token: str = "") -> Grid | None:
    """The grid in which the first wrong cell is marked: of the run that failed, or of one like it. None if all are right.

    FILLS has functions by the lamp or the collective that they are asked for, each with its collective and number of ranks.
    """
    fills, case = getattr(check, "FILLS", {}), parse(token) if token else None
    given = fills.get(lamp) or (fills.get(case.collective) if case else None)
    grids: list[Callable[[], Grid | None]] = [lambda: lab.grid(*given)] if given else [lambda: contents(check)]
    if given:  # the order in which messages come may be what it is about
        grids += [partial(lab.grid, *given, seed=seed) for seed in SEEDS]
    if given and case and 1 < case.size * max(case.count, 1) <= MOST_CELLS and case.count:
        is_strict = case.mode == "rendezvous"
        how = {"count": case.count, "root": root_of(case), "is_strict": is_strict, "op": case.op}
        grids.insert(0, lambda: lab.grid(given[0], case.collective, case.size, **how))
    return next((found for make in grids if (found := make()) is not None and found.fault is not None), None)


def failed_run(answer: LessonAnswer, lamp: str, token: str = "") -> Scene | None:
    """A picture of the run upon which this lamp's function found the fault: that of its token, else the last one that it
    made. None where it made none."""
    verdict = CheckVerdict(answer.lesson)
    with keeper.temporary_folder("mtd-") as folder:
        path = Path(folder) / "run.mtd"
        with replaying(token, path) if token else journaling(path):
            for asked in asked_by(load(answer.lesson)):
                if lamp in asked.lamps:
                    _ask(verdict, asked, answer)
        if verdict.lamps.get(lamp) is not False or not path.exists():
            return None
        scene = journal.read(path).scene()
    title = parse(token).where if token else "the run that failed"
    return replace(scene, title=title) if scene.arrows or token else None


@contextmanager
def journaling(path: Path) -> Iterator[None]:
    """Within the block each run of this process is written down there, instead of the one before."""
    before = {name: os.environ[name] for name in (journal.files.VARIABLE,) if name in os.environ}
    os.environ[journal.files.VARIABLE] = str(path)
    try:
        yield
    finally:
        del os.environ[journal.files.VARIABLE]
        os.environ.update(before)


def truth(answer: LessonAnswer, name: str) -> float:
    """Measure the answer of a question."""
    with answer.searched():
        return float(getattr(load(answer.lesson), name)())
