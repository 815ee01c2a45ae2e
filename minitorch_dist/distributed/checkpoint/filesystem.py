"""A folder as a place for checkpoints; its files are described in `folder`."""

from __future__ import annotations

import dataclasses
import io
import uuid
from pathlib import Path
from typing import Any

import numpy as np

from minitorch_dist.distributed.checkpoint import folder, values, writing
from minitorch_dist.distributed.checkpoint.agreement import JointLoad
from minitorch_dist.distributed.checkpoint.folder import Checkpoint
from minitorch_dist.distributed.checkpoint.index import CheckpointException, Chunk
from minitorch_dist.distributed.checkpoint.metadata import (
    BytesStorageMetadata,
    ChunkStorageMetadata,
    Metadata,
    StorageMeta,
    TensorProperties,
    TensorStorageMetadata,
)
from minitorch_dist.distributed.checkpoint.pieces import About, Box, overlap
from minitorch_dist.distributed.checkpoint.planner import (
    LoadItemType,
    LoadPlan,
    LoadPlanner,
    ReadItem,
    SavePlan,
    SavePlanner,
)
from minitorch_dist.distributed.checkpoint.storage import (
    Path_,
    StorageReader,
    StorageWriter,
    WriteResult,
)
from minitorch_dist.distributed.checkpoint.writing import HeldPart, Written
from minitorch_dist.futures import Future
from minitorch_dist.tensors import dtypes
from minitorch_dist.tensors.core.base import Array
from minitorch_dist.tensors.size import Size
from minitorch_dist.tensors.tensor import Tensor


class FileSystemWriter(StorageWriter):
    """Saves into the folder `path`. With `overwrite=False` it refuses a folder that has a checkpoint; the
    other arguments change nothing (there is one file per rank, and it is always synced)."""

    def __init__(
        self,
        path: Path_,
        single_file_per_rank: bool = True,
        sync_files: bool = True,
        thread_count: int = 1,
        per_thread_copy_ahead: int = 10_000_000,
        cache_staged_state_dict: bool = False,
        overwrite: bool = True,
        **_: Any,
    ) -> None:
        self.path, self.overwrite = Path(path), overwrite
        self._save_id = uuid.uuid4().hex[:12]
        self._part: HeldPart | None = None  # what this rank has written

    def reset(self, checkpoint_id: Path_ | None = None) -> None:
        if checkpoint_id is not None:
            self.path = Path(checkpoint_id)
        self._save_id = uuid.uuid4().hex[:12]

    def check_overwriting(self) -> None:
        if not self.overwrite and (self.path / folder.INDEX).exists():
            raise RuntimeError(
                f"Checkpoint already exists in {self.path} and self.overwrite=False."
            )

    def set_up_storage_writer(self, is_coordinator: bool, *args: Any, **kwargs: Any) -> None:
        self.check_overwriting()
        if is_coordinator:
            writing.prepare(self.path, self._save_id)

    def prepare_local_plan(self, plan: SavePlan) -> SavePlan:
        return plan

    def prepare_global_plan(self, plans: list[SavePlan]) -> list[SavePlan]:
        return [
            dataclasses.replace(
                plan, storage_data=writing.file_name(self._save_id, rank, len(plans))
            )
            for rank, plan in enumerate(plans)
        ]

    def write_data(self, plan: SavePlan, planner: SavePlanner) -> Future[list[WriteResult]]:
        arrays: dict[str, Array] = {}
        results = []
        for item in plan.items:
            data = planner.resolve_data(item)
            if not isinstance(data, Tensor):
                octets = bytes(data.getbuffer())
                said = {"value": values.wrapped(octets)}
                results.append(WriteResult(item.index, len(octets), said))
                continue
            assert item.tensor_data is not None
            key, chunk = item.index.fqn, item.tensor_data.chunk
            if key in arrays:  # a second chunk of the same tensor
                key = f"{key}@{','.join(map(str, chunk.offsets))}"
            arrays[key] = array = np.asarray(data.array, order="C")
            told = {"file": plan.storage_data, "key": key, "dtype": str(array.dtype),
                    "offsets": tuple(chunk.offsets), "sizes": tuple(chunk.sizes)}  # fmt: skip
            results.append(WriteResult(item.index, array.nbytes, told))
        if arrays:
            self._part = writing.write_part(self.path, plan.storage_data, arrays)
            for result in results:
                if "key" in result.storage_data:
                    result.storage_data["crc32"] = self._part.checks[result.storage_data["key"]]
        done: Future[list[WriteResult]] = Future()
        done.set_result(results)
        return done

    def finish(self, metadata: Metadata, results: list[list[WriteResult]]) -> None:
        parts: dict[str, list[tuple[str, Box, str]]] = {}
        tensors: dict[str, About] = {}
        kept: dict[str, Any] = {}
        checks: dict[str, dict[str, int]] = {}
        for result in (one for rank in results for one in rank):
            told, name = result.storage_data, result.index.fqn
            if "value" in told:
                kept[name] = told["value"]
                continue
            about, box = metadata.state_dict_metadata[name], Box(told["offsets"], told["sizes"])
            assert isinstance(about, TensorStorageMetadata)
            tensors[name] = About(tuple(about.size), told["dtype"], box, 0)
            parts.setdefault(told["file"], []).append((name, box, told["key"]))
            checks.setdefault(told["file"], {})[told["key"]] = told["crc32"]
        ways = metadata.planner_data if isinstance(metadata.planner_data, dict) else {}
        paths = {name: list(ways.get(name, (name,))) for name in (*tensors, *kept)}
        written = [Written(file, {}, chunks, checks[file]) for file, chunks in parts.items()]
        writing.write_index(self.path, self._save_id, tensors, kept, written, paths)

    def end(self, has_failed: bool) -> None:
        part, self._part = self._part, None
        if part is not None and has_failed:
            part.drop()
        elif part is not None:
            part.close()

    def storage_meta(self) -> StorageMeta:
        return StorageMeta(checkpoint_id=self.path, save_id=self._save_id)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.path}>"


class FileSystemReader(StorageReader):
    """Reads from the folder `path`."""

    def __init__(self, path: Path_, **_: Any) -> None:
        self.path = Path(path)
        self._checkpoint: Checkpoint | None = None

    def reset(self, checkpoint_id: Path_ | None = None) -> None:
        if checkpoint_id is not None:
            self.path = Path(checkpoint_id)
        self._checkpoint = None

    def checkpoint(self) -> Checkpoint:
        """The checkpoint with its files open, so that a save beside us takes none of them away."""
        if self._checkpoint is None:
            self._checkpoint = Checkpoint.held(self.path)
        return self._checkpoint

    def agree(self, together: JointLoad) -> None:
        """From now on it reads the checkpoint that the other ranks read."""
        other = together.other_than(self.checkpoint())
        if other is None:
            return
        try:
            other.hold()
        except folder.Vanished:
            raise together.failure() from None
        self.close()
        self._checkpoint = other

    def close(self) -> None:
        """Close its files; a failed load has not read them."""
        if self._checkpoint is not None:
            self._checkpoint.close()

    def read_metadata(self, *args: Any, **kwargs: Any) -> Metadata:
        found = self.checkpoint()
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
        meta = StorageMeta(checkpoint_id=self.path, load_id=found.generation)
        return Metadata(contents, planner_data=found.paths, storage_meta=meta)

    def set_up_storage_reader(
        self, metadata: Metadata, is_coordinator: bool, *args: Any, **kwargs: Any
    ) -> None:
        self.checkpoint()

    def prepare_local_plan(self, plan: LoadPlan) -> LoadPlan:
        return plan

    def prepare_global_plan(self, plans: list[LoadPlan]) -> list[LoadPlan]:
        return plans

    def read_data(self, plan: LoadPlan, planner: LoadPlanner) -> Future[None]:
        found = self.checkpoint()
        tensors = [item for item in plan.items if item.type is not LoadItemType.BYTE_IO]
        others = [item for item in plan.items if item.type is LoadItemType.BYTE_IO]
        with found.opened():
            for item in tensors:  # all is looked at before anything is written to
                _chunk_of(found, item)
            names = {item.storage_index.fqn for item in others}
            octets = {name: values.octets(name, found.values[name]) for name in names}
            found.demand_sealed()
            for item in tensors:
                chunk, box = _chunk_of(found, item)
                target = planner.resolve_tensor(item).detach()
                found.read_chunk(item.storage_index.fqn, chunk, box, target.array)
                target.storage.version += 1
                planner.commit_tensor(item, target)
            for item in others:
                planner.load_bytes(item, io.BytesIO(octets[item.storage_index.fqn]))
        done: Future[None] = Future()
        done.set_result(None)
        return done

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.path}>"


def _chunk_of(found: Checkpoint, item: ReadItem) -> tuple[Chunk, Box]:
    """The chunk that an item is read from, and the box of the tensor that it fills."""
    name, offset, hint = item.storage_index.fqn, item.storage_index.offset, item.storage_index.index
    chunks, begins = found.tensors[name].chunks, tuple(offset or ())
    if hint is None or not 0 <= hint < len(chunks) or chunks[hint].box.offsets != begins:
        hint = next((n for n, chunk in enumerate(chunks) if chunk.box.offsets == begins), None)
    if hint is None:
        raise CheckpointException(f"{name} has no chunk that begins at {list(begins)}")
    begin = tuple(s + o for s, o in zip(begins, item.storage_offsets, strict=True))
    box = Box(begin, tuple(item.lengths))
    if overlap(chunks[hint].box, box) != box:
        raise CheckpointException(f"{box} of {name} does not lie in {chunks[hint].box}")
    found.check_whole(name)
    found.check_bytes(name, chunks[hint])
    return chunks[hint], box
