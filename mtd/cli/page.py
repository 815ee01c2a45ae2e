"""The output of the course, on any terminal: colours where there are some, letters that it can write, its
width.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from rich.box import SIMPLE
from rich.cells import cell_len
from rich.console import Console, RenderableType
from rich.markdown import Markdown
from rich.measure import Measurement
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from minitorch_dist.pictures.terminal import sayable
from minitorch_dist.serialization.files import replacing
from mtd import refusals
from mtd.refusals import CannotDo
from transports.plain_text import clean
from transports.quantities import in_words

KEYS = {name: name[0] for name in ("text", "hint", "check", "list")}
KEYS |= {"predict": "g", "solution": "o", "show": "p"}
WHOLE = 10_000  # columns: no table is wider
WIDEST = 100  # columns; longer lines are hard to read


class Page:
    """Paragraphs go to `write`: the terminal, unless somebody wants to have them."""

    def __init__(
        self, console: Console | None = None, write: Callable[[str], Any] | None = None, keys: bool = False
    ) -> None:
        self.console = console or Console(highlight=False)
        if self.console.width > WIDEST:
            self.console.width = WIDEST
        self.has_keys = keys  # whether what can be done next is a key
        self._write = write or self.console.file.write

    @property
    def width(self) -> int:
        return self.console.width

    @property
    def is_plain(self) -> bool:
        """Whether nothing on it can be changed once it is written."""
        return not self.console.is_terminal or self.console.is_dumb_terminal

    def say(self, what: RenderableType = "", style: str = "", indent: int = 0) -> None:
        """One paragraph. Words are only words: no markup is looked for in them."""
        shown = Text(clean(what), style) if isinstance(what, str) else what
        if indent:
            shown = Padding(shown, (0, 0, 0, indent))
        with self.console.capture() as captured:
            self.console.print(shown)
        text = "\n".join(line.rstrip(" ") for line in captured.get().split("\n"))
        self._write(sayable(text, self.console))
        self.console.file.flush()

    def tell(self, *parts: str | tuple[str, str], indent: int = 0) -> None:
        """One paragraph of words, some in a style: `page.tell("Next: ", ("mtd check 13", "bold"))`."""
        self.say(marked(*parts), indent=indent)

    def prose(self, text: str, indent: int = 0) -> None:
        """Markdown. Addresses are shown, so that they can be copied."""
        self.say(Markdown(text, code_theme="ansi_dark", hyperlinks=False), indent=indent)

    def way(self, command: str, number: float) -> tuple[str, str]:
        """How a command of a lesson is given here: `mtd hint 13`, or the key h."""
        return (KEYS[command] if self.has_keys else f"mtd {command} {number}", "bold")

    def anew(self) -> None:
        """An empty screen, where there is one."""
        if not self.is_plain:
            self.console.clear()

    def prompt(self, words: str) -> None:
        """Ask, on the line of the answer."""
        self.console.file.write(sayable(words, self.console))
        self.console.file.flush()

    def as_it_is(self, text: str, indent: int = 0) -> None:
        """Lines that break only at the edge of the terminal, where words may part."""
        self.say(Text(clean(text), no_wrap=True, overflow="fold"), indent=indent)


def marked(*parts: str | tuple[str, str]) -> Text:
    """Words, some in a style."""
    return Text.assemble(*parts)


def table(*headings: str, left: Sequence[str] = ("",), title: str | None = None, is_tight: bool = False) -> Table:
    """A table of numbers, with texts in the columns of `left`. A tight one has little between its columns, and breaks no cell."""
    found = Table(title=title, box=SIMPLE, show_edge=not is_tight, pad_edge=not is_tight)
    if is_tight:
        found.padding, found.min_width = (0, 1, 0, 0), min(len(title or ""), 79)
    for heading in headings:
        found.add_column(heading, justify="left" if heading in left else "right", no_wrap=is_tight)
    return found


def beside_bound(time: int, bound: int) -> tuple[str, str]:
    """Two cells: a time in picoseconds, and how many times as long it is as the least that can be."""
    return in_words(time), f"{time / bound:.2f}×" if bound else "–"


def show(table: Table) -> None:
    """Print it, with its markup."""
    console = Console(highlight=False)
    console.print(fitting(table, console))


def fitting(table: Table, console: Console) -> RenderableType:
    """A table; or a paragraph for each of its rows, where the terminal is too narrow to show all of them."""
    wide = console.options.update(max_width=WHOLE)
    for column in table.columns:
        if column.no_wrap:  # rich would cut its cells
            column.min_width = max(cell_len(str(cell)) for cell in (column.header, *column.cells))
    if Measurement.get(console, wide, table).minimum <= console.width:
        return table
    _, *heads = [str(column.header) for column in table.columns]
    heads = heads if heads[1:] else [""]  # a single text needs no name
    paragraphs = [f"{table.title}"] if table.title else []
    for row in zip(*(column.cells for column in table.columns), strict=True):
        first, *cells = [cell.markup if isinstance(cell, Text) else f"{cell}" for cell in row]
        named = [f"{head} {cell}" for head, cell in zip(heads, cells, strict=True) if f"{cell}"]
        said = ", ".join(text.strip() for text in named)
        paragraphs.append(f"{first}: {said}" if said else f"{first}")
    return Text.from_markup("\n".join(paragraphs))


def begin(file: Path, text: str, refused: type[CannotDo]) -> None:
    """Write a file for somebody to begin with, where none is yet."""
    if file.exists():
        raise refused(f"{file} is there already; it stays as it is")
    file.parent.mkdir(parents=True, exist_ok=True)
    with replacing(file) as out:
        out.write(text.encode())


def refuse(command: str, error: Exception) -> int:
    """Say what cannot be done, and what to do instead."""
    page = Page(Console(file=sys.stderr, highlight=False))
    page.say(f"mtd {command}: {refusals.in_words(error)}".replace(" :", ":"))
    return 2


def listed(names: Sequence[Any]) -> str:
    """`1, 2 and 3`"""
    words = [str(name) for name in names]
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
