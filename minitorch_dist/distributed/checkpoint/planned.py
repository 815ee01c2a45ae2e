"""Saving and loading by a planner of one's own, or in a place of one's own.

    every rank     its plan            what it has, or needs
    rank 0         the global plan     who writes what
    every rank     its part of that    written or read, item by item
    rank 0         `finish`            when it knows that all have written

After each of these the ranks say how it went, so one that fails ends it for all, with its reason.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from minitorch_dist.distributed import distributed_c10d
from minitorch_dist.distributed.checkpoint import fresh, state
from minitorch_dist.distributed.checkpoint.agreement import JointLoad
from minitorch_dist.distributed.checkpoint.attendance import ENDING, attempt
from minitorch_dist.distributed.checkpoint.filesystem import FileSystemReader
from minitorch_dist.distributed.checkpoint.index import CheckpointException
from minitorch_dist.distributed.checkpoint.metadata import Metadata
from minitorch_dist.distributed.checkpoint.planner import (
    LoadPlan,
    LoadPlanner,
    SavePlan,
    SavePlanner,
)
from minitorch_dist.distributed.checkpoint.stateful import Stateful
from minitorch_dist.distributed.checkpoint.storage import StorageReader, StorageWriter, WriteResult
from minitorch_dist.distributed.torch_api import object_collectives
from minitorch_dist.distributed.torch_api.process_group import ProcessGroup

R = TypeVar("R")
S = TypeVar("S")


def save(
    state_dict: dict[str, Any],
    writer: StorageWriter,
    planner: SavePlanner,
    group: ProcessGroup | None,
    no_dist: bool,
) -> Metadata:
    """Carry out a save; returns what is there now."""
    ranks = _Ranks(group, no_dist)
    contents: list[Metadata] = []

    def local() -> SavePlan:
        told = state.asked(state_dict)
        planner.set_up_planner(told, writer.storage_meta(), ranks.is_first)
        writer.set_up_storage_writer(ranks.is_first)
        return writer.prepare_local_plan(planner.create_local_plan())

    def everyones(plans: list[SavePlan]) -> list[SavePlan]:
        plans, metadata = planner.create_global_plan(plans)
        contents.append(metadata)
        return writer.prepare_global_plan(plans)

    def finish(results: list[list[WriteResult]]) -> list[Metadata]:
        writer.finish(contents[0], results)
        return contents * ranks.size

    has_failed = False
    try:
        mine = ranks.together("make a plan", local, everyones)
        return ranks.together(
            "write", lambda: writer.write_data(planner.finish_plan(mine), planner).wait(), finish
        )
    except CheckpointException:
        has_failed = True
        raise
    finally:
        writer.end(has_failed)


def load(
    state_dict: dict[str, Any],
    reader: StorageReader,
    planner: LoadPlanner,
    group: ProcessGroup | None,
    no_dist: bool,
) -> None:
    """Carry out a load, in place."""
    ranks = _Ranks(group, no_dist)
    told: dict[str, Any] = {}

    def local() -> LoadPlan:
        if isinstance(reader, FileSystemReader):
            reader.agree(JointLoad(reader.path, group, no_dist))
        metadata = reader.read_metadata()
        fresh.initialise_where_saved(state_dict, metadata.state_dict_metadata)
        told.update(state.asked(state_dict))
        planner.set_up_planner(told, metadata, ranks.is_first)
        reader.set_up_storage_reader(metadata, ranks.is_first)
        return reader.prepare_local_plan(planner.create_local_plan())

    def everyones(plans: list[LoadPlan]) -> list[LoadPlan]:
        return reader.prepare_global_plan(planner.create_global_plan(plans))

    try:
        mine = ranks.together("make a plan", local, everyones)
        ranks.together(
            "read",
            lambda: reader.read_data(planner.finish_plan(mine), planner).wait(),
            lambda each: each,
        )
    finally:
        if isinstance(reader, FileSystemReader):
            reader.close()
    for key, value in state_dict.items():
        if isinstance(value, Stateful):
            value.load_state_dict(told[key])
        else:
            state_dict[key] = told[key]


class _Ranks:
    """Those that save or load together."""

    def __init__(self, group: ProcessGroup | None, no_dist: bool) -> None:
        self.alone = no_dist or not distributed_c10d.is_initialized()
        self.group = group
        self.rank = 0 if self.alone else distributed_c10d.get_rank(group)
        self.size = 1 if self.alone else distributed_c10d.get_world_size(group)

    @property
    def is_first(self) -> bool:
        return self.rank == 0

    def together(self, doing: str, each: Callable[[], R], first: Callable[[list[R]], list[S]]) -> S:
        """`each` on every rank; `first` makes of all results, on rank 0, one for each rank."""
        mine = attempt(each)
        every = self._gathered(mine)
        self._check(doing, every)
        made = attempt(lambda: first([one for one, _ in every])) if self.is_first else (None, None)
        if not self.alone:
            shared: list[Any] = [(made[0], _words(made[1]))]
            object_collectives.broadcast_object_list(shared, group=self.group, group_src=0)
            if not self.is_first:
                made = shared[0]
        self._check(doing, [made])
        assert made[0] is not None
        return made[0][self.rank]

    def _gathered(self, mine: tuple[Any, Any]) -> list[tuple[Any, Any]]:
        if self.alone:
            return [mine]
        found: list[Any] = [None] * self.size
        sent = (mine[0], _words(mine[1]))
        object_collectives.all_gather_object(found, sent, self.group)
        found[self.rank] = mine
        return found

    def _check(self, doing: str, found: list[tuple[Any, Any]]) -> None:
        """Raise, on every rank the same, if one of them failed."""
        failures = {rank: error for rank, (_, error) in enumerate(found) if error is not None}
        if not failures:
            return
        own = next((error for error in failures.values() if isinstance(error, BaseException)), None)
        if isinstance(own, ENDING):
            raise own
        if self.alone and own is not None and not isinstance(own, OSError):
            raise own
        words = {
            rank: _words(error) if isinstance(error, BaseException) else error
            for rank, error in failures.items()
        }
        listed = "; ".join(f"rank {rank}: {error}" for rank, error in words.items())
        reasons = {rank: RuntimeError(error) for rank, error in words.items()}
        raise CheckpointException(f"could not {doing}: {listed}", reasons) from own


def _words(error: Any) -> Any:
    return None if error is None else f"{type(error).__name__}: {error}"
