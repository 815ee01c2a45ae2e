"""Files that are made from the lessons, and kept: who reads the repository finds them.

notebooks/13_ring.ipynb, notebooks/solutions/13_ring.ipynb   (see `notebooks`)
notebooks/00_start.ipynb    a tour, from lessons/start.py
notebooks/00_which_layout.ipynb   from a model to its fastest layout, from lessons/which_layout.py
notebooks/00_find_the_hang.ipynb  hangs of real PyTorch programs, from lessons/find_the_hang.py
lessons/README.md           the lessons in a table (docs/generator/lessons_page.py)
docs/ring.svg               the picture of the front page: a ring that fills
docs/figures                figures of the pages, from real runs (docs/generator/figures.py)
docs/museum.md              bugs that people had (docs/generator/museum_page.py)
docs/whole_stack.md         what our solutions assemble to (docs/generator/stack_page.py)
docs/speed.md               benchmarks, from docs/speed.json (docs/generator/speed_page.py)
mystack/                    the same as a package that runs (see `assembling`), with a table of its files
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from pathlib import Path
from types import ModuleType

from mtd.course import assembling, notebooks, outputs
from mtd.course.lesson import ROOM, Lesson, all_lessons
from mtd.course.path import searched

Make = Callable[[], str]
STACK = ROOM.parent / "mystack"
GENERATOR = ROOM.parent / "docs" / "generator"
BOOKS = ("start", "which_layout", "find_the_hang")  # notebooks that are no lessons


def generated(lessons: Sequence[Lesson] | None = None) -> Iterator[tuple[Path, Make]]:
    """Each file, and what makes its text. Of some lessons: only what is made of these alone."""
    for lesson in all_lessons() if lessons is None else lessons:
        answers = cache(partial(notebooks.measured, lesson))
        yield notebooks.solution_path_of(lesson), partial(_both, notebooks.solution_of, lesson, answers)
        yield notebooks.path_of(lesson), partial(_both, notebooks.of_lesson, lesson, answers)
    if lessons is None:
        for name in BOOKS:
            yield notebooks.FOLDER / f"00_{name}.ipynb", partial(of_file, name)
        yield ROOM / "README.md", _of_generator("lessons_page").index
        yield from _of_generator("figures").figures().items()
        stack_page = _of_generator("stack_page")
        yield ROOM.parent / "docs" / "museum.md", _of_generator("museum_page").museum_page
        yield ROOM.parent / "docs" / "whole_stack.md", stack_page.stack_page
        yield ROOM.parent / "docs" / "speed.md", _of_generator("speed_page").speed_page
        yield STACK / "README.md", stack_page.folder_page
        for name, text in assembling.texts_of(assembling.modules_of(None)).items():
            yield STACK / name, lambda text=text: text  # type: ignore[misc]


def _of_generator(name: str) -> ModuleType:
    """A module of the documentation, whose pages need the lessons."""
    with searched([GENERATOR]):
        return importlib.import_module(name)


def _both(make: Callable[..., str], lesson: Lesson, answers: Callable[[], dict[str, float]]) -> str:
    """Both notebooks need the answers, which are measured once."""
    return make(lesson, answers())


def of_file(name: str) -> str:
    """The notebook of a file beside the lessons."""
    return notebooks.book(name, notebooks.cells_in((ROOM / f"{name}.py").read_text("utf-8")))


def stray() -> list[Path]:
    """Notebooks and modules of lessons that are no more."""
    made = {path for path, _ in generated()}
    return sorted({*notebooks.FOLDER.rglob("*.ipynb"), *STACK.rglob("*.py")} - made)


def text_for(path: Path, make: Make) -> str:
    """Of a notebook with the outputs that stand there, if they are of the same cells."""
    text = make()
    is_stored = path.suffix == ".ipynb" and path.exists()
    return outputs.kept(text, path.read_text("utf-8"), _solution(path)) if is_stored else text


def _solution(path: Path) -> str:
    """The notebook with our solution beside one with blanks."""
    beside = path.parent / notebooks.SOLUTIONS / path.name
    return beside.read_text("utf-8") if beside.exists() else outputs.NO_BOOK


def build(path: Path, make: Make, runs: bool = False) -> bool:
    """Write the file if it differs; says whether it did. A notebook without outputs runs, if it can; with `runs`, each."""
    text = text_for(path, make)
    if path.suffix == ".ipynb" and (runs or not outputs.are_there(text)) and outputs.can_be_made():
        text = outputs.made(text, _solution(path))
    if path.exists() and path.read_text("utf-8") == text:
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return True
