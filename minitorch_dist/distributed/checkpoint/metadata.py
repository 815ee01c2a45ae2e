"""The metadata of a checkpoint, known without reading its tensors: names, shapes, and which chunks were saved."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from minitorch_dist import not_offered
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
class Metadata:
    """A checkpoint's table of contents."""

    state_dict_metadata: dict[str, TensorStorageMetadata | BytesStorageMetadata]
    planner_data: Any = None  # the keys that lead to each name


not_offered.guard(globals())
