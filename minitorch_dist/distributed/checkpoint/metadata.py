"""The metadata of a checkpoint, known without reading its tensors: names, shapes, and which chunks were saved."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from minitorch_dist.tensors import dtypes
from minitorch_dist.tensors.core.base import TensorBase
from minitorch_dist.tensors.size import Size


@dataclass
class ChunkStorageMetadata:
    """A box of a tensor."""

    offsets: Size
    sizes: Size


@dataclass
class TensorProperties:
    """The properties of a tensor besides its values."""

    dtype: dtypes.dtype = field(default_factory=dtypes.get_default_dtype)
    requires_grad: bool = False
    pin_memory: bool = False

    @staticmethod
    def create_from_tensor(tensor: TensorBase) -> TensorProperties:
        return TensorProperties(tensor.dtype, tensor.requires_grad)


@dataclass
class TensorStorageMetadata:
    """A tensor as a whole, and the chunks of it that were saved."""

    properties: TensorProperties
    size: Size
    chunks: list[ChunkStorageMetadata]


@dataclass
class BytesStorageMetadata:
    """A value that is no tensor."""


@dataclass
class StorageMeta:
    """Which checkpoint this is."""

    checkpoint_id: str | os.PathLike[str] | None = None
    save_id: str | None = None
    load_id: str | None = None
    modules: list[str] = field(default_factory=list)


@dataclass
class Metadata:
    """A checkpoint's table of contents."""

    state_dict_metadata: dict[str, TensorStorageMetadata | BytesStorageMetadata]
    planner_data: Any = None  # of DefaultSavePlanner: the keys that lead to each name
    storage_data: Any = None
    storage_meta: StorageMeta | None = None
    version: str | None = None


@dataclass(frozen=True)
class MetadataIndex:
    """One entry of a state: a name, and which chunk of it. `index` is a hint where to look first."""

    fqn: str
    offset: Size | None = None
    index: int | None = field(hash=False, compare=False, default=None)

    def __init__(
        self, fqn: str, offset: Sequence[int] | None = None, index: int | None = None
    ) -> None:
        object.__setattr__(self, "fqn", fqn)
        object.__setattr__(self, "offset", None if offset is None else Size(offset))
        object.__setattr__(self, "index", index)
