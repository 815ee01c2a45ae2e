"""A person at a terminal: a program in a pseudo terminal of a given size, and what stands on its screen."""

from __future__ import annotations

import codecs
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType

HERE = Path(__file__).parents[2]
PATIENCE = 300.0  # seconds, on a loaded machine
ESCAPE = re.compile(r"\x1b\[(\??)([0-9;]*)([A-Za-z])|\x1b[()=>][0-9A-Z]?|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)")


class Screen:
    """What a terminal shows: as much of its language as is spoken here."""

    def __init__(self, columns: int, rows: int) -> None:
        self.columns, self.rows = columns, rows
        self.cells = [[" "] * columns for _ in range(rows)]
        self.row = self.column = 0
        self.other: list[list[str]] | None = None  # the screen behind, and its cursor
        self.place = (0, 0)
        self.escapes: set[str] = set()
        self._rest = ""

    def feed(self, text: str) -> None:
        text = self._rest + text
        cut = text.rfind("\x1b")
        is_torn = cut >= 0 and not ESCAPE.match(text, cut)
        text, self._rest = (text[:cut], text[cut:]) if is_torn else (text, "")
        place = 0
        while place < len(text):
            found = ESCAPE.match(text, place)
            if found:
                self._escape(found)
                place = found.end()
                continue
            self._put(text[place])
            place += 1

    def _put(self, letter: str) -> None:
        if letter == "\r":
            self.column = 0
        elif letter == "\n":
            self.row += 1
        elif letter == "\b":
            self.column = max(self.column - 1, 0)
        elif letter >= " ":
            if self.column >= self.columns:
                self.row, self.column = self.row + 1, 0
            self._roll()
            self.cells[self.row][self.column] = letter
            self.column += 1
        self._roll()

    def _roll(self) -> None:
        while self.row >= self.rows:
            self.cells = [*self.cells[1:], [" "] * self.columns]
            self.row -= 1

    def _escape(self, found: re.Match[str]) -> None:
        private, numbers, what = found[1], found[2], found[3]
        self.escapes.add(f"{private}{numbers if private else ''}{what}")
        values = [int(number) if number else 0 for number in (numbers or "").split(";")]
        if private and values == [1049]:
            if what == "h":
                self.other, self.place = self.cells, (self.row, self.column)
                self.cells = [[" "] * self.columns for _ in range(self.rows)]
            elif self.other is not None:
                self.cells, self.other = self.other, None
                self.row, self.column = self.place
        elif what == "H":
            self.row = min(max(values[0] - 1, 0), self.rows - 1)
            self.column = min(max((values[1] if len(values) > 1 else 1) - 1, 0), self.columns - 1)
        elif what == "K" and values[0] in (0, 2):
            start = self.column if values[0] == 0 else 0
            self.cells[self.row][start:] = [" "] * (self.columns - start)
        elif what == "J" and values[0] == 2:
            self.cells = [[" "] * self.columns for _ in range(self.rows)]
        elif what == "A":
            self.row = max(self.row - max(values[0], 1), 0)

    def __str__(self) -> str:
        return "\n".join("".join(row).rstrip() for row in self.cells).rstrip()


class Terminal:
    """`mtd` in a terminal. What is waited for has to come within PATIENCE."""

    def __init__(
        self, *words: str, cwd: Path, columns: int = 80, rows: int = 24, env: Mapping[str, str] | None = None
    ) -> None:
        self.screen = Screen(columns, rows)
        self.said = ""  # everything
        self._ours, theirs = pty.openpty()
        self.resize(columns, rows, tell=False)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        found = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES", "NO_COLOR")}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "mtd", *words], stdin=theirs, stdout=theirs, stderr=theirs, cwd=cwd,
            env={**found, "TERM": "xterm-256color", "PYTHONIOENCODING": "utf-8", "PYTHONPATH": str(HERE), **(env or {})},
            start_new_session=True, preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0) and None,
        )  # fmt: skip
        os.close(theirs)

    def resize(self, columns: int, rows: int, tell: bool = True) -> None:
        fcntl.ioctl(self._ours, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        if tell:
            self.screen = Screen(columns, rows)

    def read(self, seconds: float = 0.05) -> bool:
        """Take in what has come; False when there will be no more."""
        if not select.select([self._ours], [], [], seconds)[0]:
            return True
        try:
            found = os.read(self._ours, 1 << 16)
        except OSError:  # it has ended
            return False
        text = self._decoder.decode(found)
        self.said += text
        self.screen.feed(text)
        return bool(found)

    def see(self, *wanted: str, gone: str = "\0") -> str:
        """Until all of this stands on the screen (line ends count as spaces), and `gone` does not."""
        end = time.monotonic() + PATIENCE
        while True:
            shown = " ".join(str(self.screen).split())
            if all(" ".join(one.split()) in shown for one in wanted) and gone not in shown:
                return str(self.screen)
            is_on = self.read()
            assert time.monotonic() < end, f"waited for {wanted}, saw:\n{self.screen}"
            if not is_on:
                shown = " ".join(str(self.screen).split())
                assert all(" ".join(one.split()) in shown for one in wanted), f"ended without {wanted}:\n{self.screen}"
                return str(self.screen)

    def press(self, keys: str) -> None:
        os.write(self._ours, keys.encode())

    def end(self, status: int = 0) -> str:
        """What it had said when it ended by itself."""
        limit = time.monotonic() + PATIENCE
        while self.read():
            assert time.monotonic() < limit, f"it does not end:\n{self.screen}"
        assert self.process.wait(PATIENCE) == status, self.said[-2000:]
        return self.said

    def is_cooked(self) -> bool:
        """Whether the terminal gives lines and shows what is typed, as a shell wants it."""
        modes = termios.tcgetattr(self._ours)[3]
        return bool(modes & termios.ICANON and modes & termios.ECHO)

    def __enter__(self) -> Terminal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        os.close(self._ours)
