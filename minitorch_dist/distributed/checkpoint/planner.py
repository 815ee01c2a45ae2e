"""Plans: what each rank writes or reads, item by item, before anything is written or read; and the planners
that make them.

    save   set_up_planner → create_local_plan ─┐ all plans to rank 0                ┌→ finish_plan → resolve_data …
                                               └→ create_global_plan → to each its own ┘
    load   the same, with resolve_tensor, commit_tensor and load_bytes at the end

Derive from `default_planner`'s classes to rename, leave out, or change what is saved on its way.
"""

from __future__ import annotations

import io
from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import Enum, auto
from math import prod
from typing import Any

from minitorch_dist.distributed.checkpoint.metadata import (
    ChunkStorageMetadata,
    Metadata,
    MetadataIndex,
    StorageMeta,
    TensorProperties,
)
from minitorch_dist.tensors.size import Size
from minitorch_dist.tensors.tensor import Tensor


class WriteItemType(Enum):
    TENSOR = auto()  # a whole tensor
    SHARD = auto()  # a part of one
    BYTE_IO = auto()  # anything else


class LoadItemType(Enum):
    TENSOR = auto()
    BYTE_IO = auto()


@dataclass(frozen=True)
class BytesIOWriteData:
    nbytes: int


@dataclass(frozen=True)
class TensorWriteData:
    """The part of a tensor that is to be written."""

    chunk: ChunkStorageMetadata
    properties: TensorProperties
    size: Size  # of the whole


@dataclass(frozen=True)
class WriteItem:
    index: MetadataIndex
    type: WriteItemType
    bytes_io_data: BytesIOWriteData | None = None
    tensor_data: TensorWriteData | None = None

    def tensor_storage_size(self) -> int | None:
        """Bytes of the tensor's part; None if it is none."""
        if self.tensor_data is None:
            return None
        return prod(self.tensor_data.chunk.sizes) * self.tensor_data.properties.dtype.itemsize


@dataclass(frozen=True)
class ReadItem:
    """A box of a saved chunk, and where in the destination it goes."""

    type: LoadItemType
    dest_index: MetadataIndex
    dest_offsets: Size
    storage_index: MetadataIndex
    storage_offsets: Size
    lengths: Size


@dataclass(frozen=True)
class SavePlan:
    items: list[WriteItem]
    storage_data: Any = None
    planner_data: Any = None
    usable: bool = True


@dataclass(frozen=True)
class LoadPlan:
    items: list[ReadItem]
    storage_data: Any = None
    planner_data: Any = None


class SavePlanner(ABC):
    """Decides what is saved, by whom, and in which form."""

    @abstractmethod
    def set_up_planner(
        self,
        state_dict: dict[str, Any],
        storage_meta: StorageMeta | None = None,
        is_coordinator: bool = False,
    ) -> None:
        """The state that is to be saved; on every rank."""

    @abstractmethod
    def create_local_plan(self) -> SavePlan:
        """The items that this rank has. Called on every rank."""

    @abstractmethod
    def create_global_plan(self, all_plans: list[SavePlan]) -> tuple[list[SavePlan], Metadata]:
        """The items that each rank is to write, and the metadata of the whole. Called on rank 0 only."""

    @abstractmethod
    def finish_plan(self, new_plan: SavePlan) -> SavePlan:
        """This rank's part of the global plan; on every rank."""

    @abstractmethod
    def resolve_data(self, write_item: WriteItem) -> Tensor | io.BytesIO:
        """The data that are written for an item."""


class LoadPlanner(ABC):
    """Decides what is read, and what becomes of it."""

    @abstractmethod
    def set_up_planner(
        self,
        state_dict: dict[str, Any],
        metadata: Metadata | None = None,
        is_coordinator: bool = False,
    ) -> None:
        """The state that is to be filled, and what the checkpoint has; on every rank."""

    @abstractmethod
    def create_local_plan(self) -> LoadPlan:
        """The items that this rank needs. Called on every rank."""

    @abstractmethod
    def create_global_plan(self, global_plan: list[LoadPlan]) -> list[LoadPlan]:
        """All plans, one for each rank; on rank 0 only."""

    @abstractmethod
    def finish_plan(self, central_plan: LoadPlan) -> LoadPlan:
        """This rank's part of the global plan; on every rank."""

    @abstractmethod
    def load_bytes(self, read_item: ReadItem, value: io.BytesIO) -> None:
        """Take a value that is no tensor."""

    def resolve_bytes(self, read_item: ReadItem) -> io.BytesIO:
        """Where to read such a value to."""
        raise NotImplementedError("LoadPlanner.resolve_bytes is not implemented")

    @abstractmethod
    def resolve_tensor(self, read_item: ReadItem) -> Tensor:
        """The part of a tensor that the item fills; writes to it must not be lost."""

    @abstractmethod
    def commit_tensor(self, read_item: ReadItem, tensor: Tensor) -> None:
        """That part, when it has been filled."""
