"""One pass of a loader over its dataset: in this process, or by workers, in order."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any, NoReturn, TypeVar

from minitorch_dist.utils.data.fetch import FetchSettings
from minitorch_dist.utils.data.pool import LoaderWorkers
from minitorch_dist.utils.data.worker import END, FAILED

Batch = TypeVar("Batch", covariant=True)


class LoaderIterator(Iterator[Batch]):
    """The common part of both."""

    def __init__(self, numbers: Any) -> None:
        self._index_sampler = numbers
        self._numbers = iter(numbers)

    def __len__(self) -> int:
        return len(self._index_sampler)

    def __getstate__(self) -> NoReturn:
        raise NotImplementedError(f"{type(self).__name__} cannot be pickled")


class SerialPass(LoaderIterator[Any]):
    """The samples are fetched when they are asked for."""

    def __init__(self, numbers: Any, recipe: FetchSettings) -> None:
        super().__init__(numbers)
        self._fetch = recipe.start()

    def __next__(self) -> Any:
        return self._fetch(next(self._numbers))


class ParallelPass(LoaderIterator[Any]):
    """Tasks go round the workers, a few ahead; their answers are put in order again."""

    def __init__(self, numbers: Any, pool: LoaderWorkers, prefetch: int, timeout: float) -> None:
        super().__init__(numbers)
        self._pool, self._timeout = pool, timeout
        workers = len(self._pool.processes)
        self._open = set(range(workers))  # the workers that have samples left
        self._round = itertools.cycle(range(workers))
        self._asked = itertools.count()
        self._waiting: dict[int, int] = {}  # number of an open task: its worker
        self._arrived: dict[int, tuple[str, Any]] = {}  # answers that came before their turn
        for _ in range(prefetch * workers):
            self._ask()

    def _ask(self) -> None:
        """Hand out the next task, if there is one, and somebody to do it."""
        for worker in itertools.islice(self._round, len(self._pool.processes)):
            if worker in self._open:
                break
        else:
            return
        try:
            wanted = next(self._numbers)
        except StopIteration:
            return
        number = next(self._asked)
        self._waiting[number] = worker
        self._pool.ask(worker, number, wanted)

    def __next__(self) -> Any:
        while self._waiting or self._arrived:
            due = min((*self._waiting, *self._arrived))
            if due in self._arrived:
                kind, data = self._arrived.pop(due)
            else:
                number, kind, data = self._listen()
                if number != due:
                    self._arrived[number] = kind, data
                    continue
            if kind == END:
                continue
            if kind == FAILED:
                raise data
            return data
        self._pool.close()
        raise StopIteration

    def _listen(self) -> tuple[int, str, Any]:
        """The next answer to this pass. The worker that gave it gets a new task."""
        while True:
            if not self._pool.close.alive:
                raise RuntimeError(
                    "The workers of this pass over the DataLoader were ended when it was "
                    "interrupted. Start a new pass: iter(loader)"
                )
            answer = self._pool.listen(self._timeout or None)
            if answer is None:
                if self._timeout:
                    raise RuntimeError(f"DataLoader timed out after {self._timeout} seconds")
                continue
            worker, (number, kind), data = answer
            del self._waiting[number]
            if kind == FAILED:
                error = data.again(f"in worker process {worker} of a DataLoader")
                # A StopIteration would end the pass in silence.
                data = RuntimeError(*error.__notes__) if isinstance(error, StopIteration) else error
            if kind == END:
                self._open.discard(worker)
            self._ask()
            return number, kind, data
