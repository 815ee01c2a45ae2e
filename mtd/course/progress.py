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
from typing import Any

from minitorch_dist.serialization.files import replacing
from mtd.course.lesson import number_of
from mtd.course.sizes import GAP, SIZES

FILE = "progress.json"
VERSION = 1


@dataclass(frozen=True)
class Passed:
    stars: int
    digest: str  # of the file that passed


@dataclass(frozen=True)
class Prediction:
    lesson: float
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
    present: float | None = None  # the lesson where the learner is
    track: str = ""  # of their choice (see `tracks`); "": the first one with something left
    passed: dict[float, Passed] = field(default_factory=dict)
    hints: dict[float, int] = field(default_factory=dict)  # how many were seen
    predictions: list[Prediction] = field(default_factory=list)
    reference: set[float] = field(default_factory=set)  # lessons for which later ones take ours
    explained: set[float] = field(default_factory=set)  # lessons whose "why" has been said
    given_up: set[float] = field(default_factory=set)  # lessons whose solution was shown before
    size: str = GAP  # of the blanks, where `sizes` says nothing else (see `sizes`)
    sizes: dict[float, str] = field(default_factory=dict)
    written: dict[str, str] = field(default_factory=dict)  # by file: the digest of what we wrote
    rooms: dict[str, dict[str, BestResult]] = field(default_factory=dict)  # museum, game, contest, capstone
    notice: str = ""  # what was wrong with the file; not kept

    @property
    def done(self) -> set[float]:
        """Lessons that passed, or for which ours is taken."""
        return self.reference | self.passed.keys()

    def size_of(self, lesson: float) -> str:
        """Of this lesson's blanks: gap, function or file."""
        return self.sizes.get(lesson, self.size)

    def to_json(self) -> dict[str, Any]:
        return {
            "version": VERSION,
            "present": self.present,
            "track": self.track,
            "passed": {str(n): {"stars": p.stars, "digest": p.digest} for n, p in sorted(self.passed.items())},
            "hints": {str(n): seen for n, seen in sorted(self.hints.items())},
            "predictions": [vars(one) for one in self.predictions],
            "reference": sorted(self.reference),
            "explained": sorted(self.explained),
            "given_up": sorted(self.given_up),
            "size": self.size,
            "sizes": {str(n): size for n, size in sorted(self.sizes.items())},
            "written": dict(sorted(self.written.items())),
            "rooms": {
                room: {name: vars(one) for name, one in sorted(done.items())}
                for room, done in sorted(self.rooms.items())
            },
        }  # fmt: skip

    @classmethod
    def from_json(cls, found: Any) -> Progress:
        """ValueError, TypeError or KeyError where it is not what `to_json` makes."""
        if not isinstance(found, dict) or not isinstance(found.get("version"), int):
            raise ValueError("it is no progress of this course")
        if found["version"] > VERSION:
            raise ValueError(f"a later version of this program wrote it (form {found['version']})")
        present = found["present"]
        size = str(found.get("size", GAP))  # the first courses had one size
        sizes = {number_of(n): str(each) for n, each in found.get("sizes", {}).items()}
        if not {size, *sizes.values()} <= {*SIZES}:
            raise ValueError(f"a size is {', '.join(SIZES)}")
        return cls(
            None if present is None else number_of(present),
            str(found.get("track", "")),  # the first courses had one order
            {number_of(n): Passed(int(p["stars"]), str(p["digest"])) for n, p in found["passed"].items()},
            {number_of(n): int(seen) for n, seen in found["hints"].items()},
            [
                Prediction(number_of(p["lesson"]), str(p["ask"]), float(p["given"]), float(p["truth"]))
                for p in found["predictions"]
            ],
            {number_of(n) for n in found["reference"]},
            {number_of(n) for n in found["explained"]},
            {number_of(n) for n in found["given_up"]},
            size,
            sizes,
            {str(name): str(value) for name, value in found["written"].items()},
            {
                str(room): {
                    str(name): BestResult(float(one["points"]), str(one["said"]))
                    for name, one in done.items()
                }
                for room, done in found.get("rooms", {}).items()  # the first courses had none
            },
        )


def digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def read(folder: Path) -> Progress:
    path = folder / FILE
    try:
        return Progress.from_json(json.loads(path.read_text("utf-8")))
    except FileNotFoundError:
        return Progress()
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        aside = _aside(path)
        return Progress(
            notice=f"{path} cannot be read ({type(error).__name__}: {error}). It now lies in {aside.name}, and a new "
            "one is begun. Your own files are as they were: mtd check --all finds again what passes."
        )


def write(folder: Path, progress: Progress) -> None:
    text = json.dumps(progress.to_json(), indent=1) + "\n"
    with replacing(folder / FILE) as file:
        file.write(text.encode())


@contextmanager
def changing(folder: Path) -> Iterator[Progress]:
    """The progress as it is on the disk now; written back when the block ends without an error."""
    progress = read(folder)
    yield progress
    write(folder, progress)


def _aside(path: Path) -> Path:
    """Move a damaged file out of the way, under a name that is free."""
    for number in itertools.count(1):
        aside = path.with_name(f"progress.damaged-{number}.json")
        if not aside.exists():
            return path.replace(aside)
    raise AssertionError("there is always a free name")
