"""Folders for the time of a process, which end with it. Those of killed processes are swept by the next."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from transports.keeper.drafts import is_signed, names, signed_name
from transports.keeper.locks import Held, NoLocks
from transports.keeper.opening import PathLike, open_file

MARK: Final = ".minitorch_dist.mark"  # the file in it that its process holds


def make_folder(parent: PathLike, prefix: str) -> tuple[Path, Held]:
    """A folder `prefix…` of mode 0700, and the hold on it, to be kept as long as it is used."""
    while True:
        path = Path(parent, f"{prefix}{signed_name()}")
        path.mkdir(mode=0o700)
        try:
            held = Held(open_file(path / MARK, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
            with suppress(NoLocks):
                held.lock(wait=True)
            if held.is_at(path / MARK):
                return path, held
        except FileNotFoundError:
            continue  # a sweeper saw it before it had a mark
        except BaseException:
            shutil.rmtree(path, ignore_errors=True)
            raise


def remove_folder(path: PathLike, held: Held, mark: str = MARK) -> None:
    """Remove a folder whose `mark` we hold, with all in it. Links in it are removed, not followed."""
    if held.is_at(Path(path, mark)):
        shutil.rmtree(path, ignore_errors=True)


@contextmanager
def temporary_folder(prefix: str, parent: PathLike = "") -> Iterator[Path]:
    """A folder for the time of the block, beside other temporary files unless there is a parent. Those that killed
    processes have left under this prefix are removed."""
    place = parent or tempfile.gettempdir()
    sweep_folders(place, prefix)
    path, held = make_folder(place, prefix)
    with held:
        try:
            yield path
        finally:
            remove_folder(path, held)


def sweep_folders(parent: PathLike, prefix: str) -> list[Path]:
    """Remove the folders of `make_folder` whose processes were killed; says which."""
    removed = []
    for name in names(parent):
        path = Path(parent, name)
        if name.startswith(prefix) and is_signed(name[len(prefix) :]) and remove_if_dead(path):
            removed.append(path)
    return removed


def remove_if_dead(path: Path, wait: bool = False) -> bool:
    """Remove a folder of `make_folder` unless its process still holds it. `wait`: until that process has ended."""
    if path.is_symlink():
        return False
    with suppress(OSError):
        path.rmdir()  # it is empty: its process was killed before there was a mark
        return True
    with suppress(OSError), Held(open_file(path / MARK, os.O_RDWR)) as held:
        if held.lock(wait=wait):
            shutil.rmtree(path)
            return True
    return False
