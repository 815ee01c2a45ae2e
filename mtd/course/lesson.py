"""The files in a lesson's folder.

lessons/13_ring/
  lesson.toml   title, question, why, time, questions to predict, a failure to read (see `sample_failure`)
  text.md       the lesson, at most 600 words
  ring.py       the one source, with its blanks (see `source`)
  check.py      lamps (see `lamps`), and a picture
  hints.md      three of them: # Nudge, # Plan, # Near code
  mutants/      wrong versions; whole files, or only the wrong lines of the blanks
  plot.py       what the notebook draws
  wire.py       what runs over real wires (see `real_wires`), where a lesson has it
  torch_bridge.py  the same in PyTorch (see `bridging`), from lesson 05 on
  model.py      the course's small transformer, trained by this lesson (see `one_model`), where a lesson has it
  train.py      where `given` in lesson.toml names some: files for the learner's folder, as they are
"""

from __future__ import annotations

import difflib
import os
import re
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import Annotated

from mtd.course import records
from mtd.course.records import LessonError as LessonError
from mtd.course.sample_failure import SampleFailure
from mtd.course.sizes import completed, hints, sized
from mtd.course.source import Source, parse

BRIDGE = "torch_bridge.py"
VARIABLE = "MTD_LESSONS"  # another folder of lessons: one's own
ROOM = Path(
    os.environ.get(VARIABLE) or Path(__file__).resolve().parents[2] / "lessons"  # beside the package, installed or not
)
FOLDER = re.compile(r"(\d\d(?:\.5)?)_([a-z][a-z0-9_]*)")
HINTS = ("Nudge", "Plan", "Near code")


@dataclass(frozen=True)
class Question:
    """Asked before a run: a number. `truth` is a function of the lesson's check that measures it."""

    ask: str
    truth: str
    formula: str


@dataclass(frozen=True)
class Mutant:
    """A wrong version, and what catches it."""

    name: str
    title: str
    story: str
    caught_by: tuple[str, ...]  # lamps, each of which must be out
    passes: tuple[str, ...]  # lamps that are on nevertheless
    seen: tuple[str, ...]  # where somebody met it; none: it is merely lazy
    text: str  # of the whole file


def number_of(said: object) -> float:
    """13 of `13`, 5.5 of `05.5`; ValueError if it is no lesson's number."""
    if not re.fullmatch(r"\d+(\.5)?", str(said)):
        raise ValueError(f"{said!r} is not a number of a lesson")
    return float(str(said)) if str(said).endswith(".5") else int(str(said))


Number = Annotated[float, number_of]  # 13; 5.5 stands between 5 and 6


@dataclass(frozen=True)
class Titled:
    """A text, and a file that the learner writes: a lesson, or an open chapter."""

    folder: Path
    title: str
    question: str
    file: str  # ring.py
    minutes: int  # of a learner, about

    @property
    def module(self) -> str:
        """The name by which it is imported: ring"""
        return self.file.removesuffix(".py")

    @property
    def text(self) -> str:
        return (self.folder / "text.md").read_text("utf-8")


@dataclass(frozen=True)
class Lesson(Titled):
    """A lesson; all but the first two fields stand in lesson.toml."""

    number: Number
    name: str  # ring, for 13_ring
    part: str
    why: str  # what the check asks for matters, in a sentence
    seconds: float  # of processor time, which its check may take
    requires: list[Number] = field(default_factory=list)
    exports: list[str] = field(default_factory=list)
    # Functions without a gap that are blank where whole ones are (see `sizes`).
    whole: list[str] = field(default_factory=list)
    # Files that the learner gets as they are; the check takes ours.
    given: list[str] = field(default_factory=list)
    # `like`: a regular expression for answers of before; `say`.
    earlier: dict[str, str] = field(default_factory=dict)
    formerly: list[str] = field(default_factory=list)  # folders of lessons that are a part of this one now
    predict: list[Question] = field(default_factory=list)
    bugs: list[str] = field(default_factory=list)  # addresses of real cases
    failure: SampleFailure | None = None  # the check's words about one wrong version, and how to read them

    def to_json(self) -> str:
        """Another process reads its folder."""
        return str(self.folder.absolute())

    @classmethod
    def from_json(cls, folder: str) -> Lesson:
        return read(Path(folder))

    @property
    def room(self) -> Path:
        """The folder of all lessons."""
        return self.folder.parent

    @property
    def questions(self) -> list[Question]:
        return self.predict

    def outdated(self, text: str) -> str:
        """How to repair an answer to the lesson as it was before it changed; "" if this is none. Such answers do not pass."""
        is_old = bool(self.earlier) and re.search(self.earlier["like"], text)
        return self.earlier["say"] if is_old else ""

    def moved(self, wanted: object) -> str:
        """Where the lesson is now that has this number or name, if it is a part of this one; else ""."""
        numbers = [number_of(folder.split("_")[0]) for folder in self.formerly if is_called(wanted, folder)]
        return "".join(
            f"Lesson {number} is a part of lesson {self.number} now, {self.title}." for number in numbers[:1]
        )

    @cached_property
    def source(self) -> Source:
        path = self.folder / self.file
        return parse(path.read_text("utf-8"), str(path.relative_to(self.folder.parent)))

    def sized(self, size: str, carried: frozenset[str] = frozenset()) -> Source:
        """The source with blanks of this size; of the names in `carried` a file asks no more."""
        return sized(self.source, size, tuple(self.whole), tuple(self.exports), carried)

    @property
    def plain_text(self) -> str:
        """The text and its failure, where no page of ours is beside them: of links to pages only the words."""
        whole = f"{self.text.rstrip()}\n\n{self.failure.page}" if self.failure else self.text
        return re.sub(r"\[([^\]]+)\]\(\.\./[^)]*\)", r"\1", whole)

    @property
    def bridge(self) -> str:
        """The same in PyTorch; "" where there is nothing yet."""
        path = self.folder / BRIDGE
        return path.read_text("utf-8") if path.is_file() else ""

    @cached_property
    def hints(self) -> list[str]:
        """Three, each says more than the one before."""
        written = (self.folder / "hints.md").read_text("utf-8")
        parts = re.split(r"^# (.+)$", written, flags=re.MULTILINE)
        found = {name.strip(): text.strip() for name, text in zip(parts[1::2], parts[2::2], strict=True)}
        if tuple(found) != HINTS:
            raise LessonError(f"{self}: hints.md has {list(found)}, expected {list(HINTS)}")
        return [found[name] for name in HINTS]

    def hints_for(self, size: str) -> list[str]:
        """The hints, with more about whole functions where these are blank."""
        return hints(self.source, size, self.whole, self.hints, self.number)

    @cached_property
    def mutants(self) -> list[Mutant]:
        return [read_mutant(self, path) for path in sorted((self.folder / "mutants").glob("*.py"))]

    @property
    def label(self) -> str:
        """Its number with a zero in front, as its folder has it: 02.5"""
        return self.folder.name.partition("_")[0]

    def __str__(self) -> str:
        return f"lesson {self.label} {self.title}"


def read(folder: Path) -> Lesson:
    """The lesson in a folder; LessonError says what is missing in it."""
    named = FOLDER.fullmatch(folder.name)
    if named is None:
        raise LessonError(f"a lesson's folder is called like 13_ring, this is {folder.name!r}")
    return records.read(folder / "lesson.toml", Lesson, folder=folder, number=named[1], name=named[2])


def all_lessons(room: Path = ROOM) -> list[Lesson]:
    """In their order."""
    folders = [path for path in room.iterdir() if FOLDER.fullmatch(path.name)] if room.is_dir() else []
    return sorted(map(read, folders), key=lambda lesson: lesson.number)


def find(wanted: str | float, room: Path = ROOM) -> Lesson:
    """By number (13), name (ring) or both (13_ring). A lesson that has become a part of another leads to that one."""
    lessons = all_lessons(room)
    for lesson in lessons:
        if wanted == lesson.file or is_called(wanted, lesson.folder.name):
            return lesson
    for lesson in lessons:
        if lesson.moved(wanted):
            return lesson
    numbers = _in_words([lesson.number for lesson in lessons]) or "none"
    raise LessonError(
        f"there is no lesson {wanted!r}{_near(str(wanted), lessons)}; there are {numbers} (mtd list --all shows them)"
    )


def is_called(wanted: object, folder: str) -> bool:
    """Whether this is the number or the name of the lesson in a folder like 13_ring."""
    label, _, name = folder.partition("_")
    is_number = str(wanted).lstrip("0") == str(number_of(label))
    return is_number or wanted in (name, folder, f"{name}.py")


def _in_words(numbers: list[float]) -> str:
    """`1, 2, 5` or `1 to 30` or `1 to 30, 33, 5.5`"""
    whole = [int(number) for number in numbers if number == int(number)]
    runs = [[str(n) for _, n in run] for _, run in groupby(enumerate(whole), lambda pair: pair[1] - pair[0])]
    said = [f"{run[0]} to {run[-1]}" if len(run) > 2 else ", ".join(run) for run in runs]
    return ", ".join([*said, *(str(number) for number in numbers if number not in whole)])


def _near(wanted: str, lessons: list[Lesson]) -> str:
    """The lesson that was perhaps meant."""
    words = {}
    for lesson in lessons:
        titles = [lesson.name, lesson.folder.name, lesson.title, lesson.file]
        words.update({word.lower(): lesson for word in titles + lesson.title.split()})
    found = difflib.get_close_matches(wanted.lower(), words, 3, 0.6)
    names = dict.fromkeys(words[word].folder.name for word in found)
    return f" (perhaps {' or '.join(names)}?)" if names else ""


# --------------------------------------------------------------------------------------- mutants


def read_mutant(lesson: Lesson, path: Path) -> Mutant:
    """A file that begins with a docstring: a title, a story, and lines `Caught by:`, `Passes:`, `Seen:`.

    If it has marks, only its blanks count, and the rest is the lesson's own. Else it is a whole file, and names that
    it lacks although others use them are the lesson's own.
    """
    text = path.read_text("utf-8")
    found = re.match(r'"""(.*?)"""', text, re.DOTALL)
    if found is None:
        raise LessonError(f"{lesson.folder.name}/mutants/{path.name} does not begin with a docstring")
    title, _, rest = found[1].strip().partition("\n")
    said: dict[str, list[str]] = {"Caught by": [], "Passes": [], "Seen": []}
    story: list[str] = []
    for line in rest.split("\n"):
        key, colon, value = line.partition(": ")
        if colon and key in said:
            said[key] += [value.strip()] if key == "Seen" else [word.strip() for word in value.split(",")]
        else:
            story.append(line)
    if not said["Caught by"]:
        raise LessonError(f"{lesson.folder.name}/mutants/{path.name} does not say what it is 'Caught by:'")
    if "# BLANK" in text:
        wrong = parse(text, path.name, some=True)
        text = lesson.source.filled({blank.number: blank.solution for blank in wrong.blanks})
    else:
        text = completed(text, lesson.source, lesson.exports)
    caught_by, passes, seen = map(tuple, said.values())
    return Mutant(path.stem, title, "\n".join(story).strip(), caught_by, passes, seen, text)
