"""A verdict as a learner reads it: the fault and its place, a picture, how to see it again, lamps, and the
next step.
"""

from __future__ import annotations

import re

from rich.text import Text

from minitorch_dist.pictures import spacetime
from minitorch_dist.pictures.scene import Scene
from minitorch_dist.pictures.terminal import painted
from mtd.cli.page import Page, listed
from mtd.course import one_model, sizes, source, tracks
from mtd.course.chapters.chapter import of_lesson
from mtd.course.examination import Examination
from mtd.course.lesson import Lesson
from mtd.course.progress import Progress
from mtd.course.verdict import STARS, CheckVerdict
from mtd.course.workspace import Workspace
from mtd.grids.grid import Grid
from mtd.grids.grid_cells import WRONG

MOST_ARROWS = 12
NOTHING = Scene("", [])
LINES = 10  # of one complaint
PRINTED = 12  # lines of what the code printed
FULL = 90  # characters of a comment that goes on in the next line
LONGEST = 200  # characters of one of them
CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|[\x00-\x08\x0b-\x1f\x7f]")
SIGNS = {True: ("✔", "green"), False: ("✘", "red"), None: ("–", "dim")}

Parts = list[str | tuple[str, str]]  # of a sentence; some in a style


def verdict(page: Page, workspace: Workspace, exam: Examination, progress: Progress) -> None:
    """All that is to be said about a check."""
    lesson, found = exam.lesson, exam.verdict
    assert found is not None, "the check is over"
    skipped = {name for name in found.said if found.lamps.get(name, False) is None}
    told = {name: said for name, said in found.said.items() if name not in skipped}
    if found.unwritten:
        if told:
            wrong(page, exam, found, told)
        if found.lamps:
            page.say(lamps(found, page.width))
            page.say("(– needs a blank that is still to be written)", "dim")
            page.say()
        blanks(page, workspace, lesson, exam.written)
        page.say()
        number = lesson.number
        is_new = lesson.questions and not progress.has_guessed(number)
        guess: Parts = ["Guess first: ", page.way("predict", number), "   "] if is_new else []
        page.tell(*guess, "Lesson: ", page.way("text", number), "   Hint: ", page.way("hint", number))
        then: Parts = ["Then save the file."] if page.has_keys else ["Then: ", page.way("check", number)]
        page.tell(*then)
        return
    if told:
        wrong(page, exam, found, told)
    else:
        if exam.printed or exam.remarks:
            _printed(page, exam)
            page.say()
        if exam.grid is not None:
            fill(page, exam.grid)
    for name in sorted(skipped):
        page.tell(SIGNS[None], f" {name}: {found.said[name]}")
    used(page, found)
    page.say(lamps(found, page.width))
    if None in found.lamps.values():
        page.say("(– not tested this time)", "dim")
    page.say()
    if lesson.number not in progress.explained:
        why_it_matters(page, lesson)
    next_steps(page, workspace, lesson, found)


def quietly(page: Page, found: CheckVerdict) -> None:
    """The lamps, and what is wrong with the first that is out, in a line."""
    for said in found.unwritten[:1]:
        page.say(f"{len(found.unwritten)} to be written; the first is {said}")
    for name, said in [*found.said.items()][:1]:
        page.tell(("✘ ", "red"), (f"{name}: ", "bold"), said.splitlines()[0])
    if found.lamps:
        page.say(lamps(found, page.width))


def heading(page: Page, lesson: Lesson) -> None:
    page.tell((f"{lesson.label} {lesson.title}", "bold"), f"  {lesson.question}")


def blanks(page: Page, workspace: Workspace, lesson: Lesson, text: str) -> None:
    """List the blanks that are left: where each is, and what its function is for."""
    sized = workspace.source(lesson)
    tasks = {blank.number: blank for blank in sized.blanks}
    found, doubled = [], set[int]()
    for line, said in source.missing(text, lesson.number):
        if source.has_code_beside(text, line):
            doubled.add(line)
        name, _, task = said.partition(": ")
        number = int(name.removeprefix("blank "))
        found.append((line, number, task, tasks[number].more if number in tasks else ()))
    for line, blank in source.as_given(text, sized):
        found.append((line, blank.number, blank.task, blank.more))
    file = workspace.file(lesson).relative_to(workspace.folder)
    page.say(f"Still to be written in {file}:")
    for line, number, task, more in sorted(found):
        page.say()
        page.tell((f"line {line}  blank {number}: ", "bold"), task, indent=2)
        for comment in _flowing([one.strip().removeprefix("#").removeprefix(" ") for one in more]):
            page.say(comment, indent=4)
        place = sizes.around(text, line)
        if place:
            page.say(f"in {place}", "dim", indent=4)
        if line in doubled:
            page.say(source.DELETE, "yellow", indent=4)


def _flowing(comments: list[str]) -> list[str]:
    """A line that goes on in the next one, because it was full, and its continuation: one paragraph on any width."""
    found: list[str] = []
    for before, comment in zip(["", *comments], comments, strict=False):
        if len(before) > FULL and comment and not comment.startswith(" "):
            found[-1] += f" {comment}"
        else:
            found.append(comment)
    return found


def lamps(found: CheckVerdict, width: int) -> Text:
    """✔ correct  ✘ bytes 4.50× optimum   ★★☆"""
    words: list[Text] = []
    for name, is_on in found.lamps.items():
        cost = f" {found.costs[name]}" if name in found.costs else ""
        bonus = " (extra)" if name in found.bonus else ""
        words.append(Text.assemble(SIGNS[is_on], f" {name}{cost}{bonus}"))
    words.append(Text(stars(found.stars), "yellow"))
    shown, column = Text(), 0
    for word in words:
        if column and column + 2 + len(word) > width:
            shown.append("\n")
            column = 0
        shown.append("  " if column else "").append_text(word)
        column += len(word) + 2
    return shown


def stars(count: int) -> str:
    return "★" * count + "☆" * (STARS - count)


def wrong(page: Page, exam: Examination, found: CheckVerdict, complaints: dict[str, str]) -> None:
    """Show the first fault, its place, a picture, and how to see it again. Later lamps may be out for the same reason,
    so they are only named.

    The fault comes first on a screen that is read from its top. It comes last in a terminal, where the eye
    is at the bottom.
    """
    said = next(iter(complaints.values()))
    if page.has_keys:
        _complaints(page, found, complaints)
    if exam.printed or exam.remarks:
        _printed(page, exam)
        page.say()
    if exam.grid is not None:
        fill(page, exam.grid)
    else:
        if exam.caption:
            page.say(f"{exam.caption}:", "dim")
        is_told = bool(exam.no_picture) and _kind(exam.no_picture) == _kind(said)
        draw(page, exam.scene, exam.text, "" if is_told else exam.no_picture)
    if not page.has_keys:
        _complaints(page, found, complaints)


def _complaints(page: Page, found: CheckVerdict, complaints: dict[str, str]) -> None:
    (first, said), *others = complaints.items()
    _complain(page, first, said)
    page.tell("again: ", (again(found, first), "bold"), indent=4)
    if page.has_keys:
        page.say()
    if others:
        they, say = ("it", "says") if len(others) == 1 else ("they", "say")
        why = f"{they} may fail for the same reason, and {say} more when *{first}* is on"
        page.tell(("✘ ", "red"), (f"{listed([name for name, _ in others])}: ", "bold"), why)
    page.say()


def _complain(page: Page, name: str, said: str) -> None:
    head, *lines = said.split("\n")
    page.tell(("✘ ", "red"), (f"{name}: ", "bold"), head)
    for line in lines[:LINES]:
        page.say(line.strip(), indent=4)
    if len(lines) > LINES:
        page.say(f"… and {len(lines) - LINES} more", "dim", indent=4)


def _kind(said: str) -> str:
    """Which error it is, and on which line of the learner's: so that one mistake is reported once."""
    error = re.search(r"\b[A-Z]\w*(?:Error|Exception|Exit|Mismatch|Lost|Deadlock|Livelock)(?=: )|deadlock", said)
    place = re.search(r"\w+\.py:\d+", said)
    return f"{error[0].lower()} {place[0]}" if error and place else said


def again(found: CheckVerdict, name: str) -> str:
    if name in found.tokens:
        return f'mtd check {found.lesson.number} --replay "{found.tokens[name]}"'
    if name == "runs" or len(found.lamps) == 1:
        return f"mtd check {found.lesson.number}"
    return f'mtd check {found.lesson.number} --only "{name}"'


def _printed(page: Page, exam: Examination) -> None:
    """Show the output of the learner's code, and, apart from it, the remarks of the library."""
    if exam.printed:
        lines = [line[:LONGEST] for line in CONTROL.sub("", exam.printed).split("\n")]
        page.say("your code printed:", "dim", indent=4)
        if len(lines) > PRINTED:
            page.say(f"… ({len(lines) - PRINTED} lines before)", "dim", indent=6)
        for line in lines[-PRINTED:]:
            page.say(line, indent=6)
    for words in exam.remarks[:1]:
        page.say("the library remarks:", "dim", indent=4)
        page.say(words, indent=6)


def picture(page: Page, exam: Examination) -> None:
    """The contents of the ranks, and the lesson's own picture if it shows something else."""
    if exam.grid is not None:
        fill(page, exam.grid)
    if exam.grid is None or exam.text:
        draw(page, exam.scene, exam.text, exam.no_picture)


def fill(page: Page, grid: Grid) -> None:
    """The contents of the ranks, step by step, and the first wrong cell."""
    page.say(painted(grid.draw(page.width), NOTHING, page.console))
    for text in grid.words():
        page.say(text, "red" if grid.fault and text.startswith(WRONG) else "dim")
    page.say()


def draw(page: Page, scene: Scene | None, text: str = "", none: str = "", most: int = MOST_ARROWS) -> None:
    """The lesson's picture; of a long run its first messages."""
    if scene is None:
        if text:
            page.as_it_is(text)
            page.say()
        elif none:
            page.say(f"(no picture: {none.splitlines()[0]})", "dim", indent=4)
            page.say()
        return
    if len(scene.arrows) > most:
        arrows = sorted(scene.arrows, key=lambda arrow: arrow.departed)
        scene = scene.until(arrows[most - 1].departed)
    picture = spacetime.draw(scene, page.width)
    shown = spacetime.Picture(picture.lines[2:], [(row - 2, column, what) for row, column, what in picture.paint])
    page.say(painted(shown, scene, page.console))
    page.say()


def why_it_matters(page: Page, lesson: Lesson) -> None:
    page.tell(("Why it matters: ", "bold"), lesson.why)
    for address in lesson.bugs:
        page.say(f"a real case: {address}", "dim", indent=2)
    page.say()


def used(page: Page, found: CheckVerdict) -> None:
    """Whose modules of earlier lessons it stood on."""
    own = [number for number, is_own in found.used.items() if is_own]
    rest = [number for number, is_own in found.used.items() if not is_own]
    parts = [f"your lesson {listed(own)}"] if own else []
    parts += [f"our lesson {listed(rest)}"] if rest else []
    if parts:
        page.say(f"(uses {listed(parts)})", "dim")


def gone(workspace: Workspace, earlier: Lesson) -> str:
    """Of a lesson that passed, and is not there any more."""
    name = workspace.file(earlier).relative_to(workspace.folder)
    return (
        f"your lesson {earlier.number} passed once, and {name} is no more: ours is used. "
        f"mtd reset {earlier.number} writes it anew"
    )


def next_steps(page: Page, workspace: Workspace, lesson: Lesson, found: CheckVerdict) -> None:
    """Show what a learner can do now."""
    number, progress = lesson.number, workspace.progress()
    if not found.is_passed:
        run: Parts = ["run ", page.way("check", number), " again."]
        then: Parts = ["it is checked again."] if page.has_keys else run
        page.tell("Save the file and ", *then, "  A hint: ", page.way("hint", number))
        return
    if found.stars < STARS:
        out = [name for name, is_on in found.lamps.items() if not is_on]
        page.say(f"Passed; {listed(out)} would bring another star.")
    is_new = lesson.questions and not progress.has_guessed(number)
    guess: Parts = ["Did you expect these numbers? ", page.way("predict", number), "  "] if is_new else []
    page.tell("Passed. ", *guess, "Ours: ", page.way("solution", number))
    chapter = of_lesson(lesson)
    if chapter is not None:
        command = (f"mtd contest {number}", "bold")
        page.tell("An open chapter: ", chapter.title, f"  {chapter.question}  ", command)
    if (lesson.folder / one_model.FILE).is_file():
        page.tell("A small transformer, trained by your code: ", (f"mtd show {number} --model", "bold"))
    following = workspace.following(lesson)
    for track in tracks.all_tracks(workspace.room):
        if lesson.number in track.numbers and track.then and not track.left(progress.done):
            page.say(f"All of {track.title!r} has passed. Now try:")
            for line in track.then.split("; "):
                page.say(line, "bold", indent=2)
    if following is None:
        page.say("That was the last lesson there is.")
    else:
        what = (f"{following.label} {following.title}", "bold")
        key: Parts = ["  ", ("n", "bold")] if page.has_keys else []
        page.tell("Next: ", what, f"  {following.question}", *key)
        if not page.has_keys:  # a command has a line of its own: it may not be cut in two
            page.tell(page.way("text", following.number), indent=6)
