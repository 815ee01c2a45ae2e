"""Opening of regular files, and of nothing else. It waits for nothing and follows no link."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import Final

PathLike = str | os.PathLike[str]

_PIECE: Final = 1 << 20  # bytes: nothing is taken for a size that is only said
_KINDS: Final = {
    stat.S_IFDIR: "a folder",
    stat.S_IFLNK: "a link",
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


class OddFile(OSError):
    """There is something in a file's place that is no regular file, or that is not ours."""


def open_file(path: PathLike, flags: int = os.O_RDONLY, mode: int = 0o666, follow: bool = False) -> int:
    """The number of an open regular file. OddFile for anything else, and for a link unless `follow`.

    Parts of the path before the last one may be links. Nothing is cut: do that yourself, when you know what the file is.
    """
    check_kind(path, follow)  # to open some devices is a deed already
    more = _flag("O_CLOEXEC") | _flag("O_NONBLOCK") | _flag("O_NOCTTY") | _flag("O_BINARY")
    if not follow:
        more |= _flag("O_NOFOLLOW")
    number = os.open(path, flags | more, mode)
    try:
        _check(path, os.fstat(number).st_mode)  # it may have been replaced meanwhile
        return number
    except BaseException:
        os.close(number)
        raise


def why_not_ours(number: int, bits: int) -> str:
    """To whom an open file belongs, where that is not this user, or others have a right of `bits`; else nothing."""
    found, me = os.fstat(number), os.geteuid()
    if found.st_uid == me and not found.st_mode & bits:
        return ""
    return f"belongs to user {found.st_uid} (we are {me}) with mode {stat.S_IMODE(found.st_mode):04o}"


def read_file(path: PathLike, most: int, follow: bool = False) -> bytes:
    """All bytes of a regular file; OddFile if there are more than `most`."""
    found = bytearray()
    with os.fdopen(open_file(path, follow=follow), "rb") as file:
        while piece := file.read(_PIECE):
            found += piece
            if len(found) > most:
                raise OddFile(errno.EFBIG, f"it has more than {most:,} bytes", os.fspath(path))
    return bytes(found)


def check_kind(path: PathLike, follow: bool = False) -> int | None:
    """The mode of the regular file at `path`, None if there is nothing; OddFile for all else."""
    try:
        found = Path(path).stat(follow_symlinks=follow)
    except FileNotFoundError:
        return None
    except ValueError as error:  # a zero byte, or half of a surrogate pair
        words = f"no file can have this name ({error})"
        raise OddFile(errno.EINVAL, words, repr(os.fspath(path))) from None
    _check(path, found.st_mode)
    return stat.S_IMODE(found.st_mode)


def _check(path: PathLike, mode: int) -> None:
    kind = _KINDS.get(stat.S_IFMT(mode))
    if kind is not None:
        words = f"it is {kind}, and a regular file was expected"
        raise OddFile(errno.EISDIR if stat.S_ISDIR(mode) else errno.EINVAL, words, os.fspath(path))


def _flag(name: str) -> int:
    """A flag of the system, where it has it."""
    return int(getattr(os, name, 0))
