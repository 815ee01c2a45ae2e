"""A checkpoint is written: a file of tensors from each rank, and then the index.

Every save has a name of its own, its *generation*, and so do its files. A rank holds its file until the save has ended.
Rank 0 puts the index in place when all have written. This is done by one save at a time, under the lock of the folder:

    look at the index that is there → put the new one in its place → remove what nobody needs

Readers have the new generation or the one before, whose files stay until the next save. Those of other generations are
removed where nobody holds them: their save was killed, or was replaced before. A file's own metadata prove that it is a
checkpoint's, and of which generation. No other file is touched.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Final

from minitorch_dist.distributed.checkpoint.folder import INDEX, MOST_INDEX, read_index
from minitorch_dist.distributed.checkpoint.index import BEGIN, FORMAT, CheckpointException, Index, sealed
from minitorch_dist.serialization import container
from minitorch_dist.tensors.core.base import Array
from transports import keeper

GENERATION: Final = "minitorch_dist checkpoint"  # in a file's metadata: of which save it is
_PART: Final = re.compile(r"([0-9a-f]{12})-\d{5,}-of-\d{5,}\.safetensors")


class HeldPart:
    """A rank's file while its save lasts. It is held so long, so that nobody takes it for one of a killed save."""

    def __init__(self, path: Path, held: keeper.Held, checks: dict[str, int]) -> None:
        self.path, self.held, self.checks = path, held, checks

    def close(self) -> None:
        """Let go: the save has ended, or this rank does not wait for its end."""
        self.held.close()

    def drop(self) -> None:
        """All ranks know that nothing was saved: leave nothing behind, unless an index names it after all."""
        with suppress(CheckpointException, OSError):
            index = read_index(self.path.parent)
            is_named = index is not None and index.generation == _generation(self.path.name)
            if not is_named and self.held.is_at(self.path):
                self.path.unlink()
        self.close()


def file_name(generation: str, rank: int, size: int) -> str:
    return f"{generation}-{rank:05d}-of-{size:05d}.safetensors"


def _generation(name: str) -> str:
    return name.partition("-")[0]


def prepare(folder: Path, generation: str) -> None:
    """Make room for a save. CheckpointException if there is an index that is not ours to replace."""
    if folder.is_dir():
        with keeper.holding(folder):
            old = _replaceable(folder)
            if old is None or old.generation:
                kept = {old.generation, old.before} if old else set()
                _sweep(folder, {generation, *kept}, "")


def write_part(folder: Path, name: str, arrays: Mapping[str, Array]) -> HeldPart:
    """One rank's file, whole or not at all."""
    folder.mkdir(parents=True, exist_ok=True)
    keeper.sweep(folder)
    draft = keeper.Draft(folder)
    try:
        with draft.file() as file:
            about = {"format": "pt", GENERATION: _generation(name)}
            checks = container.write(file, arrays, about)
        draft.place(folder / name)
    except BaseException:
        draft.close()
        raise
    return HeldPart(folder / name, draft.held, checks)


def _replaceable(folder: Path) -> Index | None:
    """The index that a save would replace. One of ours that is damaged has no generation."""
    try:
        return read_index(folder)
    except CheckpointException as error:
        with suppress(OSError):
            if BEGIN.match(keeper.read_file(folder / INDEX, MOST_INDEX)):
                return Index("", {}, {}, "", f"{error}")
        raise CheckpointException(
            f"{error}. A checkpoint's index would take its place: save into another folder, or remove it"
        ) from None


def write_index(
    folder: Path, generation: str, tensors: Mapping[str, Any], values: Mapping[str, Any], paths: Mapping[str, list[Any]]
) -> None:
    """From now on this is the checkpoint. `tensors` tells shape, dtype and chunks of each."""
    index = {
        "format": FORMAT,
        "generation": generation,
        "tensors": tensors,
        "values": values,
        "paths": {name: [_step(key) for key in path] for name, path in paths.items()},
    }
    files = {chunk["file"] for about in tensors.values() for chunk in about["chunks"]}
    folder.mkdir(parents=True, exist_ok=True)
    with keeper.holding(folder):
        old = _replaceable(folder)
        before = old.generation if old else ""
        text = sealed(index | _history(old))
        if len(text) > MOST_INDEX:
            text = sealed(index | _history(old) | {"replaced": None})
        if len(text) > MOST_INDEX:
            raise CheckpointException(
                f"the index takes {len(text):,} bytes and {MOST_INDEX:,} are allowed; keep long lists in tensors"
            )
        _demand_there(folder, files)
        with keeper.replacing(folder / INDEX) as file:
            file.write(text)
        if old is None or before:
            _sweep(folder, {generation, before}, old.before if old else "")


def _history(old: Index | None) -> dict[str, Any]:
    """The entries of an index about those before it."""
    if old is None or not old.generation:
        return {}
    kept = {} if old.flaw else {"replaced": old.entries}  # for readers of earlier versions
    return {"first": old.first, "before": old.generation, **kept}


def _step(key: Any) -> Any:
    return key if isinstance(key, (int, list)) and not isinstance(key, bool) else str(key)


def _demand_there(folder: Path, files: set[str]) -> None:
    """Where locks do not reach from host to host, another save may have taken a file for a dead one's."""
    for file in sorted(files):
        if not (folder / file).is_file():
            raise CheckpointException(
                f"{folder / file} was written and is gone. Let one job at a time save into {folder}"
            )


def _sweep(folder: Path, kept: set[str], before: str) -> None:
    """Remove the files of other generations. `before` is replaced for the second time now, so its files are not in use
    even where there are no locks."""
    for name in keeper.names(folder):
        part = _PART.fullmatch(name)
        if part is not None and part[1] not in kept:
            is_before = part[1] == before
            proof = partial(_is_of, generation=part[1], is_before=is_before)
            keeper.remove(folder / name, proof, without_lock=is_before)


def _is_of(held: keeper.Held, generation: str, is_before: bool) -> bool:
    """Whether the file says itself that it belongs to the save in its name. Old files say nothing; an index has to."""
    with os.fdopen(held.number, "rb", closefd=False) as file:
        try:
            _, metadata, _ = container.read_header(file.read, os.fstat(held.number).st_size, True)
        except (container.SerializationError, OSError):
            return False
    is_old = is_before and metadata == {"format": "pt"}
    return metadata.get(GENERATION) == generation or is_old
