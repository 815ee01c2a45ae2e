"""The museum of real bugs: what the lessons' mutants re-enact, and the hangs of the zoo, each with its address.

for one in exhibits(): print(one.name, one.title, one.seen)
run_exhibit(exhibit("13/tutorial_of_2019"))       it is run: what its ranks do, and what is said about it

An exhibit can be read, or found: shown what the ranks did, without names and lines (`anonymous`), one chooses
among causes (`quiz`). `properties` is for writing a check that catches such things.
"""

from __future__ import annotations

import difflib
import inspect
import re
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from zlib import crc32

from minitorch_dist import sim
from minitorch_dist.pictures.scene import Scene
from mtd import zoo
from mtd.course import lab
from mtd.course.examination import Examination
from mtd.course.lesson import Lesson, Mutant, all_lessons
from mtd.course.path import LessonAnswer
from mtd.refusals import CannotDo
from transports import keeper

HANGS = "hangs"  # the room of the zoo
CHOICES = 4
FEW = 8  # changed lines; with more of them it is another program
SAID = 12  # lines
PATIENCE = 25  # looks at a picture that is being drawn, five a second


class NoExhibit(CannotDo):
    """There is none of that name."""


@dataclass(frozen=True)
class MuseumBug:
    """A bug that somebody had."""

    room: str  # 13, or hangs
    short: str  # tutorial_of_2019
    title: str
    story: str
    seen: tuple[str, ...]
    caught_by: tuple[str, ...]
    text: str = field(repr=False)  # its source
    right: str = field(repr=False)  # the same without the bug
    lesson: Lesson | None = field(repr=False)

    @property
    def name(self) -> str:
        return f"{self.room}/{self.short}"

    @property
    def wrong_lines(self) -> set[int]:
        """The lines, from 1, in which it differs from the right one."""
        return _changed(self.right, self.text)


@dataclass(frozen=True)
class Seen:
    """The look of its run."""

    scene: Scene | None
    text: str  # a picture that is text
    said: str  # by what caught it


@cache
def exhibits() -> tuple[MuseumBug, ...]:
    """Every mutant that says where it was seen, then the seven hangs."""
    shipped = ((lesson, mutant) for lesson in all_lessons() for mutant in lesson.mutants)
    found = [_of_a_lesson(*each) for each in shipped if each[1].seen]
    return (*found, *(_of_the_zoo(name) for name in zoo.NAMES))


def exhibit(name: str) -> MuseumBug:
    """By its name, or by its short one where no other has it."""
    found = [one for one in exhibits() if name in (one.name, one.short)]
    if len(found) == 1:
        return found[0]
    if found:
        raise NoExhibit(f"there are several called {name}: {', '.join(one.name for one in found)}")
    names = [word for one in exhibits() for word in (one.name, one.short)]
    near = difflib.get_close_matches(name, names, 3)
    meant = f"did you mean {' or '.join(near)}?"
    perhaps = f"; {meant if near else f'mtd museum lists them, like {names[0]}'}"
    raise NoExhibit(f"the museum has no {name!r}{perhaps}")


def _of_a_lesson(lesson: Lesson, one: Mutant) -> MuseumBug:
    text, right = _bare(one.text), _bare(lesson.source.solution(marks=True))
    return MuseumBug(lesson.label, one.name, one.title, one.story, one.seen, one.caught_by, text, right, lesson)


def _bare(text: str) -> str:
    """Without the marks of the blanks, and the docstring that tells all."""
    kept = [line for line in text.split("\n") if not re.match(r"\s*# (BLANK \d+:|END$)", line)]
    bare = "\n".join(kept)
    docstring = re.match(r'""".*?\nCaught by:.*?"""\n*', bare, re.DOTALL)
    return bare[docstring.end() :] if docstring else bare


def _of_the_zoo(name: str) -> MuseumBug:
    found = zoo.exhibit(name)
    title, _, story = (found.__doc__ or "").strip().partition("\n")
    text = inspect.getsource(found)
    place = next(n for n, line in enumerate(text.split("\n"), 1) if "the bug" in line)
    bare = re.sub(r"  # .*the bug.*", "", text)
    lines = bare.split("\n")
    right = "\n".join([*lines[: place - 1], "", *lines[place:]])
    return MuseumBug(HANGS, name, title, story.strip(), (found.ADDRESS,), ("never stuck",), bare, right, None)


def _changed(right: str, wrong: str) -> set[int]:
    """Lines of `wrong` that are not in `right`; where one is missing, those beside the gap. Where a whole part is another, gaps
    tell nothing."""
    before, after = _code(right), _code(wrong)
    matcher = difflib.SequenceMatcher(None, [line for _, line in before], [line for _, line in after], autojunk=False)
    found, gaps = set[int](), set[int]()
    for kind, _, _, first, last in matcher.get_opcodes():
        if kind == "delete":
            gaps |= {number for number, _ in after[max(first - 1, 0) : first + 1]}
        elif kind != "equal":
            found |= {number for number, _ in after[first:last]}
    return found if len(found) > FEW else found | gaps


def _code(text: str) -> list[tuple[int, str]]:
    """Lines that do something, with their numbers."""
    idle = ("", '"""')
    return [
        (number, line)
        for number, line in enumerate(text.split("\n"), 1)
        if line.strip() not in idle and not line.strip().startswith(("#", "import ", "from "))
    ]


# ---------------------------------------------------------------------------------- its run


def run_exhibit(one: MuseumBug) -> Seen:
    """Run it: in a process of its own, under its lesson's check, or in virtual time."""
    if one.lesson is None:
        return _run_hang(one)
    with keeper.temporary_folder("mtd-museum-") as folder:
        (Path(folder) / one.lesson.file).write_text(one.text, encoding="utf-8")
        with Examination(LessonAnswer(one.lesson, Path(folder)), only=one.caught_by) as exam:
            polls = 0  # since the verdict: what is wrong may never draw its picture
            while not exam.poll(0.2) and polls < PATIENCE:
                polls += exam.verdict is not None
    said = [] if exam.verdict is None else list(exam.verdict.said.values())
    return Seen(exam.scene, exam.text, said[0] if said else "")


def _run_hang(one: MuseumBug) -> Seen:
    found = zoo.exhibit(one.short)
    scene = lab.scene(found.hang, found.RANKS)
    try:
        sim.run(found.hang, found.RANKS)
    except Exception as error:
        return Seen(scene, "", f"{type(error).__name__}: {error}")
    return Seen(scene, "", "")


def anonymous(scene: Scene) -> Scene:
    """Without functions and lines, and without what was said about it in the end."""

    def bare(text: str) -> str:
        text = re.sub(r" (at|in) [\w./<>-]+\.py:\d+", "", text)
        return re.sub(r": [A-Z]\w+: .*", "", text, flags=re.DOTALL).replace(" of group 'default_pg'", "")

    return replace(
        scene,
        title=f"{len(scene.lanes)} ranks",
        spans=[span._replace(text=bare(span.text)) for span in scene.spans],
        arrows=[arrow._replace(text=bare(arrow.text)) for arrow in scene.arrows],
        moments=[moment._replace(text=bare(moment.text)) for moment in scene.moments],
    )


def without_names(said: str) -> str:
    """The words of a check, without functions, files and lines."""
    lines = [line for line in said.split("\n") if not re.match(r"\s+[\w./-]+\.py:\d+: ", line)]
    return re.sub(r" (at|in) [\w./<>-]+\.py:\d+", "", "\n".join(lines[:SAID]))


# --------------------------------------------------------------------------------- the quiz


@dataclass(frozen=True)
class Quiz:
    """What is the cause? One of these."""

    exhibit: MuseumBug
    choices: tuple[MuseumBug, ...]

    @property
    def answer(self) -> int:
        return self.choices.index(self.exhibit)


def quiz(one: MuseumBug, seed: int = 0) -> Quiz:
    """The causes to choose from: those nearest to it in the museum, in an order that the seed gives."""
    place = exhibits().index(one)

    def distance(other: MuseumBug) -> tuple[bool, int]:
        return other.room != one.room, abs(exhibits().index(other) - place)

    others = [each for each in exhibits() if each.title != one.title]
    chosen = [one, *sorted(others, key=distance)[: CHOICES - 1]]
    return Quiz(one, tuple(sorted(chosen, key=lambda each: crc32(f"{seed} {each.name}".encode()))))
