"""A folder as a place for checkpoints, under torch's names; its files are described in `folder`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from minitorch_dist.distributed.checkpoint import folder
from minitorch_dist.inventory import not_offered
from minitorch_dist.inventory.not_offered import tells_what_is_gone

Path_ = str | os.PathLike[str]


@tells_what_is_gone
class FileSystemReader:
    """Reads from the folder `path`, as `checkpoint_id` does. torch's options that say how files are read or written change
    nothing here: there is one file per rank, and it is always synced."""

    def __init__(self, path: Path_, **_: Any) -> None:
        self.path = Path(path)


class FileSystemWriter(FileSystemReader):
    """Saves into the folder `path`. With `overwrite=False` it refuses a folder that has a checkpoint."""

    def __init__(self, path: Path_, *_: Any, overwrite: bool = True, **more: Any) -> None:
        super().__init__(path, **more)
        self.overwrite = overwrite

    def check_overwriting(self, place: Path) -> None:
        if not self.overwrite and (place / folder.INDEX).exists():
            raise RuntimeError(f"Checkpoint already exists in {place} and self.overwrite=False.")


not_offered.guard(globals())
