"""Sequences of different lengths in one tensor: padded to a rectangle, or packed without gaps.

    padded (time by batch)     packed: the first steps of all, then the second steps …
    a x .                      data        a x b y c
    b y .                      batch_sizes 2 2 1
    c . .

Sequences are packed longest first; `sorted_indices` says in which order they were taken,
`unsorted_indices` how to undo it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple, Self

import numpy as np

from minitorch_dist.tensors import dtypes
from minitorch_dist.tensors.autograd.joint import record_joint
from minitorch_dist.tensors.core import base
from minitorch_dist.tensors.core.base import Array, TensorBase
from minitorch_dist.tensors.core.graph import record
from minitorch_dist.tensors.tensor import Tensor


class _Fields(NamedTuple):
    data: Tensor
    batch_sizes: Tensor
    sorted_indices: Tensor | None
    unsorted_indices: Tensor | None


class PackedSequence(_Fields):
    """The result of `pack_padded_sequence`, which recurrent layers take; not made by hand."""

    def __new__(
        cls,
        data: Tensor,
        batch_sizes: Tensor | None = None,
        sorted_indices: Tensor | None = None,
        unsorted_indices: Tensor | None = None,
    ) -> Self:
        if batch_sizes is None:
            data, batch_sizes = data
        if batch_sizes.device.type != "cpu":
            raise ValueError(
                "batch_sizes should always be on CPU. Instances of PackedSequence should never be "
                "created manually. They should be instantiated by functions like pack_sequence and "
                "pack_padded_sequence in nn.utils.rnn."
            )
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """The data in another dtype or on another device, and the indices with it."""
        data = self.data.to(*args, **kwargs)
        if data is self.data:
            return self
        indices = [
            None if i is None else i.to(device=data.device)
            for i in (self.sorted_indices, self.unsorted_indices)
        ]
        return type(self)(data, self.batch_sizes, *indices)

    def cuda(self, device: Any = "cuda") -> Self:
        return self.to(device=device)

    def cpu(self) -> Self:
        return self.to(device="cpu")

    def double(self) -> Self:
        return self.to(dtype=dtypes.float64)

    def float(self) -> Self:
        return self.to(dtype=dtypes.float32)

    def half(self) -> Self:
        return self.to(dtype=dtypes.float16)

    def long(self) -> Self:
        return self.to(dtype=dtypes.int64)

    def int(self) -> Self:
        return self.to(dtype=dtypes.int32)

    @property
    def is_cuda(self) -> bool:
        return self.data.device.type == "cuda"


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    if permutation is None:
        return None
    inverse = np.empty_like(permutation.array)
    inverse[permutation.array] = np.arange(inverse.size)
    return base.new(Tensor, inverse, permutation.device)


# ------------------------------------------------------------------------------------------- packing


def pack_padded_sequence(
    input: Tensor,
    lengths: Tensor | Iterable[int],
    batch_first: bool = False,
    enforce_sorted: bool = True,
) -> PackedSequence:
    """Pack (time, batch, *), or (batch, time, *), of sequences with these lengths.

    With `enforce_sorted` they must come longest first; without it they are sorted.
    """
    given = lengths.array if isinstance(lengths, TensorBase) else np.asarray(list(lengths))
    sizes = given.astype(np.int64)
    batch = input.array.shape[0 if batch_first else 1]
    _check_lengths(sizes, batch, input)
    order = np.arange(batch)
    indices = None
    if not enforce_sorted:
        order = np.argsort(-sizes, kind="stable")
        indices = base.new(Tensor, order, input.device)
    elif (np.diff(sizes) > 0).any():
        raise RuntimeError(
            "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You "
            "can pass `enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to "
            "sidestep this requirement if you do not need ONNX exportability."
        )
    times, places = _steps(sizes[order])
    where = (order[places], times) if batch_first else (times, order[places])
    x = input.array
    shape, dtype = x.shape, x.dtype

    def unpack(grad: Array) -> Array:
        out = np.zeros(shape, dtype, like=grad)
        out[where] = grad
        return out

    data = record(x[where], "PackPaddedSequenceBackward0", (input, unpack))
    batch_sizes = np.bincount(times).astype(np.int64)
    return PackedSequence(data, base.new(Tensor, batch_sizes), indices, None)


def pad_packed_sequence(
    sequence: PackedSequence,
    batch_first: bool = False,
    padding_value: float = 0.0,
    total_length: int | None = None,
) -> tuple[Tensor, Tensor]:
    """The padded tensor and the lengths, in the order the sequences had before packing."""
    data, counts = sequence.data, sequence.batch_sizes.array
    longest = len(counts)
    if total_length is not None:
        if total_length < longest:
            raise ValueError(
                "Expected total_length to be at least the length of the longest sequence in input, "
                f"but got total_length={total_length} and max sequence length being {longest}"
            )
        longest = total_length
    batch = int(counts[0])
    sizes = (counts[:, None] > np.arange(batch)).sum(0)
    times, places = _steps(sizes)
    order = np.arange(batch)
    if sequence.sorted_indices is not None:
        order = sequence.sorted_indices.array
    where = (order[places], times) if batch_first else (times, order[places])
    corner = (batch, longest) if batch_first else (longest, batch)
    out = np.full(
        (*corner, *data.array.shape[1:]), padding_value, data.array.dtype, like=data.array
    )
    out[where] = data.array
    lengths = np.empty_like(sizes)
    lengths[order] = sizes
    padded = record(out, "PadPackedSequenceBackward0", (data, lambda g: g[where]))
    return padded, base.new(Tensor, lengths)


def _steps(sizes: Array) -> tuple[Array, Array]:
    """For sequences of these sizes, longest first: time and place of every packed step."""
    times, places = np.nonzero(np.arange(sizes.max(initial=0))[:, None] < sizes)
    return times, places


def _check_lengths(sizes: Array, batch: int, input: Tensor) -> None:
    if input.array.size == 0:
        raise RuntimeError("Cannot pack empty tensors.")
    if len(sizes) != batch:
        raise RuntimeError(
            f"Expected `len(lengths)` to be equal to batch_size, but got {len(sizes)} (batch_size="
            f"{batch})"
        )
    if (sizes <= 0).any():
        raise RuntimeError(
            "Length of all samples has to be greater than 0, but found an element in 'lengths' "
            "that is <= 0"
        )


# ------------------------------------------------------------------------------------------- padding


def pad_sequence(
    sequences: Iterable[Tensor],
    batch_first: bool = False,
    padding_value: float = 0.0,
    padding_side: str = "right",
) -> Tensor:
    """Tensors (length, *) of different lengths as one (longest, batch, *), or (batch, longest, *)."""
    if not isinstance(sequences, Iterable):
        raise RuntimeError(
            "pad_sequence: Expected iterable for input sequences, but got arg of type: "
            f"{type(sequences)}"
        )
    found = tuple(sequences)
    if not found:
        raise RuntimeError("Expected a non-empty list of Tensors")
    if padding_side not in ("left", "right"):
        raise RuntimeError(
            f"Expected padding_side to be one of left or right, but got {padding_side}."
        )
    first = found[0].array
    longest = max(len(s.array) for s in found)
    out = np.full((len(found), longest, *first.shape[1:]), padding_value, first.dtype, like=first)
    windows = []
    for row, sequence in zip(out, found, strict=True):
        size = len(sequence.array)
        window = slice(0, size) if padding_side == "right" else slice(longest - size, longest)
        row[window] = sequence.array
        windows.append(window)
    if not batch_first:
        out = out.swapaxes(0, 1)

    def cut(grad: Array) -> list[Array]:
        rows = grad if batch_first else grad.swapaxes(0, 1)
        return [row[window] for row, window in zip(rows, windows, strict=True)]

    return record_joint(out, "PadSequenceBackward0", found, cut)


def unpad_sequence(
    padded_sequences: Tensor, lengths: Tensor, batch_first: bool = False
) -> list[Tensor]:
    """The sequences without their padding."""
    rows = padded_sequences if batch_first else padded_sequences.transpose(0, 1)
    return [row[: int(n)] for row, n in zip(rows.unbind(0), lengths.array, strict=True)]


def pack_sequence(sequences: Iterable[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """Pack a list of tensors (length, *)."""
    found = list(sequences)
    lengths = [len(s.array) for s in found]
    return pack_padded_sequence(pad_sequence(found), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)
