"""Files that are written whole or not at all: pages, traces, and what a plan keeps.

A run of minutes asks first if it can write its answer at the end. Asking leaves nothing behind. An earlier file stays
as it is until the new one is complete, also where the disk is full or somebody interrupts.
"""

from __future__ import annotations

import errno
import os
from os import PathLike
from pathlib import Path
from typing import Final

from transports import keeper

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
    try:
        keeper.Draft(place.resolve().parent).close()
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None


def write(path: str | PathLike[str], data: str | bytes) -> None:
    """OSError leaves what was there before, and nothing else."""
    place = Path(path)
    given = data.encode() if isinstance(data, str) else data
    if _is_device(place):
        place.write_bytes(given)
        return
    try:
        whole = place.resolve()
        keeper.sweep(whole.parent)
        draft = keeper.Draft(whole.parent)
        try:
            draft.path.write_bytes(given)
            draft.place(whole)
        finally:
            draft.close()
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None


def _is_device(path: Path) -> bool:
    """Such as /dev/null: it cannot be replaced."""
    return path.exists() and not path.is_file()
