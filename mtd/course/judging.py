"""Is a lesson as it should be? Authors of lessons ask this, and CI's walk does.

for found in steps(lesson): print(found.name, found.run())     "" where all is well

Unsolved it fails and says what is missing. Solved it passes with all stars. The lamps that a
mutant names catch it, and no others are wronged. Questions can be measured, and a picture is drawn.

Of an open chapter the file to begin with is right, and ours takes less than it and than all simple answers. Each cheat is refused
with the words that it names.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from minitorch_dist.pictures.scene import Scene
from mtd.course import checking
from mtd.course.chapters import judging as answers
from mtd.course.chapters.chapter import Chapter, of_lesson
from mtd.course.contest import NotAdmitted
from mtd.course.lesson import Lesson, Mutant, Titled
from mtd.course.path import LessonAnswer
from mtd.course.verdict import STARS, CheckVerdict
from transports import keeper

WORDS = 600  # of a text
ARROWS = 12
BETTER = 0.9  # of the time of a chapter's start.py; its best.py takes at most as much


@dataclass(frozen=True)
class Step:
    name: str
    run: Callable[[], str]  # what is wrong, or ""


def steps(lesson: Lesson) -> Iterator[Step]:
    def judge(text: str, only: set[str] | None = None) -> CheckVerdict:
        with keeper.temporary_folder("mtd-dev-") as folder:
            (Path(folder) / lesson.file).write_text(text, encoding="utf-8")
            return checking.check(LessonAnswer(lesson, Path(folder)), only)

    yield Step("whole", lambda: _whole(lesson))
    yield Step("unsolved", lambda: _unsolved(lesson, judge(lesson.source.skeleton(lesson.number))))
    yield Step("solved", lambda: _solved(lesson, judge(lesson.source.solution())))
    for mutant in lesson.mutants:
        concerned = {*mutant.caught_by, *mutant.passes}
        yield Step(
            f"mutant {mutant.name}",
            lambda mutant=mutant, concerned=concerned: killed(lesson, mutant, judge(mutant.text, concerned)),  # type: ignore[misc]
        )
    for question in lesson.questions:
        yield Step(
            f"question {question.truth}",
            lambda question=question: _measured(lesson, question.truth),  # type: ignore[misc]
        )
    yield Step("picture", lambda: _drawn(lesson))
    chapter = of_lesson(lesson)
    if chapter is not None:
        yield from chapter_steps(chapter)


def chapter_steps(chapter: Chapter) -> Iterator[Step]:
    yield Step("chapter whole", lambda: _whole_chapter(chapter))
    yield Step("chapter begun", lambda: _begun(chapter))
    for path in chapter.cheats:
        yield Step(f"cheat {path.stem}", lambda path=path: _refused(chapter, path))  # type: ignore[misc]


def _whole(lesson: Lesson) -> str:
    if _too_long(lesson):
        return _too_long(lesson)
    if not all(lesson.hints):
        return "a hint is empty"
    if not any(mutant.seen for mutant in lesson.mutants):
        return "no mutant says where it was seen ('Seen: https://…')"
    if not lesson.questions:
        return "lesson.toml has no [[predict]]"
    if not (lesson.folder / "plot.py").exists():
        return "there is no plot.py"
    if lesson.failure is None or lesson.failure.mutant not in {one.name for one in lesson.mutants}:
        return "lesson.toml has no [failure] of one of its mutants"
    forward = [number for number in lesson.requires if number >= lesson.number]
    return f"it requires lessons that come later: {forward}" if forward else ""


def _too_long(one: Titled) -> str:
    words = len(one.text.split())
    return f"text.md has {words} words; {WORDS} are the most" if words > WORDS else ""


def _unsolved(lesson: Lesson, verdict: CheckVerdict) -> str:
    if verdict.is_passed:
        return "the skeleton passes"
    raising = [blank for blank in lesson.source.blanks if not blank.instead]
    if len(verdict.unwritten) != len(raising):
        return f"{len(raising)} blanks, and the skeleton lacks {verdict.unwritten}"
    return ""


def _solved(lesson: Lesson, verdict: CheckVerdict) -> str:
    if not verdict.is_passed or verdict.stars < STARS:
        return str(verdict)
    return ""


def killed(lesson: Lesson, mutant: Mutant, verdict: CheckVerdict) -> str:
    """The lamps that it names are out, or on; and of the lesson's failure the check says what lesson.toml says."""
    for name in mutant.caught_by:
        if verdict.lamps.get(name) is not False:
            return f"{name!r} should catch it, and does not:\n{verdict}"
    for name in mutant.passes:
        if verdict.lamps.get(name) is not True:
            return f"{name!r} should let it pass, and does not:\n{verdict}"
    return other_failure(lesson, mutant, verdict)


def other_failure(lesson: Lesson, mutant: Mutant, verdict: CheckVerdict) -> str:
    """Empty if the check says of the lesson's failure what lesson.toml says."""
    shown = lesson.failure
    if shown is not None and shown.mutant == mutant.name:
        said = verdict.said.get(shown.lamp, "nothing")
        if not shown.is_what(said):
            return f"lesson.toml has the failure\n{shown.said}\nand the check says\n{shown.lamp}: {said}"
    return ""


def _measured(lesson: Lesson, name: str) -> str:
    try:
        found = checking.truth(LessonAnswer.ours(lesson), name)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "" if found >= 0 else f"the answer is {found}"


def _drawn(lesson: Lesson) -> str:
    try:
        drawn = checking.picture(LessonAnswer.ours(lesson))
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    if isinstance(drawn, Scene):
        count = len(drawn.arrows)
        return "" if count <= ARROWS else f"{count} arrows; {ARROWS} are the most"
    wide = max(map(len, str(drawn).split("\n")))
    return "" if wide <= 80 else f"a line of {wide} columns; 80 are the most"


# ------------------------------------------------------------------------------- an open chapter


def _whole_chapter(chapter: Chapter) -> str:
    if _too_long(chapter):
        return _too_long(chapter)
    command = f"mtd contest {chapter.lesson.number} --begin"
    if command not in chapter.text:
        return f"text.md does not say {command}"
    if not chapter.judge.PROOF.strip():
        return "judge.py proves no bound"
    return "" if chapter.cheats else "there is no file in cheats/"


def _begun(chapter: Chapter) -> str:
    """The file to begin with scores, and ours is the best of all."""
    try:
        found = answers.held(chapter, chapter.start)
    except NotAdmitted as error:
        return f"start.py is refused: {error}"
    first = found.entries[0]
    if first.name != answers.OURS:
        return f"best.py takes {found.named(answers.OURS).score:.2f} × the bound, and {first.name!r} {first.score:.2f}"
    if first.score > BETTER * found.mine.score:
        return f"best.py takes {first.score:.2f} × the bound, and start.py {found.mine.score:.2f}: nothing to win"
    return ""


def _refused(chapter: Chapter, path: Path) -> str:
    text = path.read_text("utf-8")
    wanted = re.findall("^Refused: (.+)$", text, re.MULTILINE)
    if len(wanted) != 1:
        return "its docstring has not one line 'Refused: …'"
    try:
        found = answers.held(chapter, text, path.name)
    except NotAdmitted as error:
        return "" if wanted[0] in str(error) else f"it is refused, but with: {error}"
    return f"it is not refused, and takes {found.mine.score:.2f} × the bound"
