"""`mtd predict 13`: guess first, then see what is measured; `mtd predict`: how your guesses went.

A guess is a number: 144, 1.5e3, 3/2, 2*72. An empty line leaves a question out.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator

from minitorch_dist.pictures.terminal import sayable
from mtd.cli.lessons import text
from mtd.cli.lessons.commands import about, opened
from mtd.cli.page import Page
from mtd.cli.parser import Parser
from mtd.course import predicting, progress as progresses
from mtd.course.examination import Examination
from mtd.course.lesson import Lesson, LessonError, Question
from mtd.course.path import LessonAnswer
from mtd.course.progress import Prediction
from mtd.course.workspace import Workspace


def configure(parser: Parser) -> None:
    parser.takes("""
        lesson?   13, ring or 13_ring; without it: how they went
        guesses*  your numbers, instead of being asked
    """)
    parser.set_defaults(run=run, epilog="mtd predict 13")


def run(options: argparse.Namespace) -> int:
    if options.lesson is not None:
        return about(_asked)(options)
    page = Page()
    workspace, progress = opened(page)
    history(page, progress.predictions, workspace.lessons())
    return 0


def _asked(page: Page, workspace: Workspace, lesson: Lesson, options: argparse.Namespace) -> int:
    status = ask(page, workspace, lesson, options.guesses)
    if not workspace.is_current(lesson, workspace.progress()):
        page.say()
        text.to_write(page, workspace, lesson)
    return status


def ask(page: Page, workspace: Workspace, lesson: Lesson, guesses: list[str]) -> int:
    given: dict[Question, float] = {}
    if guesses and len(guesses) > len(lesson.questions):
        raise LessonError(
            f"lesson {lesson.number} asks {len(lesson.questions)} questions, you gave {len(guesses)} numbers"
        )
    answers = iter(guesses) if guesses else _typed(page)
    for question in lesson.questions:
        page.say(question.ask)
        number = _number(page, answers, is_asked=not guesses)
        if number is not None:
            given[question] = number
    if not given:
        page.tell("Nothing was guessed. ", (f"mtd predict {lesson.number}", "bold"), " asks again.")
        return 0
    page.say()
    page.say("measuring …", "dim")
    truths = [one.truth for one in given]
    with Examination(LessonAnswer.ours(lesson), "truth", truths=truths) as exam:
        exam.wait()
    found = [
        Prediction(lesson.number, one.ask, number, exam.truths[one.truth])
        for one, number in given.items()
        if one.truth in exam.truths
    ]
    if len(found) < len(given):
        raise LessonError(f"it could not be measured: {exam.stopped} {exam.printed}")
    with progresses.changing(workspace.folder) as progress:
        asked = {one.ask for one in found}
        progress.predictions = [one for one in progress.predictions if one.ask not in asked] + found
        progress.present = lesson.number
    for question, one in zip(given, found, strict=True):
        _tell(page, question, one)
    return 0


def _typed(page: Page) -> Iterator[str]:
    """Lines of a person, or of a file."""
    while True:
        try:
            yield input(sayable("your number: ", page.console))
        except EOFError:
            page.say()
            return


def _number(page: Page, answers: Iterator[str], is_asked: bool) -> float | None:
    """The next answer; asked again while it is not a number."""
    for answer in answers:
        if not answer.strip() or answer.strip() == "q":
            return None
        try:
            return predicting.parse(answer)
        except (ValueError, ZeroDivisionError):
            words = f"{answer!r} is not a number like 144, 1.5e3, 3/2 or 2*72"
            if not is_asked:
                raise LessonError(words) from None
            page.say(words)
    return None


def _tell(page: Page, question: Question, one: Prediction) -> None:
    right = predicting.is_right(one.given, one.truth)
    page.say()
    page.say(question.ask)
    you, truth = ((f"{number:,.10g}", "bold") for number in (one.given, one.truth))
    page.tell("you ", you, "   measured ", truth, ("   ✔" if right else "", "green"), indent=2)
    page.say(f"because  {question.formula}", indent=2)


def history(page: Page, found: list[Prediction], lessons: list[Lesson]) -> None:
    if not found:
        page.tell("No predictions yet. Before you begin a lesson: ", ("mtd predict 1", "bold"))
        return
    width = min(33, (page.width - 34) // 2 * 2 + 1)
    scale = "1/16" + "the truth".center(width - 7) + "16×"
    page.say(f"{'':<6}{scale[:width]:<{width}}{'you':>13}{'truth':>13}", "dim")
    for one in sorted(found, key=lambda one: one.lesson):
        marks = predicting.strip(one.given, one.truth, width)
        sign = " ✔" if predicting.is_right(one.given, one.truth) else ""
        given, truth = predicting.number(one.given), predicting.number(one.truth)
        page.say(f"{one.lesson:>4}  {marks}{given:>13}{truth:>13}{sign}")
    page.say()
    for line in predicting.summary(found):
        page.say(line)
    parts = predicting.by_part(found, {one.number: one.part for one in lessons})
    if len(parts) > 1:
        page.say()
        page.say("Half of your guesses were off by less than")
        for part, factor, count in parts:
            bar = "━" * min(round(4 * math.log2(factor)), 24) if math.isfinite(factor) else "»"
            page.say(f"{part:<30}{count:>3} {factor:>7.3g}×  {bar}".rstrip(), indent=2)
    again = predicting.furthest(found)
    if again:
        page.say()
        page.say("Furthest off, worth another look:")
        for one in again:
            given, truth = predicting.number(one.given), predicting.number(one.truth)
            page.say(f"{one.lesson:>2}  {one.ask}  You: {given}; measured: {truth}", indent=2)
