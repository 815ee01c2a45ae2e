"""A lesson as two notebooks, made by `mtd dev build`.

notebooks/13_ring.ipynb             to work on: cells with blanks, and a check of what is written into them (see `answers`)
notebooks/solutions/13_ring.ipynb   our solution, one idea per cell, and a check of the cells (see `cells`)

Both have the text, a failure with its reading, and the questions to predict with the measured answers folded in. The rest is the
check, hints, the picture, the plots from plot.py, the same in PyTorch, and the mutants that somebody has met. The same lesson
always makes the same cells, and `outputs` adds their outputs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from mtd.course import bridging, checking, pieces
from mtd.course.lesson import ROOM, Lesson
from mtd.course.path import LessonAnswer

FOLDER = ROOM.parent / "notebooks"
CELL = re.compile(r"^# %%(?P<kind> \[markdown\])?(?P<title>.*)$", re.MULTILINE)
MAGIC: Final = "%%answer"
SOLUTIONS: Final = "solutions"  # the folder of those
BLANKS: Final = """\
Shift+Enter runs a cell. One that begins with `%%answer` is a part of your file `{file}`: when you run it, it is written there. An
editor's changes of the file come into the cell when you run it the next time. In the terminal `mtd check {number}` judges
the same file."""
OURS: Final = """\
The functions below are our solution, and a `BLANK` is what a learner writes. `mtd notebook {number}` opens the notebook in which you
write it yourself; `mtd check {number}` judges it in the terminal."""
UNTIL: Final = "Until you run these cells, they show what our solution makes. They need all that the blanks ask for."


@dataclass(frozen=True)
class NotebookCell:
    text: str
    is_code: bool = False


def path_of(lesson: Lesson) -> Path:
    return FOLDER / f"{lesson.folder.name}.ipynb"


def solution_path_of(lesson: Lesson) -> Path:
    return FOLDER / SOLUTIONS / f"{lesson.folder.name}.ipynb"


def measured(lesson: Lesson) -> dict[str, float]:
    """The answers of its questions, which takes a moment."""
    return {one.truth: checking.truth(LessonAnswer.ours(lesson), one.truth) for one in lesson.questions}


def of_lesson(lesson: Lesson, answers: Mapping[str, float]) -> str:
    """The notebook with blanks."""
    given = pieces.cut(lesson.source.skeleton(lesson.number))
    opening = f"from mtd.course import answers\n\nlesson = answers.begin({lesson.number})\nlesson"
    written = [NotebookCell(opening, True), *answer_cells(given)]
    return book(lesson.folder.name, _cells(lesson, answers, BLANKS, written, "lesson.check()", UNTIL))


def solution_of(lesson: Lesson, answers: Mapping[str, float]) -> str:
    """The notebook with our solution."""
    ours = pieces.cut(lesson.source.solution(marks=True))
    opening = f"from mtd.course import cells\n\nlesson = cells.begin({lesson.number}, globals())"
    written = [NotebookCell(one.strip("\n"), True) for one in (opening, *ours[1:-1])]
    page = book(lesson.folder.name, _cells(lesson, answers, OURS, written, "print(lesson.check())", ""))
    return page.replace("](../docs/", "](../../docs/")


def answer_cells(found: Sequence[str]) -> list[NotebookCell]:
    """The pieces of a learner's file, without its docstring and what runs as a script."""
    return [
        NotebookCell(f"{MAGIC} {number}\n" + piece.strip("\n"), True) for number, piece in enumerate(found[1:-1], 1)
    ]


def _cells(
    lesson: Lesson, answers: Mapping[str, float], how: str, written: list[NotebookCell], check: str, until: str
) -> list[NotebookCell]:
    number = lesson.number
    how = how.replace("\n", " ").format(number=number, file=f"{lesson.folder.name}/{lesson.file}")
    return [
        NotebookCell(
            f"# {number}. {lesson.title}\n\n**{lesson.question}**\n\n*{lesson.part}, about {lesson.minutes} minutes. {how}*"
        ),
        NotebookCell(lesson.text.strip().replace("](../../docs/", "](../docs/")),
        *([NotebookCell(lesson.failure.page.strip())] if lesson.failure else []),
        *_questions(lesson, answers),
        NotebookCell(_file(lesson)),
        *written,
        NotebookCell("## The check\n\n" + lesson.why),
        NotebookCell(check, True),
        NotebookCell(_hints(lesson)),
        NotebookCell(f"## The picture\n\n{until}".strip()),
        NotebookCell("lesson.picture()", True),
        *cells_in((lesson.folder / "plot.py").read_text("utf-8")),
        *([NotebookCell(bridging.page(lesson).strip())] if lesson.bridge else []),
        *_museum(lesson),
    ]


def _file(lesson: Lesson) -> str:
    """The docstring of the file, with its drawing."""
    head, _, rest = pieces.about(lesson.source.solution()).partition("\n\n")
    drawn = f"\n\n```text\n{rest.strip(chr(10))}\n```" if rest.strip() else ""
    return f"## {lesson.file}\n\n{head}{drawn}"


def _questions(lesson: Lesson, answers: Mapping[str, float]) -> list[NotebookCell]:
    if not lesson.questions:
        return []
    parts = ["## Predict first"]
    for place, one in enumerate(lesson.questions, 1):
        parts.append(f"{place}. {one.ask}")
        parts.append(_folded("the answer", f"**{in_words(answers[one.truth])}**. {one.formula}"))
    return [NotebookCell("\n\n".join(parts))]


def in_words(number: float) -> str:
    return f"{int(number):,}" if number == int(number) else f"{number:.4g}"


def _folded(title: str, text: str) -> str:
    return f"<details><summary>{title}</summary>\n\n{text}\n\n</details>"


def _hints(lesson: Lesson) -> str:
    names = ("a nudge", "a plan", "near code")
    folded = [_folded(name, hint) for name, hint in zip(names, lesson.hints, strict=True)]
    return "## Hints\n\n" + "\n\n".join(folded)


def _museum(lesson: Lesson) -> list[NotebookCell]:
    """The mistakes of others, with the address of each."""
    seen = [mutant for mutant in lesson.mutants if mutant.seen]
    if not seen:
        return []
    lines = ["## What others got wrong"]
    for mutant in seen:
        addresses = ", ".join(f"<{address}>" for address in mutant.seen)
        caught = ", ".join(mutant.caught_by)
        lines.append(f"* **{mutant.title}** {addresses} Caught by: *{caught}*.")
    return [NotebookCell("\n".join([lines[0], "", *lines[1:]]))]


def cells_in(text: str) -> list[NotebookCell]:
    """The cells of a script: `# %% Title` begins one, `# %% [markdown]` one of text."""
    found = list(CELL.finditer(text))
    ends = [*(mark.start() for mark in found[1:]), len(text)]
    cells = []
    for mark, end in zip(found, ends, strict=True):
        written, title = text[mark.end() : end].strip("\n"), mark["title"].strip()
        if mark["kind"]:
            written = re.sub(r"^# ?", "", written, flags=re.MULTILINE)
            cells.append(NotebookCell(f"## {title}\n\n{written}" if title else written))
            continue
        cells += [NotebookCell(f"## {title}")] if title else []
        cells += [NotebookCell(written, True)] if written else []
    return cells


# ---------------------------------------------------------------------------------- the file


def book(name: str, cells: list[NotebookCell]) -> str:
    """The cells as a notebook's file. Cells have names of their own, so that a diff shows what changed."""
    short = re.sub("[._]", "-", name)
    made = [as_json(cell, f"{short}-{place:02}"[-64:]) for place, cell in enumerate(cells)]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    written = {
        "cells": made,
        "metadata": {"kernelspec": kernel, "language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(written, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def as_json(cell: NotebookCell, name: str) -> dict[str, Any]:
    kind = "code" if cell.is_code else "markdown"
    more: dict[str, Any] = {"execution_count": None, "outputs": []} if cell.is_code else {}
    return {"cell_type": kind, "id": name, "metadata": {}, "source": cell.text.splitlines(keepends=True), **more}
