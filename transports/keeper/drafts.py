"""Files that are written whole or not at all, and files that are taken away.

The bytes go to a draft in the same folder and reach the disk; then one rename puts it in place. A reader sees the old
file or the new one, also after a crash. The next writer in that folder takes away the draft that a crash left behind.
"""

from __future__ import annotations

import os
import re
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, Final

from transports.keeper.locks import Held, NoLocks
from transports.keeper.opening import PathLike, check_kind, open_file

_DRAFT: Final = re.compile(r"\.minitorch_dist-(.+)\.draft")
_SIGNED: Final = re.compile(r"([0-9a-f]{16})-([0-9a-f]{8})")


class Draft:
    """A file on its way: beside its place, under a name of its own, locked as long as its writer lives."""

    def __init__(self, folder: PathLike, mode: int = 0o666) -> None:
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL
        while True:
            self.path = Path(folder, f".minitorch_dist-{signed_name()}.draft")
            try:
                self.held = Held(open_file(self.path, flags, mode))
                with suppress(NoLocks):
                    self.held.lock(wait=True)  # a sweeper may look at it just now
                if self.held.is_at(self.path):
                    return
            except BaseException:
                with suppress(OSError):
                    self.path.unlink()
                raise
            self.held.close()  # that sweeper was faster than our lock

    def file(self) -> BinaryIO:
        """The file, to write to; closing it leaves the draft open."""
        return os.fdopen(self.held.number, "wb", closefd=False)

    def place(self, target: PathLike) -> None:
        """Let the bytes reach the disk, and give the file its name. It stays locked until `close`."""
        os.fsync(self.held.number)
        if os.name == "nt":
            self.held.close()  # which renames no open file
        self.path.replace(target)
        sync_folder(Path(target).parent)

    def close(self) -> None:
        """Leave no draft behind. A file that has its name keeps it."""
        self.path.unlink(missing_ok=True)
        self.held.close()


@contextmanager
def replacing(path: PathLike, mode: int | None = None) -> Iterator[BinaryIO]:
    """A file to write to, which takes the place of `path` when the block ends without an error.

    A regular file there is replaced and its mode kept; OddFile for all else. Dead drafts beside it are removed.
    """
    target = Path(path)
    there = check_kind(target)
    mode = there if mode is None else mode
    sweep(target.parent)
    draft = Draft(target.parent, 0o666 if mode is None else mode & 0o600)
    try:
        with draft.file() as file:
            yield file
        if mode is not None:
            draft.path.chmod(mode)
        draft.place(target)
    finally:
        draft.close()


def sync_folder(folder: PathLike) -> None:
    """Let a rename reach the disk, where folders can be opened."""
    if hasattr(os, "O_DIRECTORY"):
        number = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            with suppress(OSError):  # some file systems cannot
                os.fsync(number)
        finally:
            os.close(number)


def remove(path: PathLike, is_ours: Callable[[Held], bool], without_lock: bool = False) -> bool:
    """Delete a regular file that nobody holds, if `is_ours` sees in its bytes that we have made it. False: it stays.

    `without_lock`: also where there are no locks, because something else proves that nobody uses it.
    """
    try:
        held = Held(open_file(path, os.O_RDWR))
    except OSError:
        return False
    with held:
        try:
            is_free = held.lock()
        except NoLocks:
            is_free = without_lock
        return is_free and is_ours(held) and remove_held(path, held)


def remove_held(path: PathLike, held: Held) -> bool:
    """The same for a file that we hold and know to be ours: its name goes, if it still leads to this file."""
    if held.is_at(path):
        with suppress(OSError):
            Path(path).unlink()
            return True
    return False


def sweep(folder: PathLike) -> None:
    """Remove the drafts of writers that were killed."""
    for name in names(folder):
        if is_draft(name):
            remove(Path(folder, name), lambda held: True)


def is_draft(name: str) -> bool:
    """Whether a file of this name is a draft of ours."""
    found = _DRAFT.fullmatch(name)
    return found is not None and is_signed(found[1])


def names(folder: PathLike) -> list[str]:
    """The names in a folder; none if it cannot be read."""
    try:
        with os.scandir(folder) as entries:
            return [entry.name for entry in entries]
    except OSError:
        return []


def signed_name() -> str:
    """16 random digits, and 8 that follow from them."""
    drawn = os.urandom(8).hex()
    return f"{drawn}-{_check(drawn)}"


def is_signed(name: str) -> bool:
    found = _SIGNED.fullmatch(name)
    return found is not None and _check(found[1]) == found[2]


def _check(drawn: str) -> str:
    return f"{zlib.crc32(b'minitorch_dist ' + drawn.encode()):08x}"
