"""From sample numbers to a batch: what a loader does for each batch, wherever it runs."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

from minitorch_dist.utils.data.dataset import several

Fetch: TypeAlias = Callable[[Any], Any]


class FetchSettings(NamedTuple):
    """How a loader's batches are made."""

    dataset: Any
    iterable: bool  # the dataset is a stream, and has no numbers
    batched: bool  # batches of samples, rather than samples one by one
    collate: Callable[[Any], Any]
    drop_last: bool

    def start(self) -> Fetch:
        """A function from the numbers of a batch to the batch. A stream ends with StopIteration."""
        if self.iterable:
            return _stream(self)
        if self.batched:
            return lambda numbers: self.collate(several(self.dataset, numbers))
        return lambda number: self.collate(self.dataset[number])


def _stream(recipe: FetchSettings) -> Fetch:
    samples = iter(recipe.dataset)

    def fetch(numbers: Any) -> Any:
        if not recipe.batched:
            return recipe.collate(next(samples))
        batch = list(itertools.islice(samples, len(numbers)))
        if not batch or (recipe.drop_last and len(batch) < len(numbers)):
            raise StopIteration
        return recipe.collate(batch)

    return fetch
