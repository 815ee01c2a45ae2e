"""Folders in which others have files, and in which something odd stands in the place of ours.

place          makes such a folder, and judges what became of it
checkpoints    checkpoints, `save` and `load` in it
stores         the file of a FileStore, and journals

A new user of files adds its visits to `all_visits`.
"""

from __future__ import annotations

from pathlib import Path

from tests.hostile.folders import checkpoints, stores
from tests.hostile.folders.place import Folders, Visit
from tests.hostile.running import Part, Session


def all_visits() -> list[Visit]:
    return [*checkpoints.visits(), *stores.visits()]


def folder_parts() -> list[Part]:
    def opener(visit: Visit) -> Part:
        def open_it(seed: int, folder: Path) -> Session:
            return Folders(visit, seed, folder)

        return Part(f"folder-{visit.name}", "folder", open_it)

    return [opener(visit) for visit in all_visits()]
