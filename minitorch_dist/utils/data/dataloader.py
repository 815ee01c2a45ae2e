"""DataLoader: what to load, in which order, in batches of which size, by whom."""

from __future__ import annotations

import multiprocessing
import os
import warnings
from collections.abc import Callable, Iterable, Iterator
from multiprocessing.context import BaseContext
from typing import Any, Generic, TypeVar

from minitorch_dist.tensors.generator import Generator
from minitorch_dist.utils.data.collate import default_collate, default_convert
from minitorch_dist.utils.data.dataset import Dataset, IterableDataset, size
from minitorch_dist.utils.data.fetch import FetchSettings
from minitorch_dist.utils.data.iteration import LoaderIterator, ParallelPass, SerialPass
from minitorch_dist.utils.data.pool import LoaderWorkers
from minitorch_dist.utils.data.sampler import (
    BatchSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
    draw_seed,
)

T_co = TypeVar("T_co", covariant=True)

_FIXED = ("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers")


class Endless(Sampler[None]):
    """The numbers of a stream's samples: it has none, and only the stream knows its end."""

    def __iter__(self) -> Iterator[None]:
        while True:
            yield None


class DataLoader(Generic[T_co]):
    """Iterate over it once per epoch.

    `batch_size=None` switches batching off. `num_workers` processes fetch `prefetch_factor`
    batches each ahead of time; with `persistent_workers` they stay for the next epoch. Their
    exceptions are raised here, and their death is. `pin_memory` has no effect.
    """

    _is_complete = False
    _iterator: ParallelPass | None = None

    def __init__(
        self,
        dataset: Dataset[T_co],
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Iterable[Any] | None = None,
        batch_sampler: Iterable[list[Any]] | None = None,
        num_workers: int = 0,
        collate_fn: Callable[[list[Any]], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], None] | None = None,
        multiprocessing_context: str | BaseContext | None = None,
        generator: Generator | None = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
    ) -> None:
        self.dataset = dataset
        self._is_stream = isinstance(dataset, IterableDataset)
        _check_workers(num_workers, timeout, prefetch_factor, persistent_workers)
        if self._is_stream:
            _check_stream(shuffle, sampler, batch_sampler)
        self.num_workers, self.timeout = num_workers, timeout
        self.prefetch_factor = 2 if num_workers and prefetch_factor is None else prefetch_factor
        self.pin_memory, self.worker_init_fn = pin_memory, worker_init_fn
        self.multiprocessing_context = _context(multiprocessing_context, num_workers)
        if sampler is not None and shuffle:
            raise ValueError("sampler option is mutually exclusive with shuffle")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise ValueError(
                    "batch_sampler option is mutually exclusive with batch_size, shuffle, "
                    "sampler, and drop_last"
                )
            batch_size = None
        elif batch_size is None and drop_last:
            raise ValueError(
                "batch_size=None option disables auto-batching and is mutually exclusive with "
                "drop_last"
            )
        if sampler is None:
            sampler = self._default_sampler(shuffle, generator)
        if batch_size is not None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.batch_size, self.drop_last = batch_size, drop_last
        self.sampler, self.batch_sampler = sampler, batch_sampler
        self.generator = generator
        if collate_fn is None:
            collate_fn = default_convert if batch_sampler is None else default_collate
        self.collate_fn = collate_fn
        self.persistent_workers = persistent_workers
        self._announced: int | None = None  # what len() said of a stream
        self._is_complete = True
        _warn_of_many(num_workers)

    def _default_sampler(self, shuffle: bool | None, generator: Generator | None) -> Sampler[Any]:
        if self._is_stream:
            return Endless()
        dataset: Any = self.dataset
        return (
            RandomSampler(dataset, generator=generator) if shuffle else SequentialSampler(dataset)
        )

    def __setattr__(self, name: str, value: Any) -> None:
        if self._is_complete and name in _FIXED:
            raise ValueError(
                f"{name} attribute should not be set after {type(self).__name__} is initialized"
            )
        super().__setattr__(name, value)

    # ----------------------------------------------------------------------------------- iterating

    @property
    def _index_sampler(self) -> Any:
        return self.sampler if self.batch_sampler is None else self.batch_sampler

    def __iter__(self) -> LoaderIterator:
        base_seed = draw_seed(self.generator)
        recipe = FetchSettings(
            self.dataset,
            self._is_stream,
            self.batch_sampler is not None,
            self.collate_fn,
            self.drop_last,
        )
        if self.num_workers == 0:
            return SerialPass(self._index_sampler, recipe, self._announced)
        if self._iterator is not None and self._iterator.is_alive():
            self._iterator.restart(self._announced)
            return self._iterator
        if not self.prefetch_factor:
            raise AssertionError("prefetch_factor must be greater than 0")
        made = ParallelPass(
            self._index_sampler,
            recipe,
            self._announced,
            lambda: LoaderWorkers(
                recipe,
                self.num_workers,
                base_seed,
                self.worker_init_fn,
                self.multiprocessing_context,
            ),
            self.prefetch_factor,
            self.timeout,
            self.persistent_workers,
        )
        if self.persistent_workers:
            self._iterator = made
        return made

    def __len__(self) -> int:
        """The number of batches. Of a stream: if its dataset has a length, which it may exceed."""
        if not self._is_stream:
            return size(self._index_sampler)
        length = self._announced = size(self.dataset)
        if self.batch_size is None:
            return length
        return length // self.batch_size if self.drop_last else -(-length // self.batch_size)

    def __repr__(self) -> str:
        batches = "single elements" if self.batch_size is None else f"batches of {self.batch_size}"
        if self.batch_size is None and self.batch_sampler is not None:
            batches = f"batches by {type(self.batch_sampler).__name__}"
        by = f"{self.num_workers} workers" if self.num_workers else "this process"
        return f"<DataLoader: {batches} of {type(self.dataset).__name__}, made by {by}>"

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_iterator": None}  # processes stay here


def _context(context: str | BaseContext | None, num_workers: int) -> BaseContext | None:
    """How worker processes are started, by Python's name for it."""
    if context is not None and num_workers == 0:
        raise ValueError(
            "multiprocessing_context can only be used with multi-process loading "
            f"(num_workers > 0), but got num_workers={num_workers}"
        )
    methods = multiprocessing.get_all_start_methods()
    if isinstance(context, str) and context not in methods:
        raise ValueError(
            "multiprocessing_context option should specify a valid start method in "
            f"{methods!r}, but got multiprocessing_context={context!r}"
        )
    made = multiprocessing.get_context(context) if isinstance(context, str) else context
    if not isinstance(made, BaseContext | None):
        raise TypeError(
            "multiprocessing_context option should be a valid context object or a string "
            f"specifying the start method, but got multiprocessing_context={context}"
        )
    return made


def _warn_of_many(num_workers: int) -> None:
    """Warn about more workers than processors."""
    count = getattr(os, "sched_getaffinity", None)
    processors = len(count(0)) if count else os.cpu_count() or 1
    if num_workers > processors:
        warnings.warn(
            f"This DataLoader will create {num_workers} worker processes in total. Our "
            f"suggested max number of worker in current system is {processors}. Please be "
            "aware that excessive worker creation might get DataLoader running slow or even "
            "freeze, lower the worker number to avoid potential slowness/freeze if necessary.",
            UserWarning,
            stacklevel=3,
        )


def _check_workers(
    num_workers: int, timeout: float, prefetch_factor: int | None, persistent_workers: bool
) -> None:
    if num_workers < 0:
        raise ValueError(
            "num_workers option should be non-negative; use num_workers=0 to disable "
            "multiprocessing."
        )
    if timeout < 0:
        raise ValueError("timeout option should be non-negative")
    if num_workers == 0 and prefetch_factor is not None:
        raise ValueError(
            "prefetch_factor option could only be specified in multiprocessing.let num_workers > 0 "
            "to enable multiprocessing, otherwise set prefetch_factor to None."
        )
    if prefetch_factor is not None and prefetch_factor < 0:
        raise ValueError("prefetch_factor option should be non-negative")
    if persistent_workers and num_workers == 0:
        raise ValueError("persistent_workers option needs num_workers > 0")


def _check_stream(shuffle: Any, sampler: Any, batch_sampler: Any) -> None:
    for name, value in ("sampler", sampler), ("batch_sampler", batch_sampler):
        if value is not None:
            raise ValueError(
                f"DataLoader with IterableDataset: expected unspecified {name} option, but got "
                f"{name}={value}"
            )
    if shuffle:
        raise ValueError(
            "DataLoader with IterableDataset: expected unspecified shuffle option, but got "
            f"shuffle={shuffle}"
        )
