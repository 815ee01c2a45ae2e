"""`save`, `load` and `async_save`: a state that lies on many ranks, in one folder.

    save      every rank says what it has → who writes what is clear to all → all write → rank 0 writes
              the index, when it knows that all have written
    load      every rank reads what it needs, in place, from whatever ranks have saved it

The tensors that a state *has* are what is asked for; so the model is made first, and loading fills it.
"""

from __future__ import annotations

import uuid
from collections.abc import MutableMapping
from pathlib import Path
from typing import Any, NamedTuple

from minitorch_dist.distributed import distributed_c10d, world
from minitorch_dist.distributed.checkpoint import folder, fresh, planned, state, values
from minitorch_dist.distributed.checkpoint.attendance import hear
from minitorch_dist.distributed.checkpoint.default_planner import (
    DefaultLoadPlanner,
    DefaultSavePlanner,
)
from minitorch_dist.distributed.checkpoint.filesystem import FileSystemReader, FileSystemWriter
from minitorch_dist.distributed.checkpoint.folder import Checkpoint, Written
from minitorch_dist.distributed.checkpoint.index import CheckpointException, check_cover
from minitorch_dist.distributed.checkpoint.pieces import About, Box, contradictions, writers
from minitorch_dist.distributed.checkpoint.planner import LoadPlanner, SavePlanner
from minitorch_dist.distributed.checkpoint.stateful import Stateful
from minitorch_dist.distributed.checkpoint.storage import Path_, StorageReader, StorageWriter
from minitorch_dist.distributed.exceptions import PeerLost
from minitorch_dist.distributed.torch_api import object_collectives
from minitorch_dist.distributed.torch_api.process_group import ProcessGroup
from minitorch_dist.futures import Future
from minitorch_dist.tensors.core.base import Array
from minitorch_dist.tensors.tensor import Tensor


class PlainSave(NamedTuple):
    """One save, as all ranks see it."""

    folder: Path
    generation: str
    rank: int
    size: int
    group: Any
    store: Any  # through which the ranks tell that they have written; None: alone
    tables: list[dict[str, About]]
    boxes: list[dict[str, Box]]
    values: dict[str, Any]
    paths: dict[str, list[Any]]  # the keys that lead to each


def save(
    state_dict: dict[str, Any],
    *,
    checkpoint_id: Path_ | None = None,
    storage_writer: StorageWriter | None = None,
    planner: SavePlanner | None = None,
    process_group: ProcessGroup | None = None,
    no_dist: bool = False,
    use_collectives: bool = True,
) -> Any:
    """Save the state of all ranks in one place. Collective; returns what is there when it is complete."""
    if not _is_plain(storage_writer, planner):
        if storage_writer is None:
            storage_writer = FileSystemWriter(_path(checkpoint_id, None))
        storage_writer.reset(checkpoint_id)
        planner = planner or DefaultSavePlanner()
        return planned.save(state_dict, storage_writer, planner, process_group, no_dist)
    flat, paths = _flat(state_dict)
    target = _path(checkpoint_id, storage_writer)
    plan = _planned(flat, paths, target, process_group, no_dist)
    arrays = {name: state.local(flat[name]) for name in plan.boxes[plan.rank]}
    _write(plan, arrays)
    return Checkpoint(plan.folder)


def async_save(
    state_dict: dict[str, Any],
    *,
    checkpoint_id: Path_ | None = None,
    storage_writer: StorageWriter | None = None,
    planner: SavePlanner | None = None,
    process_group: ProcessGroup | None = None,
    async_checkpointer_type: Any = None,
    async_stager: Any = None,
    no_dist: bool = False,
    use_collectives: bool = True,
) -> Saving:
    """As `save`, but the files are written beside the training; the state is copied first.

    With a planner or a place of one's own it is written at once.
    """
    if not _is_plain(storage_writer, planner):
        done = Saving()
        done.set_result(
            save(
                state_dict, checkpoint_id=checkpoint_id, storage_writer=storage_writer,
                planner=planner, process_group=process_group, no_dist=no_dist,
            )
        )  # fmt: skip
        return done
    flat, paths = _flat(state_dict)
    target = _path(checkpoint_id, storage_writer)
    plan = _planned(flat, paths, target, process_group, no_dist)
    arrays = {name: state.snapshot(flat[name]) for name in plan.boxes[plan.rank]}
    here = world.place()
    saving = Saving(condition=here.clock.condition)

    def write() -> None:
        try:
            _write(plan, arrays)
        except Exception as error:
            saving.set_exception(error)
        else:
            saving.set_result(Checkpoint(plan.folder))

    here.clock.start(world.inherited(write), f"checkpoint of rank {plan.rank}")
    return saving


class Saving(Future[Any]):
    """A checkpoint that is being written."""

    def result(self, timeout: float | None = None) -> Any:
        """Wait until it is complete; raises what went wrong."""
        return self.wait()

    def exception(self) -> BaseException | None:
        try:
            self.wait()
        except Exception as error:
            return error
        return None


def load(
    state_dict: dict[str, Any],
    *,
    checkpoint_id: Path_ | None = None,
    storage_reader: StorageReader | None = None,
    planner: LoadPlanner | None = None,
    process_group: ProcessGroup | None = None,
    no_dist: bool = False,
) -> None:
    """Fill what is in `state_dict` from a checkpoint, in place. No rank needs another for it, unless there
    is a planner or a place of one's own."""
    if not _is_plain(storage_reader, planner):
        if storage_reader is None:
            storage_reader = FileSystemReader(_path(checkpoint_id, None))
        storage_reader.reset(checkpoint_id)
        planner = planner or DefaultLoadPlanner()
        planned.load(state_dict, storage_reader, planner, process_group, no_dist)
        return
    checkpoint = Checkpoint(_path(checkpoint_id, storage_reader))
    names = [*checkpoint.tensors, *checkpoint.values]
    fresh.initialise_where_saved(state_dict, names)
    told = state.asked(state_dict)
    wanted: list[state.Leaf] = []
    missing: list[state.Leaf] = []
    for leaf in state.leaves(told):
        there = checkpoint.tensors if isinstance(leaf.value, Tensor) else checkpoint.values
        if leaf.name in there:
            wanted.append(leaf)
        elif not fresh.asks_for_nothing(leaf.name, leaf.value, names):
            missing.append(leaf)
    if missing and not (isinstance(planner, DefaultLoadPlanner) and planner.allow_partial_load):
        raise CheckpointException(
            f"Missing key in checkpoint state_dict: {', '.join(leaf.name for leaf in missing[:5])}"
            f"{' …' if len(missing) > 5 else ''}. {checkpoint!r} has for example "
            f"{', '.join(names[:5])}"
        )
    with checkpoint.opened():
        found = {}  # the values; all is looked at before anything is written to
        for leaf in wanted:
            if isinstance(leaf.value, Tensor):
                _check(checkpoint, leaf.name, leaf.value)
            else:
                found[leaf.name] = values.unpacked(leaf.name, checkpoint.values[leaf.name])
        for leaf in wanted:
            if isinstance(leaf.value, Tensor):
                checkpoint.read(leaf.name, state.box_of(leaf.value), state.local(leaf.value))
                leaf.value.storage.version += 1
            else:
                leaf.put(found[leaf.name])
    for key, value in state_dict.items():
        if isinstance(value, Stateful):
            value.load_state_dict(told[key])
        else:
            state_dict[key] = told[key]


def _check(checkpoint: Checkpoint, name: str, tensor: Tensor) -> None:
    saved = checkpoint.tensors[name].shape
    if saved != tuple(tensor.shape):
        raise CheckpointException(
            f"{name} is {list(tensor.shape)} here and {list(saved)} in {checkpoint.folder}"
        )
    checkpoint.check(name, state.box_of(tensor))


def _flat(state_dict: MutableMapping[str, Any]) -> tuple[dict[str, Any], dict[str, list[Any]]]:
    """The contents of a state, and the keys that lead there, by dotted name."""
    found = list(state.leaves(state.asked(state_dict)))
    paths = {leaf.name: list(leaf.path) for leaf in found}
    return {leaf.name: leaf.value for leaf in found}, paths


def _is_plain(storage: Any, planner: Any) -> bool:
    """Whether nobody has anything to say about what is saved, and where: then the short way will do."""
    own = storage is not None and type(storage) not in (FileSystemWriter, FileSystemReader)
    if planner is None or own:
        return not own
    usual = type(planner) in (DefaultSavePlanner, DefaultLoadPlanner) and planner.flatten_state_dict
    return bool(usual and not getattr(planner, "dedup_save_to_lowest_rank", False))


def _path(given: Path_ | None, storage: Any) -> Path:
    if given is None and storage is None:
        raise ValueError("say where: checkpoint_id=folder (or a FileSystemWriter or -Reader)")
    if isinstance(storage, FileSystemWriter):
        storage.check_overwriting()
    return Path(storage.path if given is None else given)


def _planned(
    flat: dict[str, Any], paths: dict[str, list[Any]], target: Path, group: Any, no_dist: bool
) -> PlainSave:
    """The tensors of all ranks, and so which rank writes what."""
    table = {name: state.about(v) for name, v in flat.items() if isinstance(v, Tensor)}
    others = {name: values.packed(name, v) for name, v in flat.items() if not isinstance(v, Tensor)}
    alone = no_dist or not distributed_c10d.is_initialized()
    rank, size, store, generation = 0, 1, None, uuid.uuid4().hex[:12]
    told: list[Any] = [(table, others, generation, paths)]
    if not alone:
        rank, size = distributed_c10d.get_rank(group), distributed_c10d.get_world_size(group)
        told = [None] * size
        object_collectives.all_gather_object(told, _plain(table, others, generation, paths), group)
        told = [_rebuilt(*one) for one in told]
        generation = told[0][2]
        group = group or distributed_c10d._get_default_group()
        store = group.get_group_store()
    tables = [one[0] for one in told]
    wrong = contradictions(tables)
    if wrong:
        raise CheckpointException("the ranks do not agree: " + "; ".join(wrong[:5]))
    _check_cover(tables)
    merged: dict[str, Any] = {}
    ways: dict[str, list[Any]] = {}
    for one in reversed(told):
        merged.update(one[1])  # where ranks differ, the first one's word counts
        ways.update(one[3])
    return PlainSave(
        target, generation, rank, size, group, store, tables, writers(tables), merged, ways
    )


def _check_cover(tables: list[dict[str, About]]) -> None:
    """Check that the ranks together have the whole of each tensor. Otherwise the checkpoint could not be
    loaded.
    """
    shapes = {name: about.shape for table in tables for name, about in table.items()}
    for name, shape in shapes.items():
        boxes = {table[name].box for table in tables if name in table}
        check_cover(name, shape, list(boxes))


def _plain(table: dict[str, About], others: Any, generation: str, paths: Any) -> Any:
    rows = {n: (a.shape, a.dtype, a.box.offsets, a.box.sizes, a.nbytes) for n, a in table.items()}
    return rows, others, generation, paths


def _rebuilt(rows: Any, others: Any, generation: str, paths: Any) -> Any:
    table = {
        name: About(tuple(shape), dtype, Box(tuple(offsets), tuple(sizes)), nbytes)
        for name, (shape, dtype, offsets, sizes, nbytes) in rows.items()
    }
    return table, others, generation, paths


def _write(plan: PlainSave, arrays: dict[str, Array]) -> None:
    """Write this rank's part; when all have, rank 0 makes it the checkpoint."""
    try:
        _write_together(plan, arrays)
    except PeerLost:  # a lost rank will not say that it is over
        raise
    except Exception:
        _sweep(plan)
        raise
    _sweep(plan)


def _sweep(plan: PlainSave) -> None:
    """The last rank that needs a value in the store takes it away."""
    key = f"checkpoint/{plan.generation}"
    if plan.store is not None and plan.store.add(f"{key}/over", 1) == plan.size:
        for word in (*(f"written/{rank}" for rank in range(plan.size)), "complete", "over"):
            plan.store.delete_key(f"{key}/{word}")


def _write_together(plan: PlainSave, arrays: dict[str, Array]) -> None:
    parts = [
        Written(folder.file_name(plan.generation, rank, plan.size), boxes)
        for rank, boxes in enumerate(plan.boxes)
    ]
    trouble = b""
    try:
        if arrays:
            folder.write_part(plan.folder, parts[plan.rank].file, arrays)
    except Exception as error:
        if plan.store is None:
            raise
        trouble = f"{type(error).__name__}: {error}".encode()
    if plan.store is not None:
        _tell(plan, trouble)
    if plan.rank == 0:
        tensors = {name: about for table in reversed(plan.tables) for name, about in table.items()}
        written = [part for part in parts if part.boxes]
        folder.write_index(plan.folder, plan.generation, tensors, plan.values, written, plan.paths)
        if plan.store is not None:
            plan.store.set(f"checkpoint/{plan.generation}/complete", b"")
    elif plan.store is not None:
        words = {f"checkpoint/{plan.generation}/complete": 0}
        hear(plan.group, plan.store, words, f"to write the index of {plan.folder}")


def _tell(plan: PlainSave, trouble: bytes) -> None:
    """Say that this rank has written, and hear the same of all others."""
    key = f"checkpoint/{plan.generation}/written"
    plan.store.set(f"{key}/{plan.rank}", trouble)
    words = {f"{key}/{rank}": rank for rank in range(plan.size)}
    hear(plan.group, plan.store, words, f"to write its part of {plan.folder}")
    said = {rank: plan.store.get(f"{key}/{rank}") for rank in range(plan.size)}
    failures = {rank: OSError(word.decode()) for rank, word in said.items() if word}
    if failures:
        listed = "; ".join(f"rank {rank}: {error}" for rank, error in failures.items())
        raise CheckpointException(
            f"nothing was saved in {plan.folder}, what was there before is still there: {listed}",
            failures,
        )
