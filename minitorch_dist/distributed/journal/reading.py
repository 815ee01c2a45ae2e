"""From files to events: pieces are merged, torn lines left out, the clocks of several hosts aligned.

A journal is read as text that anybody may have written. A value of the wrong kind is an error that
names file and line. No line can make the reader do more than make one event.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

from minitorch_dist.distributed.journal import files
from minitorch_dist.distributed.journal.events import MAX_RANK, VERSION, Event, JournalError, parse
from transports import keeper
from transports.clock import PICO
from transports.plain_text import clean

MAX_LINE: Final = 1 << 20  # bytes
FACTS: Final = ("operation", "dtype", "shape", "reduce", "root", "algorithm", "site", "beside")  # of an operation
MOST_SECONDS: Final = 1 << 40  # of a wall clock since 1970: 35,000 years


class JournalRank(NamedTuple):
    """The line `world` of each rank: it says which ranks took part."""

    rank: int
    world_size: int
    transport: str
    is_virtual: bool
    host: str
    program: str


class JournalContents(NamedTuple):
    ranks: list[JournalRank]
    events: list[Event]  # each rank's in its own order
    torn: int  # lines that were cut off, because their writer was killed


def read(path: str | os.PathLike[str]) -> JournalContents:
    """The events of a journal file, of its pieces, or of all journals in a folder of one run."""
    given = Path(path)
    if given.is_dir():
        given = given / files.NAME
    found = [given] if given.is_file() else files.pieces(given)
    if not found:
        raise FileNotFoundError(
            f"there is no journal {given}, nor {given.name}.0 and so on beside it. A run writes one "
            f"where launch(…, journal={str(given)!r}) or {files.VARIABLE}={given} says so"
        )
    return _gather(file_lines for file in found for file_lines in _lines(file))


def parse_lines(lines: Iterable[str | bytes], name: str = "journal") -> JournalContents:
    """The same from lines that are at hand."""
    octets = (line.encode() if isinstance(line, str) else line for line in lines)
    return _gather(_decoded(octets, name))


Line = dict[str, Any] | JournalError | None  # None: torn


def _lines(file: Path) -> Iterator[tuple[str, Line]]:
    try:
        number = keeper.open_file(file, follow=True)
    except keeper.OddFile as error:
        raise JournalError(f"{file} is not a journal: {error.strerror}") from None
    with os.fdopen(number, "rb") as opened:
        yield from _decoded(iter(lambda: opened.readline(MAX_LINE + 1), b""), str(file))


def _decoded(lines: Iterable[bytes], name: str) -> Iterator[tuple[str, Line]]:
    """Each line with its place; a line that cannot be read counts only if more follow."""
    for number, line in enumerate(lines, 1):
        where = f"{name}:{number}"
        if len(line) > MAX_LINE:
            raise JournalError(f"{where}: a line of more than {MAX_LINE} bytes; this is not a journal")
        try:
            found = json.loads(line)
        except (ValueError, RecursionError) as error:
            if number == 1:
                raise JournalError(f"{where}: this is not a journal, it begins with {line[:40]!r}") from error
            if line.rstrip(b"\n").endswith(b"}"):
                raise JournalError(f"{where}: {line[:60]!r} is not JSON ({error})") from error
            yield where, None
            continue
        if not isinstance(found, dict):
            raise JournalError(f"{where}: {line[:60]!r} is no line of a journal")
        if number == 1:
            _check_version(found, where)
        elif line.strip():
            yield where, found


def _check_version(line: dict[str, Any], where: str) -> None:
    version = line.get("journal")
    if type(version) is not int:
        raise JournalError(f'{where}: this is not a journal; its first line should be {{"journal": {VERSION}, …}}')
    if version != VERSION:
        raise JournalError(
            f"{where}: a journal of version {version}, and this reads version {VERSION}: use the "
            "minitorch_dist that wrote it, or record again"
        )


def _gather(lines: Iterable[tuple[str, Line]]) -> JournalContents:
    ranks: dict[int, JournalRank] = {}
    events: list[Event] = []
    offsets: dict[int, int] = {}
    clocks: dict[str, int] = {}
    begun: dict[tuple[int, str, int], Event] = {}
    torn = 0
    for where, line in lines:
        if line is None:
            torn += 1
            continue
        assert isinstance(line, dict)
        try:
            if line.get("what") == "world":
                rank = _rank(line)
                ranks.setdefault(rank.rank, rank)
                offsets[rank.rank] = _offset(line, rank, clocks)
                continue
            event = parse(line, offsets)
        except JournalError as error:
            raise JournalError(f"{where}: {error}") from None
        except RecursionError:  # it cannot be shown in an error, either
            raise JournalError(f"{where}: lists within lists, too deep to be read") from None
        events.append(_completed(event, begun))
    return JournalContents([ranks[rank] for rank in sorted(ranks)], events, torn)


def _completed(event: Event, begun: dict[tuple[int, str, int], Event]) -> Event:
    """Copy the facts that are written once, where an operation begins, to all its events."""
    if event.sequence < 0:
        return event
    key = event.rank, event.group, event.sequence
    if event.what in ("issue", "begin"):
        begun[key] = event
        return event
    first = begun.get(key)
    if event.what == "end":
        begun.pop(key, None)
    if first is None:
        return event
    return event._replace(**{name: getattr(first, name) for name in FACTS})


def _rank(line: dict[str, Any]) -> JournalRank:
    rank, size = line.get("rank"), line.get("world_size")
    if type(rank) is not int or type(size) is not int or not 0 <= rank < size <= MAX_RANK:
        raise JournalError(f"rank={rank!r} of world_size={size!r}")
    words = [clean(str(line.get(word, ""))[:200], lines=False) for word in ("transport", "host", "program")]
    return JournalRank(rank, size, words[0], line.get("clock") == "virtual", words[1], words[2])


def _offset(line: dict[str, Any], rank: JournalRank, clocks: dict[str, int]) -> int:
    """The number to add to this rank's instants. Hosts count from different beginnings: those after the
    first are aligned by their wall clocks, once each, so that one host's order stays exact."""
    at, wall = line.get("at"), line.get("wall")
    if rank.is_virtual or type(at) is not int or not isinstance(wall, int | float):
        return 0
    if not abs(wall) <= MOST_SECONDS:  # nan is not, either
        return 0
    own = round(wall * PICO) - at  # where this host's clock began
    began = clocks.setdefault(rank.host, own)
    return began - next(iter(clocks.values()))
