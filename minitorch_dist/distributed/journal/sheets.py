"""The file that a journal is written to: whole lines, in order, as they happen.

    journal="run.mtd"     ranks that are threads share it; a process each writes run.mtd.0, run.mtd.1 …
    journal="runs/"       a folder: run.mtd in it
    MINITORCH_DIST_JOURNAL=…    the same, for a program that says nothing

Each line goes to the system with one call, so nothing waits in a buffer. A rank that is killed leaves
all the lines up to then, and at most one torn line, which readers leave out.
"""

from __future__ import annotations

import json
import logging
import os
from glob import escape
from pathlib import Path
from threading import Lock  # noqa: TID251 - keeps a line in one piece where a disk takes it in two
from typing import Any, Final

from minitorch_dist.distributed.journal.events import VERSION

VARIABLE: Final = "MINITORCH_DIST_JOURNAL"
NAME: Final = "run.mtd"
FIRST: Final = f'{{"journal":{VERSION},"of":"minitorch_dist"}}\n'
_log = logging.getLogger("minitorch_dist.distributed")

Place = str | os.PathLike[str]


def wanted(journal: Place | None) -> Path | None:
    """Where to write, by this argument or else the environment; None: nowhere."""
    said = os.environ.get(VARIABLE, "") if journal is None else os.fspath(journal)
    if not said:
        return None
    path = Path(said)
    if path.is_dir() or said.endswith(("/", os.sep)):
        path.mkdir(parents=True, exist_ok=True)
        path /= NAME
    return path.absolute()


class Sheet:
    """An open file of lines, which several ranks may share. Closing it twice is fine."""

    def __init__(self, path: Path, more: bool = False) -> None:
        """`more`: add to what the file holds, else begin it anew."""
        self.path, self._guard = path, Lock()
        path.parent.mkdir(parents=True, exist_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_CLOEXEC", 0)
        self._file = os.open(path, flags if more else flags | os.O_TRUNC, 0o644)
        if os.fstat(self._file).st_size == 0:
            self.write(FIRST)
        else:
            self._end_torn_line()

    def write(self, line: str) -> None:
        """A line with its newline. A disk that is full ends the journal, never the program."""
        octets = line.encode()
        with self._guard:
            try:
                while octets and self._file >= 0:
                    octets = octets[os.write(self._file, octets) :]
            except OSError as error:
                _log.warning("the journal %s ends here: %s", self.path, error)
                self._close()

    def _end_torn_line(self) -> None:
        """A process that was killed may have left half a line."""
        with self.path.open("rb") as file:
            file.seek(-1, os.SEEK_END)
            if file.read(1) != b"\n":
                self.write("\n")

    def close(self) -> None:
        with self._guard:
            self._close()

    def _close(self) -> None:
        file, self._file = self._file, -1
        if file >= 0:
            os.close(file)

    def __repr__(self) -> str:
        return f"<Sheet {self.path}, {'open' if self._file >= 0 else 'closed'}>"


def piece(path: Path, rank: int) -> Path:
    """Where the process of one rank writes."""
    return path.with_name(f"{path.name}.{rank}")


def pieces(path: Path) -> list[Path]:
    """The files of a journal's processes, by rank."""
    found: dict[int, Path] = {}
    if path.parent.is_dir():
        for beside in path.parent.glob(f"{escape(path.name)}.*"):
            number = beside.name[len(path.name) + 1 :]
            if number.isascii() and number.isdigit() and str(int(number)) == number:
                found[int(number)] = beside
    return [found[rank] for rank in sorted(found)]


def begin_anew(path: Path, ranks: int = 0) -> None:
    """Take away what an earlier run left under this name, but for the pieces of the first `ranks`:
    these begin theirs anew by themselves."""
    kept = [piece(path, rank) for rank in range(ranks)]
    for old in (path, *pieces(path)):
        if old not in kept:
            old.unlink(missing_ok=True)


def merge(path: Path) -> None:
    """Make one file of the pieces, whole or not at all."""
    parts = pieces(path)
    if not parts:
        return
    try:
        _merge(path, parts)
    except OSError as error:
        _log.warning("the pieces of the journal %s stay pieces: %s", path, error)


def _merge(path: Path, parts: list[Path]) -> None:
    temporary = path.with_name(f"{path.name}.merging")
    try:
        with temporary.open("wb") as out:
            out.write(FIRST.encode())
            for part in parts:
                with part.open("rb") as lines:
                    next(lines, None)  # its own first line
                    for line in lines:
                        if line.endswith(b"\n"):
                            out.write(line)
            out.flush()
            os.fsync(out.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    for part in parts:
        part.unlink(missing_ok=True)


def encoded(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
