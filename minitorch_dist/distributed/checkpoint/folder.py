"""A checkpoint on the disk: a file of tensors for each rank, and an index that makes it valid.

    model/index.json                           which files, which box of which tensor is where
    model/3f9c-00000-of-00002.safetensors      what rank 0 wrote, readable by itself
    model/3f9c-00001-of-00002.safetensors

Every save writes files of new names. Only when all of them have reached the disk does the index take
the place of the old one, in one rename; then the old files go. So a crash at any byte leaves either
the old checkpoint or the new one.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple

import numpy as np

from minitorch_dist.distributed.checkpoint.pieces import Box, overlap, within
from minitorch_dist.serialization import container
from minitorch_dist.serialization.files import replacing
from minitorch_dist.tensors.base import Array

INDEX: Final = "index.json"
FORMAT: Final = "minitorch_dist checkpoint 1"


class CheckpointException(RuntimeError):
    """A checkpoint cannot be saved or loaded; `failures` has each rank's reason."""

    def __init__(self, message: str, failures: Mapping[int, BaseException] | None = None) -> None:
        super().__init__(message)
        self.failures = dict(failures or {})


class Written(NamedTuple):
    """What one rank has written."""

    file: str
    boxes: dict[str, Box]
    more: Sequence[
        tuple[str, Box, str]
    ] = ()  # chunks whose key in the file is not the tensor's name


def file_name(generation: str, rank: int, size: int) -> str:
    return f"{generation}-{rank:05d}-of-{size:05d}.safetensors"


def write_part(folder: Path, name: str, arrays: Mapping[str, Array]) -> None:
    """One rank's file, whole or not at all."""
    folder.mkdir(parents=True, exist_ok=True)
    with replacing(folder / name) as file:
        container.write(file, arrays, {"format": "pt"})


def write_index(
    folder: Path,
    generation: str,
    tensors: Mapping[str, Any],
    values: Mapping[str, Any],
    parts: list[Written],
    paths: Mapping[str, list[Any]],
) -> None:
    """From now on this is the checkpoint. What belonged to the one before goes."""
    chunks: dict[str, list[Any]] = {name: [] for name in tensors}
    for part in parts:
        for name, box in part.boxes.items():
            chunks[name].append({"file": part.file, "offsets": box.offsets, "sizes": box.sizes})
        for name, box, key in part.more:
            chunk = {"file": part.file, "offsets": box.offsets, "sizes": box.sizes}
            chunks[name].append(chunk | ({"key": key} if key != name else {}))
    index = {
        "format": FORMAT,
        "generation": generation,
        "tensors": {
            name: {"shape": about.shape, "dtype": about.dtype, "chunks": chunks[name]}
            for name, about in tensors.items()
        },
        "values": dict(values),
        "paths": {name: [_step(key) for key in path] for name, path in paths.items()},
    }
    folder.mkdir(parents=True, exist_ok=True)
    with replacing(folder / INDEX) as file:
        file.write(json.dumps(index, indent=1).encode())
    _sweep(folder, keep={part.file for part in parts})


def _step(key: Any) -> Any:
    return key if isinstance(key, (int, list)) and not isinstance(key, bool) else str(key)


def _sweep(folder: Path, keep: set[str]) -> None:
    """Remove tensor files that no index names: of the checkpoint before, or of one that crashed."""
    for path in folder.glob("*-of-*.safetensors"):
        if path.name not in keep:
            with suppress(OSError):
                path.unlink()
    for pattern in (".*-of-*.safetensors.*.tmp", f".{INDEX}.*.tmp"):
        for path in folder.glob(pattern):
            with suppress(OSError):
                path.unlink()


class Checkpoint:
    """A checkpoint that is there, open for reading."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        try:
            index = json.loads((self.folder / INDEX).read_bytes())
        except FileNotFoundError:
            raise CheckpointException(
                f"there is no checkpoint in {self.folder}: it has no {INDEX}"
                + (", which is written last; the save was interrupted" if any(
                    self.folder.glob("*.safetensors")) else "")
            ) from None  # fmt: skip
        except ValueError as error:
            raise CheckpointException(f"{self.folder / INDEX} is damaged: {error}") from None
        if not isinstance(index, dict) or index.get("format") != FORMAT:
            raise CheckpointException(
                f"{self.folder / INDEX} is no '{FORMAT}' but {index.get('format')!r}"
                if isinstance(index, dict)
                else f"{self.folder / INDEX} is no checkpoint's index"
            )
        self.tensors: dict[str, Any] = index["tensors"]
        self.values: dict[str, Any] = index["values"]
        self.paths: dict[str, list[Any]] = index.get("paths", {})
        self.generation: str = index["generation"]
        self._files: dict[str, tuple[BinaryIO, dict[str, container.Entry], int]] = {}

    @contextmanager
    def opened(self) -> Iterator[Checkpoint]:
        try:
            yield self
        finally:
            for file, _, _ in self._files.values():
                file.close()
            self._files.clear()

    def read(self, name: str, box: Box, into: Array) -> None:
        """Fill `into`, which holds `box` of the tensor, from the boxes that were saved."""
        for chunk in self.tensors[name]["chunks"]:
            saved = Box(tuple(chunk["offsets"]), tuple(chunk["sizes"]))
            part = overlap(saved, box)
            if part is None and not (box.sizes == () or saved.sizes == ()):
                continue
            array = self._array(chunk["file"], chunk.get("key", name))
            if tuple(array.shape) != saved.sizes:
                raise CheckpointException(
                    f"{name} in {chunk['file']} is {list(array.shape)}, the index says {list(saved.sizes)}"
                )
            if part is None:
                into[...] = array
            else:
                into[within(part, box)] = array[within(part, saved)]

    def _array(self, file_name: str, name: str) -> Array:
        """One tensor of one file, as a map of its bytes."""
        if file_name not in self._files:
            path = self.folder / Path(file_name).name  # the index names no other folder
            try:
                file: BinaryIO = path.open("rb")
            except FileNotFoundError:
                raise CheckpointException(
                    f"{path} is missing, which the index of {self.folder} names"
                ) from None
            try:
                entries, _, begin = container.read_header(file.read, path.stat().st_size, True)
            except BaseException:
                file.close()
                raise
            self._files[file_name] = file, {entry.name: entry for entry in entries}, begin
        opened, table, begin = self._files[file_name]
        if name not in table:
            raise CheckpointException(f"{file_name} has no {name}, which the index names in it")
        entry = table[name]
        if entry.start == entry.stop:
            return np.empty(entry.shape, entry.dtype)
        whole = np.memmap(opened, np.uint8, "r", begin + entry.start, entry.stop - entry.start)
        return whole.view(entry.dtype).reshape(entry.shape)

    def __repr__(self) -> str:
        return (
            f"<Checkpoint in {self.folder}: {len(self.tensors)} tensors, {len(self.values)} values>"
        )
