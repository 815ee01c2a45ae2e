"""`save` and `load`: a state that lies on many ranks, in one folder.

    save      every rank says what it has → who writes what is clear to all → all write → rank 0 writes
              the index, when it knows that all have written
    load      every rank looks for what it needs, from whatever ranks have saved it → all have found the
              same checkpoint → all read, in place

The tensors that a state *has* are what is asked for; so the model is made first, and loading fills it.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, MutableMapping
from contextlib import closing
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

from minitorch_dist.distributed import distributed_c10d
from minitorch_dist.distributed.checkpoint import first_step, state, values, writing
from minitorch_dist.distributed.checkpoint.default_planner import DefaultLoadPlanner, DefaultSavePlanner, demand_usual
from minitorch_dist.distributed.checkpoint.filesystem import FileSystemReader, FileSystemWriter, Path_
from minitorch_dist.distributed.checkpoint.folder import Checkpoint, Vanished
from minitorch_dist.distributed.checkpoint.index import CheckpointException, check_cover
from minitorch_dist.distributed.checkpoint.pieces import About, Box, contradictions, writers
from minitorch_dist.distributed.checkpoint.stateful import Stateful
from minitorch_dist.distributed.groups import ProcessGroup
from minitorch_dist.distributed.torch_api import object_collectives
from minitorch_dist.tensors.tensor import Tensor

R = TypeVar("R")
ENDING: Final = (KeyboardInterrupt, SystemExit)  # a program may catch them and live on
ATTEMPTS: Final = 20  # to find the same checkpoint as the other ranks, beside a job that saves


class PlainSave(NamedTuple):
    """One save, as all ranks see it."""

    folder: Path
    generation: str
    rank: int
    size: int
    group: Any  # the ranks that save together; None: alone
    tables: list[dict[str, About]]
    boxes: list[dict[str, Box]]
    values: dict[str, Any]
    paths: dict[str, list[Any]]  # the keys that lead to each


def save(
    state_dict: dict[str, Any],
    *,
    checkpoint_id: Path_ | None = None,
    storage_writer: FileSystemWriter | None = None,
    planner: DefaultSavePlanner | None = None,
    process_group: ProcessGroup | None = None,
    no_dist: bool = False,
    use_collectives: bool = True,
) -> Checkpoint:
    """Save the state of all ranks in one place. Collective. A crash at any byte leaves the checkpoint of before.

    Args:
        state_dict: Tensors, DTensors and values by name; each rank names its own.
        checkpoint_id: The folder.
        storage_writer: A FileSystemWriter, instead of `checkpoint_id`.
        planner: A DefaultSavePlanner.
        process_group: The ranks; None means all.
        no_dist: This rank saves alone.
        use_collectives: Accepted as in torch; it changes nothing.

    Returns:
        The metadata of the checkpoint, when it is complete.

    Raises:
        CheckpointException: A rank failed; its reason is in the text, on all ranks.

    Example:
        >>> import tempfile
        >>> def program(folder):
        ...     dist.checkpoint.save({"step": 3, f"mine{dist.get_rank()}": torch.ones(2)}, checkpoint_id=folder)
        ...     state = {"step": 0}
        ...     dist.checkpoint.load(state, checkpoint_id=folder)
        ...     return state["step"]
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     sim.run(program, 2, (folder,)).results
        [3, 3]
    """
    demand_usual(storage_writer, planner)
    plan, flat = _planned(state_dict, checkpoint_id, storage_writer, process_group, no_dist)
    _write(plan, flat)
    return Checkpoint(plan.folder)


def load(
    state_dict: dict[str, Any],
    *,
    checkpoint_id: Path_ | None = None,
    storage_reader: FileSystemReader | None = None,
    planner: DefaultLoadPlanner | None = None,
    process_group: ProcessGroup | None = None,
    no_dist: bool = False,
) -> None:
    """Fill what is in `state_dict` from a checkpoint, in place. Collective, as in torch.

    All ranks load one checkpoint, or none, also while another job saves there.

    Args:
        state_dict: Tensors, DTensors and values by name, which are filled.
        checkpoint_id: The folder.
        storage_reader: A FileSystemReader, instead of `checkpoint_id`.
        planner: A DefaultLoadPlanner, which may allow a partial load.
        process_group: The ranks; None means all.
        no_dist: This rank loads alone.

    Raises:
        CheckpointException: A key is missing, or a file is damaged; the text names it.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = dist.checkpoint.save({"w": torch.ones(2)}, checkpoint_id=folder, no_dist=True)
        ...     state = {"w": torch.zeros(2)}
        ...     dist.checkpoint.load(state, checkpoint_id=folder, no_dist=True)
        ...     state["w"].tolist()
        [1.0, 1.0]
    """
    demand_usual(storage_reader, planner)
    place, group = _path(checkpoint_id, storage_reader), _group(process_group, no_dist)
    for _ in range(ATTEMPTS):
        found, trouble = attempt(lambda: _looked_at(place, state_dict, planner))
        generation = found.checkpoint.generation if found else ""
        what = f"nothing was loaded from {place}"
        generations = set(_all_say(group, generation, trouble, what, own_first=True))
        assert found is not None, "else all have raised"
        with closing(found.checkpoint):
            if len(generations) == 1:
                return _fill(state_dict, found)
    raise CheckpointException(
        f"the ranks would have a mixture of checkpoints: in {place} they find {', '.join(sorted(generations))}. Another job saves "
        "there all the time, or each host has a folder of its own. A rank that loads alone says no_dist=True"
    )


def _group(process_group: ProcessGroup | None, no_dist: bool) -> ProcessGroup | None:
    """The group whose ranks load together; None if this rank is alone, or stands for others (see `mtd.planning.fold`)."""
    if no_dist or not distributed_c10d.is_initialized():
        return None
    group: Any = process_group or distributed_c10d._get_default_group()
    is_alone = not isinstance(group, ProcessGroup) or group.size() == 1 or group.world.trace is not None
    return None if is_alone else group


def _all_say(group: Any, said: Any, trouble: BaseException | None, what: str, own_first: bool = False) -> list[Any]:
    """All ranks say something, and hear it. If one has trouble, all raise an error that names it instead, or their own trouble
    with `own_first`. Ctrl-C stays what it is."""
    mine = (said, "" if trouble is None else f"{type(trouble).__name__}: {trouble}")
    told: list[Any] = [mine]
    if group is not None:
        told = [None] * group.size()
        object_collectives.all_gather_object(told, mine, group)
    failures = {rank: word for rank, (_, word) in enumerate(told) if word}
    if failures:
        if trouble is not None and (own_first or isinstance(trouble, ENDING)):
            raise trouble
        listed = "; ".join(f"rank {rank}: {word}" for rank, word in failures.items())
        words = {rank: OSError(word) for rank, word in failures.items()}
        raise CheckpointException(f"{what}: {listed}", words) from trouble
    return [one for one, _ in told]


def attempt(call: Callable[[], R]) -> tuple[R | None, BaseException | None]:
    """Its result, or its error: other ranks wait to hear of either, also of Ctrl-C."""
    try:
        return call(), None
    except (Exception, *ENDING) as error:
        return None, error


class Found(NamedTuple):
    """A checkpoint's answer to what a state asks for; the files of its tensors are open."""

    checkpoint: Checkpoint
    told: dict[str, Any]  # the state
    wanted: list[state.Leaf]
    values: dict[str, Any]


def _looked_at(place: Path, state_dict: dict[str, Any], planner: DefaultLoadPlanner | None) -> Found:
    """All is looked at before anything is written to. A checkpoint that others replace meanwhile is not the last word."""
    while True:
        checkpoint = Checkpoint(place)
        try:
            return _found(state_dict, checkpoint, planner)
        except BaseException as error:
            checkpoint.close()
            if not (isinstance(error, Vanished) and checkpoint.is_replaced()):
                raise


def _found(state_dict: dict[str, Any], checkpoint: Checkpoint, planner: DefaultLoadPlanner | None) -> Found:
    names = [*checkpoint.tensors, *checkpoint.values]
    first_step.initialise_where_saved(state_dict, names)
    told = state.asked(state_dict)
    wanted: list[state.Leaf] = []
    missing: list[state.Leaf] = []
    for leaf in state.leaves(told):
        there = checkpoint.tensors if isinstance(leaf.value, Tensor) else checkpoint.values
        if leaf.name in there:
            wanted.append(leaf)
        elif not first_step.asks_for_nothing(leaf.name, leaf.value, names):
            missing.append(leaf)
    if missing and not (planner is not None and planner.allow_partial_load):
        raise CheckpointException(
            f"Missing key in checkpoint state_dict: {', '.join(leaf.name for leaf in missing[:5])}"
            f"{' …' if len(missing) > 5 else ''}. {checkpoint!r} has for example "
            f"{', '.join(names[:5])}"
        )
    found = {}  # of the values
    for leaf in wanted:
        if isinstance(leaf.value, Tensor):
            _check(checkpoint, leaf.name, leaf.value)
        else:
            found[leaf.name] = values.unpacked(leaf.name, checkpoint.values[leaf.name])
    checkpoint.demand_sealed()
    return Found(checkpoint, told, wanted, found)


def _fill(state_dict: dict[str, Any], found: Found) -> None:
    for leaf in found.wanted:
        if isinstance(leaf.value, Tensor):
            found.checkpoint.read(leaf.name, state.box_of(leaf.value), state.local(leaf.value))
            leaf.value.storage.version += 1
        else:
            leaf.holder[leaf.key] = found.values[leaf.name]
    for key, value in state_dict.items():
        if isinstance(value, Stateful):
            value.load_state_dict(found.told[key])
        else:
            state_dict[key] = found.told[key]


def _check(checkpoint: Checkpoint, name: str, tensor: Tensor) -> None:
    saved = checkpoint.tensors[name].shape
    if saved != tuple(tensor.shape):
        raise CheckpointException(f"{name} is {list(tensor.shape)} here and {list(saved)} in {checkpoint.folder}")
    checkpoint.check(name, state.box_of(tensor))


def _path(given: Path_ | None, storage: Any) -> Path:
    if given is None and storage is None:
        raise ValueError("say where: checkpoint_id=folder (or a FileSystemWriter or -Reader)")
    return Path(storage.path if given is None else given)


def _planned(
    state_dict: MutableMapping[str, Any], given: Path_ | None, storage: Any, group: Any, no_dist: bool
) -> tuple[PlainSave, dict[str, Any]]:
    """The tensors of all ranks, and so which rank writes what; and this rank's state. If a rank cannot say what it has, the
    others hear why."""
    target = _path(given, storage)
    generation = uuid.uuid4().hex[:12]

    def mine() -> tuple[dict[str, Any], Any]:
        if isinstance(storage, FileSystemWriter):
            storage.check_overwriting(target)
        found = list(state.leaves(state.asked(state_dict)))
        paths = {leaf.name: list(leaf.path) for leaf in found}
        flat = {leaf.name: leaf.value for leaf in found}
        tensors = {name: state.about(v) for name, v in flat.items() if isinstance(v, Tensor)}
        table = {name: (*about[:2], tuple(about.box), about.nbytes) for name, about in tensors.items()}
        others = {n: values.packed(n, v) for n, v in flat.items() if not isinstance(v, Tensor)}
        return flat, (table, others, generation, paths)

    place = _group(group, no_dist)
    found, trouble = attempt(mine)
    if trouble is not None and (no_dist or not distributed_c10d.is_initialized()):
        raise trouble
    told = _all_say(place, found and found[1], trouble, _nothing_saved(target))
    assert found is not None, "else all have raised"
    rank = 0 if place is None else distributed_c10d.get_rank(place)
    return _plan_of(told, target, rank, place), found[0]


def _plan_of(told: list[Any], target: Path, rank: int, group: Any) -> PlainSave:
    tables = [
        {name: About(shape, kind, Box(*box), nbytes) for name, (shape, kind, box, nbytes) in one[0].items()}
        for one in told
    ]
    wrong = contradictions(tables)
    if wrong:
        raise CheckpointException("the ranks do not agree: " + "; ".join(wrong[:5]))
    shapes = {name: about.shape for table in tables for name, about in table.items()}
    for name, shape in shapes.items():  # or it could not be loaded
        check_cover(name, shape, list({table[name].box for table in tables if name in table}))
    merged: dict[str, Any] = {}
    ways: dict[str, list[Any]] = {}
    for one in reversed(told):
        merged.update(one[1])  # where ranks differ, the first one's word counts
        ways.update(one[3])
    return PlainSave(target, told[0][2], rank, len(told), group, tables, writers(tables), merged, ways)


def _write(plan: PlainSave, flat: dict[str, Any]) -> None:
    """Write this rank's part; when all have, rank 0 makes it the checkpoint. All raise if one has failed."""
    part, trouble = attempt(lambda: _write_part(plan, flat))
    what = _nothing_saved(plan.folder)
    try:
        checks = _all_say(plan.group, part.checks if part else {}, trouble, what)
        if plan.rank == 0:
            _, trouble = attempt(lambda: _write_index(plan, checks))
        _all_say(plan.group, None, trouble, what)
    except (CheckpointException, *ENDING) as error:
        all_know = isinstance(error, CheckpointException) or plan.rank == 0
        if part is not None and all_know:
            part.drop()
        raise
    finally:
        if part is not None:
            part.close()


def _write_part(plan: PlainSave, flat: dict[str, Any]) -> writing.HeldPart | None:
    arrays = {name: state.local(flat[name]) for name in plan.boxes[plan.rank]}
    if plan.rank == 0:
        writing.prepare(plan.folder, plan.generation)
    name = writing.file_name(plan.generation, plan.rank, plan.size)
    return writing.write_part(plan.folder, name, arrays) if arrays else None


def _write_index(plan: PlainSave, checks: list[dict[str, int]]) -> None:
    """`checks`: the checksums of every rank's part."""
    tensors: dict[str, Any] = {
        name: {"shape": about.shape, "dtype": about.dtype, "chunks": []}
        for table in reversed(plan.tables)
        for name, about in table.items()
    }
    for rank, (boxes, noted) in enumerate(zip(plan.boxes, checks, strict=True)):
        file = writing.file_name(plan.generation, rank, plan.size)
        for name, (offsets, sizes) in boxes.items():
            chunk = {"file": file, "offsets": offsets, "sizes": sizes, "crc32": noted[name]}
            tensors[name]["chunks"].append(chunk)
    writing.write_index(plan.folder, plan.generation, tensors, plan.values, plan.paths)


def _nothing_saved(folder: Path) -> str:
    return f"nothing was saved in {folder}, what was there before is still there"
