"""Datasets: what has samples, by number (`Dataset`) or one after the other (`IterableDataset`).

A map-style dataset has `__getitem__` and, where it knows its size, `__len__`. It may have
`__getitems__(indices)` too, which loaders prefer: all samples of a batch in one call.
"""

from __future__ import annotations

import bisect
import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar, cast

from minitorch_dist.tensors.generator import Generator
from minitorch_dist.tensors.makers.random import randperm
from minitorch_dist.tensors.tensor import Tensor

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Dataset(Generic[T_co]):
    """Samples by number."""

    def __getitem__(self, index: Any) -> T_co:
        raise NotImplementedError("Subclasses of Dataset should implement __getitem__.")

    def __add__(self, other: Dataset[Any]) -> Dataset[Any]:
        return ConcatDataset([self, other])

    # There is no __len__ here: len() of a dataset that does not know its size is a TypeError.


class IterableDataset(Dataset[T_co], Iterable[T_co]):
    """Samples one after the other, as from a stream.

    With several loader workers each has a copy, and each would yield everything: ask
    `get_worker_info()` in `__iter__` which part is this worker's.
    """

    def __iter__(self) -> Iterator[T_co]:
        raise NotImplementedError("Subclasses of IterableDataset should implement __iter__.")


def size(dataset: Any) -> int:
    """len(dataset), for datasets of which only the caller knows that they have one."""
    return len(dataset)


class TensorDataset(Dataset[tuple[Tensor, ...]]):
    """Sample i is the tuple of row i of every tensor.

    Args:
        *tensors: Tensors with as many rows.

    Example:
        >>> utils.data.TensorDataset(torch.arange(3), torch.ones(3))[2]
        (tensor(2), tensor(1.))
    """

    def __init__(self, *tensors: Tensor) -> None:
        if any(len(t.array) != len(tensors[0].array) for t in tensors):
            raise AssertionError(f"Size mismatch between tensors: {[len(t.array) for t in tensors]} rows")
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple[Tensor, ...]:
        return tuple(tensor[index] for tensor in self.tensors)

    def __len__(self) -> int:
        return len(self.tensors[0].array)


def several(dataset: Any, indices: Sequence[Any]) -> list[Any]:
    """The samples of `indices`, in one call where the dataset offers that."""
    together = getattr(dataset, "__getitems__", None)
    if together:
        return cast("list[Any]", together(indices))
    return [dataset[i] for i in indices]


class ConcatDataset(Dataset[T_co]):
    """The samples of the first dataset, then those of the second, and so on."""

    def __init__(self, datasets: Iterable[Dataset[Any]]) -> None:
        self.datasets = list(datasets)
        if not self.datasets:
            raise AssertionError("datasets should not be an empty iterable")
        if any(isinstance(d, IterableDataset) for d in self.datasets):
            raise AssertionError("ConcatDataset does not support IterableDataset")
        self.cumulative_sizes = list(itertools.accumulate(size(d) for d in self.datasets))

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, idx: int) -> T_co:
        if idx < 0:
            if -idx > len(self):
                raise ValueError("absolute value of index should not exceed dataset length")
            idx += len(self)
        which = bisect.bisect_right(self.cumulative_sizes, idx)
        if which == len(self.datasets):
            raise IndexError(f"index {idx} is out of range: there are {len(self)} samples")
        before = self.cumulative_sizes[which - 1] if which else 0
        return cast("T_co", self.datasets[which][idx - before])


class Subset(Dataset[T_co]):
    """Some samples of a dataset, by their numbers there."""

    def __init__(self, dataset: Dataset[T_co], indices: Sequence[int]) -> None:
        self.dataset, self.indices = dataset, indices

    def __getitem__(self, idx: Any) -> T_co:
        if isinstance(idx, list):
            return self.dataset[[self.indices[i] for i in idx]]
        return self.dataset[self.indices[idx]]

    def __len__(self) -> int:
        return len(self.indices)


def random_split(
    dataset: Dataset[T], lengths: Sequence[int | float], generator: Generator | None = None
) -> list[Subset[T]]:
    """Disjoint random subsets with these lengths, or these fractions that add up to 1.

    Fractions are rounded down, and what remains is given one each to the first subsets.
    """
    total = size(dataset)
    if math.isclose(sum(lengths), 1) and sum(lengths) <= 1:
        for i, fraction in enumerate(lengths):
            if not 0 <= fraction <= 1:
                raise ValueError(f"Fraction at index {i} is not between 0 and 1")
        lengths = [math.floor(total * fraction) for fraction in lengths]
        for i in range(total - int(sum(lengths))):
            lengths[i % len(lengths)] += 1
    if (given := sum(lengths)) != total:
        raise ValueError(f"Sum of input lengths does not equal the length of the input dataset! ({given}, {total})")
    order = iter(randperm(total, generator=generator).array.tolist())
    return [Subset(dataset, list(itertools.islice(order, int(n)))) for n in lengths]
