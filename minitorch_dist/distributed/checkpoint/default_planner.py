"""The default plan of a checkpoint: everything is saved, once; and read: whatever overlaps.

A tensor that several ranks have is written by the one that has least to write so far.
"""

from __future__ import annotations

import dataclasses
import io
from collections import defaultdict
from typing import Any

from minitorch_dist import serialization
from minitorch_dist.distributed.checkpoint import fresh, pieces, state
from minitorch_dist.distributed.checkpoint.index import CheckpointException, check_cover
from minitorch_dist.distributed.checkpoint.metadata import (
    BytesStorageMetadata,
    ChunkStorageMetadata,
    Metadata,
    MetadataIndex,
    StorageMeta,
    TensorProperties,
    TensorStorageMetadata,
)
from minitorch_dist.distributed.checkpoint.pieces import Box
from minitorch_dist.distributed.checkpoint.planner import (
    BytesIOWriteData,
    LoadItemType,
    LoadPlan,
    LoadPlanner,
    ReadItem,
    SavePlan,
    SavePlanner,
    TensorWriteData,
    WriteItem,
    WriteItemType,
)
from minitorch_dist.distributed.checkpoint.state import Leaf
from minitorch_dist.distributed.tensor.dtensor import DTensor
from minitorch_dist.tensors.core import base
from minitorch_dist.tensors.size import Size
from minitorch_dist.tensors.tensor import Tensor


class DefaultSavePlanner(SavePlanner):
    """`flatten_state_dict`: entries of nested dicts get names of their own; `dedup_save_to_lowest_rank`: the
    first of several ranks that have the same data writes it. The other arguments change nothing here."""

    mappings: dict[str, Any]

    def __init__(
        self,
        flatten_state_dict: bool = True,
        flatten_sharded_tensors: bool = True,
        dedup_replicated_tensors: bool | None = None,
        dedup_save_to_lowest_rank: bool = False,
        enable_plan_caching: bool = False,
    ) -> None:
        self.flatten_state_dict, self.flatten_sharded_tensors = (
            flatten_state_dict,
            flatten_sharded_tensors,
        )
        self.dedup_save_to_lowest_rank, self.mappings = dedup_save_to_lowest_rank, {}

    def set_up_planner(
        self,
        state_dict: dict[str, Any],
        storage_meta: StorageMeta | None = None,
        is_coordinator: bool = False,
    ) -> None:
        if self.flatten_state_dict:
            found = list(state.leaves(state_dict))
            self.mappings = {leaf.name: leaf.path for leaf in found}
            state_dict = {leaf.name: leaf.value for leaf in found}
        self.state_dict, self.is_coordinator = state_dict, is_coordinator

    def create_local_plan(self) -> SavePlan:
        plan = create_default_local_save_plan(self.state_dict, self.is_coordinator)
        if self.flatten_state_dict:
            plan = dataclasses.replace(plan, planner_data=self.mappings)
        self.plan = plan
        return plan

    def create_global_plan(self, all_plans: list[SavePlan]) -> tuple[list[SavePlan], Metadata]:
        plans, metadata = create_default_global_save_plan(
            _once(all_plans, self.dedup_save_to_lowest_rank)
        )
        if self.flatten_state_dict:
            ways: dict[str, Any] = {}
            for plan in all_plans:
                ways.update(plan.planner_data or {})
            metadata = dataclasses.replace(metadata, planner_data=ways)
        for name, about in metadata.state_dict_metadata.items():
            if isinstance(about, TensorStorageMetadata):
                check_cover(name, tuple(about.size), _boxes(about))
        self.global_plan, self.metadata = plans, metadata
        return plans, metadata

    def finish_plan(self, new_plan: SavePlan) -> SavePlan:
        self.plan = new_plan
        return new_plan

    def resolve_data(self, write_item: WriteItem) -> Tensor | io.BytesIO:
        found: Tensor | io.BytesIO = self.transform_object(
            write_item, self.lookup_object(write_item.index)
        )
        return found

    def lookup_object(self, index: MetadataIndex) -> Any:
        """The tensor (this rank's part of it), or the value."""
        found = self.state_dict[index.fqn]
        return found.to_local() if isinstance(found, DTensor) else found

    def transform_object(self, write_item: WriteItem, object: Any) -> Any:
        """Values become bytes; a derived class may do more."""
        if write_item.type is WriteItemType.BYTE_IO:
            return _packed(object)
        return object


class DefaultLoadPlanner(LoadPlanner):
    """Fills the tensors that the state has. `allow_partial_load`: a value that is not in the checkpoint stays
    as it is."""

    original_state_dict: dict[str, Any]
    _leaves: dict[str, Leaf]

    def __init__(
        self,
        flatten_state_dict: bool = True,
        flatten_sharded_tensors: bool = True,
        allow_partial_load: bool = False,
    ) -> None:
        self.flatten_state_dict, self.flatten_sharded_tensors = (
            flatten_state_dict,
            flatten_sharded_tensors,
        )
        self.allow_partial_load = allow_partial_load
        self.original_state_dict, self._leaves = {}, {}

    def set_up_planner(
        self,
        state_dict: dict[str, Any],
        metadata: Metadata | None = None,
        is_coordinator: bool = False,
    ) -> None:
        self.original_state_dict = state_dict
        if self.flatten_state_dict:
            self._leaves = {leaf.name: leaf for leaf in state.leaves(state_dict)}
            state_dict = {name: leaf.value for name, leaf in self._leaves.items()}
        self.state_dict, self.metadata, self.is_coordinator = state_dict, metadata, is_coordinator

    def create_local_plan(self) -> LoadPlan:
        assert self.metadata is not None
        return create_default_local_load_plan(
            self.state_dict, self.metadata, not self.allow_partial_load
        )

    def create_global_plan(self, global_plan: list[LoadPlan]) -> list[LoadPlan]:
        return create_default_global_load_plan(global_plan)

    def finish_plan(self, new_plan: LoadPlan) -> LoadPlan:
        return new_plan

    def load_bytes(self, read_item: ReadItem, value: io.BytesIO) -> None:
        name, found = read_item.dest_index.fqn, serialization.load(value)
        self.state_dict[name] = found
        if name in self._leaves:
            self._leaves[name].put(found)

    def resolve_tensor(self, read_item: ReadItem) -> Tensor:
        return self.transform_tensor(read_item, self.lookup_tensor(read_item.dest_index))

    def commit_tensor(self, read_item: ReadItem, tensor: Tensor) -> None:
        """It is in its place already."""

    def lookup_tensor(self, index: MetadataIndex) -> Tensor:
        """This rank's part of the tensor that is to be filled."""
        found = self.state_dict[index.fqn]
        local: Tensor = found.to_local() if isinstance(found, DTensor) else found.detach()
        return local

    def transform_tensor(self, read_item: ReadItem, tensor: Tensor) -> Tensor:
        """The region of it that the item fills."""
        window = tensor.array[_region(read_item.dest_offsets, read_item.lengths)]
        out: Tensor = base.new(Tensor, window, tensor.device)
        out.storage = tensor.storage
        return out


# ---------------------------------------------------------------------------------- plans by themselves


def create_default_local_save_plan(state_dict: dict[str, Any], is_coordinator: bool) -> SavePlan:
    """One item for each entry; values are every rank's, and the first one's word will count."""
    items = []
    for name, value in state_dict.items():
        if not isinstance(value, Tensor):
            data = BytesIOWriteData(0)
            items.append(WriteItem(MetadataIndex(name), WriteItemType.BYTE_IO, bytes_io_data=data))
            continue
        box, sharded = state.box_of(value), isinstance(value, DTensor)
        chunk = ChunkStorageMetadata(Size(box.offsets), Size(box.sizes))
        tensor = TensorWriteData(
            chunk, TensorProperties.create_from_tensor(value), Size(value.shape)
        )
        kind = WriteItemType.SHARD if sharded else WriteItemType.TENSOR
        items.append(WriteItem(MetadataIndex(name, box.offsets), kind, tensor_data=tensor))
    return SavePlan(items)


def create_default_global_save_plan(
    all_plans: list[SavePlan], rewrite_index_hints: bool = True
) -> tuple[list[SavePlan], Metadata]:
    """The plans with hints where to find each chunk, and what will be there when all are carried out."""
    contents: dict[str, TensorStorageMetadata | BytesStorageMetadata] = {}
    plans = []
    for plan in all_plans:
        items = []
        for item in plan.items:
            name, data = item.index.fqn, item.tensor_data
            if data is None:
                contents[name] = BytesStorageMetadata()
                items.append(item)
                continue
            about = contents.setdefault(name, TensorStorageMetadata(data.properties, data.size, []))
            if not isinstance(about, TensorStorageMetadata) or about.size != data.size:
                raise CheckpointException(f"the ranks do not agree what {name} is: {about}, {data}")
            hint = dataclasses.replace(item.index, index=len(about.chunks))
            items.append(dataclasses.replace(item, index=hint) if rewrite_index_hints else item)
            about.chunks.append(data.chunk)
        plans.append(dataclasses.replace(plan, items=items))
    return plans, Metadata(contents)


def create_default_local_load_plan(
    state_dict: dict[str, Any], metadata: Metadata, strict: bool = True
) -> LoadPlan:
    """For each entry the saved chunks that overlap with what this rank has of it."""
    saved = metadata.state_dict_metadata
    absent = [name for name in state_dict if name not in saved]
    missing = [n for n in absent if not fresh.asks_for_nothing(n, state_dict[n], saved)]
    if missing and strict:
        known = ", ".join(list(saved)[:5])
        raise CheckpointException(
            f"Missing key in checkpoint state_dict: {', '.join(missing[:5])}"
            f"{' …' if len(missing) > 5 else ''}. The checkpoint has for example {known}"
        )
    items: list[ReadItem] = []
    for name, value in state_dict.items():
        if name in absent:
            continue
        about = saved[name]
        if isinstance(about, BytesStorageMetadata) or not isinstance(value, Tensor):
            index, nothing = MetadataIndex(name), Size((0,))
            items.append(ReadItem(LoadItemType.BYTE_IO, index, nothing, index, nothing, nothing))
        elif tuple(about.size) != tuple(value.shape):
            raise CheckpointException(
                f"Size mismatch between saved {about.size} and current: {value.shape} for {name}"
            )
        else:
            check_cover(name, tuple(about.size), _boxes(about))
            items += _overlaps(name, state.box_of(value), about)
    return LoadPlan(items)


def create_default_global_load_plan(all_plans: list[LoadPlan]) -> list[LoadPlan]:
    return all_plans


def _overlaps(name: str, wanted: Box, about: TensorStorageMetadata) -> list[ReadItem]:
    items = []
    for number, saved in enumerate(_boxes(about)):
        part = pieces.overlap(saved, wanted)
        if part is None:
            continue
        there = Size(p - w for p, w in zip(part.offsets, wanted.offsets, strict=True))
        here = Size(p - s for p, s in zip(part.offsets, saved.offsets, strict=True))
        items.append(
            ReadItem(
                LoadItemType.TENSOR, MetadataIndex(name, wanted.offsets), there,
                MetadataIndex(name, saved.offsets, number), here, Size(part.sizes),
            )
        )  # fmt: skip
    return items


def _boxes(about: TensorStorageMetadata) -> list[Box]:
    return [Box(tuple(chunk.offsets), tuple(chunk.sizes)) for chunk in about.chunks]


def _once(plans: list[SavePlan], lowest: bool) -> list[SavePlan]:
    """Each item in one plan only: the first that has it, or the one with least to write."""
    owners: dict[MetadataIndex, list[int]] = defaultdict(list)
    items: dict[MetadataIndex, WriteItem] = {}
    for rank, plan in enumerate(plans):
        for item in plan.items:
            owners[item.index].append(rank)
            items.setdefault(item.index, item)
    load = [0] * len(plans)
    keeps: list[set[MetadataIndex]] = [set() for _ in plans]
    for index, ranks in owners.items():
        size = items[index].tensor_storage_size()
        first = lowest or size is None
        rank = ranks[0] if first else min(ranks, key=lambda one: (load[one], one))
        keeps[rank].add(index)
        load[rank] += size or 0
    return [
        dataclasses.replace(plan, items=[item for item in plan.items if item.index in kept])
        for plan, kept in zip(plans, keeps, strict=True)
    ]


def _packed(value: Any) -> io.BytesIO:
    octets = io.BytesIO()
    serialization.save(value, octets)
    octets.seek(0)
    return octets


def _region(offsets: Size, lengths: Size) -> tuple[Any, ...]:
    """As an index; the dots keep it a view of a tensor without dimensions."""
    return *(slice(o, o + n) for o, n in zip(offsets, lengths, strict=True)), ...
