"""A lesson's notebooks in the learner's folder: `13_ring/13_ring.ipynb`, and `13_ring/solution.ipynb`."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from mtd.course import notebooks, workspace as workspaces
from mtd.course.answers import AnswerFile
from mtd.course.lesson import Lesson
from mtd.course.workspace import Workspace
from mtd.pages import whole_files

NUMBER: Final = re.compile(rf"{notebooks.MAGIC} (\d+)\n")


def to_work_on(workspace: Workspace, lesson: Lesson) -> Path:
    """The notebook with blanks; its cells have what stands in the file. One that the learner has stays as it is, but for
    cells whose piece was changed in the file."""
    path, file = workspace.place(lesson) / f"{lesson.folder.name}.ipynb", AnswerFile(workspace, lesson)
    book, is_ours = _read(path), False
    if book is None or [*_answers(book)] != [*range(1, len(file.given()) - 1)]:
        if path.exists():
            workspaces.copy(path)
        book, is_ours = _new(file, lesson), True
    for number, cell in _answers(book).items():
        text = "".join(cell["source"])
        found = file.newer(number, text.partition("\n")[2])
        if found is not None:
            cell["source"] = f"{notebooks.MAGIC} {number}\n{found}".splitlines(keepends=True)
            cell["outputs"], cell["execution_count"] = [], None
    _write(path, book, is_ours)
    file.agree({number: "".join(cell["source"]).partition("\n")[2] for number, cell in _answers(book).items()})
    return path


def solution(workspace: Workspace, lesson: Lesson) -> Path:
    """Ours. A copy that is there already stays, since somebody may have tried something in it."""
    path = workspace.place(lesson) / "solution.ipynb"
    if _read(path) is None:
        _write(path, _stored(notebooks.solution_path_of, notebooks.solution_of, lesson), is_ours=True)
    return path


def _new(file: AnswerFile, lesson: Lesson) -> dict[str, Any]:
    """The notebook of all, with cells of the size that the learner chose."""
    book = _stored(notebooks.path_of, notebooks.of_lesson, lesson)
    answers = [*_answers(book).values()]
    at = book["cells"].index(answers[0])
    given = [
        notebooks.as_json(cell, f"answer-{place}") for place, cell in enumerate(notebooks.answer_cells(file.given()), 1)
    ]
    rest = [cell for cell in book["cells"] if cell not in answers]
    book["cells"] = [*rest[:at], *given, *rest[at:]]
    return book


def _stored(
    place: Callable[[Lesson], Path], make: Callable[[Lesson, dict[str, float]], str], lesson: Lesson
) -> dict[str, Any]:
    """A notebook of the repository; made now where it is not there."""
    path = place(lesson)
    text = path.read_text("utf-8") if path.exists() else make(lesson, notebooks.measured(lesson))
    book: dict[str, Any] = json.loads(text)
    return book


def _answers(book: dict[str, Any]) -> dict[int, dict[str, Any]]:
    """The cells that are pieces of the file, by number."""
    found = (
        (NUMBER.match("".join(cell["source"]) + "\n"), cell) for cell in book["cells"] if cell["cell_type"] == "code"
    )
    return {int(match[1]): cell for match, cell in found if match}


def _read(path: Path) -> dict[str, Any] | None:
    """A notebook; None where there is none, or a file that is none."""
    try:
        found = json.loads(path.read_text("utf-8"))
        _answers(found)
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _write(path: Path, book: dict[str, Any], is_ours: bool) -> None:
    text = json.dumps(book, indent=1, ensure_ascii=False) + "\n"
    whole_files.write(path, text.encode("utf-8", "surrogatepass"))
    if is_ours and find_spec("nbformat") is not None:
        _trust(path)


def _trust(path: Path) -> None:
    """Let JupyterLab run the scripts of the stored pictures, which are ours."""
    import nbformat
    from nbformat.sign import NotebookNotary

    notary = NotebookNotary()  # type: ignore[no-untyped-call]
    try:
        notary.sign(nbformat.read(path, 4))  # type: ignore[no-untyped-call]
    finally:
        notary.close()  # type: ignore[no-untyped-call]
