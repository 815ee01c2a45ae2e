"""In which order a loader visits a dataset: iterables of sample numbers, or of lists of them."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sized
from typing import Any, Generic, TypeVar

import numpy as np

from minitorch_dist.tensors import generator as generators
from minitorch_dist.tensors.generator import Generator
from minitorch_dist.tensors.makers.random import randint, randperm

T_co = TypeVar("T_co", covariant=True)


class Sampler(Generic[T_co]):
    """Base class. `__len__` is optional; a loader without it has no length either."""

    def __iter__(self) -> Iterator[T_co]:
        raise NotImplementedError(f"{type(self).__name__} has no __iter__()")


def draw_seed(generator: Generator | None) -> int:
    """A number in [0, 2⁶³) from `generator`, or from the default one."""
    return int((generator or generators.current()).words(1)[0] >> np.uint64(1))


def _positive(name: str, value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value <= 0:
        raise ValueError(f"{name} should be a positive integer value, but got {name}={value}")
    return value


class SequentialSampler(Sampler[int]):
    """0, 1, 2, …"""

    def __init__(self, data_source: Sized) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


class RandomSampler(Sampler[int]):
    """All samples in random order; or any, again and again (`replacement`).

    `num_samples` may ask for fewer or more than there are: without replacement, one permutation
    follows the other. Without a generator each pass takes a new seed from the default one.
    """

    def __init__(
        self,
        data_source: Sized,
        replacement: bool = False,
        num_samples: int | None = None,
        generator: Generator | None = None,
    ) -> None:
        self.data_source, self.replacement = data_source, replacement
        self._num_samples, self.generator = num_samples, generator
        _positive("num_samples", self.num_samples)

    @property
    def num_samples(self) -> int:
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self) -> Iterator[int]:
        n, left = len(self.data_source), self.num_samples
        source = self.generator
        if source is None:
            source = Generator().manual_seed(draw_seed(None))
        while left > 0:
            if self.replacement:
                numbers = randint(0, n, (min(left, 1024),), generator=source)
            else:
                numbers = randperm(n, generator=source)
            yield from numbers.array[:left].tolist()
            left -= len(numbers.array)

    def __len__(self) -> int:
        return self.num_samples


class BatchSampler(Sampler[list[int]]):
    """Lists of `batch_size` numbers; the last may be shorter, or is dropped."""

    def __init__(self, sampler: Iterable[int], batch_size: int, drop_last: bool) -> None:
        self.batch_size = _positive("batch_size", batch_size)
        self.sampler, self.drop_last = sampler, drop_last

    def __iter__(self) -> Iterator[list[int]]:
        numbers = iter(self.sampler)
        while batch := list(itertools.islice(numbers, self.batch_size)):
            if len(batch) < self.batch_size and self.drop_last:
                return
            yield batch

    def __len__(self) -> int:
        count = len(self.sampler)  # type: ignore[arg-type]
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)
