"""`mtd contest 19`: the open chapter after a lesson: its text, a file to begin with, and your place."""

from __future__ import annotations

import argparse
from pathlib import Path
from string import ascii_uppercase

from mtd.cli.page import Page, begin
from mtd.course import achievements
from mtd.course.chapters import judging
from mtd.course.chapters.chapter import Chapter, all_chapters, named, of_file
from mtd.course.contest import Contest, NotAdmitted
from mtd.course.workspace import found_or_none, from_here


def chosen(wanted: str) -> tuple[Chapter, Path] | None:
    """The chapter that is meant, and the learner's file; None if `wanted` is something else.

    It is a lesson's number or name, a chapter's name, or a file with the chapter's function.
    """
    chapter = named(wanted)
    if chapter is not None:
        return chapter, _place(chapter)
    chapter = of_file(Path(wanted))
    return None if chapter is None else (chapter, Path(wanted))


def _place(chapter: Chapter) -> Path:
    """In the lesson's folder of the learner's; without a learner's folder where one is."""
    workspace = found_or_none()
    found = Path(chapter.file) if workspace is None else workspace.place(chapter.lesson) / chapter.file
    return from_here(found)


def run(page: Page, chapter: Chapter, file: Path, options: argparse.Namespace) -> int:
    number = chapter.lesson.number
    if options.ranks or options.size:
        raise NotAdmitted("an open chapter has ranks and sizes of its own: leave --ranks and --size out")
    if options.why:
        page.say(f"Nothing takes less than the bound. {' '.join(chapter.judge.PROOF.split())}")
        return 0
    if options.begin:
        begin(file, chapter.start, NotAdmitted)
        page.tell(f"wrote {file}: it is right, and slow. Now: ", (f"mtd contest {number}", "bold"))
        return 0
    if options.text or not file.is_file():
        page.tell((f"Open chapter, after lesson {number}: {chapter.title}", "bold"))
        page.say(chapter.question)
        page.say()
        page.prose(chapter.text)
        page.say()
        step = f"contest {number}{'' if file.is_file() else ' --begin'}"
        does = "says your place" if file.is_file() else f"writes {file}"
        page.tell((f"mtd {step}", "bold"), f" {does} (about {chapter.minutes} minutes)")
        return 0
    try:
        text = file.read_text("utf-8")
    except UnicodeDecodeError as error:
        raise NotAdmitted(f"{file} is not UTF-8 ({error})") from error
    workspace = found_or_none()
    solved = {} if workspace is None else workspace.solved(workspace.progress())
    found = judging.held(chapter, text, file.name, solved, options.net)
    said = f"place {found.place} of {len(found.entries)} ({found.mine.score:.2f} × the bound)"
    achievements.enter("contest", chapter.module, -found.mine.score, said)
    options.show(page, found, f"{chapter.title}: {found.about}.", _legs)
    page.tell("The bound, and why: ", (f"mtd contest {number} --why", "bold"))
    return 0


def _legs(page: Page, found: Contest) -> None:
    """For each race the learner's result, beside the bound."""
    for letter, race, leg in zip(ascii_uppercase, found.races, found.mine.legs, strict=False):
        page.say(f"{letter}  {race}: yours {leg.said}; the bound {leg.least:.6g} ms", indent=2)
        if leg.why:
            page.say(leg.why, indent=5)


def about(page: Page) -> None:
    """The open chapters, in lines."""
    page.say("Open chapters have no one right answer. They are about time against a bound:")
    for chapter in all_chapters():
        command = f"mtd contest {chapter.lesson.number}"
        page.tell((command, "bold"), f"  {chapter.title}. {chapter.question}", indent=2)
