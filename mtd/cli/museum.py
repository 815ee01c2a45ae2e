"""`mtd museum`: bugs that people really had. Read about one, find one, or write the check that finds them all."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from minitorch_dist.pictures import spacetime
from minitorch_dist.pictures.scene import Scene
from minitorch_dist.pictures.terminal import painted
from mtd.cli.page import Page, begin, fitting, listed
from mtd.cli.parser import Parser
from mtd.course import achievements as results, museum, properties
from mtd.course.lesson import number_of
from mtd.course.museum import MuseumBug, NoExhibit, Seen

LETTERS = "abcd"
EVENTS = 16  # lines of a journal
ARROWS = 12


def configure(parser: Parser) -> None:
    parser.takes("""
        name?                  one of them, like 13/tutorial_of_2019, or a lesson: 13
        --find                 find the cause from what the ranks did (without a name: of any of them)
        --seed SEED: int       of the choice, to meet the same one again
        --property FILE: path  try your check: how many wrong all_reduces does it find, and does it spare the right ones?
        --begin                write that file, to begin with
    """)
    parser.needs("--seed", "--find")
    parser.needs("--begin", "--property")
    parser.excludes("--property", "name", "--find")
    parser.set_defaults(run=run, epilog="mtd museum --find")


def run(options: argparse.Namespace) -> int:
    page = Page()
    if options.property is not None:
        return property_of(page, options.property, options.begin)
    if options.find:
        seed = int.from_bytes(os.urandom(2)) if options.seed is None else options.seed
        everything = museum.exhibits()
        chosen = museum.exhibit(options.name) if options.name else everything[seed % len(everything)]
        return find(page, chosen, seed)
    if options.name is None:
        return rooms(page)
    if options.name.replace(".", "", 1).isdigit():
        return rooms(page, number_of(options.name))
    return show(page, museum.exhibit(options.name))


def rooms(page: Page, number: float | None = None) -> int:
    """All of them, or those of one lesson."""
    here = [one for one in museum.exhibits() if number in (None, one.lesson and one.lesson.number)]
    if not here:
        raise NoExhibit(f"lesson {number} has no exhibit; mtd museum lists all there are")
    page.say(
        f"{len(here)} bugs that people shipped, each re-enacted in a few lines that run here, with the address where it was seen."
    )
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    table.add_column("name", no_wrap=True)
    table.add_column("what happened", ratio=1)
    room = ""
    for one in here:
        if one.room != room:
            room = one.room
            name = one.lesson.title if one.lesson else "Hangs that people met in public"
            table.add_row(Text(name, "bold cyan"), "")
        table.add_row(one.name, one.title)
    page.say(fitting(table, page.console))
    page.tell("Read about one:           ", (f"mtd museum {here[0].name}", "bold"))
    page.tell("Find the cause yourself:  ", ("mtd museum --find", "bold"))
    page.tell("Write what finds them:    ", ("mtd museum --property mine.py --begin", "bold"))
    return 0


# ------------------------------------------------------------------------------- read about one


def show(page: Page, one: MuseumBug) -> int:
    """Symptom, what the ranks did, the line, the cause, the address."""
    seen = run_exhibit(page, one)
    page.tell((one.name, "bold"), f"  {where(one)}")
    page.say()
    symptom(page, seen, seen.scene, seen.said)
    page.say("Its code; > marks lines that differ from the right one:", "dim")
    code(page, one, one.wrong_lines)
    cause(page, one)
    return 0


def run_exhibit(page: Page, one: MuseumBug) -> Seen:
    """Run it; some that wait for what never comes take a while."""
    if not page.is_plain:
        page.console.print("running it …", end="\r")
    return museum.run_exhibit(one)


def where(one: MuseumBug) -> str:
    return f"lesson {one.lesson.number}, {one.lesson.title}" if one.lesson else "a hang"


def symptom(page: Page, seen: Seen, scene: Scene | None, said: str) -> None:
    if said:
        page.tell(("What one sees: ", "bold"), *said.split("\n")[:1])
        for line in said.split("\n")[1 : museum.SAID]:
            page.as_it_is(line.rstrip())
        page.say()
    if scene is not None:
        arrows = sorted(scene.arrows, key=lambda arrow: arrow.departed)
        if len(arrows) > ARROWS:
            scene = scene.until(arrows[ARROWS - 1].departed)
        page.say(painted(spacetime.draw(scene, page.width), scene, page.console))
        page.say()
    elif seen.text:
        page.as_it_is(seen.text)
        page.say()


def code(page: Page, one: MuseumBug, wrong: set[int] | None = None) -> None:
    """All of it, or what is around the wrong lines, which are marked."""
    lines = one.text.rstrip("\n").split("\n")
    for number, line in enumerate(lines, 1):
        if wrong is not None and not any(abs(number - each) <= 4 for each in wrong):
            continue
        is_wrong = wrong is not None and number in wrong
        page.as_it_is(f"{number:>4} {'>' if is_wrong else ' '} {line}")
    page.say()


def cause(page: Page, one: MuseumBug) -> None:
    page.tell(("The cause: ", "bold"), one.title)
    for paragraph in one.story.split("\n\n"):
        page.say(" ".join(paragraph.split()))
    page.say()
    page.say(f"What catches it: {listed(one.caught_by)}.")
    for address in one.seen:
        page.say(Text(f"Seen: {address}", no_wrap=True, overflow="ignore"))
    if one.lesson:
        page.tell("Make it right yourself: ", (f"mtd check {one.lesson.number}", "bold"))


# ----------------------------------------------------------------------------------- find one


def find(page: Page, one: MuseumBug, seed: int) -> int:
    """Show what the ranks did, and ask. 0 if the answer was right."""
    quiz, seen = museum.quiz(one, seed), run_exhibit(page, one)
    page.tell(("What is wrong here? ", "bold"), f"({where(one)}; --seed {seed})")
    page.say()
    scene = None if seen.scene is None else museum.anonymous(seen.scene)
    symptom(page, seen, scene, museum.without_names(seen.said))
    if scene is not None:
        _journal(page, scene)
    for letter, choice in zip(LETTERS, quiz.choices, strict=False):
        page.tell((f"{letter}  ", "bold"), choice.title)
    can_name = 0 < len(one.wrong_lines) <= museum.FEW
    page.tell(("s  ", "bold"), "see the source, and name the line instead") if can_name else None
    is_right = _answered(page, quiz, can_name)
    page.say()
    if is_right is None:
        page.say("Given up.")
    else:
        page.say("Right." if is_right else "No.", "green" if is_right else "red")
    if is_right:
        results.enter("museum", one.name, 1, "found")
    page.say()
    code(page, one, one.wrong_lines)
    cause(page, one)
    return 0 if is_right else 1


def _answered(page: Page, quiz: museum.Quiz, can_name: bool) -> bool | None:
    """Whether the answer is right; None if there is none."""
    letters = LETTERS[: len(quiz.choices)]
    while True:
        answer = ask(page, "> ").lower()
        if answer in ("", "q"):
            return None
        if answer == "s" and can_name:
            code(page, quiz.exhibit)
            number = ask(page, "line: ")
            return number.isdigit() and int(number) in quiz.exhibit.wrong_lines
        if len(answer) == 1 and answer in letters:
            return letters.index(answer) == quiz.answer
        page.say(f"{', '.join(letters)}, or q to give up")


def _journal(page: Page, scene: Scene) -> None:
    for moment in scene.moments[:EVENTS]:
        page.as_it_is(moment.text)
    if len(scene.moments) > EVENTS:
        page.say(f"… and {len(scene.moments) - EVENTS} events more", "dim")
    page.say()


def ask(page: Page, prompt: str) -> str:
    """One line; "" at the end of the input."""
    page.prompt(prompt)
    line = sys.stdin.readline()
    if not sys.stdin.isatty():
        page.say()
    return line.strip()


# ----------------------------------------------------------------------------- write the check


def property_of(page: Page, file: Path, is_new: bool) -> int:
    if is_new:
        begin(file, properties.TEMPLATE.format(name=file), properties.NoProperty)
        page.tell(f"wrote {file}; now: ", (f"mtd museum --property {file}", "bold"))
        return 0
    found = properties.judged(file)
    for name, said in found.wrong.items():
        sign = ("✔ ", "green") if said else ("✘ ", "red")
        page.tell(sign, (name, "bold"), f"  {said or 'lives: ' + found.stories[name]}")
    for name, said in found.right.items():
        if said:
            page.tell(("✘ ", "red"), (name, "bold"), f"  is right, and is accused: {said}")
    page.say()
    page.say(
        f"{found.points} of {len(found.wrong)} points: {len(found.rejected)} wrong ones found, "
        f"{len(found.accused)} of {len(found.right)} right ones accused"
    )
    said = f"{found.points} of {len(found.wrong)} points"
    results.enter("property", file.name, found.points, said)
    return 0 if found.points == len(found.wrong) else 1
