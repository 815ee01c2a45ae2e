"""`mtd show run.mtd`: a run as pictures, in the terminal, on a page, as SVG or as a trace.

`mtd show trace.json` draws a trace of Chrome or Perfetto, for example one of torch's profiler.
`mtd show 13` is the picture that lesson 13 draws of your code.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from rich.console import Console

from minitorch_dist.distributed import journal
from minitorch_dist.distributed.journal import Journal
from minitorch_dist.pictures import spacetime, svg
from minitorch_dist.pictures.scene import Scene
from minitorch_dist.pictures.spacetime import Picture
from minitorch_dist.pictures.terminal import painted, sayable
from mtd.cli import bars, forking, player
from mtd.cli.chunks import grids
from mtd.cli.lessons import one_model, picture
from mtd.cli.parser import Parser
from mtd.course.lesson import find as find_lesson
from mtd.course.workspace import find
from mtd.grids import grid_page
from mtd.pages import page as page_drawn, trace, whole_files
from mtd.refusals import CannotDo, refusing
from mtd.traces import read_chrome

OF_JOURNALS = ("gantt", "memory", "chunks", "trace", "beside", "ranks", "group", "by", "per_node", "width")
MOST_LINES = 60  # of the chunks of an operation


def page_of(scene: Scene, journal: Journal, other: Journal | None) -> str:
    """The page of a journal's scene, of which parts may have been left out."""
    if other is None:
        return page_drawn.draw(scene)
    beside, found = other.scene(), journal.diff(other)
    if found is None:
        return page_drawn.draw(scene, beside)
    one, two = (
        next((at for at, moment in enumerate(each.moments) if moment.number == number), None)
        for each, number in zip((scene, beside), found.numbers, strict=True)
    )
    return page_drawn.draw(scene, beside, page_drawn.Parting(one, two, str(found)))


def configure(parser: Parser) -> None:
    parser.takes("""
        run_file run.mtd|N                  a journal (MINITORCH_DIST_JOURNAL=run.mtd), or a lesson: its picture of your code
        --step                              step through it, forward and back (? tells the keys)
        --gantt                             only what each rank spent its time on
        --memory                            only what each rank held
        --chunks                            which rank held which chunk after each round
        --html [FILE]                       write a page that opens from the disk (beside the journal)
        --svg [FILE]                        write an SVG (beside the journal)
        --moving                            the SVG of a lesson fills by itself, without a script
        --model                             a small transformer that a lesson's code trains: time and memory of a step
        --trace [FILE]                      write a trace for ui.perfetto.dev (beside the journal)
        --beside OTHER.mtd                  another run, beside it on the page
        --ranks 0-7,9: numbers              only these ranks
        --group GROUP...                    only this group (may be given again)
        --by {operation,group}              what colours tell apart in an SVG (operation)
        --per-node N: int                   ranks per node, in a trace
        --width WIDTH: int                  columns, or pixels of an SVG
    """)
    parser.needs("--by", "--svg")
    parser.needs("--per-node", "--trace")
    parser.excludes("--model", "--step", "--moving", "--html", "--svg", *map(option, OF_JOURNALS))
    parser.excludes("--step", "--gantt", "--memory", "--chunks")
    parser.excludes("--chunks", "--beside", "--ranks", "--group")
    parser.set_defaults(run=run, epilog="mtd show run.mtd --step; mtd show 13")


def run(options: argparse.Namespace) -> int:
    if options.model:
        return one_model.run(find_lesson(options.run_file, find().room))
    if picture.is_meant(options.run_file):
        _demand_journal(options, OF_JOURNALS, "lesson")
        return picture.run(options.run_file, options)
    with refusing():
        if options.moving:
            raise ValueError(
                f"--moving draws the grid of a lesson, and {options.run_file} is a file; --chunks draws its grids"
            )
        if options.run_file.endswith((".json", ".json.gz")):
            return _show_chrome(options)
        return _show(journal.read(options.run_file), options)


def option(word: str) -> str:
    return f"--{word.replace('_', '-')}"


def _demand_journal(options: argparse.Namespace, words: Sequence[str], what: str) -> None:
    """Refuse these options of journals for what is none."""
    for word in words:
        if getattr(options, word) not in (None, False, []):
            raise CannotDo(f"{option(word)} needs a journal, and {options.run_file} is a {what}")


def _show_chrome(options: argparse.Namespace) -> int:
    """A trace has spans and neither messages nor causes."""
    _demand_journal(options, ("step", "memory", "chunks", "trace", "beside", "group"), "trace")
    scene = read_chrome(options.run_file).only(options.ranks, None)
    console = Console(highlight=False, width=options.width)
    if options.html is not None:
        _write(options, options.html, ".html", page_drawn.draw(scene))
    _write_svg(options, scene)
    if options.gantt or (options.html is None and options.svg is None):
        console.print(painted(bars.gantt(scene, console.width), scene, console))
    return 0


def _show(found: Journal, options: argparse.Namespace) -> int:
    scene = found.scene().only(options.ranks, options.group or None)
    other = None if options.beside is None else journal.read(options.beside)
    if options.html is not None or other is not None:
        text = grid_page.draw(*grids(found)) if options.chunks else page_of(scene, found, other)
        _write(options, options.html or "", ".html", text)
    _write_svg(options, scene)
    if options.trace is not None:
        _write(options, options.trace, ".trace.json", trace.draw(scene, options.per_node))
    if options.step:
        player.play(scene, partial(_what_if, found), Console(highlight=False, width=options.width))
    elif _is_printed(options):
        _print(found, scene, options)
    return 0


def _is_printed(options: argparse.Namespace) -> bool:
    """A picture that is asked for by name is printed, although a file is written, too; a grid is on its page."""
    is_written = any(getattr(options, word) is not None for word in ("html", "svg", "trace", "beside"))
    return options.gantt or options.memory or (options.chunks and options.html is None) or not is_written


def _print(found: Journal, scene: Scene, options: argparse.Namespace) -> None:
    console = Console(highlight=False, width=options.width)
    pictures: dict[str, Callable[[], Picture]] = {
        "space": lambda: spacetime.draw(scene, console.width),
        "gantt": lambda: bars.gantt(scene, console.width),
        "memory": lambda: bars.memory(scene, console.width),
    }
    wanted = [name for name in ("gantt", "memory") if getattr(options, name)]
    if options.chunks:
        for grid in grids(found):
            console.print(painted(grid.draw(console.width, MOST_LINES), scene, console))
            console.print(sayable("\n".join(grid.words()) + "\n", console), markup=False)
    elif not wanted:
        console.print(sayable(repr(found), console), markup=False)
        console.print()
        wanted = ["space", "gantt", *(["memory"] if scene.memory else [])]
    for number, name in enumerate(wanted):
        if number:
            console.print()
        console.print(painted(pictures[name](), scene, console))


def _what_if(found: Journal, event: int) -> str:
    """A journal has no program in it, so this says how to run it."""
    try:
        faults = [str(fault) for fault in forking.come_first(found, event)]
    except ValueError as error:
        return str(error)
    return f"it comes first in the same sim.run with faults={faults}"


def _write_svg(options: argparse.Namespace, scene: Scene) -> None:
    if options.svg is not None:
        _write(options, options.svg, ".svg", svg.draw(scene, options.width or 900, options.by or "operation"))


def _write(options: argparse.Namespace, given: str, ending: str, text: str) -> None:
    path = Path(given) if given else Path(options.run_file).with_suffix(ending)
    if not given:  # nobody has named the file, so it is one of ours or stays
        whole_files.check(path, text.encode()[:8], f"{ending} of ours")
    whole_files.write(path, text)
    print(f"wrote {path} ({len(text.encode()):,} bytes)")
