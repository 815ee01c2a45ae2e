"""A lesson in a notebook, to be worked on: the cells are the learner's file, piece by piece.

    lesson = answers.begin(13)

    %%answer 2
    def all_reduce(tensor):            running the cell writes it into 13_ring/ring.py, and runs it
        …

    lesson.check()                     the lamps, and a picture; of the file, in a process of its own

An editor's changes of the file come into its cell when `mtd notebook` opens it, or when the cell runs. For each piece
`.cells.json` beside the file has the text upon which cell and file last agreed. It tells which of the two was changed; if
both were, the cell is taken, and a copy of the file is kept.
"""

from __future__ import annotations

import json
import linecache
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

from mtd.course import cells, pieces, records, workspace as workspaces
from mtd.course.cells import NotebookDrawing
from mtd.course.examination import Examination
from mtd.course.lamp_page import LampPage
from mtd.course.lesson import Lesson, LessonError, find
from mtd.course.notebooks import MAGIC
from mtd.course.workspace import Workspace
from mtd.pages import whole_files

AGREED: Final = ".cells.json"


class AnswerCell(NamedTuple):
    """A cell that was run, and its file."""

    text: str  # what stands in the file now
    is_newer: bool = False  # it was changed in the file, and the cell was not
    copy: Path | None = None  # of the file as it was, if both were changed


class AnswerFile:
    """A learner's file as pieces. The first is its docstring and the last what runs as a script: they have no cells."""

    def __init__(self, workspace: Workspace, lesson: Lesson) -> None:
        self.workspace, self.lesson = workspace, lesson
        self.path = workspace.file(lesson)
        self._memory = workspace.place(lesson) / AGREED

    def __repr__(self) -> str:
        return f"<AnswerFile {workspaces.from_here(self.path)}, {len(self.given()) - 2} cells>"

    def given(self) -> list[str]:
        """The pieces of the skeleton."""
        return pieces.cut(self.workspace.source(self.lesson).skeleton(self.lesson.number))

    def agreed(self) -> list[str]:
        """Those upon which cells and file last agreed; at first the skeleton's, and again when the blanks have another size."""
        given = self.given()
        with suppress(OSError, ValueError, TypeError, RecursionError):
            found: list[str] = json.loads(self._memory.read_text("utf-8"))
            if records.made(list[str], found) == found and len(found) == len(given):
                return found
        return given

    def now(self) -> list[str]:
        """Those of the file as it stands."""
        return pieces.carried(self.agreed(), self.workspace.text_of(self.lesson))

    def agree(self, cells: Mapping[int, str]) -> None:
        """Enter which of these cells are the same as their pieces."""
        found, now = self.agreed(), self.now()
        for number, cell in cells.items():
            found[number] = now[number] if _bare(cell) == _bare(now[number]) else found[number]
        whole_files.write(self._memory, json.dumps(found))

    def newer(self, number: int, cell: str) -> str | None:
        """The piece, if it was changed in the file and the cell was not."""
        piece, old = self.now()[number], (self.agreed()[number], self.given()[number])
        return _bare(piece) if _bare(cell) in map(_bare, old) and _bare(cell) != _bare(piece) else None

    def take(self, number: int, cell: str) -> AnswerCell:
        """Make the cell and its piece the same: whichever was changed is taken."""
        now = self.now()
        if not 0 < number < len(now) - 1:
            raise LessonError(
                f"lesson {self.lesson.number} has the cells 1 to {len(now) - 2}, and this is {MAGIC} {number}"
            )
        newer, copy = self.newer(number, cell), None
        if newer is None and _bare(cell) != _bare(now[number]):
            if now[number] not in (self.agreed()[number], self.given()[number]):
                copy = workspaces.copy(self.path)
            now[number] = _bare(cell) + _space_below(now[number])
            whole_files.write(self.path, "".join(now))
        self.agree({number: now[number]})
        return AnswerCell(_bare(now[number]), newer is not None, copy)


def _bare(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.strip("\n").split("\n"))


def _space_below(piece: str) -> str:
    return piece[len(piece.rstrip("\n")) :] or "\n"


class NotebookAnswers:
    """A lesson in a notebook with blanks."""

    def __init__(self, workspace: Workspace, lesson: Lesson, shell: Any) -> None:
        self._workspace, self._lesson, self._shell = workspace, lesson, shell
        self._file = AnswerFile(workspace, lesson)
        self._ran = set[int]()

    def __repr__(self) -> str:
        name = f"{self._lesson.folder.name}/{self._lesson.file}"
        return f"{self._lesson}: what you write in the cells below stands in {name} as soon as you run them"

    def answer(self, line: str, cell: str) -> None:
        """The magic `%%answer 2`: write the cell into the file, and run it as that file's."""
        __tracebackhide__ = True
        if not line.strip().isdigit():
            raise LessonError(f"the first line of the cell is like `{MAGIC} 2`, this is `{MAGIC} {line}`")
        number = int(line)
        found = self._file.take(number, cell)
        if found.is_newer:
            self._shell.set_next_input(f"{MAGIC} {number}\n{found.text}", replace=True)
            print(f"{self._lesson.file} was changed beside the notebook: the cell has what stands there now")
        if found.copy is not None:
            print(
                f"{self._lesson.file} had another text here, too: it is kept in {found.copy.parent.name}/{found.copy.name}"
            )
        try:
            self._run(number)
        except Exception:
            if not found.is_newer:
                raise
            self._shell.showtraceback()  # and does not fail: a cell that fails does not get its new text

    def _run(self, number: int) -> None:
        """Run the piece as lines of the file, after those above it that have not run."""
        __tracebackhide__ = True
        linecache.checkcache(str(self._file.path))
        line = 0
        for place, piece in enumerate(self._file.now()[: number + 1]):
            if place == number or (place and place not in self._ran):
                code = compile("\n" * line + piece, str(self._file.path), "exec", dont_inherit=True)
                exec(code, self._shell.user_ns)
                self._ran.add(place)
            line += piece.count("\n")

    def check(self) -> LampPage:
        """Judge the file as it stands, and draw what the ranks held. To interrupt it says where the code is."""
        with Examination.of(self._workspace, self._lesson) as exam:
            try:
                exam.wait()
            except KeyboardInterrupt:
                exam.stop()
        if exam.verdict is None:
            raise LessonError(f"the check did not begin: {exam.printed or exam.stopped}")
        exam.keep(self._workspace)
        return LampPage(exam, exam.verdict, self._workspace.following(self._lesson))

    def picture(self) -> NotebookDrawing:
        """The picture of what stands in the file."""
        exam = Examination.finished(self._workspace, self._lesson, "picture")
        if exam.undrawn:
            raise LessonError(f"it cannot be drawn: {exam.undrawn}")
        return NotebookDrawing(exam.scene or exam.text, exam.grid)


def begin(number: float) -> NotebookAnswers:
    """Open the lesson in the learner's folder; the first notebook of all makes one, beside itself."""
    from IPython import get_ipython

    shell = get_ipython()
    if shell is None:
        raise LessonError(
            f"this is for a notebook: mtd notebook {number} opens it, and mtd {number} is the same in the terminal"
        )
    workspace = workspaces.found_or_none() or workspaces.make(Path("course"))[0]
    lesson = find(number, workspace.room)
    cells.stand_for(workspace.answer(lesson), shell.user_ns)
    found = NotebookAnswers(workspace, lesson, shell)
    shell.register_magic_function(found.answer, "cell", "answer")
    return found
