"""Files that are written whole or not at all: pages, traces, and what a plan keeps.

A run of minutes asks first if it can write its answer at the end. Asking leaves nothing behind. An earlier file stays
as it is until the new one is complete, also where the disk is full or somebody interrupts.
"""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from os import PathLike
from pathlib import Path
from typing import Final

PAGE: Final = b"<!doctype html>"  # a page begins so


def check(path: str | PathLike[str], begin: bytes = b"", what: str = "file") -> None:
    """OSError if nothing can be written there later. ValueError for a file that begins otherwise: it is no `what`."""
    place = Path(path)
    if place.is_dir() or not place.name:
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if _is_device(place):
        return
    if place.exists():
        if not os.access(place, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        with place.open("rb") as file:
            begun = file.read(len(begin))
        if begun != begin[: len(begun)]:
            raise ValueError(f"{path} is no {what}, and would be overwritten")
    draft = _draft_of(place)
    try:
        draft.touch()
        draft.unlink()
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None


def write(path: str | PathLike[str], data: str | bytes) -> None:
    """OSError leaves what was there before, and nothing else."""
    place = Path(path)
    given = data.encode() if isinstance(data, str) else data
    if _is_device(place):
        place.write_bytes(given)
        return
    draft = _draft_of(place)
    try:
        draft.write_bytes(given)
        draft.replace(place.resolve())
    except BaseException as error:
        with suppress(OSError):
            draft.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise OSError(error.errno, error.strerror, str(path)) from None
        raise


def _draft_of(path: Path) -> Path:
    """Beside it, for a file is renamed within its folder only."""
    whole = path.resolve()
    return whole.with_name(f".{whole.name[:200]}.{os.getpid()}")


def _is_device(path: Path) -> bool:
    """Such as /dev/null: it cannot be replaced."""
    return path.exists() and not path.is_file()
