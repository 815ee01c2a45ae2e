"""Files that are written whole or not at all.

The bytes go to a temporary file in the same folder and reach the disk; then one rename puts it in
place. A reader sees the old file or the new one, also after a crash.
"""

from __future__ import annotations

import itertools
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

_count = itertools.count()


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A file to write to, which takes the place of `path` when the block ends without an error."""
    target = Path(os.path.realpath(path))  # a link stays, what it points at is replaced
    mode = target.stat().st_mode if target.exists() else None
    if mode is not None and not stat.S_ISREG(mode):  # a pipe or /dev/null cannot be renamed over
        with target.open("wb") as file:
            yield file
        return
    temporary = target.with_name(f".{target.name[:200]}.{os.getpid()}.{next(_count)}.tmp")
    number = os.open(
        temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666
    )
    try:
        with os.fdopen(number, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if mode is not None:
            temporary.chmod(stat.S_IMODE(mode))
        temporary.replace(target)
    except BaseException:
        with suppress(FileNotFoundError):
            temporary.unlink()
        raise
    _sync_folder(target.parent)


def _sync_folder(folder: Path) -> None:
    """Let the rename itself reach the disk, where folders can be opened."""
    if hasattr(os, "O_DIRECTORY"):
        number = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            with suppress(OSError):  # some file systems cannot
                os.fsync(number)
        finally:
            os.close(number)
