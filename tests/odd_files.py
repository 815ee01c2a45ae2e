"""All that can stand in a file's place, and the state of a folder, to compare."""

from __future__ import annotations

import os
import socket
import stat
from pathlib import Path
from typing import Any

KINDS = ("fifo", "folder", "link", "itself", "dangling", "outside", "socket")


def put(kind: str, path: Path) -> None:
    """Put something of this kind at `path`, in a folder in which others have `victim` and, beside it, `secret`."""
    match kind:
        case "fifo":
            os.mkfifo(path)
        case "folder":
            path.mkdir()
        case "link":
            path.symlink_to("victim")
        case "itself":
            path.symlink_to(path.name)
        case "dangling":
            path.symlink_to("nowhere")
        case "outside":
            path.symlink_to("../secret")
        case "socket":
            number = os.open(path.parent, os.O_RDONLY)  # a socket's address is short
            with socket.socket(socket.AF_UNIX) as one:
                one.bind(f"/proc/self/fd/{number}/{path.name}")
            os.close(number)


def unusable_names(folder: Path) -> list[Path]:
    """Paths at which no file can be."""
    victim = folder / "victim"
    return [folder / ("x" * 300), folder / "\ud800", folder / "a\0b", victim / "below"]


def snapshot(folder: Path) -> dict[str, Any]:
    """Everything in a folder: its kind, and its bytes or where it leads."""
    found = {}
    for path in sorted(folder.rglob("*")):
        about = path.lstat()
        mode, is_huge = about.st_mode, about.st_size > 1 << 28
        content: Any = path.read_bytes() if stat.S_ISREG(mode) and not is_huge else about.st_size
        content = None if stat.S_ISDIR(mode) else content
        content = str(path.readlink()) if stat.S_ISLNK(mode) else content
        found[os.fspath(path.relative_to(folder))] = (stat.S_IFMT(mode), content)
    return found
