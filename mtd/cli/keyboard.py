"""A terminal's keys, one by one, without waiting for a line.

with Keyboard() as keyboard:
    key = keyboard.read(0.2)           "n", "up", "enter" …; "" if nothing was pressed so long
    with keyboard.lines(): input()     for a while as usual
"""

from __future__ import annotations

import codecs
import os
import re
import select
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final

NAMES: Final = {
    "\x1b[A": "up", "\x1b[B": "down", "\x1b[C": "right", "\x1b[D": "left", "\x1bOA": "up", "\x1bOB": "down",
    "\x1b[5~": "page up", "\x1b[6~": "page down", "\x1b[H": "home", "\x1b[F": "end", "\r": "enter", "\n": "enter",
    " ": "page down", "\x7f": "back", "\b": "back", "\x1b": "escape",
}  # fmt: skip
KEY: Final = re.compile(r"\x1b\[[0-9;]*[A-Za-z~]|\x1bO[A-Za-z]|.", re.DOTALL)


class Closed(Exception):
    """There will be no more keys."""


class Keyboard:
    def __init__(self) -> None:
        self._pressed: list[str] = []
        self._before: list[Any] | None = None
        self._decoder = codecs.getincrementaldecoder("utf-8")("ignore")

    def read(self, timeout: float) -> str:
        """The next key, by its name; "" if there is none so long. Closed when the terminal is gone."""
        if not self._pressed:
            self._wait(timeout)
        return self._pressed.pop(0) if self._pressed else ""

    def _wait(self, timeout: float) -> None:
        if not select.select([sys.stdin], [], [], timeout)[0]:
            return
        try:
            found = os.read(sys.stdin.fileno(), 256)
        except OSError as error:
            raise Closed from error
        if not found:
            raise Closed
        text = self._decoder.decode(found)
        self._pressed += [NAMES.get(key, key) for key in KEY.findall(text)]

    @contextmanager
    def lines(self) -> Iterator[None]:
        """Within the block the terminal gives whole lines, and shows what is typed."""
        self.leave()
        try:
            yield
        finally:
            self.enter()

    def enter(self) -> None:
        import termios
        import tty

        self._before = termios.tcgetattr(sys.stdin)
        tty.setcbreak(sys.stdin, termios.TCSADRAIN)

    def leave(self) -> None:
        import termios

        if self._before is not None:
            with suppress(termios.error):
                termios.tcsetattr(sys.stdin, termios.TCSADRAIN, self._before)

    def __enter__(self) -> Keyboard:
        self.enter()
        return self

    def __exit__(self, *error: object) -> None:
        self.leave()


def is_there() -> bool:
    """Whether somebody sits at a terminal that can do this."""
    is_dumb = os.environ.get("TERM", "") in ("dumb", "")
    if is_dumb or not (sys.stdin.isatty() and sys.stdout.isatty()):
        return False
    return gives_keys()


def gives_keys() -> bool:
    """Whether this system's terminals give keys one by one, as Unix has it."""
    try:
        import termios  # noqa: F401 - only whether there is one
    except ImportError:  # not a Unix
        return False
    return True
