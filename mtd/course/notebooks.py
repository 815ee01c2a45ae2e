"""A lesson as a notebook: `notebooks/13_ring.ipynb`, made by `mtd dev build`.

title, question, text       what the lesson says, and a failure with its reading
predict                     its questions; the measured answers are folded in
the solution                one idea per cell; comments show where a learner's blanks are
check, picture              of the functions that stand in the notebook (see `cells`)
plots                       from plot.py
the same in PyTorch         from torch_bridge.py, to be read
what others got wrong       the mutants that somebody has met

No outputs are kept, and the same lesson always makes the same file, so that a notebook that was not made
again is found by comparing.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from mtd.course import bridging, checking
from mtd.course.lesson import ROOM, Lesson
from mtd.course.sizes import first_line

FOLDER = ROOM.parent / "notebooks"
CELL = re.compile(r"^# %%(?P<kind> \[markdown\])?(?P<title>.*)$", re.MULTILINE)


@dataclass(frozen=True)
class NotebookCell:
    text: str
    is_code: bool = False


def path_of(lesson: Lesson) -> Path:
    return FOLDER / f"{lesson.folder.name}.ipynb"


def of_lesson(lesson: Lesson) -> str:
    """The notebook's file. It measures the answers of the questions, which takes a moment."""
    answers = {one.truth: _truth(lesson, one.truth) for one in lesson.questions}
    return book(lesson.folder.name, cells_of(lesson, answers))


def _truth(lesson: Lesson, name: str) -> float:
    return checking.truth(lesson, name, lesson.folder)


def cells_of(lesson: Lesson, answers: Mapping[str, float]) -> list[NotebookCell]:
    number = lesson.number
    return [
        NotebookCell(
            f"# {number}. {lesson.title}\n\n**{lesson.question}**\n\n"
            f"*{lesson.part}, about {lesson.minutes} minutes. The functions below are the solution; a `BLANK` is "
            f"what a learner writes. To write it yourself, empty one and run the check, or take the lesson "
            f"in the terminal: `mtd check {number}`.*"
        ),
        NotebookCell(lesson.text.strip().replace("](../../docs/", "](../docs/")),
        *([NotebookCell(lesson.failure.page.strip())] if lesson.failure else []),
        *_questions(lesson, answers),
        *_solution(lesson),
        NotebookCell("## The check\n\n" + lesson.why),
        NotebookCell("print(lesson.check())", True),
        NotebookCell("## The picture"),
        NotebookCell("lesson.picture()", True),
        *cells_in((lesson.folder / "plot.py").read_text("utf-8")),
        NotebookCell(_hints(lesson)),
        *([NotebookCell(bridging.page(lesson).strip())] if lesson.bridge else []),
        *_museum(lesson),
    ]


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


# -------------------------------------------------------------------------------- the source


def _solution(lesson: Lesson) -> list[NotebookCell]:
    """The docstring as text, then a cell for each idea; the first one opens the lesson."""
    about, pieces = pieces_of(lesson.source.solution(marks=True))
    head, _, rest = about.partition("\n\n")
    drawn = f"\n\n```text\n{rest.strip(chr(10))}\n```" if rest.strip() else ""
    opening = f"from mtd.course import cells\n\nlesson = cells.begin({lesson.number}, globals())"
    return [
        NotebookCell(f"## {lesson.file}\n\n{head}{drawn}"),
        NotebookCell(opening, True),
        *(NotebookCell(piece, True) for piece in pieces),
    ]


def pieces_of(text: str) -> tuple[str, list[str]]:
    """The docstring, and the rest cut before each function and class; lines in between
    stand with the function or class after them. The part that only runs as a script is left out."""
    tree, lines = ast.parse(text), text.split("\n")
    body = [node for node in tree.body if not _is_main(node)]
    about = ast.get_docstring(tree) or ""
    if about:
        body = body[1:]
    begun = [_first_line(node, lines) for node in body]
    cuts: list[int] = []
    is_defined = True
    for node, line in zip(body, begun, strict=True):
        defines = isinstance(node, ast.FunctionDef | ast.ClassDef)
        if is_defined or (defines and len(cuts) == 1):
            cuts.append(line)
        is_defined = defines
    last = max((node.end_lineno or 0 for node in body), default=0)
    while last < len(lines) and lines[last].startswith("# END"):
        last += 1
    ends = [*cuts[1:], last + 1]
    pieces = [
        "\n".join(lines[start - 1 : end - 1]).strip("\n") for start, end in zip(cuts, ends, strict=True)
    ]
    return about, pieces


def _is_main(node: ast.stmt) -> bool:
    return isinstance(node, ast.If) and "__name__" in ast.unparse(node.test)


def _first_line(node: ast.stmt, lines: list[str]) -> int:
    """With the decorators and comments above it."""
    first = first_line(node)
    while first > 1 and lines[first - 2].startswith("#") and not lines[first - 2].startswith("# END"):
        first -= 1
    return first


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
    made = []
    for place, cell in enumerate(cells):
        one: dict[str, object] = {
            "cell_type": "code" if cell.is_code else "markdown",
            "id": f"{re.sub('[._]', '-', name)}-{place:02}"[-64:],
            "metadata": {},
            "source": cell.text.splitlines(keepends=True),
        }
        made.append(one | ({"execution_count": None, "outputs": []} if cell.is_code else {}))
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    written = {
        "cells": made,
        "metadata": {"kernelspec": kernel, "language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(written, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
