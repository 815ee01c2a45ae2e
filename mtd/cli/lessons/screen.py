"""The whole terminal: a text that can be scrolled, and two lines beneath it that say where one is and what can be pressed."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from rich.console import Console
from rich.text import Text

from minitorch_dist.pictures.terminal import sayable
from mtd.cli.page import WIDEST, Page

# A screen of our own, without a cursor.
OTHER, BACK = "\x1b[?1049h\x1b[?25l", "\x1b[?25h\x1b[?1049l"
Draw = Callable[[Page], None]


class Screen:
    def __init__(self, console: Console | None = None) -> None:
        self.console = console or Console(highlight=False)
        self.top = 0  # the first line in sight
        self.lines: list[str] = []
        self._handlers: dict[int, Any] = {}
        self.on_return: Callable[[], None] = lambda: None  # after a stop (Ctrl-Z)

    def size(self) -> tuple[int, int]:
        """Columns and rows."""
        found = shutil.get_terminal_size()
        return max(found.columns, 20), max(found.lines, 5)

    @property
    def room(self) -> int:
        """Rows of text."""
        return self.size()[1] - 2

    def compose(self, draw: Draw) -> None:
        """The text anew, as wide as the terminal is now."""
        self.console.width = min(self.size()[0], WIDEST)
        said: list[str] = []
        draw(Page(self.console, said.append, keys=True))
        self.lines = "".join(said).rstrip("\n").split("\n")
        self.scroll(0)

    def scroll(self, by: int) -> None:
        self.top = max(min(self.top + by, len(self.lines) - self.room), 0)

    def paint(self, state: Text, keys: Text) -> None:
        columns, rows = self.size()
        shown = self.lines[self.top : self.top + rows - 2]
        shown += [""] * (rows - 2 - len(shown))
        rest = len(self.lines) - self.top - (rows - 2)
        for more in (f"  space: {rest} lines more", f"  ▼ {rest}"):
            if rest > 0 and len(state) + len(more) < columns:
                state = state.copy()
                state.append(more.rjust(columns - 1 - len(state)), "bold")
        shown += [self._line(state, columns - 1), self._line(keys, columns - 1)]
        out = "".join(f"\x1b[{row};1H{line}\x1b[0m\x1b[K" for row, line in enumerate(shown, 1))
        self.write(out)

    def _line(self, text: Text, width: int) -> str:
        text = text.copy()
        text.truncate(width)
        with self.console.capture() as captured:
            self.console.print(text, end="", no_wrap=True, soft_wrap=True)
        return sayable(captured.get(), self.console)

    def write(self, text: str) -> None:
        self.console.file.write(text)
        self.console.file.flush()

    # ------------------------------------------------------------------------- coming and going

    def __enter__(self) -> Screen:
        self.write(OTHER)
        for name in ("SIGTSTP", "SIGTERM", "SIGHUP"):
            number = getattr(signal, name, None)
            if number is not None:
                self._handlers[number] = signal.signal(number, self._told)
        return self

    def __exit__(self, *error: object) -> None:
        for number, handler in self._handlers.items():
            signal.signal(number, handler)
        self.write(BACK)

    def _told(self, number: int, frame: FrameType | None) -> None:
        if number != getattr(signal, "SIGTSTP", None):
            raise SystemExit(128 + number)
        self.write(BACK)
        os.kill(os.getpid(), signal.SIGSTOP)  # until somebody says fg
        self.write(OTHER)
        self.on_return()

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Within the block the terminal is as it was."""
        self.write(BACK)
        try:
            yield
        finally:
            self.write(OTHER)
