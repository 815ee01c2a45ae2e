"""Results that have several parts, each with a name: `x.max(0).values`."""

from __future__ import annotations

from typing import Generic, NamedTuple

from minitorch_dist.tensors.core.base import T


class ValuesAndIndices(NamedTuple, Generic[T]):
    """Elements, and where they stand."""

    values: T
    indices: T

    def __repr__(self) -> str:
        parts = f"values={self.values!r},\nindices={self.indices!r}"
        return f"torch.return_types.{type(self).__name__}(\n{parts})"


class max(ValuesAndIndices[T]):
    __slots__ = ()


class min(ValuesAndIndices[T]):
    __slots__ = ()


class sort(ValuesAndIndices[T]):
    __slots__ = ()


class topk(ValuesAndIndices[T]):
    __slots__ = ()
