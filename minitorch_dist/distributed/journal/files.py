"""The file that a journal is written to: whole lines, in order, as they happen.

    journal="run.mtd"     ranks that are threads share it; a process each writes run.mtd.0, run.mtd.1 …
    journal="runs/"       a folder: run.mtd in it
    MINITORCH_DIST_JOURNAL=…    the same, for a program that says nothing

Each line goes to the system with one call, so nothing waits in a buffer. A rank that is killed leaves
all the lines up to then, and at most one torn line, which readers leave out.

Only a journal is replaced, and only pieces of a journal are taken away. Their first line is the proof. A file of somebody
else in such a place is an error, and stays as it is. The same holds for a journal that another run is writing.
"""

from __future__ import annotations

import json
import logging
import os
import re
from contextlib import ExitStack
from glob import escape
from pathlib import Path
from threading import Lock  # noqa: TID251 - keeps a line in one piece where a disk takes it in two
from typing import Any, Final

from minitorch_dist.distributed.journal.events import VERSION, JournalError
from transports import keeper
from transports.keeper import Held

VARIABLE: Final = "MINITORCH_DIST_JOURNAL"
NAME: Final = "run.mtd"
FIRST: Final = f'{{"journal":{VERSION},"of":"minitorch_dist"}}\n'
_BEGIN: Final = re.compile(rb'\{"journal": ?\d{1,9}, ?"of": ?"minitorch_dist"\}\r?\n')  # of any version
ELSEWHERE: Final = f"Name another file (journal=… or {VARIABLE}), or move this one away"
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
        self._file = _opened(path, os.O_RDWR | os.O_CREAT | os.O_APPEND)
        if not more:
            _lock(path, self._file)
            os.ftruncate(self._file.number, 0)
        _lock(path, self._file, shared=True)  # as long as it is written
        if os.fstat(self._file.number).st_size == 0:
            self.write(FIRST)
        else:
            self._end_torn_line()

    def write(self, line: str) -> None:
        """A line with its newline. A disk that is full ends the journal, never the program."""
        octets = line.encode()
        with self._guard:
            try:
                while octets and self._file.number >= 0:
                    octets = octets[os.write(self._file.number, octets) :]
            except OSError as error:
                _log.warning("the journal %s ends here: %s", self.path, error)
                self._file.close()

    def _end_torn_line(self) -> None:
        """A process that was killed may have left half a line."""
        if os.pread(self._file.number, 1, os.fstat(self._file.number).st_size - 1) != b"\n":
            self.write("\n")

    def close(self) -> None:
        with self._guard:
            self._file.close()

    def __repr__(self) -> str:
        return f"<Sheet {self.path}, {'open' if self._file.number >= 0 else 'closed'}>"


def is_journal(file: Held) -> bool:
    """Whether an open file begins as a journal, or a piece of one."""
    return _BEGIN.match(os.pread(file.number, 80, 0)) is not None


def _opened(path: Path, flags: int) -> Held:
    """A journal, or an empty file. JournalError for what a journal must not replace."""
    try:
        file = Held(keeper.open_file(path, flags, 0o644))
    except keeper.OddFile as error:
        raise JournalError(f"{path} cannot be a journal: {error.strerror}. {ELSEWHERE}") from None
    if os.fstat(file.number).st_size and not is_journal(file):
        begin = os.pread(file.number, 40, 0)
        file.close()
        raise JournalError(
            f"{path} is not a journal, since it begins with {begin!r}; it is not replaced, and stays as it is. {ELSEWHERE}"
        )
    return file


def _lock(path: Path, file: Held, shared: bool = False) -> None:
    try:
        if not file.lock(shared):
            file.close()
            raise JournalError(f"the journal {path} is just being written by another run. {ELSEWHERE}")
    except keeper.NoLocks:
        pass  # on a disk without locks two runs cannot be told apart


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
    old = [each for each in (path, *pieces(path)) if each not in kept and os.path.lexists(each)]
    for each in old:  # all are looked at before one goes
        with _opened(each, os.O_RDWR) as file:
            _lock(each, file)
    for each in old:
        keeper.remove(each, is_journal, without_lock=True)


def merge(path: Path) -> None:
    """Make one file of the pieces, whole or not at all."""
    parts = pieces(path)
    if not parts:
        return
    try:
        _merge(path, parts)
    except (OSError, JournalError) as error:
        _log.warning("the pieces of the journal %s stay pieces: %s", path, error)


def _merge(path: Path, parts: list[Path]) -> None:
    if os.path.lexists(path):
        _opened(path, os.O_RDWR).close()
    with ExitStack() as stack:
        files = [stack.enter_context(_opened(part, os.O_RDWR)) for part in parts]
        with keeper.replacing(path) as out:
            out.write(FIRST.encode())
            for file in files:
                lines = stack.enter_context(os.fdopen(file.number, "rb", closefd=False))
                next(lines, None)  # its own first line
                out.writelines(line for line in lines if line.endswith(b"\n"))
    for part in parts:
        keeper.remove(part, is_journal, without_lock=True)


def encoded(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
