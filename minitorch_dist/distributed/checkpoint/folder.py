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

from minitorch_dist.distributed.checkpoint.index import (
    FORMAT,
    CheckpointException,
    Chunk,
    check_cover,
    parsed,
)
from minitorch_dist.distributed.checkpoint.pieces import Box, overlap, within
from minitorch_dist.serialization import container
from minitorch_dist.serialization.files import replacing
from minitorch_dist.tensors.core.base import Array

INDEX: Final = "index.json"


class Written(NamedTuple):
    """The files and values that one rank has written."""

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
    """From now on this is the checkpoint. Files of the one before are removed."""
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
            index = parsed((self.folder / INDEX).read_bytes())
        except FileNotFoundError:
            raise CheckpointException(
                f"there is no checkpoint in {self.folder}: it has no {INDEX}"
                + (", which is written last; the save was interrupted" if any(
                    self.folder.glob("*.safetensors")) else "")
            ) from None  # fmt: skip
        except CheckpointException as error:
            raise CheckpointException(f"{self.folder / INDEX}: {error}") from None
        self.generation, self.tensors, self.values, self.paths = index
        self._files: dict[str, tuple[BinaryIO, dict[str, container.Entry], int]] = {}
        self._checked: set[str] = set()  # tensors whose chunks are the whole

    @contextmanager
    def opened(self) -> Iterator[Checkpoint]:
        try:
            yield self
        finally:
            for file, _, _ in self._files.values():
                file.close()
            self._files.clear()

    def check(self, name: str, box: Box) -> None:
        """Nothing stands in the way of reading this box: every element of the tensor is in one chunk, and
        the files have what the index says. CheckpointException names the tensor and what is wrong."""
        self.check_whole(name)
        for chunk in self.tensors[name].chunks:
            if overlap(chunk.box, box) is not None:
                self.entry(name, chunk)

    def check_whole(self, name: str) -> None:
        """CheckpointException unless every element of the tensor is in one chunk."""
        if name not in self._checked:
            saved = self.tensors[name]
            check_cover(name, saved.shape, [chunk.box for chunk in saved.chunks])
            self._checked.add(name)

    def read(self, name: str, box: Box, into: Array) -> None:
        """Fill `into`, which holds `box` of the tensor, from the boxes that were saved."""
        self.check(name, box)
        for chunk in self.tensors[name].chunks:
            self.read_chunk(name, chunk, box, into)

    def read_chunk(self, name: str, chunk: Chunk, box: Box, into: Array) -> None:
        """Fill what the chunk has of `box`."""
        part = overlap(chunk.box, box)
        if part is not None:
            array = self._array(chunk.file, self.entry(name, chunk))
            into[within(part, box)] = array[within(part, chunk.box)]

    def entry(self, name: str, chunk: Chunk) -> container.Entry:
        """The entry of a chunk in its file, which has to agree with the index."""
        entry = self._opened(chunk.file)[1].get(chunk.key)
        if entry is None:
            raise CheckpointException(
                f"{chunk.file} has no {chunk.key}, which the index names in it for {name}"
            )
        if (entry.shape, entry.dtype) != (chunk.box.sizes, self.tensors[name].dtype):
            raise CheckpointException(
                f"{name} in {chunk.file} is {entry.dtype}{list(entry.shape)}, the index says "
                f"{self.tensors[name].dtype}{list(chunk.box.sizes)}"
            )
        return entry

    def _opened(self, file_name: str) -> tuple[BinaryIO, dict[str, container.Entry], int]:
        """A file, what is in it, and where its data begin."""
        if file_name not in self._files:
            path = self.folder / file_name
            try:
                file: BinaryIO = path.open("rb")
            except FileNotFoundError:
                raise CheckpointException(
                    f"{path} is missing, which the index of {self.folder} names"
                ) from None
            except ValueError as error:  # a zero byte, or half of a surrogate pair
                raise CheckpointException(
                    f"the index of {self.folder} names {file_name!r}, which no file can have as a name: {error}"
                ) from None
            try:
                size = os.fstat(file.fileno()).st_size
                entries, _, begin = container.read_header(file.read, size, True)
            except container.SerializationError as error:
                file.close()
                raise CheckpointException(f"{path}: {error}") from None
            except BaseException:
                file.close()
                raise
            self._files[file_name] = file, {entry.name: entry for entry in entries}, begin
        return self._files[file_name]

    def _array(self, file_name: str, entry: container.Entry) -> Array:
        """One tensor of one file, as a map of its bytes."""
        opened, _, begin = self._opened(file_name)
        if entry.start == entry.stop:
            return np.empty(entry.shape, entry.dtype)
        whole = np.memmap(opened, np.uint8, "r", begin + entry.start, entry.stop - entry.start)
        return whole.view(entry.dtype).reshape(entry.shape)

    def __repr__(self) -> str:
        return (
            f"<Checkpoint in {self.folder}: {len(self.tensors)} tensors, {len(self.values)} values>"
        )
