"""What the course prints, on any terminal: colours where there are some, letters that it can write, its width."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.text import Text

from minitorch_dist.course.lesson import LessonError
from minitorch_dist.course.progress import Progress
from minitorch_dist.course.workspace import Workspace, find
from minitorch_dist.pictures.terminal import sayable

WIDEST = 100  # columns; longer lines are hard to read


class Page:
    def __init__(self, console: Console | None = None) -> None:
        self.console = console or Console(highlight=False)
        if self.console.width > WIDEST:
            self.console.width = WIDEST

    @property
    def width(self) -> int:
        return self.console.width

    @property
    def is_plain(self) -> bool:
        """Whether nothing on it can be changed once it is written."""
        return not self.console.is_terminal or self.console.is_dumb_terminal

    def say(self, what: RenderableType = "", style: str = "", indent: int = 0) -> None:
        """One paragraph. Words are only words: no markup is looked for in them."""
        shown = Text(what, style) if isinstance(what, str) else what
        if indent:
            shown = Padding(shown, (0, 0, 0, indent))
        with self.console.capture() as captured:
            self.console.print(shown)
        text = "\n".join(line.rstrip(" ") for line in captured.get().split("\n"))
        self.console.file.write(sayable(text, self.console))
        self.console.file.flush()

    def as_it_is(self, text: str, indent: int = 0) -> None:
        """Lines that are not to be wrapped."""
        self.say(Text(text, no_wrap=True, overflow="crop"), indent=indent)

    def clear(self) -> None:
        if not self.is_plain:
            self.console.clear()


def marked(*parts: str | tuple[str, str]) -> Text:
    """Words, some in a style."""
    return Text.assemble(*parts)


def opened(page: Page) -> tuple[Workspace, Progress]:
    """The learner's folder; says it if something was wrong with it."""
    workspace = find()
    progress = workspace.progress()
    if progress.notice:
        page.say(progress.notice, "yellow")
    return workspace, progress


def refuse(command: str, error: Exception) -> int:
    """What cannot be done, and what to do instead."""
    page = Page(Console(file=sys.stderr, highlight=False))
    page.say(f"mtd {command}: {error}".rstrip())
    return 2


def listed(names: Sequence[Any], last: str = "and") -> str:
    """`1, 2 and 3`"""
    words = [str(name) for name in names]
    return f" {last} ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


__all__ = ["LessonError", "Page", "listed", "marked", "opened", "refuse"]
