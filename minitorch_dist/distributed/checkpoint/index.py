"""A checkpoint's index as it is read: nothing in it is believed before it was looked at.

The file is JSON, such as

    {"format": "minitorch_dist checkpoint 1", "generation": "3f9c",
     "tensors": {"weight": {"shape": [4, 3], "dtype": "float32", "chunks": [
         {"file": "3f9c-00000-of-00002.safetensors", "offsets": [0, 0], "sizes": [2, 3], "crc32": 305419896}, …]}},
     "values": {"step": 7}, "paths": {"weight": ["weight"], "step": ["step"]},
     "first": "51d2", "before": "a07b", "replaced": {"format": …}, "crc32": 2596069104}

The checksums are of a chunk's bytes, and of the index but for this last entry. `before` is the checkpoint that it replaced, and
`replaced` its index, which earlier versions read; `first` is the folder's first one. The first index of a folder has none of these three, and older
indexes may lack all four.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import numpy as np

from minitorch_dist.distributed.checkpoint import exact_cover
from minitorch_dist.distributed.checkpoint.pieces import Box
from minitorch_dist.serialization import container, strict_json
from transports.plain_text import clean

FORMAT: Final = "minitorch_dist checkpoint 1"
BEGIN: Final = re.compile(rb'\{\s*"format": "%b"' % FORMAT.encode())  # of the file
SEAL: Final = "crc32"
MOST_DIMENSIONS: Final = 64  # numpy's
_DTYPES: Final = {str(dtype): dtype for dtype in container.NAMES}


class CheckpointException(RuntimeError):
    """A checkpoint cannot be saved or loaded; `failures` has each rank's reason."""

    def __init__(self, message: str, failures: Mapping[int, BaseException] | None = None) -> None:
        super().__init__(message)
        self.failures = dict(failures or {})

    def __str__(self) -> str:
        return clean(super().__str__())  # names from the folder


class Chunk(NamedTuple):
    """A box of a tensor, and where it lies."""

    box: Box
    file: str
    key: str  # its name in the file
    check: int | None  # the checksum of its bytes


class SavedTensorEntry(NamedTuple):
    """A tensor as a whole, and what was saved of it."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    chunks: list[Chunk]


class Index(NamedTuple):
    generation: str
    tensors: dict[str, SavedTensorEntry]
    values: dict[str, Any]  # see `values`
    before: str  # the generation of the checkpoint that it replaced, or ""
    flaw: str  # what is wrong with its checksum, or ""
    first: str = ""  # the generation of the folder's first checkpoint
    entries: Mapping[str, Any] = {}  # as they are in the file, without `replaced` and the checksum


def sealed(index: Mapping[str, Any]) -> bytes:
    """An index as it is written, with its checksum."""
    return json.dumps({**index, SEAL: strict_json.checksum(index)}, indent=1).encode()


def parsed(text: bytes) -> Index:
    """The index; CheckpointException names the entry that is wrong."""
    try:
        found = strict_json.loads(text)
    except ValueError as error:
        raise CheckpointException(f"it is damaged: {error}") from None
    if not isinstance(found, dict):
        raise CheckpointException("it is not a checkpoint's index")
    flaw = _flaw(found)
    if found.get("format") != FORMAT:
        raise CheckpointException(f"it is no '{FORMAT}' but {_shown(found.get('format'))}")
    tensors, values = found.get("tensors", {}), found.get("values", {})
    generation, before = found.get("generation"), found.get("before", "")
    first = found.get("first", before or generation)
    if not (isinstance(tensors, dict) and isinstance(values, dict)):
        raise CheckpointException("it is damaged: tensors and values are no tables")
    if not (isinstance(generation, str) and isinstance(before, str) and isinstance(first, str)):
        raise CheckpointException("it is damaged: its generation, or one before it, is no text")
    saved = {name: _saved(name, about) for name, about in tensors.items()}
    entries = {name: value for name, value in found.items() if name != "replaced"}
    return Index(generation, saved, values, before, flaw, first, entries)


def _flaw(found: dict[str, Any]) -> str:
    """Its checksum is looked at last (see `Checkpoint.demand_sealed`), as other errors say more."""
    if SEAL not in found:
        return ""
    noted = found.pop(SEAL)
    try:
        check = strict_json.checksum(found)
    except ValueError as error:
        return f"it is damaged: {error}"
    return "" if noted == check else f"it is damaged: its checksum is {check}, and {_shown(noted)} was noted"


def _saved(name: str, about: Any) -> SavedTensorEntry:
    match about:
        case {"shape": list(shape), "dtype": str(dtype), "chunks": list(chunks)}:
            if not container.are_sizes(shape) or len(shape) > MOST_DIMENSIONS:
                raise CheckpointException(f"it is damaged: {name} has the shape {_shown(shape)}")
            if dtype not in _DTYPES:
                raise CheckpointException(f"it is damaged: {name} is of the type {_shown(dtype)}")
            found = [_chunk(name, shape, chunk) for chunk in chunks]
            return SavedTensorEntry(tuple(shape), _DTYPES[dtype], found)
    raise CheckpointException(f"it is damaged: {name} should have shape, dtype and chunks")


def _chunk(name: str, shape: list[int], said: Any) -> Chunk:
    match said:
        case {"file": str(file), "offsets": list(offsets), "sizes": list(sizes), **rest}:
            key: Any = rest.get("key", name)
            check: Any = rest.get("crc32")
            is_box = (
                container.are_sizes(offsets)
                and container.are_sizes(sizes)
                and len(offsets) == len(sizes) == len(shape)
                and all(o + n <= s for o, n, s in zip(offsets, sizes, shape, strict=True))
            )
            is_check = check is None or type(check) is int
            if is_box and is_check and isinstance(key, str) and _is_file_name(file):
                return Chunk(Box(tuple(offsets), tuple(sizes)), file, key, check)
    raise CheckpointException(f"it is damaged: {name} of shape {shape} cannot have the chunk {_shown(said)}")


def check_cover(name: str, shape: tuple[int, ...], boxes: list[Box]) -> None:
    """CheckpointException unless every element is in exactly one of the boxes."""
    try:
        found = exact_cover.flaw(shape, boxes)
    except ValueError as error:
        raise CheckpointException(f"the chunks of {name} cannot be checked: {error}") from None
    if found is not None:
        raise CheckpointException(
            f"{name} of shape {list(shape)} has {len(boxes)} chunks, and {found}. A checkpoint holds every element once"
        )


def _is_file_name(name: str) -> bool:
    """Whether it is a name in the checkpoint's own folder."""
    return name not in ("", ".", "..") and not set(name) & set("/\\\0") and len(name) < 256


def _shown(value: Any) -> str:
    """In an error: a file may hold any amount of anything."""
    text = str(value)[:200] if isinstance(value, str | int | float | None) else f"a {type(value).__name__}"
    return repr(text)
