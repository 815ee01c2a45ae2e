"""The parts of an address of the file transport: the place, the kind of file, and the sizes.

file://                      the ranks choose a place in memory
file:///scratch/job          a file beside this name, for the time of the run
file:///scratch              in this folder, if it is one
?mode=append                 one append-only file per pair, also where mappings would work
?ring=65536 ?segment=…       bytes of one ring, or of one piece of an append-only file
?board=65536                 bytes of a slot of the board (see `board`); 0: none, only messages
"""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit

from transports.board import LINE
from transports.shared_file.ring import UNIT
from transports.shared_file.signed_file import MODES

MEMORY = Path("/dev/shm")
NAME = "minitorch-dist"
BUDGET = 1 << 25  # bytes of all rings together, unless they would become smaller than SMALLEST
SMALLEST, LARGEST = 1 << 13, 1 << 19  # bytes of a ring
SEGMENT = 1 << 26  # bytes of an append-only file, after which the next one begins


@dataclass(frozen=True)
class FileAddress:
    base: Path  # the file's name begins like this
    is_ours: bool  # whether nobody asked for this place
    mode: str | None  # None: rings wherever they work
    ring: int | None
    segment: int | None
    board: int | None = None  # bytes of a slot of the board; 0: no board

    def room(self, mode: str, world_size: int) -> int:
        """Bytes of one ring, or of one segment."""
        if mode == "append":
            return self.segment or SEGMENT
        if self.ring is not None:
            return self.ring
        fair = BUDGET // world_size**2
        return min(max(fair // SMALLEST * SMALLEST, SMALLEST), LARGEST)


def parse(address: str) -> FileAddress:
    """The place an address names; ValueError says what is wrong with it."""
    parts = urlsplit(address if "://" in address else f"{address}://")
    if parts.netloc:
        raise ValueError(
            f"{address!r} names a host {parts.netloc!r}, and a file has none: three slashes and an "
            f"absolute path, as in file:///{parts.netloc}{parts.path}"
        )
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    if unknown := sorted(set(options) - {"mode", "ring", "segment", "board"}):
        raise ValueError(f"{address!r} has unknown options {unknown}; there are mode, ring, segment, board")
    mode = options.get("mode")
    if mode is not None and mode not in MODES:
        raise ValueError(f"{address!r} asks for mode {mode!r}; there are {' and '.join(MODES)}")
    ring, segment = _size(address, options, "ring"), _size(address, options, "segment")
    if ring is not None and (ring % UNIT or ring < UNIT):
        raise ValueError(f"{address!r} asks for rings of {ring} bytes: they are multiples of {UNIT}")
    board = 0 if options.get("board") == "0" else _size(address, options, "board")
    if board and board % LINE:
        asked = f"{address!r} asks for a board with slots of {board} bytes"
        raise ValueError(f"{asked}: they are multiples of {LINE}")
    path = Path(unquote(parts.path))
    if path == Path():
        return FileAddress(_memory() / NAME, True, mode, ring, segment, board)
    try:
        is_folder = path.is_dir()
    except OSError as error:
        raise ValueError(f"{address!r} names no place for a file: {error.strerror}") from None
    return FileAddress(path / NAME if is_folder else path, False, mode, ring, segment, board)


def _memory() -> Path:
    """A folder in memory if there is one with room (containers often have little of it)."""
    try:
        facts = os.statvfs(MEMORY)
    except OSError:
        return Path(tempfile.gettempdir())
    has_room = facts.f_bavail * facts.f_frsize > 2 * BUDGET and os.access(MEMORY, os.W_OK)
    return MEMORY if has_room else Path(tempfile.gettempdir())


def _size(address: str, options: dict[str, str], name: str) -> int | None:
    text = options.get(name)
    if text is None:
        return None
    if not text.isascii() or not text.isdigit() or not 0 < int(text) <= 1 << 40:
        raise ValueError(f"{address!r} asks for {name}={text}, which is not a number of bytes")
    return int(text)
