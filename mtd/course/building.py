"""Files that are made from the lessons, and kept: who reads the repository finds them.

notebooks/13_ring.ipynb, notebooks/solutions/13_ring.ipynb   (see `notebooks`)
notebooks/00_start.ipynb    a tour, from lessons/start.py
notebooks/00_which_layout.ipynb   from a model to its fastest layout, from lessons/which_layout.py
notebooks/00_find_the_hang.ipynb  hangs of real PyTorch programs, from lessons/find_the_hang.py
lessons/README.md           the lessons in a table
docs/ring.svg               the picture of the front page: a ring that fills
docs/figures                figures of the pages, from real runs (docs/generator/figures.py)
docs/museum.md              bugs that people had (see `museum`)
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

from minitorch_dist.distributed.schedules import choice
from mtd.course import assembling, museum, notebooks, outputs, tracks
from mtd.course.chapters.chapter import of_lesson
from mtd.course.lesson import ROOM, Lesson, all_lessons
from mtd.course.path import searched
from mtd.course.sizes import SIZES, lines_to_write
from mtd.grids import contributions, grid_svg

Make = Callable[[], str]
STACK = ROOM.parent / "mystack"
GENERATOR = ROOM.parent / "docs" / "generator"

TOP = """# The lessons

`mtd` is the beginning. It makes a folder of your own, with a skeleton of each lesson, and opens the first: one line, two minutes, and a
picture at the end. Later it opens the course where you left it. A lesson's number is its name, and `mtd track` chooses an order, a *track*.

The same lessons are [notebooks](../notebooks): with blanks, and with our solutions in a folder of its own. Three more stand beside them:
[a tour](../notebooks/00_start.ipynb), [*which layout, and why?*](../notebooks/00_which_layout.ipynb) about a large model on many GPUs, and
[*find the hang in a real PyTorch program*](../notebooks/00_find_the_hang.ipynb).

A lesson has three sizes of blank: *gap*, *function* and *file*. `mtd init course --size function` chooses one for all lessons, and
`mtd size 13 file` changes one. The column *lines* says how many lines of code our solution has in the blanks of each size.
An *open chapter* has no one right answer: `mtd contest 15` says how far yours is from a bound that nothing can beat.

"""


def generated(lessons: Sequence[Lesson] | None = None) -> Iterator[tuple[Path, Make]]:
    """Each file, and what makes its text. Of some lessons: only what is made of these alone."""
    for lesson in all_lessons() if lessons is None else lessons:
        answers = cache(partial(notebooks.measured, lesson))
        yield notebooks.solution_path_of(lesson), partial(_both, notebooks.solution_of, lesson, answers)
        yield notebooks.path_of(lesson), partial(_both, notebooks.of_lesson, lesson, answers)
    if lessons is None:
        yield notebooks.FOLDER / "00_start.ipynb", tour
        yield notebooks.FOLDER / "00_which_layout.ipynb", which_layout
        yield notebooks.FOLDER / "00_find_the_hang.ipynb", find_the_hang
        yield ROOM / "README.md", index
        yield ROOM.parent / "docs" / "ring.svg", ring_picture
        yield from _of_generator("figures").figures().items()
        stack_page = _of_generator("stack_page")
        yield ROOM.parent / "docs" / "museum.md", museum_page
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


def tour() -> str:
    """The notebook that one opens first."""
    return notebooks.book("start", notebooks.cells_in((ROOM / "start.py").read_text("utf-8")))


def which_layout() -> str:
    """The notebook about layouts of a large model."""
    return notebooks.book("which_layout", notebooks.cells_in((ROOM / "which_layout.py").read_text("utf-8")))


def find_the_hang() -> str:
    """The notebook about hangs of real PyTorch programs."""
    return notebooks.book("find_the_hang", notebooks.cells_in((ROOM / "find_the_hang.py").read_text("utf-8")))


def ring_picture() -> str:
    """A ring of four ranks that fills with what each of them gave."""
    grid = contributions.of_schedule(choice.named("all_reduce", "ring"), 4)
    return grid_svg.moving(grid) + "\n"


def stray() -> list[Path]:
    """Notebooks and modules of lessons that are no more."""
    made = {path for path, _ in generated()}
    return sorted({*notebooks.FOLDER.rglob("*.ipynb"), *STACK.rglob("*.py")} - made)


def track_line(track: tracks.Track) -> str:
    numbers = ", ".join(str(number) for number in track.order)
    return (
        f"- **{track.title}** (about {round(track.minutes / 60)} hours): {track.about}. Lessons: {numbers}\n"
    )


def index(lessons: Sequence[Lesson] | None = None) -> str:
    """The table of all lessons, track by track and part by part."""
    parts, part, minutes = [TOP, *map(track_line, tracks.all_tracks())], "", 0
    for lesson in tracks.in_order() if lessons is None else lessons:
        if lesson.part != part:
            part = lesson.part
            parts.append(
                f"\n## {part}\n\n| | lesson | question | minutes | lines | notebook |\n|---|---|---|---|---|---|\n"
            )
        name = lesson.folder.name
        lines = " · ".join(str(lines_to_write(lesson.sized(size))) for size in SIZES)
        parts.append(
            f"| {lesson.number} | [{lesson.title}]({name}/text.md) | {lesson.question} | {lesson.minutes} | {lines} | "
            f"[open](../notebooks/{name}.ipynb) |\n"
        )
        minutes += lesson.minutes
        chapter = of_lesson(lesson)
        if chapter is not None:
            parts.append(
                f"| | [{chapter.title}]({name}/open/text.md), an open chapter | {chapter.question} | {chapter.minutes} | | |\n"
            )
    parts.append(f"\nAll of them take about {round(minutes / 60)} hours.\n")
    return "".join(parts)


MUSEUM = """# The museum of real bugs

{count} bugs that people really had, each re-enacted in a few lines under a check that catches it. Made by `mtd dev build`.

    mtd museum                       all of them
    mtd museum 13/whole_tensor       what one sees, what the ranks did, the line, the cause
    mtd museum --find                only what the ranks did; you choose among causes, or name the line
    mtd museum --property mine.py    you write the check: wrong all_reduces found, less right ones accused

A name links to the code: of a lesson's mutant all of it, or what stands in a blank instead of the solution.
"""


def museum_page() -> str:
    """Every exhibit: what happened, the story, where it was seen, what catches it."""
    everything = museum.exhibits()
    parts, room = [MUSEUM.format(count=len(everything))], ""
    for one in everything:
        if one.room != room:
            room = one.room
            parts.append(f"\n## {f'{one.lesson.number}. {one.lesson.title}' if one.lesson else 'Hangs'}\n")
        folder = f"lessons/{one.lesson.folder.name}/mutants" if one.lesson else "mtd/zoo"
        story = "\n\n".join(" ".join(text.split()) for text in one.story.split("\n\n"))
        seen = ", ".join(f"<{address}>" for address in one.seen)
        parts.append(
            f"\n### [{one.name}](../{folder}/{one.short}.py)\n\n**{one.title}** {story}".rstrip() + "\n"
        )
        parts.append(f"\nCaught by *{', '.join(one.caught_by)}*. Seen: {seen}\n")
    return "".join(parts)


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
