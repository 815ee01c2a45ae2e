"""Files that are written whole or not at all: see the keeper of files. Here the caller says where, so links are followed."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from transports import keeper


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A file to write to, which takes the place of `path` when the block ends without an error."""
    target = Path(path)
    with suppress(ValueError):  # no file can have the name; the keeper says so
        target = Path(os.path.realpath(path))  # a link stays, what it points at is replaced
    if _is_stream(target):  # it cannot be renamed over
        # A FIFO that nobody reads is an error at once.
        number = os.open(target, os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY)
        os.set_blocking(number, True)
        with os.fdopen(number, "wb") as stream:
            yield stream
        return
    with keeper.replacing(target) as file:
        yield file


def _is_stream(path: Path) -> bool:
    """Such as /dev/null or a pipe."""
    with suppress(OSError, ValueError):
        mode = path.stat().st_mode
        return stat.S_ISCHR(mode) or stat.S_ISFIFO(mode)
    return False
