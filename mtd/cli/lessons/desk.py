"""The file that a learner works at: whether it was saved, and what is being found out about it meanwhile.

desk = Desk(workspace, lesson)
found = desk.tick()                a `DeskResult` as soon as a check or a picture is ready, else None; never waits
"""

from __future__ import annotations

from typing import NamedTuple

from mtd.course.examination import Examination
from mtd.course.lesson import Lesson, LessonError
from mtd.course.source import missing
from mtd.course.workspace import Workspace

CHECK, PICTURE, STEP = "check", "picture", "step"
Stamp = tuple[int, int, int] | None


class DeskResult(NamedTuple):
    purpose: str
    exam: Examination


class LessonDesk:
    def __init__(self, workspace: Workspace, lesson: Lesson) -> None:
        self.workspace, self.lesson = workspace, lesson
        self.exam: Examination | None = None
        self.trouble = ""  # why nothing is being found out
        self.gone: list[Lesson] = []  # earlier lessons that passed, and are not there any more
        self._purpose = ""
        self._waiting: list[Lesson] = []  # earlier lessons that have changed, then this one
        self._wanted = ""  # a picture, as soon as the check is over
        self._stamp = self.file_stamp()

    def __repr__(self) -> str:
        return f"<Desk with {self.workspace.file(self.lesson)}, {self.exam!r}>"

    def file_stamp(self) -> Stamp:
        """A mark that differs between one state of the file and the next, however it was saved."""
        try:
            found = self.workspace.file(self.lesson).stat()
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size, found.st_ino

    def forget(self) -> None:
        """Do not check the present text: we have written it ourselves."""
        self._stamp = self.file_stamp()

    @property
    def doing(self) -> str:
        """In words; "" if nothing is under way."""
        if self.exam is None:
            return ""
        what = ", ".join(self.exam.asks) or "begins"
        return f"{self.exam.lesson.file}  {f'checking: {what}' if self._purpose == CHECK else 'drawing'}"

    def check(self) -> None:
        """The file, after those earlier ones that have changed since they passed."""
        self.stop()
        progress = self.workspace.progress()
        changed = self.workspace.changed_since(self.lesson, progress)
        self.gone = self.workspace.gone(self.lesson, progress)
        self._waiting = [*changed, self.lesson]
        self._begin(CHECK)

    def draw(self, purpose: str) -> None:
        """A picture; after the check, if one is under way."""
        if self.exam is not None and self._purpose == CHECK:
            self._wanted = purpose
            return
        self.stop()
        self._waiting = [self.lesson]
        self._begin(purpose)

    def stop(self) -> None:
        if self.exam is not None:
            self.exam.stop()
        self.exam, self._waiting, self._wanted = None, [], ""

    def interrupt(self) -> DeskResult | None:
        """End what is under way, and return what is known of it."""
        if self.exam is None:
            return None
        self._waiting, self._wanted = [], ""
        self.exam.stop()
        return self._finished(self.exam)

    def tick(self) -> DeskResult | None:
        """Look at the file, and at what is being found out."""
        stamp = self.file_stamp()
        if stamp != self._stamp:
            self._stamp = stamp
            if stamp is not None:  # some editors take it away for a moment
                self.check()
        if self.exam is not None and self.exam.poll():
            return self._finished(self.exam)
        return None

    def _begin(self, purpose: str) -> None:
        lesson, self._purpose, self.trouble = self._waiting.pop(0), purpose, ""
        try:
            blank = missing(self.workspace.text_of(lesson), lesson.number)
            if purpose != CHECK and blank:
                line, task = blank[0]
                raise LessonError(f"line {line}: {task}: first that, then there is a picture")
            task = CHECK if purpose == CHECK else PICTURE
            self.exam = Examination.of(self.workspace, lesson, task)
        except LessonError as error:
            if purpose == CHECK and self._waiting:  # an earlier one, of which ours is taken
                self._begin(CHECK)
            else:
                self._waiting, self.trouble = [], str(error)

    def _finished(self, exam: Examination) -> DeskResult | None:
        self.exam = None
        if self._purpose == CHECK:
            exam.keep(self.workspace)
            if self._waiting:
                self._begin(CHECK)
                return None
        found = DeskResult(self._purpose, exam)
        wanted, self._wanted = self._wanted, ""
        if wanted:
            self.draw(wanted)
        return found
