"""DataLoader: what to load, in which order, in batches of which size, by whom."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterable, Iterator
from multiprocessing.context import BaseContext
from types import GenericAlias
from typing import TYPE_CHECKING, Any, Generic, TypedDict, TypeVar, Unpack, overload

from minitorch_dist.tensors.generator import Generator
from minitorch_dist.tensors.tensor import Tensor
from minitorch_dist.utils.data.collate import default_collate, default_convert
from minitorch_dist.utils.data.dataset import Dataset, IterableDataset, size
from minitorch_dist.utils.data.fetch import FetchSettings
from minitorch_dist.utils.data.iteration import LoaderIterator, ParallelPass, SerialPass
from minitorch_dist.utils.data.pool import LoaderWorkers
from minitorch_dist.utils.data.sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler, draw_seed

T_co = TypeVar("T_co", covariant=True)
One = TypeVar("One", bound="Tensor | float")
Parts = TypeVar("Parts", bound="tuple[Tensor | float, ...]")
if TYPE_CHECKING:
    from typing_extensions import TypeVar as WithDefault

    Batch = WithDefault("Batch", default=Any)  # `DataLoader[Sample]` is enough, as in torch
else:
    Batch = TypeVar("Batch")


class Others(TypedDict, total=False):
    """To type checkers: the options that do not change what a batch is."""

    sampler: Iterable[Any] | None
    batch_sampler: Iterable[list[Any]] | None
    num_workers: int
    pin_memory: bool
    drop_last: bool
    timeout: float
    worker_init_fn: Callable[[int], None] | None
    multiprocessing_context: str | BaseContext | None
    generator: Generator | None
    prefetch_factor: int | None
    persistent_workers: bool


class Endless(Sampler[None]):
    """The numbers of a stream's samples: it has none, and only the stream knows its end."""

    def __iter__(self) -> Iterator[None]:
        while True:
            yield None


class DataLoader(Generic[T_co, Batch]):
    """Batches of a dataset. Iterate over it once per epoch.

    Worker processes end with the epoch. Their exceptions are raised here, and their death is.

    Args:
        dataset: Samples by number, or an iterable.
        batch_size: Samples in a batch; None switches batching off.
        shuffle: A random order each epoch.
        sampler: An order of numbers of your own.
        batch_sampler: An order of lists of numbers.
        num_workers: How many processes fetch batches; 0 is none.
        collate_fn: Makes a batch of a list of samples.
        pin_memory: Accepted as in torch; it changes nothing.
        drop_last: Leave out a last batch that is smaller.
        timeout: Seconds to wait for a worker; 0 is for ever.
        worker_init_fn: Called in each worker with its number.
        multiprocessing_context: How workers are started, such as "spawn".
        generator: Where the random order comes from.
        prefetch_factor: Batches that each worker fetches ahead of time.
        persistent_workers: Accepted as in torch; it changes nothing.

    Example:
        >>> data = utils.data.TensorDataset(torch.arange(5))
        >>> [batch[0].tolist() for batch in utils.data.DataLoader(data, batch_size=2)]
        [[0, 1], [2, 3], [4]]
    """

    if not TYPE_CHECKING:  # `DataLoader[Sample]`, as in torch
        __class_getitem__ = classmethod(GenericAlias)

    @overload
    def __init__(
        self: DataLoader[One, Tensor],
        dataset: Dataset[One],
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        *,
        collate_fn: None = None,
        **options: Unpack[Others],
    ) -> None: ...
    @overload
    def __init__(
        self: DataLoader[Parts, list[Tensor]],
        dataset: Dataset[Parts],
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        *,
        collate_fn: None = None,
        **options: Unpack[Others],
    ) -> None: ...
    @overload
    def __init__(
        self: DataLoader[T_co, Batch],
        dataset: Dataset[T_co],
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        *,
        collate_fn: Callable[[list[T_co]], Batch],
        **options: Unpack[Others],
    ) -> None: ...
    @overload
    def __init__(
        self: DataLoader[T_co, Any],
        dataset: Dataset[T_co],
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        *,
        collate_fn: Callable[[list[Any]], Any] | None = None,
        **options: Unpack[Others],
    ) -> None: ...
    def __init__(
        self,
        dataset: Dataset[Any],
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
        self.dataset: Dataset[T_co] = dataset
        self._is_stream = isinstance(dataset, IterableDataset)
        _check_workers(num_workers, timeout, prefetch_factor, persistent_workers)
        if self._is_stream:
            _check_stream(shuffle=shuffle, sampler=sampler, batch_sampler=batch_sampler)
        self.num_workers, self.timeout = num_workers, timeout
        self.prefetch_factor = 2 if num_workers and prefetch_factor is None else prefetch_factor
        self.pin_memory, self.worker_init_fn = pin_memory, worker_init_fn
        self.multiprocessing_context: Any = multiprocessing_context
        if isinstance(multiprocessing_context, str):
            self.multiprocessing_context = multiprocessing.get_context(multiprocessing_context)
        if sampler is not None and shuffle:
            raise ValueError("sampler option is mutually exclusive with shuffle")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                words = "batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and drop_last"
                raise ValueError(words)
            batch_size = None
        elif batch_size is None and drop_last:
            raise ValueError("batch_size=None option disables auto-batching and is mutually exclusive with drop_last")
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

    def _default_sampler(self, shuffle: bool | None, generator: Generator | None) -> Sampler[Any]:
        if self._is_stream:
            return Endless()
        dataset: Any = self.dataset
        return RandomSampler(dataset, generator=generator) if shuffle else SequentialSampler(dataset)

    # ----------------------------------------------------------------------------------- iterating

    @property
    def _index_sampler(self) -> Any:
        return self.sampler if self.batch_sampler is None else self.batch_sampler

    def __iter__(self) -> LoaderIterator[Batch]:
        base_seed = draw_seed(self.generator)
        batches = self.batch_sampler is not None
        recipe = FetchSettings(self.dataset, self._is_stream, batches, self.collate_fn, self.drop_last)
        if self.num_workers == 0:
            return SerialPass(self._index_sampler, recipe)
        context = self.multiprocessing_context
        workers = LoaderWorkers(recipe, self.num_workers, base_seed, self.worker_init_fn, context)
        return ParallelPass(self._index_sampler, workers, self.prefetch_factor or 2, self.timeout)

    def __len__(self) -> int:
        """The number of batches. Of a stream: if its dataset has a length, which it may exceed."""
        if not self._is_stream:
            return size(self._index_sampler)
        length = size(self.dataset)
        if self.batch_size is None:
            return length
        return length // self.batch_size if self.drop_last else -(-length // self.batch_size)


def _check_workers(num_workers: int, timeout: float, prefetch_factor: int | None, persistent_workers: bool) -> None:
    if num_workers < 0:
        raise ValueError("num_workers option should be non-negative; use num_workers=0 to disable multiprocessing.")
    if timeout < 0:
        raise ValueError("timeout option should be non-negative")
    if num_workers == 0 and (prefetch_factor is not None or persistent_workers):
        raise ValueError("prefetch_factor and persistent_workers need num_workers > 0")
    if prefetch_factor is not None and prefetch_factor <= 0:
        raise ValueError(f"prefetch_factor should be positive, but got {prefetch_factor}")


def _check_stream(**options: Any) -> None:
    for name, value in options.items():
        if value:
            raise ValueError(f"DataLoader with IterableDataset: expected unspecified {name} option, but got {value}")
