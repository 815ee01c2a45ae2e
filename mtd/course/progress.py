"""How far a learner is: progress.json in the learner's folder.

    found = progress.read(folder)
    with progress.changing(folder) as found:
        found.hints[13] = 2                    written whole, or not at all

A file that cannot be read is set aside and a new one begun; `notice` says so.
"""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from mtd.course import records
from mtd.course.lesson import Number
from mtd.course.sizes import GAP, SIZES
from mtd.pages import whole_files

FILE = "progress.json"
VERSION = 1


@dataclass(frozen=True)
class Passed:
    stars: int
    digest: str  # of the file that passed


@dataclass(frozen=True)
class Prediction:
    lesson: Number
    ask: str
    given: float
    truth: float


@dataclass(frozen=True)
class BestResult:
    """The best result of something beside the lessons."""

    points: float  # the more the better
    said: str


@dataclass
class Progress:
    version: int = VERSION
    present: Number | None = None  # the lesson where the learner is
    track: str = ""  # of their choice (see `tracks`); "": the first one with something left
    passed: dict[Number, Passed] = field(default_factory=dict)
    hints: dict[Number, int] = field(default_factory=dict)  # how many were seen
    predictions: list[Prediction] = field(default_factory=list)
    reference: set[Number] = field(default_factory=set)  # lessons for which later ones take ours
    explained: set[Number] = field(default_factory=set)  # lessons whose "why" has been said
    given_up: set[Number] = field(default_factory=set)  # lessons whose solution was shown before
    size: str = GAP  # of the blanks, where `sizes` says nothing else (see `sizes`)
    sizes: dict[Number, str] = field(default_factory=dict)
    written: dict[str, str] = field(default_factory=dict)  # by file: the digest of what we wrote
    rooms: dict[str, dict[str, BestResult]] = field(default_factory=dict)  # museum, game, contest, capstone
    notice: str = ""  # what was wrong with the file; not kept

    @property
    def done(self) -> set[float]:
        """Lessons that passed, or for which ours is taken."""
        return self.reference | self.passed.keys()

    def has_guessed(self, lesson: float) -> bool:
        return any(one.lesson == lesson for one in self.predictions)

    def size_of(self, lesson: float) -> str:
        """Of this lesson's blanks: gap, function or file."""
        return self.sizes.get(lesson, self.size)

    def text(self) -> str:
        kept = {name: value for name, value in vars(self).items() if name != "notice"}
        return json.dumps(kept, default=records.plain, indent=1) + "\n"

    @classmethod
    def of(cls, text: str) -> Progress:
        """ValueError, TypeError, KeyError or AttributeError where it is not what `text` makes."""
        found = json.loads(text)
        if not isinstance(found, dict) or not isinstance(found.get("version"), int) or "passed" not in found:
            raise ValueError("it is no progress of this course")
        if found["version"] > VERSION:
            raise ValueError(f"a later version of this program wrote it (form {found['version']})")
        progress = records.record(cls, found)  # courses of before had no track, one size, and no rooms
        if not {progress.size, *progress.sizes.values()} <= {*SIZES}:
            raise ValueError(f"a size is {', '.join(SIZES)}")
        return progress


def digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def read(folder: Path) -> Progress:
    path = folder / FILE
    try:
        return Progress.of(path.read_text("utf-8"))
    except FileNotFoundError:
        return Progress()
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        aside = path.replace(free(folder, path.with_stem("progress.damaged")))
        return Progress(
            notice=f"{path} cannot be read ({type(error).__name__}: {error}). It now lies in {aside.name}, and a new "
            "one is begun. Your own files are as they were: mtd check --all finds again what passes."
        )


def write(folder: Path, progress: Progress) -> None:
    whole_files.write(folder / FILE, progress.text())


@contextmanager
def changing(folder: Path) -> Iterator[Progress]:
    """The progress as it is on the disk now; written back when the block ends without an error."""
    progress = read(folder)
    yield progress
    write(folder, progress)


def free(folder: Path, like: Path) -> Path:
    """A name in this folder that nothing has yet."""
    names = (folder / f"{like.stem}-{number}{like.suffix}" for number in itertools.count(1))
    return next(name for name in names if not name.exists())
