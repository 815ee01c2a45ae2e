"""Lines of several ranks on one console, each of them whole.

`print` writes a text and its newline one after the other, and between the two another rank may write. Here the text of a
rank waits until its line ends, or until the rank flushes. Then it goes on in one piece. Ranks may be threads of one
process (their texts wait apart), or processes with one console (each line is one write).
"""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

LONGEST: Final = 1 << 16  # characters that wait for the end of their line
STREAMS: Final = ("stdout", "stderr")


class WholeLines:
    """In the place of a text stream. It asks that for all but writing."""

    def __init__(self, stream: Any, owner: Callable[[], object]) -> None:
        self.stream, self._owner = stream, owner
        self._begun: dict[object, str] = {}  # lines that have not ended, by who writes them

    def write(self, text: str) -> int:
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        owner = self._owner()
        whole, newline, rest = f"{self._begun.pop(owner, '')}{text}".rpartition("\n")
        if len(rest) > LONGEST:
            whole, newline, rest = whole + newline + rest, "", ""
        if rest:
            self._begun[owner] = rest
        if whole or newline:
            self.stream.write(whole + newline)
        return len(text)

    def writelines(self, lines: Any) -> None:
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        """Let the beginning of this rank's line be seen, as a prompt has to be."""
        begun = self._begun.pop(self._owner(), "")
        if begun:
            self.stream.write(begun)
        self.stream.flush()

    def end_line(self) -> None:
        """End the line that this rank has begun, as it writes no more."""
        begun = self._begun.pop(self._owner(), "")
        if begun:
            self.stream.write(f"{begun}\n")

    def end_all(self) -> None:
        while self._begun:
            _, begun = self._begun.popitem()
            self.stream.write(f"{begun}\n")

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)

    def __repr__(self) -> str:
        return f"<WholeLines of {self.stream!r}>"


@contextmanager
def whole_lines(owner: Callable[[], object]) -> Iterator[None]:
    """Within the block, standard streams pass on whole lines of each `owner()`."""
    put: list[tuple[str, WholeLines]] = []
    for name in STREAMS:
        stream = getattr(sys, name)
        if stream is not None and not isinstance(stream, WholeLines):
            put.append((name, WholeLines(stream, owner)))
            setattr(sys, name, put[-1][1])
    try:
        yield
    finally:
        for name, lines in put:
            lines.end_all()
            if getattr(sys, name) is lines:  # the program may have put another in its place
                setattr(sys, name, lines.stream)


def end_line() -> None:
    """A rank writes no more: end the lines that it has begun."""
    for name in STREAMS:
        stream = getattr(sys, name)
        if isinstance(stream, WholeLines):
            stream.end_line()


def one_write_a_line() -> None:
    """Let each line of this process be one write. By default a pipe gets blocks, which end within lines; and under
    `python -u` a text and its newline are two."""
    for name in STREAMS:
        stream = getattr(sys, name)
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(line_buffering=True, write_through=False)
