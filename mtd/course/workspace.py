"""A learner's folder.

    course/
      README.md  progress.json  pyrightconfig.json     (so that editors find `from ring import …`)
      13_ring/
        ring.py      the skeleton, then what the learner makes of it
        text.md      the lesson

It is found upward from the current folder, as git finds a repository; else it is the one last used.
Nothing that a learner wrote is ever written over.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from mtd.course import progress as progresses, tracks
from mtd.course.carrying import CarriedText, carry
from mtd.course.lesson import BRIDGE, FOLDER, ROOM, Lesson, LessonError, all_lessons
from mtd.course.path import LessonAnswer
from mtd.course.progress import Passed, Progress, digest
from mtd.course.sizes import SIZES
from mtd.course.source import Source, missing, unwritten
from mtd.course.verdict import CheckVerdict
from mtd.pages import whole_files

README = Path(__file__).with_name("begin_course.md").read_text("utf-8")


class WorkspaceError(LessonError):
    """There is no learner's folder, or it cannot be one."""


@dataclass
class Made:
    """The changes that `make` made, by the files' names within the folder."""

    added: list[str] = field(default_factory=list)
    renewed: list[str] = field(default_factory=list)  # untouched, and now as ours is
    changed: list[str] = field(default_factory=list)  # ours has changed, the learner's was kept


@dataclass(frozen=True)
class Resized:
    """The change of a lesson's size."""

    before: str
    found: CarriedText
    copy: Path | None  # of the file as it was, if it had to be changed


class Workspace:
    """A learner's folder, and which of the lessons in it count."""

    def __init__(self, folder: Path, room: Path = ROOM) -> None:
        self.folder, self.room = folder, room

    def __repr__(self) -> str:
        return f"<Workspace {self.folder}, {len(self.progress().passed)} passed>"

    def progress(self) -> Progress:
        return progresses.read(self.folder)

    def lessons(self) -> list[Lesson]:
        return all_lessons(self.room)

    def place(self, lesson: Lesson) -> Path:
        return self.folder / lesson.folder.name

    def file(self, lesson: Lesson) -> Path:
        return self.place(lesson) / lesson.file

    def text_of(self, lesson: Lesson) -> str:
        """Read the learner's file; LessonError where that is not possible."""
        path = self.file(lesson)
        try:
            return path.read_text("utf-8")
        except FileNotFoundError:
            raise LessonError(
                f"there is no {path}; mtd reset {lesson.number} writes it anew, mtd init all that is missing"
            ) from None
        except UnicodeDecodeError as error:
            raise LessonError(f"{path} is not UTF-8 ({error}); save it as UTF-8") from error
        except OSError as error:
            raise LessonError(f"{path} cannot be read: {error.strerror}") from error

    def whole_text_of(self, lesson: Lesson) -> str:
        """The same; LessonError where something is still to be written."""
        text = self.text_of(lesson)
        for line, blank in missing(text, lesson.number):
            raise LessonError(
                f"{self.file(lesson)}, line {line}: {blank} is still to be written; then there is something to draw"
            )
        return text

    def source(self, lesson: Lesson, progress: Progress | None = None) -> Source:
        """The lesson's source with blanks of the size that the learner chose for it."""
        found = self.progress() if progress is None else progress
        return lesson.sized(found.size_of(lesson.number))

    def is_begun(self, lesson: Lesson, progress: Progress | None = None) -> bool:
        """Whether the learner changed it."""
        path = self.file(lesson)
        if not path.exists():
            return False
        return self.text_of(lesson) != self.source(lesson, progress).skeleton(lesson.number)

    def is_current(self, lesson: Lesson, progress: Progress) -> bool:
        """Whether it passed, and neither it nor the lesson has been changed since."""
        passed = progress.passed.get(lesson.number)
        if passed is None:
            return False
        try:
            text = self.text_of(lesson)
        except LessonError:
            return False
        return digest(text) == passed.digest and not lesson.outdated(text)

    def solved(self, progress: Progress) -> dict[float, Path]:
        """The folders that stand in for ours in later lessons."""
        return {
            lesson.number: self.place(lesson)
            for lesson in self.lessons()
            if lesson.number not in progress.reference and self.is_current(lesson, progress)
        }

    def answer(self, lesson: Lesson) -> LessonAnswer:
        """The learner's file, with their earlier lessons."""
        return LessonAnswer(lesson, self.place(lesson), self.solved(self.progress()))

    def written(self, progress: Progress) -> dict[float, Path]:
        """The same for the learner's own scripts: whatever has no blank left, right or wrong."""
        found = {}
        for lesson in self.lessons():
            with suppress(LessonError):
                text = self.text_of(lesson)
                is_whole = self.is_begun(lesson, progress) and not unwritten(text, lesson.number)
                is_own = lesson.number not in progress.reference
                if is_own and is_whole and not lesson.outdated(text):
                    found[lesson.number] = self.place(lesson)
        return found

    def keep(self, lesson: Lesson, text: str, verdict: CheckVerdict) -> None:
        """Enter what a check of this text found."""
        with progresses.changing(self.folder) as progress:
            progress.present = lesson.number
            before = progress.passed.get(lesson.number)
            if verdict.is_passed:
                progress.passed[lesson.number] = Passed(verdict.stars, digest(text))
            elif before is not None and before.digest == digest(text):
                del progress.passed[lesson.number]  # the check asks for more than it did

    def explained(self, lesson: Lesson) -> None:
        """Enter that why it matters has been said."""
        if lesson.number not in self.progress().explained:
            with progresses.changing(self.folder) as progress:
                progress.explained.add(lesson.number)

    def reset(self, lesson: Lesson) -> list[Path]:
        """All that belongs to the lesson as it was at first; where the copies are of what was changed."""
        place, kept = self.place(lesson), []
        files = ours(lesson, self.progress().size_of(lesson.number))
        with _writing(place):
            place.mkdir(exist_ok=True)
            for name, text in files.items():
                file = place / name
                if file.exists() and file.read_bytes() != text.encode():
                    kept.append(copy(file))
                whole_files.write(file, text)
        with progresses.changing(self.folder) as progress:
            progress.passed.pop(lesson.number, None)
            for name, text in files.items():
                progress.written[f"{lesson.folder.name}/{name}"] = digest(text)
        return kept

    def resize(self, lesson: Lesson, size: str) -> Resized:
        """Blanks of another size for one lesson. A copy is kept of a file that the learner changed."""
        progress = self.progress()
        before, file = progress.size_of(lesson.number), self.file(lesson)
        text = self.text_of(lesson) if file.exists() else lesson.sized(before).skeleton(lesson.number)
        found = carry(text, lesson, before, size)
        kept = None
        with _writing(file):
            self.place(lesson).mkdir(exist_ok=True)
            if found.text != text and self.is_begun(lesson, progress):
                kept = copy(file)
            if found.text != text or not file.exists():
                whole_files.write(file, found.text)
        with progresses.changing(self.folder) as progress:
            progress.sizes[lesson.number] = size
            progress.present = lesson.number
            skeleton = lesson.sized(size).skeleton(lesson.number)
            progress.written[f"{lesson.folder.name}/{lesson.file}"] = digest(skeleton)
        return Resized(before, found, kept)

    def changed_since(self, lesson: Lesson, progress: Progress) -> list[Lesson]:
        """Lessons that this one stands on, which passed once and are another file now."""
        return [one for one in self._not_current(lesson, progress) if self.file(one).is_file()]

    def gone(self, lesson: Lesson, progress: Progress) -> list[Lesson]:
        """Lessons that this one stands on, which passed once and whose file is no more: ours is taken."""
        return [one for one in self._not_current(lesson, progress) if not self.file(one).is_file()]

    def _not_current(self, lesson: Lesson, progress: Progress) -> list[Lesson]:
        by_number = {one.number: one for one in self.lessons()}
        wanted, found = [*lesson.requires], set()
        while wanted:
            number = wanted.pop()
            if number in by_number and number not in found:
                found.add(number)
                wanted += by_number[number].requires
        return [
            by_number[number]
            for number in sorted(found & progress.passed.keys() - progress.reference)
            if not self.is_current(by_number[number], progress)
        ]

    def following(self, lesson: Lesson) -> Lesson | None:
        """The next lesson in the learner's track."""
        return tracks.following(lesson, self.progress(), self.room)

    def present(self, progress: Progress) -> Lesson:
        """Where the learner is: the lesson last looked at, else the first that has not passed."""
        lessons = self.lessons()
        if not lessons:
            raise WorkspaceError(f"there are no lessons in {self.room}: is the package installed whole?")
        for lesson in lessons:
            if lesson.number == progress.present or lesson.moved(progress.present):
                return lesson
        track = tracks.chosen(progress, self.room)
        return next(iter(track.left(progress.done)), track.lessons[-1])


# ------------------------------------------------------------------------------ where it is


def find(start: Path | None = None, room: Path = ROOM) -> Workspace:
    """Upward from `start` (the current folder), else the one last used."""
    here = (start or Path.cwd()).resolve()
    found = around(here, room)
    if found is not None:
        remember(found.folder)
        return found
    last = last_used()
    if last is not None and is_one(last):
        return Workspace(last, room)
    gone = f" (the last one used, {last}, is no more)" if last is not None else ""
    raise WorkspaceError(f"there is no course in {here} or above it{gone}. Make a folder for it with: mtd init course")


def found_or_none() -> Workspace | None:
    """As `find`; None where there is no course yet."""
    try:
        return find()
    except WorkspaceError:
        return None


def from_here(path: Path) -> Path:
    """As the current folder leads to it, where that is above it."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


def around(here: Path, room: Path = ROOM) -> Workspace | None:
    """The one in which this folder is."""
    for folder in (here, *here.parents):
        if is_one(folder):
            return Workspace(folder, room)
    return None


def is_one(folder: Path) -> bool:
    return (folder / progresses.FILE).is_file() and any(FOLDER.fullmatch(path.name) for path in folder.iterdir())


def state_file() -> Path:
    """Which folder was used last is written here."""
    given = os.environ.get("XDG_STATE_HOME") or os.environ.get("LOCALAPPDATA")
    base = Path(given) if given and Path(given).is_absolute() else Path.home() / ".local" / "state"
    return base / "minitorch_dist" / "course.json"


def last_used() -> Path | None:
    with suppress(OSError, ValueError, TypeError, KeyError, RuntimeError):
        return Path(json.loads(state_file().read_text("utf-8"))["folder"])
    return None


def remember(folder: Path) -> None:
    """A home that cannot be written to only means that the folder has to be the current one."""
    if last_used() == folder:
        return
    with suppress(OSError, RuntimeError):
        state_file().parent.mkdir(parents=True, exist_ok=True)
        whole_files.write(state_file(), json.dumps({"folder": str(folder)}) + "\n")


# ------------------------------------------------------------------------------ making one


def make(folder: Path, room: Path = ROOM, *, size: str | None = None) -> tuple[Workspace, Made]:
    """A folder with all lessons, or the new parts in one that exists.

    With `size` all lessons that are not begun get blanks of this size; those that are begun keep theirs.
    """
    if size is not None and size not in SIZES:
        raise WorkspaceError(f"there is no size {size!r}; there are {', '.join(SIZES)}")
    folder = folder.expanduser().resolve()
    with _writing(folder, ". Choose another folder: mtd init FOLDER"):
        _refuse(folder)
        folder.mkdir(parents=True, exist_ok=True)
        workspace, made = Workspace(folder, room), Made()
        with progresses.changing(folder) as progress:
            if size is not None:
                _choose(workspace, progress, size)
            for lesson in workspace.lessons():
                workspace.place(lesson).mkdir(exist_ok=True)
                for name, text in ours(lesson, progress.size_of(lesson.number)).items():
                    _bring(workspace.place(lesson) / name, text, progress, made)
            if not (folder / "README.md").exists():
                whole_files.write(folder / "README.md", README)
            places = [one.folder.name for one in workspace.lessons()]  # where editors look for modules
            whole_files.write(folder / "pyrightconfig.json", json.dumps({"extraPaths": places}, indent=1) + "\n")
        remember(folder)
    return workspace, made


@contextmanager
def _writing(place: Path, advice: str = "") -> Iterator[None]:
    """Within the block, an error of a file is one of the workspace, in words."""
    try:
        yield
    except OSError as error:
        where, why = error.filename or place, error.strerror or error
        raise WorkspaceError(f"{where} cannot be written: {why}{advice}") from error


def _choose(workspace: Workspace, progress: Progress, size: str) -> None:
    """Enter the size for all lessons that are not begun."""
    for lesson in workspace.lessons():
        with suppress(LessonError):
            if workspace.is_begun(lesson, progress):
                progress.sizes[lesson.number] = progress.size_of(lesson.number)
            else:
                progress.sizes.pop(lesson.number, None)
    progress.size = size


def ours(lesson: Lesson, size: str) -> dict[str, str]:
    """The files that a learner is given, by name."""
    made = {lesson.file: lesson.sized(size).skeleton(lesson.number), "text.md": lesson.plain_text}
    if lesson.bridge:
        made[BRIDGE] = lesson.bridge
    return made | {name: (lesson.folder / name).read_text("utf-8") for name in lesson.given}


def _refuse(folder: Path) -> None:
    if folder.exists() and not folder.is_dir():
        raise WorkspaceError(f"{folder} is a file. Choose another name: mtd init FOLDER")
    inside = [path.name for path in folder.iterdir()] if folder.is_dir() else []
    strange = [name for name in inside if not name.startswith(".")]
    if strange and not any(FOLDER.fullmatch(name) for name in inside):
        raise WorkspaceError(
            f"{folder} has other things in it ({', '.join(sorted(strange)[:3])} …). Choose a new folder: mtd init course"
        )


def _bring(path: Path, text: str, progress: Progress, made: Made) -> None:
    """Our text to where it is missing; in place of an older one that the learner never touched."""
    name = f"{path.parent.name}/{path.name}"
    if not path.exists():
        made.added.append(name)
    else:
        before, found = progress.written.get(name), digest(path.read_text("utf-8", "replace"))
        if digest(text) in (before, found):
            progress.written[name] = digest(text)
            return
        if found != before:
            if before is not None:
                made.changed.append(name)
            progress.written[name] = digest(text)
            return
        made.renewed.append(name)
    whole_files.write(path, text)
    progress.written[name] = digest(text)


def copy(file: Path) -> Path:
    """Keep a copy of a file that is to be written over; says where it is."""
    (file.parent / "kept").mkdir(exist_ok=True)
    kept = progresses.free(file.parent / "kept", file)
    whole_files.write(kept, file.read_bytes())
    return kept
