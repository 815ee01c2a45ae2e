"""Workers of a DataLoader on simulated ranks: processes of the system, as ever.

A rank waits for its workers in real time, and virtual time stands still meanwhile: to load costs nothing. The order of
batches does not depend on real time (but with `in_order=False`), so a run is the same each time. Queues, events and
processes are made and used outside of the simulation. Else they would have virtual locks, and a worker would be a
simulated rank. A worker finds the rank's environment and its `torch.distributed`, as a forked one does elsewhere.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from weakref import WeakSet

import torch.multiprocessing
from torch.utils.data import dataloader

from minitorch_dist.distributed import world
from minitorch_dist.distributed.world import WorldScope
from minitorch_dist.launching.wall_clock import is_simulated
from minitorch_dist.pytorch.replacing import replaced

Iterators = WeakSet[Any]


@contextmanager
def in_place() -> Iterator[None]:
    """For all ranks of a run. No worker outlives it."""
    kind, begun = dataloader._MultiProcessingDataLoaderIter, WeakSet[Any]()
    with replaced(kind, "__init__", _with_workers(kind.__init__, begun)):
        try:
            yield
        finally:
            for each in list(begun):
                each._shutdown_workers()


def _with_workers(original: Callable[..., None], begun: Iterators) -> Callable[..., None]:
    def init(self: Any, loader: Any) -> None:
        if not is_simulated():
            return original(self, loader)
        begun.add(self)
        original(self, LoaderOutside(loader))

    return init


class LoaderOutside:
    """The loader, whose context makes processes outside of the simulation."""

    def __init__(self, loader: Any) -> None:
        self._loader = loader

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)

    @property
    def multiprocessing_context(self) -> ContextOutside:
        return ContextOutside(self._loader.multiprocessing_context or torch.multiprocessing)


class ContextOutside:
    """Of multiprocessing; as much of it as the loader uses."""

    def __init__(self, real: Any) -> None:
        self._real = real

    def Queue(self) -> ActingOutside:
        with _outside():
            return ActingOutside(self._real.Queue())

    def Event(self) -> ActingOutside:
        with _outside():
            return ActingOutside(self._real.Event())

    def Process(self, target: Callable[..., Any], args: tuple[Any, ...]) -> ActingOutside:
        with _outside():
            return ActingOutside(self._real.Process(target=target, args=tuple(map(_real, args))))


class ActingOutside:
    """Of a queue, an event or a process: what it does, it does outside of the simulation."""

    def __init__(self, real: Any) -> None:
        object.__setattr__(self, "real", real)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.real, name)
        return _called_outside(found) if callable(found) else found

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self.real, name, value)


def _real(given: Any) -> Any:
    return given.real if isinstance(given, ActingOutside) else given


def _called_outside(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        with _outside(), warnings.catch_warnings():
            # of a fork beside other threads: here these are ranks, which wait and hold nothing
            warnings.filterwarnings("ignore", "This process .* is multi-threaded", DeprecationWarning)
            return function(*args, **kwargs)

    return call


def _outside() -> world.StandingIn:
    """Within it the caller is no simulated rank, and has what is given to it as one."""
    here = world.place()
    if not is_simulated():
        return world.StandingIn(here)
    outside = WorldScope()
    outside.given = here.given
    return world.StandingIn(outside)
