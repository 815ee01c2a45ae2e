"""Locks on files. They end with the process that holds them, however that ends.

A lock belongs to the open file and not to the process, so a forked child would keep its parent's. It closes what it
inherited. That takes nothing from the parent.
"""

from __future__ import annotations

import errno
import os
import socket
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from transports.clock import SYSTEM, Clock
from transports.keeper.opening import OddFile, PathLike, open_file

try:
    import fcntl
except ImportError:  # Windows has no such locks
    fcntl = None  # type: ignore[assignment]

LOCK: Final = ".minitorch_dist.lock"  # in a folder that one at a time may change
PATIENCE: Final = 60.0  # seconds to wait for a lock that is held for some milliseconds
PAUSES: Final = (0.001, 0.05)  # seconds between two looks at a lock, at first and at last
_TEXT: Final = b"minitorch_dist changes files in this folder, and takes this one away when it has\n"
_LACKING: Final = {errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL, errno.EBADF}


class Busy(OSError):
    """Somebody else holds a lock, and did not let go."""


class NoLocks(OSError):
    """The file system has no locks."""


class Held:
    """An open file, and perhaps its lock. Both end with `close`, with this object, or with the process."""

    __slots__ = ("__weakref__", "is_locked", "number")

    def __init__(self, number: int) -> None:
        self.number, self.is_locked = number, False

    def lock(self, shared: bool = False, wait: bool = False) -> bool:
        """Have the lock, alone or shared. False if others hold it (unless we `wait`); NoLocks if there are none here."""
        if fcntl is None:
            raise NoLocks(errno.ENOSYS, "this system has no locks")
        _locked.add(self)
        self.is_locked = True
        kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
        try:
            fcntl.flock(self.number, kind if wait else kind | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError as error:
            if error.errno in _LACKING:
                words = f"this file system has no locks: {error.strerror}"
                raise NoLocks(error.errno, words) from None
            raise
        return True

    def unlock(self) -> None:
        """Let others have it; the file stays open."""
        if fcntl is not None:
            fcntl.flock(self.number, fcntl.LOCK_UN)

    def is_at(self, path: PathLike) -> bool:
        """Whether `path` still leads to this file, and through no link."""
        try:
            there, ours = Path(path).lstat(), os.fstat(self.number)
        except OSError:
            return False
        return (there.st_dev, there.st_ino) == (ours.st_dev, ours.st_ino)

    def close(self) -> None:
        number, self.number = self.number, -1
        if number >= 0:
            if self.is_locked:
                with suppress(OSError):  # a child that is just being forked has the file, too
                    fcntl.flock(number, fcntl.LOCK_UN)
            os.close(number)

    def __enter__(self) -> Held:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    __del__ = close


_locked: weakref.WeakSet[Held] = weakref.WeakSet()


def _let_go() -> None:
    for held in list(_locked):
        number, held.number = held.number, -1
        if number >= 0:
            os.close(number)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_let_go)


@contextmanager
def holding(folder: PathLike, clock: Clock = SYSTEM, patience: float = PATIENCE) -> Iterator[bool]:
    """Be the only one who changes `folder`; Busy if another does not come to its end. False where there are no locks.

    The lock is a file in it, which is there only meanwhile. That of a killed process is taken over.
    """
    path = Path(folder, LOCK)
    deadline, (pause, longest) = clock.deadline(patience), PAUSES
    while True:
        with Held(open_file(path, os.O_RDWR | os.O_CREAT)) as held:
            found = os.pread(held.number, 1000, 0)
            if found and not found.startswith(_TEXT):
                raise OddFile(errno.EEXIST, "it is no lock of ours; give it another name", str(path))
            is_real = True
            try:
                has_it = held.lock()
            except NoLocks:
                has_it, is_real = True, False
            if has_it and held.is_at(path):
                try:
                    owner = f"process {os.getpid()} on {socket.gethostname()}\n"
                    os.ftruncate(held.number, 0)
                    os.pwrite(held.number, _TEXT + owner.encode(), 0)
                    yield is_real
                finally:
                    if held.is_at(path):
                        path.unlink()
                return
        if deadline.is_over():
            owner = found[len(_TEXT) :].decode(errors="replace").strip()
            raise Busy(
                errno.EBUSY,
                f"{owner or 'a process'} has held it for {patience:g} s: end that one, or take another folder",
                str(path),
            )
        if not has_it:
            clock.sleep(pause)
            pause = min(2 * pause, longest)
