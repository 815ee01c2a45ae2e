"""`GradBucket`: the argument of a communication hook of DDP."""

from __future__ import annotations

from collections.abc import Sequence

from minitorch_dist.tensors.core.base import TensorBase


class GradBucket:
    """Some parameters' gradients in one flat tensor, which are reduced together.

    They are this rank's own: the code that reduces them also divides by the number of ranks.
    """

    def __init__(
        self,
        index: int,
        buffer: TensorBase,
        gradients: Sequence[TensorBase],
        parameters: Sequence[TensorBase],
        is_last: bool,
    ) -> None:
        self._index, self._buffer, self._is_last = index, buffer, is_last
        self._gradients, self._parameters = list(gradients), list(parameters)

    def index(self) -> int:
        """0 for the bucket that is sent first."""
        return self._index

    def buffer(self) -> TensorBase:
        """All gradients, flat, one after the other."""
        return self._buffer

    def gradients(self) -> list[TensorBase]:
        """The same memory, as one tensor in the shape of each parameter."""
        return list(self._gradients)

    def parameters(self) -> list[TensorBase]:
        return list(self._parameters)

    def is_last(self) -> bool:
        """Whether this is the last one of the backward pass."""
        return self._is_last

    def set_buffer(self, buffer: TensorBase) -> None:
        """Let another flat tensor stand for the bucket's."""
        self._buffer = buffer
