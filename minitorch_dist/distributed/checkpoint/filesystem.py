"""A folder as a place for checkpoints, under torch's names; its files are described in `folder`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from minitorch_dist.distributed.checkpoint import folder
from minitorch_dist.distributed.checkpoint.folder import Checkpoint
from minitorch_dist.distributed.checkpoint.metadata import (
    BytesStorageMetadata,
    ChunkStorageMetadata,
    Metadata,
    TensorProperties,
    TensorStorageMetadata,
)
from minitorch_dist.tensors import dtypes
from minitorch_dist.tensors.size import Size

Path_ = str | os.PathLike[str]


class CheckpointPlace:
    """A folder that `save` or `load` is given, in place of `checkpoint_id`. Options of torch that say how files are written or
    read change nothing here: there is one file per rank, and it is always synced."""

    def __init__(self, path: Path_, **_: Any) -> None:
        self.path = Path(path)

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id: Path_) -> bool:
        """Whether a folder can be at `checkpoint_id`."""
        return isinstance(checkpoint_id, (str, os.PathLike))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.path}>"


class FileSystemWriter(CheckpointPlace):
    """Saves into the folder `path`. With `overwrite=False` it refuses a folder that has a checkpoint."""

    def __init__(self, path: Path_, *_: Any, overwrite: bool = True, **more: Any) -> None:
        super().__init__(path, **more)
        self.overwrite = overwrite

    def check_overwriting(self, place: Path) -> None:
        if not self.overwrite and (place / folder.INDEX).exists():
            raise RuntimeError(f"Checkpoint already exists in {place} and self.overwrite=False.")


class FileSystemReader(CheckpointPlace):
    """Reads from the folder `path`."""

    def read_metadata(self) -> Metadata:
        """The contents of the checkpoint, known without reading its tensors."""
        found = Checkpoint(self.path)
        contents: dict[str, TensorStorageMetadata | BytesStorageMetadata] = {
            name: BytesStorageMetadata() for name in found.values
        }
        for name, about in found.tensors.items():
            chunks = [
                ChunkStorageMetadata(Size(one.box.offsets), Size(one.box.sizes))
                for one in about.chunks
            ]
            dtype = TensorProperties(dtypes.from_numpy(about.dtype))
            contents[name] = TensorStorageMetadata(dtype, Size(about.shape), chunks)
        return Metadata(contents, planner_data=found.paths)
