"""Which file a lesson's module is: `from ring import all_reduce` in a later lesson.

Lessons import each other's modules by their bare names. Each is looked for in one folder: the learner's,
where that lesson has been solved, else ours. So the modules of later lessons are not there at all, and
nothing can import forward.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from mtd.course.lesson import ROOM, Lesson, Number, all_lessons


@dataclass(frozen=True)
class LessonAnswer:
    """A file for a lesson: a learner's, a mutant, or ours."""

    lesson: Lesson
    own: Path  # the folder in which it is
    solved: dict[Number, Path] = field(
        default_factory=dict
    )  # folders of earlier lessons that are the learner's

    @classmethod
    def ours(cls, lesson: Lesson) -> LessonAnswer:
        return cls(lesson, lesson.folder)

    @property
    def file(self) -> Path:
        return self.own / self.lesson.file

    @property
    def check_file(self) -> Path:
        return self.lesson.folder / "check.py"

    def folders(self) -> list[Path]:
        """Where modules are looked for: `own` for this lesson's, then those before it, the nearest first."""
        earlier = [one for one in all_lessons(self.lesson.room) if one.number < self.lesson.number]
        return [self.own, *(self.solved.get(one.number, one.folder) for one in reversed(earlier))]

    def searched(self) -> AbstractContextManager[None]:
        """Within the block these modules are found."""
        return searched(self.folders(), self.lesson.room)


@contextmanager
def searched(places: list[Path], room: Path = ROOM) -> Iterator[None]:
    """Within the block modules are looked for there first, in processes that it starts as well."""
    names = {lesson.module for lesson in all_lessons(room)}
    before, variable, writes = sys.path[:], os.environ.get("PYTHONPATH"), sys.dont_write_bytecode
    kept = {name: sys.modules.pop(name) for name in names if name in sys.modules}
    added = [str(place) for place in places]
    sys.path[:0] = added
    sys.dont_write_bytecode = True  # a file saved twice in one second would be taken for the first
    os.environ["PYTHONPATH"] = os.pathsep.join([*added, *([variable] if variable else [])])
    try:
        yield
    finally:
        sys.path[:] = before
        sys.dont_write_bytecode = writes
        for name in names & sys.modules.keys():
            del sys.modules[name]
        sys.modules.update(kept)
        if variable is None:
            del os.environ["PYTHONPATH"]
        else:
            os.environ["PYTHONPATH"] = variable
