"""A checkpoint on the disk: a file of tensors for each rank, and an index that makes it valid.

    model/index.json                                   which files, which box of which tensor is where
    model/3f9c0a1b2c3d-00000-of-00002.safetensors      what rank 0 wrote, readable by itself
    model/3f9c0a1b2c3d-00001-of-00002.safetensors
    model/a07b…                                        the two of the checkpoint before

Every save writes files of new names (see `writing`). Only when all of them have reached the disk does the index take the
place of the old one, in one rename. So a crash at any byte leaves either the old checkpoint or the new one. The files of the
old one stay until the next save: readers that have just read its index still find all of it.

Nothing in the folder is believed. All errors of reading are a CheckpointException, also where a file is a FIFO or a link,
cannot be read, or becomes shorter meanwhile. Bytes are read and not mapped, since a mapping of a file that shrinks ends the
process.
"""

from __future__ import annotations

import errno
import math
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple

import numpy as np

from minitorch_dist.distributed.checkpoint.index import CheckpointException, Chunk, Index, check_cover, parsed
from minitorch_dist.distributed.checkpoint.pieces import Box, overlap, within
from minitorch_dist.serialization import container
from minitorch_dist.tensors.core.base import Array
from transports import keeper

INDEX: Final = "index.json"
MOST_INDEX: Final = 1 << 28  # bytes
_PIECE: Final = 1 << 22  # bytes that are looked at in one go


class Vanished(CheckpointException):
    """A file of a checkpoint is missing: the checkpoint is incomplete, or was replaced meanwhile."""


class PartFile(NamedTuple):
    """An open file of tensors."""

    file: BinaryIO
    held: keeper.Held  # which closes it
    entries: dict[str, container.Entry]
    begin: int  # of the data


def read_index(folder: Path) -> Index | None:
    """The index in a folder; None if there is none."""
    path = folder / INDEX
    try:
        return parsed(keeper.read_file(path, MOST_INDEX))
    except FileNotFoundError:
        return None
    except (OSError, CheckpointException) as error:
        raise CheckpointException(f"{path}: {_reason(error)}") from None


def _demanded(folder: Path) -> Index:
    index = read_index(folder)
    if index is None:
        has_files = any(name.endswith(".safetensors") for name in keeper.names(folder))
        raise CheckpointException(
            f"there is no checkpoint in {folder}: it has no {INDEX}"
            + (", which is written last; the save was interrupted" if has_files else "")
        )
    return index


def _reason(error: Exception) -> str:
    return f"{error.strerror}" if isinstance(error, OSError) and error.strerror else f"{error}"


class Checkpoint:
    """A checkpoint that is there, open for reading."""

    def __init__(self, folder: keeper.PathLike) -> None:
        self.folder = Path(folder)
        index = _demanded(self.folder)
        self.generation, self.tensors, self.values = index.generation, index.tensors, index.values
        self._flaw = index.flaw
        self._files: dict[str, PartFile] = {}

    def demand_sealed(self) -> None:
        """CheckpointException if the index was changed since it was written."""
        if self._flaw:
            raise CheckpointException(f"{self.folder / INDEX}: {self._flaw}. Load an older checkpoint")

    def close(self) -> None:
        for part in self._files.values():
            part.held.close()
        self._files.clear()

    def is_replaced(self) -> bool:
        """Whether another checkpoint is there now, so that files of this one may be gone."""
        return Checkpoint(self.folder).generation != self.generation

    def check(self, name: str, box: Box) -> None:
        """Nothing stands in the way of reading this box. Every element of the tensor is in one chunk, the files have
        what the index says, and their bytes are those that were saved. CheckpointException names the tensor
        and what is wrong."""
        saved = self.tensors[name]
        check_cover(name, saved.shape, [chunk.box for chunk in saved.chunks])
        for chunk in saved.chunks:
            if overlap(chunk.box, box) is not None:
                self.check_bytes(name, chunk)

    def read(self, name: str, box: Box, into: Array) -> None:
        """Fill `into`, which holds `box` of the tensor, from the boxes that were saved, and were checked before."""
        for chunk in self.tensors[name].chunks:
            if (part := overlap(chunk.box, box)) is not None:
                self._read_part(name, chunk, part, box, into)

    def _read_part(self, name: str, chunk: Chunk, part: Box, box: Box, into: Array) -> None:
        """Fill the part of `box` that the chunk has."""
        entry, where = self.entry(name, chunk), within(part, box)
        target: Array = into[where] if where else into
        row = math.prod(chunk.box.sizes[1:]) * entry.dtype.itemsize
        skipped = row * (part.offsets[0] - chunk.box.offsets[0]) if part.sizes else 0
        is_straight = target.flags.c_contiguous and target.dtype == entry.dtype
        if is_straight:  # an array that is a shape only has no memory
            is_straight = not container.as_bytes(target).data.readonly
        with self._reading(name, chunk.file) as opened:
            opened.file.seek(opened.begin + entry.start + skipped)
            if is_straight and part.sizes[1:] == chunk.box.sizes[1:]:
                container.fill(opened.file, chunk.key, target)
                return
            rows = np.empty((*part.sizes[:1], *chunk.box.sizes[1:]), entry.dtype)
            container.fill(opened.file, chunk.key, rows)
        target[...] = rows[(slice(None), *within(part, chunk.box)[1:])] if where else rows

    def entry(self, name: str, chunk: Chunk) -> container.Entry:
        """The entry of a chunk in its file, which has to agree with the index."""
        entry = self._opened(chunk.file).entries.get(chunk.key)
        if entry is None:
            raise CheckpointException(f"{chunk.file} has no {chunk.key}, which the index names in it for {name}")
        if (entry.shape, entry.dtype) != (chunk.box.sizes, self.tensors[name].dtype):
            raise CheckpointException(
                f"{name} in {chunk.file} is {entry.dtype}{list(entry.shape)}, the index says "
                f"{self.tensors[name].dtype}{list(chunk.box.sizes)}"
            )
        return entry

    def check_bytes(self, name: str, chunk: Chunk) -> None:
        """CheckpointException unless the bytes of a chunk have the checksum that was noted when it was saved."""
        entry = self.entry(name, chunk)
        noted = entry.check if chunk.check is None else chunk.check
        if noted is None:
            return
        check, piece = 0, np.empty(min(_PIECE, entry.stop - entry.start), np.uint8)
        with self._reading(name, chunk.file) as opened:
            opened.file.seek(opened.begin + entry.start)
            for left in range(entry.stop - entry.start, 0, -_PIECE):
                container.fill(opened.file, chunk.key, piece[:left])
                check = zlib.crc32(piece[:left].data, check)
        if check != noted:
            raise CheckpointException(
                f"{name} is damaged: its bytes in {self.folder / chunk.file} were changed since it was saved. Their "
                f"checksum is {check:08x}, and {noted:08x} was noted. Load an older checkpoint"
            )

    @contextmanager
    def _reading(self, name: str, file_name: str) -> Iterator[PartFile]:
        opened = self._opened(file_name)
        try:
            yield opened
        except (OSError, container.SerializationError) as error:
            path = self.folder / file_name
            raise CheckpointException(f"{name} cannot be read from {path}: {_reason(error)}") from None

    def _opened(self, file_name: str) -> PartFile:
        if file_name not in self._files:
            path = self.folder / file_name
            try:
                held = keeper.Held(keeper.open_file(path))
                file = os.fdopen(held.number, "rb", closefd=False)
                size = os.fstat(held.number).st_size
                entries, _, begin = container.read_header(file.read, size, True)
            except FileNotFoundError:
                raise Vanished(f"{path} is missing, which the index of {self.folder} names") from None
            except (OSError, container.SerializationError) as error:
                is_gone = isinstance(error, OSError) and error.errno == errno.ESTALE  # over NFS
                kind = Vanished if is_gone else CheckpointException
                raise kind(f"{path}: {_reason(error)}") from None
            table = {entry.name: entry for entry in entries}
            self._files[file_name] = PartFile(file, held, table, begin)
        return self._files[file_name]

    def __repr__(self) -> str:
        return f"<Checkpoint in {self.folder}: {len(self.tensors)} tensors, {len(self.values)} values>"
