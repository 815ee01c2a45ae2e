"""Data for a training that stops in the middle and goes on with other ranks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sized
from itertools import islice
from typing import Generic, TypeVar

from minitorch_dist.tensors.generator import Generator
from minitorch_dist.tensors.ops.making.random import randperm
from minitorch_dist.utils.data.distributed import DistributedSampler

V = TypeVar("V")


class CyclingIterator(Generic[V]):
    """The iterators of several epochs as one: `generator_fn(epoch)` for epochs start_epoch … n - 1."""

    def __init__(
        self, n: int, generator_fn: Callable[[int], Iterator[V]], start_epoch: int = 0
    ) -> None:
        self._n, self._epoch, self._generator_fn = n, start_epoch, generator_fn
        self._iterator = generator_fn(start_epoch)

    def __iter__(self) -> CyclingIterator[V]:
        return self

    def __next__(self) -> V:
        while True:
            try:
                return next(self._iterator)
            except StopIteration:
                if self._epoch >= self._n - 1:
                    raise
                self._epoch += 1
                self._iterator = self._generator_fn(self._epoch)


class ElasticDistributedSampler(DistributedSampler):
    """As `DistributedSampler`, from sample `start_index` on: those before were visited before the restart."""

    def __init__(
        self,
        dataset: Sized,
        num_replicas: int | None = None,
        rank: int | None = None,
        start_index: int = 0,
    ) -> None:
        super().__init__(dataset, num_replicas, rank)
        if start_index >= len(dataset):
            raise ValueError(
                f"Start index {start_index} should be less than dataset size {len(dataset)}"
            )
        self.start_index = start_index
        self.num_samples = -(-(len(dataset) - start_index) // self.num_replicas)
        self.total_size = self.num_samples * self.num_replicas

    def __iter__(self) -> Iterator[int]:
        source = Generator().manual_seed(self.epoch)
        left = len(self.dataset) - self.start_index
        numbers = [n + self.start_index for n in randperm(left, generator=source).array.tolist()]
        numbers += numbers[: self.total_size - left]
        return islice(numbers, self.rank, self.total_size, self.num_replicas)
