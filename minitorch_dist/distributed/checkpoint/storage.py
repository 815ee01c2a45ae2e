"""Where checkpoints are kept: the methods that a place needs, so that plans can be carried out there."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

from minitorch_dist.distributed.checkpoint.metadata import Metadata, MetadataIndex, StorageMeta
from minitorch_dist.distributed.checkpoint.planner import (
    LoadPlan,
    LoadPlanner,
    SavePlan,
    SavePlanner,
)
from minitorch_dist.futures import Future

Path_ = str | os.PathLike[str]


@dataclass(frozen=True)
class WriteResult:
    """The result of writing one item; `storage_data` is for the writer's `finish`."""

    index: MetadataIndex
    size_in_bytes: int
    storage_data: Any


class StorageWriter(ABC):
    """One place for one checkpoint at a time. The methods are called in this order, by every rank where
    nothing else is said."""

    @abstractmethod
    def reset(self, checkpoint_id: Path_ | None = None) -> None:
        """A new save begins, at `checkpoint_id` if that is not None."""

    @abstractmethod
    def set_up_storage_writer(self, is_coordinator: bool, *args: Any, **kwargs: Any) -> None: ...

    @abstractmethod
    def prepare_local_plan(self, plan: SavePlan) -> SavePlan: ...

    @abstractmethod
    def prepare_global_plan(self, plans: list[SavePlan]) -> list[SavePlan]:
        """On rank 0 only."""

    @abstractmethod
    def write_data(self, plan: SavePlan, planner: SavePlanner) -> Future[list[WriteResult]]:
        """Write what `planner.resolve_data` gives for each item."""

    @abstractmethod
    def finish(self, metadata: Metadata, results: list[list[WriteResult]]) -> None:
        """All have written: make it the checkpoint. On rank 0 only."""

    def end(self, has_failed: bool) -> None:  # noqa: B027 - most have nothing to do
        """The save is over for this rank. `has_failed`: all ranks know that nothing was saved."""

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id: Path_) -> bool:
        """Whether this kind of place can be at `checkpoint_id`."""
        return isinstance(checkpoint_id, (str, os.PathLike))

    def storage_meta(self) -> StorageMeta | None:
        return None


class StorageReader(ABC):
    """The same for reading."""

    @abstractmethod
    def reset(self, checkpoint_id: Path_ | None = None) -> None: ...

    @abstractmethod
    def read_metadata(self, *args: Any, **kwargs: Any) -> Metadata: ...

    @abstractmethod
    def set_up_storage_reader(
        self, metadata: Metadata, is_coordinator: bool, *args: Any, **kwargs: Any
    ) -> None: ...

    @abstractmethod
    def prepare_local_plan(self, plan: LoadPlan) -> LoadPlan: ...

    @abstractmethod
    def prepare_global_plan(self, plans: list[LoadPlan]) -> list[LoadPlan]:
        """On rank 0 only."""

    @abstractmethod
    def read_data(self, plan: LoadPlan, planner: LoadPlanner) -> Future[None]:
        """Read each item, and give it to the planner."""

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id: Path_) -> bool:
        return isinstance(checkpoint_id, (str, os.PathLike))
